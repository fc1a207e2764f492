/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oslo.messaging's envelope and messages as JSON (contract oslo-messaging-wire.md
 * §4 to §7): reading a request, writing a reply or a failure.
 */
#pragma once
#include "common/zerr.h"
#include "unpriv/base/job.h"
#include <json-c/json.h>
#include <stddef.h>

#define RPC_BODY_MAX ((size_t)64 << 20) /* [compute] max_message_bytes is never above it */

struct rpc_context {
	const char *request_id, *project_id, *user_id; /* borrow from message; NULL when absent */
	const char *timestamp;
	bool is_admin, all_projects;
};

struct rpc_message {
	struct json_object *inner; /* owned */
	struct json_object *args;  /* borrows from inner; never NULL (empty object when absent) */
	struct rpc_context context;
};

/* An exception as it goes back to the caller.  class and module have static storage. */
struct rpc_failure {
	const char *class;  /* "Conflict"; NULL = no failure */
	const char *module; /* "zun.common.exception" … */
	int code;	    /* put in kwargs; 0 = kwargs {} */
	char message[1024];
};

/*
 * Reads body (content_type as published, "" when absent) and fills *record (verdict, method, call,
 * exclusive, ids, monitor_s, uuid, request_id, reason; the rest of it stays) and *message (owned;
 * rpc_message_clear) when the verdict is VERDICT_RUN.  For VERDICT_ANSWERED *failure says what to
 * send.  Never fails otherwise: every input ends in a verdict.  VERDICT_RUN with a reason (casts
 * only): see job.h; then *message may lack anything.
 */
void rpc_classify(const char *body, size_t length, const char *content_type,
		  struct job_record *record, struct rpc_message *message,
		  struct rpc_failure *failure);
void rpc_message_clear(struct rpc_message *message);

/*
 * The first line of an intent file for this message (owned, NUL-terminated; NULL only for lack of
 * memory), and back.  No secrets: of the context the members that name who asked; of the container
 * only what the agent takes from a message (uuid and the fields that may be pending changes); of
 * volumes no connection_info and no contents.
 */
char *rpc_message_to_intent(const struct rpc_message *message, const struct job_record *record);
/* Fills what rpc_classify fills, and sets resumed.  0 or a negative errno with *err. */
int rpc_message_from_intent(const char *line, size_t length, struct job_record *record,
			    struct rpc_message *message, struct zerr *err);

/*
 * Inner reply text {"result":…,"failure":…,"ending":true,"_msg_id":"…"  — without the closing
 * brace, so that the publisher can append the _unique_id.  ASCII only.  result may be NULL (null).
 * Owned, NUL-terminated; NULL only for lack of memory.  A result whose encoded envelope would pass
 * max_bytes becomes a failure that names the limit (known-faults F10), one that JSON cannot hold a
 * ZunException.  In the args of a failure of zun's own classes '%' is doubled, as their constructor
 * takes it for a format; tb is empty.
 */
char *rpc_reply(const struct job_record *record, struct json_object *result,
		const struct rpc_failure *failure, size_t max_bytes);
/* Same form with "ending":false, for call monitoring. */
char *rpc_reply_heartbeat(const char *msg_id);
/* The whole body to publish: appends the unique id, closes, wraps in the envelope.  Owned. */
char *rpc_wrap(const char *inner, size_t length, const char *unique_id, size_t *body_length);

/* class has static storage; module zun.common.exception, code by class (500 for one that is not in
 * rpc-methods.md §6.2).  A text that is too long is cut between two characters. */
void rpc_fail(struct rpc_failure *failure, const char *class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for classes of another module, code 0. */
void rpc_fail_in(struct rpc_failure *failure, const char *module, const char *class,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

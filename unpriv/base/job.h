/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dispatcher and a worker say to each other: one SEQPACKET packet each
 * way for each job, encoded with zbuf.  The dispatcher never parses a message's
 * JSON; a worker classifies it and gives back this fixed record.
 */
#pragma once
#include "common/text.h"
#include "common/zbuf.h"
#include "unpriv/rpc/method.h"
#include <stdbool.h>
#include <stdint.h>

#define JOB_ID_MAX     128 /* _msg_id, _unique_id, _reply_q of any sane client */
#define JOB_PACKET_MAX 4096

enum job_kind {
	/* fd: the message's body (sealed memfd).  Result: record; for a cast also the intent.  The
	 * dispatcher sets record.intent to the 16 hex digits of the order of arrival; the worker
	 * makes the file's name of it ("-" and the unique id, or "-0" when the message has none)
	 * and returns that.  record.resumed: fd is the text of the intent record.intent, which
	 * exists already: only fill the record from it. */
	JOB_CLASSIFY = 1,
	JOB_RUN, /* fd: the body (live) or the intent file's text (resumed); record as classified */
	JOB_ABANDON, /* the record of a job whose workers died: give its row and action a definite
			end */
	/* read the node's rows and say which containers need a recovery job, at most 64 in one
	 * result, in the order of their uuids: only those greater than record.uuid ("" = from the
	 * beginning) */
	JOB_RECOVER,
	JOB_RECOVER_ONE, /* recover the container record.uuid (timers-and-recovery.md §3), on its
			    strand */
	JOB_HEARTBEAT,	 /* zun_service row */
	JOB_INVENTORY	 /* compute_node row */
};

enum job_verdict {
	/* Understood: run it when its turn comes.  With a reason in the record (casts only): the
	 * method and the uuid could be read, but the message cannot be carried out; do not try,
	 * give the row and the action of record.request_id a definite end that says the reason. */
	VERDICT_RUN = 1,
	VERDICT_REJECT,	  /* not a message of ours: basic.reject without requeue, no reply */
	VERDICT_ANSWERED, /* refused already: the reply (if a call) comes with the result */
	VERDICT_DROP	  /* acknowledge and forget (e.g. _msg_id without _reply_q) */
};

struct job_record {
	enum job_verdict verdict;
	enum rpc_method method;
	bool call;
	bool exclusive;	    /* runs on the strand of uuid (rpc_method_row.locked) */
	bool resumed;	    /* from an intent file, not from the bus */
	uint32_t monitor_s; /* call monitoring: heartbeat replies every monitor_s / 2 s; 0 = none */
	uint8_t tries;	    /* workers that died of it so far */
	char unique_id[JOB_ID_MAX + 1];
	char msg_id[JOB_ID_MAX + 1];
	char reply_queue[JOB_ID_MAX + 1];
	char uuid[UUID_TEXT_SIZE]; /* "" when no container is named */
	char request_id[65];
	char intent[64];  /* file name in the intent folder, "" for calls */
	char reason[200]; /* of a refusal: printable ASCII, no secret, fit for a row */
};

struct job_request {
	uint32_t id;
	enum job_kind kind;
	char content_type[64]; /* JOB_CLASSIFY from the bus: as published, "" when absent or longer
				*/
	struct job_record record;
};

/* fd of a result: the reply's inner JSON up to and without its "_unique_id" (sealed memfd), for the
 * publisher. */
struct job_result {
	uint32_t id;
	int32_t status; /* 0 or negative errno: the job's own outcome, for log and metrics */
	struct job_record record; /* JOB_CLASSIFY: as found */
	bool outcome_stored;	  /* the intent may be struck off */
	/* JOB_RECOVER: those that need JOB_RECOVER_ONE, one string of 36-byte uuids; ask again
	 * while more */
	bool more;
	char uuids[36 * 64 + 1];
};

/* Encode into a zwriter (sticky failure) / decode a whole packet: 0 or -EBADMSG.  Decoding checks
 * every enum, and the form of every string: one side may have been taken over by what it parsed. */
void job_put_request(struct zwriter *writer, const struct job_request *request);
int job_get_request(const void *data, size_t length, struct job_request *request);
void job_put_result(struct zwriter *writer, const struct job_result *result);
int job_get_result(const void *data, size_t length, struct job_result *result);

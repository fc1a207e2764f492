/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of rpc_classify that stand in files of their own; private to unpriv/rpc. */
#pragma once
#include "unpriv/rpc/envelope.h"
#include <stdbool.h>

/* Copies a reason, made fit for a row and a log line: printable ASCII, cut to size. */
void classify_reason(struct job_record *record, const char *reason);
/* Copies an id of printable ASCII to out[size]; false (and "") for anything else, or nothing. */
bool classify_id(struct zstr id, char *out, size_t size);
/* Fills context and args of a message whose inner is there; wrong types read as absent. */
void classify_context(struct rpc_message *message);

/* Checks the arguments of record->method and fills record->uuid.  0, or -EINVAL with *failure. */
int classify_arguments(const struct rpc_message *message, struct job_record *record,
		       struct rpc_failure *failure);

/* The text of an inner message is not acceptable JSON (why): gives whoever sent it a definite end,
 * if enough of it can be read; else the verdict is VERDICT_REJECT. */
void classify_salvage(const char *text, size_t length, const char *why, struct job_record *record,
		      struct rpc_message *message, struct rpc_failure *failure);
/* The same for a body that is none, with or without an envelope.  As upstream, no reply is sent to
 * it (oslo-messaging-wire.md §5); a cast may still end on its row. */
void classify_salvage_body(const char *body, size_t length, const char *why,
			   struct job_record *record, struct rpc_message *message);

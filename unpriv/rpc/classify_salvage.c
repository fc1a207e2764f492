/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that are no acceptable JSON but still say who sent them and for
 * what: too deep, a key twice, a bad character.  Upstream would read some of
 * them and time out on the others; here a call is refused with a reason, and a
 * cast brings its row to a definite state (known-faults R1).  Runs in workers.
 */
#include "unpriv/base/json.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "unpriv/rpc/classify.h"

enum {
	PICK_METHOD,
	PICK_MSG_ID,
	PICK_REPLY,
	PICK_UNIQUE,
	PICK_REQUEST,
	PICK_PROJECT,
	PICK_USER,
	PICK_UUID,
	PICK_COUNT
};

static const struct json_pick templates[PICK_COUNT] = {
	[PICK_METHOD] = {.path = {"method"}},
	[PICK_MSG_ID] = {.path = {"_msg_id"}},
	[PICK_REPLY] = {.path = {"_reply_q"}},
	[PICK_UNIQUE] = {.path = {"_unique_id"}},
	[PICK_REQUEST] = {.path = {"_context_request_id"}},
	[PICK_PROJECT] = {.path = {"_context_project_id"}},
	[PICK_USER] = {.path = {"_context_user_id"}},
	[PICK_UUID] = {.path = {"args", "container", "zun_object.data", "uuid"}},
};

static void add_string(struct json_object *object, const char *key, struct zstr value)
{
	struct json_object *string;

	if (value.length == 0)
		return;
	string = json_object_new_string_len(value.data, (int)value.length); /* at most 128 */
	if (string && json_object_object_add(object, key, string) < 0)
		(void)json_object_put(string); /* the context lacks it then */
}

/* A message with nothing in it but who asked. */
static bool build_message(const struct json_pick *picks, struct rpc_message *message)
{
	struct json_object *args = json_object_new_object();

	message->inner = json_object_new_object();
	if (!args || !message->inner || json_object_object_add(message->inner, "args", args) < 0) {
		if (args)
			(void)json_object_put(args);
		return false;
	}
	add_string(message->inner, "method", picks[PICK_METHOD].value);
	add_string(message->inner, "_context_request_id", picks[PICK_REQUEST].value);
	add_string(message->inner, "_context_project_id", picks[PICK_PROJECT].value);
	add_string(message->inner, "_context_user_id", picks[PICK_USER].value);
	classify_context(message);
	return true;
}

static bool copy_uuid(struct zstr text, char out[UUID_TEXT_SIZE])
{
	uint8_t uuid[UUID_SIZE];

	if (uuid_parse(text, uuid) < 0)
		return false;
	uuid_format(uuid, out);
	return true;
}

static void salvage_cast(const struct json_pick *picks, struct job_record *record,
			 struct rpc_message *message)
{
	const struct rpc_method_row *row;
	char method[64];

	if (!classify_id(picks[PICK_METHOD].value, method, sizeof(method)))
		return;
	row = rpc_method_find(method);
	/* What usually is a call may have lost the id that would say so. */
	if (!row || row->call || !copy_uuid(picks[PICK_UUID].value, record->uuid))
		return;
	if (!build_message(picks, message)) {
		rpc_message_clear(message);
		return;
	}
	record->method = row->method;
	record->exclusive = row->locked;
	record->verdict = VERDICT_RUN;
}

/* Where the text of the inner message begins in a body that is no JSON; NULL when it is not found.
 */
static const char *find_inner(const char *body, size_t length)
{
	static const char key[] = "\"oslo.message\"";
	const char *end = body + length, *found = memmem(body, length, key, strlen(key));

	if (!found)
		return NULL;
	for (found += strlen(key); found < end && (*found == ' ' || *found == ':');)
		found++;
	return found < end && *found == '"' ? found + 1 : NULL;
}

/* The inner text up to its closing quote or the end of the body.  Escapes that no id has become
 * '?'. */
static size_t unescape(const char *from, const char *end, char *to)
{
	size_t used = 0;

	for (; from < end && *from != '"'; from++) {
		to[used] = *from;
		if (*from == '\\') {
			if (++from == end)
				break;
			to[used] = '?';
			if (*from == '"' || *from == '\\')
				to[used] = *from;
		}
		used++;
	}
	return used;
}

void classify_salvage(const char *text, size_t length, const char *why, struct job_record *record,
		      struct rpc_message *message, struct rpc_failure *failure)
{
	struct json_pick picks[PICK_COUNT];

	record->verdict = VERDICT_REJECT;
	memcpy(picks, templates, sizeof(picks));
	json_pick(text, length, picks, PICK_COUNT);
	(void)classify_id(picks[PICK_UNIQUE].value, record->unique_id, sizeof(record->unique_id));
	(void)classify_id(picks[PICK_REQUEST].value, record->request_id,
			  sizeof(record->request_id));
	/* An id that is there but cannot be trusted must not make a call look like a cast. */
	if (picks[PICK_MSG_ID].spoilt || picks[PICK_REPLY].spoilt)
		return;
	record->call =
		classify_id(picks[PICK_MSG_ID].value, record->msg_id, sizeof(record->msg_id));
	if (!record->call) {
		salvage_cast(picks, record, message);
		return;
	}
	if (!classify_id(picks[PICK_REPLY].value, record->reply_queue, sizeof(record->reply_queue)))
		return;
	record->verdict = VERDICT_ANSWERED;
	rpc_fail_in(failure, "builtins", "ValueError", "The message is no acceptable JSON: %s",
		    why);
}

void classify_salvage_body(const char *body, size_t length, const char *why,
			   struct job_record *record, struct rpc_message *message)
{
	const char *from = length <= RPC_BODY_MAX ? find_inner(body, length) : NULL;
	char *inner = from ? malloc(length) : NULL;
	struct rpc_failure unsent = {0};

	if (inner) {
		classify_salvage(inner, unescape(from, body + length, inner), why, record, message,
				 &unsent);
		free(inner);
	} else { /* the old form: the body itself is the message */
		classify_salvage(body, length <= RPC_BODY_MAX ? length : 0, why, record, message,
				 &unsent);
	}
	if (record->verdict == VERDICT_ANSWERED)
		record->verdict = VERDICT_REJECT;
}

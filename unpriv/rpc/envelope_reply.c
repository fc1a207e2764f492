/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies as oslo.messaging reads them (oslo-messaging-wire.md §6 and §7).  A
 * caller always gets an answer: what cannot be sent becomes a failure that says
 * so.  Written by workers, wrapped by the publisher; no privilege.
 */
#include "unpriv/base/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "unpriv/rpc/envelope.h"
#include "unpriv/rpc/envelope_text.h"

#define ZUN_MODULE "zun.common.exception"
/* What rpc_wrap adds, with a unique id of the longest form, and some more. */
#define WRAPPING 256

static void put_cstr(struct envelope_text *text, const char *value)
{
	envelope_put_string(text, zstr_from(value));
}

/* zun's constructors apply args[0] % kwargs: a '%' has to be written twice there, and only there.
 */
static void put_args(struct envelope_text *text, const struct rpc_failure *failure)
{
	char doubled[2 * sizeof(failure->message)];
	bool format = strcmp(failure->module, ZUN_MODULE) == 0;
	size_t used = 0;

	for (const char *at = failure->message; *at; at++) {
		if (*at == '%' && format)
			doubled[used++] = '%';
		doubled[used++] = *at;
	}
	doubled[used] = '\0';
	envelope_put(text, ", \"args\": [");
	put_cstr(text, doubled);
	envelope_put(text, "]");
}

/* The failure as JSON text of its own: the caller gets it as a string. */
static char *failure_text(const struct rpc_failure *failure, size_t *length)
{
	struct envelope_text text = {0};
	char code[32];

	envelope_put(&text, "{\"class\": ");
	put_cstr(&text, failure->class);
	envelope_put(&text, ", \"module\": ");
	put_cstr(&text, failure->module);
	envelope_put(&text, ", \"message\": ");
	put_cstr(&text, failure->message);
	envelope_put(&text, ", \"tb\": []"); /* upstream shows its traceback to tenants */
	put_args(&text, failure);
	envelope_put(&text, ", \"kwargs\": {");
	if (failure->code != 0) {
		(void)snprintf(code, sizeof(code), "\"code\": %d", failure->code); /* fits */
		envelope_put(&text, code);
	}
	envelope_put(&text, "}}");
	return envelope_text_take(&text, length);
}

static char *finish(struct envelope_text *text, const char *msg_id, bool ending, size_t *length)
{
	envelope_put(text, ending ? ", \"ending\": true, \"_msg_id\": "
				  : ", \"ending\": false, \"_msg_id\": ");
	put_cstr(text, msg_id);
	return envelope_text_take(text, length);
}

static char *reply_failure(const char *msg_id, const struct rpc_failure *failure)
{
	struct envelope_text text = {0};
	size_t length = 0;
	char *inner = failure_text(failure, &length);

	if (!inner)
		return NULL;
	envelope_put(&text, "{\"result\": null, \"failure\": ");
	envelope_put_string(&text, (struct zstr){inner, length});
	free(inner);
	return finish(&text, msg_id, true, NULL);
}

/* How long the body gets when inner is wrapped: quotes and backslashes take a byte more. */
static size_t wrapped_length(const char *inner, size_t length)
{
	size_t wrapped = length + WRAPPING;

	for (size_t i = 0; i < length; i++)
		wrapped += inner[i] == '"' || inner[i] == '\\';
	return wrapped;
}

/* NaN, or nested too deeply: nobody could read it.  Closes the object for the look only. */
static bool readable(char *inner, size_t length)
{
	int result;

	inner[length] = '}';
	result = json_prescan(inner, length + 1, SIZE_MAX, JSON_DEPTH_MAX, NULL);
	inner[length] = '\0';
	return result == 0;
}

/* NULL with *failure filled when the result cannot be sent; NULL alone for lack of memory. */
static char *reply_result(const char *msg_id, struct json_object *result, size_t max_bytes,
			  struct rpc_failure *failure)
{
	struct envelope_text text = {0};
	size_t length = 0, wrapped;
	const char *json = json_object_to_json_string_length(
		result, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length);
	char *inner;

	if (!json)
		return NULL;
	envelope_put(&text, "{\"result\": ");
	envelope_put_json(&text, (struct zstr){json, length});
	envelope_put(&text, ", \"failure\": null");
	inner = finish(&text, msg_id, true, &length);
	if (!inner)
		return NULL;
	wrapped = wrapped_length(inner, length);
	if (wrapped > max_bytes)
		rpc_fail(failure, "Invalid",
			 "The reply takes %zu bytes and max_reply_bytes allows %zu.", wrapped,
			 max_bytes);
	else if (!readable(inner, length))
		rpc_fail(failure, "ZunException", "Unexpected error: the reply is no valid JSON");
	else
		return inner;
	free(inner);
	return NULL;
}

char *rpc_reply(const struct job_record *record, struct json_object *result,
		const struct rpc_failure *failure, size_t max_bytes)
{
	struct rpc_failure instead = {0};
	char *inner;

	if (failure && failure->class)
		return reply_failure(record->msg_id, failure);
	inner = reply_result(record->msg_id, result, max_bytes, &instead);
	return inner || !instead.class ? inner : reply_failure(record->msg_id, &instead);
}

char *rpc_reply_heartbeat(const char *msg_id)
{
	struct envelope_text text = {0};

	envelope_put(&text, "{\"result\": null, \"failure\": null");
	return finish(&text, msg_id, false, NULL);
}

char *rpc_wrap(const char *inner, size_t length, const char *unique_id, size_t *body_length)
{
	struct envelope_text whole = {0}, body = {0};
	size_t whole_length = 0;
	char *closed;

	envelope_put_json(&whole, (struct zstr){inner, length});
	envelope_put(&whole, ", \"_unique_id\": ");
	put_cstr(&whole, unique_id);
	envelope_put(&whole, "}");
	closed = envelope_text_take(&whole, &whole_length);
	if (!closed)
		return NULL;
	envelope_put(&body, "{\"oslo.version\": \"2.0\", \"oslo.message\": ");
	envelope_put_string(&body, (struct zstr){closed, whole_length});
	envelope_put(&body, "}");
	free(closed);
	return envelope_text_take(&body, body_length);
}

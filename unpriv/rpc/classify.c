/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message is, and what is to become of it: the rules of
 * oslo-messaging-wire.md §5 in their order.  Runs in workers, which hold no
 * privilege and may die of what they read here.
 */
#include "unpriv/rpc/classify.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "common/zfd.h"
#include "unpriv/base/json.h"

#define DISPATCHER_MODULE "oslo_messaging.rpc.dispatcher"
#define MONITOR_MAX	  86400 /* seconds */

void classify_reason(struct job_record *record, const char *reason)
{
	size_t used = 0;

	for (; *reason && used + 1 < sizeof(record->reason); reason++) {
		unsigned char byte = (unsigned char)*reason;

		/* One mark for each character outside ASCII, not for each of its bytes. */
		if (byte >= 0x80 && byte < 0xc0)
			continue;
		record->reason[used] = '?';
		if (byte >= 0x20 && byte < 0x7f)
			record->reason[used] = *reason;
		used++;
	}
	record->reason[used] = '\0';
}

bool classify_id(struct zstr id, char *out, size_t size)
{
	out[0] = '\0';
	return id.length > 0 && id.length < size && text_valid(TEXT_PRINTABLE, id) &&
	       zstr_copy(id, out, size) == 0;
}

/* A string member as an id; false when absent, null, empty or unusable. */
static bool member_id(struct json_object *object, const char *key, char *out, size_t size)
{
	const char *text = NULL;

	out[0] = '\0';
	return json_get_string(object, key, &text, NULL) == 0 && text &&
	       classify_id(zstr_from(text), out, size);
}

void classify_context(struct rpc_message *message)
{
	static const char *const project[] = {"_context_project_id", "_context_project",
					      "_context_tenant", NULL};
	static const char *const user[] = {"_context_user_id", "_context_user", NULL};
	struct rpc_context *context = &message->context;
	struct json_object *inner = message->inner;

	/* A member of a wrong type is one that is not there (known-faults R12): nothing depends on
	 * the context but the names in rows and records. */
	*context = (struct rpc_context){0};
	for (size_t i = 0; project[i] && !context->project_id; i++)
		(void)json_get_string(inner, project[i], &context->project_id, NULL);
	for (size_t i = 0; user[i] && !context->user_id; i++)
		(void)json_get_string(inner, user[i], &context->user_id, NULL);
	(void)json_get_string(inner, "_context_request_id", &context->request_id, NULL);
	(void)json_get_string(inner, "_context_timestamp", &context->timestamp, NULL);
	(void)json_get_bool(inner, "_context_is_admin", &context->is_admin, NULL);
	(void)json_get_bool(inner, "_context_all_projects", &context->all_projects, NULL);
	(void)json_object_object_get_ex(inner, "args", &message->args); /* NULL: see take_args */
}

void rpc_message_clear(struct rpc_message *message)
{
	json_putp(&message->inner);
	*message = (struct rpc_message){0};
}

static void reject(struct job_record *record, const char *reason)
{
	record->verdict = VERDICT_REJECT;
	classify_reason(record, reason);
}

/* The client's number, or a string of digits; int() of upstream takes both. */
static uint32_t monitor_of(struct json_object *inner)
{
	struct json_object *value = NULL;
	uint64_t seconds = 0;

	if (!json_object_object_get_ex(inner, "_timeout", &value) || !value)
		return 0;
	if (json_object_is_type(value, json_type_string)) {
		if (zfd_parse_u64(json_object_get_string(value), UINT32_MAX, &seconds) < 0)
			seconds = 0;
	} else if (json_object_is_type(value, json_type_int) ||
		   json_object_is_type(value, json_type_double)) {
		double number = json_object_get_double(value);

		seconds = number >= 2 ? number < MONITOR_MAX ? (uint64_t)number : MONITOR_MAX : 0;
	}
	/* Below 2 s upstream sends none. */
	return seconds < 2 ? 0 : seconds > MONITOR_MAX ? MONITOR_MAX : (uint32_t)seconds;
}

static bool present(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value) || !value)
		return false;
	return !json_object_is_type(value, json_type_string) ||
	       json_object_get_string_len(value) > 0;
}

/* Ids and queue.  False when the message is a call that nobody could be answered. */
static bool read_ids(struct json_object *inner, struct job_record *record)
{
	(void)member_id(inner, "_unique_id", record->unique_id, sizeof(record->unique_id));
	(void)member_id(inner, "_context_request_id", record->request_id,
			sizeof(record->request_id));
	if (!present(inner, "_msg_id"))
		return true;
	record->call = true;
	record->monitor_s = monitor_of(inner);
	if (member_id(inner, "_msg_id", record->msg_id, sizeof(record->msg_id)) &&
	    member_id(inner, "_reply_q", record->reply_queue, sizeof(record->reply_queue)))
		return true;
	record->verdict = VERDICT_DROP;
	classify_reason(record, "_msg_id without a usable _reply_q");
	return false;
}

/* The text of a member for a message: what a string says, "None" for null, else JSON. */
static const char *shown(struct json_object *value)
{
	return value ? json_object_get_string(value) : "None";
}

static int check_version(struct json_object *inner, struct rpc_failure *failure)
{
	struct json_object *version = NULL, *space = NULL, *method = NULL;
	bool named = json_object_object_get_ex(inner, "version", &version);

	(void)json_object_object_get_ex(inner, "namespace", &space);
	(void)json_object_object_get_ex(inner, "method", &method);
	if (!space && (!named || (json_object_is_type(version, json_type_string) &&
				  strcmp(json_object_get_string(version), "1.0") == 0)))
		return 0;
	rpc_fail_in(failure, DISPATCHER_MODULE, "UnsupportedVersion",
		    "Endpoint does not support RPC version %.64s. Attempted method: %.256s",
		    named ? shown(version) : "1.0", shown(method));
	return -EINVAL;
}

static int check_method(struct json_object *inner, struct job_record *record,
			struct rpc_failure *failure)
{
	const struct rpc_method_row *row;
	const char *name = NULL;

	if (json_get_string(inner, "method", &name, NULL) < 0 || !name) {
		rpc_fail_in(failure, "builtins", "TypeError",
			    present(inner, "method")
				    ? "attribute name must be string"
				    : "attribute name must be string, not 'NoneType'");
		return -EINVAL;
	}
	/* Names with '_' in front are refused by upstream's access policy; none is in the table. */
	row = rpc_method_find(name);
	if (!row) {
		rpc_fail_in(failure, DISPATCHER_MODULE, "NoSuchMethod",
			    "Endpoint does not support RPC method %.512s", name);
		return -EINVAL;
	}
	record->method = row->method;
	record->exclusive = row->locked;
	return 0;
}

/* message->args is an object afterwards: an empty one of ours when there is none. */
static int take_args(struct rpc_message *message, struct rpc_failure *failure)
{
	struct json_object *args = NULL;
	bool named = json_object_object_get_ex(message->inner, "args", &args);

	if (named && !json_object_is_type(args, json_type_object)) {
		rpc_fail_in(failure, "builtins", "AttributeError",
			    "the arguments have no attribute 'items'");
		return -EINVAL;
	}
	if (!named) {
		args = json_object_new_object();
		if (args && json_object_object_add(message->inner, "args", args) < 0)
			json_putp(&args);
	}
	if (!args) {
		rpc_fail(failure, "ZunException", "Unexpected error: no memory");
		return -EINVAL;
	}
	message->args = args;
	return 0;
}

static void classify_inner(struct job_record *record, struct rpc_message *message,
			   struct rpc_failure *failure)
{
	int result;

	if (!read_ids(message->inner, record))
		return;
	classify_context(message);
	result = check_version(message->inner, failure);
	if (result == 0)
		result = check_method(message->inner, record, failure);
	if (result == 0)
		result = take_args(message, failure);
	if (result == 0)
		result = classify_arguments(message, record, failure);
	record->verdict = VERDICT_RUN;
	if (result == 0)
		return;
	classify_reason(record, failure->message);
	/* A cast for a container that can be named gets a definite end on its row. */
	if (record->call || record->method == RPC_NONE || !record->uuid[0])
		record->verdict = VERDICT_ANSWERED;
	if (record->verdict == VERDICT_RUN)
		*failure = (struct rpc_failure){0};
}

/* Parses an inner message; when it is not acceptable, gives it what end it can have. */
static void classify_text(const char *text, size_t length, struct job_record *record,
			  struct rpc_message *message, struct rpc_failure *failure)
{
	struct zerr err = {0};

	message->inner = json_parse(text, length, RPC_BODY_MAX, &err);
	if (!message->inner) {
		classify_reason(record, err.msg);
		classify_salvage(text, length, err.msg, record, message, failure);
	} else if (!json_object_is_type(message->inner, json_type_object)) {
		reject(record, "the message is not a JSON object");
	} else {
		classify_inner(record, message, failure);
	}
}

/* Envelope 2.0, or the old form without one. */
static void open_envelope(struct json_object *outer, struct job_record *record,
			  struct rpc_message *message, struct rpc_failure *failure)
{
	struct json_object *version = NULL, *text = NULL;

	if (!json_object_object_get_ex(outer, "oslo.version", &version) ||
	    !json_object_object_get_ex(outer, "oslo.message", &text)) {
		message->inner = json_object_get(outer);
		classify_inner(record, message, failure);
		return;
	}
	if (!json_object_is_type(version, json_type_string) ||
	    strcmp(json_object_get_string(version), "2.0") != 0) {
		reject(record, "unknown version of the envelope");
		return;
	}
	if (!json_object_is_type(text, json_type_string)) {
		reject(record, "the envelope holds no text");
		return;
	}
	classify_text(json_object_get_string(text), (size_t)json_object_get_string_len(text),
		      record, message, failure);
}

static void forget(struct job_record *record)
{
	record->verdict = VERDICT_REJECT;
	record->method = RPC_NONE;
	record->call = record->exclusive = false;
	record->monitor_s = 0;
	record->unique_id[0] = record->msg_id[0] = record->reply_queue[0] = '\0';
	record->uuid[0] = record->request_id[0] = record->reason[0] = '\0';
}

void rpc_classify(const char *body, size_t length, const char *content_type,
		  struct job_record *record, struct rpc_message *message,
		  struct rpc_failure *failure)
{
	_cleanup_(json_putp) struct json_object *outer = NULL;
	struct zerr err = {0};

	forget(record);
	*message = (struct rpc_message){0};
	*failure = (struct rpc_failure){0};
	if (strcmp(content_type, "application/json") != 0) {
		reject(record, "the content type is not application/json");
		return;
	}
	outer = json_parse(body, length, RPC_BODY_MAX, &err);
	if (!outer) {
		classify_reason(record, err.msg);
		classify_salvage_body(body, length, err.msg, record, message);
	} else if (!json_object_is_type(outer, json_type_object)) {
		reject(record, "the body is not a JSON object");
	} else {
		open_envelope(outer, record, message, failure);
	}
	if (record->verdict != VERDICT_RUN)
		rpc_message_clear(message);
}

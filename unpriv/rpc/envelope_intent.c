/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message as the first line of its intent file, and back.  What is written is
 * built from lists of what may stand there, so that no secret of a later
 * release gets to the disk by being unknown (known-faults R11).  Runs in workers.
 */
#include "common/zfd.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "unpriv/base/intent.h"
#include "unpriv/base/json.h"
#include "unpriv/rpc/classify.h"

static const char *const context_kept[] = {"_context_request_id",
					   "_context_global_request_id",
					   "_context_resource_uuid",
					   "_context_project_id",
					   "_context_project",
					   "_context_tenant",
					   "_context_project_name",
					   "_context_user_id",
					   "_context_user",
					   "_context_user_name",
					   "_context_user_identity",
					   "_context_domain_id",
					   "_context_domain",
					   "_context_is_admin",
					   "_context_is_admin_project",
					   "_context_all_projects",
					   "_context_roles",
					   "_context_timestamp",
					   "_context_read_only",
					   "_context_show_deleted",
					   "_context_system_scope",
					   "method",
					   "version",
					   NULL};
/* The row is the truth for all else (rpc-methods.md §1); its environment may hold secrets. */
static const char *const container_kept[] = {"uuid",	   "id",	 "name", "status",
					     "task_state", "cpu_policy", "host", NULL};
static const char *const primitive_kept[] = {"zun_object.name", "zun_object.namespace",
					     "zun_object.version", "zun_object.changes", NULL};
static const char *const volume_secrets[] = {"connection_info", "contents", NULL};

static bool listed(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* Takes value.  False for lack of memory (then it is put). */
static bool add(struct json_object *to, const char *key, struct json_object *value)
{
	if (json_object_object_add(to, key, value) == 0)
		return true;
	(void)json_object_put(value); /* NULL is well */
	return false;
}

/* Adds the members of from that are (or are not) in list, by reference. */
static bool copy_members(struct json_object *from, struct json_object *to, const char *const *list,
			 bool in_list)
{
	if (!json_object_is_type(from, json_type_object))
		return true;
	json_object_object_foreach(from, key, value)
	{
		if (listed(list, key) == in_list && !add(to, key, json_object_get(value)))
			return false;
	}
	return true;
}

/* An object of ours under key; NULL for lack of memory. */
static struct json_object *add_object(struct json_object *to, const char *key)
{
	struct json_object *object = json_object_new_object();

	return object && add(to, key, object) ? object : NULL;
}

static bool add_container(struct json_object *args, struct json_object *from)
{
	struct json_object *container, *data, *old = NULL;

	if (!json_object_is_type(from, json_type_object))
		return true; /* unusable: the record has its uuid, if any */
	container = add_object(args, "container");
	data = container ? add_object(container, "zun_object.data") : NULL;
	(void)json_object_object_get_ex(from, "zun_object.data", &old);
	return data && copy_members(from, container, primitive_kept, true) &&
	       copy_members(old, data, container_kept, true);
}

/* One VolumeMapping without its secrets. */
static bool add_mapping(struct json_object *list, struct json_object *from)
{
	struct json_object *mapping = json_object_new_object(), *data, *old = NULL;

	if (!mapping || json_object_array_add(list, mapping) < 0) {
		(void)json_object_put(mapping); /* NULL is well */
		return false;
	}
	data = add_object(mapping, "zun_object.data");
	(void)json_object_object_get_ex(from, "zun_object.data", &old);
	return data && copy_members(from, mapping, primitive_kept, true) &&
	       copy_members(old, data, volume_secrets, false);
}

static bool add_volumes(struct json_object *args, struct json_object *from)
{
	struct json_object *volumes = add_object(args, "requested_volumes"), *list;

	if (!volumes || !json_object_is_type(from, json_type_object))
		return volumes;
	json_object_object_foreach(from, uuid, old)
	{
		size_t count = json_object_is_type(old, json_type_array)
				       ? json_object_array_length(old)
				       : 0;

		list = json_object_new_array();
		if (!list || !add(volumes, uuid, list))
			return false;
		for (size_t i = 0; i < count; i++)
			if (!add_mapping(list, json_object_array_get_idx(old, i)))
				return false;
	}
	return true;
}

static bool add_args(struct json_object *message, const struct rpc_message *from)
{
	static const char *const apart[] = {"container", "requested_volumes", NULL};
	struct json_object *args = add_object(message, "args"), *value = NULL;

	if (!args || !copy_members(from->args, args, apart, false))
		return false;
	if (json_object_object_get_ex(from->args, "container", &value) &&
	    !add_container(args, value))
		return false;
	return !json_object_object_get_ex(from->args, "requested_volumes", &value) ||
	       add_volumes(args, value);
}

static bool add_text(struct json_object *to, const char *key, const char *text)
{
	struct json_object *string = json_object_new_string(text);

	return string && add(to, key, string);
}

static bool add_flag(struct json_object *to, const char *key, bool flag)
{
	struct json_object *value = json_object_new_boolean(flag);

	return value && add(to, key, value);
}

static bool add_record(struct json_object *to, const struct job_record *record)
{
	const struct rpc_method_row *row = rpc_method_row(record->method);

	return row && add_text(to, "method", row->name) && add_flag(to, "call", record->call) &&
	       add_flag(to, "exclusive", record->exclusive) &&
	       add_text(to, "unique_id", record->unique_id) &&
	       add_text(to, "msg_id", record->msg_id) &&
	       add_text(to, "reply_queue", record->reply_queue) &&
	       add_text(to, "uuid", record->uuid) &&
	       add_text(to, "request_id", record->request_id) &&
	       add_text(to, "reason", record->reason);
}

char *rpc_message_to_intent(const struct rpc_message *message, const struct job_record *record)
{
	_cleanup_(json_putp) struct json_object *intent = json_object_new_object();
	struct json_object *part, *form = json_object_new_int(1);
	const char *text;

	if (!intent || !form || !add(intent, "intent", form))
		return NULL;
	part = add_object(intent, "record");
	if (!part || !add_record(part, record))
		return NULL;
	part = add_object(intent, "message");
	if (!part || !copy_members(message->inner, part, context_kept, true) ||
	    !add_args(part, message))
		return NULL;
	/* Line feeds in strings are escaped, and the plain form has none between: one line. */
	text = json_object_to_json_string_ext(intent, JSON_C_TO_STRING_PLAIN |
							      JSON_C_TO_STRING_NOSLASHESCAPE);
	return text ? strdup(text) : NULL;
}

static int get_text(struct json_object *from, const char *key, char *out, size_t size,
		    struct zerr *err)
{
	const char *text = NULL;
	int result = json_get_string(from, key, &text, err);

	if (result < 0)
		return result;
	out[0] = '\0';
	if (text && text[0] && !classify_id(zstr_from(text), out, size))
		return zerr_set(err, -EINVAL, "member \"%s\": too long, or not plain ASCII", key);
	return 0;
}

static int get_texts(struct json_object *from, struct job_record *record, struct zerr *err)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{"unique_id", record->unique_id, sizeof(record->unique_id)},
		{"msg_id", record->msg_id, sizeof(record->msg_id)},
		{"reply_queue", record->reply_queue, sizeof(record->reply_queue)},
		{"uuid", record->uuid, sizeof(record->uuid)},
		{"request_id", record->request_id, sizeof(record->request_id)},
		{"reason", record->reason, sizeof(record->reason)},
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && result == 0; i++)
		result = get_text(from, texts[i].key, texts[i].to, texts[i].size, err);
	return result;
}

static int get_record(struct json_object *from, struct job_record *record, struct zerr *err)
{
	const struct rpc_method_row *row;
	const char *method = NULL;
	uint8_t uuid[UUID_SIZE];
	int result = json_get_string(from, "method", &method, err);

	if (result == 0)
		result = json_get_bool(from, "call", &record->call, err);
	if (result == 0)
		result = json_get_bool(from, "exclusive", &record->exclusive, err);
	if (result == 0)
		result = get_texts(from, record, err);
	if (result < 0)
		return result;
	row = rpc_method_find(method ? method : "");
	if (!row)
		return zerr_set(err, -EINVAL,
				"member \"method\": a method that is served expected");
	if (record->uuid[0] && uuid_parse(zstr_from(record->uuid), uuid) < 0)
		return zerr_set(err, -EINVAL, "member \"uuid\": a UUID expected");
	record->method = row->method;
	record->verdict = VERDICT_RUN;
	record->resumed = true;
	record->monitor_s = 0;
	return 0;
}

int rpc_message_from_intent(const char *line, size_t length, struct job_record *record,
			    struct rpc_message *message, struct zerr *err)
{
	_cleanup_(json_putp) struct json_object *intent =
		json_parse(line, length, INTENT_LINE_MAX, err);
	struct json_object *part = NULL, *args = NULL;
	struct job_record read = *record;
	int64_t form = 0;
	int result;

	*message = (struct rpc_message){0};
	if (!intent)
		return -EBADMSG;
	result = json_get_int(intent, "intent", 1, 1, &form, err);
	if (result == 0)
		result = json_get_object(intent, "record", &part, err);
	if (result == 0)
		result = part && form == 1 ? get_record(part, &read, err)
					   : zerr_set(err, -EINVAL, "not an intent");
	if (result == 0)
		result = json_get_object(intent, "message", &part, err);
	if (result == 0)
		result = json_get_object(part, "args", &args, err);
	if (result < 0)
		return result;
	if (!args)
		return zerr_set(err, -EINVAL, "an intent without a message");
	message->inner = json_object_get(part);
	classify_context(message);
	*record = read;
	return 0;
}

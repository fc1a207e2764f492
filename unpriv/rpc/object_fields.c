/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every field of Container 1.44 and Capsule 1.4 with its type (rpc-methods.md
 * §3.1, §3.2), and what a value of that type may look like.  Numbers come as
 * numbers or as digits, as upstream coerces them (known-faults F23); texts that
 * hold JSON are pre-scanned.  Runs in workers; no privilege.
 */
#include "unpriv/rpc/object_fields.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "common/text.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/rpc/object.h"

enum kind {
	KIND_INTEGER,
	KIND_FLOAT,
	KIND_BOOLEAN,
	KIND_STRING,
	KIND_UUID,
	KIND_STATUS,
	KIND_TASK_STATE,
	KIND_TIME,
	KIND_JSON, /* a string that holds JSON */
	KIND_STRINGS,
	KIND_INTEGERS,
	KIND_STRING_MAP,
	KIND_OBJECT,
	KIND_OBJECTS
};

struct object_field {
	const char *name;
	enum kind kind;
	bool required; /* null is refused */
	bool capsule;  /* of Capsule only */
};

#define FIELD(name_, kind_, ...)                                                                   \
	{                                                                                          \
		.name = #name_, .kind = KIND_##kind_, __VA_ARGS__                                  \
	}
static const struct object_field fields[] = {
	FIELD(id, INTEGER, .required = true),
	FIELD(container_id, STRING),
	FIELD(uuid, UUID, .required = true),
	FIELD(name, STRING),
	FIELD(project_id, STRING),
	FIELD(user_id, STRING),
	FIELD(image, STRING),
	FIELD(cpu, FLOAT),
	FIELD(cpu_policy, STRING),
	FIELD(cpuset, OBJECT),
	FIELD(memory, STRING),
	FIELD(command, STRINGS),
	FIELD(status, STATUS),
	FIELD(status_reason, STRING),
	FIELD(task_state, TASK_STATE),
	FIELD(environment, STRING_MAP),
	FIELD(workdir, STRING),
	FIELD(auto_remove, BOOLEAN),
	FIELD(ports, INTEGERS),
	FIELD(hostname, STRING),
	FIELD(labels, STRING_MAP),
	FIELD(addresses, JSON),
	FIELD(image_pull_policy, STRING),
	FIELD(host, STRING),
	FIELD(restart_policy, STRING_MAP),
	FIELD(status_detail, STRING),
	FIELD(interactive, BOOLEAN),
	FIELD(tty, BOOLEAN),
	FIELD(image_driver, STRING),
	FIELD(websocket_url, STRING),
	FIELD(websocket_token, STRING),
	FIELD(security_groups, STRINGS),
	FIELD(runtime, STRING),
	FIELD(pci_devices, OBJECTS),
	FIELD(disk, INTEGER),
	FIELD(auto_heal, BOOLEAN),
	FIELD(started_at, TIME),
	FIELD(exposed_ports, JSON),
	FIELD(exec_instances, OBJECTS),
	FIELD(privileged, BOOLEAN),
	FIELD(healthcheck, JSON),
	FIELD(registry_id, INTEGER),
	FIELD(registry, OBJECT),
	FIELD(annotations, JSON),
	FIELD(cni_metadata, JSON),
	FIELD(entrypoint, STRINGS),
	FIELD(created_at, TIME),
	FIELD(updated_at, TIME),
	FIELD(containers, OBJECTS, .capsule = true),
	FIELD(init_containers, OBJECTS, .capsule = true),
};

/* Between blanks (rpc-methods.md §5.1). */
static const char statuses[] = " Error Running Stopped Paused Unknown Creating Created Deleted "
			       "Deleting Rebuilding Dead Restarting ";
static const char task_states[] =
	" image_pulling container_creating container_starting container_deleting "
	"container_stopping container_rebooting container_pausing container_unpausing "
	"container_killing sg_adding sg_removing network_attaching network_detaching "
	"container_rebuilding ";

static bool in_list(const char *list, const char *word)
{
	char padded[64];

	if (word[0] == '\0' || strchr(word, ' ') || strlen(word) > sizeof(padded) - 3)
		return false;
	(void)snprintf(padded, sizeof(padded), " %s ", word); /* fits */
	return strstr(list, padded);
}

bool container_status_known(const char *status)
{
	return in_list(statuses, status);
}

bool container_task_state_known(const char *task_state)
{
	return in_list(task_states, task_state);
}

const struct object_field *object_field(const char *name, bool capsule)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].capsule && !capsule ? NULL : &fields[i];
	return NULL;
}

static struct zstr text_of(struct json_object *value)
{
	return (struct zstr){json_object_get_string(value),
			     (size_t)json_object_get_string_len(value)};
}

static bool is_text(struct json_object *value)
{
	return json_object_is_type(value, json_type_string) &&
	       text_valid(TEXT_UTF8, text_of(value));
}

/* json-c saturates what 64 bits do not hold. */
static bool is_integer(struct json_object *value)
{
	return json_object_is_type(value, json_type_int) &&
	       json_object_get_uint64(value) <= INT64_MAX &&
	       json_object_get_int64(value) != INT64_MIN;
}

static bool is_number(struct json_object *value)
{
	return is_integer(value) || (json_object_is_type(value, json_type_double) &&
				     isfinite(json_object_get_double(value)));
}

/* Decimal digits with a sign, for a float also point and exponent; 18 digits always fit. */
static bool is_written_number(struct json_object *value, bool real)
{
	struct zstr text;

	if (!json_object_is_type(value, json_type_string))
		return false;
	text = text_of(value);
	if (text.length == 0 || text.length > 18)
		return false;
	if (!real)
		return strspn(text.data + (text.data[0] == '-'), "0123456789") ==
			       text.length - (text.data[0] == '-') &&
		       text.data[text.length - 1] != '-';
	/* JSON's own grammar of a number: what begins otherwise is a word, a string, a bracket. */
	return (text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9')) &&
	       json_prescan(text.data, text.length, text.length, 0, NULL) == 0;
}

static bool is_string_field(struct json_object *value)
{
	return is_text(value) || is_number(value); /* memory 512 means memory "512" */
}

static bool is_boolean(struct json_object *value)
{
	int64_t number = is_integer(value) ? json_object_get_int64(value) : -1;

	return json_object_is_type(value, json_type_boolean) || number == 0 || number == 1;
}

/* n digits at text[at], as a number; -1 when there are others. */
static int digits(struct zstr text, size_t at, size_t n)
{
	int number = 0;

	if (at > text.length || text.length - at < n)
		return -1;
	for (size_t i = at; i < at + n; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return -1;
		number = number * 10 + (text.data[i] - '0');
	}
	return number;
}

static bool within(int number, int least, int most)
{
	return number >= least && number <= most;
}

/* "", "Z", "+HH:MM", "-HHMM", "+HH" */
static bool is_zone(struct zstr text, size_t at)
{
	size_t left = text.length - at;
	bool colon = left == 6 && text.data[at + 3] == ':';

	if (left == 0 || (left == 1 && text.data[at] == 'Z'))
		return true;
	if ((text.data[at] != '+' && text.data[at] != '-') ||
	    !within(digits(text, at + 1, 2), 0, 23))
		return false;
	return left == 3 || ((left == 5 || colon) && within(digits(text, at + left - 2, 2), 0, 59));
}

static bool is_date(struct zstr text)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return text.length >= 10 && text.data[4] == '-' && text.data[7] == '-' && year > 0 &&
	       within(month, 1, 12) && within(day, 1, days[month - 1] + (month == 2 && leap));
}

/* "T02:32:43" at text[10] */
static bool is_clock(struct zstr text)
{
	return (text.data[10] == 'T' || text.data[10] == ' ') && text.data[13] == ':' &&
	       text.data[16] == ':' && within(digits(text, 11, 2), 0, 23) &&
	       within(digits(text, 14, 2), 0, 59) && within(digits(text, 17, 2), 0, 59);
}

/* 2026-12-01T02:32:43Z; also with a blank for T, a fraction, an offset. */
static bool is_time(struct json_object *value)
{
	struct zstr text;
	size_t at = 19;

	if (!is_text(value))
		return false;
	text = text_of(value);
	if (text.length < at || !is_date(text) || !is_clock(text))
		return false;
	if (at < text.length && text.data[at] == '.') {
		if (digits(text, ++at, 1) < 0)
			return false;
		while (digits(text, at, 1) >= 0)
			at++;
	}
	return is_zone(text, at);
}

/* Upstream takes a map or a list in place of the text, so null and empty are well too. */
static bool is_json_text(struct json_object *value)
{
	struct zstr text;

	if (json_object_is_type(value, json_type_object) ||
	    json_object_is_type(value, json_type_array))
		return true;
	if (!is_text(value))
		return false;
	text = text_of(value);
	return text.length == 0 ||
	       json_prescan(text.data, text.length, RPC_BODY_MAX, JSON_DEPTH_MAX, NULL) == 0;
}

static bool is_list(struct json_object *value, bool (*item_is)(struct json_object *item))
{
	size_t count;

	if (!json_object_is_type(value, json_type_array))
		return false;
	count = json_object_array_length(value);
	for (size_t i = 0; i < count; i++)
		if (!item_is(json_object_array_get_idx(value, i)))
			return false;
	return true;
}

/* Values are coerced to strings by upstream; null is not. */
static bool is_string_map(struct json_object *value)
{
	if (!json_object_is_type(value, json_type_object))
		return false;
	json_object_object_foreach(value, key, item)
	{
		(void)key; /* valid UTF-8 without NUL since the pre-scan */
		if (!is_string_field(item) && !json_object_is_type(item, json_type_boolean))
			return false;
	}
	return true;
}

/* A primitive of some class: what is in it is read by nobody here. */
static bool is_object(struct json_object *value)
{
	struct json_object *data = NULL;
	const char *name = NULL;

	return json_object_is_type(value, json_type_object) &&
	       json_get_string(value, "zun_object.name", &name, NULL) == 0 && name &&
	       json_get_object(value, "zun_object.data", &data, NULL) == 0 && data;
}

static bool is_integer_field(struct json_object *value)
{
	return is_integer(value) || is_written_number(value, false);
}

static bool is_float(struct json_object *value)
{
	return is_number(value) || is_written_number(value, true);
}

static bool is_uuid(struct json_object *value)
{
	uint8_t uuid[UUID_SIZE];

	return is_text(value) && uuid_parse(text_of(value), uuid) == 0;
}

static bool is_status(struct json_object *value)
{
	return is_text(value) && container_status_known(json_object_get_string(value));
}

static bool is_task_state(struct json_object *value)
{
	return is_text(value) && container_task_state_known(json_object_get_string(value));
}

static bool is_strings(struct json_object *value)
{
	return is_list(value, is_string_field);
}

static bool is_integers(struct json_object *value)
{
	return is_list(value, is_integer_field);
}

static bool is_objects(struct json_object *value)
{
	return is_list(value, is_object);
}

static const struct {
	bool (*is)(struct json_object *value);
	const char *expected;
} checks[] = {
	[KIND_INTEGER] = {is_integer_field, "an integer of 64 bits"},
	[KIND_FLOAT] = {is_float, "a number"},
	[KIND_BOOLEAN] = {is_boolean, "true or false"},
	[KIND_STRING] = {is_string_field, "a string"},
	[KIND_UUID] = {is_uuid, "a UUID"},
	[KIND_STATUS] = {is_status, "a status"},
	[KIND_TASK_STATE] = {is_task_state, "a task state"},
	[KIND_TIME] = {is_time, "a date and time"},
	[KIND_JSON] = {is_json_text, "JSON text"},
	[KIND_STRINGS] = {is_strings, "a list of strings"},
	[KIND_INTEGERS] = {is_integers, "a list of integers"},
	[KIND_STRING_MAP] = {is_string_map, "a map of strings"},
	[KIND_OBJECT] = {is_object, "an object"},
	[KIND_OBJECTS] = {is_objects, "a list of objects"},
};

const char *object_field_check(const struct object_field *field, struct json_object *value)
{
	if (!value)
		return field->required ? "a value other than null" : NULL;
	return checks[field->kind].is(value) ? NULL : checks[field->kind].expected;
}

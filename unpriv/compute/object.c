/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a row to the object that a caller gets.  The caller's own reader coerces
 * every field again, so each is written in exactly the form of its type.  Runs
 * in workers; no privilege.
 */
#include "unpriv/compute/object.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/store/container.h"

#define COLUMN_MAX                                                                                 \
	((size_t)16 << 20) /* of a JSON column; the database allows more, nobody sends it */

enum form {
	FORM_TEXT,
	FORM_STATUS,
	FORM_TASK_STATE,
	FORM_TIME,
	FORM_LIST, /* a JSON column that is a list on the wire; NULL is [] as a later read has it */
	FORM_MAP,  /* a JSON column that is a string holding JSON on the wire; NULL is "{}" */
};

/* What the agent may change of a container, and how it looks on the wire. */
static const struct {
	const char *name;
	enum container_column column;
	enum form form;
} owned[] = {
	{"container_id", CONTAINER_container_id, FORM_TEXT},
	{"status", CONTAINER_status, FORM_STATUS},
	{"status_reason", CONTAINER_status_reason, FORM_TEXT},
	{"status_detail", CONTAINER_status_detail, FORM_TEXT},
	{"task_state", CONTAINER_task_state, FORM_TASK_STATE},
	{"memory", CONTAINER_memory, FORM_TEXT},
	{"cpu_policy", CONTAINER_cpu_policy, FORM_TEXT},
	{"command", CONTAINER_command, FORM_LIST},
	{"entrypoint", CONTAINER_entrypoint, FORM_LIST},
	{"ports", CONTAINER_ports, FORM_LIST},
	{"security_groups", CONTAINER_security_groups, FORM_LIST},
	{"hostname", CONTAINER_hostname, FORM_TEXT},
	{"addresses", CONTAINER_addresses, FORM_MAP},
	{"cni_metadata", CONTAINER_cni_metadata, FORM_TEXT},
	{"host", CONTAINER_host, FORM_TEXT},
	{"image_driver", CONTAINER_image_driver, FORM_TEXT},
	{"websocket_url", CONTAINER_websocket_url, FORM_TEXT},
	{"websocket_token", CONTAINER_websocket_token, FORM_TEXT},
	{"runtime", CONTAINER_runtime, FORM_TEXT},
	{"started_at", CONTAINER_started_at, FORM_TIME},
};

/* Naive UTC of the database, "2026-12-01 02:54:47.123456", in whole seconds and with its Z. */
static struct json_object *time_of(const char *text)
{
	char wire[32];

	if (strlen(text) < 19 || text[4] != '-' || text[13] != ':')
		return NULL;
	(void)snprintf(wire, sizeof(wire), "%.10sT%.8sZ", text, text + 11); /* 20 bytes */
	return json_object_new_string(wire);
}

/* NULL with *keep set when the column cannot be read. */
static struct json_object *list_of(const char *text, bool *keep)
{
	struct json_object *list;

	if (!text[0])
		return json_object_new_array();
	list = json_parse(text, strlen(text), COLUMN_MAX, NULL);
	if (json_object_is_type(list, json_type_array))
		return list;
	json_putp(&list);
	*keep = true;
	return NULL;
}

/* The value on the wire; NULL with *keep set when the column cannot be read. */
static struct json_object *value_of(enum form form, const char *text, bool *keep)
{
	if (form == FORM_LIST)
		return list_of(text, keep);
	if (form == FORM_TIME)
		return time_of(text);
	if (form == FORM_TASK_STATE && !container_task_state_known(text))
		return NULL;
	if (form == FORM_STATUS && !container_status_known(text))
		text = "Unknown";
	if (form == FORM_MAP && !text[0])
		text = "{}";
	return json_object_new_string(text);
}

/* Takes value (NULL = null). */
static int set(struct json_object *data, const char *name, struct json_object *value)
{
	if (json_object_object_add(data, name, value) == 0)
		return 0;
	json_putp(&value);
	return -ENOMEM;
}

static int set_numbers(struct json_object *data, const struct container *row)
{
	double cpu = 0;
	int result = 0;

	/* A number that is the same keeps the digits it was written with. */
	if (CONTAINER_HAS(row, cpu) &&
	    (json_get_double(data, "cpu", &cpu, NULL) < 0 || cpu < row->cpu || cpu > row->cpu))
		result = set(data, "cpu", json_object_new_double(row->cpu));
	if (result == 0 && CONTAINER_HAS(row, disk))
		result = set(data, "disk", json_object_new_int64(row->disk));
	return result;
}

static int overwrite(struct json_object *data, const struct container *row)
{
	int result = set_numbers(data, row);

	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]) && result == 0; i++) {
		bool there = (row->set & CONTAINER_BIT(owned[i].column)) != 0, keep = false;
		struct json_object *value = NULL;

		if (there || owned[i].form == FORM_LIST || owned[i].form == FORM_MAP)
			value = value_of(owned[i].form, container_text(row, owned[i].column),
					 &keep);
		if (!keep)
			result = set(data, owned[i].name, value);
	}
	return result;
}

/* All members of from but the one left out, by reference. */
static int copy(struct json_object *from, struct json_object *to, const char *left_out)
{
	int result = 0;

	json_object_object_foreach(from, name, value)
	{
		if (result == 0 && strcmp(name, left_out) != 0)
			result = set(to, name, json_object_get(value));
	}
	return result;
}

struct json_object *container_reply(const struct container_argument *argument,
				    const struct container *row)
{
	_cleanup_(json_putp) struct json_object *reply = json_object_new_object();
	_cleanup_(json_putp) struct json_object *data = json_object_new_object();

	if (!reply || !data || copy(argument->object, reply, "zun_object.changes") < 0 ||
	    copy(argument->data, data, "") < 0 || overwrite(data, row) < 0 ||
	    set(reply, "zun_object.data", json_object_get(data)) < 0)
		return NULL;
	return TAKE_PTR(reply);
}

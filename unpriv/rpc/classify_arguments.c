/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of a call: all that are required, none that the method does not
 * have, each of its type (rpc-methods.md §3.5), the container an object that we
 * can read.  Runs in workers; no privilege.
 */
#include "common/zfd.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "unpriv/base/json.h"
#include "unpriv/rpc/classify.h"
#include "unpriv/rpc/object.h"

#define TIMEOUT_MAX 86400 /* seconds; a longer grace is no grace */
#define SIGNAL_MAX  32	  /* bytes of a signal's name */

static bool takes(const struct rpc_method_row *row, const char *name)
{
	for (size_t i = 0; row->arguments[i]; i++)
		if (strcmp(row->arguments[i], name) == 0)
			return true;
	return false;
}

static int check_surplus(const struct rpc_method_row *row, struct json_object *args,
			 struct rpc_failure *failure)
{
	json_object_object_foreach(args, name, value)
	{
		(void)value; /* only names here */
		if (takes(row, name))
			continue;
		rpc_fail(failure, "ZunException",
			 "Unexpected error: Manager.%s() got an unexpected keyword argument '%s'",
			 row->name, name);
		return -EINVAL;
	}
	return 0;
}

static int check_missing(const struct rpc_method_row *row, struct json_object *args,
			 struct rpc_failure *failure)
{
	unsigned count = 0;
	char names[256] = "";
	size_t used = 0;

	for (unsigned i = 0; i < row->required; i++) {
		if (json_object_object_get_ex(args, row->arguments[i], NULL))
			continue;
		/* The longest list is that of container_create: it fits. */
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s'%s'",
					 count > 0 ? ", " : "", row->arguments[i]);
		count++;
	}
	if (count == 0)
		return 0;
	rpc_fail(failure, "ZunException",
		 "Unexpected error: Manager.%s() missing %u required positional argument%s: %s",
		 row->name, count, count == 1 ? "" : "s", names);
	return -EINVAL;
}

static bool is_digits(const char *text)
{
	size_t sign = text[0] == '-' ? 1 : 0, length = strspn(text + sign, "0123456789");

	return length >= 1 && length <= 6 && text[sign + length] == '\0';
}

/* null, "", digits or an integer; -1 is Docker's "for ever" and is left to the driver. */
static bool is_timeout(struct json_object *value)
{
	int64_t number;
	const char *text;

	if (json_object_is_type(value, json_type_int)) {
		number = json_object_get_int64(value);
		return number >= -1 && number <= TIMEOUT_MAX;
	}
	if (!json_object_is_type(value, json_type_string))
		return !value;
	text = json_object_get_string(value);
	return text[0] == '\0' || is_digits(text);
}

/* null, a name or number as string, an integer; which signals there are is the driver's matter. */
static bool is_signal(struct json_object *value)
{
	struct zstr text;

	if (!value || json_object_is_type(value, json_type_int))
		return true;
	if (!json_object_is_type(value, json_type_string))
		return false;
	text = (struct zstr){json_object_get_string(value),
			     (size_t)json_object_get_string_len(value)};
	return text.length <= SIGNAL_MAX && text_valid(TEXT_PRINTABLE, text);
}

static bool is_flag(struct json_object *value)
{
	return json_object_is_type(value, json_type_boolean);
}

static bool is_map(struct json_object *value)
{
	return !value || json_object_is_type(value, json_type_object);
}

static bool is_list(struct json_object *value)
{
	return !value || json_object_is_type(value, json_type_array);
}

static const struct {
	const char *name, *expected;
	bool (*is)(struct json_object *value);
} plain[] = {
	{"limits", "a map", is_map},
	{"requested_networks", "a list", is_list},
	{"requested_volumes", "a map", is_map},
	{"pci_requests", "an object", is_map},
	{"run", "true or false", is_flag},
	{"force", "true or false", is_flag},
	{"timeout", "a number of seconds", is_timeout},
	{"signal", "a signal", is_signal},
};

static int check_plain(const struct rpc_method_row *row, struct json_object *args,
		       struct rpc_failure *failure)
{
	struct json_object *value;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (!json_object_object_get_ex(args, plain[i].name, &value) || plain[i].is(value))
			continue;
		rpc_fail(failure, "ZunException",
			 "Unexpected error: argument '%s' of %s: %s expected", plain[i].name,
			 row->name, plain[i].expected);
		return -EINVAL;
	}
	return 0;
}

int classify_arguments(const struct rpc_message *message, struct job_record *record,
		       struct rpc_failure *failure)
{
	const struct rpc_method_row *row = rpc_method_row(record->method);
	struct container_argument argument;
	struct json_object *container = NULL;
	int result = 0;

	/* Objects are read before the method is called, so their errors come first. */
	if (json_object_object_get_ex(message->args, "container", &container)) {
		result = container_argument_read(container, &argument, failure);
		(void)zstr_copy(zstr_from(argument.uuid), record->uuid, sizeof(record->uuid));
	}
	if (result == 0)
		result = check_surplus(row, message->args, failure);
	if (result == 0)
		result = check_missing(row, message->args, failure);
	if (result == 0)
		result = check_plain(row, message->args, failure);
	return result;
}

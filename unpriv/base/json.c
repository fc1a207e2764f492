/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing after the pre-scan, and members with their types checked.  Runs in
 * workers and in tools without a privilege.
 */
#include "unpriv/base/json.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "common/zfd.h"

void json_putp(struct json_object **object)
{
	if (*object)
		(void)json_object_put(*object); /* says only whether it was the last reference */
	*object = NULL;
}

static void tokener_freep(struct json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

struct json_object *json_parse(const char *text, size_t length, size_t max, struct zerr *err)
{
	/* json-c counts a scalar as a level of its own. */
	_cleanup_(tokener_freep) struct json_tokener *tokener =
		json_tokener_new_ex(JSON_DEPTH_MAX + 2);
	struct json_object *object;

	if (!tokener) {
		(void)zerr_set(err, -ENOMEM, "no memory");
		return NULL;
	}
	if (json_prescan(text, length, max < INT_MAX ? max : INT_MAX, JSON_DEPTH_MAX, err) < 0)
		return NULL;
	object = json_tokener_parse_ex(tokener, text, (int)length);
	if (!object && json_tokener_get_error(tokener) == json_tokener_continue)
		object = json_tokener_parse_ex(tokener, "",
					       1); /* a number at the top ends with a NUL */
	if (!object)
		(void)zerr_set(err, -EBADMSG, "null, or not parsed: %s",
			       json_tokener_error_desc(json_tokener_get_error(tokener)));
	return object;
}

/* 1 with *value when the member is there and not null, 0 when not. */
static int member(struct json_object *object, const char *key, struct json_object **value)
{
	return json_object_object_get_ex(object, key, value) && *value ? 1 : 0;
}

static int wrong(const char *key, const char *expected, struct zerr *err)
{
	return zerr_set(err, -EINVAL, "member \"%s\": %s expected", key, expected);
}

int json_get_string(struct json_object *object, const char *key, const char **value,
		    struct zerr *err)
{
	struct json_object *found;
	const char *text;

	*value = NULL;
	if (!member(object, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_string))
		return wrong(key, "string", err);
	text = json_object_get_string(found);
	if (strlen(text) != (size_t)json_object_get_string_len(found))
		return wrong(key, "string without NUL", err);
	*value = text;
	return 0;
}

int json_get_int(struct json_object *object, const char *key, int64_t least, int64_t greatest,
		 int64_t *value, struct zerr *err)
{
	struct json_object *found;
	int64_t number;

	if (!member(object, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_int))
		return wrong(key, "integer", err);
	number = json_object_get_int64(found);
	/* json-c saturates: both ends of the range may stand for something larger. */
	if (json_object_get_uint64(found) > INT64_MAX || number == INT64_MIN)
		return wrong(key, "integer of 64 bits", err);
	if (number < least || number > greatest)
		return zerr_set(err, -EINVAL,
				"member \"%s\": integer from %" PRId64 " to %" PRId64 " expected",
				key, least, greatest);
	*value = number;
	return 0;
}

int json_get_double(struct json_object *object, const char *key, double *value, struct zerr *err)
{
	struct json_object *found;
	double number;

	if (!member(object, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_double) &&
	    !json_object_is_type(found, json_type_int))
		return wrong(key, "number", err);
	number = json_object_get_double(found);
	if (!isfinite(number))
		return wrong(key, "number that a double holds", err);
	*value = number;
	return 0;
}

int json_get_bool(struct json_object *object, const char *key, bool *value, struct zerr *err)
{
	struct json_object *found;

	if (!member(object, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_boolean))
		return wrong(key, "true or false", err);
	*value = json_object_get_boolean(found);
	return 0;
}

int json_get_object(struct json_object *object, const char *key, struct json_object **value,
		    struct zerr *err)
{
	struct json_object *found;

	*value = NULL;
	if (!member(object, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_object))
		return wrong(key, "object", err);
	*value = found;
	return 0;
}

int json_get_array(struct json_object *object, const char *key, struct json_object **value,
		   struct zerr *err)
{
	struct json_object *found;

	*value = NULL;
	if (!member(object, key, &found))
		return 0;
	if (!json_object_is_type(found, json_type_array))
		return wrong(key, "array", err);
	*value = found;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills fields of a create request.  Every value is checked here against the
 * request table, so that one that cannot be sent ends in an error which names it.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/docker_fields.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"

/* A request of PROTO_LARGE_MAX bytes, each written as \uXXXX. */
#define COLUMN_JSON_MAX (UINT64_C(6) * PROTO_LARGE_MAX)

/* The description of a field of the request, from the one table. */
const struct proto_field *builder_field(const char *name)
{
	const struct proto_row *row = proto_find(PROTO_DOCKER, PRIV_docker_container_create);

	return proto_field_find(row->fields, row->field_count, name);
}

int builder_bad(struct builder *builder, const char *name, const char *expected)
{
	return zerr_set(builder->err, -EINVAL, "%s: expected %s", name, expected);
}

/* Copies text to the request's own strings.  The space was measured from the JSON, which is never
 * shorter than what it encodes. */
struct zstr builder_keep(struct docker_create *create, struct zstr text)
{
	char *place = create->strings + create->used;

	if (text.length > create->size - create->used)
		return (struct zstr){0};
	memcpy(place, text.data, text.length);
	create->used += text.length;
	return (struct zstr){place, text.length};
}

int builder_check(struct builder *builder, const char *name, enum text_class class,
		  struct zstr text)
{
	char expected[96];
	const struct proto_field *field = builder_field(name);

	if (text.length <= field->max && text_valid(class, text))
		return 0;
	(void)snprintf(expected, sizeof(expected), "%s of at most %zu bytes",
		       text_class_name(class), field->max);
	return builder_bad(builder, name, expected);
}

/* A plain column. */
int builder_text(struct builder *builder, const char *name, const char *text)
{
	const struct proto_field *field = builder_field(name);
	char *request = (char *)&builder->create->request;
	struct zstr value = zstr_from(text);
	int result = builder_check(builder, name, field->class, value);

	if (result == 0)
		memcpy(request + field->offset, &value, sizeof(value));
	return result;
}

/* Appends one string to a LIST or PAIRS field. */
int builder_append(struct builder *builder, const char *name, enum text_class class,
		   struct zstr text)
{
	const struct proto_field *field = builder_field(name);
	char *request = (char *)&builder->create->request;
	size_t count;
	int result = builder_check(builder, name, class, text);

	if (result < 0)
		return result;
	memcpy(&count, request + field->count_offset, sizeof(count));
	if (count >= field->items)
		return zerr_set(builder->err, -EINVAL, "%s: more entries than can be sent", name);
	text = builder_keep(builder->create, text);
	memcpy(request + field->offset + count * sizeof(text), &text, sizeof(text));
	count++;
	memcpy(request + field->count_offset, &count, sizeof(count));
	return 0;
}

/* A JSON column as an owned value of the type wanted; NULL when it is empty. */
int builder_json(struct builder *builder, enum container_column column, const char *name,
		 enum json_type type, struct json_object **value)
{
	const char *text = container_text(builder->row, column);
	size_t length = strlen(text);

	*value = NULL;
	if (length == 0 || strcmp(text, "null") == 0)
		return 0;
	*value = json_parse(text, length, COLUMN_JSON_MAX, builder->err);
	if (*value != NULL && json_object_is_type(*value, type))
		return 0;
	return builder_bad(builder, name, type == json_type_array ? "a JSON list" : "a JSON map");
}

static struct zstr json_text(struct json_object *value)
{
	return (struct zstr){json_object_get_string(value),
			     (size_t)json_object_get_string_len(value)};
}

int builder_list(struct builder *builder, enum container_column column, const char *name)
{
	_cleanup_(json_putp) struct json_object *list = NULL;
	int result = builder_json(builder, column, name, json_type_array, &list);

	for (size_t i = 0; result == 0 && list != NULL && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (!json_object_is_type(item, json_type_string))
			return builder_bad(builder, name, "strings");
		result = builder_append(builder, name, builder_field(name)->class, json_text(item));
	}
	return result;
}

/* The text of a map's value; numbers and booleans as they are written. */
static bool scalar_text(struct json_object *value, struct zstr *text)
{
	if (json_object_is_type(value, json_type_string)) {
		*text = json_text(value);
		return true;
	}
	if (value == NULL || json_object_is_type(value, json_type_object) ||
	    json_object_is_type(value, json_type_array))
		return false;
	*text = zstr_from(json_object_get_string(value));
	return true;
}

static int put_pair(struct builder *builder, const char *name, const char *key,
		    struct json_object *value)
{
	const struct proto_field *field = builder_field(name);
	struct zstr text;
	int result;

	if (!scalar_text(value, &text))
		return builder_bad(builder, name, "a map of strings");
	result = builder_append(builder, name, field->class, zstr_from(key));
	return result < 0 ? result : builder_append(builder, name, field->value_class, text);
}

int builder_pairs(struct builder *builder, enum container_column column, const char *name)
{
	_cleanup_(json_putp) struct json_object *map = NULL;
	int result = builder_json(builder, column, name, json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	json_object_object_foreach(map, key, value)
	{
		/* The mark of ownership is the helper's to set. */
		if (column == CONTAINER_labels &&
		    strncmp(key, DOCKER_LABEL_PREFIX, strlen(DOCKER_LABEL_PREFIX)) == 0)
			return builder_bad(builder, name,
					   "no key that begins with " DOCKER_LABEL_PREFIX);
		result = put_pair(builder, name, key, value);
		if (result < 0)
			return result;
	}
	return 0;
}

/* A member that is a whole number or digits in a string (MaximumRetryCount is one); absent is 0. */
int builder_count(struct builder *builder, struct json_object *object, const char *key,
		  uint64_t greatest, uint64_t *value)
{
	struct json_object *member = NULL;
	double number;

	*value = 0;
	if (!json_object_object_get_ex(object, key, &member) || member == NULL)
		return 0;
	if (json_object_is_type(member, json_type_string)) {
		const char *text = json_object_get_string(member);

		if (text[0] == '\0' || zfd_parse_u64(text, greatest, value) == 0)
			return 0;
	} else if (json_object_is_type(member, json_type_int) ||
		   json_object_is_type(member, json_type_double)) {
		number = json_object_get_double(member);
		*value = number >= 0 && number <= (double)greatest ? (uint64_t)number : 0;
		if (number >= 0 && number <= (double)greatest)
			return 0;
	}
	return builder_bad(builder, key, "a number of 0 or more");
}

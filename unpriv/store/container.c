/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of table container in memory: setting, limits, and its text form.
 * Used by workers; no privilege.
 */
#include "common/text.h"
#include "common/zfd.h"
#include "unpriv/store/column.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_AT(name) offsetof(struct container, name)

const struct column container_columns[CONTAINER_COLUMN_COUNT] = {
#define TEXT(name, limit) {#name, COLUMN_TEXT, (limit), NULL, COLUMN_AT(name)},
#define JSON(name, empty) {#name, COLUMN_JSON, 0, (empty), COLUMN_AT(name)},
#define INTEGER(name)	  {#name, COLUMN_INTEGER, 0, NULL, COLUMN_AT(name)},
#define DOUBLE(name)	  {#name, COLUMN_DOUBLE, 0, NULL, COLUMN_AT(name)},
#define BOOLEAN(name)	  {#name, COLUMN_BOOLEAN, 0, NULL, COLUMN_AT(name)},
	CONTAINER_COLUMNS(TEXT, JSON, INTEGER, DOUBLE, BOOLEAN)
#undef TEXT
#undef JSON
#undef INTEGER
#undef DOUBLE
#undef BOOLEAN
};

static_assert(CONTAINER_COLUMN_COUNT <= 64, "set and changed have a bit for each column");

static char **text_member(struct container *row, enum container_column column)
{
	return (char **)(void *)((char *)row + container_columns[column].offset);
}

static const void *member(const struct container *row, enum container_column column)
{
	return (const char *)row + container_columns[column].offset;
}

static bool is_text(enum container_column column)
{
	return container_columns[column].kind <= COLUMN_JSON;
}

void container_clear(struct container *row)
{
	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT; i++)
		if (is_text((enum container_column)i))
			free(*text_member(row, (enum container_column)i));
	*row = (struct container){0};
}

const char *container_text(const struct container *row, enum container_column column)
{
	const char *text = is_text(column) ? *(char *const *)member(row, column) : NULL;

	return text ? text : "";
}

char *column_text_copy(const char *value, size_t limit)
{
	struct zstr text = zstr_from(value);
	char *copy = malloc(text.length + 1);
	size_t used = 0;
	uint32_t code;

	for (size_t at = 0; copy && at < text.length;) {
		size_t length = text_utf8_next(text, at, &code);
		size_t take = length ? length : 1;

		if (limit && used + take > limit)
			break;
		if (length)
			memcpy(copy + used, text.data + at, length);
		else
			copy[used] = '?';
		used += take;
		at += take;
	}
	if (copy)
		copy[used] = '\0';
	return copy;
}

static void text_replace(struct container *row, enum container_column column, char *text)
{
	char **old = text_member(row, column);

	free(*old);
	*old = text;
	if (text)
		row->set |= CONTAINER_BIT(column);
	else
		row->set &= ~CONTAINER_BIT(column);
}

/* For Zun, NULL and the empty form of a JSON column are the same value. */
static const char *comparable(enum container_column column, const char *text)
{
	const char *empty = container_columns[column].empty;

	return empty && text && (!text[0] || strcmp(text, empty) == 0) ? NULL : text;
}

int container_set_text(struct container *row, enum container_column column, const char *value)
{
	_cleanup_free_ char *copy =
		value ? column_text_copy(value, container_columns[column].limit) : NULL;
	const char *before = comparable(column, *text_member(row, column));
	const char *after = comparable(column, copy);

	if (value && !copy)
		return -ENOMEM;
	if (before == after || (before && after && strcmp(before, after) == 0))
		return 0;
	text_replace(row, column, TAKE_PTR(copy));
	row->changed |= CONTAINER_BIT(column);
	return 0;
}

static int load_text(struct container *row, enum container_column column, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return -ENOMEM;
	text_replace(row, column, copy);
	return 0;
}

static int load_integer(void *out, const char *text)
{
	char *end = NULL;
	int64_t value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return -EBADMSG;
	memcpy(out, &value, sizeof(value));
	return 0;
}

static int load_double(void *out, const char *text)
{
	char *end = NULL;
	double value = strtod(text, &end);

	if (end == text || *end)
		return -EBADMSG;
	memcpy(out, &value, sizeof(value));
	return 0;
}

static int load_boolean(void *out, const char *text)
{
	bool value = text[0] == 't' || text[0] == '1';

	if (!value && text[0] != 'f' && text[0] != '0')
		return -EBADMSG;
	memcpy(out, &value, sizeof(value));
	return 0;
}

int container_load(struct container *row, enum container_column column, const char *text)
{
	static int (*const loads[])(void *out,
				    const char *text) = {[COLUMN_INTEGER] = load_integer,
							 [COLUMN_DOUBLE] = load_double,
							 [COLUMN_BOOLEAN] = load_boolean};
	int result = 0;

	if (is_text(column))
		return load_text(row, column, text);
	if (text)
		result = loads[container_columns[column].kind](
			(char *)row + container_columns[column].offset, text);
	if (text && result == 0)
		row->set |= CONTAINER_BIT(column);
	return result;
}

const char *container_store(const struct container *row, enum container_column column, char *buffer,
			    size_t size)
{
	const struct column *info = &container_columns[column];
	const void *value = member(row, column);

	if (info->kind == COLUMN_JSON)
		return container_text(row, column)[0] ? container_text(row, column) : info->empty;
	if (!(row->set & CONTAINER_BIT(column)))
		return NULL;
	switch (info->kind) {
	case COLUMN_TEXT:
		return container_text(row, column);
	case COLUMN_INTEGER:
		(void)snprintf(buffer, size, "%" PRId64, *(const int64_t *)value);
		return buffer;
	case COLUMN_DOUBLE:
		(void)snprintf(buffer, size, "%.17g", *(const double *)value);
		return buffer;
	case COLUMN_BOOLEAN:
		return *(const bool *)value ? "true" : "false";
	case COLUMN_JSON:
		break;
	}
	return NULL;
}

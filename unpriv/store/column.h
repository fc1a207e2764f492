/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of table container as data, for the implementations of the store.  Private to
 * unpriv/store. */
#pragma once
#include "unpriv/store/container.h"
#include <stddef.h>

enum column_kind { COLUMN_TEXT, COLUMN_JSON, COLUMN_INTEGER, COLUMN_DOUBLE, COLUMN_BOOLEAN };

struct column {
	const char *name;
	enum column_kind kind;
	size_t limit;	   /* TEXT: bytes at most, 0 = no limit */
	const char *empty; /* JSON: what stands for no value */
	size_t offset;	   /* of the member in struct container */
};

extern const struct column container_columns[CONTAINER_COLUMN_COUNT];

/* Sets a member from a row's text (NULL = SQL NULL) without marking it changed.  0, -ENOMEM, or
 * -EBADMSG when the text is none of the column's kind. */
int container_load(struct container *row, enum container_column column, const char *text);
/* The member as a parameter: text in buffer or in the row, NULL = SQL NULL; empty JSON in Zun's
 * form. */
const char *container_store(const struct container *row, enum container_column column, char *buffer,
			    size_t size);
/* An owned copy that the database takes: valid UTF-8 (what is not becomes '?'), cut at limit bytes
 * (0 = none) between characters.  NULL for lack of memory. */
char *column_text_copy(const char *value, size_t limit);
#define CONTAINER_STORE_SIZE 32

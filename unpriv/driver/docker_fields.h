/* SPDX-License-Identifier: Apache-2.0 */
/* Fills fields of a create request from the columns of a row, by the request table's bounds. */
#pragma once
#include "unpriv/driver/docker_create.h"
#include <json-c/json.h>

struct builder {
	struct docker_create *create;
	const struct container *row;
	const struct docker_create_options *options;
	struct zerr *err;
};

/* The description of a field of the request, from the one table. */
const struct proto_field *builder_field(const char *name);
/* -EINVAL, with "<name>: expected <expected>" as the reason. */
int builder_bad(struct builder *builder, const char *name, const char *expected);
/* Copies text to the request's own strings. */
struct zstr builder_keep(struct docker_create *create, struct zstr text);
/* Is text of that class and within the field's bound? */
int builder_check(struct builder *builder, const char *name, enum text_class class,
		  struct zstr text);
/* Sets a STR field to a plain column (borrowed). */
int builder_text(struct builder *builder, const char *name, const char *text);
/* Appends a copy of one string to a LIST or PAIRS field. */
int builder_append(struct builder *builder, const char *name, enum text_class class,
		   struct zstr text);
/* A JSON column as an owned value of the type wanted; NULL when it is empty. */
int builder_json(struct builder *builder, enum container_column column, const char *name,
		 enum json_type type, struct json_object **value);
/* A JSON list of strings to a LIST field, a map of strings to a PAIRS field. */
int builder_list(struct builder *builder, enum container_column column, const char *name);
int builder_pairs(struct builder *builder, enum container_column column, const char *name);
/* A member that is a whole number or digits in a string; absent is 0. */
int builder_count(struct builder *builder, struct json_object *object, const char *key,
		  uint64_t greatest, uint64_t *value);

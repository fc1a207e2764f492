/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outside JSON: a bounded pre-scan (size, depth, duplicate keys, UTF-8, one
 * value, RFC 8259 strictness: no NaN, no bare words) before json-c sees it, and
 * typed getters that say what was expected.
 */
#pragma once
#include "common/zerr.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 32

/* 0, or -EBADMSG/-EFBIG with *err ("offset 17: duplicate key \"a\""). */
int json_prescan(const char *text, size_t length, size_t max, unsigned depth_max, struct zerr *err);
/* Pre-scan, then parse.  Returns an owned value (json_object_put) or NULL with *err.  JSON null is an
 * error here: nobody of our peers sends it alone. */
struct json_object *json_parse(const char *text, size_t length, size_t max, struct zerr *err);

void json_putp(struct json_object **object); /* for cleanup attributes */

/* Members by exact name.  A missing or null member gives the default and returns 0; a wrong type gives
 * -EINVAL and *err naming key and expected type. */
int json_get_string(struct json_object *object, const char *key, const char **value, struct zerr *err); /* borrows; NULL when absent */
int json_get_int(struct json_object *object, const char *key, int64_t least, int64_t greatest, int64_t *value, struct zerr *err);
int json_get_double(struct json_object *object, const char *key, double *value, struct zerr *err);
int json_get_bool(struct json_object *object, const char *key, bool *value, struct zerr *err);
/* Borrow the member when it is an object / array; NULL when absent or null. */
int json_get_object(struct json_object *object, const char *key, struct json_object **value, struct zerr *err);
int json_get_array(struct json_object *object, const char *key, struct json_object **value, struct zerr *err);

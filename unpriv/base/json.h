/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outside JSON: a bounded pre-scan (size, depth, duplicate keys, UTF-8, one
 * value, RFC 8259 strictness: no NaN, no bare words, no lone surrogate, no NUL in
 * a key) before json-c sees it, and typed getters that say what was expected.
 */
#pragma once
#include "common/zbuf.h"
#include "common/zerr.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#define JSON_DEPTH_MAX	 32 /* what json_parse takes */
#define JSON_DEPTH_LIMIT 64 /* what json_prescan can be asked for at most */

/* 0, or -EBADMSG/-EFBIG/-ENOMEM with *err ("offset 17: duplicate key \"a\"").  Work and memory are
 * bounded by length (n log n for the keys of one object); no recursion.  depth_max counts open
 * brackets. */
int json_prescan(const char *text, size_t length, size_t max, unsigned depth_max, struct zerr *err);
/* Pre-scan, then parse.  Returns an owned value (json_object_put) or NULL with *err.  JSON null is
 * an error here: nobody of our peers sends it alone. */
struct json_object *json_parse(const char *text, size_t length, size_t max, struct zerr *err);

void json_putp(struct json_object **object); /* for cleanup attributes */

/*
 * What can still be read of a text that the pre-scan refuses, so that its sender gets an answer:
 * the plain string (no escapes, at most 128 bytes of printable ASCII) at each path.  Scans from the
 * start as far as the syntax holds, at any depth, without recursion; a path found twice with
 * different values yields nothing.
 */
#define JSON_PICK_STEPS 4
struct json_pick {
	const char *path[JSON_PICK_STEPS]; /* member names from the top; NULL ends it */
	struct zstr value;		   /* borrows from text; empty when not found */
	bool spoilt;			   /* found twice, or not a plain string */
};
void json_pick(const char *text, size_t length, struct json_pick *picks, size_t count);

/*
 * Members by exact name.  A missing or null member leaves the default of the caller in *value (NULL
 * for the three that borrow) and returns 0; a wrong type, a NUL inside a string or a number out of
 * range gives -EINVAL and *err naming key and expected type.  The value is not quoted there: it may
 * be a secret.
 */
/* These borrow the member. */
int json_get_string(struct json_object *object, const char *key, const char **value,
		    struct zerr *err);
int json_get_object(struct json_object *object, const char *key, struct json_object **value,
		    struct zerr *err);
int json_get_array(struct json_object *object, const char *key, struct json_object **value,
		   struct zerr *err);
int json_get_int(struct json_object *object, const char *key, int64_t least, int64_t greatest,
		 int64_t *value, struct zerr *err);
int json_get_double(struct json_object *object, const char *key, double *value, struct zerr *err);
int json_get_bool(struct json_object *object, const char *key, bool *value, struct zerr *err);

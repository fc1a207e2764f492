/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer: typed values in, RFC 8259 text out, into a buffer of the
 * caller.  It places commas itself; the caller opens and closes.  Strings are
 * written as ASCII only or raw UTF-8 (both valid); control bytes, quotes and
 * backslashes escaped, and what could deceive a reader of a log (C1 controls,
 * line separators, direction marks).  Invalid UTF-8 becomes U+FFFD, byte by byte.
 * Sticky failure when the buffer is full or the nesting is wrong.
 */
#pragma once
#include "zbuf.h"

#define JSONW_DEPTH_MAX 16

struct jsonw {
	char *data;
	size_t size, used;
	bool failed;
	size_t depth;
	char ends[JSONW_DEPTH_MAX]; /* '}' or ']' for each level that is open */
};

static inline void jsonw_init(struct jsonw *json, char *data, size_t size)
{
	*json = (struct jsonw){.data = data, .size = size};
}
/* jsonw_object … jsonw_end_object, jsonw_array … jsonw_end_array. */
#define jsonw_object(json)     jsonw_open((json), '{', '}')
#define jsonw_end_object(json) jsonw_close((json), '}')
#define jsonw_array(json)      jsonw_open((json), '[', ']')
#define jsonw_end_array(json)  jsonw_close((json), ']')
void jsonw_open(struct jsonw *json, char start, char end);
void jsonw_close(struct jsonw *json, char end);
/* Keys and strings, borrowed: as zstr, or as C strings. */
void jsonw_text(struct jsonw *json, bool is_key, struct zstr text);
#define jsonw_key_str(json, ...) jsonw_text((json), true, __VA_ARGS__)
#define jsonw_str(json, ...)	 jsonw_text((json), false, __VA_ARGS__)
#define jsonw_key(json, key)	 jsonw_key_str((json), zstr_from(key))
#define jsonw_cstr(json, value)	 jsonw_str((json), zstr_from(value))
void jsonw_u64(struct jsonw *json, uint64_t value);
#define jsonw_bool(json, value) jsonw_word((json), (value) ? "true" : "false")
#define jsonw_null(json)	jsonw_word((json), "null")
/* A literal of JSON's; never text from outside. */
void jsonw_word(struct jsonw *json, const char *word);
/* True when the text is whole: nothing failed, all closed, one value. */
static inline bool jsonw_done(const struct jsonw *json)
{
	return !json->failed && json->depth == 0 && json->used > 0;
}
/* Appends the inside of a JSON string (no quotes) for value to data[size] from *used; false if it
 * does not fit: then *used counts the whole characters that did. */
bool jsonw_escape(struct zstr value, char *data, size_t size, size_t *used);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer.  Runs in processes with a privilege (Docker requests, audit
 * records): the values may come from a hostile broker, the structure never does.
 */
#include "common/jsonw.h"
#include "common/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ESCAPE_SIZE sizeof("\\uffff")

static void put(struct jsonw *json, struct zstr text)
{
	json->failed |= text.length > json->size - json->used;
	if (json->failed)
		return;
	memcpy(json->data + json->used, text.data, text.length);
	json->used += text.length;
}

/* Puts the comma that a key or a value needs here, or fails where it must not stand.  The last byte
 * tells: a string ends with a quote, so '{', '[' and ':' are the writer's own. */
static void begin(struct jsonw *json, bool is_key)
{
	int last = json->used > 0 ? json->data[json->used - 1] : '\0';
	bool in_object = json->depth > 0 && json->ends[json->depth - 1] == '}';
	bool legal = is_key ? in_object && last != ':' : in_object == (last == ':');

	json->failed |= !legal || (json->depth == 0 && json->used > 0); /* one value at the top */
	if (!strchr("{[:", last)) /* nor at the beginning, where last is NUL */
		put(json, zstr_from(","));
}

void jsonw_open(struct jsonw *json, char start, char end)
{
	begin(json, false);
	put(json, (struct zstr){&start, 1});
	json->failed |= json->depth == JSONW_DEPTH_MAX;
	if (!json->failed)
		json->ends[json->depth++] = end;
}

void jsonw_close(struct jsonw *json, char end)
{
	json->failed |= json->depth == 0 || json->ends[json->depth - 1] != end ||
			json->data[json->used - 1] == ':';
	if (json->failed)
		return;
	json->depth--;
	put(json, (struct zstr){&end, 1});
}

/* Characters that are written as they are; the rest takes an escape. */
static bool is_plain(uint32_t code)
{
	return code >= ' ' && code != '"' && code != '\\' && !(code >= 0x7f && code <= 0x9f) &&
	       !(code >= 0x200e && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2066 && code <= 0x2069);
}

/* Fills out with the escape of a character below U+10000. */
static struct zstr escape_of(uint32_t code, char out[ESCAPE_SIZE])
{
	const char *pair = "\bb\ff\nn\rr\tt\"\"\\\\";

	while (*pair && (uint32_t)*pair != code)
		pair += 2;
	if (*pair)
		(void)snprintf(out, ESCAPE_SIZE, "\\%c", pair[1]);
	else
		(void)snprintf(out, ESCAPE_SIZE, "\\u%04" PRIx32, code);
	return zstr_from(out);
}

bool jsonw_escape(struct zstr value, char *data, size_t size, size_t *used)
{
	char escape[ESCAPE_SIZE];

	for (size_t at = 0, taken; at < value.length; at += taken) {
		uint32_t code = 0;
		struct zstr piece = {value.data + at, text_utf8_next(value, at, &code)};

		taken = piece.length > 0 ? piece.length : 1;
		if (piece.length == 0)
			piece = zstr_from("\xef\xbf\xbd"); /* U+FFFD */
		else if (!is_plain(code))
			piece = escape_of(code, escape);
		if (piece.length > size - *used)
			return false;
		memcpy(data + *used, piece.data, piece.length);
		*used += piece.length;
	}
	return true;
}

void jsonw_text(struct jsonw *json, bool is_key, struct zstr text)
{
	begin(json, is_key);
	put(json, zstr_from("\""));
	json->failed = json->failed || !jsonw_escape(text, json->data, json->size, &json->used);
	put(json, zstr_from(is_key ? "\":" : "\""));
}

void jsonw_u64(struct jsonw *json, uint64_t value)
{
	char digits[sizeof("18446744073709551615")];

	(void)snprintf(digits, sizeof(digits), "%" PRIu64, value); /* fits */
	jsonw_word(json, digits);
}

void jsonw_word(struct jsonw *json, const char *word)
{
	begin(json, false);
	put(json, zstr_from(word));
}

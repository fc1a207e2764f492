/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON writer.  Runs in processes with a privilege (Docker requests, audit
 * records): the values may come from a hostile broker, the structure never does.
 */
#include "common/jsonw.h"
#include "common/text.h"
#include <string.h>

void jsonw_init(struct jsonw *json, char *data, size_t size)
{
	*json = (struct jsonw){.data = data, .size = size};
}

static void put(struct jsonw *json, const char *bytes, size_t length)
{
	if (json->failed || length > json->size - json->used) {
		json->failed = true;
		return;
	}
	memcpy(json->data + json->used, bytes, length);
	json->used += length;
}

/* What must stand before a value at this place: a comma, or nothing. */
static void begin_value(struct jsonw *json)
{
	bool top = json->depth == 0;

	if (json->object[json->depth]) {
		if (!json->after_key)
			json->failed = true;
		json->after_key = false;
		return;
	}
	if (json->comma[json->depth]) {
		if (top)
			json->failed = true;
		put(json, ",", 1);
	}
	json->comma[json->depth] = true;
}

void jsonw_open(struct jsonw *json, bool object)
{
	begin_value(json);
	if (json->depth == JSONW_DEPTH_MAX) {
		json->failed = true;
		return;
	}
	json->depth++;
	json->comma[json->depth] = false;
	json->object[json->depth] = object;
	put(json, object ? "{" : "[", 1);
}

void jsonw_close(struct jsonw *json, bool object)
{
	if (json->depth == 0 || json->object[json->depth] != object || json->after_key) {
		json->failed = true;
		return;
	}
	json->depth--;
	put(json, object ? "}" : "]", 1);
}

/* Characters that are written as they are; the rest takes an escape. */
static bool is_plain(uint32_t code)
{
	return code >= ' ' && code != '"' && code != '\\' && !(code >= 0x7f && code <= 0x9f) &&
	       !(code >= 0x200e && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2066 && code <= 0x2069);
}

/* Fills out with the escape of a character below U+10000 and returns its length. */
static size_t escape_of(uint32_t code, char out[6])
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\", digits[] = "0123456789abcdef";

	out[0] = '\\';
	for (size_t i = 0; i < sizeof(names) - 1; i += 2) {
		if ((uint32_t)names[i] == code) {
			out[1] = names[i + 1];
			return 2;
		}
	}
	out[1] = 'u';
	for (size_t i = 0; i < 4; i++)
		out[2 + i] = digits[code >> (12 - 4 * i) & 15];
	return 6;
}

bool jsonw_escape(struct zstr value, char *data, size_t size, size_t *used)
{
	uint32_t code;

	for (size_t at = 0, taken; at < value.length; at += taken) {
		struct zstr piece = {.data = value.data + at};
		char escape[6];

		piece.length = taken = text_utf8_next(value, at, &code);
		if (taken == 0) {
			piece = zstr_from("\xef\xbf\xbd"); /* U+FFFD */
			taken = 1;
		} else if (!is_plain(code)) {
			piece = (struct zstr){.data = escape, .length = escape_of(code, escape)};
		}
		if (piece.length > size - *used)
			return false;
		memcpy(data + *used, piece.data, piece.length);
		*used += piece.length;
	}
	return true;
}

static void put_string(struct jsonw *json, struct zstr value)
{
	put(json, "\"", 1);
	if (!json->failed && !jsonw_escape(value, json->data, json->size, &json->used))
		json->failed = true;
	put(json, "\"", 1);
}

void jsonw_key_str(struct jsonw *json, struct zstr key)
{
	if (!json->object[json->depth] || json->after_key)
		json->failed = true;
	if (json->comma[json->depth])
		put(json, ",", 1);
	json->comma[json->depth] = true;
	json->after_key = true;
	put_string(json, key);
	put(json, ":", 1);
}

void jsonw_str(struct jsonw *json, struct zstr value)
{
	begin_value(json);
	put_string(json, value);
}

static void put_number(struct jsonw *json, bool negative, uint64_t value)
{
	char text[21]; /* sign and 20 digits */
	size_t at = sizeof(text);

	begin_value(json);
	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	if (negative)
		text[--at] = '-';
	put(json, text + at, sizeof(text) - at);
}

void jsonw_u64(struct jsonw *json, uint64_t value)
{
	put_number(json, false, value);
}

void jsonw_i64(struct jsonw *json, int64_t value)
{
	put_number(json, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void jsonw_word(struct jsonw *json, const char *word)
{
	begin_value(json);
	put(json, word, strlen(word));
}

bool jsonw_done(const struct jsonw *json)
{
	return !json->failed && json->depth == 0 && json->comma[0];
}

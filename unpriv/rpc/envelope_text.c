/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON in pure ASCII.  The peers do the same at both levels, and what
 * is ASCII cannot be cut in the middle of a character on its way.  Runs in
 * workers and in the publisher; no privilege.
 */
#include "unpriv/rpc/envelope_text.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/text.h"

#define FIRST_SIZE 4096

static bool reserve(struct envelope_text *text, size_t more)
{
	size_t size = text->size == 0 ? FIRST_SIZE : text->size, wanted;
	char *data;

	if (text->failed || __builtin_add_overflow(text->used, more, &wanted)) {
		text->failed = true;
		return false;
	}
	if (wanted <= text->size)
		return true;
	while (size < wanted)
		if (__builtin_mul_overflow(size, 2, &size))
			size = wanted;
	data = realloc(text->data, size);
	if (!data) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->size = size;
	return true;
}

static void put(struct envelope_text *text, const char *data, size_t length)
{
	if (length == 0 || !reserve(text, length))
		return;
	memcpy(text->data + text->used, data, length);
	text->used += length;
}

void envelope_put(struct envelope_text *text, const char *plain)
{
	put(text, plain, strlen(plain));
}

static void put_unit(struct envelope_text *text, uint32_t unit)
{
	char escape[8];

	(void)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)(unit & 0xffff)); /* 6 bytes */
	put(text, escape, 6);
}

/* A character by its escape, as a pair of surrogates above U+FFFF. */
static void put_code(struct envelope_text *text, uint32_t code)
{
	if (code >= 0x10000) {
		put_unit(text, 0xd800 + ((code - 0x10000) >> 10));
		code = 0xdc00 + ((code - 0x10000) & 0x3ff);
	}
	put_unit(text, code);
}

/* One character outside ASCII; returns the bytes it took. */
static size_t put_wide(struct envelope_text *text, struct zstr value, size_t at)
{
	uint32_t code = 0;
	size_t taken = text_utf8_next(value, at, &code);

	put_code(text, taken > 0 ? code : 0xfffd);
	return taken > 0 ? taken : 1;
}

static void put_special(struct envelope_text *text, char byte)
{
	static const char named[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = byte != '\0' ? strchr(named, byte) : NULL;
	char escape[2] = {'\\', '\0'};

	if (!found) {
		put_unit(text, (unsigned char)byte);
		return;
	}
	escape[1] = letters[found - named];
	put(text, escape, 2);
}

static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

void envelope_put_string(struct envelope_text *text, struct zstr value)
{
	size_t at = 0, start;

	put(text, "\"", 1);
	while (at < value.length) {
		for (start = at; at < value.length && is_plain((unsigned char)value.data[at]);)
			at++;
		put(text, value.data + start, at - start);
		if (at == value.length)
			break;
		if ((unsigned char)value.data[at] < 0x80)
			put_special(text, value.data[at++]);
		else
			at += put_wide(text, value, at);
	}
	put(text, "\"", 1);
}

void envelope_put_json(struct envelope_text *text, struct zstr json)
{
	size_t at = 0, start;

	while (at < json.length) {
		for (start = at; at < json.length && (unsigned char)json.data[at] < 0x80;)
			at++;
		put(text, json.data + start, at - start);
		if (at < json.length)
			at += put_wide(text, json, at);
	}
}

char *envelope_text_take(struct envelope_text *text, size_t *length)
{
	char *data = NULL;

	if (reserve(text, 1)) {
		data = text->data;
		data[text->used] = '\0';
		if (length)
			*length = text->used;
	} else {
		free(text->data);
	}
	*text = (struct envelope_text){0};
	return data;
}

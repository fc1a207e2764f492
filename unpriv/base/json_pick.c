/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a few plain strings out of a text that the pre-scan refused (too
 * deep, a duplicate key, a bad character), so that whoever sent it gets a
 * definite error.  Nothing else is ever taken from such a text.  Runs in
 * workers; one pass, no recursion, no allocation.
 */
#include "common/text.h"
#include <string.h>
#include "unpriv/base/json.h"

#define PICK_VALUE_MAX 128

struct picking {
	struct zstr text;
	size_t at;
	size_t depth;			   /* open brackets */
	struct zstr path[JSON_PICK_STEPS]; /* the key in force in each of the first objects */
	bool object[JSON_PICK_STEPS + 1];  /* whether that level is one */
	bool key_next;			   /* the next string is a key */
	struct json_pick *picks;
	size_t count;
};

/* Reads a string from its quote on: false when it has no end.  plain: no backslash in it. */
static bool read_string(struct picking *picking, struct zstr *raw, bool *plain)
{
	size_t start = ++picking->at;

	*plain = true;
	while (picking->at < picking->text.length) {
		char byte = picking->text.data[picking->at++];

		if (byte == '"') {
			*raw = (struct zstr){picking->text.data + start, picking->at - 1 - start};
			return true;
		}
		if (byte == '\\') {
			*plain = false;
			picking->at++;
		}
	}
	return false;
}

static bool at_path(const struct picking *picking, const struct json_pick *pick)
{
	size_t steps = 0;

	while (steps < JSON_PICK_STEPS && pick->path[steps])
		steps++;
	if (picking->depth != steps)
		return false;
	for (size_t i = 0; i < steps; i++)
		if (!picking->object[i] || !zstr_equal(picking->path[i], pick->path[i]))
			return false;
	return true;
}

static bool same(struct zstr a, struct zstr b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* A value begins or stands here: remember it for the paths that lead to it.  value NULL: not a
 * plain string. */
static void offer(struct picking *picking, const struct zstr *value)
{
	for (size_t i = 0; i < picking->count; i++) {
		struct json_pick *pick = &picking->picks[i];

		if (!at_path(picking, pick))
			continue;
		if (!value || value->length > PICK_VALUE_MAX ||
		    !text_valid(TEXT_PRINTABLE, *value) ||
		    (pick->value.data && !same(pick->value, *value)))
			pick->spoilt = true;
		else
			pick->value = *value;
	}
}

static bool take_string(struct picking *picking)
{
	struct zstr raw;
	bool plain;

	if (!read_string(picking, &raw, &plain))
		return false;
	if (!picking->key_next) {
		offer(picking, plain ? &raw : NULL);
		return true;
	}
	picking->key_next = false;
	/* An escaped key matches no path: those who send the real names send them plainly. */
	if (picking->depth >= 1 && picking->depth <= JSON_PICK_STEPS)
		picking->path[picking->depth - 1] = plain ? raw : (struct zstr){"", 0};
	return true;
}

static void take_open(struct picking *picking, bool object)
{
	offer(picking, NULL);
	if (picking->depth <= JSON_PICK_STEPS)
		picking->object[picking->depth] = object;
	if (picking->depth < JSON_PICK_STEPS)
		picking->path[picking->depth] = (struct zstr){"", 0};
	picking->depth++;
	picking->key_next = object;
}

static bool in_object(const struct picking *picking)
{
	/* Deeper levels are not told apart: no path leads there, so a key taken for a value is
	 * harmless. */
	return picking->depth >= 1 && picking->depth <= JSON_PICK_STEPS + 1 &&
	       picking->object[picking->depth - 1];
}

/* A number or a word, right or wrong: a value, but for null, that no id can be. */
static void take_word(struct picking *picking)
{
	size_t start = picking->at, length;

	while (picking->at < picking->text.length &&
	       !strchr("\"{}[],: \t\r\n", picking->text.data[picking->at]))
		picking->at++;
	if (picking->at == start)
		picking->at++; /* a NUL */
	length = picking->at - start;
	if (length != 4 || memcmp(picking->text.data + start, "null", 4) != 0)
		offer(picking, NULL);
}

static bool take_close(struct picking *picking)
{
	if (picking->depth <= 1)
		return false;
	picking->depth--;
	picking->key_next = false;
	return true;
}

/* One token; false at the end of what makes sense. */
static bool take(struct picking *picking)
{
	char byte = picking->text.data[picking->at];
	bool more = true;

	if (byte == '"')
		return take_string(picking);
	if (byte == '\0' || !strchr("{}[],: \t\r\n", byte)) {
		take_word(picking);
		return true;
	}
	if (byte == '{' || byte == '[')
		take_open(picking, byte == '{');
	else if (byte == '}' || byte == ']')
		more = take_close(picking);
	else if (byte == ',')
		picking->key_next = in_object(picking);
	picking->at++;
	return more;
}

void json_pick(const char *text, size_t length, struct json_pick *picks, size_t count)
{
	struct picking picking = {.text = {text, length}, .picks = picks, .count = count};

	for (size_t i = 0; i < count; i++) {
		picks[i].value = (struct zstr){NULL, 0};
		picks[i].spoilt = false;
	}
	while (picking.at < length && take(&picking))
		;
	for (size_t i = 0; i < count; i++)
		if (picks[i].spoilt || !picks[i].value.data)
			picks[i].value = (struct zstr){"", 0};
}

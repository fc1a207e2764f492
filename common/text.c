/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Character classes and UUIDs.  Runs in processes with a privilege on strings
 * that a hostile broker chose: no recursion, no allocation, no locale.
 */
#include "common/text.h"
#include "common/imageref.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROLS                                                                                   \
	"\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37"   \
	"\177"

/* A class by its bytes: those of set alone; or, without one, valid UTF-8 with none of refused. */
struct rule {
	const char *set, *refused;
	const char *first, *last; /* sets that the ends are of; NULL: of any */
	bool not_empty;
};

static const struct rule rules[TEXT_CLASS_COUNT] = {
	[TEXT_TOKEN] = {.set = TEXT_ALNUM "._:@/+=-"},
	[TEXT_UTF8] = {.refused = ""},
	[TEXT_ENV_KEY] = {.refused = "=", .not_empty = true},
	[TEXT_LABEL_KEY] = {.refused = CONTROLS, .not_empty = true},
	[TEXT_HOSTNAME] = {.set = TEXT_ALNUM ".-", .first = TEXT_ALNUM, .last = TEXT_ALNUM},
	[TEXT_ABS_PATH] = {.refused = CONTROLS, .first = "/"},
	[TEXT_NAME] = {.set = TEXT_ALNUM "_.-", .first = TEXT_ALNUM},
	[TEXT_PRINTABLE] = {.set = TEXT_ALNUM " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"},
};

size_t text_span(struct zstr text, size_t at, const char *set)
{
	size_t end = at;

	while (end < text.length && text.data[end] && strchr(set, text.data[end]))
		end++;
	return end - at;
}

static bool has_one_of(struct zstr text, const char *set)
{
	for (size_t i = 0; i < text.length; i++)
		if (strchr(set, text.data[i])) /* NUL, which ends the set, too */
			return true;
	return false;
}

static bool port_valid(struct zstr text)
{
	size_t digits = text_span(text, 0, TEXT_DIGITS);
	struct zstr protocol;

	/* A leading zero would be a second spelling of the same port. */
	if (digits == 0 || digits > 5 || text.data[0] == '0')
		return false;
	protocol = (struct zstr){text.data + digits, text.length - digits};
	return (zstr_equal(protocol, "/tcp") || zstr_equal(protocol, "/udp") ||
		zstr_equal(protocol, "/sctp")) &&
	       strtoul(text.data, NULL, 10) <= UINT16_MAX; /* the slash ends it */
}

bool text_valid(enum text_class class, struct zstr text)
{
	const struct rule *rule;
	struct imageref image;

	if ((size_t) class >= TEXT_CLASS_COUNT)
		return false;
	if (class == TEXT_IMAGE)
		return imageref_parse(text, &image) == 0;
	if (class == TEXT_PORT)
		return port_valid(text);
	rule = &rules[class];
	if (text.length == 0)
		return !rule->not_empty;
	if ((rule->first && text_span(text, 0, rule->first) == 0) ||
	    (rule->last && text_span(text, text.length - 1, rule->last) == 0))
		return false;
	return rule->set ? text_span(text, 0, rule->set) == text.length
			 : text_utf8_valid(text) && !has_one_of(text, rule->refused);
}

size_t text_utf8_next(struct zstr text, size_t at, uint32_t *code)
{
	/* By the bytes after the first: the first one's fixed bits and their mask, and the least
	 * character that needs them. */
	static const struct {
		uint8_t mask, lead;
		uint32_t least;
	} forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
	const uint8_t *bytes = (const uint8_t *)text.data;
	uint32_t value;
	size_t more = 0;

	if (at >= text.length)
		return 0;
	while (more < 4 && (bytes[at] & forms[more].mask) != forms[more].lead)
		more++;
	if (more == 4 || more >= text.length - at)
		return 0;
	value = bytes[at] & ~(uint32_t)forms[more].mask;
	for (size_t i = 1; i <= more; i++) {
		if ((bytes[at + i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (bytes[at + i] & 0x3f);
	}
	/* Overlong forms, surrogates and what lies beyond Unicode are not UTF-8. */
	if (value < forms[more].least || (value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff)
		return 0;
	*code = value;
	return more + 1;
}

bool text_utf8_valid(struct zstr text)
{
	uint32_t code;

	for (size_t at = 0, taken; at < text.length; at += taken) {
		taken = text_utf8_next(text, at, &code);
		if (taken == 0)
			return false;
	}
	return true;
}

void uuid_format(const uint8_t uuid[UUID_SIZE], char out[UUID_TEXT_SIZE])
{
	for (size_t i = 0; i < UUID_SIZE; i++)
		out += snprintf(out, sizeof("-ff"),
				i >= 4 && i <= 10 && i % 2 == 0 ? "-%02x" : "%02x", uuid[i]);
}

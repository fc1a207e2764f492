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

/* A class by its bytes: those of set alone; or, without one, UTF-8 from the character least on and
 * without another one. */
struct rule {
	const char *set, *first, *last; /* first and last: what the ends are of; NULL: of any */
	uint32_t least, refused;
	bool not_empty;
};

static const struct rule rules[TEXT_CLASS_COUNT] = {
	[TEXT_TOKEN] = {.set = TEXT_ALNUM "._:@/+=-"},
	[TEXT_UTF8] = {.least = 1},
	[TEXT_ENV_KEY] = {.least = 1, .refused = '=', .not_empty = true},
	[TEXT_LABEL_KEY] = {.least = ' ', .refused = 0x7f, .not_empty = true},
	[TEXT_HOSTNAME] = {.set = TEXT_ALNUM ".-", .first = TEXT_ALNUM, .last = TEXT_ALNUM},
	[TEXT_ABS_PATH] = {.least = ' ', .refused = 0x7f, .first = "/"},
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

static bool utf8_valid(struct zstr text, const struct rule *rule)
{
	uint32_t code = 0;

	for (size_t at = 0, taken; at < text.length; at += taken) {
		taken = text_utf8_next(text, at, &code);
		if (taken == 0 || code < rule->least || code == rule->refused)
			return false;
	}
	return true;
}

static bool port_valid(struct zstr text)
{
	size_t digits = text_span(text, 0, TEXT_DIGITS);

	/* A leading zero would be a second spelling of the same port. */
	if (digits == 0 || digits > 5 || text.data[0] == '0')
		return false;
	struct zstr protocol = {text.data + digits, text.length - digits};
	return (zstr_equal(protocol, "/tcp") || zstr_equal(protocol, "/udp") ||
		zstr_equal(protocol, "/sctp")) &&
	       strtoul(text.data, NULL, 10) <= UINT16_MAX; /* the slash ends it */
}

bool text_valid(enum text_class class, struct zstr text)
{
	if ((size_t) class >= TEXT_CLASS_COUNT)
		return false;
	if (class == TEXT_IMAGE)
		return imageref_parse(text, &(struct imageref){0}) == 0;
	if (class == TEXT_PORT)
		return port_valid(text);
	const struct rule *rule = &rules[class];
	if (text.length == 0)
		return !rule->not_empty;
	if ((rule->first && text_span(text, 0, rule->first) == 0) ||
	    (rule->last && text_span(text, text.length - 1, rule->last) == 0))
		return false;
	return rule->set ? text_span(text, 0, rule->set) == text.length : utf8_valid(text, rule);
}

size_t text_utf8_next(struct zstr text, size_t at, uint32_t *code)
{
	static const uint32_t least[] = {0, 0x80, 0x800,
					 0x10000}; /* that needs so many more bytes */
	const uint8_t *bytes = (const uint8_t *)text.data;
	uint32_t value = at < text.length ? bytes[at] : 0xff;
	/* The first byte begins with as many ones as the character has bytes, or with none. */
	size_t ones = (size_t)__builtin_clz(~(value << 24)), more = ones > 0 ? ones - 1 : 0;

	if (ones == 1 || ones > 4 || more >= text.length - at)
		return 0;
	value &= 0x7fU >> ones;
	for (size_t i = 1; i <= more; i++) {
		if ((bytes[at + i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (bytes[at + i] & 0x3f);
	}
	/* Overlong forms, surrogates and what lies beyond Unicode are not UTF-8. */
	if (value < least[more] || (value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff)
		return 0;
	*code = value;
	return more + 1;
}

void uuid_format(const uint8_t uuid[UUID_SIZE], char out[UUID_TEXT_SIZE])
{
	for (size_t i = 0; i < UUID_SIZE; i++)
		out += snprintf(out, sizeof("-ff"),
				i >= 4 && i <= 10 && i % 2 == 0 ? "-%02x" : "%02x", uuid[i]);
}

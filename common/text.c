/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Character classes and UUIDs.  Runs in processes with a privilege on strings
 * that a hostile broker chose: no recursion, no allocation, no locale.
 */
#include "common/text.h"
#include "common/imageref.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum form { UTF8 = 1, NOT_EMPTY = 2, ALNUM_FIRST = 4, ALNUM_LAST = 8, SLASH_FIRST = 16 };

/* A class by its bytes: those of set; or, without one, all from least on but the refused one.
 * The empty text is in every class but those of NOT_EMPTY and those with a check. */
struct rule {
	const char *name, *set;
	uint8_t least;
	char refused;
	unsigned int form;
	bool (*check)(struct zstr text); /* instead of all that */
};

size_t text_span(struct zstr text, size_t at, const char *set)
{
	size_t end = at;

	while (end < text.length && text.data[end] && strchr(set, text.data[end]))
		end++;
	return end - at;
}

static bool port_valid(struct zstr text)
{
	size_t digits = text_span(text, 0, TEXT_DIGITS);
	unsigned int port = 0;

	/* A leading zero would be a second spelling of the same port. */
	if (digits == 0 || digits > 5 || text.data[0] == '0')
		return false;
	for (size_t i = 0; i < digits; i++)
		port = port * 10 + (unsigned int)(text.data[i] - '0');
	text.data += digits;
	text.length -= digits;
	return port <= 65535 &&
	       (zstr_equal(text, "/tcp") || zstr_equal(text, "/udp") || zstr_equal(text, "/sctp"));
}

static bool image_valid(struct zstr text)
{
	struct imageref image;

	return imageref_parse(text, &image) == 0;
}

static const struct rule rules[TEXT_CLASS_COUNT] = {
	[TEXT_TOKEN] = {.name = "token", .set = TEXT_ALNUM "._:@/+=-"},
	[TEXT_UTF8] = {.name = "UTF-8 text", .least = 1, .form = UTF8},
	[TEXT_ENV_KEY] = {.name = "environment name",
			  .least = 1,
			  .refused = '=',
			  .form = UTF8 | NOT_EMPTY},
	[TEXT_LABEL_KEY] = {.name = "label name",
			    .least = ' ',
			    .refused = 0x7f,
			    .form = UTF8 | NOT_EMPTY},
	[TEXT_IMAGE] = {.name = "image reference", .check = image_valid},
	[TEXT_HOSTNAME] = {.name = "host name",
			   .set = TEXT_ALNUM ".-",
			   .form = ALNUM_FIRST | ALNUM_LAST},
	[TEXT_ABS_PATH] = {.name = "absolute path",
			   .least = ' ',
			   .refused = 0x7f,
			   .form = UTF8 | SLASH_FIRST},
	[TEXT_NAME] = {.name = "name", .set = TEXT_ALNUM "_.-", .form = ALNUM_FIRST},
	[TEXT_PORT] = {.name = "port", .check = port_valid},
	[TEXT_PRINTABLE] = {.name = "printable text",
			    .set = TEXT_ALNUM " !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"},
};

const char *text_class_name(enum text_class class)
{
	return (size_t) class < TEXT_CLASS_COUNT ? rules[class].name : "?";
}

static bool ends_valid(unsigned int form, struct zstr text)
{
	return !((form & ALNUM_FIRST) && text_span(text, 0, TEXT_ALNUM) == 0) &&
	       !((form & ALNUM_LAST) && text_span(text, text.length - 1, TEXT_ALNUM) == 0) &&
	       !((form & SLASH_FIRST) && text.data[0] != '/');
}

static bool bytes_valid(const struct rule *rule, struct zstr text)
{
	if (rule->set)
		return text_span(text, 0, rule->set) == text.length;
	for (size_t i = 0; i < text.length; i++)
		if ((uint8_t)text.data[i] < rule->least || text.data[i] == rule->refused)
			return false;
	return true;
}

bool text_valid(enum text_class class, struct zstr text)
{
	const struct rule *rule = (size_t) class < TEXT_CLASS_COUNT ? &rules[class] : NULL;

	if (!rule || rule->check)
		return rule && rule->check(text);
	if (text.length == 0)
		return !(rule->form & NOT_EMPTY);
	return ends_valid(rule->form, text) && bytes_valid(rule, text) &&
	       (!(rule->form & UTF8) || text_utf8_valid(text));
}

size_t text_utf8_next(struct zstr text, size_t at, uint32_t *code)
{
	/* By length: the lead byte's fixed bits and their mask, and the least character that needs
	 * it. */
	static const struct {
		uint8_t mask, lead;
		uint32_t least;
	} forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
	size_t more = 0; /* bytes after the first */
	uint32_t value;

	if (at >= text.length)
		return 0;
	while (((uint8_t)text.data[at] & forms[more].mask) != forms[more].lead)
		if (++more == sizeof(forms) / sizeof(forms[0]))
			return 0;
	if (more >= text.length - at)
		return 0;
	value = (uint8_t)text.data[at] & (uint8_t)~forms[more].mask;
	for (size_t i = 1; i <= more; i++) {
		if (((uint8_t)text.data[at + i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | ((uint8_t)text.data[at + i] & 0x3f);
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
	size_t length;

	for (size_t at = 0; at < text.length; at += length) {
		length = text_utf8_next(text, at, &code);
		if (length == 0)
			return false;
	}
	return true;
}

/* A dash stands before the bytes 4, 6, 8 and 10 of a UUID. */
static bool dash_before(size_t byte)
{
	return byte >= 4 && byte <= 10 && byte % 2 == 0;
}

int uuid_parse(struct zstr text, uint8_t out[UUID_SIZE])
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF"; /* the value modulo 16 */
	uint8_t uuid[UUID_SIZE] = {0};
	size_t at = 0;

	if (text.length != UUID_TEXT_SIZE - 1)
		return -EINVAL;
	for (size_t i = 0; i < 2 * sizeof(uuid); i++) {
		const char *digit;

		if (i % 2 == 0 && dash_before(i / 2) && text.data[at++] != '-')
			return -EINVAL;
		digit = text.data[at] ? strchr(digits, text.data[at]) : NULL;
		if (!digit)
			return -EINVAL;
		uuid[i / 2] = (uint8_t)(uuid[i / 2] << 4 | ((digit - digits) & 15));
		at++;
	}
	memcpy(out, uuid, UUID_SIZE);
	return 0;
}

void uuid_format(const uint8_t uuid[UUID_SIZE], char out[UUID_TEXT_SIZE])
{
	for (size_t i = 0; i < UUID_SIZE; i++)
		out += snprintf(out, sizeof("-ff"), "%s%02x", dash_before(i) ? "-" : "", uuid[i]);
}

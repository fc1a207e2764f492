/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Character classes and UUIDs.  Runs in processes with a privilege on strings
 * that a hostile broker chose: no recursion, no allocation, no locale.
 */
#include "common/text.h"
#include "common/imageref.h"
#include <errno.h>
#include <string.h>

static bool is_alnum(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9');
}

/* Letters, digits and the bytes of extra. */
static bool all_in(struct zstr text, const char *extra)
{
	for (size_t i = 0; i < text.length; i++)
		if (!is_alnum(text.data[i]) &&
		    (text.data[i] == '\0' || !strchr(extra, text.data[i])))
			return false;
	return true;
}

/* Bytes from least on, without DEL; bytes above ASCII too unless ascii. */
static bool all_above(struct zstr text, uint8_t least, bool ascii)
{
	for (size_t i = 0; i < text.length; i++) {
		uint8_t byte = (uint8_t)text.data[i];

		if (byte < least || byte == 0x7f || (ascii && byte > 0x7f))
			return false;
	}
	return true;
}

static bool has_byte(struct zstr text, char byte)
{
	return text.length > 0 && memchr(text.data, byte, text.length);
}

static bool hostname_valid(struct zstr text)
{
	return text.length == 0 || (all_in(text, ".-") && is_alnum(text.data[0]) &&
				    is_alnum(text.data[text.length - 1]));
}

static bool port_valid(struct zstr text)
{
	static const char *const protocols[] = {"/tcp", "/udp", "/sctp"};
	unsigned int port = 0;
	size_t digits = 0;

	while (digits < text.length && digits < 5 && text.data[digits] >= '0' &&
	       text.data[digits] <= '9')
		port = port * 10 + (unsigned int)(text.data[digits++] - '0');
	/* A leading zero would be a second spelling of the same port. */
	if (digits == 0 || text.data[0] == '0' || port > 65535)
		return false;
	text.data += digits;
	text.length -= digits;
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (zstr_equal(text, protocols[i]))
			return true;
	return false;
}

bool text_valid(enum text_class class, struct zstr text)
{
	struct imageref image;

	switch (class) {
	case TEXT_TOKEN:
		return all_in(text, "._:@/+=-");
	case TEXT_UTF8:
		return text_utf8_valid(text) && !has_byte(text, '\0');
	case TEXT_ENV_KEY:
		return text.length > 0 && text_utf8_valid(text) && !has_byte(text, '\0') &&
		       !has_byte(text, '=');
	case TEXT_LABEL_KEY:
		return text.length > 0 && text_utf8_valid(text) && all_above(text, ' ', false);
	case TEXT_IMAGE:
		return imageref_parse(text, &image) == 0;
	case TEXT_HOSTNAME:
		return hostname_valid(text);
	case TEXT_ABS_PATH:
		return text.length == 0 || (text.data[0] == '/' && text_utf8_valid(text) &&
					    all_above(text, ' ', false));
	case TEXT_NAME:
		return text.length == 0 || (is_alnum(text.data[0]) && all_in(text, "_.-"));
	case TEXT_PORT:
		return port_valid(text);
	case TEXT_PRINTABLE:
		return all_above(text, ' ', true);
	case TEXT_CLASS_COUNT:
		break;
	}
	return false;
}

const char *text_class_name(enum text_class class)
{
	static const char *const names[TEXT_CLASS_COUNT] = {
		[TEXT_TOKEN] = "token",
		[TEXT_UTF8] = "UTF-8 text",
		[TEXT_ENV_KEY] = "environment name",
		[TEXT_LABEL_KEY] = "label name",
		[TEXT_IMAGE] = "image reference",
		[TEXT_HOSTNAME] = "host name",
		[TEXT_ABS_PATH] = "absolute path",
		[TEXT_NAME] = "name",
		[TEXT_PORT] = "port",
		[TEXT_PRINTABLE] = "printable text",
	};

	return (size_t) class < TEXT_CLASS_COUNT ? names[class] : "?";
}

size_t text_utf8_next(struct zstr text, size_t at, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t lead;
	size_t length;
	uint32_t value;

	if (at >= text.length)
		return 0;
	lead = (uint8_t)text.data[at];
	length = lead < 0x80   ? 1
		 : lead < 0xc0 ? 0
		 : lead < 0xe0 ? 2
		 : lead < 0xf0 ? 3
		 : lead < 0xf8 ? 4
			       : 0;
	if (length == 0 || length > text.length - at)
		return 0;
	value = length == 1 ? lead : lead & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		uint8_t byte = (uint8_t)text.data[at + i];

		if ((byte & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (byte & 0x3f);
	}
	/* Overlong forms, surrogates and what lies beyond Unicode are not UTF-8. */
	if (value < least[length] || (value >= 0xd800 && value <= 0xdfff) || value > 0x10ffff)
		return 0;
	*code = value;
	return length;
}

bool text_utf8_valid(struct zstr text)
{
	size_t at = 0;

	while (at < text.length) {
		uint32_t code;
		size_t length = text_utf8_next(text, at, &code);

		if (length == 0)
			return false;
		at += length;
	}
	return true;
}

static int hex_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

/* A dash stands before the bytes 4, 6, 8 and 10 of a UUID. */
static bool dash_before(size_t byte)
{
	return byte >= 4 && byte <= 10 && byte % 2 == 0;
}

int uuid_parse(struct zstr text, uint8_t out[UUID_SIZE])
{
	uint8_t uuid[UUID_SIZE];
	size_t at = 0;

	if (text.length != UUID_TEXT_SIZE - 1)
		return -EINVAL;
	for (size_t i = 0; i < UUID_SIZE; i++) {
		int high, low;

		if (dash_before(i) && text.data[at++] != '-')
			return -EINVAL;
		high = hex_value(text.data[at++]);
		low = hex_value(text.data[at++]);
		if (high < 0 || low < 0)
			return -EINVAL;
		uuid[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(out, uuid, UUID_SIZE);
	return 0;
}

void uuid_format(const uint8_t uuid[UUID_SIZE], char out[UUID_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < UUID_SIZE; i++) {
		if (dash_before(i))
			*out++ = '-';
		*out++ = digits[uuid[i] >> 4];
		*out++ = digits[uuid[i] & 15];
	}
	*out = '\0';
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of RFC 8259, strictly: what a lenient parser takes besides (comments,
 * single quotes, NaN, control bytes, broken UTF-8) is refused here, so that no
 * two parsers on the way can read one text differently.  Runs in workers, on
 * bytes from the bus, the engine and the database; no privilege.
 */
#include "unpriv/base/json_scan.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "common/text.h"

#define CODE_END UINT32_MAX

int json_scan_error(struct json_scan *scan, size_t offset, const char *what)
{
	return zerr_set(scan->err, -EBADMSG, "offset %zu: %s", offset, what);
}

void json_scan_blank(struct json_scan *scan)
{
	while (scan->at < scan->text.length) {
		char byte = scan->text.data[scan->at];

		if (byte != ' ' && byte != '\n' && byte != '\t' && byte != '\r')
			return;
		scan->at++;
	}
}

static int hex_value(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

/* The four digits behind \u at text.data[at] (the backslash); false when there are none. */
static bool unit_at(struct zstr text, size_t at, uint32_t *unit)
{
	*unit = 0;
	if (at >= text.length || text.length - at < 6 || text.data[at] != '\\' ||
	    text.data[at + 1] != 'u')
		return false;
	for (size_t i = 2; i < 6; i++) {
		int value = hex_value(text.data[at + i]);

		if (value < 0)
			return false;
		*unit = *unit << 4 | (uint32_t)value;
	}
	return true;
}

static bool is_high(uint32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low(uint32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

static uint32_t join(uint32_t high, uint32_t low)
{
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

static int scan_unicode(struct json_scan *scan)
{
	uint32_t unit, low;

	if (!unit_at(scan->text, scan->at, &unit))
		return json_scan_error(scan, scan->at,
				       "four hexadecimal digits expected after \\u");
	if (is_low(unit))
		return json_scan_error(scan, scan->at, "lone surrogate");
	if (is_high(unit)) {
		if (!unit_at(scan->text, scan->at + 6, &low) || !is_low(low))
			return json_scan_error(scan, scan->at, "lone surrogate");
		scan->at += 6;
	}
	if (unit == 0)
		scan->nul = true;
	scan->at += 6;
	return 0;
}

static int scan_escape(struct json_scan *scan)
{
	char kind = '\0';

	if (scan->text.length - scan->at > 1)
		kind = scan->text.data[scan->at + 1];
	if (kind == 'u')
		return scan_unicode(scan);
	if (kind == '\0' || !strchr("\"\\/bfnrt", kind))
		return json_scan_error(scan, scan->at, "unknown escape");
	scan->at += 2;
	return 0;
}

int json_scan_string(struct json_scan *scan, struct zstr *raw)
{
	size_t start = ++scan->at;

	scan->nul = false;
	while (scan->at < scan->text.length) {
		unsigned char byte = (unsigned char)scan->text.data[scan->at];
		uint32_t code;
		size_t taken;

		if (byte == '"') {
			*raw = (struct zstr){scan->text.data + start, scan->at++ - start};
			return 0;
		}
		if (byte == '\\') {
			int result = scan_escape(scan);

			if (result < 0)
				return result;
			continue;
		}
		if (byte < 0x20)
			return json_scan_error(scan, scan->at, "control byte in a string");
		taken = byte < 0x80 ? 1 : text_utf8_next(scan->text, scan->at, &code);
		if (taken == 0)
			return json_scan_error(scan, scan->at, "not UTF-8");
		scan->at += taken;
	}
	return json_scan_error(scan, scan->at, "string without an end");
}

static size_t scan_digits(struct json_scan *scan)
{
	size_t start = scan->at;

	while (scan->at < scan->text.length && scan->text.data[scan->at] >= '0' &&
	       scan->text.data[scan->at] <= '9')
		scan->at++;
	return scan->at - start;
}

static bool accept(struct json_scan *scan, const char *bytes)
{
	char byte = '\0';

	if (scan->at < scan->text.length)
		byte = scan->text.data[scan->at];
	if (byte == '\0' || !strchr(bytes, byte))
		return false;
	scan->at++;
	return true;
}

int json_scan_number(struct json_scan *scan)
{
	size_t start = scan->at;

	(void)accept(scan, "-"); /* the sign is optional */
	if (!accept(scan, "0") && scan_digits(scan) == 0)
		return json_scan_error(scan, start, "value expected");
	if (accept(scan, ".") && scan_digits(scan) == 0)
		return json_scan_error(scan, start, "number without digits after its point");
	if (accept(scan, "eE")) {
		(void)accept(scan, "+-"); /* the sign is optional */
		if (scan_digits(scan) == 0)
			return json_scan_error(scan, start,
					       "number without digits in its exponent");
	}
	return 0;
}

int json_scan_word(struct json_scan *scan)
{
	static const char *const words[] = {"true", "false", "null"};
	size_t left = scan->text.length - scan->at;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);

		if (left >= length && memcmp(scan->text.data + scan->at, words[i], length) == 0) {
			scan->at += length;
			return 0;
		}
	}
	return json_scan_error(scan, scan->at, "value expected");
}

/* The next character of a string that json_scan_string took; CODE_END behind the last. */
static uint32_t next_code(struct zstr raw, size_t *at)
{
	static const char escapes[] = "bfnrt", meant[] = "\b\f\n\r\t";
	uint32_t code = 0, low = 0;
	const char *named;

	if (*at >= raw.length)
		return CODE_END;
	if (raw.data[*at] != '\\') {
		*at += text_utf8_next(raw, *at, &code);
		return code;
	}
	if (!unit_at(raw, *at, &code)) {
		code = (unsigned char)raw.data[*at + 1];
		named = strchr(escapes, raw.data[*at + 1]);
		*at += 2;
		return named ? (unsigned char)meant[named - escapes] : code;
	}
	*at += 6;
	if (is_high(code) && unit_at(raw, *at, &low)) {
		*at += 6;
		return join(code, low);
	}
	return code;
}

static int compare_decoded(struct zstr a, struct zstr b)
{
	size_t at_a = 0, at_b = 0;

	for (;;) {
		uint32_t code_a = next_code(a, &at_a), code_b = next_code(b, &at_b);

		if (code_a == CODE_END || code_b == CODE_END)
			return (code_a != CODE_END) - (code_b != CODE_END);
		if (code_a != code_b)
			return code_a > code_b ? 1 : -1;
	}
}

static bool has_escape(struct zstr raw)
{
	return raw.length > 0 && memchr(raw.data, '\\', raw.length);
}

int json_scan_compare(struct zstr a, struct zstr b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order;

	if (has_escape(a) || has_escape(b))
		return compare_decoded(a, b);
	/* The order of UTF-8 bytes is the order of code points: both ways agree. */
	order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
	return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The character classes of strings that cross a boundary, and UUIDs.
 * One table here; requests.def names a class for every string field and the
 * decoder checks it before a handler sees the string.
 */
#pragma once
#include "zbuf.h"

/* Sets of bytes for text_span, independent of any locale. */
#define TEXT_DIGITS "0123456789"
#define TEXT_LOWER  "abcdefghijklmnopqrstuvwxyz"
#define TEXT_ALNUM  TEXT_DIGITS TEXT_LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* How many bytes from position at on are in set; NUL never is. */
size_t text_span(struct zstr text, size_t at, const char *set);

enum text_class {
	TEXT_TOKEN, /* [A-Za-z0-9._:@/+=-]*: request, project and user ids */
	TEXT_UTF8, /* valid UTF-8 (RFC 3629), no NUL: arguments, environment values, label values */
	TEXT_ENV_KEY,	/* UTF-8 without NUL and '=', at least 1 byte */
	TEXT_LABEL_KEY, /* UTF-8 without NUL and control bytes, at least 1 byte */
	TEXT_IMAGE,	/* an image reference that imageref_parse takes */
	TEXT_HOSTNAME,	/* [A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?, may be empty */
	TEXT_ABS_PATH,	/* empty, or absolute path inside the container: UTF-8, no control bytes, no
			   NUL */
	TEXT_NAME,	/* [A-Za-z0-9][A-Za-z0-9_.-]*, may be empty: runtimes */
	TEXT_PORT,	/* 1..65535 "/" (tcp|udp|sctp) */
	TEXT_PRINTABLE, /* ASCII 0x20..0x7e: rule names, error texts */
	TEXT_CLASS_COUNT
};

bool text_valid(enum text_class class, struct zstr text);
const char *text_class_name(enum text_class class);

bool text_utf8_valid(struct zstr text);
/* The length (1 to 4) of the character at text.data[at], with its code point, or 0 when there is
 * none. */
size_t text_utf8_next(struct zstr text, size_t at, uint32_t *code);

#define UUID_SIZE      16
#define UUID_TEXT_SIZE 37
/* Canonical 8-4-4-4-12 form, lower or upper case hexadecimal.  0 or -EINVAL. */
int uuid_parse(struct zstr text, uint8_t out[UUID_SIZE]);
/* Lower case, terminated. */
void uuid_format(const uint8_t uuid[UUID_SIZE], char out[UUID_TEXT_SIZE]);

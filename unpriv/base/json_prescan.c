/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pre-scan: one pass over a text before any parser allocates for it.  A
 * stack of frames instead of recursion; the keys of the objects that are still
 * open lie on a second stack and are sorted when their object closes, so that
 * finding a duplicate costs n log n whatever the keys are.
 */
#include "common/text.h"
#include <errno.h>
#include <stdlib.h>
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/base/json_scan.h"

#define KEYS_FIRST    64 /* grows by doubling; a key takes 5 bytes of text at least */
#define KEY_SHOWN_MAX 64

enum want { WANT_VALUE, WANT_ITEM_OR_END, WANT_KEY_OR_END, WANT_KEY, WANT_NEXT, WANT_NOTHING };

struct frame {
	bool object;
	size_t first_key;
};

struct prescan {
	struct json_scan scan;
	enum want want;
	unsigned depth, depth_max;
	struct frame frames[JSON_DEPTH_LIMIT];
	struct zstr *keys; /* raw, of all open objects */
	size_t key_count, key_size;
};

static int compare_keys(const void *a, const void *b)
{
	return json_scan_compare(*(const struct zstr *)a, *(const struct zstr *)b);
}

static int push_key(struct prescan *prescan, struct zstr key)
{
	if (prescan->key_count == prescan->key_size) {
		size_t size = prescan->key_size == 0 ? KEYS_FIRST : prescan->key_size * 2;
		struct zstr *keys = reallocarray(prescan->keys, size, sizeof(*keys));

		if (!keys)
			return zerr_set(prescan->scan.err, -ENOMEM, "no memory for the keys");
		prescan->keys = keys;
		prescan->key_size = size;
	}
	prescan->keys[prescan->key_count++] = key;
	return 0;
}

static int duplicate(struct prescan *prescan, struct zstr a, struct zstr b)
{
	struct zstr later = a.data > b.data ? a : b;
	size_t offset = (size_t)(later.data - prescan->scan.text.data) - 1;

	if (later.length > KEY_SHOWN_MAX || !text_valid(TEXT_PRINTABLE, later))
		return json_scan_error(&prescan->scan, offset, "duplicate key");
	return zerr_set(prescan->scan.err, -EBADMSG, "offset %zu: duplicate key \"%.*s\"", offset,
			(int)later.length, later.data);
}

static int close_frame(struct prescan *prescan)
{
	struct frame *frame = &prescan->frames[--prescan->depth];
	size_t count = prescan->key_count - frame->first_key;

	prescan->scan.at++;
	prescan->want = prescan->depth > 0 ? WANT_NEXT : WANT_NOTHING;
	if (!frame->object || count == 0)
		return 0;
	prescan->key_count = frame->first_key;
	if (count == 1)
		return 0;
	qsort(prescan->keys + frame->first_key, count, sizeof(*prescan->keys), compare_keys);
	for (size_t i = 1; i < count; i++) {
		const struct zstr *pair = prescan->keys + frame->first_key + i - 1;

		if (json_scan_compare(pair[0], pair[1]) == 0)
			return duplicate(prescan, pair[0], pair[1]);
	}
	return 0;
}

static int open_frame(struct prescan *prescan, bool object)
{
	if (prescan->depth == prescan->depth_max)
		return json_scan_error(&prescan->scan, prescan->scan.at, "nested too deeply");
	prescan->frames[prescan->depth++] = (struct frame){object, prescan->key_count};
	prescan->want = object ? WANT_KEY_OR_END : WANT_ITEM_OR_END;
	prescan->scan.at++;
	return 0;
}

static int take_value(struct prescan *prescan, char byte)
{
	struct zstr raw;
	int result;

	if (byte == '{' || byte == '[')
		return open_frame(prescan, byte == '{');
	if (byte == '"')
		result = json_scan_string(&prescan->scan, &raw);
	else if (byte == '-' || (byte >= '0' && byte <= '9'))
		result = json_scan_number(&prescan->scan);
	else
		result = json_scan_word(&prescan->scan);
	prescan->want = prescan->depth > 0 ? WANT_NEXT : WANT_NOTHING;
	return result;
}

static int take_key(struct prescan *prescan, char byte)
{
	struct json_scan *scan = &prescan->scan;
	size_t start = scan->at;
	struct zstr key;
	int result;

	if (byte != '"')
		return json_scan_error(scan, start, "key expected");
	result = json_scan_string(scan, &key);
	if (result < 0)
		return result;
	/* json-c keeps keys as C strings: "a\u0000b" would become a second "a". */
	if (scan->nul)
		return json_scan_error(scan, start, "NUL in a key");
	json_scan_blank(scan);
	if (scan->at >= scan->text.length || scan->text.data[scan->at] != ':')
		return json_scan_error(scan, scan->at, "':' expected");
	scan->at++;
	prescan->want = WANT_VALUE;
	return push_key(prescan, key);
}

static int take_next(struct prescan *prescan, char byte)
{
	bool object = prescan->frames[prescan->depth - 1].object;

	if (byte == (object ? '}' : ']'))
		return close_frame(prescan);
	if (byte != ',')
		return json_scan_error(&prescan->scan, prescan->scan.at,
				       object ? "',' or '}' expected" : "',' or ']' expected");
	prescan->scan.at++;
	prescan->want = object ? WANT_KEY : WANT_VALUE;
	return 0;
}

static int take_token(struct prescan *prescan, char byte)
{
	switch (prescan->want) {
	case WANT_ITEM_OR_END:
		return byte == ']' ? close_frame(prescan) : take_value(prescan, byte);
	case WANT_VALUE:
		return take_value(prescan, byte);
	case WANT_KEY_OR_END:
		return byte == '}' ? close_frame(prescan) : take_key(prescan, byte);
	case WANT_KEY:
		return take_key(prescan, byte);
	case WANT_NEXT:
		return take_next(prescan, byte);
	case WANT_NOTHING:
		break;
	}
	return json_scan_error(&prescan->scan, prescan->scan.at, "more behind the value");
}

int json_prescan(const char *text, size_t length, size_t max, unsigned depth_max, struct zerr *err)
{
	struct prescan prescan = {.scan = {.text = {text, length}, .err = err}};
	int result = 0;

	if (length > max)
		return zerr_set(err, -EFBIG, "%zu bytes are more than the limit of %zu", length,
				max);
	prescan.depth_max = depth_max < JSON_DEPTH_LIMIT ? depth_max : JSON_DEPTH_LIMIT;
	for (json_scan_blank(&prescan.scan); result == 0 && prescan.scan.at < length;
	     json_scan_blank(&prescan.scan))
		result = take_token(&prescan, text[prescan.scan.at]);
	if (result == 0 && prescan.want != WANT_NOTHING)
		result = json_scan_error(&prescan.scan, length, "text ends too early");
	free(prescan.keys);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens of strict JSON, private to unpriv/base: used by the pre-scan only. */
#pragma once
#include "common/zbuf.h"
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>

struct json_scan {
	struct zstr text;
	size_t at;
	bool nul; /* the last string had a \u0000 */
	struct zerr *err;
};

/* Fills *err with the offset and returns -EBADMSG. */
int json_scan_error(struct json_scan *scan, size_t offset, const char *what);
void json_scan_blank(struct json_scan *scan);
/* Each starts at the first byte of its token and ends behind it: 0 or -EBADMSG. */
int json_scan_string(struct json_scan *scan,
		     struct zstr *raw); /* raw: what stands between the quotes */
int json_scan_number(struct json_scan *scan);
int json_scan_word(struct json_scan *scan); /* true, false, null */
/* Orders two raw strings, both accepted by json_scan_string, by what they decode to. */
int json_scan_compare(struct zstr a, struct zstr b);

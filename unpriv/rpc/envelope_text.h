/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows, and JSON in pure ASCII as oslo.serialization writes it; private to unpriv/rpc.
 */
#pragma once
#include "common/zbuf.h"
#include <stdbool.h>
#include <stddef.h>

struct envelope_text {
	char *data; /* owned; not terminated before envelope_text_take */
	size_t used, size;
	bool failed; /* no memory: sticky */
};

void envelope_put(struct envelope_text *text, const char *plain);
/* A JSON string with its quotes.  Bytes that are no UTF-8 become U+FFFD. */
void envelope_put_string(struct envelope_text *text, struct zstr value);
/* JSON that another writer made: kept, but for bytes outside ASCII, which only strings have. */
void envelope_put_json(struct envelope_text *text, struct zstr json);
/* The text, NUL-terminated and owned, or NULL when something failed.  Nothing is left behind. */
char *envelope_text_take(struct envelope_text *text, size_t *length);

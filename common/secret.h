/* SPDX-License-Identifier: Apache-2.0 */
/* A password or key: locked in memory, left out of core dumps, wiped when released. */
#pragma once
#include <stddef.h>

struct secret {
	char *data; /* page of its own, NUL-terminated; NULL = empty */
	size_t length;
	size_t mapped;
};

/* Copies length bytes in.  0 or a negative errno.  mlock may fail under RLIMIT_MEMLOCK: that is not
 * an error. */
int secret_set(struct secret *secret, const char *data, size_t length);
/* Wipes and unmaps; safe on a zeroed struct. */
void secret_clear(struct secret *secret);
/* "" when empty. */
const char *secret_text(const struct secret *secret);

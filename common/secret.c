/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passwords and keys in pages of their own.  Used by the processes that read
 * zun.conf and by those that hold a key; needs no privilege.
 */
#include "common/secret.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int secret_set(struct secret *secret, const char *data, size_t length)
{
	struct secret fresh = {.length = length};

	if (length == 0) {
		secret_clear(secret);
		return 0;
	}
	if (__builtin_add_overflow(length, 1, &fresh.mapped))
		return -ENOMEM;
	fresh.data = mmap(NULL, fresh.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	if (fresh.data == MAP_FAILED)
		return -errno;
	(void)mlock(fresh.data,
		    fresh.mapped); /* RLIMIT_MEMLOCK may say no; then a swap device may see it */
	if (madvise(fresh.data, fresh.mapped, MADV_DONTDUMP) < 0) {
		int result = -errno;

		(void)munmap(fresh.data, fresh.mapped); /* our own mapping: cannot fail */
		return result;
	}
	memcpy(fresh.data, data, length); /* the last byte is 0: a new page */
	secret_clear(secret);		  /* only now: data may lie in the old one */
	*secret = fresh;
	return 0;
}

void secret_clear(struct secret *secret)
{
	if (secret->data) {
		explicit_bzero(secret->data, secret->mapped);
		(void)munmap(secret->data, secret->mapped); /* our own mapping: cannot fail */
	}
	*secret = (struct secret){0};
}

const char *secret_text(const struct secret *secret)
{
	return secret->data ? secret->data : "";
}

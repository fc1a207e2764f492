/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HMAC as RFC 2104 states it, over SHA-256.  For the processes that mint and
 * check tokens; no branch or index depends on key or data.
 */
#include "common/hmac.h"
#include <string.h>

void hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
		 uint8_t out[SHA256_SIZE])
{
	uint8_t pad[SHA256_BLOCK_SIZE] = {0};
	struct sha256 hash;

	if (key_length > SHA256_BLOCK_SIZE)
		sha256(key, key_length, pad);
	else if (key_length > 0)
		memcpy(pad, key, key_length);
	/* First the inner hash of the data, then the outer one of the inner. */
	for (int outer = 0; outer <= 1; outer++) {
		for (size_t i = 0; i < SHA256_BLOCK_SIZE; i++)
			pad[i] ^= outer ? 0x36 ^ 0x5c : 0x36;
		sha256_init(&hash);
		sha256_update(&hash, pad, sizeof(pad));
		sha256_update(&hash, outer ? out : data, outer ? SHA256_SIZE : length);
		sha256_final(&hash, out);
	}
	explicit_bzero(pad, sizeof(pad));
	explicit_bzero(&hash, sizeof(hash));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), so that trusted processes need no OpenSSL. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE	  32
#define SHA256_BLOCK_SIZE 64

struct sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes so far; what is beyond the last whole block waits in block */
	uint8_t block[SHA256_BLOCK_SIZE];
};

void sha256_init(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *data, size_t length);
void sha256_final(struct sha256 *hash, uint8_t out[SHA256_SIZE]);
void sha256(const void *data, size_t length, uint8_t out[SHA256_SIZE]);
/* Lower-case hexadecimal, out[2 * length + 1]. */
void hex_encode(const uint8_t *data, size_t length, char *out);

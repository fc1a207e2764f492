/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 as FIPS 180-4 states it, HMAC as RFC 2104 does.  Runs in processes
 * with a privilege (audit chain, tokens); no tables but the constants, no
 * branch or index that depends on the data.
 */
#include "common/sha256.h"
#include <string.h>

#define BLOCK_SIZE 64

/* FIPS 180-4 section 4.2.2. */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned int bits)
{
	return word >> bits | word << (32 - bits);
}

static void expand(const uint8_t *block, uint32_t schedule[64])
{
	for (size_t i = 0; i < 16; i++)
		schedule[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
			      (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (size_t i = 16; i < 64; i++) {
		uint32_t early = schedule[i - 15], late = schedule[i - 2];

		schedule[i] = schedule[i - 16] + schedule[i - 7] +
			      (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) +
			      (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
	}
}

static void compress(uint32_t state[8], const uint8_t *block)
{
	uint32_t schedule[64] = {0};
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

	expand(block, schedule);
	for (size_t i = 0; i < 64; i++) {
		uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
				 (g ^ (e & (f ^ g))) + round_constants[i] + schedule[i];
		uint32_t second =
			(rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));

		h = g;
		g = f;
		f = e;
		e = d + first;
		d = c;
		c = b;
		b = a;
		a = first + second;
	}
	for (size_t i = 0; i < 8; i++)
		state[i] += (const uint32_t[]){a, b, c, d, e, f, g, h}[i];
}

void sha256_init(struct sha256 *hash)
{
	static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	*hash = (struct sha256){0};
	memcpy(hash->state, initial, sizeof(initial));
}

void sha256_update(struct sha256 *hash, const void *data, size_t length)
{
	const uint8_t *at = data;

	hash->length += length;
	while (length > 0) {
		size_t part = BLOCK_SIZE - hash->used;

		if (part > length)
			part = length;
		memcpy(hash->block + hash->used, at, part);
		hash->used += part;
		at += part;
		length -= part;
		if (hash->used == BLOCK_SIZE) {
			compress(hash->state, hash->block);
			hash->used = 0;
		}
	}
}

void sha256_final(struct sha256 *hash, uint8_t out[SHA256_SIZE])
{
	static const uint8_t padding[BLOCK_SIZE] = {0x80};
	uint64_t bits = hash->length * 8;
	uint8_t count[8];

	for (size_t i = 0; i < 8; i++)
		count[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_update(hash, padding, 1 + (BLOCK_SIZE + 55 - hash->used) % BLOCK_SIZE);
	sha256_update(hash, count, sizeof(count));
	for (size_t i = 0; i < SHA256_SIZE; i++)
		out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
	explicit_bzero(hash, sizeof(*hash));
}

void sha256(const void *data, size_t length, uint8_t out[SHA256_SIZE])
{
	struct sha256 hash;

	sha256_init(&hash);
	sha256_update(&hash, data, length);
	sha256_final(&hash, out);
}

void hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
		 uint8_t out[SHA256_SIZE])
{
	uint8_t pad[BLOCK_SIZE] = {0};
	struct sha256 hash;

	if (key_length > BLOCK_SIZE)
		sha256(key, key_length, pad);
	else if (key_length > 0)
		memcpy(pad, key, key_length);
	/* First the inner hash of the data, then the outer one of the inner. */
	for (int outer = 0; outer <= 1; outer++) {
		for (size_t i = 0; i < BLOCK_SIZE; i++)
			pad[i] ^= outer ? 0x36 ^ 0x5c : 0x36;
		sha256_init(&hash);
		sha256_update(&hash, pad, sizeof(pad));
		sha256_update(&hash, outer ? out : data, outer ? SHA256_SIZE : length);
		sha256_final(&hash, out);
	}
	explicit_bzero(pad, sizeof(pad));
}

void hex_encode(const uint8_t *data, size_t length, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		*out++ = digits[data[i] >> 4];
		*out++ = digits[data[i] & 15];
	}
	*out = '\0';
}

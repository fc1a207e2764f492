/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 as FIPS 180-4 states it.  Runs in processes with a privilege (the
 * audit chain); no tables but the constants, no branch or index that depends
 * on the data.
 */
#include "common/sha256.h"
#include <endian.h>
#include <string.h>

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

/* Words 16 to 63 of the message schedule, each in the place of the word 16 before it. */
static uint32_t next_word(uint32_t words[16], size_t i)
{
	uint32_t early = words[(i + 1) % 16], late = words[(i + 14) % 16];

	return words[i % 16] += words[(i + 9) % 16] +
				(rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) +
				(rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
}

static void compress(uint32_t state[8], const uint8_t *block)
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
	uint32_t words[16];

	memcpy(words, block, sizeof(words));
	for (size_t i = 0; i < 16; i++)
		words[i] = be32toh(words[i]);
	for (size_t i = 0; i < 64; i++) {
		uint32_t word = i < 16 ? words[i] : next_word(words, i);
		uint32_t first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
				 (g ^ (e & (f ^ g))) + round_constants[i] + word;
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
	*hash = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_update(struct sha256 *hash, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i++) {
		hash->block[hash->length++ % SHA256_BLOCK_SIZE] = bytes[i];
		if (hash->length % SHA256_BLOCK_SIZE == 0)
			compress(hash->state, hash->block);
	}
}

void sha256_final(struct sha256 *hash, uint8_t out[SHA256_SIZE])
{
	uint64_t bits = htobe64(hash->length * 8);

	sha256_update(hash, "\x80", 1);
	while (hash->length % SHA256_BLOCK_SIZE != SHA256_BLOCK_SIZE - sizeof(bits))
		sha256_update(hash, "", 1);
	sha256_update(hash, &bits, sizeof(bits));
	for (size_t i = 0; i < 8; i++)
		hash->state[i] = htobe32(hash->state[i]);
	memcpy(out, hash->state, SHA256_SIZE);
}

void sha256(const void *data, size_t length, uint8_t out[SHA256_SIZE])
{
	struct sha256 hash;

	sha256_init(&hash);
	sha256_update(&hash, data, length);
	sha256_final(&hash, out);
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

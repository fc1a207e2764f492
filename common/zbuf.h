/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded reader and writer: the only code that touches bytes received
 * from a peer.  Both have a sticky error: after the first failure every getter
 * returns zero values and every putter does nothing, so that decode and encode
 * functions are straight-line code with one check at the end.
 * Integers are little-endian.  Strings are u16 length + bytes (no NUL inside).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A borrowed byte string, not NUL-terminated; valid as long as its buffer. */
struct zstr {
	const char *data;
	size_t length;
};

struct zreader {
	const uint8_t *data;
	size_t left;
	bool failed;
};

struct zwriter {
	uint8_t *data;
	size_t size, used; /* capacity; written */
	bool failed;	   /* did not fit, or a string over 65535 bytes */
};

static inline void zreader_init(struct zreader *reader, const void *data, size_t length)
{
	*reader = (struct zreader){.data = data ? data : "", .left = length};
}
uint8_t zget_u8(struct zreader *reader);
uint16_t zget_u16(struct zreader *reader);
uint32_t zget_u32(struct zreader *reader);
uint64_t zget_u64(struct zreader *reader);
/* Copies exactly length bytes to out; zeroes out on failure. */
void zget_bytes(struct zreader *reader, void *out, size_t length);
/* Borrows a u16-length string.  Fails on length > max or a NUL inside. */
struct zstr zget_str(struct zreader *reader, size_t max);
/* Borrows a u32-length blob (any bytes).  Fails on length > max. */
struct zstr zget_blob(struct zreader *reader, size_t max);
/* Copies a string to out[size] and terminates it; fails when it does not fit. */
void zget_cstr(struct zreader *reader, char *out, size_t size);
/* True when nothing failed and nothing is left. */
static inline bool zreader_end(const struct zreader *reader)
{
	return !reader->failed && reader->left == 0;
}

static inline void zwriter_init(struct zwriter *writer, void *data, size_t size)
{
	*writer = (struct zwriter){.data = data, .size = size};
}
void zput_u8(struct zwriter *writer, uint8_t value);
void zput_u16(struct zwriter *writer, uint16_t value);
void zput_u32(struct zwriter *writer, uint32_t value);
void zput_u64(struct zwriter *writer, uint64_t value);
void zput_bytes(struct zwriter *writer, const void *data, size_t length);
void zput_str(struct zwriter *writer, struct zstr string);
void zput_blob(struct zwriter *writer, struct zstr blob);
#define zput_cstr(writer, string) zput_str((writer), zstr_from(string))

/* Borrows a C string (NULL reads as empty). */
struct zstr zstr_from(const char *string);
bool zstr_equal(struct zstr a, const char *b);
/* Copies to out[size] with a terminating NUL; -ENAMETOOLONG when it does not fit. */
int zstr_copy(struct zstr string, char *out, size_t size);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded reader and writer.  Used on both sides of every channel, so also
 * in processes with a privilege.  A bound is always tested against the bytes
 * that remain, never by adding to a position, so it cannot wrap.
 */
#include "common/zbuf.h"
#include <endian.h>
#include <errno.h>
#include <string.h>

/* The next length bytes; the empty string, with the sticky failure, when they are more than max or
 * than what is left. */
static struct zstr take(struct zreader *reader, size_t length, size_t max)
{
	struct zstr taken = {.data = (const char *)reader->data, .length = length};

	reader->failed |= length > max || length > reader->left;
	if (reader->failed)
		return zstr_from("");
	reader->data += length;
	reader->left -= length;
	return taken;
}

void zget_bytes(struct zreader *reader, void *out, size_t length)
{
	struct zstr taken = take(reader, length, length);

	memset(out, 0, length);
	memcpy(out, taken.data, taken.length);
}

struct zstr zget_str(struct zreader *reader, size_t max)
{
	struct zstr string = take(reader, zget_u16(reader), max);

	reader->failed |= memchr(string.data, '\0', string.length) != NULL;
	return reader->failed ? zstr_from("") : string;
}

struct zstr zget_blob(struct zreader *reader, size_t max)
{
	return take(reader, zget_u32(reader), max);
}

void zput_bytes(struct zwriter *writer, const void *data, size_t length)
{
	writer->failed |= length > writer->size - writer->used;
	if (writer->failed || length == 0)
		return;
	memcpy(writer->data + writer->used, data, length);
	writer->used += length;
}

void zput_str(struct zwriter *writer, struct zstr string)
{
	writer->failed |= string.length > UINT16_MAX;
	zput_u16(writer, (uint16_t)string.length);
	zput_bytes(writer, string.data, string.length);
}

void zput_blob(struct zwriter *writer, struct zstr blob)
{
	writer->failed |= blob.length > UINT32_MAX;
	zput_u32(writer, (uint32_t)blob.length);
	zput_bytes(writer, blob.data, blob.length);
}

/* An integer lies in the buffer with its low byte first: so do the first bytes of a wider one. */
#define INTEGER(bits)                                                                              \
	uint##bits##_t zget_u##bits(struct zreader *reader)                                        \
	{                                                                                          \
		uint64_t wide = 0;                                                                 \
		zget_bytes(reader, &wide, (bits) / 8);                                             \
		return (uint##bits##_t)le64toh(wide);                                              \
	}                                                                                          \
	void zput_u##bits(struct zwriter *writer, uint##bits##_t value)                            \
	{                                                                                          \
		uint64_t wide = htole64(value);                                                    \
		zput_bytes(writer, &wide, (bits) / 8);                                             \
	}
INTEGER(8)
INTEGER(16)
INTEGER(32)
INTEGER(64)

struct zstr zstr_from(const char *string)
{
	return (struct zstr){string ? string : "", string ? strlen(string) : 0};
}

bool zstr_equal(struct zstr a, const char *b)
{
	size_t length = zstr_from(b).length;

	return a.length == length && (length == 0 || memcmp(a.data, b, length) == 0);
}

int zstr_copy(struct zstr string, char *out, size_t size)
{
	if (string.length >= size)
		return -ENAMETOOLONG;
	if (string.length > 0)
		memcpy(out, string.data, string.length);
	out[string.length] = '\0';
	return 0;
}

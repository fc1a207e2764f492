/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded reader and writer.  Used on both sides of every channel, so also
 * in processes with a privilege.  A bound is always tested against the bytes
 * that remain, never by adding to a position, so it cannot wrap.
 */
#include "common/zbuf.h"
#include <errno.h>
#include <string.h>

/* memcpy that takes NULL for nothing. */
static void copy(void *out, const void *data, size_t length)
{
	if (length > 0)
		memcpy(out, data, length);
}

void zreader_init(struct zreader *reader, const void *data, size_t length)
{
	*reader = (struct zreader){.data = data, .left = length};
}

/* The next length bytes, or NULL with the sticky failure. */
static const uint8_t *take(struct zreader *reader, size_t length)
{
	const uint8_t *bytes = reader->data;

	if (reader->failed || !bytes || length > reader->left) {
		reader->failed = true;
		return NULL;
	}
	reader->data += length;
	reader->left -= length;
	return bytes;
}

static uint64_t get_integer(struct zreader *reader, size_t size)
{
	const uint8_t *bytes = take(reader, size);
	uint64_t value = 0;

	for (size_t i = 0; bytes && i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

static void put_integer(struct zwriter *writer, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	zput_bytes(writer, bytes, size);
}

#define INTEGER(bits)                                                                              \
	uint##bits##_t zget_u##bits(struct zreader *reader)                                        \
	{                                                                                          \
		return (uint##bits##_t)get_integer(reader, (bits) / 8);                            \
	}                                                                                          \
	void zput_u##bits(struct zwriter *writer, uint##bits##_t value)                            \
	{                                                                                          \
		put_integer(writer, value, (bits) / 8);                                            \
	}
INTEGER(8)
INTEGER(16)
INTEGER(32)
INTEGER(64)

void zget_bytes(struct zreader *reader, void *out, size_t length)
{
	const uint8_t *bytes = take(reader, length);

	if (bytes)
		copy(out, bytes, length);
	else if (length > 0)
		memset(out, 0, length);
}

static struct zstr get_counted(struct zreader *reader, size_t length, size_t max)
{
	const uint8_t *bytes = NULL;

	if (length > max)
		reader->failed = true;
	else
		bytes = take(reader, length);
	return bytes ? (struct zstr){.data = (const char *)bytes, .length = length} : zstr_from("");
}

struct zstr zget_str(struct zreader *reader, size_t max)
{
	struct zstr string = get_counted(reader, zget_u16(reader), max);

	if (!memchr(string.data, '\0', string.length))
		return string;
	reader->failed = true;
	return zstr_from("");
}

struct zstr zget_blob(struct zreader *reader, size_t max)
{
	return get_counted(reader, zget_u32(reader), max);
}

void zget_cstr(struct zreader *reader, char *out, size_t size)
{
	/* What the maximum let through fits, and so does the empty string of a failure. */
	if (size == 0 || zstr_copy(zget_str(reader, size - 1), out, size) < 0)
		reader->failed = true;
}

bool zreader_end(const struct zreader *reader)
{
	return !reader->failed && reader->left == 0;
}

void zwriter_init(struct zwriter *writer, void *data, size_t size)
{
	*writer = (struct zwriter){.data = data, .size = size};
}

void zput_bytes(struct zwriter *writer, const void *data, size_t length)
{
	if (writer->failed || length > writer->size - writer->used) {
		writer->failed = true;
		return;
	}
	if (length > 0)
		memcpy(writer->data + writer->used, data, length);
	writer->used += length;
}

static void put_counted(struct zwriter *writer, struct zstr string, size_t count_size, uint64_t max)
{
	if (string.length > max)
		writer->failed = true;
	put_integer(writer, string.length, count_size);
	zput_bytes(writer, string.data, string.length);
}

void zput_str(struct zwriter *writer, struct zstr string)
{
	put_counted(writer, string, 2, UINT16_MAX);
}

void zput_blob(struct zwriter *writer, struct zstr blob)
{
	put_counted(writer, blob, 4, UINT32_MAX);
}

struct zstr zstr_from(const char *string)
{
	if (!string)
		string = "";
	return (struct zstr){.data = string, .length = strlen(string)};
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
	copy(out, string.data, string.length);
	out[string.length] = '\0';
	return 0;
}

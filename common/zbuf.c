/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded reader and writer.  Used on both sides of every channel, so also
 * in processes with a privilege.  A bound is always tested against the bytes
 * that remain, never by adding to a position, so it cannot wrap.
 */
#include "common/zbuf.h"
#include <errno.h>
#include <string.h>

void zreader_init(struct zreader *reader, const void *data, size_t length)
{
	*reader = (struct zreader){.data = data, .left = length};
}

/* The next length bytes, or NULL with the sticky failure. */
static const uint8_t *take(struct zreader *reader, size_t length)
{
	const uint8_t *at = reader->data;

	if (reader->failed || length > reader->left) {
		reader->failed = true;
		return NULL;
	}
	if (length > 0)
		reader->data += length;
	reader->left -= length;
	return at;
}

static uint64_t get_integer(struct zreader *reader, size_t size)
{
	const uint8_t *bytes = take(reader, size);
	uint64_t value = 0;

	if (!bytes)
		return 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

uint8_t zget_u8(struct zreader *reader)
{
	return (uint8_t)get_integer(reader, 1);
}

uint16_t zget_u16(struct zreader *reader)
{
	return (uint16_t)get_integer(reader, 2);
}

uint32_t zget_u32(struct zreader *reader)
{
	return (uint32_t)get_integer(reader, 4);
}

uint64_t zget_u64(struct zreader *reader)
{
	return get_integer(reader, 8);
}

void zget_bytes(struct zreader *reader, void *out, size_t length)
{
	const uint8_t *bytes = take(reader, length);

	if (length == 0)
		return;
	if (bytes)
		memcpy(out, bytes, length);
	else
		memset(out, 0, length);
}

static struct zstr get_counted(struct zreader *reader, size_t length, size_t max)
{
	const uint8_t *bytes;

	if (length > max)
		reader->failed = true;
	bytes = take(reader, length);
	if (!bytes)
		return (struct zstr){.data = "", .length = 0};
	return (struct zstr){.data = (const char *)bytes, .length = length};
}

struct zstr zget_str(struct zreader *reader, size_t max)
{
	struct zstr string = get_counted(reader, zget_u16(reader), max);

	if (string.length > 0 && memchr(string.data, '\0', string.length)) {
		reader->failed = true;
		return (struct zstr){.data = "", .length = 0};
	}
	return string;
}

struct zstr zget_blob(struct zreader *reader, size_t max)
{
	return get_counted(reader, zget_u32(reader), max);
}

void zget_cstr(struct zreader *reader, char *out, size_t size)
{
	struct zstr string;

	if (size == 0) {
		reader->failed = true;
		return;
	}
	string = zget_str(reader, size - 1);
	(void)zstr_copy(string, out, size); /* fits: the maximum was size - 1 */
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

static void put_integer(struct zwriter *writer, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	zput_bytes(writer, bytes, size);
}

void zput_u8(struct zwriter *writer, uint8_t value)
{
	put_integer(writer, value, 1);
}

void zput_u16(struct zwriter *writer, uint16_t value)
{
	put_integer(writer, value, 2);
}

void zput_u32(struct zwriter *writer, uint32_t value)
{
	put_integer(writer, value, 4);
}

void zput_u64(struct zwriter *writer, uint64_t value)
{
	put_integer(writer, value, 8);
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

void zput_cstr(struct zwriter *writer, const char *string)
{
	zput_str(writer, zstr_from(string));
}

struct zstr zstr_from(const char *string)
{
	if (!string)
		string = "";
	return (struct zstr){.data = string, .length = strlen(string)};
}

bool zstr_equal(struct zstr a, const char *b)
{
	struct zstr other = zstr_from(b);

	return a.length == other.length &&
	       (a.length == 0 || memcmp(a.data, other.data, a.length) == 0);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lawful messages of any row, made from the request table, for tests that go
 * through all rows.  Runs in tests only.
 */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#define STRING_MAX     65535
#define NAME_MAX_BYTES 255 /* of an image reference; the rest is tag */

struct zstr sample_text(enum text_class class, size_t length)
{
	static char plain[STRING_MAX], path[STRING_MAX], image[NAME_MAX_BYTES + 1 + 128];
	if (plain[0] == '\0') {
		memset(plain, 'a', sizeof(plain));
		memset(path, 'p', sizeof(path));
		path[0] = '/';
		memset(image, 'i', sizeof(image));
		image[NAME_MAX_BYTES] = ':';
	}
	if (class == TEXT_PORT)
		return zstr_from("8080/tcp");
	if (class == TEXT_ABS_PATH)
		return (struct zstr){path, length};
	if (class == TEXT_IMAGE) {
		size_t most = length > NAME_MAX_BYTES + 1 ? sizeof(image) : NAME_MAX_BYTES;
		return (struct zstr){image, length < most && length > 0 ? length : most};
	}
	bool needs_one = class == TEXT_ENV_KEY || class == TEXT_LABEL_KEY;
	return (struct zstr){plain, needs_one && length == 0 ? 1 : length};
}

static void fill_strings(const struct proto_field *field, uint8_t *message, enum sample sample)
{
	size_t each = field->type == PROTO_F_PAIRS ? 2 : 1;
	size_t counts[] = {0, 2 * each, field->items};
	size_t count = field->type == PROTO_F_STR ? 1 : counts[sample];
	if (field->type != PROTO_F_STR)
		memcpy(message + field->count_offset, &count, sizeof(count));
	for (size_t i = 0; i < count; i++) {
		/* One string as long as can be, or a message would pass what any row allows. */
		size_t length = sample == SAMPLE_LEAST ? 0 : 3;
		if (sample == SAMPLE_GREATEST && i == count - 1)
			length = field->max;
		bool value = field->type == PROTO_F_PAIRS && i % 2 == 1;
		struct zstr item = sample_text(value ? field->value_class : field->class, length);
		memcpy(message + field->offset + i * sizeof(item), &item, sizeof(item));
	}
}

static void fill_field(const struct proto_field *field, uint8_t *message, enum sample sample)
{
	static const char bytes[STRING_MAX] = {0, '\xff', '\n'};
	uint8_t *to = message + field->offset;
	uint64_t integers[] = {field->least, field->least + (field->greatest - field->least) / 3,
			       field->greatest};
	size_t lengths[] = {0, 7, field->max};
	struct zstr blob = {bytes, lengths[sample]};
	if (field->type <= PROTO_F_U64)
		memcpy(to, &integers[sample], (size_t)field->type);
	else if (field->type == PROTO_F_UUID)
		memset(to, 0x11 * (int)sample, UUID_SIZE);
	else if (field->type == PROTO_F_BYTES)
		memcpy(to, &blob, sizeof(blob));
	else
		fill_strings(field, message, sample);
}

void *sample_message(const struct proto_field *fields, size_t count, size_t size,
		     enum sample sample)
{
	uint8_t *message = calloc(1, size);
	for (size_t i = 0; message != NULL && i < count; i++)
		fill_field(&fields[i], message, sample);
	return message;
}

size_t sample_payload(const struct proto_row *row, enum sample sample, uint8_t *data)
{
	void *message = sample_message(row->fields, row->field_count, row->struct_size, sample);
	struct zwriter writer;
	zwriter_init(&writer, data, PROTO_LARGE_MAX);
	proto_encode(row->fields, row->field_count, message, &writer);
	free(message);
	return writer.failed ? 0 : writer.used;
}

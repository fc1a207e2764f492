/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request table made into C data, and the one encoder and one decoder that
 * follow it.  Linked into helpers and brokers alike; needs no privilege, touches
 * no descriptor, allocates nothing.
 */
#include "privsep/proto.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* clang-format off */
/* Pass 1: the place of each row. */
enum {
#define REQUEST(domain, name, ...) INDEX_##domain##_##name,
#include "requests.def"
	ROW_COUNT
};
const size_t proto_row_count = ROW_COUNT;

/* Pass 2: which rows may travel in a memfd. */
enum {
#define REQUEST(domain, name, ...) LARGE_##domain##_##name = 0
#define LARGE +1
#define ANSWER(...) ,
#include "requests.def"
};

/* Pass 3: the longest payload of each message. */
enum {
#define U8(...) +1
#define U16(...) +2
#define U32(...) +4
#define U64(...) +8
#define UUID(...) +UUID_SIZE
#define STR(name, class, max) +2 + (max)
#define BYTES(name, max) +4 + (max)
#define LIST(name, class, items, max) +2 + (items) * (2 + (max))
#define PAIRS(name, key_class, value_class, pairs, max) +2 + 2 * (pairs) * (2 + (max))
#define REQUEST(domain, name, ...) REQUEST_MAX_##domain##_##name = 0
#define ANSWER(domain, name) , ANSWER_MAX_##domain##_##name = 0
#define END(...) ,
#include "requests.def"
};

#define ROW_REPEAT false
#define ROW_ONCE true
#define ROW_QUIET false
#define ROW_AUDIT true
#define DOMAIN_docker PROTO_DOCKER
#define KEY(domain, number) ((uint32_t)(domain) << 16 | (uint32_t)(number))

/*
 * Pass 4: the rows.  Each case has the struct of its message as "this", so that
 * the fields can say their offsets.  A number used twice in a domain is a
 * duplicate case, which does not compile; neither do the asserts let an odd
 * number, or a message that fits no frame, through.
 */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]) - 1) /* without the empty last one */
#define FIELD(name_, type_, ...) \
	{.name = #name_, .type = PROTO_F_##type_, .offset = offsetof(this, name_), __VA_ARGS__},
#define U8(name, low, high) FIELD(name, U8, .least = (low), .greatest = (high))
#define U16(name, low, high) FIELD(name, U16, .least = (low), .greatest = (high))
#define U32(name, low, high) FIELD(name, U32, .least = (low), .greatest = (high))
#define U64(name, low, high) FIELD(name, U64, .least = (low), .greatest = (high))
#define UUID(name) FIELD(name, UUID, .max = UUID_SIZE)
#define STR(name, class_, max_) FIELD(name, STR, .class = (class_), .max = (max_), .items = 1)
#define BYTES(name, max_) FIELD(name, BYTES, .max = (max_))
#define LIST(name, class_, items_, max_) \
	FIELD(name, LIST, .class = (class_), .max = (max_), .items = (items_), \
	      .count_offset = offsetof(this, name##_count))
#define PAIRS(name, class_, value_, pairs_, max_) \
	FIELD(name, PAIRS, .class = (class_), .value_class = (value_), .max = (max_), \
	      .items = 2 * (pairs_), .count_offset = offsetof(this, name##_count))
#define REQUEST(domain_, name_, number_, phases_, repeat_, audit_, fds_out_) \
	case KEY(DOMAIN_##domain_, number_): { \
		enum { request_max = REQUEST_MAX_##domain_##_##name_, \
		       answer_max = ANSWER_MAX_##domain_##_##name_, \
		       large = LARGE_##domain_##_##name_ }; \
		static_assert((number_) > 0 && (number_) < UINT16_MAX && (number_) % 2 == 0 && \
			      (fds_out_) <= 1 && answer_max <= PROTO_PAYLOAD_MAX && \
			      large == (request_max > PROTO_PAYLOAD_MAX), #name_); \
		typedef struct req_##domain_##_##name_ this; \
		enum { phases = PROTO_##phases_, once = ROW_##repeat_, audit = ROW_##audit_, \
		       fds_out = (fds_out_), size = sizeof(this) }; \
		static const struct proto_field fields[] = {
#define ANSWER(domain_, name_) \
		{.name = NULL}}; \
		{ typedef struct ans_##domain_##_##name_ this; \
		static const struct proto_field answer_fields[] = {
#define END(domain_, name_) \
		{.name = NULL}}; \
		static const struct proto_row row = { \
			.domain = DOMAIN_##domain_, .name = #name_, .phases = phases, \
			.number = PRIV_##domain_##_##name_, .index = INDEX_##domain_##_##name_, \
			.once = once, .audit = audit, .large = large, .fds_out = fds_out, \
			.fields = fields, .field_count = COUNT(fields), .struct_size = size, \
			.answer_fields = answer_fields, .answer_size = sizeof(this), \
			.answer_field_count = COUNT(answer_fields), \
			.request_max = request_max, .answer_max = answer_max, \
		}; \
		return &row; } }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* the answer's "this" is meant to hide the request's */
const struct proto_row *proto_find(enum proto_domain domain, uint16_t number)
{
	switch (KEY(domain, number)) {
#include "requests.def"
	default:
		return NULL;
	}
}
#pragma GCC diagnostic pop
/* clang-format on */

const struct proto_row *proto_row_at(size_t index)
{
	static const uint32_t keys[] = {
#define REQUEST(domain, name, number, ...) KEY(DOMAIN_##domain, number),
#include "requests.def"
	};
	if (index >= ROW_COUNT)
		return NULL;
	return proto_find((enum proto_domain)(keys[index] >> 16), (uint16_t)keys[index]);
}

static_assert(PRIV_docker_hello == PROTO_HELLO && PRIV_docker_open_channel == PROTO_OPEN_CHANNEL,
	      "the rows that every domain has");
static_assert(PROTO_HEADER_SIZE + PROTO_PAYLOAD_MAX == PROTO_FRAME_MAX, "a full frame");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "integers are moved in and out as bytes");

const struct proto_field *proto_field_find(const struct proto_field *fields, size_t count,
					   const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

/* A message's members are known only by offset here. */
static struct zstr load_string(const uint8_t *from)
{
	struct zstr string;
	memcpy(&string, from, sizeof(string));
	return string;
}

uint64_t proto_integer(const struct proto_field *field, const void *message)
{
	uint64_t value = 0;
	if (field != NULL && field->type <= PROTO_F_U64)
		memcpy(&value, (const uint8_t *)message + field->offset, (size_t)field->type);
	return value;
}

static bool string_legal(const struct proto_field *field, size_t index, struct zstr string)
{
	bool value = field->type == PROTO_F_PAIRS && index % 2 == 1;
	return string.length <= field->max &&
	       text_valid(value ? field->value_class : field->class, string);
}

void proto_put_header(struct zwriter *writer, const struct proto_header *header)
{
	zput_u32(writer, header->magic);
	zput_u16(writer, header->version);
	zput_u8(writer, header->domain);
	zput_u8(writer, header->descriptors);
	zput_u16(writer, header->type);
	zput_u16(writer, header->status);
	zput_u32(writer, header->sequence);
	zput_u32(writer, header->length);
}

void proto_get_header(struct zreader *reader, struct proto_header *header)
{
	header->magic = zget_u32(reader);
	header->version = zget_u16(reader);
	header->domain = zget_u8(reader);
	header->descriptors = zget_u8(reader);
	header->type = zget_u16(reader);
	header->status = zget_u16(reader);
	header->sequence = zget_u32(reader);
	header->length = zget_u32(reader);
}

/* One string, or a count and so many; pairs are counted as pairs and written as key, value. */
static void encode_strings(const struct proto_field *field, const uint8_t *message,
			   struct zwriter *writer)
{
	size_t each = field->type == PROTO_F_PAIRS ? 2 : 1;
	size_t count = 1;
	if (field->type != PROTO_F_STR) {
		memcpy(&count, message + field->count_offset, sizeof(count));
		zput_u16(writer, (uint16_t)(count / each));
	}
	if (count > field->items || count % each != 0)
		writer->failed = true;
	for (size_t i = 0; i < count && !writer->failed; i++) {
		struct zstr item = load_string(message + field->offset + i * sizeof(item));
		zput_str(writer, item);
		writer->failed |= !string_legal(field, i, item);
	}
}

static void encode_field(const struct proto_field *field, const uint8_t *message,
			 struct zwriter *writer)
{
	const uint8_t *from = message + field->offset;
	if (field->type == PROTO_F_UUID) {
		zput_bytes(writer, from, UUID_SIZE);
	} else if (field->type == PROTO_F_BYTES) {
		zput_blob(writer, load_string(from));
		writer->failed |= load_string(from).length > field->max;
	} else if (field->type <= PROTO_F_U64) {
		uint64_t value = proto_integer(field, message);
		zput_bytes(writer, &value, (size_t)field->type);
		writer->failed |= value < field->least || value > field->greatest;
	} else {
		encode_strings(field, message, writer);
	}
}

void proto_encode(const struct proto_field *fields, size_t count, const void *message,
		  struct zwriter *writer)
{
	for (size_t i = 0; i < count && !writer->failed; i++)
		encode_field(&fields[i], message, writer);
}

static bool decode_strings(const struct proto_field *field, struct zreader *reader,
			   uint8_t *message)
{
	size_t count = 1;
	if (field->type != PROTO_F_STR) {
		count = (size_t)zget_u16(reader) * (field->type == PROTO_F_PAIRS ? 2 : 1);
		memcpy(message + field->count_offset, &count, sizeof(count));
	}
	struct zstr *items = (void *)(message + field->offset);
	if (count > field->items)
		return false;
	for (size_t i = 0; i < count; i++) {
		items[i] = zget_str(reader, field->max);
		if (reader->failed || !string_legal(field, i, items[i]))
			return false;
	}
	return true;
}

static bool decode_field(const struct proto_field *field, struct zreader *reader, uint8_t *message)
{
	uint8_t *to = message + field->offset;
	if (field->type == PROTO_F_UUID) {
		zget_bytes(reader, to, UUID_SIZE);
		return true;
	}
	if (field->type == PROTO_F_BYTES) {
		struct zstr blob = zget_blob(reader, field->max);
		memcpy(to, &blob, sizeof(blob));
		return true;
	}
	if (field->type > PROTO_F_U64)
		return decode_strings(field, reader, message);
	uint64_t value = 0;
	zget_bytes(reader, &value, (size_t)field->type);
	memcpy(to, &value, (size_t)field->type);
	return value >= field->least && value <= field->greatest;
}

int proto_decode(const struct proto_field *fields, size_t count, const void *data, size_t length,
		 void *message, const char **bad)
{
	struct zreader reader;
	zreader_init(&reader, data, length);
	for (size_t i = 0; i < count; i++) {
		if (!decode_field(&fields[i], &reader, message) || reader.failed) {
			*bad = fields[i].name;
			return -EBADMSG;
		}
	}
	*bad = "length";
	return zreader_end(&reader) ? 0 : -EBADMSG;
}

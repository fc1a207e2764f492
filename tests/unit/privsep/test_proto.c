/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame codec against every row of the request table: what is lawful goes
 * there and back, what breaks one bound does not.
 */
#include "sample.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One direction of a row. */
struct side {
	const char *name;
	const struct proto_field *fields;
	size_t count, size, max;
};

static uint8_t payload[PROTO_LARGE_MAX], again[PROTO_LARGE_MAX];

typedef void side_test(const struct side *side);

static void for_each_side(side_test *test)
{
	for (size_t i = 0; i < proto_row_count; i++) {
		const struct proto_row *row = proto_row_at(i);
		struct side request = {row->name, row->fields, row->field_count, row->struct_size,
				       row->request_max};
		struct side answer = {row->name, row->answer_fields, row->answer_field_count,
				      row->answer_size, row->answer_max};
		test(&request);
		test(&answer);
	}
}

static size_t encode(const struct side *side, const void *message, uint8_t *data)
{
	struct zwriter writer;
	zwriter_init(&writer, data, PROTO_LARGE_MAX);
	proto_encode(side->fields, side->count, message, &writer);
	return writer.failed ? SIZE_MAX : writer.used;
}

static int decode(const struct side *side, size_t length, void *message, const char **bad)
{
	return proto_decode(side->fields, side->count, payload, length, message, bad);
}

static void round_trips(const struct side *side)
{
	for (enum sample sample = SAMPLE_LEAST; sample < SAMPLE_COUNT; sample++) {
		void *message = sample_message(side->fields, side->count, side->size, sample);
		void *back = calloc(1, side->size);
		const char *bad = "nothing";
		size_t length = encode(side, message, payload);
		if (length > PROTO_LARGE_MAX || length > side->max)
			fail_msg("%s sample %d: not encoded", side->name, (int)sample);
		if (decode(side, length, back, &bad) != 0)
			fail_msg("%s sample %d: %s", side->name, (int)sample, bad);
		assert_int_equal(encode(side, back, again), length);
		assert_memory_equal(payload, again, length);
		free(message);
		free(back);
	}
}

static void test_every_message_goes_there_and_back(void **state)
{
	(void)state;
	for_each_side(round_trips);
}

static void is_refused_when_cut(const struct side *side)
{
	void *message = sample_message(side->fields, side->count, side->size, SAMPLE_TYPICAL);
	void *back = calloc(1, side->size);
	size_t length = encode(side, message, payload);
	const char *bad;
	for (size_t cut = 0; cut < length; cut++) {
		/* A copy of its own, so that a read past its end is seen. */
		uint8_t *part = malloc(cut + 1);
		memcpy(part, payload, cut);
		if (proto_decode(side->fields, side->count, part, cut, back, &bad) != -EBADMSG)
			fail_msg("%s cut to %zu of %zu bytes was taken", side->name, cut, length);
		free(part);
	}
	payload[length] = 0;
	assert_int_equal(decode(side, length + 1, back, &bad), -EBADMSG);
	assert_string_equal(bad, "length");
	free(message);
	free(back);
}

static void test_every_message_is_refused_when_cut_at_any_byte_or_longer(void **state)
{
	(void)state;
	for_each_side(is_refused_when_cut);
}

/* One field alone in a message of its own. */
static struct proto_field alone(const struct proto_field *field)
{
	struct proto_field copy = *field;
	copy.offset = sizeof(size_t);
	copy.count_offset = 0;
	return copy;
}

static void expect_refused(const struct proto_field *field, const struct proto_field *loose,
			   const void *message, const char *what)
{
	static uint8_t back[sizeof(size_t) + 4096 * sizeof(struct zstr)];
	struct side strict_side = {field->name, field, 1, 0, 0};
	struct side loose_side = {field->name, loose, 1, 0, 0};
	const char *bad = "nothing";
	size_t length = encode(&loose_side, message, payload);
	if (length == SIZE_MAX)
		fail_msg("%s, %s: could not be made", field->name, what);
	if (encode(&strict_side, message, again) != SIZE_MAX)
		fail_msg("%s, %s: was encoded", field->name, what);
	if (decode(&strict_side, length, back, &bad) != -EBADMSG)
		fail_msg("%s, %s: was decoded", field->name, what);
	assert_string_equal(bad, field->name);
}

static void integer_keeps_its_bounds(const struct proto_field *field)
{
	struct proto_field loose = *field;
	uint64_t highest =
		field->type == PROTO_F_U64 ? UINT64_MAX : (UINT64_C(1) << 8 * field->type) - 1;
	uint64_t values[] = {field->least - 1, field->greatest + 1, highest};
	bool possible[] = {field->least > 0, field->greatest < highest, field->greatest < highest};
	loose.least = 0;
	loose.greatest = UINT64_MAX;
	for (size_t i = 0; i < 3; i++) {
		uint8_t message[sizeof(size_t) + 8] = {0};
		memcpy(message + sizeof(size_t), &values[i], sizeof(values[i]));
		if (possible[i])
			expect_refused(field, &loose, message, "integer beyond its bound");
	}
}

static void string_keeps_its_length(const struct proto_field *field)
{
	uint8_t message[sizeof(size_t) + 2 * sizeof(struct zstr)];
	static char long_text[PROTO_PAYLOAD_MAX];
	struct proto_field loose = *field;
	size_t count = field->type == PROTO_F_PAIRS ? 2 : 1;
	memset(long_text, 'a', sizeof(long_text));
	long_text[0] = field->class == TEXT_ABS_PATH ? '/' : 'a';
	struct zstr strings[2] = {{long_text, field->max + 1}, {"v", 1}};
	memcpy(message, &count, sizeof(count));
	memcpy(message + sizeof(count), strings, sizeof(strings));
	loose.max = UINT16_MAX;
	loose.class = TEXT_UTF8; /* the length alone must do it, whatever the class */
	if (field->max < UINT16_MAX)
		expect_refused(field, &loose, message, "string over its length");
}

/* Puts bytes that no class lets through where the marker stands in the encoded field. */
static void string_keeps_its_class(const struct proto_field *field)
{
	static const char *const evil[] = {"\xff\xfe"
					   "aa",
					   "a\xc0\x80"
					   "a",
					   "a\xed\xa0\x80"};
	static uint8_t back[sizeof(size_t) + 4096 * sizeof(struct zstr)];
	uint8_t message[sizeof(size_t) + 2 * sizeof(struct zstr)];
	struct side side = {field->name, field, 1, 0, 0};
	size_t count = field->type == PROTO_F_PAIRS ? 2 : 1;
	const char *marker = field->class == TEXT_ABS_PATH ? "/QQQ" : "QQQQ";
	struct zstr strings[2] = {zstr_from(marker), zstr_from("v")};
	if (field->class == TEXT_IMAGE || field->class == TEXT_PORT)
		strings[0] = sample_text(field->class, 4);
	memcpy(message, &count, sizeof(count));
	memcpy(message + sizeof(count), strings, sizeof(strings));
	size_t length = encode(&side, message, payload);
	assert_int_not_equal(length, SIZE_MAX);
	uint8_t *at = memmem(payload, length, strings[0].data, 4);
	assert_non_null(at);
	const char *bad = "nothing";
	for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++) {
		memcpy(at, evil[i], 4);
		if (decode(&side, length, back, &bad) != -EBADMSG)
			fail_msg("%s: bytes that are no UTF-8 were taken (%zu)", field->name, i);
	}
	memcpy(at, "a\0bc", 4);
	if (decode(&side, length, back, &bad) != -EBADMSG)
		fail_msg("%s: a NUL was taken", field->name);
}

static void list_keeps_its_count(const struct proto_field *field)
{
	size_t each = field->type == PROTO_F_PAIRS ? 2 : 1;
	size_t count = field->items + each;
	struct proto_field loose = *field;
	uint8_t *message = calloc(1, sizeof(size_t) + count * sizeof(struct zstr));
	memcpy(message, &count, sizeof(count));
	for (size_t i = 0; i < count; i++) {
		struct zstr item =
			sample_text(i % each == 0 ? field->class : field->value_class, 1);
		memcpy(message + sizeof(size_t) + i * sizeof(item), &item, sizeof(item));
	}
	loose.items = count;
	expect_refused(field, &loose, message, "one item too many");
	if (each == 2) { /* a key without its value */
		struct zwriter writer;
		count = 1;
		memcpy(message, &count, sizeof(count));
		zwriter_init(&writer, payload, sizeof(payload));
		proto_encode(field, 1, message, &writer);
		assert_true(writer.failed);
	}
	free(message);
}

static void blob_keeps_its_length(const struct proto_field *field)
{
	static char data[PROTO_FRAME_MAX];
	struct zstr blob = {data, field->max + 1};
	struct proto_field loose = *field;
	uint8_t message[sizeof(size_t) + sizeof(blob)] = {0};
	memcpy(message + sizeof(size_t), &blob, sizeof(blob));
	loose.max = sizeof(data);
	expect_refused(field, &loose, message, "bytes over their length");
}

static void fields_keep_their_bounds(const struct side *side)
{
	for (size_t i = 0; i < side->count; i++) {
		struct proto_field field = alone(&side->fields[i]);
		if (field.type <= PROTO_F_U64)
			integer_keeps_its_bounds(&field);
		if (field.type == PROTO_F_BYTES)
			blob_keeps_its_length(&field);
		if (field.type == PROTO_F_LIST || field.type == PROTO_F_PAIRS)
			list_keeps_its_count(&field);
		if (field.type > PROTO_F_BYTES || field.type == PROTO_F_STR) {
			string_keeps_its_length(&field);
			string_keeps_its_class(&field);
		}
	}
}

static void test_every_field_refuses_the_value_next_to_its_bounds(void **state)
{
	(void)state;
	for_each_side(fields_keep_their_bounds);
}

static void test_rows_are_found_by_number_and_by_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < proto_row_count; i++) {
		const struct proto_row *row = proto_row_at(i);
		assert_int_equal(row->index, i);
		assert_ptr_equal(proto_find(row->domain, row->number), row);
		assert_null(proto_find(row->domain, (uint16_t)(row->number + 1)));
		assert_int_equal(row->number % 2, 0);
	}
	assert_null(proto_row_at(proto_row_count));
	assert_null(proto_find(PROTO_DOCKER, 0));
	assert_null(proto_find((enum proto_domain)0, PROTO_HELLO));
}

static void test_the_loops_own_rows_have_their_phases(void **state)
{
	const struct proto_row *hello = proto_find(PROTO_DOCKER, PROTO_HELLO);
	const struct proto_row *open = proto_find(PROTO_DOCKER, PROTO_OPEN_CHANNEL);

	(void)state;
	assert_int_equal(hello->phases, PROTO_NEW);
	assert_true(hello->once);
	assert_int_equal(open->phases, PROTO_FIRST);
	assert_int_equal(open->fds_out, 1);
	assert_true(proto_find(PROTO_DOCKER, PRIV_docker_container_create)->large);
	assert_true(proto_find(PROTO_DOCKER, PRIV_docker_container_create)->audit);
}

static void test_fields_are_found_by_name(void **state)
{
	const struct proto_row *row = proto_find(PROTO_DOCKER, PRIV_docker_container_stop);
	struct req_docker_container_stop stop = {.api_minor = 40, .wait_ms = 7, .grace_s = 86400};
	const struct proto_field *uuid = proto_field_find(row->fields, row->field_count, "uuid");

	(void)state;
	assert_int_equal(
		proto_integer(proto_field_find(row->fields, row->field_count, "wait_ms"), &stop),
		7);
	assert_int_equal(
		proto_integer(proto_field_find(row->fields, row->field_count, "grace_s"), &stop),
		86400);
	assert_int_equal(
		proto_integer(proto_field_find(row->fields, row->field_count, "api_minor"), &stop),
		40);
	assert_int_equal(proto_integer(uuid, &stop), 0);
	assert_null(proto_field_find(row->fields, row->field_count, "nothing"));
	assert_int_equal(proto_integer(NULL, &stop), 0);
}

static void test_a_header_is_twenty_bytes_in_a_fixed_order(void **state)
{
	static const uint8_t expected[PROTO_HEADER_SIZE] = {'K', 'L', 'S', 'N', 1, 0, 2, 3, 4, 0,
							    5,	 0,   6,   0,	0, 0, 7, 1, 0, 0};
	struct proto_header header = {PROTO_MAGIC, 1, 2, 3, 4, 5, 6, 0x107}, back;
	uint8_t data[PROTO_HEADER_SIZE];
	struct zwriter writer;
	struct zreader reader;

	(void)state;
	zwriter_init(&writer, data, sizeof(data));
	proto_put_header(&writer, &header);
	zreader_init(&reader, data, sizeof(data));
	proto_get_header(&reader, &back);

	assert_memory_equal(data, expected, sizeof(data));
	assert_true(zreader_end(&reader));
	assert_memory_equal(&header, &back, sizeof(header));
}

static void test_the_build_id_is_not_empty(void **state)
{
	static const uint8_t nothing[32];

	(void)state;
	assert_memory_not_equal(proto_build_id, nothing, sizeof(nothing));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_message_goes_there_and_back),
		cmocka_unit_test(test_every_message_is_refused_when_cut_at_any_byte_or_longer),
		cmocka_unit_test(test_every_field_refuses_the_value_next_to_its_bounds),
		cmocka_unit_test(test_rows_are_found_by_number_and_by_place),
		cmocka_unit_test(test_the_loops_own_rows_have_their_phases),
		cmocka_unit_test(test_fields_are_found_by_name),
		cmocka_unit_test(test_a_header_is_twenty_bytes_in_a_fixed_order),
		cmocka_unit_test(test_the_build_id_is_not_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

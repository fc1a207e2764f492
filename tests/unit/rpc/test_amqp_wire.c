/* SPDX-License-Identifier: Apache-2.0 */
/* AMQP frames: what is taken apart, what is refused before the library sees it. */
#include "unpriv/rpc/amqp_wire.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX AMQP_WIRE_FRAME_MAX

static int split(const void *data, size_t length, struct amqp_frame_view *frame, size_t *used)
{
	/* A copy of exactly that size, so that a sanitizer sees each byte read beyond it. */
	uint8_t *exact = malloc(length ? length : 1);
	int result;

	assert_non_null(exact);
	memcpy(exact, data, length);
	result = amqp_wire_split(exact, length, MAX, frame, used);
	free(exact);
	return result;
}

static void test_a_frame_is_whole_only_with_its_last_byte(void **state)
{
	static const uint8_t heartbeat[] = {8, 0, 0, 0, 0, 0, 0, 0xce};
	struct amqp_frame_view frame;
	size_t used;

	(void)state;
	for (size_t length = 0; length < sizeof(heartbeat); length++)
		assert_int_equal(split(heartbeat, length, &frame, &used), 0);
	assert_int_equal(split(heartbeat, sizeof(heartbeat), &frame, &used), 1);
	assert_int_equal(used, sizeof(heartbeat));
	assert_int_equal(frame.type, AMQP_FRAME_HEARTBEAT);
}

static void test_another_protocol_is_refused_at_its_first_byte(void **state)
{
	struct amqp_frame_view frame;
	size_t used;

	(void)state;
	assert_int_equal(split("H", 1, &frame, &used), -EBADMSG);
	assert_int_equal(split("AMQP\0\0\1\0", 8, &frame, &used), -EBADMSG);
	assert_int_equal(split("\x16\x03\x01", 3, &frame, &used), -EBADMSG);
	assert_int_equal(split("\0", 1, &frame, &used), -EBADMSG);
}

/* CVE-2026-44235 of the library: a payload shorter than the fields that are read from it. */
static void test_frames_too_short_for_their_type_are_refused(void **state)
{
	static const struct {
		const char *name;
		uint8_t type, length;
		int result;
	} cases[] = {{"method of 3", 1, 3, -EBADMSG},
		     {"method of 4", 1, 4, 1},
		     {"header of 13", 2, 13, -EBADMSG},
		     {"header of 14", 2, 14, 1},
		     {"body of 0", 3, 0, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t data[32] = {cases[i].type, 0, 1, 0, 0, 0, cases[i].length};
		struct amqp_frame_view frame;
		size_t used;

		data[7 + cases[i].length] = 0xce;
		if (split(data, 8U + cases[i].length, &frame, &used) != cases[i].result)
			fail_msg("%s", cases[i].name);
	}
}

static void test_a_frame_beyond_the_negotiated_size_is_refused_by_its_header(void **state)
{
	uint8_t header[7] = {3, 0, 1, 0, 0, 0, 0};
	struct amqp_frame_view frame;
	uint32_t most = MAX - AMQP_WIRE_FRAME_EXTRA;
	size_t used;

	(void)state;
	header[4] = (uint8_t)(most >> 16);
	header[5] = (uint8_t)(most >> 8);
	header[6] = (uint8_t)most;
	assert_int_equal(split(header, sizeof(header), &frame, &used), 0);
	header[6]++;
	assert_int_equal(split(header, sizeof(header), &frame, &used), -EBADMSG);
	memset(header + 3, 0xff, 4);
	assert_int_equal(split(header, sizeof(header), &frame, &used), -EBADMSG);
}

static void test_a_frame_without_its_end_is_refused(void **state)
{
	static const uint8_t heartbeat[] = {8, 0, 0, 0, 0, 0, 0, 0xcd};
	struct amqp_frame_view frame;
	size_t used;

	(void)state;
	assert_int_equal(split(heartbeat, sizeof(heartbeat), &frame, &used), -EBADMSG);
}

static void test_only_methods_without_tables_that_a_client_is_sent_are_decoded(void **state)
{
	(void)state;
	assert_true(amqp_wire_method_known(AMQP_BASIC_DELIVER_METHOD));
	assert_true(amqp_wire_method_known(AMQP_CONNECTION_TUNE_METHOD));
	assert_false(amqp_wire_method_known(AMQP_CONNECTION_START_METHOD));
	assert_false(amqp_wire_method_known(AMQP_QUEUE_DECLARE_METHOD));
	assert_false(amqp_wire_method_known(AMQP_BASIC_CONSUME_METHOD));
	assert_false(amqp_wire_method_known(0));
}

static void test_method_comes_back_as_it_was_put(void **state)
{
	struct amqp_buffer buffer = {.limit = 1 << 20};
	amqp_basic_deliver_t deliver = {.consumer_tag = amqp_wire_bytes("2"),
					.delivery_tag = 0x0102030405060708,
					.redelivered = 1,
					.exchange = amqp_wire_bytes("zun"),
					.routing_key = amqp_wire_bytes("zun-compute.host")};
	const amqp_basic_deliver_t *back;
	struct amqp_frame_view frame;
	amqp_pool_t pool;
	size_t used;

	(void)state;
	init_amqp_pool(&pool, 4096);
	assert_int_equal(amqp_wire_put_method(&buffer, 2, AMQP_BASIC_DELIVER_METHOD, &deliver), 0);
	assert_int_equal(
		amqp_wire_split(buffer.data, amqp_buffer_used(&buffer), MAX, &frame, &used), 1);
	assert_int_equal(used, amqp_buffer_used(&buffer));
	assert_int_equal(frame.channel, 2);
	assert_int_equal(amqp_wire_method_id(&frame), AMQP_BASIC_DELIVER_METHOD);
	back = amqp_wire_method_decode(&frame, &pool);
	assert_non_null(back);
	assert_true(back->delivery_tag == deliver.delivery_tag && back->redelivered);
	assert_memory_equal(back->routing_key.bytes, "zun-compute.host", 16);
	/* Cut at each byte it is no method any more, and nothing beyond it is read. */
	for (size_t length = 4; length < frame.length; length++) {
		uint8_t *exact = malloc(length);
		struct amqp_frame_view cut = {.type = 1, .channel = 2, .length = length};

		assert_non_null(exact);
		memcpy(exact, frame.payload, length);
		cut.payload = exact;
		assert_null(amqp_wire_method_decode(&cut, &pool));
		free(exact);
	}
	empty_amqp_pool(&pool);
	amqp_buffer_free(&buffer);
}

static void test_start_is_read_without_its_table(void **state)
{
	/* Properties nested a hundred thousand deep would be the end of a reader by recursion. */
	enum { DEPTH = 20000, TABLE = 5 * DEPTH };
	static uint8_t payload[4 + 2 + 4 + TABLE + 4 + 14 + 4 + 5];
	struct amqp_frame_view frame = {.type = 1, .payload = payload, .length = sizeof(payload)};
	struct amqp_wire_start start;
	uint8_t *at = payload;

	(void)state;
	memcpy(at, "\0\x0a\0\x0a\0\x09", 6);
	at += 6;
	memcpy(at, (uint8_t[]){0, TABLE >> 16, (TABLE >> 8) & 0xff, TABLE & 0xff}, 4);
	at += 4;
	for (int i = 0; i < DEPTH; i++, at += 5)
		memcpy(at, "A\0\0\xff\xff", 5);
	memcpy(at,
	       "\0\0\0\x0e"
	       "PLAIN AMQPLAIN"
	       "\0\0\0\x05"
	       "en_US",
	       27);
	assert_int_equal(amqp_wire_start_decode(&frame, &start), 0);
	assert_true(start.plain && start.amqplain && !start.external);
	for (size_t length = 4; length < sizeof(payload) - 9; length += 37) {
		frame.length = length;
		assert_int_equal(amqp_wire_start_decode(&frame, &start), -EBADMSG);
	}
	payload[4] = 1;
	frame.length = sizeof(payload);
	assert_int_equal(amqp_wire_start_decode(&frame, &start), -EBADMSG);
}

static void test_content_header_gives_size_and_content_type(void **state)
{
	uint8_t payload[14 + 1 + 70] = {0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0x80, 0, 16};
	struct amqp_frame_view frame = {.type = 2, .payload = payload, .length = 14 + 1 + 16};
	struct amqp_wire_content content;

	(void)state;
	memcpy(payload + 15, "application/json", 16);
	assert_int_equal(amqp_wire_content_decode(&frame, &content), 0);
	assert_int_equal(content.body_size, 258);
	assert_string_equal(content.content_type, "application/json");
	frame.length--;
	assert_int_equal(amqp_wire_content_decode(&frame, &content), -EBADMSG);
	/* Longer than any that we take: as if it were absent. */
	payload[14] = 64;
	memset(payload + 15, 'x', 64);
	frame.length = 14 + 1 + 64;
	assert_int_equal(amqp_wire_content_decode(&frame, &content), 0);
	assert_string_equal(content.content_type, "");
	payload[12] = 0;
	frame.length = 14;
	assert_int_equal(amqp_wire_content_decode(&frame, &content), 0);
	assert_string_equal(content.content_type, "");
	payload[1] = 61;
	assert_int_equal(amqp_wire_content_decode(&frame, &content), -EBADMSG);
}

static void test_content_is_cut_into_frames_of_the_negotiated_size(void **state)
{
	static const size_t sizes[] = {0, 1, 4087, 4088, 4089, 8176, 8177, 100000};
	static uint8_t body[100000];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct amqp_buffer buffer = {.limit = 1 << 20};
		amqp_basic_properties_t properties = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG,
						      .delivery_mode = 2};
		amqp_bytes_t bytes = {.len = sizes[i], .bytes = body};
		struct amqp_frame_view frame;
		size_t used, seen = 0;

		assert_int_equal(amqp_wire_put_content(&buffer, 1, &properties, bytes, 4096), 0);
		assert_int_equal(amqp_wire_split(buffer.data, amqp_buffer_used(&buffer), 4096,
						 &frame, &used),
				 1);
		assert_int_equal(frame.type, AMQP_FRAME_HEADER);
		amqp_buffer_consume(&buffer, used);
		while (amqp_buffer_used(&buffer) > 0) {
			assert_int_equal(amqp_wire_split(buffer.data + buffer.start,
							 amqp_buffer_used(&buffer), 4096, &frame,
							 &used),
					 1);
			assert_int_equal(frame.type, AMQP_FRAME_BODY);
			assert_true(frame.length > 0);
			seen += frame.length;
			amqp_buffer_consume(&buffer, used);
		}
		assert_int_equal(seen, sizes[i]);
		amqp_buffer_free(&buffer);
	}
}

static void test_buffer_holds_no_more_than_its_limit(void **state)
{
	struct amqp_buffer buffer = {.limit = 100000};

	(void)state;
	assert_int_equal(amqp_buffer_reserve(&buffer, 100001), -ENOBUFS);
	assert_int_equal(amqp_buffer_reserve(&buffer, 60000), 0);
	buffer.end += 60000;
	buffer.start += 10000;
	assert_int_equal(amqp_buffer_reserve(&buffer, SIZE_MAX), -ENOBUFS);
	while (amqp_buffer_reserve(&buffer, 10000) == 0)
		buffer.end += 10000;
	assert_true(amqp_buffer_used(&buffer) <= 131072);
	amqp_buffer_free(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_frame_is_whole_only_with_its_last_byte),
		cmocka_unit_test(test_another_protocol_is_refused_at_its_first_byte),
		cmocka_unit_test(test_frames_too_short_for_their_type_are_refused),
		cmocka_unit_test(test_a_frame_beyond_the_negotiated_size_is_refused_by_its_header),
		cmocka_unit_test(test_a_frame_without_its_end_is_refused),
		cmocka_unit_test(
			test_only_methods_without_tables_that_a_client_is_sent_are_decoded),
		cmocka_unit_test(test_method_comes_back_as_it_was_put),
		cmocka_unit_test(test_start_is_read_without_its_table),
		cmocka_unit_test(test_content_header_gives_size_and_content_type),
		cmocka_unit_test(test_content_is_cut_into_frames_of_the_negotiated_size),
		cmocka_unit_test(test_buffer_holds_no_more_than_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/zbuf.c. */
#include "common/zbuf.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_zbuf_carries_every_type_there_and_back(void **state)
{
	uint8_t data[128], raw[3] = {1, 0, 255};
	struct zwriter writer;
	struct zreader reader;
	char text[8];

	(void)state;
	zwriter_init(&writer, data, sizeof(data));
	zput_u8(&writer, UINT8_MAX);
	zput_u16(&writer, 0x1234);
	zput_u32(&writer, 0xdeadbeef);
	zput_u64(&writer, UINT64_MAX - 1);
	zput_bytes(&writer, raw, sizeof(raw));
	zput_cstr(&writer, "abc");
	zput_cstr(&writer, NULL);
	zput_blob(&writer, (struct zstr){.data = "a\0b", .length = 3});
	zput_cstr(&writer, "seven77");
	assert_false(writer.failed);

	zreader_init(&reader, data, writer.used);
	assert_int_equal(zget_u8(&reader), UINT8_MAX);
	assert_int_equal(zget_u16(&reader), 0x1234);
	assert_int_equal(zget_u32(&reader), 0xdeadbeef);
	assert_true(zget_u64(&reader) == UINT64_MAX - 1);
	memset(raw, 7, sizeof(raw));
	zget_bytes(&reader, raw, sizeof(raw));
	assert_memory_equal(raw, "\1\0\377", 3);
	assert_true(zstr_equal(zget_str(&reader, 3), "abc"));
	assert_true(zstr_equal(zget_str(&reader, 0), ""));
	assert_false(zreader_end(&reader));
	assert_int_equal(zget_blob(&reader, 3).length, 3);
	zget_cstr(&reader, text, sizeof(text));
	assert_string_equal(text, "seven77");
	assert_true(zreader_end(&reader));
}

static void test_zbuf_writes_little_endian(void **state)
{
	uint8_t data[15];
	struct zwriter writer;

	(void)state;
	zwriter_init(&writer, data, sizeof(data));
	zput_u8(&writer, 0x01);
	zput_u16(&writer, 0x0203);
	zput_u32(&writer, 0x04050607);
	zput_u64(&writer, 0x08090a0b0c0d0e0f);

	assert_int_equal(writer.used, sizeof(data));
	assert_memory_equal(data, "\x01\x03\x02\x07\x06\x05\x04\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08",
			    15);
}

/* Every getter on every length shorter than it needs. */
static void test_zbuf_refuses_to_read_past_the_end_and_stays_failed(void **state)
{
	static const uint8_t data[16] = {9, 0, 0, 0, 'x', 'x', 'x', 'x'};
	uint8_t out[8];
	struct zreader reader;

	(void)state;
	for (size_t length = 0; length < 8; length++) {
		zreader_init(&reader, data, length);
		assert_true(zget_u64(&reader) == 0);
		assert_true(reader.failed);
		assert_int_equal(zget_u8(&reader), 0);
		assert_false(zreader_end(&reader));

		zreader_init(&reader, data, length);
		memset(out, 0xaa, sizeof(out));
		zget_bytes(&reader, out, sizeof(out));
		assert_memory_equal(out, "\0\0\0\0\0\0\0\0", 8);
		assert_true(reader.failed);

		zreader_init(&reader, data, length);
		assert_int_equal(zget_blob(&reader, SIZE_MAX).length, 0);
		assert_true(reader.failed);
	}
	zreader_init(&reader, data, 1);
	assert_int_equal(zget_u16(&reader), 0);
	zreader_init(&reader, data, 3);
	assert_int_equal(zget_u32(&reader), 0);
	zreader_init(&reader, data, 10);
	assert_int_equal(zget_str(&reader, 100).length, 0); /* 9 announced, 8 there */
	assert_true(reader.failed);
	assert_int_equal(zget_str(&reader, 100).length, 0);
}

static void test_zbuf_takes_a_string_of_exactly_the_maximum(void **state)
{
	static const uint8_t data[] = {3, 0, 'a', 'b', 'c'};
	struct zreader reader;

	(void)state;
	zreader_init(&reader, data, sizeof(data));
	assert_true(zstr_equal(zget_str(&reader, 3), "abc"));
	assert_true(zreader_end(&reader));
	zreader_init(&reader, data, sizeof(data));
	assert_int_equal(zget_str(&reader, 2).length, 0);
	assert_true(reader.failed);
}

static void test_zbuf_refuses_a_nul_inside_a_string_but_not_in_a_blob(void **state)
{
	static const uint8_t string[] = {3, 0, 'a', 0, 'c'};
	static const uint8_t blob[] = {3, 0, 0, 0, 'a', 0, 'c'};
	struct zreader reader;
	char out[8] = "garbage";

	(void)state;
	zreader_init(&reader, string, sizeof(string));
	assert_int_equal(zget_str(&reader, 10).length, 0);
	assert_true(reader.failed);
	zreader_init(&reader, string, sizeof(string));
	zget_cstr(&reader, out, sizeof(out));
	assert_string_equal(out, "");
	assert_true(reader.failed);
	zreader_init(&reader, blob, sizeof(blob));
	assert_int_equal(zget_blob(&reader, 10).length, 3);
	assert_true(zreader_end(&reader));
	zreader_init(&reader, blob, sizeof(blob));
	assert_int_equal(zget_blob(&reader, 2).length, 0);
	assert_true(reader.failed);
}

static void test_zbuf_cstr_needs_room_for_its_end(void **state)
{
	static const uint8_t data[] = {3, 0, 'a', 'b', 'c'};
	struct zreader reader;
	char out[4] = "xxx";

	(void)state;
	zreader_init(&reader, data, sizeof(data));
	zget_cstr(&reader, out, 4);
	assert_string_equal(out, "abc");
	assert_true(zreader_end(&reader));
	zreader_init(&reader, data, sizeof(data));
	zget_cstr(&reader, out, 3);
	assert_string_equal(out, "");
	assert_true(reader.failed);
	zreader_init(&reader, data, sizeof(data));
	zget_cstr(&reader, out, 0);
	assert_true(reader.failed);
}

static void test_zbuf_empty_buffers_are_no_error(void **state)
{
	struct zreader reader;
	struct zwriter writer;
	uint8_t out[1] = {5};

	(void)state;
	zreader_init(&reader, NULL, 0);
	assert_true(zreader_end(&reader));
	zreader_init(&reader, "", 0);
	zget_bytes(&reader, out, 0);
	assert_int_equal(out[0], 5);
	assert_true(zreader_end(&reader));
	zwriter_init(&writer, NULL, 0);
	zput_bytes(&writer, NULL, 0);
	assert_false(writer.failed);
	zput_u8(&writer, 1);
	assert_true(writer.failed);
}

static void test_zbuf_writer_failure_is_sticky_and_writes_nothing_beyond(void **state)
{
	uint8_t data[4] = {0, 0, 0, 0xcc};
	struct zwriter writer;

	(void)state;
	zwriter_init(&writer, data, 3);
	zput_u16(&writer, 0x0101);
	zput_u16(&writer, 0x0202);
	assert_true(writer.failed);
	zput_u8(&writer, 3);
	assert_int_equal(writer.used, 2);
	assert_int_equal(data[2], 0);
	assert_int_equal(data[3], 0xcc);
}

static void test_zbuf_string_of_65535_bytes_is_the_longest(void **state)
{
	char *text = calloc(1, 65537);
	uint8_t *data = calloc(1, 65540);
	struct zwriter writer;

	(void)state;
	assert_non_null(text);
	assert_non_null(data);
	memset(text, 'a', 65536);
	zwriter_init(&writer, data, 65540);
	zput_str(&writer, (struct zstr){.data = text, .length = 65535});
	assert_false(writer.failed);
	assert_int_equal(writer.used, 65537);
	zwriter_init(&writer, data, 65540);
	zput_str(&writer, (struct zstr){.data = text, .length = 65536});
	assert_true(writer.failed);
	assert_int_equal(writer.used, 0);
	zwriter_init(&writer, data, 65540);
	zput_blob(&writer, (struct zstr){.data = text, .length = 65536});
	assert_false(writer.failed);
	free(text);
	free(data);
}

static void test_zstr_copy_and_equal(void **state)
{
	char out[4];

	(void)state;
	assert_int_equal(zstr_copy(zstr_from("abc"), out, sizeof(out)), 0);
	assert_string_equal(out, "abc");
	assert_int_equal(zstr_copy(zstr_from("abcd"), out, sizeof(out)), -ENAMETOOLONG);
	assert_string_equal(out, "abc");
	assert_int_equal(zstr_copy((struct zstr){0}, out, sizeof(out)), 0);
	assert_string_equal(out, "");
	assert_int_equal(zstr_copy(zstr_from(""), out, 0), -ENAMETOOLONG);
	assert_true(zstr_equal((struct zstr){0}, ""));
	assert_true(zstr_equal((struct zstr){0}, NULL));
	assert_false(zstr_equal(zstr_from("abc"), "ab"));
	assert_false(zstr_equal(zstr_from("abc"), "abd"));
	assert_false(zstr_equal((struct zstr){.data = "ab\0", .length = 3}, "ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zbuf_carries_every_type_there_and_back),
		cmocka_unit_test(test_zbuf_writes_little_endian),
		cmocka_unit_test(test_zbuf_refuses_to_read_past_the_end_and_stays_failed),
		cmocka_unit_test(test_zbuf_takes_a_string_of_exactly_the_maximum),
		cmocka_unit_test(test_zbuf_refuses_a_nul_inside_a_string_but_not_in_a_blob),
		cmocka_unit_test(test_zbuf_cstr_needs_room_for_its_end),
		cmocka_unit_test(test_zbuf_empty_buffers_are_no_error),
		cmocka_unit_test(test_zbuf_writer_failure_is_sticky_and_writes_nothing_beyond),
		cmocka_unit_test(test_zbuf_string_of_65535_bytes_is_the_longest),
		cmocka_unit_test(test_zstr_copy_and_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

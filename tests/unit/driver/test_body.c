/* SPDX-License-Identifier: Apache-2.0 */
/* De-framing and collecting bodies. */
#include "common/zfd.h"
#include "tests/unit/driver/fake_helper.h"
#include "unpriv/driver/driver_body.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <unistd.h>

/* Decodes wire in pieces of step bytes; the content to out.  1 whole, 0 cut off, or a negative
 * errno. */
static int decode(uint8_t framing, uint64_t content_length, struct zstr wire, size_t step,
		  char *out)
{
	struct body_decoder decoder;
	size_t used = 0;

	assert_int_equal(body_decoder_init(&decoder, framing, content_length), 0);
	while (wire.length > 0) {
		struct zstr piece = {wire.data, wire.length < step ? wire.length : step};

		wire.data += piece.length;
		wire.length -= piece.length;
		while (piece.length > 0) {
			struct zstr payload;
			int result = body_decode(&decoder, &piece, &payload);

			if (result < 0)
				return result;
			if (payload.length > 0)
				memcpy(out + used, payload.data, payload.length);
			used += payload.length;
		}
	}
	out[used] = '\0';
	return body_whole(&decoder);
}

static const struct {
	const char *name, *wire,
		*content; /* content NULL: refused; whole says whether the end was seen */
	bool whole;
} chunked_cases[] = {
	{"one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello", true},
	{"two chunks", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world", true},
	{"upper case size", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", true},
	{"size with leading zeros", "00000005\r\nhello\r\n0\r\n\r\n", "hello", true},
	{"no content", "0\r\n\r\n", "", true},
	{"trailer lines", "1\r\na\r\n0\r\nX-A: b\r\nX-C: d\r\n\r\n", "a", true},
	{"CR LF in the content", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", true},
	{"nothing at all", "", "", false},
	{"cut in the size", "5", "", false},
	{"cut in a chunk", "5\r\nhel", "hel", false},
	{"cut after a chunk", "5\r\nhello\r\n", "hello", false},
	{"cut before the last line", "5\r\nhello\r\n0\r\n", "hello", false},
	{"cut in the last line", "5\r\nhello\r\n0\r\n\r", "hello", false},
	{"bytes after the end", "1\r\na\r\n0\r\n\r\nx", NULL, false},
	{"bare LF after the size", "5\nhello\r\n0\r\n\r\n", NULL, false},
	{"no size", "\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"negative size", "-5\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"signed size", "+5\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"blank before the size", " 5\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"0x before the size", "0x5\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"size of nine digits", "000000005\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"size that would wrap", "10000000000000005\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"extension", "5;a=b\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"chunk longer than its size", "4\r\nhello\r\n0\r\n\r\n", NULL, false},
	{"chunk without its end", "5\r\nhello0\r\n\r\n", NULL, false},
	{"CR without LF after the size", "5\rhello\r\n0\r\n\r\n", NULL, false},
	{"bare LF in a trailer", "0\r\nA: b\n\r\n", NULL, false},
};

static void test_chunked_bodies_are_decoded_or_refused_however_they_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(chunked_cases) / sizeof(chunked_cases[0]); i++) {
		struct zstr wire = zstr_from(chunked_cases[i].wire);

		for (size_t step = 1; step <= wire.length + 1; step++) {
			char out[256];
			int result = decode(PROTO_BODY_CHUNKED, 0, wire, step, out);

			if (chunked_cases[i].content == NULL) {
				if (result != -EBADMSG)
					fail_msg("%s, step %zu: taken", chunked_cases[i].name,
						 step);
				continue;
			}
			if (result < 0 || strcmp(out, chunked_cases[i].content) != 0 ||
			    result != chunked_cases[i].whole)
				fail_msg("%s, step %zu: %d \"%s\"", chunked_cases[i].name, step,
					 result, out);
		}
	}
}

static void test_trailers_are_bounded(void **state)
{
	char wire[8192] = "0\r\n", out[64];

	(void)state;
	memset(wire + 3, 'a', sizeof(wire) - 4);

	assert_int_equal(decode(PROTO_BODY_CHUNKED, 0, zstr_from(wire), 4096, out), -EBADMSG);
}

static void test_length_framing_shows_a_body_that_was_cut_and_one_that_is_too_long(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(decode(PROTO_BODY_LENGTH, 5, zstr_from("hello"), 2, out), 1);
	assert_string_equal(out, "hello");
	assert_int_equal(decode(PROTO_BODY_LENGTH, 6, zstr_from("hello"), 2, out), 0);
	assert_int_equal(decode(PROTO_BODY_LENGTH, 4, zstr_from("hello"), 9, out), -EBADMSG);
	assert_int_equal(decode(PROTO_BODY_LENGTH, 0, zstr_from(""), 1, out), 1);
	assert_int_equal(decode(PROTO_BODY_NONE, 0, zstr_from("x"), 1, out), -EBADMSG);
	assert_int_equal(decode(PROTO_BODY_CLOSE, 0, zstr_from("hello"), 1, out), 1);
	assert_string_equal(out, "hello");
}

static void test_an_unknown_framing_is_refused(void **state)
{
	struct body_decoder decoder;

	(void)state;
	assert_int_equal(body_decoder_init(&decoder, 4, 0), -EBADMSG);
}

/* A reader whose rest stands in a pipe that has ended. */
static void open_reader(struct body_reader *reader, uint64_t length, const char *first,
			const char *rest)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(zfd_write_all(ends[1], rest, strlen(rest)), 0);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(
		body_reader_open(reader, PROTO_BODY_LENGTH, length, zstr_from(first), ends[0]), 0);
}

static void test_a_body_continues_through_the_pipe(void **state)
{
	struct body_reader reader;
	struct body_text text = {0};

	(void)state;
	open_reader(&reader, 11, "hello", " world");

	assert_int_equal(body_collect(&reader, 11, zfd_now_ms() + 1000, &text), 0);
	assert_int_equal(text.length, 11);
	assert_string_equal(text.data, "hello world");
	body_text_clear(&text);
	body_reader_close(&reader);
}

static void test_a_body_over_its_cap_is_refused(void **state)
{
	struct body_reader reader;
	struct body_text text = {0};

	(void)state;
	open_reader(&reader, 11, "hello", " world");

	assert_int_equal(body_collect(&reader, 10, zfd_now_ms() + 1000, &text), -EFBIG);
	assert_null(text.data);
	body_reader_close(&reader);
}

static void test_a_cut_body_is_no_body(void **state)
{
	struct body_reader reader;
	struct body_text text = {0};

	(void)state;
	open_reader(&reader, 12, "hello", " world");

	assert_int_equal(body_collect(&reader, 100, zfd_now_ms() + 1000, &text), -EBADMSG);
	assert_null(text.data);
	body_reader_close(&reader);
}

static void test_a_silent_pipe_ends_at_the_deadline(void **state)
{
	struct body_reader reader;
	struct body_text text = {0};
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(
		body_reader_open(&reader, PROTO_BODY_CHUNKED, 0, zstr_from("5\r\nhe"), ends[0]), 0);

	assert_int_equal(body_collect(&reader, 100, zfd_now_ms() + 50, &text), -ETIMEDOUT);
	body_reader_close(&reader);
	assert_int_equal(close(ends[1]), 0);
}

static void test_the_end_of_a_chunked_body_is_not_waited_beyond(void **state)
{
	struct body_reader reader;
	struct body_text text = {0};
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(body_reader_open(&reader, PROTO_BODY_CHUNKED, 0,
					  zstr_from("2\r\nhi\r\n0\r\n\r\n"), ends[0]),
			 0);

	assert_int_equal(body_collect(&reader, 100, zfd_now_ms() + 5000, &text), 0);
	assert_string_equal(text.data, "hi");
	body_text_clear(&text);
	body_reader_close(&reader);
	assert_int_equal(close(ends[1]), 0);
}

static void test_a_recorded_chunked_answer_is_decoded(void **state)
{
	size_t length;
	_cleanup_free_ char *wire = fake_data("inspect_running.chunked", &length);
	_cleanup_free_ char *out = malloc(length + 1);

	(void)state;
	assert_int_equal(decode(PROTO_BODY_CHUNKED, 0, (struct zstr){wire, length}, 100, out), 1);
	assert_int_equal(out[0], '{');
	assert_int_equal(out[strlen(out) - 1], '\n');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunked_bodies_are_decoded_or_refused_however_they_are_cut),
		cmocka_unit_test(test_trailers_are_bounded),
		cmocka_unit_test(
			test_length_framing_shows_a_body_that_was_cut_and_one_that_is_too_long),
		cmocka_unit_test(test_an_unknown_framing_is_refused),
		cmocka_unit_test(test_a_body_continues_through_the_pipe),
		cmocka_unit_test(test_a_body_over_its_cap_is_refused),
		cmocka_unit_test(test_a_cut_body_is_no_body),
		cmocka_unit_test(test_a_silent_pipe_ends_at_the_deadline),
		cmocka_unit_test(test_the_end_of_a_chunked_body_is_not_waited_beyond),
		cmocka_unit_test(test_a_recorded_chunked_answer_is_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

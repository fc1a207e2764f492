/* SPDX-License-Identifier: Apache-2.0 */
/* The progress stream of a pull. */
#include "common/zfd.h"
#include "tests/unit/driver/fake_helper.h"
#include "unpriv/driver/docker_pull.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* Feeds text in pieces of step bytes, then its end. */
static int feed(struct pull_stream *stream, struct zstr text, size_t step)
{
	struct zerr err;

	assert_int_equal(pull_stream_init(stream), 0);
	while (text.length > 0) {
		struct zstr piece = {text.data, text.length < step ? text.length : step};
		int result = pull_stream_feed(stream, piece, &err);

		if (result < 0)
			return result;
		text.data += piece.length;
		text.length -= piece.length;
	}
	return pull_stream_end(stream, &err);
}

static const struct {
	const char *name, *stream, *message; /* message NULL: no error */
	int64_t code;
	uint64_t lines;
	int result;
} cases[] = {
	{"nothing", "", NULL, 0, 0, 0},
	{"empty lines", "\r\n\r\n\n", NULL, 0, 0, 0},
	{"progress", "{\"status\":\"a\"}\r\n{\"status\":\"b\",\"id\":\"x\"}\r\n", NULL, 0, 2, 0},
	{"no newline at the end", "{\"status\":\"a\"}", NULL, 0, 1, 0},
	{"error", "{\"status\":\"a\"}\n{\"error\":\"bad\"}\n", "bad", 0, 2, 0},
	{"both forms", "{\"errorDetail\":{\"code\":401,\"message\":\"m\"},\"error\":\"bad\"}\n",
	 "bad", 401, 1, 0},
	{"detail only", "{\"errorDetail\":{\"message\":\"m\"}}\n", "m", 0, 1, 0},
	{"detail without text", "{\"errorDetail\":{}}\n", "", 0, 1, 0},
	{"error at the end without newline", "{\"error\":\"bad\"}", "bad", 0, 1, 0},
	{"the first error is the cause", "{\"error\":\"one\"}\n{\"error\":\"two\"}\n", "one", 0, 2,
	 0},
	{"null members", "{\"error\":null,\"errorDetail\":null}\n", NULL, 0, 1, 0},
	{"control bytes in the text", "{\"error\":\"a\\u0007b\\nc\"}\n", "a b c", 0, 1, 0},
	{"no JSON", "pulling\n", NULL, 0, 0, -EBADMSG},
	{"an array", "[1]\n", NULL, 0, 1, -EBADMSG},
	{"error that is a number", "{\"error\":5}\n", NULL, 0, 1, -EBADMSG},
	{"detail that is a string", "{\"errorDetail\":\"x\"}\n", NULL, 0, 1, -EBADMSG},
	{"cut line", "{\"status\":\"a", NULL, 0, 0, -EBADMSG},
	{"two objects in a line", "{} {}\n", NULL, 0, 0, -EBADMSG},
	{"duplicate keys", "{\"error\":\"a\",\"error\":\"b\"}\n", NULL, 0, 0, -EBADMSG},
};

static void test_pull_streams_are_read_however_they_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct zstr text = zstr_from(cases[i].stream);

		for (size_t step = 1; step <= text.length + 1; step++) {
			_cleanup_(pull_stream_clear) struct pull_stream stream = {0};
			int result = feed(&stream, text, step);
			const char *message = cases[i].message != NULL ? cases[i].message : "";

			if (result != cases[i].result ||
			    stream.failed != (cases[i].message != NULL) ||
			    stream.lines != cases[i].lines || stream.code != cases[i].code ||
			    strcmp(stream.message, message) != 0)
				fail_msg("%s, step %zu: %d, %d, \"%s\"", cases[i].name, step,
					 result, stream.failed, stream.message);
		}
	}
}

static void test_a_recorded_pull_has_no_error(void **state)
{
	_cleanup_(pull_stream_clear) struct pull_stream stream = {0};
	size_t length;
	_cleanup_free_ char *text = fake_data("pull_ok.ndjson", &length);

	(void)state;
	assert_int_equal(feed(&stream, (struct zstr){text, length}, 64), 0);
	assert_false(stream.failed);
	assert_true(stream.lines >= 5);
}

static void test_a_line_beyond_its_cap_is_refused(void **state)
{
	_cleanup_(pull_stream_clear) struct pull_stream stream = {0};
	_cleanup_free_ char *text = malloc(PULL_LINE_MAX + 2);

	(void)state;
	memset(text, ' ', PULL_LINE_MAX);
	memcpy(text, "{}", 2);
	text[PULL_LINE_MAX] = '\n';
	assert_int_equal(feed(&stream, (struct zstr){text, PULL_LINE_MAX + 1}, 4096), 0);
	pull_stream_clear(&stream);

	memset(text + 2, ' ', PULL_LINE_MAX);
	assert_int_equal(feed(&stream, (struct zstr){text, PULL_LINE_MAX + 1}, 4096), -EBADMSG);
}

static void test_a_long_pull_takes_no_more_memory_than_a_short_one(void **state)
{
	_cleanup_(pull_stream_clear) struct pull_stream stream = {0};
	struct zerr err;

	(void)state;
	assert_int_equal(pull_stream_init(&stream), 0);
	for (unsigned i = 0; i < 20000; i++)
		assert_int_equal(
			pull_stream_feed(&stream, zstr_from("{\"status\":\"x\"}\r\n"), &err), 0);
	assert_int_equal(stream.lines, 20000);
	assert_int_equal(stream.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pull_streams_are_read_however_they_are_cut),
		cmocka_unit_test(test_a_recorded_pull_has_no_error),
		cmocka_unit_test(test_a_line_beyond_its_cap_is_refused),
		cmocka_unit_test(test_a_long_pull_takes_no_more_memory_than_a_short_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

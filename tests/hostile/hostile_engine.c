/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that lies, floods, trickles, falls silent or hangs up, against the
 * real docker helper: loop, handlers, audit log, client.  Whatever it does, each
 * request ends in time with an answer of the table, the helper lives, serves the
 * next request, and has no descriptor and little memory more than before.
 */
#include "common/zfd.h"
#include "fake_engine.h"
#include "stack.h"
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define STEPS_MAX    4096
#define WAIT_MS	     60
#define LINGER_MS    5000
#define TEXT_MAX     (4 * 1024 * 1024)
/* Beyond its deadline a request may take this long: the body's patience, and a busy machine. */
#define SLACK_MS 1500
#define RESIDENT_MAX                                                                               \
	16384 /* KiB; a sanitizer's shadow included it is more, then it is not checked */

#define GOOD_HEAD                                                                                  \
	"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Type: application/json\r\n"               \
	"Docker-Experimental: false\r\nOstype: linux\r\nServer: Docker/20.10.24 (linux)\r\n"       \
	"Date: Tue, 01 Dec 2026 04:50:00 GMT\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
#define GOOD_BODY "0123456789"

/* What a case may end in; bits of enum proto_status. */
#define MAY(status) (1U << (status))
#define MAY_ANY	    (MAY(PROTO_OK) | MAY(PROTO_ENGINE_BROKEN) | MAY(PROTO_ENGINE_TIMEOUT))

static struct fake_step steps[STEPS_MAX];
static unsigned allowed[STEPS_MAX];
static size_t step_count;
static char text[TEXT_MAX];
static size_t text_used;
static struct fake_engine engine;
static struct stack stack;
static unsigned descriptors;

static struct fake_step *add(unsigned may)
{
	assert_true(step_count < STEPS_MAX);
	memset(&steps[step_count], 0, sizeof(steps[0]));
	allowed[step_count] = may;
	return &steps[step_count++];
}

/* A copy that stays until the end of the test. */
static char *keep(const char *data, size_t length)
{
	char *copy = text + text_used;

	assert_true(length <= TEXT_MAX - text_used);
	memcpy(copy, data, length);
	text_used += length;
	return copy;
}

static uint64_t random_number(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static int set_up(void **state)
{
	(void)state;
	step_count = 0;
	text_used = 0;
	return 0;
}

static void begin(void)
{
	fake_start(&engine, steps, step_count);
	stack_prepare(&stack, engine.path);
	stack_run(&stack);
	descriptors = stack_descriptors(&stack);
}

static void end(void)
{
	struct req_docker_noop noop = {.payload = zstr_from("alive")};
	struct ans_docker_noop answer;

	assert_int_equal(priv_docker_noop(&stack.channel, &noop, &answer, NULL, &stack.err), 0);
	assert_true(zstr_equal(answer.payload, "alive"));
	assert_int_equal(stack_descriptors(&stack), descriptors);
#ifndef KEELSON_SANITIZED
	assert_true(stack_resident(&stack) < RESIDENT_MAX);
#endif
	assert_int_equal(stack_finish(&stack), HELPER_EXIT_OK);
	fake_stop(&engine);
}

/* GET /version; reads at most so many bytes of a piped body.  The result of the call. */
static int ask(uint32_t wait_ms, size_t read_max)
{
	static char sink[65536];
	struct req_docker_engine_version request = {.wait_ms = wait_ms};
	struct ans_docker_engine_version answer;
	_cleanup_fd_ int body = -1;
	int r = priv_docker_engine_version(&stack.channel, &request, &answer, &body, &stack.err);

	if (r == PROTO_OK) {
		assert_true(answer.http_status >= 200 && answer.http_status <= 599);
		assert_true(answer.framing <= PROTO_BODY_NONE);
		assert_true(answer.body.length <= 61440);
		assert_int_equal(answer.body_continues, body >= 0);
	} else {
		assert_int_equal(body, -1);
	}
	while (body >= 0 && read_max > 0) {
		ssize_t n = read(body, sink, read_max < sizeof(sink) ? read_max : sizeof(sink));

		if (n <= 0)
			break;
		read_max -= (size_t)n;
	}
	return r;
}

/* One request a step, in order. */
static void run_all(size_t read_max)
{
	begin();
	for (size_t i = 0; i < step_count; i++) {
		uint64_t before = zfd_now_ms();
		int r = ask(WAIT_MS, read_max);
		uint64_t took = zfd_now_ms() - before;

		if (r < 0 || !(allowed[i] & MAY(r)))
			fail_msg("case %zu: %d %s", i, r, r != 0 ? stack.err.msg : "");
		if (took > WAIT_MS + SLACK_MS)
			fail_msg("case %zu took %lu ms", i, (unsigned long)took);
	}
	end();
}

static void test_garbage(void **state)
{
	uint64_t seed = 88172645463325252;

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		size_t length = 1 + random_number(&seed) % (i % 10 == 0 ? 70000 : 200);
		char *data = keep("", 0);

		assert_true(length <= TEXT_MAX - text_used);
		for (size_t at = 0; at < length; at++)
			data[at] = (char)random_number(&seed);
		text_used += length;
		*add(MAY(PROTO_ENGINE_BROKEN)) =
			(struct fake_step){.answer = data, .length = length};
	}
	run_all(0);
}

static void test_good_head_with_each_bit_flipped(void **state)
{
	static const char whole[] = GOOD_HEAD GOOD_BODY;

	(void)state;
	for (size_t bit = 0; bit < 8 * (sizeof(GOOD_HEAD) - 1); bit++) {
		char *copy = keep(whole, sizeof(whole) - 1);

		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
		*add(MAY_ANY) = (struct fake_step){.answer = copy, .length = sizeof(whole) - 1};
	}
	run_all(1 << 20);
}

static void test_good_answer_cut_at_each_byte(void **state)
{
	static const char whole[] = GOOD_HEAD GOOD_BODY;

	(void)state;
	for (size_t length = 1; length < sizeof(whole); length++) {
		bool in_head = length < sizeof(GOOD_HEAD) - 1;

		*add(MAY(in_head ? PROTO_ENGINE_BROKEN : PROTO_OK)) =
			(struct fake_step){.answer = whole, .length = length};
	}
	run_all(1 << 20);
}

/* Hangs up before it has read the request, with and without an answer. */
static void test_deaf_engine_that_hangs_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < 50; i++) {
		*add(MAY(PROTO_ENGINE_BROKEN)) = (struct fake_step){.answer = "", .deaf = true};
		*add(MAY(PROTO_OK) | MAY(PROTO_ENGINE_BROKEN)) =
			(struct fake_step){.answer = GOOD_HEAD GOOD_BODY, .deaf = true};
	}
	run_all(1 << 20);
}

static void test_two_sizes_and_other_lies(void **state)
{
	static const char *const fields[] = {
		"Content-Length: 5\r\nContent-Length: 5",
		"Content-Length: 5\r\nContent-Length: 500",
		"Content-Length: 5\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: chunked\r\nContent-Length: 5",
		"Transfer-Encoding: chunked, chunked",
		"Transfer-Encoding: gzip",
		"Content-Length: -5",
		"Content-Length: 5\r\n folded: x",
		"X: a\nContent-Length: 5",
		"Content-Length: 99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(fields); i++) {
		char line[256];
		int n = snprintf(line, sizeof(line), "HTTP/1.1 200 OK\r\n%s\r\n\r\nabcde",
				 fields[i]);

		*add(MAY(PROTO_ENGINE_BROKEN)) =
			(struct fake_step){.answer = keep(line, (size_t)n), .length = (size_t)n};
	}
	/* A second answer behind the first, an upgrade that was not asked for. */
	add(MAY(PROTO_ENGINE_BROKEN))->answer = GOOD_HEAD GOOD_BODY GOOD_HEAD GOOD_BODY;
	add(MAY(PROTO_ENGINE_BROKEN))->answer =
		"HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\nroot shell";
	run_all(0);
}

static void test_silence_and_trickle(void **state)
{
	static const char *const beginnings[] = {"", "H", "HTTP/1.1 200 OK",
						 "HTTP/1.1 200 OK\r\nX: y\r\n",
						 "HTTP/1.1 100 Continue\r\n\r\n"};

	(void)state;
	for (size_t i = 0; i < COUNT(beginnings); i++)
		*add(MAY(PROTO_ENGINE_TIMEOUT)) =
			(struct fake_step){.answer = beginnings[i], .linger_ms = LINGER_MS};
	*add(MAY(PROTO_ENGINE_TIMEOUT)) =
		(struct fake_step){.answer = GOOD_HEAD GOOD_BODY, .piece = 1, .between_ms = 5};
	/* Bodies that never come, or never end. */
	*add(MAY(PROTO_OK)) = (struct fake_step){.answer = GOOD_HEAD, .linger_ms = LINGER_MS};
	*add(MAY(PROTO_OK)) = (struct fake_step){
		.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
		.linger_ms = LINGER_MS};
	run_all(1 << 20);
}

static void test_floods(void **state)
{
	static char field[65536];

	(void)state;
	memset(field, 'a', sizeof(field));
	/* A head without end: one line, many lines, interim answers. */
	*add(MAY(PROTO_ENGINE_BROKEN)) =
		(struct fake_step){.answer = "HTTP/1.1 200 OK\r\nX: ", .repeat = 1};
	steps[step_count - 1].answer = keep("HTTP/1.1 200 OK\r\nX: ", 20);
	steps[step_count - 1].length = 20 + sizeof(field);
	(void)keep(field, sizeof(field));
	*add(MAY(PROTO_ENGINE_BROKEN)) =
		(struct fake_step){.answer = "HTTP/1.1 100 Continue\r\n\r\n", .repeat = 100000};
	*add(MAY(PROTO_ENGINE_BROKEN)) =
		(struct fake_step){.answer = field, .length = sizeof(field), .repeat = 1000};
	/* A body without end; the reader leaves after a megabyte. */
	*add(MAY(PROTO_OK)) = (struct fake_step){.answer = "HTTP/1.1 200 OK\r\n\r\n", .repeat = 1};
	steps[step_count - 1].answer = keep("HTTP/1.1 200 OK\r\n\r\n", 19);
	steps[step_count - 1].length = 19 + sizeof(field);
	(void)keep(field, sizeof(field));
	steps[step_count - 1].repeat = 1000;
	run_all(1 << 20);
}

/* What comes after the deadline belongs to nobody: the next answer is the next request's. */
static void test_late_answer_is_not_the_next_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < 10; i++) {
		*add(MAY(PROTO_ENGINE_TIMEOUT)) = (struct fake_step){
			.answer = "HTTP/1.1 500 Late\r\nContent-Length: 4\r\n\r\nlate",
			.before_ms = WAIT_MS + 40};
		*add(MAY(PROTO_OK)) = (struct fake_step){.answer = GOOD_HEAD GOOD_BODY};
	}
	begin();
	for (size_t i = 0; i < step_count; i++) {
		struct req_docker_engine_version request = {.wait_ms = i % 2 == 0 ? WAIT_MS
										  : LINGER_MS};
		struct ans_docker_engine_version answer;
		_cleanup_fd_ int body = -1;
		int r = priv_docker_engine_version(&stack.channel, &request, &answer, &body,
						   &stack.err);

		assert_int_equal(r, i % 2 == 0 ? PROTO_ENGINE_TIMEOUT : PROTO_OK);
		if (r == PROTO_OK)
			assert_true(zstr_equal(answer.body, GOOD_BODY));
	}
	end();
}

/* Answers to the question whose a container is: only a list with an element allows the rest. */
static void test_lies_about_ownership(void **state)
{
	static const char *const lists[] = {
		"{}",	 "[",	      "[1]",	"null",
		"true",	 "\"[{\"",    "[[{}]]", "  [{}]x",
		"[ {}]", "[\n{}]",    "]",	"{\"a\":[{}]}",
		"0",	 "[\"zun\"]", "",	"<html>[{</html>",
	};
	struct req_docker_container_delete request = {
		.api_minor = 41, .wait_ms = LINGER_MS, .force = 1};
	struct ans_docker_container_delete answer;

	(void)state;
	for (size_t i = 0; i < COUNT(lists); i++) {
		char line[256];
		int n = snprintf(line, sizeof(line),
				 "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
				 strlen(lists[i]), lists[i]);

		*add(0) = (struct fake_step){.answer = keep(line, (size_t)n), .length = (size_t)n};
	}
	begin();
	for (size_t i = 0; i < COUNT(lists); i++) {
		_cleanup_fd_ int body = -1;
		int r = priv_docker_container_delete(&stack.channel, &request, &answer, &body,
						     &stack.err);

		if (r != PROTO_ENGINE_BROKEN)
			fail_msg("%s: %d", lists[i], r);
	}
	end();
}

/* The engine dies while the helper relays, and so does the reader; a hundred times. */
static void test_relay_cut_on_either_side(void **state)
{
	static char half[80000];

	(void)state;
	memset(half, 'x', sizeof(half));
	memcpy(half, "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", 44);
	for (size_t i = 0; i < 100; i++)
		*add(MAY(PROTO_OK)) = (struct fake_step){.answer = half, .length = sizeof(half)};
	begin();
	for (size_t i = 0; i < step_count; i++)
		assert_int_equal(ask(LINGER_MS, i % 2 == 0 ? 100 : 1 << 20), PROTO_OK);
	end();
}

/* The broker dies while its server feeds a pipe: the server ends by itself, in time. */
static void test_broker_that_dies_during_a_relay(void **state)
{
	struct req_docker_engine_version request = {.wait_ms = 60000};
	struct ans_docker_engine_version answer;
	uint64_t before;
	int body = -1;

	(void)state;
	*add(0) = (struct fake_step){.answer = "HTTP/1.1 200 OK\r\n\r\nabc", .linger_ms = 60000};
	begin();
	assert_int_equal(
		priv_docker_engine_version(&stack.channel, &request, &answer, &body, &stack.err),
		0);
	assert_true(body >= 0);
	before = zfd_now_ms();
	close(body);
	assert_int_equal(stack_finish(&stack), HELPER_EXIT_OK);
	assert_true(zfd_now_ms() - before < 2000);
	fake_stop(&engine);
}

static void test_idle_server_is_small(void **state)
{
	(void)state;
	add(MAY(PROTO_OK))->answer = GOOD_HEAD GOOD_BODY;
	begin();
	assert_int_equal(ask(LINGER_MS, 0), PROTO_OK);
#ifndef KEELSON_SANITIZED
	if (stack_resident(&stack) > 3 * 1024)
		fail_msg("%lu KiB", stack_resident(&stack));
#endif
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_garbage, set_up),
		cmocka_unit_test_setup(test_good_head_with_each_bit_flipped, set_up),
		cmocka_unit_test_setup(test_good_answer_cut_at_each_byte, set_up),
		cmocka_unit_test_setup(test_deaf_engine_that_hangs_up, set_up),
		cmocka_unit_test_setup(test_two_sizes_and_other_lies, set_up),
		cmocka_unit_test_setup(test_silence_and_trickle, set_up),
		cmocka_unit_test_setup(test_floods, set_up),
		cmocka_unit_test_setup(test_late_answer_is_not_the_next_one, set_up),
		cmocka_unit_test_setup(test_lies_about_ownership, set_up),
		cmocka_unit_test_setup(test_relay_cut_on_either_side, set_up),
		cmocka_unit_test_setup(test_broker_that_dies_during_a_relay, set_up),
		cmocka_unit_test_setup(test_idle_server_is_small, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

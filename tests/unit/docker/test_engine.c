/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of privsep/docker_engine.c: bodies, the relay, and engines that do not do their part.
 */
#include "common/zfd.h"
#include "fake_engine.h"
#include "privsep/docker_engine.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SHORT_MS     150
#define LONG_MS	     20000
#define DESCRIPTORS  64 /* as the sandbox has it */

static struct fake_engine engine;
static struct bench bench;
static unsigned descriptors;
static char text[1024 * 1024], rest[1024 * 1024];

static void start(const struct fake_step *step)
{
	descriptors = count_descriptors();
	fake_start(&engine, step, 1);
	bench_open(&bench, engine.path);
}

static void stop(void)
{
	bench_close(&bench);
	fake_stop(&engine);
	assert_int_equal(count_descriptors(), descriptors);
}

/* GET /version with that deadline; how long it took. */
static uint64_t ask(uint32_t wait_ms)
{
	struct req_docker_engine_version request = {.wait_ms = wait_ms};
	uint64_t before = zfd_now_ms();

	bench_call(&bench, PRIV_docker_engine_version, &request);
	return zfd_now_ms() - before;
}

static void assert_refused(enum proto_status status, const char *rule)
{
	assert_int_equal(bench.result.status, status);
	assert_string_equal(bench.result.rule, rule);
	assert_int_equal(bench.result.fd, -1);
	assert_null(bench.result.after);
	assert_int_equal(bench.answer.http_status, 0);
}

/* An answer: head for a body of length bytes, body 'a', 'b', … by position. */
static size_t make_answer(const char *head, size_t length)
{
	size_t used = strlen(head);

	memcpy(text, head, used);
	for (size_t i = 0; i < length; i++)
		text[used + i] = (char)('a' + i % 26);
	return used + length;
}

/* The whole body as the broker would join it. */
static size_t join(void)
{
	static char joined[sizeof(rest)];
	size_t used = bench.answer.body.length;
	ssize_t more;

	memcpy(joined, bench.answer.body.data, used);
	more = bench_rest(&bench, joined + used, sizeof(joined) - used);
	assert_int_equal(more >= 0, bench.answer.body_continues);
	if (more > 0)
		used += (size_t)more;
	memcpy(rest, joined, used);
	return used;
}

static void test_bodies_up_to_the_frame_are_inline_and_longer_ones_piped(void **state)
{
	static const size_t lengths[] = {0,
					 1,
					 16000,
					 16384,
					 ENGINE_INLINE_MAX - 1,
					 ENGINE_INLINE_MAX,
					 ENGINE_INLINE_MAX + 1,
					 70000,
					 500000};

	(void)state;
	for (size_t i = 0; i < COUNT(lengths); i++) {
		char head[80];
		struct fake_step step = {.answer = text};

		(void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
			       lengths[i]);
		step.length = make_answer(head, lengths[i]);
		start(&step);
		(void)ask(LONG_MS);
		assert_int_equal(bench.result.status, PROTO_OK);
		assert_int_equal(bench.answer.content_length, lengths[i]);
		assert_int_equal(bench.answer.body_continues, lengths[i] > ENGINE_INLINE_MAX);
		assert_int_equal(join(), lengths[i]);
		assert_memory_equal(rest, text + strlen(head), lengths[i]);
		stop();
	}
}

/* Chunks are handed on as they came; the end of the connection ends the body. */
static void test_chunked_and_endless_bodies_go_on_raw(void **state)
{
	static const struct {
		const char *head;
		enum proto_framing framing;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", PROTO_BODY_CHUNKED},
		{"HTTP/1.1 200 OK\r\n\r\n", PROTO_BODY_CLOSE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t length = 0; length < 200000; length = length * 20 + 10) {
			struct fake_step step = {.answer = text,
						 .length = make_answer(cases[i].head, length)};

			start(&step);
			(void)ask(LONG_MS);
			assert_int_equal(bench.answer.framing, cases[i].framing);
			assert_int_equal(bench.answer.content_length, 0);
			assert_int_equal(join(), length);
			assert_memory_equal(rest, text + strlen(cases[i].head), length);
			stop();
		}
	}
}

/* A pull: the answer goes out while the stream still runs, and nothing of it is lost. */
static void test_stream_is_handed_over_before_it_ends(void **state)
{
	const char *head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
	struct fake_step step = {.answer = text, .piece = 60, .between_ms = 40};
	uint64_t took;

	(void)state;
	step.length = make_answer(head, 1500);
	start(&step);
	took = ask(LONG_MS);
	assert_true(took < 600);
	assert_int_equal(bench.answer.body_continues, 1);
	assert_true(bench.answer.body.length < 1500);
	assert_int_equal(join(), 1500);
	assert_memory_equal(rest, text + strlen(head), 1500);
	stop();
}

static void test_body_that_is_cut_off_is_handed_on_short(void **state)
{
	static const struct fake_step step = {
		.answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"};

	(void)state;
	start(&step);
	assert_true(ask(LONG_MS) < 2000);
	assert_int_equal(bench.result.status, PROTO_OK);
	assert_int_equal(bench.answer.content_length, 100);
	assert_int_equal(bench.answer.body.length, 3);
	assert_int_equal(bench.answer.body_continues, 0);
	stop();
}

static void test_bytes_after_the_body_break_the_answer(void **state)
{
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 404 Not Found\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\nx",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(answers); i++) {
		struct fake_step step = {.answer = answers[i]};

		start(&step);
		(void)ask(LONG_MS);
		assert_refused(PROTO_ENGINE_BROKEN, "engine_answer");
		stop();
	}
}

static void test_head_in_single_bytes_is_read(void **state)
{
	static const struct fake_step step = {.answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 "
							"OK\r\nContent-Length: 3\r\n\r\nabc",
					      .piece = 1,
					      .between_ms = 1};

	(void)state;
	start(&step);
	(void)ask(LONG_MS);
	assert_int_equal(bench.result.status, PROTO_OK);
	assert_int_equal(join(), 3);
	stop();
}

static void test_engine_that_is_not_there_is_told_apart(void **state)
{
	static const struct fake_step step = {.answer = ""};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	(void)state;
	/* No such file. */
	bench_open(&bench, "/nowhere/docker.sock");
	assert_true(ask(LONG_MS) < 2000);
	assert_refused(PROTO_NO_ENGINE, "engine_unreachable");
	bench_close(&bench);
	/* A socket without a listener. */
	start(&step);
	(void)kill(engine.pid, SIGKILL);
	(void)waitpid(engine.pid, NULL, 0);
	assert_true(ask(LONG_MS) < 2000);
	assert_refused(PROTO_NO_ENGINE, "engine_unreachable");
	/* A file that is no socket. */
	(void)unlink(engine.path);
	fd = open(engine.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_true(ask(LONG_MS) < 2000);
	assert_refused(PROTO_NO_ENGINE, "engine_unreachable");
	/* A socket of another kind. */
	(void)unlink(engine.path);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, engine.path, sizeof(engine.path));
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_true(ask(LONG_MS) < 2000);
	assert_refused(PROTO_NO_ENGINE, "engine_unreachable");
	close(fd);
	stop();
}

/* The engine is frozen: its backlog is full and nobody accepts. */
static void test_connect_never_blocks_for_ever(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int waiting[8];
	uint64_t took;

	(void)state;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/keelson-frozen-%d",
		       getpid());
	assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 0), 0);
	for (size_t i = 0; i < COUNT(waiting); i++) {
		waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(waiting[i], (const struct sockaddr *)&address, sizeof(address));
	}
	bench_open(&bench, address.sun_path);
	took = ask(SHORT_MS);
	assert_refused(PROTO_ENGINE_TIMEOUT, "engine_silent");
	assert_true(took >= SHORT_MS && took < SHORT_MS + 1000);
	bench_close(&bench);
	for (size_t i = 0; i < COUNT(waiting); i++)
		close(waiting[i]);
	close(listener);
	(void)unlink(address.sun_path);
}

static void test_silence_ends_at_the_deadline(void **state)
{
	static const struct fake_step steps[] = {
		{.answer = "", .linger_ms = LONG_MS},
		{.answer = "HTTP/1.1 200 OK\r\nContent-", .linger_ms = LONG_MS},
		{.answer = "HTTP/1.1 100 Continue\r\n\r\n", .linger_ms = LONG_MS},
		/* A byte now and then does not move the deadline. */
		{.answer = "HTTP/1.1 200 OK\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 .piece = 1,
		 .between_ms = 50},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(steps); i++) {
		uint64_t took;

		start(&steps[i]);
		took = ask(SHORT_MS);
		assert_refused(PROTO_ENGINE_TIMEOUT, "engine_silent");
		assert_true(took >= SHORT_MS && took < SHORT_MS + 1000);
		stop();
	}
}

/* A body of megabytes that the engine does not read: neither lost in a write, nor sent in part and
 * forgotten. */
static void test_write_never_blocks_for_ever(void **state)
{
	static const struct fake_step step = {.answer = "", .deaf = true, .linger_ms = LONG_MS};
	static struct req_docker_container_create create;
	static char word[65535];
	uint64_t before;

	(void)state;
	memset(word, 'x', sizeof(word));
	for (size_t i = 0; i < 15; i++)
		create.command[create.command_count++] = (struct zstr){word, sizeof(word)};
	create.api_minor = 41;
	create.wait_ms = SHORT_MS;
	create.image = zstr_from("a");
	start(&step);
	before = zfd_now_ms();
	bench_call(&bench, PRIV_docker_container_create, &create);
	assert_refused(PROTO_ENGINE_TIMEOUT, "engine_silent");
	assert_true(zfd_now_ms() - before < SHORT_MS + 1000);
	stop();
}

/* An engine may answer and hang up before it has read the request. */
static void test_early_refusal_is_the_answer(void **state)
{
	static const struct fake_step step = {
		.answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nbad", .deaf = true};
	static struct req_docker_container_create create;
	static char word[65535];

	(void)state;
	memset(word, 'x', sizeof(word));
	create.command_count = 0;
	for (size_t i = 0; i < 15; i++)
		create.command[create.command_count++] = (struct zstr){word, sizeof(word)};
	create.api_minor = 41;
	create.wait_ms = LONG_MS;
	create.image = zstr_from("a");
	start(&step);
	bench_call(&bench, PRIV_docker_container_create, &create);
	assert_int_equal(bench.result.status, PROTO_OK);
	assert_int_equal(bench.answer.http_status, 400);
	stop();
}

/* More than any frame can carry: never a body that is cut off. */
static void test_create_that_does_not_fit_is_never_sent(void **state)
{
	static struct req_docker_container_create create;
	static char word[65535];

	(void)state;
	memset(word, 1, sizeof(word));
	for (size_t i = 0; i < 20; i++)
		create.command[create.command_count++] = (struct zstr){word, sizeof(word)};
	create.api_minor = 41;
	create.wait_ms = LONG_MS;
	create.image = zstr_from("a");
	bench_open(&bench, "/nowhere/docker.sock");
	bench_call(&bench, PRIV_docker_container_create, &create);
	assert_refused(PROTO_LIMIT, "helper_limit");
	bench_close(&bench);
}

static void test_answer_that_ends_in_its_head_is_broken(void **state)
{
	static const char whole[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

	(void)state;
	for (size_t length = 1; length < sizeof(whole) - 1; length++) {
		struct fake_step step = {.answer = whole, .length = length};

		start(&step);
		assert_true(ask(LONG_MS) < 2000);
		assert_refused(PROTO_ENGINE_BROKEN, "engine_answer");
		stop();
	}
}

static void test_grace_is_added_to_the_deadline(void **state)
{
	static const struct fake_step step = {.answer = "HTTP/1.1 204 No Content\r\n\r\n",
					      .before_ms = 300};
	struct req_docker_container_stop end = {
		.api_minor = 41, .wait_ms = SHORT_MS, .has_grace = 1};
	struct req_docker_container_restart again = {.api_minor = 41, .wait_ms = SHORT_MS};
	struct docker_shared *shared;

	(void)state;
	for (unsigned grace = 0; grace <= 1; grace++) {
		end.grace_s = again.grace_s = grace;
		for (unsigned i = 0; i < 2; i++) {
			start(&step);
			shared = bench.helper.shared;
			(void)docker_owned(&shared->owned, OWNED_ADD, end.uuid);
			if (i == 0)
				bench_call(&bench, PRIV_docker_container_stop, &end);
			else
				bench_call(&bench, PRIV_docker_container_restart, &again);
			assert_int_equal(bench.result.status,
					 grace > 0 ? PROTO_OK : PROTO_ENGINE_TIMEOUT);
			stop();
		}
	}
}

/* ---- the relay ---- */

static const char endless[] = "HTTP/1.1 200 OK\r\n\r\nabcdefgh";

static void test_relay_ends_without_progress(void **state)
{
	static const struct fake_step step = {.answer = endless, .linger_ms = LONG_MS};
	uint64_t before;

	(void)state;
	start(&step);
	(void)ask(SHORT_MS);
	assert_int_equal(bench.answer.body_continues, 1);
	before = zfd_now_ms();
	bench.result.after(&bench.helper);
	assert_true(zfd_now_ms() - before >= SHORT_MS);
	assert_true(zfd_now_ms() - before < SHORT_MS + 1000);
	assert_int_equal(bench.helper.engine, -1);
	assert_int_equal(bench.helper.pipe_write, -1);
	stop();
}

/* Each piece of progress gives the engine wait_ms again: a long pull is not cut off. */
static void test_relay_goes_on_while_there_is_progress(void **state)
{
	const char *head = "HTTP/1.1 200 OK\r\n\r\n";
	struct fake_step step = {.answer = text, .piece = 250, .between_ms = 75};

	(void)state;
	step.length = make_answer(head, 1000);
	start(&step);
	(void)ask(SHORT_MS);
	assert_int_equal(join(), 1000);
	stop();
}

static void test_relay_ends_when_the_reader_is_gone(void **state)
{
	static const struct fake_step quiet = {.answer = endless, .linger_ms = LONG_MS};
	static const struct fake_step busy = {
		.answer = text, .length = sizeof(text), .repeat = 100};
	uint64_t before;

	(void)state;
	/* While the engine says nothing … */
	start(&quiet);
	(void)ask(LONG_MS);
	zfd_closep(&bench.result.fd);
	before = zfd_now_ms();
	bench.result.after(&bench.helper);
	assert_true(zfd_now_ms() - before < 1000);
	stop();
	/* … and while it floods. */
	(void)make_answer("HTTP/1.1 200 OK\r\n\r\n",
			  sizeof(text) - strlen("HTTP/1.1 200 OK\r\n\r\n"));
	start(&busy);
	(void)ask(LONG_MS);
	zfd_closep(&bench.result.fd);
	before = zfd_now_ms();
	bench.result.after(&bench.helper);
	assert_true(zfd_now_ms() - before < 1000);
	stop();
}

static void test_relay_ends_when_nobody_reads(void **state)
{
	static const struct fake_step busy = {
		.answer = text, .length = sizeof(text), .repeat = 100};
	uint64_t before;

	(void)state;
	(void)make_answer("HTTP/1.1 200 OK\r\n\r\n",
			  sizeof(text) - strlen("HTTP/1.1 200 OK\r\n\r\n"));
	start(&busy);
	(void)ask(SHORT_MS);
	before = zfd_now_ms();
	bench.result.after(&bench.helper);
	assert_true(zfd_now_ms() - before >= SHORT_MS);
	assert_true(zfd_now_ms() - before < SHORT_MS + 1000);
	stop();
}

/* An engine that keeps the connection open after the announced end does not hold the channel up. */
static void test_relay_ends_at_the_announced_length(void **state)
{
	const char *head = "HTTP/1.1 200 OK\r\nContent-Length: 80000\r\n\r\n";
	struct fake_step step = {.answer = text, .linger_ms = LONG_MS};
	uint64_t before;

	(void)state;
	step.length = make_answer(head, 80000 + 1000);
	start(&step);
	before = zfd_now_ms();
	(void)ask(LONG_MS);
	assert_int_equal(join(), 80000);
	assert_true(zfd_now_ms() - before < 2000);
	stop();
}

/* Takes all descriptors but spare; returns how many. */
static size_t exhaust(int held[DESCRIPTORS], size_t spare)
{
	size_t count = 0;

	while (count < DESCRIPTORS && (held[count] = dup(0)) >= 0)
		count++;
	assert_true(count >= spare && count < DESCRIPTORS);
	while (spare-- > 0)
		close(held[--count]);
	return count;
}

static void test_pipe_that_cannot_be_made_is_a_limit(void **state)
{
	static const struct fake_step step = {.answer = endless, .linger_ms = 1000};
	int held[DESCRIPTORS];
	size_t count;

	(void)state;
	start(&step);
	count = exhaust(held, 1); /* room for the engine's socket only */
	(void)ask(LONG_MS);
	while (count > 0)
		close(held[--count]);
	assert_refused(PROTO_LIMIT, "helper_limit");
	stop();
}

static void test_socket_that_cannot_be_made_is_a_limit(void **state)
{
	static const struct fake_step step = {.answer = endless};
	int held[DESCRIPTORS];
	size_t count;

	(void)state;
	start(&step);
	count = exhaust(held, 0);
	(void)ask(LONG_MS);
	while (count > 0)
		close(held[--count]);
	assert_refused(PROTO_LIMIT, "helper_limit");
	stop();
}

static enum proto_status send_line(struct engine_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static enum proto_status send_line(struct engine_call *call, const char *format, ...)
{
	static struct engine_reply reply;
	enum proto_status status;
	va_list arguments;

	call->socket_path = "/nowhere/docker.sock";
	va_start(arguments, format);
	status = engine_ask(call, &reply, format, arguments);
	va_end(arguments);
	return status;
}

static void test_request_line_that_does_not_fit_is_never_sent_in_part(void **state)
{
	static const char fields[] = " HTTP/1.1\r\nHost: docker\r\nUser-Agent: keelson\r\n"
				     "Connection: close\r\nContent-Length: 0\r\n\r\n";
	static struct engine_call call;

	(void)state;
	memset(text, 'x', ENGINE_LINE_MAX);
	text[ENGINE_LINE_MAX] = '\0';
	assert_int_equal(send_line(&call, "%s", text), PROTO_LIMIT);
	text[ENGINE_LINE_MAX - 1] = '\0';
	assert_int_equal(send_line(&call, "%s", text), PROTO_NO_ENGINE);
	assert_int_equal(strlen(call.head), ENGINE_LINE_MAX - 1 + strlen(fields));
	assert_string_equal(call.head + ENGINE_LINE_MAX - 1, fields);
	/* The longest fields: a body of any size. */
	call.body.length = SIZE_MAX;
	assert_int_equal(send_line(&call, "%s", text), PROTO_NO_ENGINE);
	assert_string_equal(call.head + strlen(call.head) - 4, "\r\n\r\n");
}

static void test_longest_reference_fits_the_request_line(void **state)
{
	static struct engine_call call;
	char escaped[ENGINE_ESCAPED_MAX];

	(void)state;
	memset(text, '/', IMAGEREF_MAX);
	(void)engine_escape((struct zstr){text, IMAGEREF_MAX}, ENGINE_PLAIN, escaped);
	assert_int_equal(strlen(escaped), 3 * IMAGEREF_MAX);
	assert_int_equal(
		send_line(&call, "POST /v1.%u/images/create?fromImage=%s&tag=latest", 51U, escaped),
		PROTO_NO_ENGINE);
	assert_string_equal(
		engine_escape(zstr_from("a-._~Z9/:@%\x80"), ENGINE_PLAIN "/:@", escaped),
		"a-._~Z9/:@%25%80");
	assert_string_equal(engine_escape(zstr_from(""), ENGINE_PLAIN, escaped), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies_up_to_the_frame_are_inline_and_longer_ones_piped),
		cmocka_unit_test(test_chunked_and_endless_bodies_go_on_raw),
		cmocka_unit_test(test_stream_is_handed_over_before_it_ends),
		cmocka_unit_test(test_body_that_is_cut_off_is_handed_on_short),
		cmocka_unit_test(test_bytes_after_the_body_break_the_answer),
		cmocka_unit_test(test_head_in_single_bytes_is_read),
		cmocka_unit_test(test_engine_that_is_not_there_is_told_apart),
		cmocka_unit_test(test_connect_never_blocks_for_ever),
		cmocka_unit_test(test_silence_ends_at_the_deadline),
		cmocka_unit_test(test_write_never_blocks_for_ever),
		cmocka_unit_test(test_early_refusal_is_the_answer),
		cmocka_unit_test(test_create_that_does_not_fit_is_never_sent),
		cmocka_unit_test(test_answer_that_ends_in_its_head_is_broken),
		cmocka_unit_test(test_grace_is_added_to_the_deadline),
		cmocka_unit_test(test_relay_ends_without_progress),
		cmocka_unit_test(test_relay_goes_on_while_there_is_progress),
		cmocka_unit_test(test_relay_ends_when_the_reader_is_gone),
		cmocka_unit_test(test_relay_ends_when_nobody_reads),
		cmocka_unit_test(test_relay_ends_at_the_announced_length),
		cmocka_unit_test(test_pipe_that_cannot_be_made_is_a_limit),
		cmocka_unit_test(test_socket_that_cannot_be_made_is_a_limit),
		cmocka_unit_test(test_request_line_that_does_not_fit_is_never_sent_in_part),
		cmocka_unit_test(test_longest_reference_fits_the_request_line),
	};

	const struct rlimit limit = {DESCRIPTORS, DESCRIPTORS};

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

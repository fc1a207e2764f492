/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/zlog.c and common/zlog_broker.c: each captures stderr through a packet
 * socket, so that one write is one packet. */
#include "common/zlog.h"
#include "common/zbuf.h"
#include <errno.h>
#include <json.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

struct capture {
	int saved, read_end;
	char line[8192];
	size_t length;
};

static void start_capture(struct capture *capture)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	capture->saved = dup(STDERR_FILENO);
	assert_int_equal(dup2(pair[1], STDERR_FILENO), STDERR_FILENO);
	(void)close(pair[1]);
	capture->read_end = pair[0];
}

/* The next line as one packet; false when there is none. */
static bool next_line(struct capture *capture)
{
	ssize_t got =
		recv(capture->read_end, capture->line, sizeof(capture->line) - 1, MSG_DONTWAIT);

	capture->length = got > 0 ? (size_t)got : 0;
	capture->line[capture->length] = '\0';
	return got > 0;
}

static void end_capture(struct capture *capture)
{
	assert_int_equal(dup2(capture->saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(capture->saved);
	(void)close(capture->read_end);
}

static void test_log_line_has_its_parts_in_one_write(void **state)
{
	struct capture capture;
	char expected[128];

	(void)state;
	(void)snprintf(expected, sizeof(expected),
		       "Z warning %s[%d] worker: container zun-1: 3 left\n",
		       program_invocation_short_name, getpid());
	for (int plain = 0; plain <= 1; plain++) {
		start_capture(&capture);
		if (plain)
			zlog_start("worker", ZLOG_INFO);
		else
			zlog_setup("worker", ZLOG_INFO, false);
		zlog_warning("container %s: %d left", "zun-1", 3);
		zlog_debug("held back");
		assert_true(next_line(&capture));
		assert_string_equal(capture.line + 26, expected);
		assert_int_equal(capture.line[4], '-');
		assert_int_equal(capture.line[10], 'T');
		assert_int_equal(capture.line[19], '.');
		assert_false(next_line(&capture));
		end_capture(&capture);
	}
}

static void test_log_levels_are_named_and_held_back(void **state)
{
	struct capture capture;
	const char *const names[] = {" error ", " warning ", " info ", " debug "};

	(void)state;
	start_capture(&capture);
	for (int highest = ZLOG_ERROR; highest <= ZLOG_DEBUG; highest++) {
		zlog_setup("main", (enum zlog_level)highest, false);
		zlog_error("x");
		zlog_warning("x");
		zlog_info("x");
		zlog_debug("x");
		for (int level = 0; level <= highest; level++) {
			assert_true(next_line(&capture));
			assert_non_null(strstr(capture.line, names[level]));
		}
		assert_false(next_line(&capture));
	}
	end_capture(&capture);
}

static void test_log_text_cannot_forge_a_line(void **state)
{
	struct capture capture;

	(void)state;
	start_capture(&capture);
	zlog_setup("worker", ZLOG_INFO, false);
	zlog_info("name=%s",
		  "a\n2026-12-01T00:00:00.000000Z error \"x\" \x1b[2J\xff\xc2\x9b\xe2\x80\xae\\");
	assert_true(next_line(&capture));
	end_capture(&capture);

	assert_non_null(strstr(capture.line, "name=a\\n2026-12-01T00:00:00.000000Z error \\\"x\\\" "
					     "\\u001b[2J\xef\xbf\xbd\\u009b\\u202e\\\\\n"));
	assert_ptr_equal(strchr(capture.line, '\n'), capture.line + capture.length - 1);
}

static void test_log_shows_the_request_until_it_is_cleared(void **state)
{
	struct capture capture;
	char id[100];

	(void)state;
	start_capture(&capture);
	zlog_setup("worker", ZLOG_INFO, false);
	zlog_request("req-1");
	zlog_info("text");
	assert_true(next_line(&capture));
	assert_non_null(strstr(capture.line, " worker: request_id=req-1 text\n"));
	zlog_request("a b\n\"");
	zlog_info("text");
	assert_true(next_line(&capture));
	assert_non_null(strstr(capture.line, " worker: request_id=a b\\n\\\" text\n"));
	memset(id, '\x01', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	zlog_request(id);
	zlog_info("text");
	assert_true(next_line(&capture));
	assert_int_equal(strspn(strstr(capture.line, "\\u0001"), "\\u01"), 6 * 64);
	zlog_request("");
	zlog_info("text");
	assert_true(next_line(&capture));
	assert_non_null(strstr(capture.line, " worker: text\n"));
	zlog_request("x");
	zlog_request(NULL);
	zlog_info("text");
	assert_true(next_line(&capture));
	assert_non_null(strstr(capture.line, " worker: text\n"));
	end_capture(&capture);
}

static const char *json_text(json_object *object, const char *key)
{
	json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return json_object_get_string(value);
}

static void test_log_as_json_is_json(void **state)
{
	struct capture capture;
	json_object *object;

	(void)state;
	start_capture(&capture);
	zlog_setup("worker", ZLOG_INFO, true);
	zlog_request("req-\"2");
	zlog_error("a \"quoted\" \\ line\n%s", "\xff\x01\xe2\x82\xac");
	assert_true(next_line(&capture));
	object = json_tokener_parse(capture.line);
	assert_non_null(object);
	assert_string_equal(json_text(object, "level"), "error");
	assert_string_equal(json_text(object, "process"), "worker");
	assert_string_equal(json_text(object, "request_id"), "req-\"2");
	assert_string_equal(json_text(object, "text"),
			    "a \"quoted\" \\ line\n\xef\xbf\xbd\x01\xe2\x82\xac");
	assert_int_equal(strlen(json_text(object, "ts")), 27);
	json_object_put(object);
	zlog_request(NULL);
	zlog_error("x");
	assert_true(next_line(&capture));
	object = json_tokener_parse(capture.line);
	assert_non_null(object);
	assert_false(json_object_object_get_ex(object, "request_id", NULL));
	json_object_put(object);
	end_capture(&capture);
}

/* A text of each length around the cap, of one-, three- and six-byte characters. */
static void test_log_cuts_a_long_text_at_a_character_and_says_so(void **state)
{
	static const char *const units[] = {"a", "\xe2\x82\xac", "\x01"};
	static const size_t written[] = {1, 3, 6}; /* bytes that each takes in the line */
	struct capture capture;
	static char text[6000];

	(void)state;
	start_capture(&capture);
	for (int json = 0; json <= 1; json++) {
		zlog_setup("worker", ZLOG_INFO, json);
		for (size_t unit = 0; unit < 3; unit++) {
			for (size_t count = 300; count < 2100; count += 1 + count % 7) {
				const char *tail = json ? "...\"}\n" : "...\n";
				size_t used = 0;

				for (size_t i = 0; i < count; i++)
					for (const char *byte = units[unit];
					     *byte && used < sizeof(text) - 1; byte++)
						text[used++] = *byte;
				text[used] = '\0';
				zlog_info("%s", text);
				assert_true(next_line(&capture));
				assert_true(capture.length <= 2048);
				assert_int_equal(capture.line[capture.length - 1], '\n');
				if (count * written[unit] > 2048)
					assert_string_equal(
						capture.line + capture.length - strlen(tail), tail);
				if (json) {
					json_object *object = json_tokener_parse(capture.line);

					assert_non_null(object);
					json_object_put(object);
				}
			}
		}
	}
	end_capture(&capture);
}

static void test_log_keeps_errno_and_survives_a_closed_stderr(void **state)
{
	int saved = dup(STDERR_FILENO);

	(void)state;
	zlog_setup("worker", ZLOG_INFO, false);
	(void)close(STDERR_FILENO);
	errno = ENOTTY;
	zlog_error("x");
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	(void)close(saved);
}

static void test_utc_agrees_with_the_c_library(void **state)
{
	static const uint64_t edges[] = {0,	     86399,	 86400,	      951782399,
					 951782400,  951868800,	 1709164800,  1709251200,
					 4107542399, 4107542400, 253402300799};
	char ours[ZLOG_UTC_SIZE], theirs[64];

	(void)state;
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]) + 60000; i++) {
		size_t count = sizeof(edges) / sizeof(edges[0]);
		/* Beyond the edges a step of 48 days and some: 7,900 years in 60,000 steps. */
		uint64_t seconds = i < count ? edges[i] : (i - count) * 4153697;
		time_t moment = (time_t)seconds;
		struct tm parts;

		assert_non_null(gmtime_r(&moment, &parts));
		assert_int_equal(strftime(theirs, sizeof(theirs), "%Y-%m-%dT%H:%M:%S", &parts), 19);
		zlog_utc(seconds, ours);
		assert_string_equal(ours, theirs);
	}
}

/* Under a filter that lets nothing through but a write, the clock and the end. */
static int log_under_seccomp(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);

	if (!filter || seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 0) < 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clock_gettime), 0) < 0 ||
	    seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 0) < 0 ||
	    seccomp_load(filter) < 0)
		return 1;
	zlog_error("%s %d %lu %5.2f %zu %x", "text", -1, 2UL, 3.5, (size_t)4, 255U);
	/* Past the exit hooks of a sanitizer, which would need more system calls. */
	(void)syscall(SYS_exit_group, 0);
	return 2;
}

static void test_log_works_under_seccomp(void **state)
{
	struct capture capture;
	int status;
	pid_t child;

	(void)state;
	start_capture(&capture);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		zlog_start("server", ZLOG_INFO);
		_exit(log_under_seccomp());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(next_line(&capture));
	end_capture(&capture);
	assert_int_equal(status, 0);
	assert_non_null(strstr(capture.line, "server: text -1 2  3.50 4 ff\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_line_has_its_parts_in_one_write),
		cmocka_unit_test(test_log_levels_are_named_and_held_back),
		cmocka_unit_test(test_log_text_cannot_forge_a_line),
		cmocka_unit_test(test_log_shows_the_request_until_it_is_cleared),
		cmocka_unit_test(test_log_as_json_is_json),
		cmocka_unit_test(test_log_cuts_a_long_text_at_a_character_and_says_so),
		cmocka_unit_test(test_log_keeps_errno_and_survives_a_closed_stderr),
		cmocka_unit_test(test_utc_agrees_with_the_c_library),
		cmocka_unit_test(test_log_works_under_seccomp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

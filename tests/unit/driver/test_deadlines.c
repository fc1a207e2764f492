/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver gives up, and when.  The clock of the driver is moved by its
 * own waits (link-time wraps), so that a minute takes no time.
 */
#include "common/zfd.h"
#include "tests/unit/driver/driver_case.h"
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define REAL_PATIENCE_MS 500 /* for a helper that will answer */

static uint64_t began_ms, passed_ms, tick_ms;

uint64_t __real_zfd_now_ms(void);
uint64_t __wrap_zfd_now_ms(void);
int __real_zfd_wait(int fd, short events, uint64_t deadline_ms);
int __wrap_zfd_wait(int fd, short events, uint64_t deadline_ms);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

uint64_t __wrap_zfd_now_ms(void)
{
	return began_ms + passed_ms;
}

/* A pause passes at once. */
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
	if (count > 0)
		return __real_poll(fds, count, timeout);
	passed_ms += (uint64_t)timeout;
	return 0;
}

/* What is not there soon will not be there in time either; what is there took tick_ms. */
int __wrap_zfd_wait(int fd, short events, uint64_t deadline_ms)
{
	int result = __real_zfd_wait(fd, events, __real_zfd_now_ms() + REAL_PATIENCE_MS);

	if (result == -ETIMEDOUT)
		passed_ms = deadline_ms - began_ms;
	else
		passed_ms += tick_ms;
	return result;
}

static void open_case(struct driver_case *test, const struct fake_step *steps)
{
	began_ms = __real_zfd_now_ms();
	passed_ms = tick_ms = 0;
	case_open(test, steps);
}

#define REMOVING "{\"Id\":\"" CASE_ID "\",\"State\":{\"Status\":\"removing\"}}"

static void test_a_removal_in_progress_is_waited_for_a_minute(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION,
		STEP_BODY(container_delete, 409, "{\"message\":\"in progress\"}"),
		{.number = PRIV_docker_container_inspect,
		 .http_status = 200,
		 .body = REMOVING,
		 .repeat = 63},
		STEP_END,
	};
	struct driver_case test;

	(void)state;
	open_case(&test, steps);
	assert_int_equal(driver_docker.remove(test.driver, &test.row, false, &test.failure),
			 -EBUSY);
	case_failed(&test, "Conflict", "not finished removing the container in 60 s");
	assert_in_range(passed_ms, 60000, 61000);
	case_close(&test);
}

static int pull(struct driver_case *test)
{
	return driver_docker.image_ready(test->driver, &test->row, &test->failure);
}

static void test_a_pull_without_a_word_is_given_up_after_a_minute(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION,
		{.number = PRIV_docker_image_pull,
		 .http_status = 200,
		 .body = "{\"status\":\"a\"}\r\n",
		 .chunked = true,
		 .cut = 5,
		 .stall = true},
		STEP_END,
	};
	struct driver_case test;

	(void)state;
	open_case(&test, steps);
	assert_int_equal(pull(&test), -EIO);
	case_failed(&test, "ZunException", "Error on pulling image");
	assert_in_range(passed_ms, 60000, 61000);
	case_close(&test);
}

static void test_bytes_that_make_no_line_are_no_progress(void **state)
{
	_cleanup_free_ char *body = calloc(1, 60001);
	const struct fake_step steps[] = {
		STEP_VERSION,
		{.number = PRIV_docker_image_pull,
		 .http_status = 200,
		 .body = body,
		 .inline_bytes = 100,
		 .stall = true},
		STEP_END,
	};
	struct driver_case test;

	(void)state;
	memset(body, ' ', 60000);
	open_case(&test, steps);
	tick_ms = 20000;
	assert_int_equal(pull(&test), -EIO);
	case_failed(&test, "ZunException", "Error on pulling image");
	case_close(&test);
}

static void test_a_pull_that_goes_on_for_ever_ends_after_an_hour(void **state)
{
	enum { LINES = 5000 };
	static const char line[] = "{\"status\":\"x\"}\r\n";
	_cleanup_free_ char *body = calloc(LINES, sizeof(line));
	const struct fake_step steps[] = {
		STEP_VERSION,
		{.number = PRIV_docker_image_pull,
		 .http_status = 200,
		 .body = body,
		 .inline_bytes = 100,
		 .cut = 1,
		 .stall = true},
		STEP_END,
	};
	struct driver_case test;

	(void)state;
	for (size_t i = 0; i < LINES; i++)
		memcpy(body + i * (sizeof(line) - 1), line, sizeof(line));
	open_case(&test, steps);
	/* Each read brings lines, and takes 20 minutes. */
	tick_ms = 1200000;
	assert_int_equal(pull(&test), -EIO);
	case_failed(&test, "ZunException", "Error on pulling image");
	/* The version and the answer's head took 20 minutes each, too. */
	assert_int_equal(passed_ms / 1000, 2 * 1200 + 3600);
	case_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_removal_in_progress_is_waited_for_a_minute),
		cmocka_unit_test(test_a_pull_without_a_word_is_given_up_after_a_minute),
		cmocka_unit_test(test_bytes_that_make_no_line_are_no_progress),
		cmocka_unit_test(test_a_pull_that_goes_on_for_ever_ends_after_an_hour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

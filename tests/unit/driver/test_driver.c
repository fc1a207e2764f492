/* SPDX-License-Identifier: Apache-2.0 */
/* The docker driver's plain operations against a scripted helper. */
#include "common/zfd.h"
#include "tests/unit/driver/driver_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_the_version_is_asked_once_and_kept(void **state)
{
	static const struct fake_step steps[] = {STEP_VERSION, STEP(container_start, 204),
						 STEP(container_start, 304), STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.start(test.driver, &test.row, &test.failure), 0);
	assert_int_equal(driver_docker.start(test.driver, &test.row, &test.failure), 0);

	assert_int_equal(test.helper.log->asked[1].api_minor, 26);
	assert_int_equal(test.helper.log->asked[1].wait_ms, 60000);
	assert_string_equal(test.helper.log->asked[1].request_id, "req-1");
	assert_int_equal(test.helper.log->asked[1].uuid[0], 0x7f);
	case_close(&test);
}

static const struct {
	const char *version;
	int64_t configured;
	int minor; /* -1: none in common */
} versions[] = {
	{"{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\"}", 26, 26},
	{"{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\"}", 45, 41},
	{"{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\"}", 12, 24},
	{"{\"ApiVersion\":\"1.52\",\"MinAPIVersion\":\"1.44\"}", 26, 44},
	{"{\"ApiVersion\":\"1.60\",\"MinAPIVersion\":\"1.44\"}", 99, 51},
	{"{\"ApiVersion\":\"1.24\"}", 26, 24},
	{"{\"ApiVersion\":\"1.60\",\"MinAPIVersion\":\"1.52\"}", 26, -1},
	{"{\"ApiVersion\":\"1.23\",\"MinAPIVersion\":\"1.12\"}", 26, -1},
	{"{\"ApiVersion\":\"2.0\"}", 26, -1},
	{"{\"ApiVersion\":\"1.41x\"}", 26, -1},
	{"{\"ApiVersion\":41}", 26, -1},
	{"{}", 26, -1},
	{"[]", 26, -1},
	{"", 26, -1},
};

static void test_the_version_spoken_is_one_that_both_sides_know(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct fake_step steps[] = {
			STEP_BODY(engine_version, 200, versions[i].version),
			{.number = versions[i].minor < 0 ? 0 : PRIV_docker_container_start,
			 .http_status = 204},
			STEP_END};
		struct driver_case test;
		int result;

		case_open(&test, steps);
		test.config.docker_api_minor = versions[i].configured;
		result = driver_docker.start(test.driver, &test.row, &test.failure);
		if (versions[i].minor < 0)
			assert_int_equal(result, -EIO);
		else
			assert_int_equal(test.helper.log->asked[1].api_minor, versions[i].minor);
		case_close(&test);
	}
}

static void test_a_refused_version_is_negotiated_again_and_the_call_repeated_once(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION,
		STEP_BODY(container_start, 400, "{\"message\":\"client version 1.26 is too old\"}"),
		STEP_BODY(engine_version, 200,
			  "{\"ApiVersion\":\"1.52\",\"MinAPIVersion\":\"1.44\"}"),
		STEP(container_start, 204),
		STEP_END,
	};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.start(test.driver, &test.row, &test.failure), 0);
	assert_int_equal(test.helper.log->asked[1].api_minor, 26);
	assert_int_equal(test.helper.log->asked[3].api_minor, 44);
	case_close(&test);
}

static void test_a_400_of_another_meaning_is_not_repeated(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION, STEP_BODY(container_start, 400, "{\"message\":\"exec: not found\"}"),
		STEP_VERSION, STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.start(test.driver, &test.row, &test.failure), -EINVAL);
	case_failed(&test, "DockerError", "Docker internal error: exec: not found.");
	case_close(&test);
}

static void test_an_engine_that_came_back_is_asked_for_its_version_again(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION, STEP_REFUSED(container_start, PROTO_NO_ENGINE, "refused"),
		STEP_VERSION, STEP(container_start, 204), STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.start(test.driver, &test.row, &test.failure), -EAGAIN);
	case_failed(&test, "DockerError", "cannot be reached");
	assert_int_equal(driver_docker.start(test.driver, &test.row, &test.failure), 0);
	case_close(&test);
}

static int do_start(struct driver_case *test)
{
	return driver_docker.start(test->driver, &test->row, &test->failure);
}

static const struct {
	struct fake_step step;
	int result;
	const char *class, *text;
} answers[] = {
	{STEP(container_start, 204), 0, NULL, NULL},
	{STEP(container_start, 304), 0, NULL, NULL},
	{STEP_BODY(container_start, 404, "{\"message\":\"No such container: x\"}"), -ENOENT,
	 "Conflict", "No such container: x"},
	{STEP_BODY(container_start, 409, "{\"message\":\"404 not found\"}"), -EBUSY, "Conflict",
	 "404 not found"},
	{STEP_BODY(container_start, 500, "{\"message\":\"is paused, 404, not running\"}"), -EIO,
	 "DockerError", "Docker internal error: is paused, 404, not running."},
	{STEP_BODY(container_start, 500, "oops\n"), -EIO, "DockerError",
	 "Docker internal error: oops."},
	{STEP(container_start, 500), -EIO, "DockerError",
	 "Docker internal error: HTTP status 500."},
	{STEP_BODY(container_start, 503, "{}"), -EAGAIN, "DockerError", "HTTP status 503"},
	{STEP_BODY(container_start, 403, "{\"message\":\"plugin\"}"), -EIO, "DockerError",
	 "plugin"},
	{STEP_REFUSED(container_start, PROTO_DENIED, "memory_max"), -EACCES, "NotAuthorized",
	 "site policy of this host: memory_max"},
	{STEP_REFUSED(container_start, PROTO_NOT_OURS, "x"), -EEXIST, "Conflict", "not made by"},
	{STEP_REFUSED(container_start, PROTO_NO_ENGINE, "x"), -EAGAIN, "DockerError", "reached"},
	{STEP_REFUSED(container_start, PROTO_ENGINE_TIMEOUT, "x"), -EAGAIN, "DockerError",
	 "answer"},
	{STEP_REFUSED(container_start, PROTO_ENGINE_BROKEN, "x"), -EAGAIN, "DockerError",
	 "cut off"},
	{STEP_REFUSED(container_start, PROTO_NO_AUDIT, "x"), -EIO, "ZunException", "audit"},
	{STEP_REFUSED(container_start, PROTO_LIMIT, "arena"), -EIO, "ZunException", "arena"},
};

static void test_every_answer_has_its_errno_and_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct fake_step steps[] = {STEP_VERSION, answers[i].step, STEP_END};
		struct driver_case test;
		int result;

		case_open(&test, steps);
		result = do_start(&test);
		if (result != answers[i].result)
			fail_msg("case %zu: %d %s", i, result, test.failure.message);
		if (result < 0)
			case_failed(&test, answers[i].class, answers[i].text);
		case_close(&test);
	}
}

static void test_the_text_of_an_error_survives_a_cut_body(void **state)
{
	static const struct fake_step steps[] = {STEP_VERSION,
						 {.number = PRIV_docker_container_start,
						  .http_status = 409,
						  .body = "{\"message\":\"x\"}",
						  .cut = 3},
						 STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(do_start(&test), -EBUSY);
	case_failed(&test, "Conflict", "HTTP status 409");
	case_close(&test);
}

static void test_a_helper_that_is_gone_makes_the_driver_useless(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION, {.number = PRIV_docker_container_start, .hang_up = true}, STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_true(driver_docker.usable(test.driver));
	assert_int_equal(do_start(&test), -EAGAIN);
	case_failed(&test, "DockerError", "helper is gone");
	assert_false(driver_docker.usable(test.driver));
	assert_int_equal(do_start(&test), -EAGAIN);
	case_close(&test);
}

static void test_graces_and_signals_reach_the_helper(void **state)
{
	static const struct fake_step steps[] = {STEP_VERSION,
						 STEP(container_stop, 204),
						 STEP(container_stop, 204),
						 STEP(container_stop, 304),
						 STEP(container_restart, 204),
						 STEP(container_restart, 204),
						 STEP(container_kill, 204),
						 STEP(container_pause, 204),
						 STEP(container_unpause, 204),
						 STEP_END};
	struct driver_case test;
	const struct fake_asked *asked;

	(void)state;
	case_open(&test, steps);
	asked = test.helper.log->asked + 1;
	assert_int_equal(driver_docker.stop(test.driver, &test.row, -1, &test.failure), 0);
	assert_true(asked[0].has_grace == 0 && asked[0].wait_ms == 70000);
	assert_int_equal(driver_docker.stop(test.driver, &test.row, 0, &test.failure), 0);
	assert_true(asked[1].has_grace == 1 && asked[1].grace_s == 0 && asked[1].wait_ms == 60000);
	assert_int_equal(driver_docker.stop(test.driver, &test.row, INT64_MAX, &test.failure), 0);
	assert_true(asked[2].grace_s == 86400 && asked[2].wait_ms == 3600000);
	assert_int_equal(driver_docker.reboot(test.driver, &test.row, -1, &test.failure), 0);
	assert_true(asked[3].grace_s == 10 && asked[3].wait_ms == 70000);
	assert_int_equal(driver_docker.reboot(test.driver, &test.row, 30, &test.failure), 0);
	assert_true(asked[4].grace_s == 30 && asked[4].wait_ms == 90000);
	assert_int_equal(driver_docker.kill(test.driver, &test.row, 15, &test.failure), 0);
	assert_int_equal(asked[5].signal, 15);
	assert_int_equal(driver_docker.kill(test.driver, &test.row, 65, &test.failure), -EINVAL);
	assert_int_equal(driver_docker.pause(test.driver, &test.row, &test.failure), 0);
	assert_int_equal(driver_docker.unpause(test.driver, &test.row, &test.failure), 0);
	case_close(&test);
}

static void test_an_uncreated_container_cannot_be_operated(void **state)
{
	static const struct fake_step steps[] = {STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	case_set(&test, CONTAINER_container_id, NULL);
	assert_int_equal(do_start(&test), -EINVAL);
	case_failed(&test, "Invalid", "Cannot operate an uncreated container.");
	assert_int_equal(driver_docker.show(test.driver, &test.row, false, &test.failure), 0);
	case_close(&test);
}

static void test_unpausing_what_is_not_paused_is_a_conflict(void **state)
{
	size_t length;
	_cleanup_free_ char *inspect = fake_data("inspect_running.json", &length);
	_cleanup_free_ char *refusal = fake_data("unpause_500.json", &length);
	const struct fake_step steps[] = {STEP_VERSION, STEP_BODY(container_unpause, 500, refusal),
					  STEP_BODY(container_inspect, 200, inspect), STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.unpause(test.driver, &test.row, &test.failure), -EBUSY);
	case_failed(&test, "Conflict", "not paused");
	case_close(&test);
}

static void test_show_fills_the_row_through_pipe_and_chunks(void **state)
{
	size_t length;
	_cleanup_free_ char *inspect = fake_data("inspect_exited.json", &length);
	const struct fake_step steps[] = {STEP_VERSION,
					  {.number = PRIV_docker_container_inspect,
					   .http_status = 200,
					   .body = inspect,
					   .chunked = true,
					   .inline_bytes = 1000},
					  STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.show(test.driver, &test.row, false, &test.failure), 0);
	assert_string_equal(test.row.status, "Stopped");
	assert_int_equal(strncmp(test.row.status_detail, "Exited(137) ", 12), 0);
	assert_string_equal(test.row.hostname, "web");
	assert_string_equal(test.row.runtime, "runc");
	case_close(&test);
}

static void test_show_leaves_the_state_alone_while_a_task_runs(void **state)
{
	size_t length;
	_cleanup_free_ char *inspect = fake_data("inspect_exited.json", &length);
	const struct fake_step steps[] = {STEP_VERSION, STEP_BODY(container_inspect, 200, inspect),
					  STEP_BODY(container_inspect, 200, inspect), STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	case_set(&test, CONTAINER_task_state, "container_stopping");
	assert_int_equal(driver_docker.show(test.driver, &test.row, false, &test.failure), 0);
	assert_string_equal(test.row.status, "Running");
	assert_string_equal(test.row.runtime, "runc");
	assert_int_equal(driver_docker.show(test.driver, &test.row, true, &test.failure), 0);
	assert_string_equal(test.row.status, "Stopped");
	case_close(&test);
}

static void test_an_engine_in_trouble_says_nothing_of_the_container(void **state)
{
	size_t length;
	_cleanup_free_ char *inspect = fake_data("inspect_exited.json", &length);
	const struct fake_step steps[] = {
		STEP_VERSION,
		STEP_BODY(container_inspect, 500, "{\"message\":\"No such container\"}"),
		STEP_BODY(container_inspect, 404, "{\"message\":\"No such container: x\"}"),
		STEP_BODY(container_inspect, 200, "{\"Id\":1}"),
		{.number = PRIV_docker_container_inspect,
		 .http_status = 200,
		 .body = inspect,
		 .chunked = true,
		 .inline_bytes = 1000,
		 .cut = 1},
		STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	test.row.changed = 0;
	assert_int_equal(driver_docker.show(test.driver, &test.row, true, &test.failure), -EAGAIN);
	assert_int_equal(driver_docker.show(test.driver, &test.row, true, &test.failure), -ENOENT);
	assert_int_equal(driver_docker.show(test.driver, &test.row, true, &test.failure), -EIO);
	case_failed(&test, "DockerError", "not understood");
	assert_int_equal(driver_docker.show(test.driver, &test.row, true, &test.failure), -EAGAIN);
	assert_true(test.row.changed == 0);
	case_close(&test);
}

static void test_the_inventory_is_filled(void **state)
{
	size_t length;
	_cleanup_free_ char *info = fake_data("info.json", &length);
	const struct fake_step steps[] = {STEP_VERSION, STEP_BODY(engine_info, 200, info),
					  STEP_END};
	struct compute_node node = {0};
	struct driver_case test;
	struct zerr err;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.inventory(test.driver, &node, &err), 0);
	assert_string_equal(node.hostname, "vm");
	assert_int_equal(node.cpus, 2);
	assert_true(node.mem_total > 0 && node.mem_used <= node.mem_total);
	assert_false(node.disk_quota_supported);
	assert_string_equal(node.labels, "{\"rack\":\"a1\",\"zone\":\"x\"}");
	free(node.labels);
	free(node.runtimes);
	free(node.numa_topology);
	case_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_version_is_asked_once_and_kept),
		cmocka_unit_test(test_the_version_spoken_is_one_that_both_sides_know),
		cmocka_unit_test(
			test_a_refused_version_is_negotiated_again_and_the_call_repeated_once),
		cmocka_unit_test(test_a_400_of_another_meaning_is_not_repeated),
		cmocka_unit_test(test_an_engine_that_came_back_is_asked_for_its_version_again),
		cmocka_unit_test(test_every_answer_has_its_errno_and_class),
		cmocka_unit_test(test_the_text_of_an_error_survives_a_cut_body),
		cmocka_unit_test(test_a_helper_that_is_gone_makes_the_driver_useless),
		cmocka_unit_test(test_graces_and_signals_reach_the_helper),
		cmocka_unit_test(test_an_uncreated_container_cannot_be_operated),
		cmocka_unit_test(test_unpausing_what_is_not_paused_is_a_conflict),
		cmocka_unit_test(test_show_fills_the_row_through_pipe_and_chunks),
		cmocka_unit_test(test_show_leaves_the_state_alone_while_a_task_runs),
		cmocka_unit_test(test_an_engine_in_trouble_says_nothing_of_the_container),
		cmocka_unit_test(test_the_inventory_is_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

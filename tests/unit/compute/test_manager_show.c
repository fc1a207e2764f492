/* SPDX-License-Identifier: Apache-2.0 */
/* container_show. */
#include "manager_case.h"
#include "unpriv/base/json.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HERE "container_id=" ID " host=" HOST " status="

static const char *answered(struct manager_case *test, const char *field)
{
	struct json_object *data = NULL, *value = NULL;

	assert_non_null(test->job.result);
	assert_true(json_object_object_get_ex(test->job.result, "zun_object.data", &data));
	assert_true(json_object_object_get_ex(data, field, &value));
	return value ? json_object_get_string(value) : "";
}

static void test_show_saves_and_answers_what_the_engine_says(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_STOPPED);
	case_run(&test, RPC_CONTAINER_SHOW, "");
	assert_int_equal(test.result, 0);
	case_expect(&test, "show\nupdate status=Stopped\n");
	assert_string_equal(answered(&test, "status"), "Stopped");
	assert_string_equal(answered(&test, "name"),
			    "web"); /* every field of the request is kept */
	case_close(&test);
}

static void test_show_of_the_same_state_writes_nothing(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	case_run(&test, RPC_CONTAINER_SHOW, "");
	case_expect(&test, "show\n");
	assert_string_equal(answered(&test, "status"), "Running");
	case_close(&test);
}

static void test_show_does_not_ask_for_what_is_not_here(void **state)
{
	static const char *const columns[] = {"status=Creating", "status=Error host=" HOST,
					      "status=Running host=other container_id=" ID,
					      HERE "Running container_type=1"};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct manager_case test;

		case_open(&test, columns[i], ENGINE_STOPPED);
		case_run(&test, RPC_CONTAINER_SHOW, "");
		assert_int_equal(test.result, 0);
		case_expect(&test, "");
		assert_non_null(test.job.result);
		case_close(&test);
	}
}

static void test_a_lost_container_is_a_state_and_no_error(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_SHOW, "");
	assert_int_equal(test.result, 0);
	assert_null(test.job.failure.class);
	case_expect(&test,
		    "show of nothing\nupdate status=Error status_reason=No such container\n");
	assert_string_equal(answered(&test, "status"), "Error");
	case_close(&test);
	case_open(&test, HERE "Running auto_remove=true", ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_SHOW, "");
	case_expect(&test, "show of nothing\nupdate status=Deleted\n");
	case_close(&test);
}

static void test_nothing_is_written_while_something_is_under_way(void **state)
{
	static const char *const columns[] = {HERE "Running task_state=container_deleting",
					      HERE "Creating", HERE "Deleting", HERE "Deleted",
					      HERE "Rebuilding"};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct manager_case test;

		case_open(&test, columns[i], ENGINE_NONE);
		case_run(&test, RPC_CONTAINER_SHOW, "");
		assert_int_equal(test.result, 0);
		case_expect(&test, "show of nothing\n");
		case_close(&test);
	}
}

static void test_an_engine_that_does_not_answer_is_an_error_to_the_caller_only(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.refusals[0] = (struct refusal){"show", -EAGAIN, 0};
	case_run(&test, RPC_CONTAINER_SHOW, "");
	assert_int_equal(test.result, -EAGAIN);
	assert_non_null(test.job.failure.class);
	case_expect(&test, "show refused\n");
	case_close(&test);
}

static void test_a_missing_row_is_container_not_found(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.row_exists = false;
	case_run(&test, RPC_CONTAINER_SHOW, "");
	assert_string_equal(test.job.failure.class, "ContainerNotFound");
	assert_string_equal(test.job.failure.message, "Container " UUID " could not be found.");
	case_close(&test);
}

static void test_a_lost_store_is_no_answer(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.cut = 1;
	case_run(&test, RPC_CONTAINER_SHOW, "");
	assert_true(test.result < 0 && !test.job.failure.class);
	case_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_show_saves_and_answers_what_the_engine_says),
		cmocka_unit_test(test_show_of_the_same_state_writes_nothing),
		cmocka_unit_test(test_show_does_not_ask_for_what_is_not_here),
		cmocka_unit_test(test_a_lost_container_is_a_state_and_no_error),
		cmocka_unit_test(test_nothing_is_written_while_something_is_under_way),
		cmocka_unit_test(
			test_an_engine_that_does_not_answer_is_an_error_to_the_caller_only),
		cmocka_unit_test(test_a_missing_row_is_container_not_found),
		cmocka_unit_test(test_a_lost_store_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* container_delete: every state of the row (known-faults F57), force, being cut off. */
#include "manager_case.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HERE "container_id=" ID " host=" HOST " status="

static void test_delete_removes_container_then_row(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Stopped", ENGINE_STOPPED);
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": false");
	assert_int_equal(test.result, 0);
	case_expect(&test,
		    "update status=Deleting task_state=container_deleting\nremove\ndestroy\n");
	assert_false(test.job.leftover);
	case_close(&test);
}

static void test_a_failing_delete_leaves_error_and_ends_the_action(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": false");
	case_expect(&test,
		    "update status=Deleting task_state=container_deleting\nremove of what runs\n"
		    "update status=Error status_reason=it is running task_state=NULL\n"
		    "action delete Error\n");
	case_close(&test);
}

/* F57: every status × task_state × container or none × host or none. */
static void test_force_removes_a_row_in_any_state(void **state)
{
	static const char *const statuses[] = {"Error",	   "Running",	 "Stopped", "Paused",
					       "Unknown",  "Creating",	 "Created", "Deleted",
					       "Deleting", "Rebuilding", "Dead",    "Restarting"};
	static const char *const tasks[] = {"",
					    "image_pulling",
					    "container_creating",
					    "container_starting",
					    "container_deleting",
					    "container_stopping",
					    "container_rebooting",
					    "container_pausing",
					    "container_unpausing",
					    "container_killing",
					    "sg_adding",
					    "sg_removing",
					    "network_attaching",
					    "network_detaching",
					    "container_rebuilding",
					    "something_new"};
	static const char *const places[] = {"", " container_id=" ID, " host=" HOST,
					     " container_id=" ID " host=" HOST};

	(void)state;
	for (size_t status = 0; status < 12; status++)
		for (size_t task = 0; task < 16; task++)
			for (size_t place = 0; place < 4; place++) {
				struct manager_case test;
				char columns[256];

				(void)snprintf(columns, sizeof(columns), "status=%s%s%s%s",
					       statuses[status],
					       tasks[task][0] ? " task_state=" : "", tasks[task],
					       places[place]);
				case_open(&test, columns, (enum engine_state)(status % 5));
				case_run(&test, RPC_CONTAINER_DELETE, "\"force\": true");
				if (test.result != 0 || test.world.row_exists ||
				    test.world.engine != ENGINE_NONE)
					fail_msg("%s: %d\n%s", columns, test.result,
						 test.world.log);
				case_close(&test);
			}
}

static void test_force_drops_the_row_although_the_engine_refuses(void **state)
{
	static const struct {
		int result;
		bool leftover;
	} cases[] = {{-EIO, false}, {-EACCES, false}, {-EAGAIN, true}, {-EBUSY, true}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct manager_case test;

		case_open(&test, HERE "Running", ENGINE_RUNNING);
		test.world.refusals[0] = (struct refusal){"remove!", cases[i].result, 0};
		test.world.volumes = true;
		case_run(&test, RPC_CONTAINER_DELETE, "\"force\": true");
		assert_int_equal(test.result, 0);
		assert_null(test.job.failure.class);
		assert_false(test.world.row_exists);
		assert_int_equal(test.job.leftover, cases[i].leftover);
		case_close(&test);
	}
}

static void test_what_a_forced_delete_left_is_removed_later(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.refusals[0] = (struct refusal){"remove!", -EAGAIN, 2};
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": true");
	assert_true(test.job.leftover && !test.world.row_exists);
	case_again(&test);
	assert_true(test.result == 0 && test.job.leftover);
	case_again(&test);
	assert_true(test.result == 0 && !test.job.leftover);
	assert_int_equal(test.world.engine, ENGINE_NONE);
	case_close(&test);
}

static void test_volumes_hold_back_a_delete_without_force(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Stopped", ENGINE_STOPPED);
	test.world.volumes = true;
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": false");
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	assert_string_equal(case_column(&test, CONTAINER_task_state), "");
	assert_non_null(strstr(case_column(&test, CONTAINER_status_reason), "volumes"));
	assert_non_null(strstr(test.world.log, "action delete Error\n"));
	case_close(&test);
}

static void test_another_hosts_row_is_left_alone_even_by_force(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, "status=Running container_id=" ID " host=other", ENGINE_RUNNING);
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": true");
	case_expect(&test, "action delete Error\n");
	case_close(&test);
}

static void test_a_capsule_is_not_half_removed(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running container_type=1 task_state=container_deleting",
		  ENGINE_RUNNING);
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": false");
	case_expect(&test, "action delete Error\n");
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": true");
	assert_false(test.world.row_exists);
	case_close(&test);
}

static void test_a_delete_without_a_row_touches_nothing(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.row_exists = false;
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": true");
	assert_int_equal(test.result, 0);
	case_expect(&test, "");
	case_close(&test);
}

static void test_a_delete_that_is_cut_off_anywhere_is_finished(void **state)
{
	(void)state;
	for (unsigned cut = 2; cut < 10; cut++) {
		struct manager_case test;

		case_open(&test, HERE "Stopped", ENGINE_STOPPED);
		test.world.cut = cut;
		case_run(&test, RPC_CONTAINER_DELETE, "\"force\": false");
		if (test.world.dead)
			case_again(&test);
		assert_int_equal(test.result, 0);
		assert_false(test.world.row_exists);
		assert_false(test.world.claimed);
		assert_int_equal(test.world.engine, ENGINE_NONE);
		case_close(&test);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delete_removes_container_then_row),
		cmocka_unit_test(test_a_failing_delete_leaves_error_and_ends_the_action),
		cmocka_unit_test(test_force_removes_a_row_in_any_state),
		cmocka_unit_test(test_force_drops_the_row_although_the_engine_refuses),
		cmocka_unit_test(test_what_a_forced_delete_left_is_removed_later),
		cmocka_unit_test(test_volumes_hold_back_a_delete_without_force),
		cmocka_unit_test(test_another_hosts_row_is_left_alone_even_by_force),
		cmocka_unit_test(test_a_capsule_is_not_half_removed),
		cmocka_unit_test(test_a_delete_without_a_row_touches_nothing),
		cmocka_unit_test(test_a_delete_that_is_cut_off_anywhere_is_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of rows after a start (timers-and-recovery.md §3), jobs that are given up, the node's
 * row. */
#include "manager_case.h"
#include "unpriv/compute/inventory.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define HERE   "container_id=" ID " host=" HOST " status="
#define FAILED "Container failed to create correctly"

static void test_every_row_of_the_table(void **state)
{
	static const struct {
		const char *columns;
		enum engine_state engine;
		const char *log;
	} cases[] = {
		{"host=" HOST " status=Creating task_state=image_pulling", ENGINE_NONE,
		 "remove!\nupdate status=Error status_reason=" FAILED " task_state=NULL\n"
		 "action create Error (newest)\n"},
		{"host=" HOST " status=Creating", ENGINE_CREATED,
		 "remove!\nupdate status=Error status_reason=" FAILED
		 "\naction create Error (newest)\n"},
		{HERE "Running task_state=network_attaching", ENGINE_RUNNING,
		 "update status=Error status_reason=" FAILED " task_state=NULL\n"
		 "action network_attach Error (newest)\n"},
		{HERE "Running task_state=sg_removing", ENGINE_RUNNING,
		 "update status=Error status_reason=" FAILED " task_state=NULL\n"
		 "action remove_security_group Error (newest)\n"},
		{HERE "Deleting task_state=container_deleting", ENGINE_RUNNING,
		 "remove!\ndestroy\n"},
		{HERE "Deleting", ENGINE_STOPPED,
		 "update task_state=container_deleting\nremove!\ndestroy\n"},
		{HERE "Restarting task_state=container_rebooting", ENGINE_STOPPED,
		 "event compute__do_container_reboot\n(60) reboot\nupdate status=Running "
		 "task_state=NULL\n"
		 "event compute__do_container_reboot Success\naction reboot Success (newest)\n"},
		{HERE "Running task_state=container_stopping", ENGINE_RUNNING,
		 "event compute__do_container_stop\n(60) stop\nupdate status=Stopped "
		 "task_state=NULL\n"
		 "event compute__do_container_stop Success\naction stop Success (newest)\n"},
		{HERE "Stopped task_state=container_starting", ENGINE_STOPPED,
		 "event compute__do_container_start\nstart\n"
		 "update status=Running task_state=NULL started_at=now\n"
		 "event compute__do_container_start Success\naction start Success (newest)\n"},
		{HERE "Running task_state=container_pausing", ENGINE_RUNNING,
		 "event compute__do_container_pause\npause\nupdate status=Paused task_state=NULL\n"
		 "event compute__do_container_pause Success\naction pause Success (newest)\n"},
		{HERE "Paused task_state=container_unpausing", ENGINE_PAUSED,
		 "event compute__do_container_unpause\nunpause\nupdate status=Running "
		 "task_state=NULL\n"
		 "event compute__do_container_unpause Success\naction unpause Success (newest)\n"},
		{HERE "Running task_state=container_killing", ENGINE_RUNNING,
		 "event compute__do_container_kill\n(0) kill\nshow\nupdate status=Stopped "
		 "task_state=NULL\n"
		 "event compute__do_container_kill Success\naction kill Success (newest)\n"},
		{HERE "Rebuilding task_state=container_rebuilding", ENGINE_RUNNING,
		 "show\nupdate status=Running task_state=NULL\naction rebuild Success (newest)\n"},
		{HERE "Rebuilding task_state=container_rebuilding", ENGINE_CREATED,
		 "show\nupdate status=Created task_state=NULL\naction rebuild Success (newest)\n"},
		{HERE "Rebuilding task_state=container_rebuilding", ENGINE_NONE,
		 "show of nothing\nupdate status=Error status_reason=Container failed to rebuild "
		 "task_state=NULL\n"
		 "action rebuild Error (newest)\n"},
		{HERE "Running task_state=something_new", ENGINE_RUNNING,
		 "update task_state=NULL\n"},
		{HERE "Running", ENGINE_STOPPED, ""},
		{HERE "Stopped", ENGINE_RUNNING, ""},
		{"container_id=" ID " host=other status=Creating", ENGINE_RUNNING, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manager_case test;

		case_open(&test, cases[i].columns, cases[i].engine);
		case_recover(&test);
		assert_int_equal(test.result, 0);
		case_expect(&test, cases[i].log);
		case_close(&test);
	}
}

static void test_a_recovered_action_that_is_done_already_succeeds(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running task_state=container_killing", ENGINE_STOPPED);
	case_recover(&test);
	assert_string_equal(case_column(&test, CONTAINER_status), "Stopped");
	assert_non_null(strstr(test.world.log, "action kill Success"));
	case_close(&test);
	case_open(&test, HERE "Running task_state=container_pausing", ENGINE_PAUSED);
	test.world.refusals[0] = (struct refusal){"pause", -EBUSY, 0};
	case_recover(&test);
	assert_string_equal(case_column(&test, CONTAINER_status), "Paused");
	assert_non_null(strstr(test.world.log, "action pause Success"));
	case_close(&test);
}

static void test_lenient_recovery_keeps_a_container_whose_network_was_changed(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running task_state=sg_adding", ENGINE_STOPPED);
	test.config.strict_recovery = false;
	case_recover(&test);
	case_expect(&test, "show\nupdate status=Stopped task_state=NULL\n"
			   "action add_security_group Error (newest)\n");
	case_close(&test);
}

static void test_running_containers_are_resumed_if_asked_for(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_STOPPED);
	test.config.resume_container_state = true;
	case_recover(&test);
	case_expect(&test, "show\nupdate task_state=container_starting\nstart\n"
			   "update status=Running task_state=NULL started_at=now\n");
	case_close(&test);
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.config.resume_container_state = true;
	case_recover(&test);
	case_expect(&test, "show\n");
	case_close(&test);
}

static void test_stale_actions_are_ended_and_the_state_is_read(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_STOPPED);
	test.world.expired = 2;
	case_recover(&test);
	case_expect(&test, "expire\nshow\nupdate status=Stopped\n");
	case_close(&test);
}

static void test_a_lost_store_is_reported_and_nothing_else(void **state)
{
	(void)state;
	for (unsigned cut = 1; cut < 6; cut++) {
		struct manager_case test;

		case_open(&test, HERE "Running task_state=container_stopping", ENGINE_RUNNING);
		test.world.cut = cut;
		case_recover(&test);
		assert_true(test.result < 0);
		case_close(&test);
	}
}

static void test_a_job_that_is_given_up_has_a_definite_end(void **state)
{
	struct manager_case test;
	static const char reason[] = "The request ended the processes that worked on it";

	(void)state;
	case_open(&test, "status=Creating task_state=container_creating host=" HOST, ENGINE_NONE);
	case_abandon(&test, RPC_CONTAINER_CREATE);
	assert_int_equal(test.result, 0);
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	assert_string_equal(case_column(&test, CONTAINER_status_reason), reason);
	assert_string_equal(case_column(&test, CONTAINER_task_state), "");
	assert_false(test.world.claimed);
	assert_non_null(strstr(test.world.log, "event compute__do_container_create Error\n"
					       "action create Error (newest)\n"));
	case_close(&test);
	case_open(&test, HERE "Running task_state=container_stopping", ENGINE_RUNNING);
	case_abandon(&test, RPC_CONTAINER_STOP);
	assert_string_equal(case_column(&test, CONTAINER_status), "Running");
	assert_string_equal(case_column(&test, CONTAINER_status_reason), reason);
	assert_string_equal(case_column(&test, CONTAINER_task_state), "");
	case_close(&test);
	case_open(&test, HERE "Deleting task_state=container_deleting", ENGINE_RUNNING);
	case_abandon(&test, RPC_CONTAINER_DELETE);
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	case_close(&test);
}

static void test_a_create_that_is_given_up_keeps_the_host_of_its_container(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, "status=Creating", ENGINE_NONE);
	test.world.cut = 7; /* after the container was made */
	case_run(&test, RPC_CONTAINER_CREATE, "\"run\": true");
	assert_int_equal(test.world.engine, ENGINE_CREATED);
	test.world.cut = 0;
	test.world.dead = false;
	case_abandon(&test, RPC_CONTAINER_CREATE);
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	assert_string_equal(case_column(&test, CONTAINER_host), HOST);
	case_run(&test, RPC_CONTAINER_DELETE, "\"force\": false");
	assert_true(!test.world.row_exists && test.world.engine == ENGINE_NONE);
	case_close(&test);
}

static void test_the_node_is_reported_under_our_host_with_readable_columns(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, "status=Running", ENGINE_NONE);
	test.world.quota = true;
	assert_int_equal(inventory_update(&test.manager), 0);
	case_expect(&test, "node " HOST " {\"nodes\": []} {}\n");
	assert_true(test.manager.quota_known && test.manager.quota_supported);
	case_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_of_the_table),
		cmocka_unit_test(test_a_recovered_action_that_is_done_already_succeeds),
		cmocka_unit_test(test_lenient_recovery_keeps_a_container_whose_network_was_changed),
		cmocka_unit_test(test_running_containers_are_resumed_if_asked_for),
		cmocka_unit_test(test_stale_actions_are_ended_and_the_state_is_read),
		cmocka_unit_test(test_a_lost_store_is_reported_and_nothing_else),
		cmocka_unit_test(test_a_job_that_is_given_up_has_a_definite_end),
		cmocka_unit_test(test_a_create_that_is_given_up_keeps_the_host_of_its_container),
		cmocka_unit_test(test_the_node_is_reported_under_our_host_with_readable_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

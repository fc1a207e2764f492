/* SPDX-License-Identifier: Apache-2.0 */
/* start, stop, reboot, pause, unpause, kill: the sequence of every row and effect. */
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

static void test_each_action_is_two_updates_around_the_engine(void **state)
{
	static const struct {
		enum rpc_method method;
		const char *before, *arguments, *log;
		enum engine_state engine;
	} cases[] = {
		{RPC_CONTAINER_START, "Stopped status_reason=old", "",
		 "update task_state=container_starting\nevent compute__do_container_start\nstart\n"
		 "update status=Running status_reason=NULL task_state=NULL started_at=now\n"
		 "event compute__do_container_start Success\naction start Success\n",
		 ENGINE_STOPPED},
		{RPC_CONTAINER_STOP, "Running", "\"timeout\": 5",
		 "update task_state=container_stopping\nevent compute__do_container_stop\n(5) "
		 "stop\n"
		 "update status=Stopped task_state=NULL\n"
		 "event compute__do_container_stop Success\naction stop Success\n",
		 ENGINE_RUNNING},
		{RPC_CONTAINER_REBOOT, "Restarting", "\"timeout\": \"7\"",
		 "update task_state=container_rebooting\nevent compute__do_container_reboot\n(7) "
		 "reboot\n"
		 "update status=Running task_state=NULL\n"
		 "event compute__do_container_reboot Success\naction reboot Success\n",
		 ENGINE_RUNNING},
		{RPC_CONTAINER_PAUSE, "Running", "",
		 "update task_state=container_pausing\nevent compute__do_container_pause\npause\n"
		 "update status=Paused task_state=NULL\n"
		 "event compute__do_container_pause Success\naction pause Success\n",
		 ENGINE_RUNNING},
		{RPC_CONTAINER_UNPAUSE, "Paused", "",
		 "update task_state=container_unpausing\nevent "
		 "compute__do_container_unpause\nunpause\n"
		 "update status=Running task_state=NULL\n"
		 "event compute__do_container_unpause Success\naction unpause Success\n",
		 ENGINE_PAUSED},
		{RPC_CONTAINER_KILL, "Running", "\"signal\": \"SIGKILL\"",
		 "update task_state=container_killing\nevent compute__do_container_kill\n(9) "
		 "kill\nshow\n"
		 "update status=Stopped task_state=NULL\n"
		 "event compute__do_container_kill Success\naction kill Success\n",
		 ENGINE_RUNNING},
		{RPC_CONTAINER_KILL, "Running", "\"signal\": \"HUP\"",
		 "update task_state=container_killing\nevent compute__do_container_kill\n(1) "
		 "kill\nshow\n"
		 "update task_state=NULL\n"
		 "event compute__do_container_kill Success\naction kill Success\n",
		 ENGINE_RUNNING},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manager_case test;
		char columns[256];

		(void)snprintf(columns, sizeof(columns), HERE "%s", cases[i].before);
		case_open(&test, columns, cases[i].engine);
		case_run(&test, cases[i].method, cases[i].arguments);
		assert_int_equal(test.result, 0);
		assert_null(test.job.failure.class);
		case_expect(&test, cases[i].log);
		case_close(&test);
	}
}

static void test_a_failing_action_leaves_the_status_and_says_why(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.refusals[0] = (struct refusal){"stop", -EIO, 0};
	case_run(&test, RPC_CONTAINER_STOP, "\"timeout\": null");
	assert_int_equal(test.result, 0);
	case_expect(&test,
		    "update task_state=container_stopping\nevent compute__do_container_stop\n"
		    "(-1) stop refused\nupdate status_reason=stop is refused task_state=NULL\n"
		    "event compute__do_container_stop Error\naction stop Error\n");
	case_close(&test);
}

static void test_a_failing_start_leaves_error_on_this_host(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Created", ENGINE_CREATED);
	test.world.refusals[0] = (struct refusal){"start", -EINVAL, 0};
	case_run(&test, RPC_CONTAINER_START, "");
	case_expect(&test,
		    "update task_state=container_starting\nevent compute__do_container_start\n"
		    "start refused\nupdate status=Error status_reason=start is refused "
		    "task_state=NULL\n"
		    "event compute__do_container_start Error\naction start Error\n");
	assert_string_equal(case_column(&test, CONTAINER_host), HOST);
	case_close(&test);
}

static void test_a_failing_reboot_never_stays_restarting(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Restarting", ENGINE_STOPPED);
	test.world.refusals[0] = (struct refusal){"reboot", -EIO, 0};
	case_run(&test, RPC_CONTAINER_REBOOT, "\"timeout\": 0");
	assert_string_equal(case_column(&test, CONTAINER_status), "Stopped");
	assert_string_equal(case_column(&test, CONTAINER_status_reason), "reboot is refused");
	case_close(&test);
}

/* The API has written Restarting before it cast. */
static void test_a_refused_reboot_never_stays_restarting(void **state)
{
	static const struct {
		const char *columns, *arguments, *log, *status;
	} cases[] = {
		{HERE "Restarting", "\"timeout\": -1",
		 "show\nupdate status=Running status_reason=Invalid timeout: seconds expected\n"
		 "action reboot Error\n",
		 "Running"},
		{"status=Restarting host=" HOST, "\"timeout\": 1",
		 "update status=Error status_reason=Cannot operate an uncreated container.\n"
		 "action reboot Error\n",
		 "Error"},
		{"status=Restarting container_id=" ID, "\"timeout\": 1",
		 "update status=Error status_reason=The container is not on host " HOST "\n"
		 "action reboot Error\n",
		 "Error"},
		{"status=Restarting host=other container_id=" ID, "\"timeout\": 1",
		 "action reboot Error\n", "Restarting"}, /* another agent's row */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manager_case test;

		case_open(&test, cases[i].columns, ENGINE_RUNNING);
		case_run(&test, RPC_CONTAINER_REBOOT, cases[i].arguments);
		assert_int_equal(test.result, 0);
		case_expect(&test, cases[i].log);
		assert_string_equal(case_column(&test, CONTAINER_status), cases[i].status);
		case_close(&test);
	}
}

static void test_a_given_up_reboot_never_stays_restarting(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Restarting task_state=container_rebooting", ENGINE_RUNNING);
	case_abandon(&test, RPC_CONTAINER_REBOOT);
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	assert_string_equal(case_column(&test, CONTAINER_task_state), "");
	case_close(&test);
}

static void test_a_reboot_of_a_silent_engine_never_stays_restarting(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Restarting", ENGINE_RUNNING);
	test.world.refusals[0] = (struct refusal){"reboot", -EAGAIN, 0};
	test.world.refusals[1] = (struct refusal){"show", -EAGAIN, 0};
	case_run(&test, RPC_CONTAINER_REBOOT, "\"timeout\": 1");
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	case_close(&test);
}

static void test_an_engine_that_does_not_answer_changes_no_status(void **state)
{
	static const enum rpc_method methods[] = {RPC_CONTAINER_START, RPC_CONTAINER_STOP,
						  RPC_CONTAINER_KILL};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct manager_case test;

		case_open(&test, HERE "Running", ENGINE_RUNNING);
		test.world.refusals[0] = (struct refusal){"start", -EAGAIN, 0};
		test.world.refusals[1] = (struct refusal){"stop", -EAGAIN, 0};
		test.world.refusals[2] = (struct refusal){"kill", -EAGAIN, 0};
		case_run(&test, methods[i], "\"timeout\": 1, \"signal\": null");
		assert_int_equal(test.result, 0);
		assert_string_equal(case_column(&test, CONTAINER_status), "Running");
		assert_true(case_column(&test, CONTAINER_status_reason)[0] != '\0');
		assert_string_equal(case_column(&test, CONTAINER_task_state), "");
		case_close(&test);
	}
}

static void test_a_cast_waits_for_the_engine(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.manager.engine_patience_ms = 60000;
	test.world.refusals[0] = (struct refusal){"pause", -EAGAIN, 1};
	case_run(&test, RPC_CONTAINER_PAUSE, "");
	case_expect(&test,
		    "update task_state=container_pausing\nevent compute__do_container_pause\n"
		    "pause refused\npause\nupdate status=Paused task_state=NULL\n"
		    "event compute__do_container_pause Success\naction pause Success\n");
	case_close(&test);
}

static void test_a_container_that_is_gone_is_error_or_deleted(void **state)
{
	static const struct {
		const char *columns, *update;
	} cases[] = {
		{HERE "Running",
		 "update status=Error status_reason=No such container task_state=NULL\n"},
		{HERE "Running auto_remove=true", "update status=Deleted task_state=NULL\n"},
		{HERE "Deleting", "update task_state=NULL\n"},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct manager_case test;
		char log[512];

		case_open(&test, cases[i].columns, ENGINE_NONE);
		case_run(&test, RPC_CONTAINER_UNPAUSE, "");
		(void)snprintf(log, sizeof(log),
			       "update task_state=container_unpausing\nevent "
			       "compute__do_container_unpause\n"
			       "unpause of nothing\n%sevent compute__do_container_unpause Error\n"
			       "action unpause Error\n",
			       cases[i].update);
		case_expect(&test, log);
		case_close(&test);
	}
}

static void test_what_cannot_be_operated_leaves_the_row_alone(void **state)
{
	static const char *const columns[] = {
		"status=Error",				      /* K50: no host */
		"status=Running container_id=" ID,	      /* K50 */
		"status=Running host=other container_id=" ID, /* not here */
		"status=Creating host=" HOST,		      /* uncreated */
		"status=Running container_type=1 host=" HOST " container_id=" ID,
	};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct manager_case test;

		case_open(&test, columns[i], ENGINE_RUNNING);
		case_run(&test, RPC_CONTAINER_START, "");
		assert_int_equal(test.result, 0);
		case_expect(&test, "action start Error\n");
		case_close(&test);
	}
}

static void test_bad_arguments_are_refused_before_any_effect(void **state)
{
	static const struct {
		enum rpc_method method;
		const char *arguments;
	} cases[] = {
		{RPC_CONTAINER_STOP, "\"timeout\": -1"},
		{RPC_CONTAINER_STOP, "\"timeout\": \"soon\""},
		{RPC_CONTAINER_STOP, "\"timeout\": 1.5"},
		{RPC_CONTAINER_STOP, "\"timeout\": []"},
		{RPC_CONTAINER_KILL, "\"signal\": \"NOPE\""},
		{RPC_CONTAINER_KILL, "\"signal\": 65"},
		{RPC_CONTAINER_KILL, "\"signal\": \"RTMIN+16\""},
		{RPC_CONTAINER_KILL, "\"signal\": {}"},
		{RPC_CONTAINER_KILL, "\"signal\": \"-9\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manager_case test;
		char log[64];

		case_open(&test, HERE "Running", ENGINE_RUNNING);
		case_run(&test, cases[i].method, cases[i].arguments);
		(void)snprintf(log, sizeof(log), "action %s Error\n",
			       rpc_method_row(cases[i].method)->action);
		case_expect(&test, log);
		assert_string_equal(test.job.failure.class, "Invalid");
		case_close(&test);
	}
}

static void test_signals_are_read_in_every_form(void **state)
{
	static const struct {
		const char *text;
		unsigned number;
	} cases[] = {
		{"null", 0},	      {"\"None\"", 0},	   {"\"\"", 0},
		{"\"SIGKILL\"", 9},   {"\"KILL\"", 9},	   {"\"sigterm\"", 15},
		{"\"9\"", 9},	      {"15", 15},	   {"\"USR1\"", 10},
		{"\"SIGRTMIN\"", 34}, {"\"RTMIN+3\"", 37}, {"\"SIGRTMAX-1\"", 63},
		{"\"RTMAX\"", 64},    {"\"WINCH\"", 28},   {"\"sigrtmin+1\"", 35},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manager_case test;
		char arguments[64];

		case_open(&test, HERE "Running", ENGINE_RUNNING);
		(void)snprintf(arguments, sizeof(arguments), "\"signal\": %s", cases[i].text);
		case_run(&test, RPC_CONTAINER_KILL, arguments);
		assert_null(test.job.failure.class);
		assert_int_equal(test.job.signal, cases[i].number);
		case_close(&test);
	}
}

static void test_zero_and_nothing_mean_the_default_timeout(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} cases[] = {{"null", -1},  {"0", -1}, {"\"\"", -1},
		     {"\"0\"", -1}, {"3", 3},  {"\"30\"", 30}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manager_case test;
		char arguments[64];

		case_open(&test, HERE "Running", ENGINE_RUNNING);
		(void)snprintf(arguments, sizeof(arguments), "\"timeout\": %s", cases[i].text);
		case_run(&test, RPC_CONTAINER_STOP, arguments);
		assert_true(test.job.timeout_s == cases[i].seconds);
		case_close(&test);
	}
}

static void test_an_interrupted_signal_is_not_heard_twice(void **state)
{
	static const struct {
		const char *signal;
		unsigned heard;
	} cases[] = {{"\"HUP\"", 1}, {"\"USR1\"", 1}, {"\"KILL\"", 1}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		/* Cut after each step: get, update, event, kill, … */
		for (unsigned cut = 2; cut < 10; cut++) {
			struct manager_case test;
			char arguments[64];

			case_open(&test, HERE "Running", ENGINE_RUNNING);
			test.world.cut = cut;
			(void)snprintf(arguments, sizeof(arguments), "\"signal\": %s",
				       cases[i].signal);
			case_run(&test, RPC_CONTAINER_KILL, arguments);
			if (test.world.dead) {
				assert_true(test.result < 0 && !test.job.failure.class);
				case_again(&test);
			}
			assert_int_equal(test.result, 0);
			assert_true(test.world.signals <= cases[i].heard);
			assert_null(test.job.failure.class);
			assert_string_equal(case_column(&test, CONTAINER_task_state), "");
			assert_string_equal(case_column(&test, CONTAINER_status),
					    i == 2 ? "Stopped" : "Running");
			case_close(&test);
		}
	}
}

static void test_a_lost_helper_hands_the_job_over_once(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.channel_lost = true;
	case_run(&test, RPC_CONTAINER_STOP, "\"timeout\": 1");
	assert_int_equal(test.result, -EPIPE);
	assert_null(test.job.failure.class);
	test.record.tries = 1;
	case_again(&test);
	assert_int_equal(test.result, 0);
	assert_non_null(test.job.failure.class);
	assert_string_equal(case_column(&test, CONTAINER_task_state), "");
	assert_string_equal(case_column(&test, CONTAINER_status), "Running");
	case_close(&test);
}

static void test_a_row_that_is_gone_ends_the_action_quietly(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, HERE "Running", ENGINE_RUNNING);
	test.world.row_exists = false;
	case_run(&test, RPC_CONTAINER_STOP, "\"timeout\": 1");
	assert_int_equal(test.result, 0);
	case_expect(&test, "");
	case_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_action_is_two_updates_around_the_engine),
		cmocka_unit_test(test_a_failing_action_leaves_the_status_and_says_why),
		cmocka_unit_test(test_a_failing_start_leaves_error_on_this_host),
		cmocka_unit_test(test_a_failing_reboot_never_stays_restarting),
		cmocka_unit_test(test_a_refused_reboot_never_stays_restarting),
		cmocka_unit_test(test_a_given_up_reboot_never_stays_restarting),
		cmocka_unit_test(test_a_reboot_of_a_silent_engine_never_stays_restarting),
		cmocka_unit_test(test_an_engine_that_does_not_answer_changes_no_status),
		cmocka_unit_test(test_a_cast_waits_for_the_engine),
		cmocka_unit_test(test_a_container_that_is_gone_is_error_or_deleted),
		cmocka_unit_test(test_what_cannot_be_operated_leaves_the_row_alone),
		cmocka_unit_test(test_bad_arguments_are_refused_before_any_effect),
		cmocka_unit_test(test_signals_are_read_in_every_form),
		cmocka_unit_test(test_zero_and_nothing_mean_the_default_timeout),
		cmocka_unit_test(test_an_interrupted_signal_is_not_heard_twice),
		cmocka_unit_test(test_a_lost_helper_hands_the_job_over_once),
		cmocka_unit_test(test_a_row_that_is_gone_ends_the_action_quietly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

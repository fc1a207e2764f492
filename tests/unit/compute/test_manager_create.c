/* SPDX-License-Identifier: Apache-2.0 */
/* container_create: the sequence of rows, claim and engine; failures; being cut off anywhere. */
#include "manager_case.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define REQUEST                                                                                    \
	"\"limits\": {}, \"requested_networks\": [], \"requested_volumes\": {\"" UUID "\": []}, "  \
	"\"pci_requests\": null"
#define RUN	REQUEST ", \"run\": true"
#define NEW_ROW "status=Creating memory=512 cpu=0.5 image=busybox"

#define CREATED                                                                                    \
	"event compute__do_container_create\nclaim -1 -1 -1\n"                                     \
	"update task_state=container_creating\nimage\ncreate\n"                                    \
	"update status=Created status_detail=Created task_state=NULL container_id=" ID             \
	" image_driver=docker\nevent compute__do_container_create Success\n"
#define STARTED                                                                                    \
	"update task_state=container_starting\nevent compute__do_container_start\nstart\n"         \
	"update status=Running task_state=NULL started_at=now\n"                                   \
	"event compute__do_container_start Success\n"

static void test_create_claims_pulls_makes_and_starts(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	assert_int_equal(test.result, 0);
	case_expect(&test, CREATED STARTED "action create Success\n");
	assert_true(test.world.claimed && test.world.engine == ENGINE_RUNNING);
	case_close(&test);
}

static void test_create_without_run_stays_created(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_CREATE, REQUEST ", \"run\": false");
	case_expect(&test, CREATED "action create Success\n");
	assert_string_equal(case_column(&test, CONTAINER_host), HOST);
	case_close(&test);
}

static void test_limits_reach_the_claim(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_CREATE,
		 "\"limits\": {\"memory\": 1024, \"cpu\": 2.5, \"disk\": null, \"cpuset\": "
		 "{\"node\": 0}}, "
		 "\"requested_networks\": [], \"run\": false");
	assert_non_null(strstr(test.world.log, "claim 1024 2.5 -1\n"));
	case_close(&test);
}

static void test_a_refused_claim_leaves_error_without_host(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	test.world.claim_result = -ENOSPC;
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	assert_int_equal(test.result, 0);
	assert_string_equal(test.job.failure.class, "ResourcesUnavailable");
	case_expect(
		&test,
		"event compute__do_container_create\n"
		"update status=Error status_reason=Insufficient compute resources: nothing left.\n"
		"event compute__do_container_create Error\naction create Error\n");
	assert_string_equal(case_column(&test, CONTAINER_host), "");
	case_close(&test);
}

static void test_an_image_error_keeps_the_host(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	test.world.refusals[0] = (struct refusal){"image", -ENOENT, 0};
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	case_expect(&test, "event compute__do_container_create\nclaim -1 -1 -1\n"
			   "update task_state=container_creating\nimage refused\n"
			   "update status=Error status_reason=image is refused task_state=NULL\n"
			   "event compute__do_container_create Error\naction create Error\n");
	assert_true(test.world.claimed);
	assert_string_equal(case_column(&test, CONTAINER_host), HOST);
	case_close(&test);
}

static void test_a_create_error_is_undone_and_gives_the_claim_back(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	test.world.refusals[0] = (struct refusal){"create", -EIO, 0};
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	case_expect(
		&test,
		"event compute__do_container_create\nclaim -1 -1 -1\n"
		"update task_state=container_creating\nimage\ncreate refused\nremove!\nrelease\n"
		"update status=Error status_reason=create is refused task_state=NULL\n"
		"event compute__do_container_create Error\naction create Error\n");
	assert_false(test.world.claimed);
	assert_string_equal(case_column(&test, CONTAINER_container_id), "");
	case_close(&test);
}

static void test_a_rest_that_cannot_be_removed_keeps_the_host(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	test.world.refusals[0] = (struct refusal){"create", -EIO, 0};
	test.world.refusals[1] = (struct refusal){"remove!", -EAGAIN, 0};
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	assert_string_equal(case_column(&test, CONTAINER_host), HOST);
	case_close(&test);
}

static void test_a_foreign_container_of_that_name_is_not_touched(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_RUNNING);
	test.world.foreign = true;
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	assert_string_equal(case_column(&test, CONTAINER_host), "");
	assert_true(test.world.engine == ENGINE_RUNNING);
	case_close(&test);
}

static void test_a_failing_start_keeps_container_and_host(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	test.world.refusals[0] = (struct refusal){"start", -EINVAL, 0};
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	case_expect(&test, CREATED
		    "update task_state=container_starting\nevent compute__do_container_start\n"
		    "start refused\n"
		    "update status=Error status_reason=start is refused task_state=NULL\n"
		    "event compute__do_container_start Error\naction create Error\n");
	assert_true(test.world.claimed && test.world.engine == ENGINE_CREATED);
	case_close(&test);
}

static void test_what_needs_other_drivers_is_refused_without_any_effect(void **state)
{
	static const struct {
		const char *columns, *arguments, *word;
	} cases[] = {
		{NEW_ROW, "\"requested_networks\": [{\"network\": \"n\"}]", "etworks"},
		{NEW_ROW, "\"requested_volumes\": {\"" UUID "\": [{}]}", "olumes"},
		{NEW_ROW, "\"pci_requests\": {\"zun_object.data\": {\"requests\": [{}]}}", "PCI"},
		{NEW_ROW " cpu_policy=dedicated", "\"run\": true", "dedicated"},
		{NEW_ROW " container_type=1", "\"run\": true", "apsules"},
		{NEW_ROW " image_driver=glance", "\"run\": true", "glance"},
		{NEW_ROW " registry_id=3", "\"run\": true", "egistries"},
		{NEW_ROW, "\"requested_networks\": {}", "requested_networks"},
		{NEW_ROW, "\"requested_volumes\": 7", "requested_volumes"},
		{NEW_ROW, "\"pci_requests\": []", "pci_requests"},
		{NEW_ROW " disk=5", "\"run\": true", "disk quota"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct manager_case test;
		const char *reason;

		case_open(&test, cases[i].columns, ENGINE_NONE);
		case_run(&test, RPC_CONTAINER_CREATE, cases[i].arguments);
		assert_int_equal(test.result, 0);
		assert_string_equal(case_column(&test, CONTAINER_status), "Error");
		assert_string_equal(case_column(&test, CONTAINER_host), "");
		assert_false(test.world.claimed);
		assert_int_equal(test.world.engine, ENGINE_NONE);
		reason = case_column(&test, CONTAINER_status_reason);
		if (!strstr(reason, cases[i].word))
			fail_msg("%s: %s", cases[i].arguments, reason);
		assert_non_null(strstr(test.world.log, "action create Error\n"));
		case_close(&test);
	}
}

static void test_bad_limits_end_the_create(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_CREATE, "\"limits\": {\"memory\": \"much\"}, \"run\": true");
	assert_string_equal(case_column(&test, CONTAINER_status), "Error");
	assert_non_null(strstr(case_column(&test, CONTAINER_status_reason), "memory"));
	case_close(&test);
}

static void test_disk_gets_its_default_where_the_engine_limits_it(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	test.world.quota = true;
	test.config.default_disk = 10;
	case_run(&test, RPC_CONTAINER_CREATE, REQUEST ", \"run\": false");
	assert_int_equal(test.world.row.disk, 10);
	assert_string_equal(case_column(&test, CONTAINER_status), "Created");
	case_close(&test);
}

static void test_a_create_that_had_its_outcome_is_not_done_again(void **state)
{
	static const struct {
		const char *columns, *log;
	} cases[] = {
		{"status=Running host=" HOST " container_id=" ID, "action create Success\n"},
		{"status=Stopped host=" HOST " container_id=" ID, "action create Success\n"},
		{"status=Created host=" HOST " container_id=" ID, "action create Success\n"},
		{"status=Deleting host=" HOST, "action create Success\n"},
		{"status=Error", "action create Error\n"},
	};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct manager_case test;

		case_open(&test, cases[i].columns, ENGINE_RUNNING);
		case_run(&test, RPC_CONTAINER_CREATE, RUN);
		case_expect(&test, cases[i].log);
		case_close(&test);
	}
}

static void test_a_create_for_another_host_leaves_the_row_alone(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW " host=other", ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_CREATE, RUN);
	case_expect(&test, "action create Error\n");
	case_close(&test);
}

static void test_a_message_that_cannot_be_carried_out_leaves_error(void **state)
{
	struct manager_case test;

	(void)state;
	case_open(&test, NEW_ROW, ENGINE_NONE);
	case_run(&test, RPC_CONTAINER_CREATE, "");
	case_close(&test);
	case_open(&test, NEW_ROW, ENGINE_NONE);
	test.record = (struct job_record){.method = RPC_CONTAINER_CREATE,
					  .uuid = UUID,
					  .request_id = "req-1",
					  .reason = "offset 17: duplicate key"};
	test.job.record = &test.record;
	assert_int_equal(manager_run(&test.manager, &test.job), 0);
	case_expect(&test, "update status=Error status_reason=offset 17: duplicate key\n"
			   "action create Error (newest)\n");
	case_close(&test);
}

/* Wherever the process dies, running it again from the intent ends as if nothing had happened: one
 * container, one claim, and the row says so. */
static void test_a_create_that_is_cut_off_anywhere_is_finished(void **state)
{
	unsigned cuts = 0;

	(void)state;
	for (unsigned cut = 2; cut < 30; cut++) {
		struct manager_case test;

		case_open(&test, NEW_ROW, ENGINE_NONE);
		test.world.cut = cut;
		case_run(&test, RPC_CONTAINER_CREATE, RUN);
		if (test.world.dead) {
			cuts++;
			assert_true(test.result < 0 && !test.job.failure.class);
			case_again(&test);
		}
		assert_int_equal(test.result, 0);
		assert_null(test.job.failure.class);
		assert_string_equal(case_column(&test, CONTAINER_status), "Running");
		assert_string_equal(case_column(&test, CONTAINER_task_state), "");
		assert_true(test.world.claimed && test.world.engine == ENGINE_RUNNING);
		assert_non_null(strstr(test.world.log, "action create Success\n"));
		case_close(&test);
	}
	assert_in_range(cuts, 10, 20);
}

/* The same with an engine that refuses: no container, no claim, Error. */
static void test_a_failing_create_that_is_cut_off_anywhere_leaves_nothing(void **state)
{
	(void)state;
	for (unsigned cut = 2; cut < 20; cut++) {
		struct manager_case test;

		case_open(&test, NEW_ROW, ENGINE_NONE);
		test.world.refusals[0] = (struct refusal){"create", -EIO, 0};
		test.world.cut = cut;
		case_run(&test, RPC_CONTAINER_CREATE, RUN);
		if (test.world.dead)
			case_again(&test);
		assert_int_equal(test.result, 0);
		assert_string_equal(case_column(&test, CONTAINER_status), "Error");
		assert_string_equal(case_column(&test, CONTAINER_host), "");
		assert_string_equal(case_column(&test, CONTAINER_task_state), "");
		assert_false(test.world.claimed);
		assert_int_equal(test.world.engine, ENGINE_NONE);
		assert_non_null(strstr(test.world.log, "action create Error\n"));
		case_close(&test);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_claims_pulls_makes_and_starts),
		cmocka_unit_test(test_create_without_run_stays_created),
		cmocka_unit_test(test_limits_reach_the_claim),
		cmocka_unit_test(test_a_refused_claim_leaves_error_without_host),
		cmocka_unit_test(test_an_image_error_keeps_the_host),
		cmocka_unit_test(test_a_create_error_is_undone_and_gives_the_claim_back),
		cmocka_unit_test(test_a_rest_that_cannot_be_removed_keeps_the_host),
		cmocka_unit_test(test_a_foreign_container_of_that_name_is_not_touched),
		cmocka_unit_test(test_a_failing_start_keeps_container_and_host),
		cmocka_unit_test(test_what_needs_other_drivers_is_refused_without_any_effect),
		cmocka_unit_test(test_bad_limits_end_the_create),
		cmocka_unit_test(test_disk_gets_its_default_where_the_engine_limits_it),
		cmocka_unit_test(test_a_create_that_had_its_outcome_is_not_done_again),
		cmocka_unit_test(test_a_create_for_another_host_leaves_the_row_alone),
		cmocka_unit_test(test_a_message_that_cannot_be_carried_out_leaves_error),
		cmocka_unit_test(test_a_create_that_is_cut_off_anywhere_is_finished),
		cmocka_unit_test(test_a_failing_create_that_is_cut_off_anywhere_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Create, adoption and removal against a scripted helper. */
#include "common/zfd.h"
#include "tests/unit/driver/driver_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define CREATED "{\"Id\":\"" CASE_ID "\",\"Warnings\":[]}"
#define TAKEN	STEP_BODY(container_create, 409, "{\"message\":\"The name is in use\"}")
#define ABSENT	STEP_BODY(container_inspect, 404, "{\"message\":\"No such container\"}")

struct recorded {
	char *created, *running, *exited, *image;
};

static int load(void **state)
{
	static struct recorded recorded;

	recorded.created = fake_data("inspect_created.json", NULL);
	recorded.running = fake_data("inspect_running.json", NULL);
	recorded.exited = fake_data("inspect_exited.json", NULL);
	recorded.image = fake_data("image.json", NULL);
	*state = &recorded;
	return 0;
}

static int unload(void **state)
{
	struct recorded *recorded = *state;

	free(recorded->created);
	free(recorded->running);
	free(recorded->exited);
	free(recorded->image);
	return 0;
}

/* A row that is about to be created. */
static void open_new(struct driver_case *test, const struct fake_step *steps)
{
	case_open(test, steps);
	case_set(test, CONTAINER_container_id, NULL);
	case_set(test, CONTAINER_status, "Creating");
	case_set(test, CONTAINER_task_state, "container_creating");
}

static int create(struct driver_case *test)
{
	return driver_docker.create(test->driver, &test->row, &test->failure);
}

static void created_well(struct driver_case *test)
{
	if (create(test) != 0)
		fail_msg("%s", test->failure.message);
	assert_null(test->failure.class);
	assert_string_equal(test->row.container_id, CASE_ID);
	assert_string_equal(test->row.status, "Created");
	assert_string_equal(test->row.status_detail, "Created");
	assert_string_equal(test->row.hostname, "web");
}

static void test_a_container_is_made_and_its_row_filled(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {
		STEP_VERSION, STEP_BODY(image_inspect, 200, recorded->image),
		STEP_BODY(container_create, 201, CREATED),
		STEP_BODY(container_inspect, 200, recorded->created), STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	created_well(&test);
	case_close(&test);
}

static void test_the_image_gives_what_the_row_leaves_empty(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {
		STEP_VERSION, STEP_BODY(image_inspect, 200, recorded->image),
		STEP_BODY(container_create, 201, CREATED),
		STEP_BODY(container_inspect, 200, recorded->created), STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	case_set(&test, CONTAINER_command, NULL);
	created_well(&test);
	assert_string_equal(test.row.command, "[\"sh\"]");
	case_close(&test);
}

static void test_a_row_with_both_asks_for_no_image(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {STEP_VERSION, STEP_BODY(container_create, 201, CREATED),
					  STEP_BODY(container_inspect, 200, recorded->created),
					  STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	case_set(&test, CONTAINER_entrypoint, "[\"/e.sh\"]");
	created_well(&test);
	case_close(&test);
}

#define IMAGE STEP_BODY(image_inspect, 200, recorded->image)

static void test_a_taken_name_that_is_ours_and_unused_is_adopted(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {STEP_VERSION,
					  IMAGE,
					  TAKEN,
					  STEP_BODY(container_inspect, 200, recorded->created),
					  STEP_BODY(container_inspect, 200, recorded->created),
					  STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	created_well(&test);
	case_close(&test);
}

static void test_a_lost_answer_to_create_is_looked_up_and_adopted(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step lost[] = {
		STEP_REFUSED(container_create, PROTO_ENGINE_TIMEOUT, "silent"),
		STEP_REFUSED(container_create, PROTO_ENGINE_BROKEN, "cut"),
		{.number = PRIV_docker_container_create,
		 .http_status = 201,
		 .body = CREATED,
		 .cut = 5},
		STEP_BODY(container_create, 201, "{\"Id\":\"nonsense\"}"),
	};

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		struct fake_step steps[8] = {STEP_VERSION, IMAGE};
		struct driver_case test;
		size_t count = 2;

		steps[count++] = lost[i];
		if (lost[i].status == PROTO_ENGINE_BROKEN)
			steps[count++] = (struct fake_step)STEP_VERSION;
		steps[count++] =
			(struct fake_step)STEP_BODY(container_inspect, 200, recorded->created);
		steps[count++] =
			(struct fake_step)STEP_BODY(container_inspect, 200, recorded->created);
		open_new(&test, steps);
		created_well(&test);
		case_close(&test);
	}
}

static void test_a_create_that_did_not_happen_is_done_once_more(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {
		STEP_VERSION,
		IMAGE,
		STEP_REFUSED(container_create, PROTO_ENGINE_TIMEOUT, "silent"),
		ABSENT,
		STEP_BODY(container_create, 201, CREATED),
		STEP_BODY(container_inspect, 200, recorded->created),
		STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	created_well(&test);
	case_close(&test);
}

static void test_a_create_that_was_not_sent_is_not_looked_up(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {STEP_VERSION, IMAGE,
					  STEP_REFUSED(container_create, PROTO_NO_ENGINE, "x"),
					  STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	assert_int_equal(create(&test), -EAGAIN);
	case_close(&test);
}

static void test_a_used_or_different_leftover_is_removed_and_made_again(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {STEP_VERSION,
					  IMAGE,
					  TAKEN,
					  STEP_BODY(container_inspect, 200, recorded->running),
					  STEP(container_delete, 204),
					  ABSENT,
					  STEP_BODY(container_create, 201, CREATED),
					  STEP_BODY(container_inspect, 200, recorded->created),
					  STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	created_well(&test);
	assert_int_equal(test.helper.log->asked[4].force, 1);
	case_close(&test);
}

static void test_a_name_that_stays_taken_is_a_conflict(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step steps[] = {STEP_VERSION, IMAGE,	TAKEN,	 ABSENT,
					  TAKEN,	ABSENT, STEP_END};
	struct driver_case test;

	open_new(&test, steps);
	assert_int_equal(create(&test), -EBUSY);
	case_failed(&test, "Conflict", "could not be had");
	case_close(&test);
}

static void test_what_is_not_ours_is_left_alone(void **state)
{
	const struct recorded *recorded = *state;
	const struct fake_step foreign[] = {
		STEP_VERSION, IMAGE, TAKEN,
		STEP_REFUSED(container_inspect, PROTO_NOT_OURS, "label"), STEP_END};
	const struct fake_step other[] = {
		STEP_VERSION, IMAGE, TAKEN,
		STEP_BODY(container_inspect, 200,
			  "{\"Id\":\"" CASE_ID
			  "\",\"Config\":{\"Labels\":{\"io.keelson.uuid\":\"x\"}}}"),
		STEP_END};
	struct driver_case test;

	open_new(&test, foreign);
	assert_int_equal(create(&test), -EEXIST);
	case_failed(&test, "Conflict", "not made by");
	case_close(&test);
	open_new(&test, other);
	assert_int_equal(create(&test), -EEXIST);
	case_failed(&test, "Conflict", "another container");
	case_close(&test);
}

static void test_refused_creates_have_definite_reasons(void **state)
{
	const struct recorded *recorded = *state;
	static const struct {
		struct fake_step step;
		int result;
		const char *class, *text;
		bool version; /* asked again, because of the 400 */
	} refusals[] = {
		{STEP_BODY(container_create, 404, "{\"message\":\"No such image\"}"), -ENOENT,
		 "ImageNotFound", "127.0.0.1:5001/busybox:1.35", false},
		{STEP_BODY(container_create, 400,
			   "{\"message\":\"Minimum memory limit allowed is 6MB\"}"),
		 -EINVAL, "DockerError", "Minimum memory", true},
		{STEP_BODY(container_create, 500, "{\"message\":\"no quota\"}"), -EIO,
		 "DockerError", "no quota", false},
		{STEP_REFUSED(container_create, PROTO_DENIED, "privileged"), -EACCES,
		 "NotAuthorized", "site policy of this host: privileged", false},
		{STEP_REFUSED(container_create, PROTO_NOT_OURS, "label"), -EEXIST, "Conflict", "",
		 false},
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		struct fake_step steps[5] = {STEP_VERSION, IMAGE, refusals[i].step};
		struct driver_case test;

		if (refusals[i].version)
			steps[3] = (struct fake_step)STEP_VERSION;
		open_new(&test, steps);
		assert_int_equal(create(&test), refusals[i].result);
		case_failed(&test, refusals[i].class, refusals[i].text);
		assert_null(test.row.container_id);
		case_close(&test);
	}
}

static void test_a_row_that_cannot_be_sent_asks_nothing_of_the_engine_but_its_version(void **state)
{
	static const struct fake_step steps[] = {STEP_VERSION, STEP_END};
	struct driver_case test;

	(void)state;
	open_new(&test, steps);
	case_set(&test, CONTAINER_entrypoint, "[\"x\"]");
	case_set(&test, CONTAINER_labels, "{\"io.keelson.uuid\": \"x\"}");
	assert_int_equal(create(&test), -EINVAL);
	case_failed(&test, "Invalid", "labels");
	case_close(&test);
}

static int remove_row(struct driver_case *test, bool force)
{
	return driver_docker.remove(test->driver, &test->row, force, &test->failure);
}

static void test_removal_is_done_when_the_engine_knows_the_container_no_more(void **state)
{
	static const struct fake_step done[] = {STEP_VERSION, STEP(container_delete, 204), ABSENT,
						STEP_END};
	static const struct fake_step gone[] = {
		STEP_VERSION, STEP_BODY(container_delete, 404, "{}"), ABSENT, STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, done);
	assert_int_equal(remove_row(&test, false), 0);
	assert_int_equal(test.helper.log->asked[1].force, 0);
	case_close(&test);
	case_open(&test, gone);
	assert_int_equal(remove_row(&test, true), 0);
	assert_null(test.failure.class);
	case_close(&test);
}

#define STATE(text) STEP_BODY(container_inspect, 200, "{\"Id\":\"" CASE_ID "\",\"State\":" text "}")
#define REMOVING    STATE("{\"Status\":\"removing\"}")
#define DEAD	    STATE("{\"Status\":\"dead\",\"Dead\":true}")

static void test_a_removal_by_others_is_waited_for(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION,
		STEP_BODY(container_delete, 409, "{\"message\":\"already in progress\"}"),
		REMOVING,
		REMOVING,
		ABSENT,
		STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(remove_row(&test, false), 0);
	case_close(&test);
}

static void test_the_dead_rest_of_a_removal_is_removed_again(void **state)
{
	static const struct fake_step steps[] = {
		STEP_VERSION,
		STEP_BODY(container_delete, 500, "{\"message\":\"device busy\"}"),
		DEAD,
		DEAD,
		STEP_BODY(container_delete, 500, "{\"message\":\"device busy\"}"),
		DEAD,
		STEP(container_delete, 204),
		ABSENT,
		STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(remove_row(&test, false), 0);
	assert_int_equal(test.helper.log->asked[4].force, 1);
	case_close(&test);
}

static void test_a_refused_removal_of_what_stays_is_reported(void **state)
{
	const struct recorded *recorded = *state;
	_cleanup_free_ char *refusal = fake_data("delete_409_running.json", NULL);
	const struct fake_step running[] = {STEP_VERSION, STEP_BODY(container_delete, 409, refusal),
					    STEP_BODY(container_inspect, 200, recorded->running),
					    STEP_END};
	static const struct fake_step foreign[] = {
		STEP_VERSION, STEP_REFUSED(container_delete, PROTO_NOT_OURS, "label"), STEP_END};
	static const struct fake_step silent[] = {
		STEP_VERSION, STEP_REFUSED(container_delete, PROTO_ENGINE_TIMEOUT, "x"), STEP_END};
	struct driver_case test;

	case_open(&test, running);
	assert_int_equal(remove_row(&test, false), -EBUSY);
	case_failed(&test, "Conflict", "running container");
	case_close(&test);
	case_open(&test, foreign);
	assert_int_equal(remove_row(&test, true), -EEXIST);
	case_close(&test);
	case_open(&test, silent);
	assert_int_equal(remove_row(&test, true), -EAGAIN);
	case_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_container_is_made_and_its_row_filled),
		cmocka_unit_test(test_the_image_gives_what_the_row_leaves_empty),
		cmocka_unit_test(test_a_row_with_both_asks_for_no_image),
		cmocka_unit_test(test_a_taken_name_that_is_ours_and_unused_is_adopted),
		cmocka_unit_test(test_a_lost_answer_to_create_is_looked_up_and_adopted),
		cmocka_unit_test(test_a_create_that_did_not_happen_is_done_once_more),
		cmocka_unit_test(test_a_create_that_was_not_sent_is_not_looked_up),
		cmocka_unit_test(test_a_used_or_different_leftover_is_removed_and_made_again),
		cmocka_unit_test(test_a_name_that_stays_taken_is_a_conflict),
		cmocka_unit_test(test_what_is_not_ours_is_left_alone),
		cmocka_unit_test(test_refused_creates_have_definite_reasons),
		cmocka_unit_test(
			test_a_row_that_cannot_be_sent_asks_nothing_of_the_engine_but_its_version),
		cmocka_unit_test(test_removal_is_done_when_the_engine_knows_the_container_no_more),
		cmocka_unit_test(test_a_removal_by_others_is_waited_for),
		cmocka_unit_test(test_the_dead_rest_of_a_removal_is_removed_again),
		cmocka_unit_test(test_a_refused_removal_of_what_stays_is_reported),
	};

	return cmocka_run_group_tests(tests, load, unload);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's state as a row: every line of the contract's table, and times. */
#include "common/zfd.h"
#include "tests/unit/driver/fake_helper.h"
#include "unpriv/driver/docker_state.h"
#include "unpriv/driver/docker_text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define NOW   1796100000 /* 2026-12-01T04:40:00Z */
#define NEVER "0001-01-01T00:00:00Z"
#define T5S   "2026-12-01T04:39:55.123456789Z" /* 5 seconds before */
#define T3M   "2026-12-01T04:36:59Z"
#define T2H   "2026-12-01T02:00:00.5Z"
#define T4D   "2026-11-27T04:00:00Z"
#define TNOW  "2026-12-01T04:40:00Z"

/* In and out: NULL as detail = SQL NULL, "=" as out = what the row had before. */
static const struct {
	const char *name;
	struct docker_state state;
	const char *before;
	const char *status, *detail, *reason;
} cases[] = {
	{"state missing",
	 {.present = false},
	 "Running",
	 "Unknown",
	 NULL,
	 "container state is missing"},
	{"error, exited",
	 {.present = true,
	  .error = true,
	  .status = "exited",
	  .exit_code = 1,
	  .started_at = T2H,
	  .finished_at = T5S},
	 "Running",
	 "Stopped",
	 "Exited(1) 5 seconds ago (error)",
	 "="},
	{"error, removing",
	 {.present = true,
	  .error = true,
	  .status = "removing",
	  .exit_code = 255,
	  .started_at = T2H,
	  .finished_at = T4D},
	 "Running",
	 "Stopped",
	 "Exited(255) 4 days ago (error)",
	 "="},
	{"error, other status that rows have",
	 {.present = true,
	  .error = true,
	  .status = "created",
	  .exit_code = 127,
	  .started_at = NEVER,
	  .finished_at = NEVER},
	 "Creating",
	 "Created",
	 "Exited(127)  ago (error)",
	 "="},
	{"error, status that rows do not have",
	 {.present = true,
	  .error = true,
	  .status = "odd",
	  .exit_code = 2,
	  .started_at = T2H,
	  .finished_at = T3M},
	 "Running",
	 "Running",
	 "Exited(2) 3 mins ago (error)",
	 "="},
	{"error, age unknown",
	 {.present = true,
	  .error = true,
	  .status = "exited",
	  .exit_code = 2,
	  .started_at = T2H,
	  .finished_at = "yesterday"},
	 "Running",
	 "Stopped",
	 NULL,
	 "="},
	{"error stands above running",
	 {.present = true,
	  .error = true,
	  .running = true,
	  .status = "running",
	  .exit_code = 0,
	  .started_at = T2H,
	  .finished_at = T3M},
	 "Running",
	 "Running",
	 "Exited(0) 3 mins ago (error)",
	 "="},
	{"paused",
	 {.present = true,
	  .paused = true,
	  .running = true,
	  .status = "paused",
	  .started_at = T2H,
	  .finished_at = NEVER},
	 "Running",
	 "Paused",
	 "Up 2 hours (paused)",
	 "="},
	{"paused, age unknown",
	 {.present = true,
	  .paused = true,
	  .running = true,
	  .started_at = TNOW,
	  .finished_at = NEVER},
	 "Running",
	 "Paused",
	 NULL,
	 "="},
	{"restarting",
	 {.present = true,
	  .restarting = true,
	  .running = true,
	  .status = "restarting",
	  .started_at = T2H,
	  .finished_at = T3M},
	 "Running",
	 "Restarting",
	 "Restarting",
	 "="},
	{"running",
	 {.present = true,
	  .running = true,
	  .status = "running",
	  .started_at = T3M,
	  .finished_at = NEVER},
	 "Created",
	 "Running",
	 "Up 3 mins",
	 "="},
	{"running for less than a second",
	 {.present = true, .running = true, .started_at = TNOW, .finished_at = NEVER},
	 "Created",
	 "Running",
	 NULL,
	 "="},
	{"running since the future",
	 {.present = true,
	  .running = true,
	  .started_at = "2026-12-01T04:40:07Z",
	  .finished_at = NEVER},
	 "Created",
	 "Running",
	 NULL,
	 "="},
	{"dead",
	 {.present = true, .dead = true, .status = "dead", .started_at = T2H, .finished_at = T3M},
	 "Stopped",
	 "Dead",
	 "Dead",
	 "="},
	{"never started, row Creating",
	 {.present = true, .status = "created", .started_at = NEVER, .finished_at = NEVER},
	 "Creating",
	 "Created",
	 "Created",
	 "="},
	{"never started, row Created",
	 {.present = true, .status = "created", .started_at = NEVER, .finished_at = NEVER},
	 "Created",
	 "Created",
	 "=",
	 "="},
	{"never started, row Restarting",
	 {.present = true, .status = "created", .started_at = NEVER, .finished_at = NEVER},
	 "Restarting",
	 "Restarting",
	 "=",
	 "="},
	{"never started, row Error",
	 {.present = true, .status = "created", .started_at = NEVER, .finished_at = NEVER},
	 "Error",
	 "Error",
	 "=",
	 "="},
	{"never started, row Rebuilding",
	 {.present = true, .status = "created", .started_at = NEVER, .finished_at = NEVER},
	 "Rebuilding",
	 "Rebuilding",
	 "=",
	 "="},
	{"no times at all",
	 {.present = true, .status = "created"},
	 "Creating",
	 "Created",
	 "Created",
	 "="},
	{"started, not finished",
	 {.present = true, .status = "exited", .started_at = T2H, .finished_at = NEVER},
	 "Running",
	 "Unknown",
	 "",
	 "unexpected container state"},
	{"started and finished",
	 {.present = true,
	  .status = "exited",
	  .exit_code = 137,
	  .started_at = T2H,
	  .finished_at = T3M},
	 "Running",
	 "Stopped",
	 "Exited(137) 3 mins ago ",
	 "="},
	{"finished this second",
	 {.present = true,
	  .status = "exited",
	  .exit_code = 0,
	  .started_at = T2H,
	  .finished_at = TNOW},
	 "Running",
	 "Stopped",
	 NULL,
	 "="},
};

static bool same(const struct container *row, enum container_column column, const char *expected,
		 const char *before)
{
	if (expected == NULL)
		return (row->set & CONTAINER_BIT(column)) == 0;
	return strcmp(container_text(row, column),
		      strcmp(expected, "=") == 0 ? before : expected) == 0;
}

static void test_every_state_of_the_engine_is_mapped(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct container row = {0};

		assert_int_equal(container_set_text(&row, CONTAINER_status, cases[i].before), 0);
		assert_int_equal(container_set_text(&row, CONTAINER_status_detail, "before"), 0);
		assert_int_equal(container_set_text(&row, CONTAINER_status_reason, "why"), 0);

		assert_int_equal(docker_state_to_row(&cases[i].state, NOW, &row), 0);

		if (!same(&row, CONTAINER_status, cases[i].status, "") ||
		    !same(&row, CONTAINER_status_detail, cases[i].detail, "before") ||
		    !same(&row, CONTAINER_status_reason, cases[i].reason, "why"))
			fail_msg("%s: %s, \"%s\", \"%s\"", cases[i].name,
				 container_text(&row, CONTAINER_status),
				 container_text(&row, CONTAINER_status_detail),
				 container_text(&row, CONTAINER_status_reason));
		container_clear(&row);
	}
}

static const struct {
	const char *stamp, *text;
	enum docker_age age;
} ages[] = {
	{"2026-12-01T04:39:59Z", "1 seconds", DOCKER_AGE_KNOWN},
	{"2026-12-01T04:39:00Z", "1 mins", DOCKER_AGE_KNOWN},
	{"2026-12-01T03:40:01Z", "59 mins", DOCKER_AGE_KNOWN},
	{"2026-12-01T03:40:00Z", "1 hours", DOCKER_AGE_KNOWN},
	{"2026-11-30T04:40:01Z", "23 hours", DOCKER_AGE_KNOWN},
	{"2026-11-30T04:40:00Z", "1 days", DOCKER_AGE_KNOWN},
	{"2024-02-29T04:40:00Z", "1006 days", DOCKER_AGE_KNOWN},
	{"2026-12-01T05:39:00+01:00", "1 mins", DOCKER_AGE_KNOWN},
	{"2026-12-01T03:08:00.25-01:30", "2 mins", DOCKER_AGE_KNOWN},
	{"2026-12-01T04:40:00Z", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-01T04:40:01Z", "", DOCKER_AGE_UNKNOWN},
	{NEVER, "", DOCKER_AGE_NEVER},
	{"0001-01-01T00:00:00.0Z", "", DOCKER_AGE_NEVER},
	{"", "", DOCKER_AGE_NEVER},
	{"2026-13-01T04:40:00Z", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-00T04:40:00Z", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-01T24:40:00Z", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-01 04:30:00Z", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-01T04:30:00", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-01T04:30:00Zx", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-01T04:30:00+1:00", "", DOCKER_AGE_UNKNOWN},
	{"2026-12-01T04:3", "", DOCKER_AGE_UNKNOWN},
	{"x", "", DOCKER_AGE_UNKNOWN},
};

static void test_ages_have_the_largest_unit_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		char text[DOCKER_AGE_MAX];
		enum docker_age age = docker_age_text(ages[i].stamp, NOW, text);

		if (age != ages[i].age || strcmp(text, ages[i].text) != 0)
			fail_msg("\"%s\": %d, \"%s\"", ages[i].stamp, age, text);
	}
}

static void test_the_hostname_is_kept_and_ports_and_runtime_follow_the_engine(void **state)
{
	struct docker_container container = {.hostname = strdup("0724377d3a27"),
					     .runtime = strdup("runc"),
					     .ports = {80, 53},
					     .port_count = 2};
	struct container row = {0};

	(void)state;
	assert_int_equal(docker_config_to_row(&container, &row), 0);
	assert_string_equal(row.hostname, "0724377d3a27");
	assert_string_equal(row.runtime, "runc");
	assert_true(docker_same_strings(row.ports, "[80, 53]"));

	assert_int_equal(container_set_text(&row, CONTAINER_hostname, "web"), 0);
	assert_int_equal(docker_config_to_row(&container, &row), 0);
	assert_string_equal(row.hostname, "web");
	container_clear(&row);
	docker_container_clear(&container);
}

static void test_an_equal_json_value_is_no_change(void **state)
{
	struct container row = {0};

	(void)state;
	assert_int_equal(container_set_text(&row, CONTAINER_ports, "[80, 53]"), 0);
	row.changed = 0;

	assert_int_equal(docker_set_json(&row, CONTAINER_ports, "[80,53]"), 0);
	assert_true(row.changed == 0);
	assert_int_equal(docker_set_json(&row, CONTAINER_ports, "[53,80]"), 0);
	assert_true(row.changed == CONTAINER_BIT(CONTAINER_ports));
	container_clear(&row);
}

static void test_texts_are_cleaned_and_cut_at_characters(void **state)
{
	char out[8];

	(void)state;
	docker_text_clean(zstr_from("a\tb\r\n"), out, sizeof(out));
	assert_string_equal(out, "a b");
	docker_text_clean(zstr_from("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"), out, sizeof(out));
	assert_string_equal(out, "\xc3\xa4\xc3\xa4\xc3\xa4");
	docker_text_clean(zstr_from("a\xff\xc3"), out, sizeof(out));
	assert_string_equal(out, "a??");
	docker_text_clean(zstr_from("\x7f"), out, sizeof(out));
	assert_string_equal(out, "");
}

static void test_error_bodies_become_one_line(void **state)
{
	static const struct {
		const char *body, *text;
	} bodies[] = {
		{"{\"message\":\"No such container: x\"}\n", "No such container: x"},
		{"{\"message\":\"a\\nb\"}", "a b"},
		{"{\"message\":null}", "HTTP status 404"},
		{"{\"message\":7}", "HTTP status 404"},
		{"{}", "HTTP status 404"},
		{"[]", "HTTP status 404"},
		{"", "HTTP status 404"},
		{"page not found\n", "page not found"},
		{"{\"message\":", "{\"message\":"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		docker_error_message(404, zstr_from(bodies[i].body), out, sizeof(out));
		assert_string_equal(out, bodies[i].text);
	}
}

static void test_recorded_refusals_become_their_messages(void **state)
{
	static const struct {
		const char *name, *text;
	} recorded[] = {
		{"inspect_404.json", "No such container: zun-7f3c2b8e-7f0e-4b5c-9d57-6a1f3c0f2b11"},
		{"create_400.json", "Minimum memory limit allowed is 6MB"},
		{"create_404.json", "No such image: nosuch:1"},
		{"start_409_paused.json", "cannot start a paused container, try unpause instead"},
		{"too_new_400.json",
		 "client version 1.51 is too new. Maximum supported API version is 1.41"},
		{"pull_unreachable.json",
		 "Get \"http://127.0.0.1:5009/v2/\": dial tcp 127.0.0.1:5009: "
		 "connect: connection refused"},
	};
	char out[128];

	(void)state;
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		size_t length;
		_cleanup_free_ char *body = fake_data(recorded[i].name, &length);

		docker_error_message(400, (struct zstr){body, length}, out, sizeof(out));
		assert_string_equal(out, recorded[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_state_of_the_engine_is_mapped),
		cmocka_unit_test(test_ages_have_the_largest_unit_only),
		cmocka_unit_test(test_the_hostname_is_kept_and_ports_and_runtime_follow_the_engine),
		cmocka_unit_test(test_an_equal_json_value_is_no_change),
		cmocka_unit_test(test_texts_are_cleaned_and_cut_at_characters),
		cmocka_unit_test(test_error_bodies_become_one_line),
		cmocka_unit_test(test_recorded_refusals_become_their_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A row of table container in memory. */
#include "unpriv/store/column.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

static void test_setting_marks_only_what_differs(void **state)
{
	struct container row = {0};

	(void)state;
	assert_int_equal(container_set_text(&row, CONTAINER_status, "Running"), 0);
	assert_true(row.changed == CONTAINER_BIT(CONTAINER_status));
	assert_true(CONTAINER_HAS(&row, status));
	row.changed = 0;
	assert_int_equal(container_set_text(&row, CONTAINER_status, "Running"), 0);
	assert_true(row.changed == 0);
	assert_int_equal(container_set_text(&row, CONTAINER_status, NULL), 0);
	assert_true(row.changed == CONTAINER_BIT(CONTAINER_status));
	assert_false(CONTAINER_HAS(&row, status));
	assert_string_equal(container_text(&row, CONTAINER_status), "");
	container_clear(&row);
}

static void test_empty_json_is_no_change_and_never_null(void **state)
{
	struct container row = {0};
	char buffer[CONTAINER_STORE_SIZE];

	(void)state;
	assert_int_equal(container_set_text(&row, CONTAINER_labels, ""), 0);
	assert_int_equal(container_set_text(&row, CONTAINER_labels, "{}"), 0);
	assert_int_equal(container_set_text(&row, CONTAINER_command, "[]"), 0);
	assert_true(row.changed == 0);
	assert_string_equal(container_store(&row, CONTAINER_labels, buffer, sizeof(buffer)), "{}");
	assert_string_equal(container_store(&row, CONTAINER_command, buffer, sizeof(buffer)), "[]");
	assert_null(container_store(&row, CONTAINER_annotations, buffer, sizeof(buffer)));
	container_clear(&row);
}

static void test_text_is_cut_between_characters(void **state)
{
	static const struct {
		enum container_column column;
		const char *text, *stored;
	} cases[] = {
		{CONTAINER_status, "exactly twenty bytes", "exactly twenty bytes"},
		{CONTAINER_status, "exactly twenty bytes!", "exactly twenty bytes"},
		{CONTAINER_status, "nineteen bytes long\xc3\xbc", "nineteen bytes long"},
		{CONTAINER_status, "\xff\xfe", "??"},
		{CONTAINER_status, "a\xe2\x82", "a??"},
		{CONTAINER_status_reason,
		 "a very long reason is never cut at all, as its column has no limit",
		 "a very long reason is never cut at all, as its column has no limit"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct container row = {0};

		assert_int_equal(container_set_text(&row, cases[i].column, cases[i].text), 0);
		assert_string_equal(container_text(&row, cases[i].column), cases[i].stored);
		container_clear(&row);
	}
}

static void test_every_kind_survives_load_and_store(void **state)
{
	static const struct {
		enum container_column column;
		const char *text;
	} cases[] = {
		{CONTAINER_name, "web"}, {CONTAINER_command, "[\"a\"]"},
		{CONTAINER_id, "-7"},	 {CONTAINER_disk, "9223372036854775807"},
		{CONTAINER_cpu, "0.25"}, {CONTAINER_cpu, "1e-05"},
		{CONTAINER_tty, "true"}, {CONTAINER_tty, "false"},
	};
	char buffer[CONTAINER_STORE_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct container row = {0}, again = {0};
		const char *text;

		assert_int_equal(container_load(&row, cases[i].column, cases[i].text), 0);
		assert_true(row.set == CONTAINER_BIT(cases[i].column) && row.changed == 0);
		text = container_store(&row, cases[i].column, buffer, sizeof(buffer));
		assert_int_equal(container_load(&again, cases[i].column, text), 0);
		assert_true(strtod(text, NULL) ==
			    strtod(cases[i].text, NULL)); /* the same digits count */
		container_clear(&row);
		container_clear(&again);
	}
}

static void test_fields_of_the_wrong_kind_are_refused(void **state)
{
	struct container row = {0};

	(void)state;
	assert_int_equal(container_load(&row, CONTAINER_id, "7x"), -EBADMSG);
	assert_int_equal(container_load(&row, CONTAINER_id, ""), -EBADMSG);
	assert_int_equal(container_load(&row, CONTAINER_id, "99999999999999999999"), -EBADMSG);
	assert_int_equal(container_load(&row, CONTAINER_cpu, "many"), -EBADMSG);
	assert_int_equal(container_load(&row, CONTAINER_tty, "maybe"), -EBADMSG);
	assert_int_equal(container_load(&row, CONTAINER_id, NULL), 0);
	assert_true(row.set == 0);
	container_clear(&row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting_marks_only_what_differs),
		cmocka_unit_test(test_empty_json_is_no_change_and_never_null),
		cmocka_unit_test(test_text_is_cut_between_characters),
		cmocka_unit_test(test_every_kind_survives_load_and_store),
		cmocka_unit_test(test_fields_of_the_wrong_kind_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

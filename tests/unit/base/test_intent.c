/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the intent log, on a folder of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/zfd.h"
#include "unpriv/base/intent.h"

#define NAME_A "0000000000000001-1560271e8a544420a8ece32f3726754d"
#define NAME_B "0000000000000002-0"
#define NAME_C "00000000000000ff-abc"
#define LINE   "{\"intent\":1}"

struct fixture {
	char folder[64];
	struct intent_log log;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	(void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/keelson-intent-XXXXXX");
	if (!mkdtemp(fixture->folder) || intent_log_open(&fixture->log, fixture->folder, NULL) < 0)
		return -1;
	*state = fixture;
	return 0;
}

static int remove_each(void *context, const char *name)
{
	return intent_remove(context, name);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	char path[96];

	if (intent_each(&fixture->log, remove_each, &fixture->log) < 0)
		return -1;
	intent_log_close(&fixture->log);
	(void)snprintf(path, sizeof(path), "%s/intents", fixture->folder);
	if (rmdir(path) < 0 || rmdir(fixture->folder) < 0)
		return -1;
	free(fixture);
	return 0;
}

static void write_raw(const struct fixture *fixture, const char *name, const char *text, int flags)
{
	int file = openat(fixture->log.directory, name, O_WRONLY | O_CLOEXEC | flags, 0600);

	assert_true(file >= 0);
	assert_int_equal(zfd_write_all(file, text, strlen(text)), 0);
	assert_int_equal(close(file), 0);
}

static void test_an_intent_is_read_back_as_it_was_written(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_free_ char *line = NULL;
	size_t length = 0;

	assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), 0);
	assert_int_equal(intent_read(&fixture->log, NAME_A, &line, &length), 0);
	assert_string_equal(line, LINE);
	assert_int_equal(length, strlen(LINE));
	assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), -EEXIST);
}

static void test_an_intent_is_for_its_owner_only(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), 0);
	assert_int_equal(fstatat(fixture->log.directory, NAME_A, &status, 0), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(fstat(fixture->log.directory, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_effects_are_found_with_their_last_detail(void **state)
{
	struct fixture *fixture = *state;
	char detail[64] = "untouched";

	assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), 0);
	assert_false(intent_has(&fixture->log, NAME_A, "create", detail, sizeof(detail)));
	assert_string_equal(detail, "untouched");
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "create", "one"), 0);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "pull", NULL), 0);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "create", "t\"w\\o\n\xc3\xa4"), 0);
	assert_true(intent_has(&fixture->log, NAME_A, "create", detail, sizeof(detail)));
	assert_string_equal(detail, "t\"w\\o\n\xc3\xa4");
	assert_true(intent_has(&fixture->log, NAME_A, "pull", detail, sizeof(detail)));
	assert_string_equal(detail, "");
	assert_true(intent_has(&fixture->log, NAME_A, "pull", NULL, 0));
	assert_false(intent_has(&fixture->log, NAME_A, "pul", NULL, 0));
	assert_false(intent_has(&fixture->log, NAME_B, "pull", NULL, 0));
}

static void test_a_torn_last_line_is_ignored_and_cut_off(void **state)
{
	static const char effect[] = "{\"effect\":\"start\",\"detail\":\"d\"}\n";
	struct fixture *fixture = *state;
	_cleanup_free_ char *line = NULL;
	size_t length;

	for (size_t cut = 0; cut < strlen(effect) - 1; cut++) {
		char part[64];

		(void)snprintf(part, sizeof(part), "%.*s", (int)cut, effect);
		assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), 0);
		assert_int_equal(intent_effect(&fixture->log, NAME_A, "create", NULL), 0);
		write_raw(fixture, NAME_A, part, O_APPEND);
		assert_false(intent_has(&fixture->log, NAME_A, "start", NULL, 0));
		assert_int_equal(intent_effect(&fixture->log, NAME_A, "stop", NULL), 0);
		assert_true(intent_has(&fixture->log, NAME_A, "create", NULL, 0));
		assert_true(intent_has(&fixture->log, NAME_A, "stop", NULL, 0));
		assert_false(intent_has(&fixture->log, NAME_A, "start", NULL, 0));
		assert_int_equal(intent_remove(&fixture->log, NAME_A), 0);
	}
	write_raw(fixture, NAME_B, "{\"intent\":1", O_CREAT);
	assert_int_equal(intent_read(&fixture->log, NAME_B, &line, &length), -EBADMSG);
	assert_int_equal(intent_effect(&fixture->log, NAME_B, "stop", NULL), -EBADMSG);
}

static void test_a_long_message_and_long_details_fit(void **state)
{
	struct fixture *fixture = *state;
	static char text[3 << 20];
	_cleanup_free_ char *line = NULL;
	char long_detail[INTENT_DETAIL_MAX + 2], found[INTENT_DETAIL_MAX + 1];
	size_t length = 0;

	memset(text, 'x', sizeof(text));
	memset(long_detail, '\001', INTENT_DETAIL_MAX);
	long_detail[INTENT_DETAIL_MAX] = '\0';
	assert_int_equal(intent_create(&fixture->log, NAME_A, text, sizeof(text)), 0);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "create", long_detail), 0);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "start", "s"), 0);
	assert_true(intent_has(&fixture->log, NAME_A, "create", found, sizeof(found)));
	assert_string_equal(found, long_detail);
	assert_int_equal(intent_read(&fixture->log, NAME_A, &line, &length), 0);
	assert_int_equal(length, sizeof(text));
	long_detail[INTENT_DETAIL_MAX] = 'x';
	long_detail[INTENT_DETAIL_MAX + 1] = '\0';
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "create", long_detail), -EINVAL);
}

static void test_names_of_another_form_touch_no_file(void **state)
{
	static const char *const names[] = {
		"",
		".",
		"..",
		"/etc/passwd",
		"../0000000000000001-0",
		"0000000000000001-",
		"000000000000001-0",
		"00000000000000001-0",
		"0000000000000001-0/",
		"0000000000000001-A",
		"0000000000000001-0/../x",
		"0000000000000001_0",
		"000000000000000G-0",
		"0000000000000001-000000000000000000000000000000000",
		".tmp-0000000000000001-0",
		"0000000000000001-0\n",
	};
	struct fixture *fixture = *state;
	size_t length;
	char *line;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(intent_name_valid(names[i]));
		assert_int_equal(intent_create(&fixture->log, names[i], LINE, 3), -EINVAL);
		assert_int_equal(intent_effect(&fixture->log, names[i], "x", NULL), -EINVAL);
		assert_int_equal(intent_read(&fixture->log, names[i], &line, &length), -EINVAL);
		assert_int_equal(intent_remove(&fixture->log, names[i]), -EINVAL);
		assert_false(intent_has(&fixture->log, names[i], "x", NULL, 0));
	}
	assert_int_equal(intent_create(&fixture->log, NAME_A, "a\nb", 3), -EINVAL);
	assert_int_equal(intent_create(&fixture->log, NAME_A, "", 0), -EINVAL);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "", NULL), -EINVAL);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "Create", NULL), -EINVAL);
}

static void test_a_link_in_place_of_an_intent_is_not_followed(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_free_ char *line = NULL;
	size_t length;

	write_raw(fixture, NAME_B, "secret\n", O_CREAT);
	assert_int_equal(symlinkat(NAME_B, fixture->log.directory, NAME_A), 0);
	assert_int_equal(intent_read(&fixture->log, NAME_A, &line, &length), -ELOOP);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "x", NULL), -ELOOP);
}

static int collect(void *context, const char *name)
{
	char *all = context;

	(void)snprintf(all + strlen(all), 256 - strlen(all), "%s ", name);
	return strcmp(name, NAME_B) == 0 && strstr(all, "stop") ? -ECANCELED : 0;
}

static void test_each_goes_in_order_of_arrival_and_clears_leftovers(void **state)
{
	struct fixture *fixture = *state;
	char all[256] = "", stopped[256] = "stop ";
	struct stat status;

	assert_int_equal(intent_create(&fixture->log, NAME_C, LINE, strlen(LINE)), 0);
	assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), 0);
	assert_int_equal(intent_create(&fixture->log, NAME_B, LINE, strlen(LINE)), 0);
	write_raw(fixture, ".tmp-" NAME_A, "half", O_CREAT);
	write_raw(fixture, "notes", "not ours", O_CREAT);
	assert_int_equal(intent_each(&fixture->log, collect, all), 0);
	assert_string_equal(all, NAME_A " " NAME_B " " NAME_C " ");
	assert_int_equal(fstatat(fixture->log.directory, ".tmp-" NAME_A, &status, 0), -1);
	assert_int_equal(unlinkat(fixture->log.directory, "notes", 0), 0);
	assert_int_equal(intent_each(&fixture->log, collect, stopped), -ECANCELED);
	assert_string_equal(stopped, "stop " NAME_A " " NAME_B " ");
}

static void test_a_leftover_temporary_file_is_no_obstacle(void **state)
{
	struct fixture *fixture = *state;

	write_raw(fixture, ".tmp-" NAME_A, "half", O_CREAT);
	assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), 0);
}

static void test_removing_what_is_gone_is_well(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(intent_create(&fixture->log, NAME_A, LINE, strlen(LINE)), 0);
	assert_int_equal(intent_remove(&fixture->log, NAME_A), 0);
	assert_int_equal(intent_remove(&fixture->log, NAME_A), 0);
	assert_int_equal(intent_effect(&fixture->log, NAME_A, "x", NULL), -ENOENT);
}

static void test_names_are_made_of_order_and_unique_id(void **state)
{
	static const char *const odd[] = {"",	"ABC", "../../etc",
					  "0g", "a b", "000000000000000000000000000000000"};
	char name[INTENT_NAME_SIZE];

	(void)state;
	assert_int_equal(intent_name("0000000000000001", "1560271e8a544420a8ece32f3726754d", name),
			 0);
	assert_string_equal(name, NAME_A);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(intent_name("0000000000000002", odd[i], name), 0);
		assert_string_equal(name, NAME_B);
	}
	assert_int_equal(intent_name("2", "a", name), -EINVAL);
	assert_int_equal(intent_name("000000000000000/", "a", name), -EINVAL);
}

static void test_a_missing_state_folder_is_an_error_that_names_it(void **state)
{
	struct intent_log log;
	struct zerr err = {0};

	(void)state;
	assert_int_equal(intent_log_open(&log, "/nonexistent/state", &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/state"));
	intent_log_close(&log);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(test_an_intent_is_read_back_as_it_was_written),
		WITH_FOLDER(test_an_intent_is_for_its_owner_only),
		WITH_FOLDER(test_effects_are_found_with_their_last_detail),
		WITH_FOLDER(test_a_torn_last_line_is_ignored_and_cut_off),
		WITH_FOLDER(test_a_long_message_and_long_details_fit),
		WITH_FOLDER(test_names_of_another_form_touch_no_file),
		WITH_FOLDER(test_a_link_in_place_of_an_intent_is_not_followed),
		WITH_FOLDER(test_each_goes_in_order_of_arrival_and_clears_leftovers),
		WITH_FOLDER(test_a_leftover_temporary_file_is_no_obstacle),
		WITH_FOLDER(test_removing_what_is_gone_is_well),
		cmocka_unit_test(test_names_are_made_of_order_and_unique_id),
		cmocka_unit_test(test_a_missing_state_folder_is_an_error_that_names_it),
	};

	return cmocka_run_group_tests_name("intent", tests, NULL, NULL);
}

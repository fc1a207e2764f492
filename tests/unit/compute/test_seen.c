/* SPDX-License-Identifier: Apache-2.0 */
/* Remembered message ids: through restarts, torn files, and for no longer than they should be. */
#include "common/zfd.h"
#include "unpriv/compute/seen.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW    1000000U
#define RECORD 32

static char folder[] = "/tmp/keelson-seen.XXXXXX";
static char file[64];

static int make_folder(void **state)
{
	(void)state;
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(file, sizeof(file), "%s/seen", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(file);
	return rmdir(folder);
}

static struct seen *reopen(struct seen *seen, uint64_t now)
{
	_cleanup_fd_ int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct zerr err = {0};

	seen_close(seen);
	seen = seen_open(directory, now, &err);
	if (!seen)
		fail_msg("%s", err.msg);
	return seen;
}

static off_t size_of_file(void)
{
	struct stat status;

	assert_int_equal(stat(file, &status), 0);
	return status.st_size;
}

static void append(const void *data, size_t length)
{
	_cleanup_fd_ int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, data, length), (ssize_t)length);
}

static void test_seen_knows_an_id_and_its_order_again(void **state)
{
	struct seen *seen = reopen(NULL, NOW);

	(void)state;
	assert_int_equal(seen_find(seen, "a", NOW), 0);
	assert_int_equal(seen_add(seen, "a", 7, NOW), 0);
	assert_int_equal(seen_add(seen, "b", 8, NOW), 0);
	assert_int_equal(seen_find(seen, "a", NOW), 7);
	assert_int_equal(seen_find(seen, "b", NOW), 8);
	assert_int_equal(seen_find(seen, "c", NOW), 0);
	/* The first order stays. */
	assert_int_equal(seen_add(seen, "a", 9, NOW), 0);
	assert_int_equal(seen_find(seen, "a", NOW), 7);
	assert_int_equal(seen_count(seen), 2);
	seen_close(seen);
}

static void test_seen_survives_a_restart(void **state)
{
	struct seen *seen = reopen(NULL, NOW);
	struct stat status;
	char id[16];

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(id, sizeof(id), "id-%u", i);
		assert_int_equal(seen_add(seen, id, i + 1, NOW), 0);
	}
	seen = reopen(seen, NOW + 60);
	assert_int_equal(seen_count(seen), 5000);
	assert_int_equal(seen_find(seen, "id-0", NOW + 60), 1);
	assert_int_equal(seen_find(seen, "id-4999", NOW + 60), 5000);
	assert_int_equal(stat(file, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	seen_close(seen);
}

static void test_seen_forgets_after_a_day(void **state)
{
	struct seen *seen = reopen(NULL, NOW);

	(void)state;
	assert_int_equal(seen_add(seen, "old", 1, NOW), 0);
	assert_int_equal(seen_add(seen, "young", 2, NOW + 3600), 0);
	assert_int_equal(seen_find(seen, "old", NOW + SEEN_AGE_S), 1);
	assert_int_equal(seen_find(seen, "old", NOW + SEEN_AGE_S + 1), 0);
	assert_int_equal(seen_find(seen, "young", NOW + SEEN_AGE_S + 1), 2);
	/* And the file is written anew without it. */
	seen = reopen(seen, NOW + SEEN_AGE_S + 1);
	assert_int_equal(seen_count(seen), 1);
	assert_int_equal(size_of_file(), RECORD);
	seen_close(seen);
}

static void test_seen_takes_no_more_than_its_maximum(void **state)
{
	struct seen *seen = reopen(NULL, NOW);
	char id[24];

	(void)state;
	for (unsigned i = 0; i < SEEN_MAX + 10; i++) {
		(void)snprintf(id, sizeof(id), "%u", i);
		assert_int_equal(seen_add(seen, id, i + 1, NOW), 0);
	}
	assert_int_equal(seen_count(seen), SEEN_MAX);
	assert_int_equal(seen_find(seen, "9", NOW), 0);
	assert_int_equal(seen_find(seen, "10", NOW), 11);
	seen = reopen(seen, NOW);
	assert_int_equal(seen_count(seen), SEEN_MAX);
	assert_int_equal(seen_find(seen, "9", NOW), 0);
	assert_int_equal(size_of_file(), (off_t)SEEN_MAX * RECORD);
	seen_close(seen);
}

static void test_seen_ignores_a_torn_end_of_any_length(void **state)
{
	uint8_t half[RECORD];

	(void)state;
	memset(half, 0x5a, sizeof(half));
	for (size_t length = 1; length < RECORD; length++) {
		struct seen *seen = reopen(NULL, NOW);

		assert_int_equal(seen_add(seen, "kept", 3, NOW), 0);
		seen_close(seen);
		append(half, length);
		seen = reopen(NULL, NOW);
		assert_int_equal(seen_find(seen, "kept", NOW), 3);
		/* What is added after the torn end is not spoilt by it. */
		assert_int_equal(seen_add(seen, "after", 4, NOW), 0);
		seen = reopen(seen, NOW);
		assert_int_equal(seen_find(seen, "after", NOW), 4);
		seen_close(seen);
		(void)unlink(file);
	}
}

static void test_seen_passes_over_a_damaged_record(void **state)
{
	struct seen *seen = reopen(NULL, NOW);
	int fd;

	(void)state;
	assert_int_equal(seen_add(seen, "a", 1, NOW), 0);
	assert_int_equal(seen_add(seen, "b", 2, NOW), 0);
	assert_int_equal(seen_add(seen, "c", 3, NOW), 0);
	seen_close(seen);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "\xff", 1, RECORD + 18), 1);
	(void)close(fd);
	seen = reopen(NULL, NOW);
	assert_int_equal(seen_count(seen), 2);
	assert_int_equal(seen_find(seen, "a", NOW), 1);
	assert_int_equal(seen_find(seen, "b", NOW), 0);
	assert_int_equal(seen_find(seen, "c", NOW), 3);
	seen_close(seen);
}

static void test_seen_takes_garbage_for_an_empty_file(void **state)
{
	struct seen *seen = reopen(NULL, NOW);
	uint8_t garbage[1000];

	(void)state;
	seen_close(seen);
	memset(garbage, 0xa5, sizeof(garbage));
	append(garbage, sizeof(garbage));
	seen = reopen(NULL, NOW);
	assert_int_equal(seen_count(seen), 0);
	assert_int_equal(size_of_file(), 0);
	seen_close(seen);
}

static void test_seen_does_not_remember_times_to_come_for_ever(void **state)
{
	struct seen *seen = reopen(NULL, NOW + 10 * SEEN_AGE_S);

	(void)state;
	/* The clock was ten days ahead when this one came. */
	assert_int_equal(seen_add(seen, "ahead", 1, NOW + 10 * SEEN_AGE_S), 0);
	seen = reopen(seen, NOW);
	assert_int_equal(seen_find(seen, "ahead", NOW), 0);
	seen_close(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_seen_knows_an_id_and_its_order_again,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_seen_survives_a_restart, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_seen_forgets_after_a_day, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_seen_takes_no_more_than_its_maximum,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_seen_ignores_a_torn_end_of_any_length,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_seen_passes_over_a_damaged_record, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_seen_takes_garbage_for_an_empty_file,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_seen_does_not_remember_times_to_come_for_ever,
						make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

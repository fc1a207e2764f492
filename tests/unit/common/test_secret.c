/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/secret.c. */
#include "common/secret.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Whether the kernel has this flag on the mapping that holds address. */
static bool mapping_has_flag(const void *address, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	bool inside = false, found = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *end;
		unsigned long from = strtoul(line, &end, 16);

		if (*end == '-') {
			unsigned long to = strtoul(end + 1, &end, 16);

			inside = (uintptr_t)address >= from && (uintptr_t)address < to;
		} else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
			found = strstr(line, flag);
		}
	}
	(void)fclose(file);
	return found;
}

static void test_secret_keeps_a_copy_out_of_dumps(void **state)
{
	struct secret secret = {0};

	(void)state;
	assert_string_equal(secret_text(&secret), "");
	assert_int_equal(secret_set(&secret, "pass\0word", 9), 0);
	assert_int_equal(secret.length, 9);
	assert_memory_equal(secret.data, "pass\0word", 10);
	assert_string_equal(secret_text(&secret), "pass");
	assert_true(mapping_has_flag(secret.data, " dd"));
	secret_clear(&secret);
	assert_null(secret.data);
	assert_string_equal(secret_text(&secret), "");
	secret_clear(&secret);
}

static void test_secret_can_be_set_again_also_from_itself(void **state)
{
	struct secret secret = {0};

	(void)state;
	assert_int_equal(secret_set(&secret, "first", 5), 0);
	assert_int_equal(secret_set(&secret, secret.data + 1, 3), 0);
	assert_string_equal(secret_text(&secret), "irs");
	assert_int_equal(secret_set(&secret, NULL, 0), 0);
	assert_null(secret.data);
	assert_int_equal(secret.length, 0);
}

static void test_secret_holds_a_whole_page_and_its_end(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct secret secret = {0};
	char *text = malloc(page);

	(void)state;
	assert_non_null(text);
	memset(text, 'k', page);
	assert_int_equal(secret_set(&secret, text, page), 0);
	assert_int_equal(strlen(secret_text(&secret)), page);
	secret_clear(&secret);
	free(text);
}

static void test_secret_says_when_memory_lacks_and_keeps_the_old(void **state)
{
	struct secret secret = {0};

	(void)state;
	assert_int_equal(secret_set(&secret, "old", 3), 0);
	assert_int_equal(secret_set(&secret, "x", SIZE_MAX), -ENOMEM);
	assert_int_equal(secret_set(&secret, "x", SIZE_MAX / 2), -ENOMEM);
	assert_string_equal(secret_text(&secret), "old");
	secret_clear(&secret);
}

static void test_secret_works_without_the_right_to_lock(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit none = {0, 0};
		struct secret secret = {0};

		if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 ||
		    (getuid() == 0 && setresuid(65534, 65534, 65534) < 0))
			_exit(1);
		_exit(secret_set(&secret, "x", 1) == 0 && strcmp(secret_text(&secret), "x") == 0
			      ? 0
			      : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Stands for madvise at link time: the kernel gives no other way to see it fail. */
int __real_madvise(void *address, size_t length, int advice);
int __wrap_madvise(void *address, size_t length, int advice);
static bool refuse_advice;

int __wrap_madvise(void *address, size_t length, int advice)
{
	if (!refuse_advice)
		return __real_madvise(address, length, advice);
	errno = EINVAL;
	return -1;
}

static void test_secret_is_not_kept_where_it_could_be_dumped(void **state)
{
	struct secret secret = {0};

	(void)state;
	refuse_advice = true;
	assert_int_equal(secret_set(&secret, "x", 1), -EINVAL);
	refuse_advice = false;
	assert_null(secret.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secret_keeps_a_copy_out_of_dumps),
		cmocka_unit_test(test_secret_can_be_set_again_also_from_itself),
		cmocka_unit_test(test_secret_holds_a_whole_page_and_its_end),
		cmocka_unit_test(test_secret_says_when_memory_lacks_and_keeps_the_old),
		cmocka_unit_test(test_secret_works_without_the_right_to_lock),
		cmocka_unit_test(test_secret_is_not_kept_where_it_could_be_dumped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

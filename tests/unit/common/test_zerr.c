/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/zerr.c. */
#include "common/zerr.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void test_zerr_set_fills_code_and_sentence(void **state)
{
	struct zerr err;
	int result;

	(void)state;
	result = zerr_set(&err, -EINVAL, "policy.conf:%d: %s", 12, "unknown key");

	assert_int_equal(result, -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_string_equal(err.msg, "policy.conf:12: unknown key");
}

static void test_zerr_takes_null(void **state)
{
	(void)state;
	assert_int_equal(zerr_set(NULL, -EPERM, "x"), -EPERM);
	assert_int_equal(zerr_errno(NULL, -EPERM, "x"), -EPERM);
}

static void test_zerr_errno_appends_the_system_text(void **state)
{
	struct zerr err;

	(void)state;
	assert_int_equal(zerr_errno(&err, -ENOENT, "open %s", "/a"), -ENOENT);
	assert_string_equal(err.msg, "open /a: No such file or directory");
	assert_int_equal(zerr_errno(&err, -99999, "open"), -99999);
	assert_string_equal(err.msg, "open: Unknown error 99999");
}

static void test_zerr_cuts_what_does_not_fit(void **state)
{
	struct zerr err;
	char text[2 * ZERR_MSG_MAX];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';

	(void)zerr_set(&err, -EIO, "%s", text);
	assert_int_equal(strlen(err.msg), ZERR_MSG_MAX - 1);
	(void)zerr_errno(&err, -EIO, "%s", text);
	assert_int_equal(strlen(err.msg), ZERR_MSG_MAX - 1);
	(void)zerr_errno(&err, -EIO, "%.*s", ZERR_MSG_MAX - 5, text);
	assert_string_equal(err.msg + ZERR_MSG_MAX - 5, ": In");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zerr_set_fills_code_and_sentence),
		cmocka_unit_test(test_zerr_takes_null),
		cmocka_unit_test(test_zerr_errno_appends_the_system_text),
		cmocka_unit_test(test_zerr_cuts_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

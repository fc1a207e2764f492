/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and cpu forms (known-faults F23). */
#include "unpriv/store/amount.h"
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
/* clang-format off */
#include <cmocka.h>
/* clang-format on */

static void test_memory_is_digits_or_nothing(void **state)
{
	static const struct {
		const char *text;
		int result;
		int64_t mib;
	} cases[] = {
		{"512", 0, 512},
		{"0", 0, 0},
		{"", 0, 0},
		{NULL, 0, 0},
		{"1", 0, 1},
		{"0512", 0, 512},
		{"8796093022207", 0, 8796093022207},
		{"8796093022208", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"512m", -EINVAL, 0},
		{"5 12", -EINVAL, 0},
		{" 512", -EINVAL, 0},
		{"1.5", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t mib = -1;
		int result = amount_memory(cases[i].text, &mib);

		if (result != cases[i].result || mib != cases[i].mib)
			fail_msg("%s: %d, %lld", cases[i].text ? cases[i].text : "NULL", result,
				 (long long)mib);
	}
}

static void test_memory_in_bytes_never_overflows(void **state)
{
	int64_t bytes = -1;

	(void)state;
	assert_int_equal(amount_memory_bytes("8796093022207", &bytes), 0);
	assert_true(bytes == INT64_C(8796093022207) * 1048576);
	assert_int_equal(amount_memory_bytes("8796093022208", &bytes), -ERANGE);
	assert_true(bytes == 0);
	assert_int_equal(amount_memory_bytes("", &bytes), 0);
	assert_true(bytes == 0);
}

static void test_cpu_is_a_finite_number_or_nothing(void **state)
{
	static const struct {
		const char *text;
		int result;
		double cpus;
	} cases[] = {
		{"0", 0, 0},
		{"0.5", 0, 0.5},
		{"1.5", 0, 1.5},
		{NULL, 0, 0},
		{"", 0, 0},
		{"1e-3", 0, 0.001},
		{"1e-05", 0, 0.00001},
		{"16", 0, 16},
		{"NaN", -EINVAL, 0},
		{"Infinity", -EINVAL, 0},
		{"-0.5", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"1,5", -EINVAL, 0},
		{"0x1p3", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1.5.5", -EINVAL, 0},
		{"e", -EINVAL, 0},
		{"1e400", -EINVAL, 0},
		{"2000000", -ERANGE, 0},
		{"1-1", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double cpus = -1;
		int result = amount_cpu(cases[i].text, &cpus);

		if (result != cases[i].result || fabs(cpus - cases[i].cpus) > 1e-12)
			fail_msg("%s: %d, %g", cases[i].text ? cases[i].text : "NULL", result,
				 cpus);
	}
}

static void test_cpu_numbers_follow_the_same_rule(void **state)
{
	double cpus;

	(void)state;
	assert_int_equal(amount_cpu_number(0.25, &cpus), 0);
	assert_true(fabs(cpus - 0.25) < 1e-12);
	assert_int_equal(amount_cpu_number(-1, &cpus), -EINVAL);
	assert_int_equal(amount_cpu_number(NAN, &cpus), -EINVAL);
	assert_int_equal(amount_cpu_number(1e9, &cpus), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_digits_or_nothing),
		cmocka_unit_test(test_memory_in_bytes_never_overflows),
		cmocka_unit_test(test_cpu_is_a_finite_number_or_nothing),
		cmocka_unit_test(test_cpu_numbers_follow_the_same_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

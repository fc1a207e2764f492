/* SPDX-License-Identifier: Apache-2.0 */
/* Strands: one job at a time for each container, in order. */
#include "unpriv/compute/strand.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define FIRST "11111111-1111-1111-1111-111111111111"
#define OTHER "22222222-2222-2222-2222-222222222222"

static void test_strand_lets_the_first_run_and_holds_the_next(void **state)
{
	struct strands *strands = strands_new();
	struct strand_node nodes[3] = {0};

	(void)state;
	assert_int_equal(strands_push(strands, FIRST, &nodes[0]), 1);
	assert_int_equal(strands_push(strands, FIRST, &nodes[1]), 0);
	assert_int_equal(strands_push(strands, FIRST, &nodes[2]), 0);
	assert_true(strands_has(strands, FIRST));
	assert_int_equal(strands_count(strands), 3);

	assert_ptr_equal(strands_pop(strands, &nodes[0]), &nodes[1]);
	assert_ptr_equal(strands_pop(strands, &nodes[1]), &nodes[2]);
	assert_null(strands_pop(strands, &nodes[2]));
	assert_false(strands_has(strands, FIRST));
	assert_int_equal(strands_count(strands), 0);
	strands_free(strands);
}

static void test_strands_of_two_containers_know_nothing_of_each_other(void **state)
{
	struct strands *strands = strands_new();
	struct strand_node a[2] = {0}, b[2] = {0};

	(void)state;
	assert_int_equal(strands_push(strands, FIRST, &a[0]), 1);
	assert_int_equal(strands_push(strands, OTHER, &b[0]), 1);
	assert_int_equal(strands_push(strands, FIRST, &a[1]), 0);
	assert_int_equal(strands_push(strands, OTHER, &b[1]), 0);

	assert_ptr_equal(strands_pop(strands, &b[0]), &b[1]);
	assert_ptr_equal(strands_pop(strands, &a[0]), &a[1]);
	strands_free(strands);
}

static void test_strand_begins_anew_after_it_was_empty(void **state)
{
	struct strands *strands = strands_new();
	struct strand_node node = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(strands_push(strands, FIRST, &node), 1);
		assert_null(strands_pop(strands, &node));
		assert_null(node.strand);
	}
	strands_free(strands);
}

static void test_a_node_may_go_back_to_its_strand_when_it_is_popped(void **state)
{
	struct strands *strands = strands_new();
	struct strand_node nodes[2] = {0};

	(void)state;
	assert_int_equal(strands_push(strands, FIRST, &nodes[0]), 1);
	assert_int_equal(strands_push(strands, FIRST, &nodes[1]), 0);
	assert_ptr_equal(strands_pop(strands, &nodes[0]), &nodes[1]);
	assert_int_equal(strands_push(strands, FIRST, &nodes[0]), 0);
	assert_ptr_equal(strands_pop(strands, &nodes[1]), &nodes[0]);
	strands_free(strands);
}

static void test_ten_thousand_strands_are_told_apart(void **state)
{
	enum { COUNT = 10000 };
	static struct strand_node nodes[COUNT];
	struct strands *strands = strands_new();
	char uuid[UUID_TEXT_SIZE];

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		(void)snprintf(uuid, sizeof(uuid), "%08x-0000-0000-0000-000000000000", i);
		assert_int_equal(strands_push(strands, uuid, &nodes[i]), 1);
	}
	for (unsigned i = 0; i < COUNT; i++)
		assert_null(strands_pop(strands, &nodes[i]));
	assert_int_equal(strands_count(strands), 0);
	strands_free(strands);
}

static void test_strand_refuses_a_name_that_is_no_uuid_in_length(void **state)
{
	struct strands *strands = strands_new();
	struct strand_node node = {0};

	(void)state;
	assert_true(strands_push(strands, FIRST "x", &node) < 0);
	assert_int_equal(strands_count(strands), 0);
	strands_free(strands);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strand_lets_the_first_run_and_holds_the_next),
		cmocka_unit_test(test_strands_of_two_containers_know_nothing_of_each_other),
		cmocka_unit_test(test_strand_begins_anew_after_it_was_empty),
		cmocka_unit_test(test_a_node_may_go_back_to_its_strand_when_it_is_popped),
		cmocka_unit_test(test_ten_thousand_strands_are_told_apart),
		cmocka_unit_test(test_strand_refuses_a_name_that_is_no_uuid_in_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

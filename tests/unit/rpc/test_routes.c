/* SPDX-License-Identifier: Apache-2.0 */
/* Reply queues that are missing: one probe at a time, given up after a while, remembered for a
 * while. */
#include "unpriv/rpc/publisher_routes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define START	100000U
#define TIMEOUT 60000U

static uint64_t next_token;

static struct reply *make(const char *queue, size_t size)
{
	struct reply *reply = calloc(1, sizeof(*reply));

	assert_non_null(reply);
	reply->token = ++next_token;
	reply->size = size;
	reply->fd = -1;
	(void)snprintf(reply->queue, sizeof(reply->queue), "%s", queue);
	return reply;
}

static size_t free_list(struct reply_list *list)
{
	struct reply *reply;
	size_t count = 0;

	while ((reply = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, reply, entry);
		free(reply);
		count++;
	}
	return count;
}

static void test_a_queue_nobody_complained_of_is_free(void **state)
{
	struct routes routes;
	struct route *route;

	(void)state;
	routes_init(&routes, TIMEOUT);
	assert_int_equal(routes_ask(&routes, "q", START, &route), ROUTE_FREE);
	assert_false(routes_missing_any(&routes));
	assert_null(routes_probe(&routes, START));
	routes_free(&routes);
}

static void test_a_missing_queue_is_tried_with_one_reply_every_quarter_second(void **state)
{
	struct reply *first = make("q", 100), *second = make("q", 100);
	struct routes routes;
	struct route *route;

	(void)state;
	routes_init(&routes, TIMEOUT);
	assert_non_null(routes_missing(&routes, first, START));
	assert_int_equal(routes_ask(&routes, "q", START, &route), ROUTE_WAIT);
	routes_hold(route, second);
	assert_null(routes_probe(&routes, START + 249));
	assert_ptr_equal(routes_probe(&routes, START + 250), first);
	assert_null(routes_probe(&routes, START + 10000)); /* one at a time */
	assert_non_null(routes_missing(&routes, first, START + 260));
	assert_null(routes_probe(&routes, START + 509));
	assert_ptr_equal(routes_probe(&routes, START + 510), first);
	free(first);
	assert_ptr_equal(routes_oldest(&routes), second);
	free(second);
	routes_free(&routes);
}

static void test_a_large_reply_is_tried_less_often(void **state)
{
	struct reply *reply = make("q", 16 << 20);
	struct routes routes;

	(void)state;
	routes_init(&routes, TIMEOUT);
	assert_non_null(routes_missing(&routes, reply, START));
	assert_null(routes_probe(&routes, START + 4999));
	assert_ptr_equal(routes_probe(&routes, START + 5000), reply);
	free(reply);
	routes_free(&routes);
}

static void test_all_that_waited_goes_on_in_order_when_the_queue_is_found(void **state)
{
	struct reply *replies[3] = {make("q", 1), make("q", 1), make("q", 1)};
	struct reply_list front = TAILQ_HEAD_INITIALIZER(front);
	struct routes routes;
	struct route *route;

	(void)state;
	routes_init(&routes, TIMEOUT);
	/* Returned in another order than they were sent. */
	route = routes_missing(&routes, replies[2], START);
	assert_non_null(routes_missing(&routes, replies[1], START));
	assert_non_null(route);
	assert_ptr_equal(routes_missing(&routes, replies[0], START), route);
	assert_ptr_equal(routes_probe(&routes, START + 250), replies[0]);
	routes_found(&routes, "q", &front);
	assert_ptr_equal(TAILQ_FIRST(&front), replies[1]);
	assert_int_equal(free_list(&front), 2);
	free(replies[0]);
	assert_int_equal(routes_ask(&routes, "q", START, &route), ROUTE_FREE);
	routes_free(&routes);
}

static void test_a_queue_is_given_up_after_its_time_and_remembered(void **state)
{
	struct reply *reply = make("q", 1);
	struct reply_list lost = TAILQ_HEAD_INITIALIZER(lost);
	struct routes routes;
	struct route *route;

	(void)state;
	routes_init(&routes, TIMEOUT);
	assert_non_null(routes_missing(&routes, reply, START));
	assert_null(routes_expire(&routes, START + TIMEOUT - 1, &lost));
	/* Not while a probe is on its way: it may arrive. */
	assert_ptr_equal(routes_probe(&routes, START + TIMEOUT), reply);
	assert_null(routes_expire(&routes, START + TIMEOUT, &lost));
	assert_non_null(routes_missing(&routes, reply, START + TIMEOUT));
	assert_non_null(routes_expire(&routes, START + TIMEOUT, &lost));
	assert_int_equal(free_list(&lost), 1);
	assert_null(routes_expire(&routes, START + TIMEOUT, &lost));
	assert_false(routes_missing_any(&routes));
	assert_int_equal(routes_ask(&routes, "q", START + TIMEOUT + 59999, &route), ROUTE_GONE);
	assert_int_equal(routes_ask(&routes, "q", START + TIMEOUT + 60000, &route), ROUTE_FREE);
	routes_free(&routes);
}

static void test_no_more_given_up_queues_are_remembered_than_the_maximum(void **state)
{
	struct reply_list lost = TAILQ_HEAD_INITIALIZER(lost);
	struct routes routes;
	struct route *route;
	char name[16];

	(void)state;
	routes_init(&routes, TIMEOUT);
	for (unsigned i = 0; i <= ROUTES_GIVEN_UP_MAX; i++) {
		(void)snprintf(name, sizeof(name), "q%u", i);
		assert_non_null(routes_missing(&routes, make(name, 1), START));
	}
	while (routes_expire(&routes, START + TIMEOUT, &lost))
		;
	assert_int_equal(free_list(&lost), ROUTES_GIVEN_UP_MAX + 1);
	assert_int_equal(routes.given_up, ROUTES_GIVEN_UP_MAX);
	assert_int_equal(routes_ask(&routes, "q0", START + TIMEOUT, &route), ROUTE_FREE);
	assert_int_equal(routes_ask(&routes, "q1", START + TIMEOUT, &route), ROUTE_GONE);
	routes_free(&routes);
}

static void test_a_lost_connection_forgets_probes(void **state)
{
	struct reply *alone = make("a", 1), *pair[2] = {make("b", 1), make("b", 1)};
	struct routes routes;
	struct route *route;

	(void)state;
	routes_init(&routes, TIMEOUT);
	assert_non_null(routes_missing(&routes, alone, START));
	assert_non_null(routes_missing(&routes, pair[0], START));
	assert_int_equal(routes_ask(&routes, "b", START, &route), ROUTE_WAIT);
	routes_hold(route, pair[1]);
	assert_ptr_equal(routes_probe(&routes, START + 250), alone);
	assert_ptr_equal(routes_probe(&routes, START + 250), pair[0]);
	routes_lost(&routes);
	assert_int_equal(routes_ask(&routes, "a", START, &route), ROUTE_FREE);
	assert_ptr_equal(routes_probe(&routes, START + 250), pair[1]);
	free(alone);
	free(pair[0]);
	free(pair[1]);
	routes_free(&routes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_queue_nobody_complained_of_is_free),
		cmocka_unit_test(test_a_missing_queue_is_tried_with_one_reply_every_quarter_second),
		cmocka_unit_test(test_a_large_reply_is_tried_less_often),
		cmocka_unit_test(test_all_that_waited_goes_on_in_order_when_the_queue_is_found),
		cmocka_unit_test(test_a_queue_is_given_up_after_its_time_and_remembered),
		cmocka_unit_test(test_no_more_given_up_queues_are_remembered_than_the_maximum),
		cmocka_unit_test(test_a_lost_connection_forgets_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reply queues that were not there: the publisher's memory of them.  No privilege. */
#include "unpriv/rpc/publisher_routes.h"
#include <stdlib.h>
#include <string.h>

void routes_init(struct routes *routes, uint64_t timeout_ms)
{
	TAILQ_INIT(&routes->list);
	routes->given_up = 0;
	routes->timeout_ms = timeout_ms;
}

static struct route *find(struct routes *routes, const char *queue)
{
	struct route *route;

	for (route = TAILQ_FIRST(&routes->list); route; route = TAILQ_NEXT(route, entry))
		if (strcmp(route->queue, queue) == 0)
			return route;
	return NULL;
}

static void forget(struct routes *routes, struct route *route)
{
	if (route->given_up)
		routes->given_up--;
	TAILQ_REMOVE(&routes->list, route, entry);
	free(route);
}

enum route_word routes_ask(struct routes *routes, const char *queue, uint64_t now_ms,
			   struct route **route)
{
	*route = find(routes, queue);
	if (!*route)
		return ROUTE_FREE;
	if (!(*route)->given_up)
		return ROUTE_WAIT;
	if (now_ms - (*route)->since_ms < ROUTE_FORGET_MS)
		return ROUTE_GONE;
	forget(routes, *route);
	*route = NULL;
	return ROUTE_FREE;
}

/* Tries grow rarer with the size of what each of them sends. */
static uint64_t pause_for(const struct reply *reply)
{
	uint64_t pause = ROUTE_RETRY_MS * (1 + reply->size / ROUTE_PROBE_BYTES);

	return pause < ROUTE_RETRY_MAX_MS ? pause : ROUTE_RETRY_MAX_MS;
}

/* In the order in which they came. */
static void insert_in_order(struct reply_list *list, struct reply *reply)
{
	struct reply *later;

	for (later = TAILQ_FIRST(list); later; later = TAILQ_NEXT(later, entry)) {
		if (later->token > reply->token) {
			TAILQ_INSERT_BEFORE(later, reply, entry);
			return;
		}
	}
	TAILQ_INSERT_TAIL(list, reply, entry);
}

struct route *routes_missing(struct routes *routes, struct reply *reply, uint64_t now_ms)
{
	struct route *route = find(routes, reply->queue);

	if (!route) {
		route = calloc(1, sizeof(*route));
		if (!route)
			return NULL;
		TAILQ_INIT(&route->waiting);
		memcpy(route->queue, reply->queue, sizeof(route->queue));
		route->since_ms = now_ms;
		TAILQ_INSERT_TAIL(&routes->list, route, entry);
	}
	route->probing = false;
	route->next_ms = now_ms + pause_for(reply);
	insert_in_order(&route->waiting, reply);
	return route;
}

void routes_hold(struct route *route, struct reply *reply)
{
	TAILQ_INSERT_TAIL(&route->waiting, reply, entry);
}

void routes_found(struct routes *routes, const char *queue, struct reply_list *front)
{
	struct route *route = find(routes, queue);
	struct reply *reply;

	if (!route || route->given_up)
		return;
	while ((reply = TAILQ_LAST(&route->waiting, reply_list)) != NULL) {
		TAILQ_REMOVE(&route->waiting, reply, entry);
		TAILQ_INSERT_HEAD(front, reply, entry);
	}
	forget(routes, route);
}

struct reply *routes_probe(struct routes *routes, uint64_t now_ms)
{
	struct route *route;

	for (route = TAILQ_FIRST(&routes->list); route; route = TAILQ_NEXT(route, entry)) {
		struct reply *reply = TAILQ_FIRST(&route->waiting);

		if (route->given_up || route->probing || !reply || now_ms < route->next_ms)
			continue;
		route->probing = true;
		TAILQ_REMOVE(&route->waiting, reply, entry);
		return reply;
	}
	return NULL;
}

/* Keeps the memory of given-up queues within its bound: the oldest goes. */
static void forget_oldest(struct routes *routes)
{
	struct route *route;

	for (route = TAILQ_FIRST(&routes->list); route; route = TAILQ_NEXT(route, entry)) {
		if (!route->given_up)
			continue;
		forget(routes, route);
		return;
	}
}

const struct route *routes_expire(struct routes *routes, uint64_t now_ms, struct reply_list *lost)
{
	struct route *route;

	for (route = TAILQ_FIRST(&routes->list); route; route = TAILQ_NEXT(route, entry)) {
		if (route->given_up || route->probing ||
		    now_ms - route->since_ms < routes->timeout_ms)
			continue;
		TAILQ_CONCAT(lost, &route->waiting, entry);
		if (routes->given_up == ROUTES_GIVEN_UP_MAX)
			forget_oldest(routes);
		route->given_up = true;
		route->since_ms = now_ms;
		routes->given_up++;
		/* At the end of the list, so that the oldest of them is met first. */
		TAILQ_REMOVE(&routes->list, route, entry);
		TAILQ_INSERT_TAIL(&routes->list, route, entry);
		return route;
	}
	return NULL;
}

void routes_unsent(struct routes *routes, const char *queue)
{
	struct route *route = find(routes, queue);

	if (route)
		route->probing = false;
}

void routes_lost(struct routes *routes)
{
	struct route *route, *next;

	for (route = TAILQ_FIRST(&routes->list); route; route = next) {
		next = TAILQ_NEXT(route, entry);
		route->probing = false;
		/* Its only reply was on its way and goes back to the queue: nothing is known any
		 * more. */
		if (!route->given_up && TAILQ_EMPTY(&route->waiting))
			forget(routes, route);
	}
}

struct reply *routes_oldest(struct routes *routes)
{
	struct route *route;
	struct reply *oldest = NULL;
	struct route *its = NULL;

	for (route = TAILQ_FIRST(&routes->list); route; route = TAILQ_NEXT(route, entry)) {
		struct reply *reply = TAILQ_FIRST(&route->waiting);

		if (reply && (!oldest || reply->token < oldest->token)) {
			oldest = reply;
			its = route;
		}
	}
	if (oldest)
		TAILQ_REMOVE(&its->waiting, oldest, entry);
	return oldest;
}

bool routes_missing_any(const struct routes *routes)
{
	const struct route *route;

	for (route = TAILQ_FIRST(&routes->list); route; route = TAILQ_NEXT(route, entry))
		if (!route->given_up)
			return true;
	return false;
}

void routes_free(struct routes *routes)
{
	struct route *route;

	while ((route = TAILQ_FIRST(&routes->list)) != NULL)
		forget(routes, route);
}

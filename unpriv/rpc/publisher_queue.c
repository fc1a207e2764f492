/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher's lists: what waits, what is on its way, what is to be tried
 * again.  No privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/publisher_private.h"

/* Known-faults R4: caps on what is held; beyond them the oldest goes. */
#define HELD_MAX  900
#define BYTES_MAX ((uint64_t)64 << 20)
/* Enough to keep a distant broker busy, few enough to be sent again in no time after a break. */
#define SENT_MAX 256
/* Bodies are coded one after another, so that memory stays flat. */
#define OUTPUT_ENOUGH ((size_t)256 << 10)
/* A confirm that does not come though the broker takes messages: the connection is no good. */
#define CONFIRM_DEADLINE_MS 60000
#define TELL_MS		    10000

static void remove_sent(struct publisher *publisher, struct reply *reply)
{
	TAILQ_REMOVE(&publisher->sent, reply, entry);
	publisher->sent_count--;
}

static void drop(struct publisher *publisher, struct reply *reply)
{
	publisher_answer(publisher, reply, PUBLISHER_DROPPED);
}

/* The oldest of all: it is the one whose caller has waited the longest. */
static struct reply *take_oldest(struct publisher *publisher)
{
	struct reply *reply = TAILQ_FIRST(&publisher->queued);

	if (reply) {
		TAILQ_REMOVE(&publisher->queued, reply, entry);
		return reply;
	}
	reply = routes_oldest(&publisher->routes);
	if (reply)
		return reply;
	reply = TAILQ_FIRST(&publisher->sent);
	if (reply) {
		remove_sent(publisher, reply);
		routes_unsent(&publisher->routes, reply->queue);
	}
	return reply;
}

void publisher_add(struct publisher *publisher, struct reply *reply)
{
	while (publisher->held > 0 &&
	       (publisher->held >= HELD_MAX || publisher->bytes + reply->size > BYTES_MAX)) {
		struct reply *oldest = take_oldest(publisher);

		if (!oldest)
			break;
		publisher->overflowed++;
		drop(publisher, oldest);
	}
	publisher->held++;
	publisher->bytes += reply->size;
	TAILQ_INSERT_TAIL(&publisher->queued, reply, entry);
}

static bool may_send(const struct publisher *publisher)
{
	return publisher->ready && !publisher->blocked && publisher->sent_count < SENT_MAX &&
	       amqp_client_waiting(publisher->client) < OUTPUT_ENOUGH;
}

/* Sends one reply that is in no list.  False: not now, it is in front of the queue again. */
static bool send_one(struct publisher *publisher, struct reply *reply)
{
	int result = publisher_send(publisher, reply);

	if (result == 0) {
		reply->tag = publisher->next_tag++;
		reply->returned = false;
		TAILQ_INSERT_TAIL(&publisher->sent, reply, entry);
		publisher->sent_count++;
		return true;
	}
	routes_unsent(&publisher->routes, reply->queue);
	if (result == -EFBIG) {
		publisher_answer(publisher, reply, PUBLISHER_TOO_LARGE);
		return true;
	}
	TAILQ_INSERT_HEAD(&publisher->queued, reply, entry);
	return false;
}

void publisher_pump(struct publisher *publisher)
{
	struct reply *reply;

	while (may_send(publisher) && (reply = TAILQ_FIRST(&publisher->queued)) != NULL) {
		struct route *route;
		enum route_word word =
			routes_ask(&publisher->routes, reply->queue, zfd_now_ms(), &route);

		TAILQ_REMOVE(&publisher->queued, reply, entry);
		if (word == ROUTE_GONE || (word == ROUTE_WAIT && reply->fleeting))
			drop(publisher, reply);
		else if (word == ROUTE_WAIT)
			routes_hold(route, reply);
		else if (!send_one(publisher, reply))
			return;
	}
}

/* What became of a reply that was on its way; it is in no list. */
static void settle(struct publisher *publisher, struct reply *reply, bool taken)
{
	if (taken && !reply->returned) {
		routes_found(&publisher->routes, reply->queue, &publisher->queued);
		publisher_answer(publisher, reply, PUBLISHER_DONE);
	} else if (reply->fleeting || !routes_missing(&publisher->routes, reply, zfd_now_ms())) {
		routes_unsent(&publisher->routes, reply->queue);
		drop(publisher, reply);
	}
}

void publisher_confirmed(struct publisher *publisher, uint64_t tag, bool multiple, bool taken)
{
	struct reply *reply, *next;

	for (reply = TAILQ_FIRST(&publisher->sent); reply && reply->tag <= tag; reply = next) {
		next = TAILQ_NEXT(reply, entry);
		if (reply->tag != tag && !multiple)
			continue;
		remove_sent(publisher, reply);
		settle(publisher, reply, taken);
	}
}

void publisher_returned(struct publisher *publisher, amqp_bytes_t queue)
{
	struct reply *reply;

	/* Returns come in the order of publishing, so it is the first one to that queue. */
	for (reply = TAILQ_FIRST(&publisher->sent); reply; reply = TAILQ_NEXT(reply, entry)) {
		if (reply->returned || strlen(reply->queue) != queue.len ||
		    memcmp(reply->queue, queue.bytes, queue.len) != 0)
			continue;
		reply->returned = true;
		return;
	}
}

static struct reply *largest_sent(struct publisher *publisher)
{
	struct reply *reply, *largest = NULL;

	for (reply = TAILQ_FIRST(&publisher->sent); reply; reply = TAILQ_NEXT(reply, entry))
		if (!largest || reply->size > largest->size)
			largest = reply;
	return largest;
}

void publisher_unsent(struct publisher *publisher, bool too_large)
{
	struct reply *reply = too_large ? largest_sent(publisher) : NULL;

	if (reply) {
		remove_sent(publisher, reply);
		publisher_answer(publisher, reply, PUBLISHER_TOO_LARGE);
	}
	while ((reply = TAILQ_LAST(&publisher->sent, reply_list)) != NULL) {
		remove_sent(publisher, reply);
		TAILQ_INSERT_HEAD(&publisher->queued, reply, entry);
	}
	routes_lost(&publisher->routes);
	publisher->next_tag = 1;
}

/* Queues that stayed away: one line for each, and its replies are dropped. */
static void give_up(struct publisher *publisher, uint64_t now_ms)
{
	const struct route *route;

	for (;;) {
		struct reply_list lost = TAILQ_HEAD_INITIALIZER(lost);
		struct reply *reply;
		unsigned count = 0;

		route = routes_expire(&publisher->routes, now_ms, &lost);
		if (!route)
			return;
		while ((reply = TAILQ_FIRST(&lost)) != NULL) {
			TAILQ_REMOVE(&lost, reply, entry);
			drop(publisher, reply);
			count++;
		}
		zlog_warning("reply queue %s: does not exist: %u replies dropped, later ones too",
			     route->queue, count);
	}
}

static void drop_late(struct publisher *publisher, struct reply_list *list, uint64_t now_ms)
{
	struct reply *reply, *next;

	for (reply = TAILQ_FIRST(list); reply; reply = next) {
		next = TAILQ_NEXT(reply, entry);
		if (now_ms - reply->since_ms < publisher->deadline_ms)
			continue;
		if (list == &publisher->sent) {
			remove_sent(publisher, reply);
			routes_unsent(&publisher->routes, reply->queue);
		} else {
			TAILQ_REMOVE(list, reply, entry);
		}
		publisher->late++;
		drop(publisher, reply);
	}
}

static void tell(struct publisher *publisher, uint64_t now_ms)
{
	if (now_ms - publisher->told_ms < TELL_MS ||
	    (publisher->late == 0 && publisher->overflowed == 0))
		return;
	zlog_warning("replies: %u dropped because the message broker did not take them in time, "
		     "%u because too many waited",
		     publisher->late, publisher->overflowed);
	publisher->late = publisher->overflowed = 0;
	publisher->told_ms = now_ms;
}

void publisher_tick(struct publisher *publisher, uint64_t now_ms)
{
	const struct reply *first = TAILQ_FIRST(&publisher->sent);
	struct reply *reply;

	if (first && !publisher->blocked && now_ms - publisher->blocked_ms > CONFIRM_DEADLINE_MS &&
	    now_ms - first->since_ms > CONFIRM_DEADLINE_MS)
		amqp_client_reconnect(publisher->client, "no confirmation within 60 s");
	drop_late(publisher, &publisher->sent, now_ms);
	drop_late(publisher, &publisher->queued, now_ms);
	give_up(publisher, now_ms);
	while (may_send(publisher) && (reply = routes_probe(&publisher->routes, now_ms)) != NULL)
		if (!send_one(publisher, reply))
			break;
	tell(publisher, now_ms);
	publisher_pump(publisher);
}

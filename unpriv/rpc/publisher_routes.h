/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reply queues that were not there (known-faults F08).  A queue that is missing
 * is tried again with one reply at a time, while the others for it wait; one
 * that was missing for too long is given up, and remembered for a while.
 * Runs in the publisher; no system calls, time is passed in.
 */
#pragma once
#include "unpriv/base/job.h"
#include <stddef.h>
#include <sys/queue.h>

#define ROUTE_RETRY_MS	    250U
#define ROUTE_FORGET_MS	    60000U /* how long a queue stays given up */
#define ROUTES_GIVEN_UP_MAX 200
/* A probe carries the whole reply: larger ones are tried less often. */
#define ROUTE_PROBE_BYTES  65536U
#define ROUTE_RETRY_MAX_MS 5000U

TAILQ_HEAD(reply_list, reply);

struct reply {
	TAILQ_ENTRY(reply) entry;
	uint64_t token;
	uint64_t since_ms; /* when it came */
	uint64_t tag;	   /* delivery tag, while sent */
	size_t size;	   /* of the inner text */
	int fd;		   /* owned */
	bool fleeting;
	bool returned; /* the broker had no queue for it */
	char queue[JOB_ID_MAX + 1];
};

struct route {
	TAILQ_ENTRY(route) entry;
	struct reply_list waiting;
	uint64_t since_ms; /* first return; when given up: the moment of that */
	uint64_t next_ms;  /* next try */
	bool probing;	   /* one of its replies is on its way */
	bool given_up;
	char queue[JOB_ID_MAX + 1];
};

TAILQ_HEAD(route_list, route);

struct routes {
	struct route_list list;
	size_t given_up;     /* how many of them */
	uint64_t timeout_ms; /* how long a queue may be missing */
};

enum route_word { ROUTE_FREE, ROUTE_WAIT, ROUTE_GONE };

void routes_init(struct routes *routes, uint64_t timeout_ms);
/* May a reply to queue be sent (FREE), must it wait (WAIT; *route to give it to routes_hold), or is
 * it lost? */
enum route_word routes_ask(struct routes *routes, const char *queue, uint64_t now_ms,
			   struct route **route);
/* The broker had no queue for reply: it waits there.  Returns its route, or NULL for lack of
 * memory. */
struct route *routes_missing(struct routes *routes, struct reply *reply, uint64_t now_ms);
void routes_hold(struct route *route, struct reply *reply);
/* A reply to queue arrived: those that waited are moved to the front of queue_list. */
void routes_found(struct routes *routes, const char *queue, struct reply_list *front);
/* The next reply to try again at now_ms (removed from its route), or NULL. */
struct reply *routes_probe(struct routes *routes, uint64_t now_ms);
/* A route that has been missing for too long: its replies are moved to lost; NULL when there is
 * none. The route returned is borrowed, for its name. */
const struct route *routes_expire(struct routes *routes, uint64_t now_ms, struct reply_list *lost);
/* A reply on its way to queue was given up: it was the probe, if there was one. */
void routes_unsent(struct routes *routes, const char *queue);
/* The connection is gone: no probe is on its way any more. */
void routes_lost(struct routes *routes);
/* The oldest reply that waits (removed), or NULL. */
struct reply *routes_oldest(struct routes *routes);
bool routes_missing_any(const struct routes *routes);
void routes_free(struct routes *routes);

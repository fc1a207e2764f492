/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the publisher_*.c files only. */
#pragma once
#include "unpriv/rpc/amqp_client.h"
#include "unpriv/rpc/publisher.h"
#include "unpriv/rpc/publisher_routes.h"

struct publisher {
	struct loop *loop;
	const struct config *config;
	struct amqp_client *client;
	int socket; /* to the dispatcher, owned */
	bool ready; /* the channel is open and in confirm mode */
	bool blocked;
	bool ending;
	struct reply_list queued; /* not sent yet, or to be sent again */
	struct reply_list sent;	  /* in the order of their tags */
	size_t sent_count;
	struct routes routes;
	size_t held;	/* replies in all lists */
	uint64_t bytes; /* of them */
	uint64_t next_tag;
	uint64_t deadline_ms;	   /* the age at which a reply is of no use any more */
	uint64_t blocked_ms;	   /* when blocking began or ended */
	unsigned late, overflowed; /* dropped since the last line about it */
	uint64_t told_ms;
	int64_t tick_timer;
	bool hurried; /* the tick is a short one */
};

/* publisher_queue.c */
/* A reply came from the dispatcher; takes it. */
void publisher_add(struct publisher *publisher, struct reply *reply);
/* Sends what may be sent. */
void publisher_pump(struct publisher *publisher);
/* The broker confirmed (or refused) tag, or all up to tag. */
void publisher_confirmed(struct publisher *publisher, uint64_t tag, bool multiple, bool taken);
/* The broker had no queue of this name. */
void publisher_returned(struct publisher *publisher, amqp_bytes_t queue);
/* The channel is gone; the largest reply on its way was what closed it, when too_large. */
void publisher_unsent(struct publisher *publisher, bool too_large);
/* Retries, deadlines. */
void publisher_tick(struct publisher *publisher, uint64_t now_ms);

/* publisher_send.c: 0, or a negative errno: -EAGAIN later, -EFBIG never. */
int publisher_send(struct publisher *publisher, struct reply *reply);
/* Tells the dispatcher, and frees reply, which is in no list. */
void publisher_answer(struct publisher *publisher, struct reply *reply,
		      enum publisher_outcome outcome);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consuming requests from the message broker: the three queues of an
 * oslo.messaging server (contract oslo-messaging-wire.md §3 and §9), each on a
 * channel of its own, so that trouble with one does not touch the others.
 * Runs in the dispatcher.
 */
#pragma once
#include "unpriv/rpc/amqp_client.h"

struct consumer;

/* Where a message came from.  Void once its channel was closed: the broker delivers the message
 * again. */
struct consumer_delivery {
	uint64_t tag;
	uint32_t generation; /* of the channel; 0 = none */
	uint16_t channel;
};

struct consumer_message {
	struct consumer_delivery delivery;
	int body; /* sealed memfd, owned by whom it is given to */
	uint64_t length;
	char content_type[64]; /* "" when absent or longer */
	bool redelivered;
};

struct consumer_handlers {
	/* A whole message; takes message->body. */
	void (*message)(void *context, const struct consumer_message *message);
	/* The host's own queue is being consumed, or no longer. */
	void (*consuming)(void *context, bool consuming);
	/* consumer_close is done; the consumer must not be freed in it. */
	void (*closed)(void *context);
};

struct consumer_counters {
	uint64_t received, oversized; /* messages */
	uint64_t cancelled;	      /* times that the broker took a consumer away */
};

/* Owned; NULL with *err. */
struct consumer *consumer_new(struct loop *loop, const struct config *config,
			      const struct consumer_handlers *handlers, void *context,
			      struct zerr *err);
void consumer_free(struct consumer *consumer);
/* Connects, so that the connection's health is known; takes no message yet. */
void consumer_connect(struct consumer *consumer);
/* From now on declares the queues and takes messages. */
void consumer_begin(struct consumer *consumer);
/* Acknowledge or refuse (without requeue) a message.  A void delivery is ignored. */
void consumer_ack(struct consumer *consumer, const struct consumer_delivery *delivery);
void consumer_reject(struct consumer *consumer, const struct consumer_delivery *delivery);
/* False when the broker will deliver the message again. */
bool consumer_holds(const struct consumer *consumer, const struct consumer_delivery *delivery);
/* True while the broker was heard within two heartbeats (known-faults F02). */
bool consumer_is_alive(const struct consumer *consumer);
bool consumer_is_consuming(const struct consumer *consumer);
/* Stops or resumes reading from the broker, when too much is held here. */
void consumer_pause(struct consumer *consumer, bool paused);
/* Takes no further messages; acknowledging goes on. */
void consumer_cancel(struct consumer *consumer);
/* Deletes the fanout queue, closes channels and connection, calls closed. */
void consumer_close(struct consumer *consumer);
const struct consumer_counters *consumer_count(const struct consumer *consumer);
/* For tests and fuzzing. */
struct amqp_client *consumer_client(struct consumer *consumer);

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the consumer_*.c files only. */
#pragma once
#include "unpriv/rpc/consumer.h"

#define CONSUMER_CHANNELS 3

enum channel_state {
	CHANNEL_CLOSED,	 /* waits for retry_ms, or for the connection */
	CHANNEL_OPENING, /* each of these waits for one answer */
	CHANNEL_EXCHANGE,
	CHANNEL_QUEUE,
	CHANNEL_BIND,
	CHANNEL_QOS,
	CHANNEL_CONSUME,
	CHANNEL_CONSUMING,
	CHANNEL_CLOSING, /* closed by us: what still comes is the past; opened again after the
			    answer */
	CHANNEL_CANCEL,	 /* stopping: answers of a check may still come */
	CHANNEL_DELETE,
	CHANNEL_STOPPED /* cancelled for good; deliveries stay acknowledgeable */
};

/* A message that is coming in, frame by frame. */
struct incoming {
	bool expected; /* a deliver came: its header must follow */
	bool arriving; /* the header came: length - received bytes must follow */
	bool dropped;  /* its bytes are not kept */
	uint64_t received;
	struct consumer_message message; /* body -1 while none */
};

struct consumer_channel {
	struct consumer *consumer;
	uint16_t number; /* 1 … CONSUMER_CHANNELS */
	bool fanout;
	char queue[AMQP_WIRE_TEXT_MAX + 1], exchange[AMQP_WIRE_TEXT_MAX + 1];
	char key[AMQP_WIRE_TEXT_MAX + 1], tag[4];
	enum channel_state state;
	bool exchange_as_is; /* another one than ours exists: use it undeclared (known-faults F09)
			      */
	bool checking;	     /* consuming, and declaring again to see whether all is still there */
	bool faulty;	     /* its last declaration failed; logged */
	unsigned failures;
	uint32_t generation;
	uint32_t consumers; /* of the queue, as last declared */
	uint64_t asked_ms;  /* when the answer that is waited for was asked for */
	uint64_t retry_ms;  /* CHANNEL_CLOSED: when to open; 0 = with the connection */
	uint64_t check_ms;  /* CHANNEL_CONSUMING: when to check */
	struct incoming incoming;
};

struct consumer {
	struct loop *loop;
	const struct config *config;
	const struct consumer_handlers *handlers;
	void *context;
	struct amqp_client *client;
	struct consumer_channel channels[CONSUMER_CHANNELS];
	bool begun, cancelled, closing, was_consuming;
	uint32_t generation;
	int64_t tick_timer;
	struct consumer_counters counters;
};

/* consumer_declare.c: each sends one method.  0 or a negative errno. */
int consumer_declare_exchange(struct consumer_channel *channel);
int consumer_declare_queue(struct consumer_channel *channel);
int consumer_bind(struct consumer_channel *channel);
int consumer_limit(struct consumer_channel *channel);
int consumer_consume(struct consumer_channel *channel);
/* How we declare the channel's queue, for the log. */
void consumer_describe(const struct consumer_channel *channel, char *out, size_t size);

/* consumer_channel.c */
void consumer_channel_open(struct consumer_channel *channel);
/* The connection is gone. */
void consumer_channel_lost(struct consumer_channel *channel);
void consumer_channel_method(struct consumer_channel *channel, uint32_t id, const void *method);
void consumer_channel_tick(struct consumer_channel *channel, uint64_t now_ms);
void consumer_channel_cancel(struct consumer_channel *channel);
void consumer_channel_delete(struct consumer_channel *channel);

/* consumer_content.c */
void consumer_content_deliver(struct consumer_channel *channel,
			      const amqp_basic_deliver_t *deliver);
void consumer_content_header(struct consumer_channel *channel,
			     const struct amqp_wire_content *content);
void consumer_content_body(struct consumer_channel *channel, const uint8_t *data, size_t length);
void consumer_content_forget(struct consumer_channel *channel);

/* consumer.c: a channel's state changed. */
void consumer_changed(struct consumer *consumer);
/* consumer.c: the fanout queue is gone; end the connection. */
void consumer_finish(struct consumer *consumer);

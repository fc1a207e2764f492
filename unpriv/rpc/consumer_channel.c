/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One queue of the consumer, on a channel of its own: open, declare, bind,
 * consume, check, and again from the start whenever the broker takes any of it
 * away (known-faults F01, F09).  Runs in the dispatcher, without a privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/consumer_private.h"

#define ANSWER_DEADLINE_MS 15000
/* Known-faults F01: consuming again within 10 s after the queue can be declared. */
#define RETRY_FIRST_MS	1000U
#define RETRY_MAX_MS	8000U
#define CHECK_MS	60000
#define REASON_MAX	200
#define DESCRIPTION_MAX 256
/* A queue that is not to be had on this host may be on another: after so many tries. */
#define TRIES_A_HOST 2U

/* Enters state after its request was sent, or gives the connection up when it could not be. */
static void wait_for(struct consumer_channel *channel, enum channel_state state, int sent)
{
	channel->state = state;
	channel->asked_ms = zfd_now_ms();
	if (sent < 0)
		amqp_client_reconnect(channel->consumer->client, strerror(-sent));
}

void consumer_channel_open(struct consumer_channel *channel)
{
	amqp_channel_open_t open = {0};

	consumer_content_forget(channel);
	channel->generation = ++channel->consumer->generation;
	channel->checking = false;
	channel->retry_ms = 0;
	wait_for(channel, CHANNEL_OPENING,
		 amqp_client_send(channel->consumer->client, channel->number,
				  AMQP_CHANNEL_OPEN_METHOD, &open));
}

void consumer_channel_lost(struct consumer_channel *channel)
{
	consumer_content_forget(channel);
	channel->generation = 0;
	channel->retry_ms = 0;
	if (channel->state != CHANNEL_STOPPED)
		channel->state = CHANNEL_CLOSED;
}

static void declare(struct consumer_channel *channel)
{
	if (channel->exchange_as_is)
		wait_for(channel, CHANNEL_QUEUE, consumer_declare_queue(channel));
	else
		wait_for(channel, CHANNEL_EXCHANGE, consumer_declare_exchange(channel));
}

/* Closes and opens the channel anew: nothing that it was, or half was, is left. */
static void restart(struct consumer_channel *channel, const char *why)
{
	amqp_channel_close_t close = {.reply_code = 200};

	zlog_warning("queue %s: %s: consuming it anew", channel->queue, why);
	channel->generation = 0;
	consumer_content_forget(channel);
	wait_for(channel, CHANNEL_CLOSING,
		 amqp_client_send(channel->consumer->client, channel->number,
				  AMQP_CHANNEL_CLOSE_METHOD, &close));
	consumer_changed(channel->consumer);
}

static void established(struct consumer_channel *channel, const void *method)
{
	(void)method;
	if (channel->faulty)
		zlog_info("queue %s: consumed again", channel->queue);
	else
		zlog_debug("queue %s: consumed", channel->queue);
	channel->faulty = false;
	channel->failures = 0;
	channel->state = CHANNEL_CONSUMING;
	channel->check_ms = zfd_now_ms() + CHECK_MS;
	consumer_changed(channel->consumer);
}

/* After the binding: a check ends here, a beginning goes on. */
static void bound(struct consumer_channel *channel, const void *method)
{
	(void)method;
	if (!channel->checking) {
		wait_for(channel, CHANNEL_QOS, consumer_limit(channel));
		return;
	}
	channel->checking = false;
	channel->state = CHANNEL_CONSUMING;
	channel->check_ms = zfd_now_ms() + CHECK_MS;
	/* Other hosts' agents share the topic queue; on the two others we are the only one. */
	if (channel->consumers == 0)
		restart(channel, "the broker lost its consumer");
}

static void opened(struct consumer_channel *channel, const void *method)
{
	(void)method;
	declare(channel);
}

static void exchange_declared(struct consumer_channel *channel, const void *method)
{
	(void)method;
	wait_for(channel, CHANNEL_QUEUE, consumer_declare_queue(channel));
}

static void queue_declared(struct consumer_channel *channel, const void *method)
{
	channel->consumers = ((const amqp_queue_declare_ok_t *)method)->consumer_count;
	wait_for(channel, CHANNEL_BIND, consumer_bind(channel));
}

static void limited(struct consumer_channel *channel, const void *method)
{
	(void)method;
	wait_for(channel, CHANNEL_CONSUME, consumer_consume(channel));
}

static void closed(struct consumer_channel *channel, const void *method)
{
	(void)method;
	consumer_channel_open(channel);
}

static void cancelled(struct consumer_channel *channel, const void *method)
{
	(void)method;
	channel->state = CHANNEL_STOPPED;
}

static void deleted(struct consumer_channel *channel, const void *method)
{
	(void)method;
	consumer_finish(channel->consumer);
}

/* What is waited for in each state, and what follows. */
static const struct {
	enum channel_state state;
	uint32_t answer;
	void (*then)(struct consumer_channel *channel, const void *method);
} steps[] = {
	{CHANNEL_OPENING, AMQP_CHANNEL_OPEN_OK_METHOD, opened},
	{CHANNEL_EXCHANGE, AMQP_EXCHANGE_DECLARE_OK_METHOD, exchange_declared},
	{CHANNEL_QUEUE, AMQP_QUEUE_DECLARE_OK_METHOD, queue_declared},
	{CHANNEL_BIND, AMQP_QUEUE_BIND_OK_METHOD, bound},
	{CHANNEL_QOS, AMQP_BASIC_QOS_OK_METHOD, limited},
	{CHANNEL_CONSUME, AMQP_BASIC_CONSUME_OK_METHOD, established},
	{CHANNEL_CLOSING, AMQP_CHANNEL_CLOSE_OK_METHOD, closed},
	{CHANNEL_CANCEL, AMQP_BASIC_CANCEL_OK_METHOD, cancelled},
	{CHANNEL_DELETE, AMQP_QUEUE_DELETE_OK_METHOD, deleted},
};

/* An answer, if it is the one that is waited for. */
static void serve_answer(struct consumer_channel *channel, uint32_t id, const void *method)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i].state == channel->state && steps[i].answer == id) {
			steps[i].then(channel, method);
			return;
		}
	}
	/* While stopping, answers to what was asked before are the past. */
	if (channel->state <= CHANNEL_CONSUMING)
		amqp_client_reconnect(channel->consumer->client, "an answer out of turn");
}

/* The declaration failed.  Said once until it works again; nothing is ever deleted to make it work.
 */
static void note_fault(struct consumer_channel *channel, uint16_t code, const char *text)
{
	char ours[DESCRIPTION_MAX];

	if (channel->faulty) {
		zlog_debug("queue %s: %u %s", channel->queue, code, text);
		return;
	}
	consumer_describe(channel, ours, sizeof(ours));
	channel->faulty = true;
	zlog_error("queue %s: the broker refuses it: %u %s; we declare it with %s; trying on",
		   channel->queue, code, text, ours);
}

static void retry_later(struct consumer_channel *channel)
{
	uint64_t pause = RETRY_FIRST_MS;

	for (unsigned i = 0; i < channel->failures && pause < RETRY_MAX_MS; i++)
		pause *= 2;
	channel->failures++;
	channel->state = CHANNEL_CLOSED;
	channel->retry_ms = zfd_now_ms() + pause;
}

/* True when the trouble may be this host's own, so that another host is worth a try. */
static bool is_of_host(uint16_t code)
{
	return code == AMQP_NOT_FOUND || code == AMQP_INTERNAL_ERROR;
}

static void serve_close(struct consumer_channel *channel, const amqp_channel_close_t *close)
{
	struct consumer *consumer = channel->consumer;
	enum channel_state before = channel->state;
	amqp_channel_close_ok_t ok = {0};
	char text[REASON_MAX];
	int sent;

	amqp_wire_text(close->reply_text, text, sizeof(text));
	sent = amqp_client_send(consumer->client, channel->number, AMQP_CHANNEL_CLOSE_OK_METHOD,
				&ok);
	consumer_channel_lost(channel);
	if (sent < 0) {
		amqp_client_reconnect(consumer->client, strerror(-sent));
		return;
	}
	if (before == CHANNEL_STOPPED || before == CHANNEL_CANCEL || before == CHANNEL_DELETE) {
		channel->state = CHANNEL_STOPPED;
		if (before == CHANNEL_DELETE)
			consumer_finish(consumer);
		return;
	}
	if (before == CHANNEL_EXCHANGE && close->reply_code == AMQP_PRECONDITION_FAILED) {
		zlog_warning("exchange %s: exists with other properties, used as it is: %s",
			     channel->exchange, text);
		channel->exchange_as_is = true;
		consumer_channel_open(channel);
		return;
	}
	if (before == CHANNEL_BIND)
		channel->exchange_as_is = false; /* it may be gone: declare it next time */
	note_fault(channel, close->reply_code, text);
	retry_later(channel);
	consumer_changed(consumer);
	if (is_of_host(close->reply_code) && consumer->config->rabbit_count > 1 &&
	    channel->failures >= TRIES_A_HOST)
		amqp_client_reconnect(consumer->client, "a queue is not to be had here");
}

static void serve_flow(struct consumer_channel *channel, const amqp_channel_flow_t *flow)
{
	amqp_channel_flow_ok_t ok = {.active = flow->active};

	/* We publish nothing on this connection: agreeing is all. */
	(void)amqp_client_send(channel->consumer->client, channel->number,
			       AMQP_CHANNEL_FLOW_OK_METHOD, &ok);
}

void consumer_channel_method(struct consumer_channel *channel, uint32_t id, const void *method)
{
	if (id == AMQP_CHANNEL_CLOSE_METHOD) {
		serve_close(channel, method);
	} else if (channel->state == CHANNEL_CLOSED) {
		/* Both sides closed it at the same time: the answer to ours comes late. */
		if (id != AMQP_CHANNEL_CLOSE_OK_METHOD)
			amqp_client_reconnect(channel->consumer->client,
					      "a method on a closed channel");
	} else if (id == AMQP_BASIC_DELIVER_METHOD) {
		consumer_content_deliver(channel, method);
	} else if (id == AMQP_CHANNEL_FLOW_METHOD) {
		serve_flow(channel, method);
	} else if (id == AMQP_BASIC_CANCEL_METHOD) {
		channel->consumer->counters.cancelled++;
		if (channel->state <= CHANNEL_CONSUMING)
			restart(channel, "the broker cancelled its consumer");
	} else {
		serve_answer(channel, id, method);
	}
}

void consumer_channel_tick(struct consumer_channel *channel, uint64_t now_ms)
{
	if (channel->state == CHANNEL_STOPPED)
		return;
	if (channel->state == CHANNEL_CLOSED) {
		if (now_ms >= channel->retry_ms && !channel->consumer->cancelled)
			consumer_channel_open(channel);
		return;
	}
	if (channel->state == CHANNEL_CONSUMING) {
		if (now_ms < channel->check_ms)
			return;
		/* Declaring again is harmless when all is there, and brings back a lost binding or
		 * queue. */
		channel->checking = true;
		declare(channel);
		return;
	}
	if (now_ms - channel->asked_ms > ANSWER_DEADLINE_MS)
		amqp_client_reconnect(channel->consumer->client, "no answer within 15 s");
}

void consumer_channel_cancel(struct consumer_channel *channel)
{
	amqp_basic_cancel_t cancel = {.consumer_tag = amqp_wire_bytes(channel->tag)};

	if (channel->state == CHANNEL_CONSUMING || channel->checking)
		wait_for(channel, CHANNEL_CANCEL,
			 amqp_client_send(channel->consumer->client, channel->number,
					  AMQP_BASIC_CANCEL_METHOD, &cancel));
	else
		channel->state = CHANNEL_STOPPED;
}

void consumer_channel_delete(struct consumer_channel *channel)
{
	amqp_queue_delete_t delete = {.queue = amqp_wire_bytes(channel->queue)};

	wait_for(channel, CHANNEL_DELETE,
		 amqp_client_send(channel->consumer->client, channel->number,
				  AMQP_QUEUE_DELETE_METHOD, &delete));
}

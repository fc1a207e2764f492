/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer as a whole: names of the queues, the connection's events, the
 * order of stopping.  Runs in the dispatcher, without a privilege.
 */
#include "common/sha256.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/consumer_private.h"
#include <stdarg.h>
#include <sys/random.h>

#define TICK_MS 500
/* The host's own queue decides whether we are reachable. */
#define HOST_CHANNEL 1

static void tick(void *context);

static bool is_consuming(const struct consumer_channel *channel)
{
	return channel->state == CHANNEL_CONSUMING || channel->checking;
}

void consumer_changed(struct consumer *consumer)
{
	bool consuming = is_consuming(&consumer->channels[HOST_CHANNEL]);

	/* The first time, the others are waited for, unless they are refused. */
	for (size_t i = 0; i < CONSUMER_CHANNELS && consuming && !consumer->was_consuming; i++)
		consuming = is_consuming(&consumer->channels[i]) || consumer->channels[i].faulty;
	if (consuming == consumer->was_consuming)
		return;
	consumer->was_consuming = consuming;
	consumer->handlers->consuming(consumer->context, consuming);
}

static void on_opened(void *context)
{
	struct consumer *consumer = context;

	if (!consumer->begun || consumer->cancelled)
		return;
	for (size_t i = 0; i < CONSUMER_CHANNELS; i++)
		consumer_channel_open(&consumer->channels[i]);
}

static void on_lost(void *context)
{
	struct consumer *consumer = context;

	for (size_t i = 0; i < CONSUMER_CHANNELS; i++)
		consumer_channel_lost(&consumer->channels[i]);
	consumer_changed(consumer);
	if (consumer->closing)
		consumer_finish(consumer);
}

/* The channel of that number; for any other the connection is given up, and NULL returned. */
static struct consumer_channel *channel_of(struct consumer *consumer, uint16_t number)
{
	if (number >= 1 && number <= CONSUMER_CHANNELS)
		return &consumer->channels[number - 1];
	amqp_client_reconnect(consumer->client, "a channel that was not opened");
	return NULL;
}

static void on_method(void *context, uint16_t number, uint32_t id, const void *method)
{
	struct consumer_channel *channel = channel_of(context, number);

	if (channel)
		consumer_channel_method(channel, id, method);
}

static void on_header(void *context, uint16_t number, const struct amqp_wire_content *content)
{
	struct consumer_channel *channel = channel_of(context, number);

	if (channel)
		consumer_content_header(channel, content);
}

static void on_body(void *context, uint16_t number, const uint8_t *data, size_t length)
{
	struct consumer_channel *channel = channel_of(context, number);

	if (channel)
		consumer_content_body(channel, data, length);
}

static void on_shut(void *context)
{
	struct consumer *consumer = context;

	loop_cancel(consumer->loop, consumer->tick_timer);
	consumer->tick_timer = 0;
	consumer->handlers->closed(consumer->context);
}

static const struct amqp_client_handlers client_handlers = {
	.opened = on_opened,
	.lost = on_lost,
	.method = on_method,
	.header = on_header,
	.body = on_body,
	.shut = on_shut,
};

static bool name_is(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool name_is(char *out, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(out, AMQP_WIRE_TEXT_MAX + 1, format, arguments);
	va_end(arguments);
	return length > 0 && (size_t)length <= AMQP_WIRE_TEXT_MAX;
}

/* The names of oslo-messaging-wire.md §1. */
static int name_queues(struct consumer *consumer, struct zerr *err)
{
	const struct config *config = consumer->config;
	struct consumer_channel *topic = &consumer->channels[0];
	struct consumer_channel *host = &consumer->channels[HOST_CHANNEL];
	struct consumer_channel *fanout = &consumer->channels[2];
	uint8_t random[16];
	char hex[2 * sizeof(random) + 1];
	bool fits;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return zerr_errno(err, -errno, "random numbers");
	hex_encode(random, sizeof(random), hex);
	fanout->fanout = true;
	fits = name_is(topic->queue, "%s", config->topic) &&
	       name_is(topic->key, "%s", config->topic) &&
	       name_is(topic->exchange, "%s", config->control_exchange) &&
	       name_is(host->queue, "%s.%s", config->topic, config->host) &&
	       name_is(host->key, "%s.%s", config->topic, config->host) &&
	       name_is(host->exchange, "%s", config->control_exchange) &&
	       name_is(fanout->queue, "%s_fanout_%s", config->topic, hex) &&
	       name_is(fanout->key, "%s", config->topic) &&
	       name_is(fanout->exchange, "%s_fanout", config->topic);
	if (!fits)
		return zerr_set(
			err, -ENAMETOOLONG,
			"[compute] topic, [DEFAULT] host or control_exchange: empty, or too "
			"long for a queue's name (255 bytes)");
	return 0;
}

struct consumer *consumer_new(struct loop *loop, const struct config *config,
			      const struct consumer_handlers *handlers, void *context,
			      struct zerr *err)
{
	struct consumer *consumer = calloc(1, sizeof(*consumer));
	struct amqp_client_options options = {.config = config,
					      .purpose = "consumer",
					      .handlers = &client_handlers,
					      .context = consumer};

	if (!consumer) {
		zerr_errno(err, -ENOMEM, "consumer");
		return NULL;
	}
	consumer->loop = loop;
	consumer->config = config;
	consumer->handlers = handlers;
	consumer->context = context;
	for (uint16_t i = 0; i < CONSUMER_CHANNELS; i++) {
		struct consumer_channel *channel = &consumer->channels[i];

		channel->consumer = consumer;
		channel->number = (uint16_t)(i + 1);
		channel->incoming.message.body = -1;
		(void)snprintf(channel->tag, sizeof(channel->tag), "%u", i + 1U);
	}
	if (name_queues(consumer, err) == 0)
		consumer->client = amqp_client_new(loop, &options, err);
	if (!consumer->client) {
		free(consumer);
		return NULL;
	}
	return consumer;
}

void consumer_free(struct consumer *consumer)
{
	if (!consumer)
		return;
	for (size_t i = 0; i < CONSUMER_CHANNELS; i++)
		consumer_content_forget(&consumer->channels[i]);
	loop_cancel(consumer->loop, consumer->tick_timer);
	amqp_client_free(consumer->client);
	free(consumer);
}

void consumer_connect(struct consumer *consumer)
{
	consumer->tick_timer = loop_timer(consumer->loop, TICK_MS, tick, consumer);
	amqp_client_start(consumer->client);
}

void consumer_begin(struct consumer *consumer)
{
	consumer->begun = true;
	if (amqp_client_is_open(consumer->client))
		on_opened(consumer);
}

bool consumer_holds(const struct consumer *consumer, const struct consumer_delivery *delivery)
{
	return delivery->generation != 0 && delivery->channel >= 1 &&
	       delivery->channel <= CONSUMER_CHANNELS &&
	       consumer->channels[delivery->channel - 1].generation == delivery->generation &&
	       amqp_client_is_open(consumer->client);
}

/* Too much unwritten output means a broker that reads nothing: the connection is no good any more.
 */
static void settle(struct consumer *consumer, int sent)
{
	if (sent < 0)
		amqp_client_reconnect(consumer->client, strerror(-sent));
}

void consumer_ack(struct consumer *consumer, const struct consumer_delivery *delivery)
{
	amqp_basic_ack_t ack = {.delivery_tag = delivery->tag};

	if (consumer_holds(consumer, delivery))
		settle(consumer, amqp_client_send(consumer->client, delivery->channel,
						  AMQP_BASIC_ACK_METHOD, &ack));
}

void consumer_reject(struct consumer *consumer, const struct consumer_delivery *delivery)
{
	amqp_basic_reject_t reject = {.delivery_tag = delivery->tag, .requeue = 0};

	if (consumer_holds(consumer, delivery))
		settle(consumer, amqp_client_send(consumer->client, delivery->channel,
						  AMQP_BASIC_REJECT_METHOD, &reject));
}

bool consumer_is_alive(const struct consumer *consumer)
{
	return amqp_client_is_alive(consumer->client);
}

bool consumer_is_consuming(const struct consumer *consumer)
{
	return consumer->was_consuming;
}

void consumer_pause(struct consumer *consumer, bool paused)
{
	amqp_client_pause(consumer->client, paused);
}

static void tick(void *context)
{
	struct consumer *consumer = context;
	uint64_t now = zfd_now_ms();

	consumer->tick_timer = loop_timer(consumer->loop, TICK_MS, tick, consumer);
	if (!consumer->begun)
		return;
	for (size_t i = 0; i < CONSUMER_CHANNELS && amqp_client_is_open(consumer->client); i++)
		consumer_channel_tick(&consumer->channels[i], now);
}

void consumer_cancel(struct consumer *consumer)
{
	if (consumer->cancelled)
		return;
	consumer->cancelled = true;
	if (!consumer->begun)
		return;
	for (size_t i = 0; i < CONSUMER_CHANNELS; i++)
		if (amqp_client_is_open(consumer->client))
			consumer_channel_cancel(&consumer->channels[i]);
	consumer_changed(consumer);
}

void consumer_finish(struct consumer *consumer)
{
	consumer->closing = false;
	amqp_client_shut(consumer->client);
}

void consumer_close(struct consumer *consumer)
{
	struct consumer_channel *fanout = &consumer->channels[2];

	if (consumer->closing)
		return;
	consumer_cancel(consumer);
	consumer->closing = true;
	if (amqp_client_is_open(consumer->client) && fanout->generation != 0)
		consumer_channel_delete(fanout);
	else
		consumer_finish(consumer);
}

const struct consumer_counters *consumer_count(const struct consumer *consumer)
{
	return &consumer->counters;
}

struct amqp_client *consumer_client(struct consumer *consumer)
{
	return consumer->client;
}

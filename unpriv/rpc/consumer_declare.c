/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server declares, to the letter of oslo-messaging-wire.md §3 and §9:
 * any other flag or argument than the peers use is a 406 for one of us.
 * Runs in the dispatcher, without a privilege.
 */
#include "unpriv/rpc/consumer_private.h"
#include <stdio.h>
#include <string.h>

#define ARGUMENTS_MAX 5
/* Unclassified messages that the broker may have given us for a queue, when the operator names no
 * number: far more than the workers classify at once, and few enough that the bodies fit into
 * memory. */
#define DEFAULT_PREFETCH 32
#define PREFETCH_MAX	 UINT16_MAX

struct arguments {
	amqp_table_entry_t entries[ARGUMENTS_MAX];
	int count;
};

static amqp_table_t table_of(struct arguments *arguments)
{
	return (amqp_table_t){.num_entries = arguments->count, .entries = arguments->entries};
}

static void add_text(struct arguments *arguments, const char *key, const char *value)
{
	amqp_table_entry_t *entry = &arguments->entries[arguments->count++];

	entry->key = amqp_wire_bytes(key);
	entry->value.kind = AMQP_FIELD_KIND_UTF8;
	entry->value.value.bytes = amqp_wire_bytes(value);
}

/* py-amqp sends an integer as 32 bits where it fits.  RabbitMQ compares the value, not the width.
 */
static void add_number(struct arguments *arguments, const char *key, int64_t value)
{
	amqp_table_entry_t *entry = &arguments->entries[arguments->count++];

	entry->key = amqp_wire_bytes(key);
	if (value <= INT32_MAX) {
		entry->value.kind = AMQP_FIELD_KIND_I32;
		entry->value.value.i32 = (int32_t)value;
	} else {
		entry->value.kind = AMQP_FIELD_KIND_I64;
		entry->value.value.i64 = value;
	}
}

static void queue_arguments(const struct consumer_channel *channel, struct arguments *arguments)
{
	const struct config *config = channel->consumer->config;

	arguments->count = 0;
	if (config->rabbit_ha_queues)
		add_text(arguments, "x-ha-policy", "all");
	if (channel->fanout) {
		if (config->rabbit_transient_ttl > 0)
			add_number(arguments, "x-expires", config->rabbit_transient_ttl * 1000);
		return;
	}
	if (!config->rabbit_quorum)
		return;
	add_text(arguments, "x-queue-type", "quorum");
	if (config->rabbit_quorum_delivery_limit > 0)
		add_number(arguments, "x-delivery-limit", config->rabbit_quorum_delivery_limit);
	if (config->rabbit_quorum_max_length > 0)
		add_number(arguments, "x-max-in-memory-length", config->rabbit_quorum_max_length);
	if (config->rabbit_quorum_max_bytes > 0)
		add_number(arguments, "x-max-in-memory-bytes", config->rabbit_quorum_max_bytes);
}

static bool is_durable(const struct consumer_channel *channel)
{
	const struct config *config = channel->consumer->config;

	return !channel->fanout && (config->rabbit_durable || config->rabbit_quorum);
}

static bool queue_auto_delete(const struct consumer_channel *channel)
{
	return !channel->fanout && channel->consumer->config->rabbit_auto_delete;
}

int consumer_declare_exchange(struct consumer_channel *channel)
{
	amqp_exchange_declare_t declare = {
		.exchange = amqp_wire_bytes(channel->exchange),
		.type = amqp_wire_bytes(channel->fanout ? "fanout" : "topic"),
		.durable = is_durable(channel),
		.auto_delete = channel->fanout || channel->consumer->config->rabbit_auto_delete,
	};

	return amqp_client_send(channel->consumer->client, channel->number,
				AMQP_EXCHANGE_DECLARE_METHOD, &declare);
}

int consumer_declare_queue(struct consumer_channel *channel)
{
	struct arguments arguments;
	amqp_queue_declare_t declare = {.queue = amqp_wire_bytes(channel->queue),
					.durable = is_durable(channel),
					.auto_delete = queue_auto_delete(channel)};

	queue_arguments(channel, &arguments);
	declare.arguments = table_of(&arguments);
	return amqp_client_send(channel->consumer->client, channel->number,
				AMQP_QUEUE_DECLARE_METHOD, &declare);
}

int consumer_bind(struct consumer_channel *channel)
{
	amqp_queue_bind_t bind = {.queue = amqp_wire_bytes(channel->queue),
				  .exchange = amqp_wire_bytes(channel->exchange),
				  .routing_key = amqp_wire_bytes(channel->key)};

	return amqp_client_send(channel->consumer->client, channel->number, AMQP_QUEUE_BIND_METHOD,
				&bind);
}

int consumer_limit(struct consumer_channel *channel)
{
	int64_t wanted = channel->consumer->config->rabbit_prefetch;
	amqp_basic_qos_t qos = {.prefetch_count = DEFAULT_PREFETCH};

	if (wanted > 0)
		qos.prefetch_count = (uint16_t)(wanted < PREFETCH_MAX ? wanted : PREFETCH_MAX);
	return amqp_client_send(channel->consumer->client, channel->number, AMQP_BASIC_QOS_METHOD,
				&qos);
}

int consumer_consume(struct consumer_channel *channel)
{
	amqp_table_entry_t on_failover = {.key = amqp_wire_bytes("x-cancel-on-ha-failover")};
	amqp_basic_consume_t consume = {.queue = amqp_wire_bytes(channel->queue),
					.consumer_tag = amqp_wire_bytes(channel->tag)};

	if (channel->consumer->config->rabbit_cancel_on_failover) {
		on_failover.value.kind = AMQP_FIELD_KIND_BOOLEAN;
		on_failover.value.value.boolean = 1;
		consume.arguments.num_entries = 1;
		consume.arguments.entries = &on_failover;
	}
	return amqp_client_send(channel->consumer->client, channel->number,
				AMQP_BASIC_CONSUME_METHOD, &consume);
}

void consumer_describe(const struct consumer_channel *channel, char *out, size_t size)
{
	struct arguments arguments;
	size_t used;

	queue_arguments(channel, &arguments);
	(void)snprintf(out, size, "durable %s, auto_delete %s, arguments",
		       is_durable(channel) ? "true" : "false",
		       queue_auto_delete(channel) ? "true" : "false");
	for (int i = 0; i < arguments.count; i++) {
		const amqp_table_entry_t *entry = &arguments.entries[i];
		const amqp_field_value_t *value = &entry->value;

		used = strlen(out);
		if (value->kind == AMQP_FIELD_KIND_UTF8)
			(void)snprintf(out + used, size - used, " %.*s=%.*s", (int)entry->key.len,
				       (const char *)entry->key.bytes, (int)value->value.bytes.len,
				       (const char *)value->value.bytes.bytes);
		else
			(void)snprintf(out + used, size - used, " %.*s=%lld", (int)entry->key.len,
				       (const char *)entry->key.bytes,
				       value->kind == AMQP_FIELD_KIND_I32
					       ? (long long)value->value.i32
					       : (long long)value->value.i64);
	}
	if (arguments.count == 0) {
		used = strlen(out);
		(void)snprintf(out + used, size - used, " none");
	}
}

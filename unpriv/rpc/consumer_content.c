/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages coming in: the frames of each are streamed into a memfd, which is
 * sealed when it is whole.  Runs in the dispatcher, without a privilege; looks
 * at no byte of a body.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/consumer_private.h"
#include <fcntl.h>
#include <sys/mman.h>

void consumer_content_forget(struct consumer_channel *channel)
{
	zfd_closep(&channel->incoming.message.body);
	channel->incoming = (struct incoming){.message.body = -1};
}

static void malformed(struct consumer_channel *channel)
{
	amqp_client_reconnect(channel->consumer->client, "a content frame out of turn");
}

void consumer_content_deliver(struct consumer_channel *channel, const amqp_basic_deliver_t *deliver)
{
	struct incoming *incoming = &channel->incoming;

	if (channel->state == CHANNEL_CLOSING)
		return;
	if (incoming->expected || incoming->arriving) {
		malformed(channel);
		return;
	}
	*incoming = (struct incoming){
		.expected = true,
		/* What still comes after the end of consuming stays the broker's: it is delivered
		   again. */
		.dropped = channel->consumer->cancelled,
		.message = {.delivery = {.tag = deliver->delivery_tag,
					 .generation = channel->generation,
					 .channel = channel->number},
			    .body = -1,
			    .redelivered = deliver->redelivered},
	};
}

/* Without a place for the body the message goes back to the broker, with the whole channel, for
 * later. */
static void give_back(struct consumer_channel *channel, int error)
{
	zlog_error("queue %s: a message has no room here: %s", channel->queue, strerror(-error));
	amqp_client_reconnect(channel->consumer->client, "no room for a message");
}

static void finish(struct consumer_channel *channel)
{
	struct incoming *incoming = &channel->incoming;
	struct consumer_message message = incoming->message;

	if (!incoming->dropped &&
	    fcntl(message.body, F_ADD_SEALS,
		  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0) {
		give_back(channel, -errno);
		return;
	}
	incoming->message.body = -1;
	if (!incoming->dropped) {
		incoming->expected = incoming->arriving = false;
		channel->consumer->counters.received++;
		channel->consumer->handlers->message(channel->consumer->context, &message);
		return;
	}
	consumer_content_forget(channel);
}

/* Known-faults R4: what is larger than the limit is refused at once, and its bytes are not kept. */
static void refuse_oversized(struct consumer_channel *channel)
{
	const struct incoming *incoming = &channel->incoming;

	channel->consumer->counters.oversized++;
	zlog_warning("queue %s: a message of %llu bytes is refused, max_message_bytes is %lld",
		     channel->queue, (unsigned long long)incoming->message.length,
		     (long long)channel->consumer->config->max_message_bytes);
	consumer_reject(channel->consumer, &incoming->message.delivery);
}

void consumer_content_header(struct consumer_channel *channel,
			     const struct amqp_wire_content *content)
{
	struct incoming *incoming = &channel->incoming;

	if (channel->state == CHANNEL_CLOSING)
		return;
	if (!incoming->expected) {
		malformed(channel);
		return;
	}
	incoming->expected = false;
	incoming->arriving = true;
	incoming->message.length = content->body_size;
	memcpy(incoming->message.content_type, content->content_type,
	       sizeof(incoming->message.content_type));
	if (!incoming->dropped &&
	    content->body_size > (uint64_t)channel->consumer->config->max_message_bytes) {
		refuse_oversized(channel);
		incoming->dropped = true;
	}
	if (!incoming->dropped) {
		incoming->message.body = memfd_create("message", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (incoming->message.body < 0) {
			give_back(channel, -errno);
			return;
		}
	}
	if (content->body_size == 0)
		finish(channel);
}

void consumer_content_body(struct consumer_channel *channel, const uint8_t *data, size_t length)
{
	struct incoming *incoming = &channel->incoming;
	int result;

	if (channel->state == CHANNEL_CLOSING)
		return;
	if (!incoming->arriving || length > incoming->message.length - incoming->received) {
		malformed(channel);
		return;
	}
	if (!incoming->dropped) {
		result = zfd_write_all(incoming->message.body, data, length);
		if (result < 0) {
			give_back(channel, result);
			return;
		}
	}
	incoming->received += length;
	if (incoming->received == incoming->message.length)
		finish(channel);
}

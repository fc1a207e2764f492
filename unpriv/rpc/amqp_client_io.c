/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over the connection to the message broker, and to whom what comes
 * belongs.  Dispatcher and publisher, without a privilege.
 */
#include "common/zfd.h"
#include "unpriv/rpc/amqp_client_private.h"

#define READS_AT_ONCE 16

void amqp_client_flush(struct amqp_client *client)
{
	bool waited = amqp_buffer_used(&client->output) > 0;
	struct zerr err = {0};

	while (client->stream && !client->doomed && amqp_buffer_used(&client->output) > 0) {
		ssize_t put = amqp_stream_write(client->stream,
						client->output.data + client->output.start,
						amqp_buffer_used(&client->output), &err);

		if (put == -EAGAIN)
			break;
		if (put <= 0) {
			amqp_client_reconnect(client, err.msg);
			return;
		}
		amqp_buffer_consume(&client->output, (size_t)put);
		client->sent_ms = zfd_now_ms();
	}
	if (waited && amqp_buffer_used(&client->output) == 0 && client->state == CLIENT_OPEN &&
	    client->handlers->drained)
		client->handlers->drained(client->context);
}

int amqp_client_send(struct amqp_client *client, uint16_t channel, uint32_t id, void *method)
{
	int result;

	if (client->doomed || client->state < CLIENT_START || client->state == CLIENT_STOPPED)
		return -ENOTCONN;
	result = amqp_wire_put_method(&client->output, channel, id, method);
	if (result == 0)
		amqp_client_watch(client);
	return result;
}

int amqp_client_publish(struct amqp_client *client, uint16_t channel, amqp_basic_publish_t *publish,
			amqp_basic_properties_t *properties, amqp_bytes_t body)
{
	size_t before = client->output.end - client->output.start;
	int result;

	if (client->doomed || client->state != CLIENT_OPEN)
		return -ENOTCONN;
	result = amqp_wire_put_method(&client->output, channel, AMQP_BASIC_PUBLISH_METHOD, publish);
	if (result < 0)
		return result;
	result = amqp_wire_put_content(&client->output, channel, properties, body,
				       client->frame_max);
	if (result < 0) {
		/* Take the method back: a publish without its content would break the connection.
		 */
		client->output.end = client->output.start + before;
		return result;
	}
	amqp_client_watch(client);
	return 0;
}

size_t amqp_client_waiting(const struct amqp_client *client)
{
	return amqp_buffer_used(&client->output);
}

/* One frame to whom it concerns. */
static void serve_frame(struct amqp_client *client, const struct amqp_frame_view *frame)
{
	struct amqp_wire_content content;

	if (frame->type == AMQP_FRAME_HEARTBEAT)
		return;
	if (client->state != CLIENT_OPEN || frame->channel == 0) {
		amqp_login_frame(client, frame);
		return;
	}
	if (frame->type == AMQP_FRAME_METHOD) {
		void *method = NULL;

		if (amqp_wire_method_known(amqp_wire_method_id(frame)))
			method = amqp_wire_method_decode(frame, &client->pool);
		if (!method)
			amqp_client_reconnect(client, "a method that no client is sent");
		else
			client->handlers->method(client->context, frame->channel,
						 amqp_wire_method_id(frame), method);
		recycle_amqp_pool(&client->pool);
	} else if (frame->type == AMQP_FRAME_HEADER) {
		if (amqp_wire_content_decode(frame, &content) < 0)
			amqp_client_reconnect(client, "a malformed content header");
		else
			client->handlers->header(client->context, frame->channel, &content);
	} else {
		client->handlers->body(client->context, frame->channel, frame->payload,
				       frame->length);
	}
}

static void serve_input(struct amqp_client *client)
{
	while (!client->doomed && client->state != CLIENT_STOPPED) {
		struct amqp_frame_view frame;
		size_t used;
		int result = amqp_wire_split(client->input.data + client->input.start,
					     amqp_buffer_used(&client->input), client->frame_max,
					     &frame, &used);

		if (result == 0)
			return;
		if (result < 0) {
			amqp_client_reconnect(client, "what it sends is not AMQP 0-9-1");
			return;
		}
		serve_frame(client, &frame);
		if (client->doomed || client->state == CLIENT_STOPPED)
			return;
		amqp_buffer_consume(&client->input, used);
	}
}

void amqp_client_input(struct amqp_client *client, const uint8_t *data, size_t length)
{
	amqp_client_enter(client);
	while (length > 0 && !client->doomed && client->state >= CLIENT_START) {
		size_t part = length < AMQP_CLIENT_READ ? length : AMQP_CLIENT_READ;

		if (amqp_buffer_reserve(&client->input, part) < 0) {
			amqp_client_reconnect(client, "no memory for its input");
			break;
		}
		memcpy(client->input.data + client->input.end, data, part);
		client->input.end += part;
		data += part;
		length -= part;
		serve_input(client);
	}
	amqp_client_leave(client);
}

/* Reads while there is something, but lets the loop's other descriptors have their turn. */
void amqp_client_receive(struct amqp_client *client)
{
	struct zerr err = {0};

	for (int i = 0; i < READS_AT_ONCE && !client->doomed && client->stream; i++) {
		ssize_t got;

		if (client->paused && client->state == CLIENT_OPEN)
			return;
		if (amqp_buffer_reserve(&client->input, AMQP_CLIENT_READ) < 0) {
			amqp_client_reconnect(client, "no memory for its input");
			return;
		}
		got = amqp_stream_read(client->stream, client->input.data + client->input.end,
				       client->input.size - client->input.end, &err);
		if (got == -EAGAIN)
			return;
		if (got <= 0) {
			amqp_client_reconnect(client,
					      got == 0 ? "it closed the connection" : err.msg);
			return;
		}
		client->input.end += (size_t)got;
		client->heard_ms = zfd_now_ms();
		serve_input(client);
	}
}

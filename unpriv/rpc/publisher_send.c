/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reply on its way: from the memfd to the wire, and the word back to the
 * dispatcher; and the packets between the two.  No privilege.
 */
#include "common/sha256.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/envelope.h"
#include "unpriv/rpc/publisher_private.h"
#include <sys/random.h>
#include <unistd.h>

/* Unique id, closing braces and envelope: what is added to the inner text that was measured before.
 */
#define WRAP_MARGIN 4096

void publisher_put_request(struct zwriter *writer, const struct publisher_request *request)
{
	zput_u64(writer, request->token);
	zput_u8(writer, request->fleeting);
	zput_cstr(writer, request->queue);
}

int publisher_get_request(const void *data, size_t length, struct publisher_request *request)
{
	struct zreader reader;

	zreader_init(&reader, data, length);
	request->token = zget_u64(&reader);
	request->fleeting = zget_u8(&reader) != 0;
	zget_cstr(&reader, request->queue, sizeof(request->queue));
	return zreader_end(&reader) ? 0 : -EBADMSG;
}

void publisher_put_answer(struct zwriter *writer, const struct publisher_answer *answer)
{
	zput_u64(writer, answer->token);
	zput_u8(writer, (uint8_t)answer->outcome);
}

int publisher_get_answer(const void *data, size_t length, struct publisher_answer *answer)
{
	struct zreader reader;
	uint8_t outcome;

	zreader_init(&reader, data, length);
	answer->token = zget_u64(&reader);
	outcome = zget_u8(&reader);
	if (!zreader_end(&reader) || outcome < PUBLISHER_DONE || outcome > PUBLISHER_TOO_LARGE)
		return -EBADMSG;
	answer->outcome = (enum publisher_outcome)outcome;
	return 0;
}

/* The inner text, owned; a reply's size was measured when it came. */
static int read_inner(const struct reply *reply, char **inner)
{
	size_t done = 0;
	char *text = malloc(reply->size + 1);

	if (!text)
		return -ENOMEM;
	while (done < reply->size) {
		ssize_t got =
			ZFD_RETRY(pread(reply->fd, text + done, reply->size - done, (off_t)done));

		if (got <= 0) {
			free(text);
			return got < 0 ? -errno : -EIO;
		}
		done += (size_t)got;
	}
	text[reply->size] = '\0';
	*inner = text;
	return 0;
}

/* The body to publish, owned.  Each try has a unique id of its own: the same one twice is an error
 * to the client's library. */
static int make_body(const struct publisher *publisher, const struct reply *reply, char **body,
		     size_t *length)
{
	_cleanup_free_ char *inner = NULL, *wrapped = NULL;
	uint8_t random[16];
	char unique_id[2 * sizeof(random) + 1];
	int result = read_inner(reply, &inner);

	if (result < 0)
		return result;
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	hex_encode(random, sizeof(random), unique_id);
	wrapped = rpc_wrap(inner, reply->size, unique_id, length);
	if (!wrapped)
		return -ENOMEM;
	if (*length > (uint64_t)publisher->config->max_reply_bytes + WRAP_MARGIN)
		return -EFBIG;
	*body = TAKE_PTR(wrapped);
	return 0;
}

int publisher_send(struct publisher *publisher, struct reply *reply)
{
	_cleanup_free_ char *body = NULL;
	size_t length = 0;
	amqp_basic_publish_t publish = {.exchange = amqp_wire_bytes(""),
					.routing_key = amqp_wire_bytes(reply->queue),
					.mandatory = 1};
	amqp_basic_properties_t properties = {
		._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_CONTENT_ENCODING_FLAG |
			  AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
			  AMQP_BASIC_PRIORITY_FLAG,
		.content_type = amqp_wire_bytes("application/json"),
		.content_encoding = amqp_wire_bytes("utf-8"),
		.delivery_mode = 2,
		.priority = 0,
	};
	amqp_bytes_t bytes;
	int result = make_body(publisher, reply, &body, &length);

	if (result < 0)
		return result;
	bytes.bytes = body;
	bytes.len = length;
	return amqp_client_publish(publisher->client, 1, &publish, &properties, bytes);
}

void publisher_answer(struct publisher *publisher, struct reply *reply,
		      enum publisher_outcome outcome)
{
	uint8_t packet[PUBLISHER_PACKET_MAX];
	struct zwriter writer;
	struct publisher_answer answer = {.token = reply->token, .outcome = outcome};
	int result;

	zwriter_init(&writer, packet, sizeof(packet));
	publisher_put_answer(&writer, &answer);
	/* The dispatcher always reads: waiting for it here cannot last. */
	result = zfd_send(publisher->socket, packet, writer.used, NULL, 0, 0);
	if (result < 0 && !publisher->ending) {
		publisher->ending = true;
		loop_stop(publisher->loop);
	}
	publisher->held--;
	publisher->bytes -= reply->size;
	zfd_closep(&reply->fd);
	free(reply);
}

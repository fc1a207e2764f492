/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message broker may send to the consumer: from the first byte of the
 * connection (first byte of the input even), or when all three queues are being
 * consumed (odd).  No descriptor may be left open, and no byte more handed on
 * than a message's header announced.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/consumer.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config config = {.topic = "zun-compute",
			       .host = "node",
			       .control_exchange = "zun",
			       .rabbit_vhost = "/",
			       .rabbit_login_method = "AMQPLAIN",
			       .rabbit = {{.host = "localhost", .port = 5672, .user = "guest"}},
			       .rabbit_count = 1,
			       .rabbit_heartbeat = 60,
			       .rabbit_interval_max = 30,
			       .rabbit_transient_ttl = 1800,
			       .max_message_bytes = 65536};

static void on_message(void *context, const struct consumer_message *message)
{
	struct consumer **consumer = context;
	struct stat status;
	int body = message->body;

	if (fstat(body, &status) < 0 || (uint64_t)status.st_size != message->length ||
	    message->length > (uint64_t)config.max_message_bytes)
		abort();
	zfd_closep(&body);
	if (message->length % 2 == 0)
		consumer_ack(*consumer, &message->delivery);
	else
		consumer_reject(*consumer, &message->delivery);
}

static void on_consuming(void *context, bool consuming)
{
	(void)context;
	(void)consuming;
}

static void on_closed(void *context)
{
	(void)context;
}

static const struct consumer_handlers handlers = {
	.message = on_message, .consuming = on_consuming, .closed = on_closed};

/* A frame as the broker sends it. */
static void say(struct consumer *consumer, uint16_t channel, uint32_t id, void *method)
{
	struct amqp_buffer buffer = {.limit = 1 << 20};

	if (amqp_wire_put_method(&buffer, channel, id, method) < 0)
		abort();
	amqp_client_input(consumer_client(consumer), buffer.data, amqp_buffer_used(&buffer));
	amqp_buffer_free(&buffer);
}

/* The broker's part up to the point where messages flow. */
static void establish(struct consumer *consumer)
{
	amqp_connection_start_t start = {.version_major = 0,
					 .version_minor = 9,
					 .mechanisms = amqp_wire_bytes("AMQPLAIN PLAIN"),
					 .locales = amqp_wire_bytes("en_US")};
	amqp_connection_tune_t tune = {.channel_max = 2047, .frame_max = 131072, .heartbeat = 60};
	amqp_queue_declare_ok_t queue = {.queue = amqp_wire_bytes("q")};
	amqp_basic_consume_ok_t consume = {.consumer_tag = amqp_wire_bytes("1")};
	uint8_t nothing[64] = {0};

	say(consumer, 0, AMQP_CONNECTION_START_METHOD, &start);
	say(consumer, 0, AMQP_CONNECTION_TUNE_METHOD, &tune);
	say(consumer, 0, AMQP_CONNECTION_OPEN_OK_METHOD, nothing);
	for (uint16_t channel = 1; channel <= 3; channel++) {
		say(consumer, channel, AMQP_CHANNEL_OPEN_OK_METHOD, nothing);
		say(consumer, channel, AMQP_EXCHANGE_DECLARE_OK_METHOD, nothing);
		say(consumer, channel, AMQP_QUEUE_DECLARE_OK_METHOD, &queue);
		say(consumer, channel, AMQP_QUEUE_BIND_OK_METHOD, nothing);
		say(consumer, channel, AMQP_BASIC_QOS_OK_METHOD, nothing);
		say(consumer, channel, AMQP_BASIC_CONSUME_OK_METHOD, &consume);
	}
	if (!consumer_is_consuming(consumer))
		abort();
}

/* The lowest free descriptor: the same after as before, or one was leaked. */
static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)close(fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	struct consumer *consumer = NULL;
	struct zerr err;
	int free_before;

	if (!loop) {
		zlog_setup("fuzz", ZLOG_ERROR, false); /* each input would be a few lines of log */
		loop = loop_new(&err);
	}
	if (size == 0)
		return 0;
	free_before = lowest_free();
	consumer = consumer_new(loop, &config, &handlers, &consumer, &err);
	if (!consumer)
		abort();
	consumer_begin(consumer);
	amqp_client_begin(consumer_client(consumer));
	if (data[0] % 2 == 1)
		establish(consumer);
	amqp_client_input(consumer_client(consumer), data + 1, size - 1);
	consumer_free(consumer);
	if (lowest_free() != free_before)
		abort();
	return 0;
}

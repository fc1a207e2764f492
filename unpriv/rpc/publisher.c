/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher process: its channel to the message broker, its socket to the
 * dispatcher.  No privilege; holds no connection but these two.
 */
#include "unpriv/rpc/publisher.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/publisher_private.h"
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS		  50 /* while a queue is missing: a quarter of a second needs finer steps */
#define TICK_IDLE_MS	  1000
#define CHANNEL		  1
#define PACKETS_AT_ONCE	  64
#define DEADLINE_LEAST_MS 60000
#define EXIT_SANDBOX	  70 /* as a worker: it ends the service */
#define EXIT_FAILED	  1

static void tick(void *context);

static void open_channel(struct publisher *publisher)
{
	amqp_channel_open_t open = {0};

	if (amqp_client_send(publisher->client, CHANNEL, AMQP_CHANNEL_OPEN_METHOD, &open) < 0)
		amqp_client_reconnect(publisher->client, "no room to open a channel");
}

static void on_opened(void *context)
{
	open_channel(context);
}

static void on_lost(void *context)
{
	struct publisher *publisher = context;

	publisher->ready = false;
	publisher->blocked = false;
	publisher_unsent(publisher, false);
}

static void on_channel_close(struct publisher *publisher, const amqp_channel_close_t *close)
{
	amqp_channel_close_ok_t ok = {0};
	char text[200];

	amqp_wire_text(close->reply_text, text, sizeof(text));
	zlog_warning("message broker: publisher: it closed the channel: %u %s", close->reply_code,
		     text);
	publisher->ready = false;
	publisher_unsent(publisher, close->reply_code == AMQP_PRECONDITION_FAILED);
	if (amqp_client_send(publisher->client, CHANNEL, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok) < 0 ||
	    close->reply_code != AMQP_PRECONDITION_FAILED)
		/* With back-off: what it refuses us now it will refuse at once again. */
		amqp_client_reconnect(publisher->client, text);
	else
		open_channel(publisher);
}

/* A queue just turned out to be missing: look after it soon. */
static void hurry(struct publisher *publisher)
{
	if (publisher->hurried || !routes_missing_any(&publisher->routes))
		return;
	publisher->hurried = true;
	loop_cancel(publisher->loop, publisher->tick_timer);
	publisher->tick_timer = loop_timer(publisher->loop, TICK_MS, tick, publisher);
}

static void on_confirm(struct publisher *publisher, uint64_t tag, bool multiple, bool taken)
{
	publisher_confirmed(publisher, tag, multiple, taken);
	publisher_pump(publisher);
	hurry(publisher);
}

static void on_method(void *context, uint16_t channel, uint32_t id, const void *method)
{
	struct publisher *publisher = context;
	amqp_confirm_select_t select = {0};

	if (channel != CHANNEL) {
		amqp_client_reconnect(publisher->client, "a channel that was not opened");
	} else if (id == AMQP_CHANNEL_OPEN_OK_METHOD) {
		if (amqp_client_send(publisher->client, CHANNEL, AMQP_CONFIRM_SELECT_METHOD,
				     &select) < 0)
			amqp_client_reconnect(publisher->client, "no room to ask for confirms");
	} else if (id == AMQP_CONFIRM_SELECT_OK_METHOD) {
		publisher->ready = true;
		publisher->next_tag = 1;
		publisher_pump(publisher);
	} else if (id == AMQP_BASIC_ACK_METHOD) {
		const amqp_basic_ack_t *ack = method;

		on_confirm(publisher, ack->delivery_tag, ack->multiple, true);
	} else if (id == AMQP_BASIC_NACK_METHOD) {
		const amqp_basic_nack_t *nack = method;

		on_confirm(publisher, nack->delivery_tag, nack->multiple, false);
	} else if (id == AMQP_BASIC_RETURN_METHOD) {
		publisher_returned(publisher, ((const amqp_basic_return_t *)method)->routing_key);
	} else if (id == AMQP_CHANNEL_CLOSE_METHOD) {
		on_channel_close(publisher, method);
	} else if (id == AMQP_CHANNEL_FLOW_METHOD) {
		amqp_channel_flow_ok_t ok = {.active =
						     ((const amqp_channel_flow_t *)method)->active};

		(void)amqp_client_send(publisher->client, CHANNEL, AMQP_CHANNEL_FLOW_OK_METHOD,
				       &ok);
	} else {
		amqp_client_reconnect(publisher->client, "an answer out of turn");
	}
}

/* What is returned comes back in full; only its name was of interest. */
static void on_header(void *context, uint16_t channel, const struct amqp_wire_content *content)
{
	(void)context;
	(void)channel;
	(void)content;
}

static void on_body(void *context, uint16_t channel, const uint8_t *data, size_t length)
{
	(void)context;
	(void)channel;
	(void)data;
	(void)length;
}

static void on_blocked(void *context, bool blocked)
{
	struct publisher *publisher = context;

	publisher->blocked = blocked;
	publisher->blocked_ms = zfd_now_ms();
	publisher_pump(publisher);
}

static void on_drained(void *context)
{
	publisher_pump(context);
}

static void on_shut(void *context)
{
	struct publisher *publisher = context;

	loop_stop(publisher->loop);
}

static const struct amqp_client_handlers client_handlers = {
	.opened = on_opened,
	.lost = on_lost,
	.method = on_method,
	.header = on_header,
	.body = on_body,
	.blocked = on_blocked,
	.drained = on_drained,
	.shut = on_shut,
};

/* The dispatcher is gone, or done: no reply is left that anyone would ask about. */
static void end(struct publisher *publisher)
{
	if (publisher->ending)
		return;
	publisher->ending = true;
	loop_unwatch(publisher->loop, publisher->socket);
	amqp_client_shut(publisher->client);
}

static int take_reply(struct publisher *publisher, struct zfd_packet *packet)
{
	struct publisher_request request;
	struct reply *reply;
	ssize_t size;

	if (packet->fd_count != 1 ||
	    publisher_get_request(packet->data, packet->length, &request) < 0)
		return -EBADMSG;
	size = zfd_check_sealed(packet->fds[0], SIZE_MAX / 4);
	if (size < 0)
		return (int)size;
	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return -ENOMEM;
	reply->token = request.token;
	reply->fleeting = request.fleeting;
	reply->size = (size_t)size;
	reply->since_ms = zfd_now_ms();
	memcpy(reply->queue, request.queue, sizeof(reply->queue));
	reply->fd = TAKE_FD(packet->fds[0]);
	publisher_add(publisher, reply);
	return 0;
}

static void on_request(void *context, int fd, uint32_t events)
{
	struct publisher *publisher = context;

	(void)events;
	for (int i = 0; i < PACKETS_AT_ONCE && !publisher->ending; i++) {
		uint8_t data[PUBLISHER_PACKET_MAX];
		struct zfd_packet packet = {.data = data, .size = sizeof(data)};
		int result = zfd_receive(fd, &packet, MSG_DONTWAIT);

		if (result == -EAGAIN)
			break;
		if (result == 0) {
			end(publisher);
			return;
		}
		if (result > 0)
			result = take_reply(publisher, &packet);
		zfd_packet_close(&packet);
		if (result < 0) {
			/* Our own binary on the other side: nothing else than a fault can explain
			 * it. */
			zlog_error("a request of the dispatcher: %s", strerror(-result));
			exit(EXIT_FAILED);
		}
	}
	publisher_pump(publisher);
}

static void tick(void *context)
{
	struct publisher *publisher = context;

	publisher_tick(publisher, zfd_now_ms());
	publisher->hurried = routes_missing_any(&publisher->routes);
	publisher->tick_timer = loop_timer(
		publisher->loop, publisher->hurried ? TICK_MS : TICK_IDLE_MS, tick, publisher);
}

static int prepare(struct publisher *publisher, struct zerr *err)
{
	struct amqp_client_options options = {.config = publisher->config,
					      .purpose = "publisher",
					      .handlers = &client_handlers,
					      .context = publisher};
	int64_t missing = publisher->config->rabbit_missing_consumer_timeout;
	int64_t wait = publisher->config->rpc_response_timeout;

	TAILQ_INIT(&publisher->queued);
	TAILQ_INIT(&publisher->sent);
	routes_init(&publisher->routes, (uint64_t)(missing > 0 ? missing : 0) * 1000);
	/* Known-faults F03: a reply that took this long is of no use to its caller. */
	publisher->deadline_ms = DEADLINE_LEAST_MS;
	if (wait * 1000 > DEADLINE_LEAST_MS)
		publisher->deadline_ms = (uint64_t)wait * 1000;
	publisher->loop = loop_new(err);
	if (!publisher->loop)
		return err->code;
	publisher->client = amqp_client_new(publisher->loop, &options, err);
	if (!publisher->client)
		return err->code;
	return loop_watch(publisher->loop, publisher->socket, EPOLLIN, on_request, publisher);
}

_Noreturn void publisher_main(const struct config *config, int socket,
			      const struct sandbox_confine *confine)
{
	struct publisher publisher = {.config = config, .socket = socket};
	struct zerr err = {0};

	if (confine && sandbox_confine(SANDBOX_PUBLISHER, confine, &err) < 0) {
		zlog_error("publisher: %s", err.msg);
		exit(EXIT_SANDBOX);
	}
	if (prepare(&publisher, &err) < 0) {
		zlog_error("publisher: %s", err.msg);
		exit(EXIT_FAILED);
	}
	amqp_client_start(publisher.client);
	tick(&publisher);
	if (loop_run(publisher.loop, NULL, NULL) < 0)
		exit(EXIT_FAILED);
	exit(0);
}

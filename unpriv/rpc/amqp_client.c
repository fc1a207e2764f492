/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the message broker: dispatcher (consuming) and publisher,
 * without a privilege.  One state machine: waiting, connecting, the four steps
 * of the login (amqp_login.c), open, shutting.
 */
#include "unpriv/rpc/amqp_client_private.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include <sys/epoll.h>
#include <sys/random.h>

#define TICK_MS 1000
/* Known-faults F04: who accepts and then says nothing is given up after this time. */
#define LOGIN_DEADLINE_MS 10000
#define SHUT_DEADLINE_MS  5000
#define AMQP_CLIENT_READ  65536U
#define READS_AT_ONCE	  16
/* Enough for one frame more than what a read brings. */
#define INPUT_LIMIT (AMQP_WIRE_FRAME_MAX + AMQP_CLIENT_READ)
/* A reply in its encoded form, and what else may wait meanwhile. */
#define OUTPUT_LIMIT	  ((size_t)192 << 20)
#define DEFAULT_SILENCE_S 60U /* TCP_USER_TIMEOUT without heartbeats */
#define BACKOFF_MIN_MS	  1000U
#define BACKOFF_MAX_MS	  30000U
/* A connection that held this long makes a new beginning of the back-off. */
#define STEADY_MS 30000U

static void tick(void *context);
static void try_host(void *context);
static void on_socket(void *context, int fd, uint32_t events);

static uint32_t random_below(uint32_t bound)
{
	uint32_t value = 0;

	/* Cannot fail for so few bytes once the pool is up; zero jitter is no harm either. */
	(void)!getrandom(&value, sizeof(value), GRND_NONBLOCK);
	return bound ? value % bound : 0;
}

struct amqp_client *amqp_client_new(struct loop *loop, const struct amqp_client_options *options,
				    struct zerr *err)
{
	struct amqp_client *client = calloc(1, sizeof(*client));

	if (!client || options->config->rabbit_count == 0) {
		zerr_set(err, client ? -EINVAL : -ENOMEM, "%s: no message broker to connect to",
			 options->purpose);
		free(client);
		return NULL;
	}
	client->loop = loop;
	client->config = options->config;
	client->purpose = options->purpose;
	client->handlers = options->handlers;
	client->context = options->context;
	client->input.limit = INPUT_LIMIT;
	client->output.limit = OUTPUT_LIMIT;
	client->host = random_below(client->config->rabbit_count);
	init_amqp_pool(&client->pool, 4096);
	return client;
}

void amqp_client_free(struct amqp_client *client)
{
	if (!client)
		return;
	if (client->stream)
		loop_unwatch(client->loop, amqp_stream_fd(client->stream));
	amqp_stream_close(client->stream);
	loop_cancel(client->loop, client->retry_timer);
	loop_cancel(client->loop, client->tick_timer);
	amqp_buffer_free(&client->input);
	amqp_buffer_wipe(&client->output);
	amqp_buffer_free(&client->output);
	empty_amqp_pool(&client->pool);
	free(client);
}

const struct config_rabbit_host *amqp_client_host(const struct amqp_client *client)
{
	return &client->config->rabbit[client->host];
}

/* Every host is tried once without a pause; then pauses that grow from round to round. */
static uint64_t next_pause(struct amqp_client *client)
{
	uint64_t first = (uint64_t)client->config->rabbit_retry_interval * 1000;
	uint64_t step = (uint64_t)client->config->rabbit_retry_backoff * 1000;
	uint64_t most = (uint64_t)client->config->rabbit_interval_max * 1000;
	unsigned round = client->failures / client->config->rabbit_count;
	uint64_t pause = first + step * (round > 0 ? round - 1 : 0);

	if (client->failures % client->config->rabbit_count != 0)
		return 0;
	if (most < BACKOFF_MIN_MS || most > BACKOFF_MAX_MS)
		most = BACKOFF_MAX_MS;
	if (pause < BACKOFF_MIN_MS)
		pause = BACKOFF_MIN_MS;
	/* Jitter, so that the nodes of a site do not come in step; with it the cap still holds. */
	if (pause > most / 5 * 4)
		pause = most / 5 * 4;
	return pause + random_below((uint32_t)(pause / 4) + 1);
}

static void schedule(struct amqp_client *client)
{
	uint64_t pause = next_pause(client);

	client->state = CLIENT_WAITING;
	client->retry_timer = loop_timer(client->loop, pause, try_host, client);
	/* No timer is left only when the loop's owner made hundreds: then the tick tries again. */
}

static void finish_shut(struct amqp_client *client)
{
	client->state = CLIENT_STOPPED;
	loop_cancel(client->loop, client->tick_timer);
	client->tick_timer = 0;
	client->handlers->shut(client->context);
}

/* The connection is gone: forget it, tell the owner, and try the next host. */
static void tear_down(struct amqp_client *client)
{
	bool was_open = client->state == CLIENT_OPEN || client->state == CLIENT_SHUTTING;
	bool shutting = client->state == CLIENT_SHUTTING;

	client->doomed = false;
	if (client->stream) {
		loop_unwatch(client->loop, amqp_stream_fd(client->stream));
		amqp_stream_close(client->stream);
		client->stream = NULL;
	}
	amqp_buffer_wipe(&client->output);
	client->input.start = client->input.end = 0;
	client->blocked = false;
	if (shutting) {
		finish_shut(client);
		return;
	}
	client->host = (client->host + 1) % client->config->rabbit_count;
	schedule(client);
	if (was_open)
		client->handlers->lost(client->context);
}

/* Logs the first failures and then only every tenth: a broker that is away for days is one fact. */
static void log_failure(struct amqp_client *client, const char *why)
{
	const struct config_rabbit_host *host = amqp_client_host(client);

	client->failures++;
	if (client->failures <= 2 * client->config->rabbit_count || client->failures % 10 == 0)
		zlog_warning("message broker %s:%u: %s: %s (attempt %u)", host->host, host->port,
			     client->purpose, why, client->failures);
	else
		zlog_debug("message broker %s:%u: %s: %s", host->host, host->port, client->purpose,
			   why);
}

void amqp_client_reconnect(struct amqp_client *client, const char *why)
{
	if (client->doomed || client->state == CLIENT_WAITING || client->state == CLIENT_STOPPED)
		return;
	if (client->state != CLIENT_SHUTTING)
		log_failure(client, why);
	client->doomed = true;
	if (client->busy == 0)
		tear_down(client);
}

/* Handlers run between enter and leave; a connection that failed meanwhile is torn down in leave.
 */
void amqp_client_enter(struct amqp_client *client)
{
	client->busy++;
}

void amqp_client_leave(struct amqp_client *client)
{
	client->busy--;
	if (client->busy == 0 && client->doomed)
		tear_down(client);
}

void amqp_client_watch(struct amqp_client *client)
{
	uint32_t events;
	int result;

	if (!client->stream || client->doomed)
		return;
	events = amqp_stream_events(client->stream, amqp_buffer_used(&client->output) > 0);
	if (client->paused && client->state == CLIENT_OPEN)
		events &= ~(uint32_t)EPOLLIN;
	result =
		loop_watch(client->loop, amqp_stream_fd(client->stream), events, on_socket, client);
	if (result < 0)
		amqp_client_reconnect(client, strerror(-result));
}

void amqp_client_pause(struct amqp_client *client, bool paused)
{
	if (client->paused == paused)
		return;
	client->paused = paused;
	/* What came in before does not count as silence. */
	client->heard_ms = zfd_now_ms();
	amqp_client_watch(client);
}

bool amqp_client_is_open(const struct amqp_client *client)
{
	return client->state == CLIENT_OPEN && !client->doomed;
}

bool amqp_client_is_alive(const struct amqp_client *client)
{
	if (!amqp_client_is_open(client))
		return false;
	return client->heartbeat_s == 0 || client->paused ||
	       zfd_now_ms() - client->heard_ms <= (uint64_t)client->heartbeat_s * 2000;
}

void amqp_client_begin(struct amqp_client *client)
{
	client->state = CLIENT_START;
	client->frame_max = AMQP_WIRE_FRAME_MAX;
	client->heard_ms = client->sent_ms = zfd_now_ms();
	if (amqp_wire_put_protocol(&client->output) < 0)
		amqp_client_reconnect(client, "no memory for its output");
}

static void step(struct amqp_client *client)
{
	struct zerr err = {0};
	int before = amqp_stream_fd(client->stream);
	int result = amqp_stream_step(client->stream, &err);

	/* The next address of the host has another descriptor; the first one is closed already. */
	if (amqp_stream_fd(client->stream) != before)
		loop_unwatch(client->loop, before);
	if (result < 0)
		amqp_client_reconnect(client, err.msg);
	else if (result == 1)
		amqp_client_begin(client);
}

static void on_socket(void *context, int fd, uint32_t events)
{
	struct amqp_client *client = context;

	(void)fd;
	amqp_client_enter(client);
	if (client->state == CLIENT_CONNECTING)
		step(client);
	else if (client->paused && client->state == CLIENT_OPEN && (events & (EPOLLHUP | EPOLLERR)))
		amqp_client_reconnect(
			client, "the connection broke"); /* not read: it would come up for ever */
	else if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		amqp_client_receive(client);
	if (client->state >= CLIENT_START)
		amqp_client_flush(client);
	amqp_client_watch(client);
	amqp_client_leave(client);
}

static void try_host(void *context)
{
	struct amqp_client *client = context;
	const struct config *config = client->config;
	const struct config_rabbit_host *host = amqp_client_host(client);
	struct amqp_target target = {
		.host = host->host,
		.port = host->port,
		.silence_s = config->rabbit_heartbeat > 0 && config->rabbit_heartbeat < 3600
				     ? (unsigned)config->rabbit_heartbeat
				     : DEFAULT_SILENCE_S,
		.tls = config->rabbit_ssl,
		.verify_name =
			!config->rabbit_ssl_verify_name_set || config->rabbit_ssl_verify_name,
		.ca_file = config->rabbit_ssl_ca_file,
		.cert_file = config->rabbit_ssl_cert_file,
		.key_file = config->rabbit_ssl_key_file,
	};
	struct zerr err = {0};

	client->retry_timer = 0;
	client->state = CLIENT_CONNECTING;
	client->since_ms = zfd_now_ms();
	amqp_client_enter(client);
	client->stream = amqp_stream_open(&target, &err);
	if (!client->stream)
		amqp_client_reconnect(client, err.msg);
	amqp_client_watch(client);
	amqp_client_leave(client);
}

void amqp_client_start(struct amqp_client *client)
{
	client->state = CLIENT_WAITING;
	client->tick_timer = loop_timer(client->loop, TICK_MS, tick, client);
	try_host(client);
}

static void check_open(struct amqp_client *client, uint64_t now)
{
	uint64_t heartbeat = (uint64_t)client->heartbeat_s * 1000;

	if (now - client->since_ms > STEADY_MS)
		client->failures = 0;
	if (heartbeat == 0)
		return;
	if (!client->paused && now - client->heard_ms > 2 * heartbeat)
		amqp_client_reconnect(client, "not heard for two heartbeats");
	else if (now - client->sent_ms >= heartbeat / 2 && amqp_buffer_used(&client->output) == 0 &&
		 amqp_wire_put_heartbeat(&client->output) == 0)
		amqp_client_flush(client);
}

/* Deadlines of what does not answer, and our own sign of life. */
static void check_time(struct amqp_client *client)
{
	uint64_t now = zfd_now_ms();

	if (client->state >= CLIENT_CONNECTING && client->state < CLIENT_OPEN &&
	    now - client->since_ms > LOGIN_DEADLINE_MS)
		amqp_client_reconnect(client, "no login within 10 s");
	else if (client->state == CLIENT_SHUTTING && now - client->since_ms > SHUT_DEADLINE_MS)
		amqp_client_reconnect(client, "no answer to closing the connection");
	else if (client->state == CLIENT_OPEN)
		check_open(client, now);
}

static void tick(void *context)
{
	struct amqp_client *client = context;

	client->tick_timer = loop_timer(client->loop, TICK_MS, tick, client);
	amqp_client_enter(client);
	check_time(client);
	amqp_client_watch(client);
	amqp_client_leave(client);
	if (client->state == CLIENT_WAITING && client->retry_timer < 0)
		schedule(client);
}

void amqp_client_shut(struct amqp_client *client)
{
	amqp_connection_close_t close = {.reply_code = 200,
					 .reply_text = amqp_wire_bytes("Normal shutdown")};

	if (client->state == CLIENT_STOPPED || client->state == CLIENT_SHUTTING)
		return;
	amqp_client_enter(client);
	if (client->state == CLIENT_OPEN && !client->doomed &&
	    amqp_client_send(client, 0, AMQP_CONNECTION_CLOSE_METHOD, &close) == 0) {
		client->state = CLIENT_SHUTTING;
		client->since_ms = zfd_now_ms();
		amqp_client_flush(client);
		amqp_client_watch(client);
		amqp_client_leave(client);
		return;
	}
	amqp_client_leave(client);
	loop_cancel(client->loop, client->retry_timer);
	client->retry_timer = 0;
	client->doomed = false;
	if (client->stream) {
		loop_unwatch(client->loop, amqp_stream_fd(client->stream));
		amqp_stream_close(client->stream);
		client->stream = NULL;
	}
	finish_shut(client);
}

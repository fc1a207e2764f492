/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channel 0 of the connection to the message broker: the login, and what the
 * broker says about the whole connection later.  Dispatcher and publisher,
 * without a privilege.  The library's own login would take a frame size from
 * the broker that its buffers are too small for, and reads the server's
 * properties by recursion; here neither is believed.
 */
#include "common/text.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/rpc/amqp_client_private.h"
#include <sys/random.h>
#include <unistd.h>

#define OUR_CHANNEL_MAX 2047U
/* The consumer has three, the publisher one. */
#define LEAST_CHANNELS 3U
#define PROGRAM	       "keelson-compute"
#define REASON_MAX     200

/* A login may not be left in memory that is used again. */
static void bytes_wipep(amqp_bytes_t *bytes)
{
	if (bytes->bytes)
		explicit_bzero(bytes->bytes, bytes->len);
	free(bytes->bytes);
	bytes->bytes = NULL;
}

static amqp_table_entry_t text_entry(const char *key, const char *text)
{
	amqp_table_entry_t entry = {.key = amqp_wire_bytes(key)};

	entry.value.kind = AMQP_FIELD_KIND_UTF8;
	entry.value.value.bytes = amqp_wire_bytes(text);
	return entry;
}

static amqp_table_entry_t true_entry(const char *key)
{
	amqp_table_entry_t entry = {.key = amqp_wire_bytes(key)};

	entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
	entry.value.value.boolean = 1;
	return entry;
}

/* <program>:<pid>:<uuid>, as oslo.messaging names its connections. */
static void connection_name(char *name, size_t size)
{
	uint8_t id[UUID_SIZE] = {0};
	char text[UUID_TEXT_SIZE];

	/* A name for operators: zeros would do no harm. */
	(void)!getrandom(id, sizeof(id), GRND_NONBLOCK);
	id[6] = (uint8_t)((id[6] & 0x0f) | 0x40);
	id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
	uuid_format(id, text);
	(void)snprintf(name, size, PROGRAM ":%d:%s", (int)getpid(), text);
}

/* \0 user \0 password */
static int plain_response(const struct config_rabbit_host *host, amqp_bytes_t *response)
{
	size_t user = strlen(host->user);
	char *text;

	*response = amqp_bytes_malloc(user + host->password.length + 2);
	text = response->bytes;
	if (!text)
		return -ENOMEM;
	text[0] = '\0';
	memcpy(text + 1, host->user, user);
	text[user + 1] = '\0';
	memcpy(text + user + 2, secret_text(&host->password), host->password.length);
	return 0;
}

/* A table of LOGIN and PASSWORD without the table's length in front. */
static int amqplain_response(const struct config_rabbit_host *host, amqp_bytes_t *response)
{
	amqp_table_entry_t entries[2] = {text_entry("LOGIN", host->user),
					 text_entry("PASSWORD", secret_text(&host->password))};
	amqp_table_t table = {.num_entries = 2, .entries = entries};
	size_t offset = 0;

	*response = amqp_bytes_malloc(strlen(host->user) + host->password.length + 64);
	if (!response->bytes)
		return -ENOMEM;
	if (amqp_encode_table(*response, &table, &offset) < 0 || offset < 4)
		return -EMSGSIZE;
	memmove(response->bytes, (char *)response->bytes + 4, offset - 4);
	response->len = offset - 4;
	return 0;
}

/* The mechanism to use: PLAIN and AMQPLAIN are the same to a broker, EXTERNAL must be asked for. */
static const char *choose_mechanism(const struct amqp_client *client,
				    const struct amqp_wire_start *start)
{
	const char *wanted = client->config->rabbit_login_method;

	if (wanted && strcmp(wanted, "EXTERNAL") == 0)
		return start->external ? "EXTERNAL" : NULL;
	if (start->plain)
		return "PLAIN";
	return start->amqplain ? "AMQPLAIN" : NULL;
}

static int make_response(const struct amqp_client *client, const char *mechanism,
			 amqp_bytes_t *response)
{
	const struct config_rabbit_host *host = amqp_client_host(client);

	if (strcmp(mechanism, "PLAIN") == 0)
		return plain_response(host, response);
	if (strcmp(mechanism, "AMQPLAIN") == 0)
		return amqplain_response(host, response);
	/* EXTERNAL: the certificate says who we are. */
	*response = amqp_bytes_malloc(1);
	if (!response->bytes)
		return -ENOMEM;
	response->len = 0;
	return 0;
}

static int send_start_ok(struct amqp_client *client, const char *mechanism, amqp_bytes_t response)
{
	char name[128] = "";
	amqp_table_entry_t capabilities[] = {true_entry("authentication_failure_close"),
					     true_entry("connection.blocked"),
					     true_entry("consumer_cancel_notify")};
	amqp_table_entry_t properties[] = {text_entry("product", "keelson"),
					   text_entry("product_version", "0.1"),
					   {.key = amqp_wire_bytes("connection_name")},
					   {.key = amqp_wire_bytes("capabilities")}};
	amqp_connection_start_ok_t ok = {
		.client_properties = {.num_entries = 4, .entries = properties},
		.mechanism = amqp_wire_bytes(mechanism),
		.response = response,
		.locale = amqp_wire_bytes("en_US")};

	connection_name(name, sizeof(name));
	properties[2] = text_entry("connection_name", name);
	properties[3].value.kind = AMQP_FIELD_KIND_TABLE;
	properties[3].value.value.table.num_entries = 3;
	properties[3].value.value.table.entries = capabilities;
	return amqp_client_send(client, 0, AMQP_CONNECTION_START_OK_METHOD, &ok);
}

static void serve_start(struct amqp_client *client, const struct amqp_frame_view *frame)
{
	_cleanup_(bytes_wipep) amqp_bytes_t response = {0};
	struct amqp_wire_start start;
	const char *mechanism;

	if (amqp_wire_start_decode(frame, &start) < 0) {
		amqp_client_reconnect(client,
				      "its first frame is malformed, or of another version");
		return;
	}
	mechanism = choose_mechanism(client, &start);
	if (!mechanism) {
		amqp_client_reconnect(client, "it offers no login method that we may use");
		return;
	}
	if (make_response(client, mechanism, &response) < 0 ||
	    send_start_ok(client, mechanism, response) < 0) {
		amqp_client_reconnect(client, "the login does not fit into a frame");
		return;
	}
	client->state = CLIENT_TUNE;
}

static void serve_tune(struct amqp_client *client, const amqp_connection_tune_t *tune)
{
	amqp_connection_tune_ok_t ok = {.channel_max = OUR_CHANNEL_MAX};
	amqp_connection_open_t open = {.virtual_host =
					       amqp_wire_bytes(client->config->rabbit_vhost)};
	int64_t heartbeat = client->config->rabbit_heartbeat;

	if (tune->channel_max != 0 && tune->channel_max < ok.channel_max)
		ok.channel_max = tune->channel_max;
	ok.frame_max = AMQP_WIRE_FRAME_MAX;
	if (tune->frame_max != 0 && tune->frame_max < ok.frame_max)
		ok.frame_max = tune->frame_max;
	if (ok.channel_max < LEAST_CHANNELS || ok.frame_max < AMQP_WIRE_FRAME_MIN) {
		amqp_client_reconnect(client, "it offers too small a frame or too few channels");
		return;
	}
	ok.heartbeat = heartbeat > UINT16_MAX ? UINT16_MAX : (uint16_t)heartbeat;
	/* Known-faults F02: a heartbeat is always asked for, unless the operator turned it off. */
	if (tune->heartbeat != 0 && tune->heartbeat < ok.heartbeat)
		ok.heartbeat = tune->heartbeat;
	client->frame_max = ok.frame_max;
	client->heartbeat_s = ok.heartbeat;
	client->state = CLIENT_OPENING;
	if (amqp_client_send(client, 0, AMQP_CONNECTION_TUNE_OK_METHOD, &ok) < 0 ||
	    amqp_client_send(client, 0, AMQP_CONNECTION_OPEN_METHOD, &open) < 0)
		amqp_client_reconnect(client, "the virtual host does not fit into a frame");
}

static void serve_open_ok(struct amqp_client *client)
{
	const struct config_rabbit_host *host = amqp_client_host(client);

	client->state = CLIENT_OPEN;
	client->since_ms = zfd_now_ms();
	/* The login has been written: nothing of it stays in the buffer. */
	if (amqp_buffer_used(&client->output) == 0)
		amqp_buffer_wipe(&client->output);
	zlog_info("message broker %s:%u: %s: connected, heartbeat %u s%s", host->host, host->port,
		  client->purpose, client->heartbeat_s, client->config->rabbit_ssl ? ", TLS" : "");
	client->handlers->opened(client->context);
}

static void serve_close(struct amqp_client *client, const amqp_connection_close_t *close)
{
	amqp_connection_close_ok_t ok = {0};
	char text[REASON_MAX], reason[REASON_MAX + 64];

	amqp_wire_text(close->reply_text, text, sizeof(text));
	(void)snprintf(reason, sizeof(reason), "it closed the connection: %u %s", close->reply_code,
		       text);
	/* The answer is a courtesy; the connection ends either way. */
	(void)amqp_client_send(client, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
	amqp_client_flush(client);
	amqp_client_reconnect(client, reason);
}

static void serve_blocked(struct amqp_client *client, bool blocked)
{
	if (client->state != CLIENT_OPEN || client->blocked == blocked)
		return;
	client->blocked = blocked;
	if (blocked)
		zlog_warning("message broker: %s: takes no messages for now (resource alarm)",
			     client->purpose);
	else
		zlog_info("message broker: %s: takes messages again", client->purpose);
	if (client->handlers->blocked)
		client->handlers->blocked(client->context, blocked);
}

/* What may come on channel 0 after connection.start. */
static void serve_method(struct amqp_client *client, uint32_t id, const void *method)
{
	if (id == AMQP_CONNECTION_CLOSE_METHOD)
		serve_close(client, method);
	else if (id == AMQP_CONNECTION_TUNE_METHOD && client->state == CLIENT_TUNE)
		serve_tune(client, method);
	else if (id == AMQP_CONNECTION_OPEN_OK_METHOD && client->state == CLIENT_OPENING)
		serve_open_ok(client);
	else if (id == AMQP_CONNECTION_CLOSE_OK_METHOD && client->state == CLIENT_SHUTTING)
		amqp_client_reconnect(client, "closed");
	else if (id == AMQP_CONNECTION_BLOCKED_METHOD || id == AMQP_CONNECTION_UNBLOCKED_METHOD)
		serve_blocked(client, id == AMQP_CONNECTION_BLOCKED_METHOD);
	else
		amqp_client_reconnect(client, "a method out of turn");
}

void amqp_login_frame(struct amqp_client *client, const struct amqp_frame_view *frame)
{
	uint32_t id = amqp_wire_method_id(frame);
	void *method;

	/* While the connection is being closed the channels still empty themselves. */
	if (client->state == CLIENT_SHUTTING && frame->channel != 0)
		return;
	if (frame->channel != 0 || id == 0) {
		amqp_client_reconnect(client, "a frame out of turn");
		return;
	}
	if (client->state == CLIENT_START && id == AMQP_CONNECTION_START_METHOD) {
		serve_start(client, frame);
		return;
	}
	method = amqp_wire_method_known(id) ? amqp_wire_method_decode(frame, &client->pool) : NULL;
	if (!method)
		amqp_client_reconnect(client, "a method out of turn");
	else
		serve_method(client, id, method);
	recycle_amqp_pool(&client->pool);
}

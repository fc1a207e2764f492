/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by amqp_client.c and amqp_login.c only. */
#pragma once
#include "unpriv/rpc/amqp_client.h"
#include "unpriv/rpc/amqp_stream.h"

/* In the order in which they are gone through. */
enum amqp_client_state {
	CLIENT_STOPPED,
	CLIENT_WAITING,	   /* for the next attempt */
	CLIENT_CONNECTING, /* TCP, TLS */
	CLIENT_START,	   /* for connection.start */
	CLIENT_TUNE,	   /* for connection.tune */
	CLIENT_OPENING,	   /* for connection.open-ok */
	CLIENT_OPEN,
	CLIENT_SHUTTING /* for connection.close-ok */
};

struct amqp_client {
	struct loop *loop;
	const struct config *config;
	const char *purpose;
	const struct amqp_client_handlers *handlers;
	void *context;

	enum amqp_client_state state;
	struct amqp_stream *stream; /* NULL while waiting */
	struct amqp_buffer input, output;
	amqp_pool_t pool;  /* of the method being served */
	unsigned host;	   /* index of the host in use */
	unsigned failures; /* since the last login */
	unsigned busy;	   /* > 0: handlers are running, nothing may be freed */
	bool doomed;	   /* failed; torn down as soon as nothing is running */
	bool blocked, paused;
	uint32_t frame_max;
	uint16_t heartbeat_s;
	uint64_t since_ms; /* when the present attempt, the open connection or the shutting began */
	uint64_t heard_ms, sent_ms;
	int64_t retry_timer, tick_timer;
};

const struct config_rabbit_host *amqp_client_host(const struct amqp_client *client);
/* Handlers run between enter and leave; a connection that failed meanwhile is torn down in leave.
 */
void amqp_client_enter(struct amqp_client *client);
void amqp_client_leave(struct amqp_client *client);
/* Tells the loop what to wait for now. */
void amqp_client_watch(struct amqp_client *client);

/* amqp_client_io.c */
#define AMQP_CLIENT_READ 65536U
/* Reads while there is something, but lets the loop's other descriptors have their turn. */
void amqp_client_receive(struct amqp_client *client);
/* Writes what the socket takes. */
void amqp_client_flush(struct amqp_client *client);
/* amqp_login.c: a frame of the login, or on channel 0 later. */
void amqp_login_frame(struct amqp_client *client, const struct amqp_frame_view *frame);

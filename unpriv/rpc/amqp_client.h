/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the message broker that comes back by itself: hosts in turn,
 * login, heartbeats, back-off.  Never blocks the loop (but for the look-up of
 * a host name).  What happens on its channels is handed to the owner.
 */
#pragma once
#include "common/loop.h"
#include "unpriv/base/config.h"
#include "unpriv/rpc/amqp_wire.h"

struct amqp_client;

/* What an owner is told.  A handler may send, and may call amqp_client_reconnect. */
struct amqp_client_handlers {
	/* The connection is open; it has no channel yet. */
	void (*opened)(void *context);
	/* It is lost, with all channels; the client connects again. */
	void (*lost)(void *context);
	/* A method on a channel > 0; method is the library's struct for id. */
	void (*method)(void *context, uint16_t channel, uint32_t id, const void *method);
	/* A content header, and a piece of a body. */
	void (*header)(void *context, uint16_t channel, const struct amqp_wire_content *content);
	void (*body)(void *context, uint16_t channel, const uint8_t *data, size_t length);
	/* The broker takes no publishes for now, or takes them again.  May be NULL. */
	void (*blocked)(void *context, bool blocked);
	/* Output that waited has been written.  May be NULL. */
	void (*drained)(void *context);
	/* amqp_client_shut is done. */
	void (*shut)(void *context);
};

struct amqp_client_options {
	const struct config *config; /* borrowed */
	const char *purpose;	     /* for the log: "consumer", "publisher" (static) */
	const struct amqp_client_handlers *handlers;
	void *context;
};

/* Owned; NULL with *err.  Does nothing before amqp_client_start. */
struct amqp_client *amqp_client_new(struct loop *loop, const struct amqp_client_options *options,
				    struct zerr *err);
void amqp_client_start(struct amqp_client *client);
void amqp_client_free(struct amqp_client *client);

/* Append a method (the library's struct for id), or a whole message, to the output.
 * 0 or a negative errno: -ENOTCONN, -ENOBUFS when too much waits already. */
int amqp_client_send(struct amqp_client *client, uint16_t channel, uint32_t id, void *method);
int amqp_client_publish(struct amqp_client *client, uint16_t channel, amqp_basic_publish_t *publish,
			amqp_basic_properties_t *properties, amqp_bytes_t body);
/* Bytes that wait to be written. */
size_t amqp_client_waiting(const struct amqp_client *client);

/* Gives the connection up and tries the next host.  why is logged as a warning. */
void amqp_client_reconnect(struct amqp_client *client, const char *why);
/* Stops or resumes reading; a paused client does not miss the broker's heartbeats. */
void amqp_client_pause(struct amqp_client *client, bool paused);
/* Writes what waits, closes the connection in good order (within 5 s), calls shut; no reconnect. */
void amqp_client_shut(struct amqp_client *client);

bool amqp_client_is_open(const struct amqp_client *client);
/* True while the connection is open and the broker was heard within two heartbeats. */
bool amqp_client_is_alive(const struct amqp_client *client);

/* What the broker sent, as if read from the connection: for tests and fuzzing. */
void amqp_client_begin(struct amqp_client *client);
void amqp_client_input(struct amqp_client *client, const uint8_t *data, size_t length);

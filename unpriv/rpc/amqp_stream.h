/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte stream to a message broker: TCP, or TLS over TCP with the chain and
 * the name verified (known-faults F05).  Never blocks but for the look-up of a
 * host name, which the resolver's own limits bound.
 */
#pragma once
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct amqp_target {
	const char *host;
	uint16_t port;
	unsigned silence_s; /* what is sent must be acknowledged within this time (TCP_USER_TIMEOUT)
			     */
	bool tls;
	bool verify_name;      /* false: only the chain */
	const char *ca_file;   /* NULL or "": the system's store */
	const char *cert_file; /* NULL or "": no client certificate */
	const char *key_file;
};

struct amqp_stream;

/* Looks the host up and begins to connect.  Owned; NULL with *err. */
struct amqp_stream *amqp_stream_open(const struct amqp_target *target, struct zerr *err);
void amqp_stream_close(struct amqp_stream *stream);
/* The descriptor to watch; another one may follow after each step. */
int amqp_stream_fd(const struct amqp_stream *stream);
/* The epoll events to wait for until the next step, read or write. */
uint32_t amqp_stream_events(const struct amqp_stream *stream, bool output_waits);
/* Goes on connecting: 1 open, 0 wait for more events, or a negative errno with *err. */
int amqp_stream_step(struct amqp_stream *stream, struct zerr *err);
/* Bytes read (> 0), 0 at the peer's end of stream, -EAGAIN, or a negative errno with *err. */
ssize_t amqp_stream_read(struct amqp_stream *stream, void *data, size_t size, struct zerr *err);
/* Bytes written (> 0), -EAGAIN, or a negative errno with *err. */
ssize_t amqp_stream_write(struct amqp_stream *stream, const void *data, size_t length,
			  struct zerr *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMQP 0-9-1 frames.  librabbitmq codes and decodes the methods and
 * properties; the frames around them are made and taken apart here, so that no
 * byte reaches the library before its length has been checked.
 */
#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AMQP_WIRE_FRAME_MAX   131072U /* what RabbitMQ offers */
#define AMQP_WIRE_FRAME_MIN   4096U   /* what the protocol guarantees */
#define AMQP_WIRE_FRAME_EXTRA 8U      /* header of 7 bytes, end of 1 */
#define AMQP_WIRE_TEXT_MAX    255U    /* a short string */

/* Bytes between two ends: read from start, written at end. */
struct amqp_buffer {
	uint8_t *data; /* owned */
	size_t size, start, end;
	size_t limit; /* the most it may hold */
};

/* Makes room for length more bytes after end.  -ENOBUFS over the limit, -ENOMEM. */
int amqp_buffer_reserve(struct amqp_buffer *buffer, size_t length);
static inline size_t amqp_buffer_used(const struct amqp_buffer *buffer)
{
	return buffer->end - buffer->start;
}
void amqp_buffer_consume(struct amqp_buffer *buffer, size_t length);
/* Forgets the content and wipes it: the login is in it. */
void amqp_buffer_wipe(struct amqp_buffer *buffer);
void amqp_buffer_free(struct amqp_buffer *buffer);

struct amqp_frame_view {
	uint8_t type; /* AMQP_FRAME_METHOD, _HEADER, _BODY, _HEARTBEAT */
	uint16_t channel;
	const uint8_t *payload; /* borrows */
	size_t length;
};

/* 1: *frame is the first frame of data and *used its size; 0: it is not whole yet; -EBADMSG: no
 * frame. */
int amqp_wire_split(const uint8_t *data, size_t length, size_t frame_max,
		    struct amqp_frame_view *frame, size_t *used);
/* The id of a method frame, or 0. */
uint32_t amqp_wire_method_id(const struct amqp_frame_view *frame);
/* True when the library may decode it: one of the few that a client is sent, and none with a table
 * in it. */
bool amqp_wire_method_known(uint32_t id);
/* Decodes into pool (strings borrow from the frame).  NULL when it is malformed. */
void *amqp_wire_method_decode(const struct amqp_frame_view *frame, amqp_pool_t *pool);

struct amqp_wire_start {
	bool plain, amqplain, external; /* mechanisms offered */
};
/* Reads connection.start without decoding the server's properties.  0 or -EBADMSG. */
int amqp_wire_start_decode(const struct amqp_frame_view *frame, struct amqp_wire_start *start);

struct amqp_wire_content {
	uint64_t body_size;
	char content_type[64]; /* "" when absent or longer */
};
/* Reads a content header; of the properties only the content type.  0 or -EBADMSG. */
int amqp_wire_content_decode(const struct amqp_frame_view *frame,
			     struct amqp_wire_content *content);

/* Append to buffer.  0 or a negative errno. */
int amqp_wire_put_protocol(struct amqp_buffer *buffer);
int amqp_wire_put_heartbeat(struct amqp_buffer *buffer);
int amqp_wire_put_method(struct amqp_buffer *buffer, uint16_t channel, uint32_t id, void *method);
/* The header and the body frames of a message; frame_max as negotiated. */
int amqp_wire_put_content(struct amqp_buffer *buffer, uint16_t channel,
			  amqp_basic_properties_t *properties, amqp_bytes_t body, size_t frame_max);
/* A bytes value for the library's structs, borrowing text. */
amqp_bytes_t amqp_wire_bytes(const char *text);
/* Copies at most size - 1 bytes of a received text and terminates it. */
void amqp_wire_text(amqp_bytes_t bytes, char *out, size_t size);

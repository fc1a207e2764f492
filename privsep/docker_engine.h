/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question to the engine: a new connection, one request, the answer's head,
 * the beginning of its body; and the relay of the rest.
 */
#pragma once
#include "common/imageref.h"
#include "common/text.h"
#include "privsep/docker_head.h"
#include "privsep/proto.h"
#include <stdarg.h>

/* A body up to this size travels in the answer's frame (requests.def, ENGINE_ANSWER). */
#define ENGINE_INLINE_MAX 61440
/* The longest request line (a path or query with an escaped image reference), and the fields. */
#define ENGINE_LINE_MAX	   2048
#define ENGINE_FIELDS_MAX  256
#define ENGINE_ESCAPED_MAX (3 * IMAGEREF_MAX + 1)

struct engine_call {
	const char *socket_path;
	struct zstr body;     /* JSON, or empty; borrowed */
	uint64_t deadline_ms; /* for the connection, the request and the answer's head */
	char head[ENGINE_LINE_MAX + ENGINE_FIELDS_MAX];
};

/* What stands in a URL for itself: RFC 3986's unreserved characters. */
#define ENGINE_PLAIN TEXT_ALNUM "-._~"
/* Copies value, at most IMAGEREF_MAX bytes, with everything but the characters in plain escaped.
 * Returns out. */
const char *engine_escape(struct zstr value, const char *plain, char out[ENGINE_ESCAPED_MAX]);

struct engine_reply {
	struct docker_head head;
	struct zstr body; /* its beginning, borrowed from data */
	int connection;	  /* owned: where the rest comes from; -1 when the body is whole or was cut
			     off */
	char data[DOCKER_HEAD_MAX + ENGINE_INLINE_MAX];
};

/*
 * Sends the call, its method and target ("GET /version") being what the format makes.  PROTO_OK
 * fills *reply; else PROTO_NO_ENGINE, PROTO_ENGINE_TIMEOUT, PROTO_ENGINE_BROKEN or PROTO_LIMIT.
 * Waits beyond the head for as much of the body as comes at once.
 */
enum proto_status engine_ask(struct engine_call *call, struct engine_reply *reply,
			     const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));
/* Bytes of the body that are still to come, UINT64_MAX when only its end tells. */
uint64_t engine_left(const struct engine_reply *reply);
/*
 * Moves left bytes, or all up to the end, from the connection to a pipe.  Returns when that is
 * done, when either side is gone, or after wait_ms without progress.  Both descriptors are
 * borrowed.
 */
void engine_relay(int connection, int pipe_write, uint64_t left, uint32_t wait_ms);

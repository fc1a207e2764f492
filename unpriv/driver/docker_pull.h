/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress stream of a pull: one JSON object a line, for as long as it
 * takes.  Only a line that carries an error matters.
 */
#pragma once
#include "common/zbuf.h"
#include "common/zerr.h"
#include <stdbool.h>
#include <stdint.h>

#define PULL_LINE_MAX	 65536
#define PULL_MESSAGE_MAX 256

struct pull_stream {
	char *line; /* PULL_LINE_MAX bytes, owned */
	size_t used;
	uint64_t lines; /* complete ones: the measure of progress */
	bool failed;	/* an error member was there */
	int64_t code;	/* errorDetail.code, 0 when there was none */
	char message[PULL_MESSAGE_MAX];
};

int pull_stream_init(struct pull_stream *stream);
void pull_stream_clear(struct pull_stream *stream);
/* 0, or -EBADMSG for a line that is not a JSON object or is over PULL_LINE_MAX. */
int pull_stream_feed(struct pull_stream *stream, struct zstr bytes, struct zerr *err);
/* At the end of the body: what stands after the last newline is a line too. */
int pull_stream_end(struct pull_stream *stream, struct zerr *err);

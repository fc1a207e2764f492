/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the engine's answers, as the helper hands them over: the beginning
 * in the answer's frame, the rest through a pipe, still framed as on the wire.
 */
#pragma once
#include "common/zerr.h"
#include "privsep/proto.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum body_state {
	BODY_PLAIN, /* length or close framing: payload */
	BODY_SIZE,  /* digits of a chunk's size */
	BODY_SIZE_LF,
	BODY_CHUNK, /* payload of a chunk */
	BODY_CHUNK_CR,
	BODY_CHUNK_LF,
	BODY_TRAILER,	   /* beginning of a line after the last chunk */
	BODY_TRAILER_TEXT, /* inside such a line */
	BODY_TRAILER_LF,
	BODY_LAST_LF,
	BODY_END
};

struct body_decoder {
	enum proto_framing framing;
	enum body_state state;
	uint64_t left; /* payload bytes still to come: of the body, or of this chunk */
	unsigned digits;
	size_t trailer; /* bytes of trailer lines so far */
};

/* framing and content_length as the helper read them; an unknown framing is -EBADMSG. */
int body_decoder_init(struct body_decoder *decoder, uint8_t framing, uint64_t content_length);
/* Takes bytes off *input and sets *payload to the next span of content (borrows from the input, may
 * be empty).  To be called while input->length > 0.  0, or -EBADMSG for a framing that is wrong or
 * bytes after its end. */
int body_decode(struct body_decoder *decoder, struct zstr *input, struct zstr *payload);
/* Is the body whole if the input ends here? */
bool body_whole(const struct body_decoder *decoder);

#define BODY_BUFFER_SIZE 16384 /* bytes taken from the pipe at a time */

struct body_reader {
	struct body_decoder decoder;
	struct zstr input; /* not yet decoded: borrows from the frame or from buffer */
	int fd;		   /* the rest of the body, owned; -1 = nothing follows */
	char buffer[BODY_BUFFER_SIZE];
};

/* Takes fd, also when it fails.  beginning is borrowed from the answer's frame: read to the end or
 * close before the channel's next call. */
int body_reader_open(struct body_reader *reader, uint8_t framing, uint64_t content_length,
		     struct zstr beginning, int fd);
/* The next span of content (borrowed until the next call).  1, or 0 at the end of a whole body,
 * -ETIMEDOUT, -EBADMSG when the framing is broken or the body was cut off, another negative errno.
 */
int body_reader_next(struct body_reader *reader, uint64_t deadline_ms, struct zstr *payload);
void body_reader_close(struct body_reader *reader);

struct body_text {
	char *data; /* owned, NUL-terminated */
	size_t length;
};

/* Reads the whole body.  0 with *text owned, -EFBIG over cap bytes of content, or as
 * body_reader_next. */
int body_collect(struct body_reader *reader, size_t cap, uint64_t deadline_ms,
		 struct body_text *text);
void body_text_clear(struct body_text *text);

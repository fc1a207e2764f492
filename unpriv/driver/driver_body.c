/* SPDX-License-Identifier: Apache-2.0 */
/*
 * De-frames and collects the bodies of the engine's answers.
 * Process: worker.  Privileges: none.  The bytes come from the engine through
 * the helper, which looks at the head only: nothing here is trusted.
 */
#include "unpriv/driver/driver_body.h"
#include "common/zfd.h"
#include <poll.h>
#include <unistd.h>

/* The engine writes chunks of at most a few MiB; eight digits are 4 GiB. */
#define CHUNK_DIGITS_MAX 8
/* Trailers carry nothing for us; the engine sends none. */
#define TRAILER_BYTES_MAX  4096
#define COLLECT_FIRST_SIZE 4096

int body_decoder_init(struct body_decoder *decoder, uint8_t framing, uint64_t content_length)
{
	if (framing > PROTO_BODY_NONE)
		return -EBADMSG;
	*decoder = (struct body_decoder){.framing = framing, .state = BODY_PLAIN};
	switch (decoder->framing) {
	case PROTO_BODY_LENGTH:
		decoder->left = content_length;
		break;
	case PROTO_BODY_CHUNKED:
		decoder->state = BODY_SIZE;
		break;
	case PROTO_BODY_CLOSE:
		decoder->left = UINT64_MAX;
		break;
	case PROTO_BODY_NONE:
		break;
	}
	if (decoder->state == BODY_PLAIN && decoder->left == 0)
		decoder->state = BODY_END;
	return 0;
}

static int hex_digit(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

/* One byte of a chunk's size line. */
static int decode_size(struct body_decoder *decoder, char byte)
{
	int digit = hex_digit(byte);

	if (digit >= 0) {
		if (++decoder->digits > CHUNK_DIGITS_MAX)
			return -EBADMSG;
		decoder->left = decoder->left * 16 + (uint64_t)digit;
		return 0;
	}
	/* No extension is taken: the engine sends none. */
	if (byte != '\r' || decoder->digits == 0)
		return -EBADMSG;
	decoder->digits = 0;
	decoder->state = BODY_SIZE_LF;
	return 0;
}

static int decode_trailer(struct body_decoder *decoder, char byte)
{
	if (++decoder->trailer > TRAILER_BYTES_MAX || byte == '\n')
		return -EBADMSG;
	if (byte != '\r')
		decoder->state = BODY_TRAILER_TEXT;
	else
		decoder->state = decoder->state == BODY_TRAILER ? BODY_LAST_LF : BODY_TRAILER_LF;
	return 0;
}

static int expect(struct body_decoder *decoder, char byte, char expected, enum body_state next)
{
	if (byte != expected)
		return -EBADMSG;
	decoder->state = next;
	return 0;
}

/* One byte that is no payload. */
static int decode_byte(struct body_decoder *decoder, char byte)
{
	switch (decoder->state) {
	case BODY_SIZE:
		return decode_size(decoder, byte);
	case BODY_SIZE_LF:
		return expect(decoder, byte, '\n', decoder->left == 0 ? BODY_TRAILER : BODY_CHUNK);
	case BODY_CHUNK_CR:
		return expect(decoder, byte, '\r', BODY_CHUNK_LF);
	case BODY_CHUNK_LF:
		return expect(decoder, byte, '\n', BODY_SIZE);
	case BODY_TRAILER:
	case BODY_TRAILER_TEXT:
		return decode_trailer(decoder, byte);
	case BODY_TRAILER_LF:
		return expect(decoder, byte, '\n', BODY_TRAILER);
	case BODY_LAST_LF:
		return expect(decoder, byte, '\n', BODY_END);
	case BODY_PLAIN:
	case BODY_CHUNK:
	case BODY_END:
		break;
	}
	return -EBADMSG; /* bytes after the end */
}

static void take(struct zstr *input, size_t count)
{
	input->data += count;
	input->length -= count;
}

int body_decode(struct body_decoder *decoder, struct zstr *input, struct zstr *payload)
{
	*payload = (struct zstr){0};
	while (input->length > 0) {
		int result;

		if (decoder->state == BODY_PLAIN || decoder->state == BODY_CHUNK) {
			payload->data = input->data;
			payload->length = input->length < decoder->left ? input->length
									: (size_t)decoder->left;
			take(input, payload->length);
			if (decoder->framing != PROTO_BODY_CLOSE)
				decoder->left -= payload->length;
			if (decoder->left == 0)
				decoder->state =
					decoder->state == BODY_CHUNK ? BODY_CHUNK_CR : BODY_END;
			return 0;
		}
		result = decode_byte(decoder, *input->data);
		if (result < 0)
			return result;
		take(input, 1);
	}
	return 0;
}

bool body_whole(const struct body_decoder *decoder)
{
	return decoder->state == BODY_END || decoder->framing == PROTO_BODY_CLOSE;
}

int body_reader_open(struct body_reader *reader, uint8_t framing, uint64_t content_length,
		     struct zstr beginning, int fd)
{
	reader->fd = fd;
	reader->input = beginning;
	return body_decoder_init(&reader->decoder, framing, content_length);
}

void body_reader_close(struct body_reader *reader)
{
	zfd_closep(&reader->fd);
	reader->fd = -1;
	reader->input.length = 0;
}

/* Waits for more bytes from the pipe.  1 when there are, 0 at its end. */
static int reader_fill(struct body_reader *reader, uint64_t deadline_ms)
{
	ssize_t count;
	int result;

	if (reader->fd < 0)
		return 0;
	result = zfd_wait(reader->fd, POLLIN, deadline_ms);
	if (result < 0)
		return result;
	count = ZFD_RETRY(read(reader->fd, reader->buffer, sizeof(reader->buffer)));
	if (count < 0)
		return -errno;
	reader->input = (struct zstr){reader->buffer, (size_t)count};
	return count > 0;
}

int body_reader_next(struct body_reader *reader, uint64_t deadline_ms, struct zstr *payload)
{
	int result;

	for (;;) {
		while (reader->input.length > 0) {
			result = body_decode(&reader->decoder, &reader->input, payload);
			if (result < 0)
				return result;
			if (payload->length > 0)
				return 1;
		}
		/* What would come after the end of the body is not worth waiting for. */
		if (reader->decoder.state == BODY_END)
			return 0;
		result = reader_fill(reader, deadline_ms);
		if (result < 0)
			return result;
		if (result == 0)
			return body_whole(&reader->decoder) ? 0 : -EBADMSG;
	}
}

/* Room for length more bytes and the NUL, never more than cap content bytes. */
static int text_reserve(struct body_text *text, size_t *size, size_t length, size_t cap)
{
	size_t wanted = *size == 0 ? COLLECT_FIRST_SIZE : *size;
	char *grown;

	if (length > cap - text->length)
		return -EFBIG;
	while (wanted < text->length + length + 1)
		wanted *= 2;
	if (wanted == *size)
		return 0;
	grown = realloc(text->data, wanted);
	if (grown == NULL)
		return -ENOMEM;
	text->data = grown;
	*size = wanted;
	return 0;
}

int body_collect(struct body_reader *reader, size_t cap, uint64_t deadline_ms,
		 struct body_text *text)
{
	_cleanup_(body_text_clear) struct body_text collected = {0};
	struct zstr payload = {0};
	size_t size = 0;
	int result;

	result = text_reserve(&collected, &size, 0, cap);
	while (result >= 0) {
		result = body_reader_next(reader, deadline_ms, &payload);
		if (result <= 0)
			break;
		result = text_reserve(&collected, &size, payload.length, cap);
		if (result < 0)
			break;
		memcpy(collected.data + collected.length, payload.data, payload.length);
		collected.length += payload.length;
	}
	if (result < 0)
		return result;
	collected.data[collected.length] = '\0';
	*text = collected;
	memset(&collected, 0, sizeof(collected)); /* handed over */
	return 0;
}

void body_text_clear(struct body_text *text)
{
	free(text->data);
	*text = (struct body_text){0};
}

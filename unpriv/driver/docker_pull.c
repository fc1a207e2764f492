/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the progress stream of a pull, line by line, in constant memory.
 * Process: worker.  Privileges: none.  What a registry says reaches this
 * parser through the engine.
 */
#include "unpriv/driver/docker_pull.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/driver/docker_text.h"

int pull_stream_init(struct pull_stream *stream)
{
	*stream = (struct pull_stream){0};
	stream->line = malloc(PULL_LINE_MAX);
	return stream->line == NULL ? -ENOMEM : 0;
}

void pull_stream_clear(struct pull_stream *stream)
{
	free(stream->line);
	*stream = (struct pull_stream){0};
}

/* Keeps the first error only: it is the cause, what follows are its consequences. */
static void keep_error(struct pull_stream *stream, const char *text, int64_t code)
{
	if (stream->failed)
		return;
	stream->failed = true;
	stream->code = code;
	docker_text_clean(zstr_from(text), stream->message, sizeof(stream->message));
}

/* The error member is the older form, errorDetail the newer; engines send both. */
static int read_line(struct pull_stream *stream, struct json_object *line, struct zerr *err)
{
	struct json_object *detail = NULL;
	const char *text = NULL;
	int64_t code = 0;
	int result;

	if (!json_object_is_type(line, json_type_object))
		return zerr_set(err, -EBADMSG, "a progress line is not a JSON object");
	result = json_get_string(line, "error", &text, err);
	if (result == 0)
		result = json_get_object(line, "errorDetail", &detail, err);
	if (result == 0 && detail != NULL) {
		result = json_get_int(detail, "code", INT32_MIN, INT32_MAX, &code, err);
		if (result == 0 && text == NULL)
			result = json_get_string(detail, "message", &text, err);
	}
	if (result < 0)
		return -EBADMSG;
	if (text != NULL || detail != NULL)
		keep_error(stream, text, code);
	return 0;
}

static int end_line(struct pull_stream *stream, struct zerr *err)
{
	_cleanup_(json_putp) struct json_object *line = NULL;
	size_t length = stream->used;

	stream->used = 0;
	if (length > 0 && stream->line[length - 1] == '\r')
		length--;
	if (length == 0)
		return 0;
	line = json_parse(stream->line, length, PULL_LINE_MAX, err);
	if (line == NULL)
		return -EBADMSG;
	stream->lines++;
	return read_line(stream, line, err);
}

int pull_stream_feed(struct pull_stream *stream, struct zstr bytes, struct zerr *err)
{
	int result = 0;

	while (bytes.length > 0 && result == 0) {
		const char *newline = memchr(bytes.data, '\n', bytes.length);
		size_t part = newline != NULL ? (size_t)(newline - bytes.data) : bytes.length;

		if (part > PULL_LINE_MAX - stream->used)
			return zerr_set(err, -EBADMSG, "a progress line is over %d bytes",
					PULL_LINE_MAX);
		memcpy(stream->line + stream->used, bytes.data, part);
		stream->used += part;
		bytes.data += part;
		bytes.length -= part;
		if (newline != NULL) {
			bytes.data++;
			bytes.length--;
			result = end_line(stream, err);
		}
	}
	return result;
}

int pull_stream_end(struct pull_stream *stream, struct zerr *err)
{
	return end_line(stream, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The progress stream of a pull.  First byte: how the input is cut; the outcome must not depend on
 * it. */
#include "unpriv/driver/docker_pull.h"
#include <stdlib.h>
#include <string.h>

static int feed(struct pull_stream *stream, struct zstr text, size_t step)
{
	struct zerr err;
	int result = 0;

	stream->used = 0;
	stream->lines = 0;
	stream->failed = false;
	stream->code = 0;
	stream->message[0] = '\0';
	while (result == 0 && text.length > 0) {
		struct zstr piece = {text.data, text.length < step ? text.length : step};

		text.data += piece.length;
		text.length -= piece.length;
		result = pull_stream_feed(stream, piece, &err);
	}
	return result < 0 ? result : pull_stream_end(stream, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pull_stream at_once, in_pieces;
	struct zstr text;

	if (at_once.line == NULL &&
	    (pull_stream_init(&at_once) < 0 || pull_stream_init(&in_pieces) < 0))
		return 0;
	if (size < 1)
		return 0;
	text = (struct zstr){(const char *)data + 1, size - 1};
	if (feed(&at_once, text, size) != feed(&in_pieces, text, (size_t)data[0] % 64 + 1) ||
	    at_once.failed != in_pieces.failed || at_once.code != in_pieces.code ||
	    at_once.lines != in_pieces.lines || strcmp(at_once.message, in_pieces.message) != 0)
		abort();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The de-framing of the engine's bodies.  First byte: framing; second: how the
 * input is cut; then the wire.  However it is cut, the outcome is the same.
 */
#include "unpriv/driver/driver_body.h"
#include <stdlib.h>
#include <string.h>

#define WIRE_MAX 4096

struct outcome {
	int result;
	bool whole;
	size_t used;
	char content[WIRE_MAX];
};

static void decode(uint8_t framing, struct zstr wire, size_t step, struct outcome *outcome)
{
	struct body_decoder decoder;

	outcome->used = 0;
	outcome->whole = false;
	outcome->result = body_decoder_init(&decoder, framing, wire.length / 2);
	while (outcome->result == 0 && wire.length > 0) {
		struct zstr piece = {wire.data, wire.length < step ? wire.length : step};

		wire.data += piece.length;
		wire.length -= piece.length;
		while (outcome->result == 0 && piece.length > 0) {
			size_t before = piece.length;
			struct zstr payload;

			outcome->result = body_decode(&decoder, &piece, &payload);
			if (outcome->result < 0)
				break;
			if (piece.length >= before || payload.length > before - piece.length)
				abort();
			if (payload.length > 0)
				memcpy(outcome->content + outcome->used, payload.data,
				       payload.length);
			outcome->used += payload.length;
		}
	}
	if (outcome->result == 0)
		outcome->whole = body_whole(&decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome at_once, in_pieces;
	struct zstr wire;

	if (size < 2 || size - 2 > WIRE_MAX)
		return 0;
	wire = (struct zstr){(const char *)data + 2, size - 2};
	decode(data[0] & 7, wire, WIRE_MAX, &at_once);
	decode(data[0] & 7, wire, (size_t)data[1] % 16 + 1, &in_pieces);
	if (at_once.result != in_pieces.result || at_once.whole != in_pieces.whole)
		abort();
	/* What came before a refusal depends on the cut, what was taken does not. */
	if (at_once.result == 0 && (at_once.used != in_pieces.used ||
				    memcmp(at_once.content, in_pieces.content, at_once.used) != 0))
		abort();
	return 0;
}

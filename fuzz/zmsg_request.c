/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request's frame as a helper reads it: header, row, fields.  What is decoded must
 * encode to the same bytes.
 */
#include "privsep/proto.h"

#include <assert.h>
#include <string.h>

union message {
#define REQUEST(domain, name, ...) struct req_##domain##_##name domain##_##name;
#include "privsep/requests.def"
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union message message;
	static uint8_t again[PROTO_LARGE_MAX];
	struct proto_header header;
	struct zreader reader;
	struct zwriter writer;
	const char *bad;
	zreader_init(&reader, data, size);
	proto_get_header(&reader, &header);
	const struct proto_row *row = proto_find((enum proto_domain)header.domain, header.type);
	if (reader.failed || row == NULL || reader.left > PROTO_LARGE_MAX)
		return 0;
	zwriter_init(&writer, again, sizeof(again));
	proto_put_header(&writer, &header);
	assert(memcmp(again, data, PROTO_HEADER_SIZE) == 0);
	if (proto_decode(row->fields, row->field_count, reader.data, reader.left, &message, &bad) < 0)
		return 0;
	zwriter_init(&writer, again, sizeof(again));
	proto_encode(row->fields, row->field_count, &message, &writer);
	assert(!writer.failed && writer.used == reader.left && reader.left <= row->request_max);
	assert(memcmp(again, reader.data, reader.left) == 0);
	return 0;
}

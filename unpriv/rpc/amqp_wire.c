/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMQP 0-9-1 frames: dispatcher and publisher, without a privilege.  What the
 * broker sends is outside input: the length of a frame is checked against what
 * was negotiated and against what its type needs, only methods that a client
 * is ever sent are decoded, and no table is: the library decodes tables by
 * recursion, as deep as the sender likes.
 */
#include "unpriv/rpc/amqp_wire.h"
#include "common/zfd.h"
#include <string.h>

#define HEADER_SIZE	      7U
#define METHOD_ID_SIZE	      4U
#define CONTENT_HEADER_SIZE   14U /* class, weight, body size, property flags */
#define PROPERTY_CONTENT_TYPE 0x8000U
#define BUFFER_FIRST_SIZE     16384U
/* Beyond the text that a frame carries, an encoded method of ours never needs more. */
#define METHOD_ROOM 4096U

static uint16_t read_u16(const uint8_t *data)
{
	return (uint16_t)(data[0] << 8 | data[1]);
}

static uint32_t read_u32(const uint8_t *data)
{
	return (uint32_t)read_u16(data) << 16 | read_u16(data + 2);
}

static uint64_t read_u64(const uint8_t *data)
{
	return (uint64_t)read_u32(data) << 32 | read_u32(data + 4);
}

static void write_u16(uint8_t *data, uint16_t value)
{
	data[0] = (uint8_t)(value >> 8);
	data[1] = (uint8_t)value;
}

static void write_u32(uint8_t *data, uint32_t value)
{
	write_u16(data, (uint16_t)(value >> 16));
	write_u16(data + 2, (uint16_t)value);
}

static void write_u64(uint8_t *data, uint64_t value)
{
	write_u32(data, (uint32_t)(value >> 32));
	write_u32(data + 4, (uint32_t)value);
}

int amqp_buffer_reserve(struct amqp_buffer *buffer, size_t length)
{
	size_t used = amqp_buffer_used(buffer), wanted, size;
	uint8_t *larger;

	if (buffer->size - buffer->end >= length)
		return 0;
	if (length > buffer->limit || used > buffer->limit - length)
		return -ENOBUFS;
	if (used > 0)
		memmove(buffer->data, buffer->data + buffer->start, used);
	buffer->start = 0;
	buffer->end = used;
	if (buffer->size - used >= length)
		return 0;
	wanted = used + length;
	size = buffer->size ? buffer->size : BUFFER_FIRST_SIZE;
	while (size < wanted)
		size *= 2;
	larger = realloc(buffer->data, size);
	if (!larger)
		return -ENOMEM;
	buffer->data = larger;
	buffer->size = size;
	return 0;
}

void amqp_buffer_consume(struct amqp_buffer *buffer, size_t length)
{
	buffer->start += length;
	if (buffer->start == buffer->end)
		buffer->start = buffer->end = 0;
}

void amqp_buffer_wipe(struct amqp_buffer *buffer)
{
	if (buffer->data)
		explicit_bzero(buffer->data, buffer->size);
	buffer->start = buffer->end = 0;
}

void amqp_buffer_free(struct amqp_buffer *buffer)
{
	free(buffer->data);
	buffer->data = NULL;
	buffer->size = buffer->start = buffer->end = 0;
}

/* The fewest bytes that a frame of this type holds; SIZE_MAX for a type that does not exist. */
static size_t least_payload(uint8_t type)
{
	switch (type) {
	case AMQP_FRAME_METHOD:
		return METHOD_ID_SIZE;
	case AMQP_FRAME_HEADER:
		return CONTENT_HEADER_SIZE;
	case AMQP_FRAME_BODY:
	case AMQP_FRAME_HEARTBEAT:
		return 0;
	default:
		return SIZE_MAX;
	}
}

int amqp_wire_split(const uint8_t *data, size_t length, size_t frame_max,
		    struct amqp_frame_view *frame, size_t *used)
{
	size_t payload;

	/* Another protocol shows in the first byte: no need to wait for more of it. */
	if (length > 0 && least_payload(data[0]) == SIZE_MAX)
		return -EBADMSG;
	if (length < HEADER_SIZE)
		return 0;
	payload = read_u32(data + 3);
	if (payload > frame_max - AMQP_WIRE_FRAME_EXTRA || payload < least_payload(data[0]))
		return -EBADMSG;
	if (length - HEADER_SIZE < payload + 1)
		return 0;
	if (data[HEADER_SIZE + payload] != AMQP_FRAME_END)
		return -EBADMSG;
	*frame = (struct amqp_frame_view){.type = data[0],
					  .channel = read_u16(data + 1),
					  .payload = data + HEADER_SIZE,
					  .length = payload};
	*used = payload + AMQP_WIRE_FRAME_EXTRA;
	return 1;
}

uint32_t amqp_wire_method_id(const struct amqp_frame_view *frame)
{
	return frame->type == AMQP_FRAME_METHOD ? read_u32(frame->payload) : 0;
}

bool amqp_wire_method_known(uint32_t id)
{
	static const uint32_t known[] = {
		AMQP_CONNECTION_TUNE_METHOD,	 AMQP_CONNECTION_OPEN_OK_METHOD,
		AMQP_CONNECTION_CLOSE_METHOD,	 AMQP_CONNECTION_CLOSE_OK_METHOD,
		AMQP_CONNECTION_BLOCKED_METHOD,	 AMQP_CONNECTION_UNBLOCKED_METHOD,
		AMQP_CHANNEL_OPEN_OK_METHOD,	 AMQP_CHANNEL_CLOSE_METHOD,
		AMQP_CHANNEL_CLOSE_OK_METHOD,	 AMQP_CHANNEL_FLOW_METHOD,
		AMQP_EXCHANGE_DECLARE_OK_METHOD, AMQP_QUEUE_DECLARE_OK_METHOD,
		AMQP_QUEUE_BIND_OK_METHOD,	 AMQP_QUEUE_DELETE_OK_METHOD,
		AMQP_BASIC_QOS_OK_METHOD,	 AMQP_BASIC_CONSUME_OK_METHOD,
		AMQP_BASIC_CANCEL_METHOD,	 AMQP_BASIC_CANCEL_OK_METHOD,
		AMQP_BASIC_DELIVER_METHOD,	 AMQP_BASIC_RETURN_METHOD,
		AMQP_BASIC_ACK_METHOD,		 AMQP_BASIC_NACK_METHOD,
		AMQP_CONFIRM_SELECT_OK_METHOD,
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == id)
			return true;
	return false;
}

void *amqp_wire_method_decode(const struct amqp_frame_view *frame, amqp_pool_t *pool)
{
	amqp_bytes_t encoded = {.len = frame->length - METHOD_ID_SIZE};
	void *method = NULL;

	/* The library reads only; its type for bytes has no const. */
	memcpy(&encoded.bytes, &(const void *){frame->payload + METHOD_ID_SIZE},
	       sizeof(encoded.bytes));
	if (amqp_decode_method(amqp_wire_method_id(frame), pool, encoded, &method) < 0)
		return NULL;
	return method;
}

/* A string of a start method: length of 4 bytes, then the bytes. */
static bool take_long(const uint8_t **data, size_t *left, const uint8_t **out, size_t *length)
{
	size_t size;

	if (*left < 4)
		return false;
	size = read_u32(*data);
	if (size > *left - 4)
		return false;
	*out = *data + 4;
	*length = size;
	*data += 4 + size;
	*left -= 4 + size;
	return true;
}

static bool is_word(const uint8_t *text, size_t length, const char *word)
{
	return length == strlen(word) && memcmp(text, word, length) == 0;
}

static void note_mechanism(const uint8_t *text, size_t length, struct amqp_wire_start *start)
{
	start->plain = start->plain || is_word(text, length, "PLAIN");
	start->amqplain = start->amqplain || is_word(text, length, "AMQPLAIN");
	start->external = start->external || is_word(text, length, "EXTERNAL");
}

int amqp_wire_start_decode(const struct amqp_frame_view *frame, struct amqp_wire_start *start)
{
	const uint8_t *data = frame->payload + METHOD_ID_SIZE, *text, *word;
	size_t left = frame->length - METHOD_ID_SIZE, length;

	*start = (struct amqp_wire_start){0};
	if (left < 2 || data[0] != AMQP_PROTOCOL_VERSION_MAJOR ||
	    data[1] != AMQP_PROTOCOL_VERSION_MINOR)
		return -EBADMSG;
	data += 2;
	left -= 2;
	if (!take_long(&data, &left, &text, &length))
		return -EBADMSG; /* the server's properties: passed over */
	if (!take_long(&data, &left, &text, &length))
		return -EBADMSG; /* the mechanisms */
	word = text;
	for (size_t i = 0; i <= length; i++) {
		if (i < length && text[i] != ' ')
			continue;
		note_mechanism(word, (size_t)(text + i - word), start);
		word = text + i + 1;
	}
	return 0;
}

int amqp_wire_content_decode(const struct amqp_frame_view *frame, struct amqp_wire_content *content)
{
	const uint8_t *data = frame->payload;
	size_t length, left = frame->length - CONTENT_HEADER_SIZE;

	if (read_u16(data) != AMQP_BASIC_CLASS)
		return -EBADMSG;
	content->body_size = read_u64(data + 4);
	content->content_type[0] = '\0';
	if (!(read_u16(data + 12) & PROPERTY_CONTENT_TYPE))
		return 0;
	/* It is the first of the properties. */
	data += CONTENT_HEADER_SIZE;
	if (left < 1 || data[0] > left - 1)
		return -EBADMSG;
	length = data[0];
	if (length < sizeof(content->content_type) && !memchr(data + 1, '\0', length)) {
		memcpy(content->content_type, data + 1, length);
		content->content_type[length] = '\0';
	}
	return 0;
}

int amqp_wire_put_protocol(struct amqp_buffer *buffer)
{
	static const uint8_t protocol[8] = {'A', 'M', 'Q', 'P', 0, 0, 9, 1};
	int result = amqp_buffer_reserve(buffer, sizeof(protocol));

	if (result < 0)
		return result;
	memcpy(buffer->data + buffer->end, protocol, sizeof(protocol));
	buffer->end += sizeof(protocol);
	return 0;
}

/* Writes what stands around a payload that is already at its place. */
static void frame_around(struct amqp_buffer *buffer, uint8_t type, uint16_t channel, size_t length)
{
	uint8_t *frame = buffer->data + buffer->end;

	frame[0] = type;
	write_u16(frame + 1, channel);
	write_u32(frame + 3, (uint32_t)length);
	frame[HEADER_SIZE + length] = AMQP_FRAME_END;
	buffer->end += length + AMQP_WIRE_FRAME_EXTRA;
}

int amqp_wire_put_heartbeat(struct amqp_buffer *buffer)
{
	int result = amqp_buffer_reserve(buffer, AMQP_WIRE_FRAME_EXTRA);

	if (result == 0)
		frame_around(buffer, AMQP_FRAME_HEARTBEAT, 0, 0);
	return result;
}

int amqp_wire_put_method(struct amqp_buffer *buffer, uint16_t channel, uint32_t id, void *method)
{
	amqp_bytes_t room = {.len = METHOD_ROOM - METHOD_ID_SIZE};
	uint8_t *payload;
	int result = amqp_buffer_reserve(buffer, METHOD_ROOM + AMQP_WIRE_FRAME_EXTRA);

	if (result < 0)
		return result;
	payload = buffer->data + buffer->end + HEADER_SIZE;
	write_u32(payload, id);
	room.bytes = payload + METHOD_ID_SIZE;
	result = amqp_encode_method(id, method, room);
	if (result < 0)
		return -EMSGSIZE;
	frame_around(buffer, AMQP_FRAME_METHOD, channel, METHOD_ID_SIZE + (size_t)result);
	return 0;
}

static int put_content_header(struct amqp_buffer *buffer, uint16_t channel,
			      amqp_basic_properties_t *properties, uint64_t body_size)
{
	amqp_bytes_t room = {.len = METHOD_ROOM - CONTENT_HEADER_SIZE};
	uint8_t *payload;
	int result = amqp_buffer_reserve(buffer, METHOD_ROOM + AMQP_WIRE_FRAME_EXTRA);

	if (result < 0)
		return result;
	payload = buffer->data + buffer->end + HEADER_SIZE;
	write_u16(payload, AMQP_BASIC_CLASS);
	write_u16(payload + 2, 0);
	write_u64(payload + 4, body_size);
	room.bytes = payload + 12; /* the library writes the property flags itself */
	result = amqp_encode_properties(AMQP_BASIC_CLASS, properties, room);
	if (result < 0)
		return -EMSGSIZE;
	frame_around(buffer, AMQP_FRAME_HEADER, channel, 12 + (size_t)result);
	return 0;
}

int amqp_wire_put_content(struct amqp_buffer *buffer, uint16_t channel,
			  amqp_basic_properties_t *properties, amqp_bytes_t body, size_t frame_max)
{
	const uint8_t *data = body.bytes;
	size_t left = body.len, most = frame_max - AMQP_WIRE_FRAME_EXTRA;
	size_t frames = left / most + 1;
	int result;

	/* All or nothing: half a message on the wire would have to end the connection. */
	result = amqp_buffer_reserve(buffer,
				     METHOD_ROOM + left + (frames + 1) * AMQP_WIRE_FRAME_EXTRA);
	if (result == 0)
		result = put_content_header(buffer, channel, properties, body.len);
	if (result < 0)
		return result;
	while (left > 0) {
		size_t part = left < most ? left : most;

		memcpy(buffer->data + buffer->end + HEADER_SIZE, data, part);
		frame_around(buffer, AMQP_FRAME_BODY, channel, part);
		data += part;
		left -= part;
	}
	return 0;
}

amqp_bytes_t amqp_wire_bytes(const char *text)
{
	return amqp_cstring_bytes(text);
}

void amqp_wire_text(amqp_bytes_t bytes, char *out, size_t size)
{
	size_t length = bytes.len < size - 1 ? bytes.len : size - 1;

	if (length > 0)
		memcpy(out, bytes.bytes, length);
	out[length] = '\0';
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's side of a channel: one request, one answer, each with a deadline.
 * Runs in the dispatcher and the workers, without any privilege.  The helper is
 * trusted with more than the caller, yet its frames are checked as strictly as
 * it checks ours: the first surprise closes the channel.
 */
#include "privsep/client.h"

#include "common/zfd.h"
#include <assert.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Beyond what the engine may take: the helper's own work, and a host under load. */
#define GRACE_MS 10000U

struct exchange {
	const struct proto_row *row;
	uint64_t deadline;
	struct zfd_packet packet;
	struct proto_header header; /* of the answer */
};

static void close_exchange(struct exchange *exchange)
{
	zfd_packet_close(&exchange->packet);
}

void priv_close(struct priv_channel *channel)
{
	zfd_closep(&channel->fd);
	free(TAKE_PTR(channel->buffer));
}

/* The request's payload as a sealed memfd: an owned descriptor, or a negative errno. */
static int encode_large(const struct proto_row *row, const void *message)
{
	_cleanup_free_ uint8_t *data = malloc(PROTO_LARGE_MAX);
	struct zwriter writer;
	if (data == NULL)
		return -ENOMEM;
	zwriter_init(&writer, data, PROTO_LARGE_MAX);
	proto_encode(row->fields, row->field_count, message, &writer);
	/* What does not need a memfd must not use one: then the table was broken, not the frame
	 * full. */
	if (writer.failed || writer.used <= PROTO_PAYLOAD_MAX)
		return -EINVAL;
	return zfd_sealed_memfd("request", writer.data, writer.used);
}

static int send_request(struct priv_channel *channel, const struct exchange *exchange,
			const void *message)
{
	const struct proto_row *row = exchange->row;
	_cleanup_fd_ int large = -1;
	struct zwriter writer;
	zwriter_init(&writer, channel->buffer + PROTO_HEADER_SIZE, PROTO_PAYLOAD_MAX);
	proto_encode(row->fields, row->field_count, message, &writer);
	if (writer.failed) {
		if (!row->large)
			return -EINVAL;
		large = encode_large(row, message);
		if (large < 0)
			return large;
		writer.used = 0;
	}
	struct proto_header header = {.magic = PROTO_MAGIC,
				      .version = PROTO_VERSION,
				      .domain = (uint8_t)row->domain,
				      .type = row->number,
				      .descriptors = large >= 0,
				      .sequence = ++channel->sequence,
				      .length = (uint32_t)writer.used};
	size_t length = PROTO_HEADER_SIZE + writer.used;
	zwriter_init(&writer, channel->buffer, PROTO_HEADER_SIZE);
	proto_put_header(&writer, &header);
	for (;;) {
		int r = zfd_send(channel->fd, channel->buffer, length, &large, large >= 0,
				 MSG_DONTWAIT);
		if (r != -EAGAIN)
			return r;
		r = zfd_wait(channel->fd, POLLOUT, exchange->deadline);
		if (r < 0)
			return r;
	}
}

/* Whether the header is one of an answer to the request just sent. */
static bool answer_expected(const struct priv_channel *channel, const struct proto_row *row,
			    const struct proto_header *header)
{
	unsigned allowed = header->status == PROTO_OK ? row->fds_out : 0;
	return header->magic == PROTO_MAGIC && header->version == PROTO_VERSION &&
	       header->domain == row->domain && header->type == row->number + 1 &&
	       header->status < PROTO_STATUS_COUNT && header->sequence == channel->sequence &&
	       header->descriptors <= allowed;
}

/* The frame of the answer into channel->buffer, its header checked.  0 or a negative errno. */
static int receive_answer(struct priv_channel *channel, struct exchange *exchange)
{
	const struct proto_row *row = exchange->row;
	struct zfd_packet *packet = &exchange->packet;
	struct proto_header *header = &exchange->header;
	struct zreader reader;
	int r = zfd_wait(channel->fd, POLLIN, exchange->deadline);
	if (r < 0)
		return r;
	packet->data = channel->buffer;
	packet->size = PROTO_FRAME_MAX;
	r = zfd_receive(channel->fd, packet, MSG_DONTWAIT);
	if (r <= 0)
		return r == 0 ? -EPIPE : r;
	zreader_init(&reader, packet->data, packet->length);
	proto_get_header(&reader, header);
	if (reader.failed || header->length != reader.left ||
	    header->descriptors != packet->fd_count)
		return -EPROTO;
	return answer_expected(channel, row, header) ? 0 : -EPROTO;
}

static const struct proto_field rule_field = {.name = "rule",
					      .type = PROTO_F_STR,
					      .class = TEXT_PRINTABLE,
					      .max = PROTO_RULE_MAX,
					      .items = 1};

/* 0 or the status of an answer that is not OK; a negative errno when its payload breaks the table.
 */
static int decode_answer(const struct exchange *exchange, void *answer, struct zerr *err)
{
	const struct proto_row *row = exchange->row;
	const uint8_t *payload = exchange->packet.data + PROTO_HEADER_SIZE;
	struct zstr rule;
	const char *bad;
	if (exchange->header.status == PROTO_OK) {
		int r = proto_decode(row->answer_fields, row->answer_field_count, payload,
				     exchange->header.length, answer, &bad);
		return r < 0 ? zerr_set(err, -EPROTO, "%s: answer: %s", row->name, bad) : 0;
	}
	if (proto_decode(&rule_field, 1, payload, exchange->header.length, &rule, &bad) < 0)
		return zerr_set(err, -EPROTO, "%s: answer: %s", row->name, bad);
	(void)zerr_set(err, -EACCES, "%s: %.*s", row->name, (int)rule.length, rule.data);
	return exchange->header.status;
}

/* What the interface promises for a channel that is of no more use. */
static int fail(struct priv_channel *channel, const struct proto_row *row, int code,
		struct zerr *err)
{
	priv_close(channel);
	if (code == -ETIMEDOUT)
		return zerr_set(err, code, "%s: no answer from the helper", row->name);
	return zerr_errno(err, -EPIPE, "%s: channel to the helper closed (%s)", row->name,
			  strerror(-code));
}

int priv_call(struct priv_channel *channel, uint16_t request, const void *message, void *answer,
	      int *fd_out, struct zerr *err)
{
	_cleanup_(close_exchange) struct exchange exchange = {.packet.fds = {-1, -1, -1, -1}};
	const struct proto_row *row = proto_find(channel->domain, request);
	assert(row != NULL);
	const struct proto_field *wait = proto_field_find(row->fields, row->field_count, "wait_ms");
	if (fd_out != NULL)
		*fd_out = -1;
	if (channel->fd < 0)
		return zerr_set(err, -EPIPE, "%s: channel to the helper closed", row->name);
	exchange.row = row;
	exchange.deadline = zfd_now_ms() + proto_integer(wait, message) + GRACE_MS;
	int r = send_request(channel, &exchange, message);
	if (r == -EINVAL || r == -ENOMEM)
		return zerr_set(err, r, "%s: the request does not fit the table", row->name);
	if (r == 0)
		r = receive_answer(channel, &exchange);
	if (r < 0)
		return fail(channel, row, r, err);
	r = decode_answer(&exchange, answer, err);
	if (r < 0) {
		priv_close(channel);
		return -EPIPE;
	}
	if (r == 0 && fd_out != NULL && exchange.packet.fd_count == 1)
		*fd_out = TAKE_FD(exchange.packet.fds[0]);
	return r;
}

int priv_open(struct priv_channel *channel, int fd, enum proto_domain domain, struct zerr *err)
{
	struct req_docker_hello hello = {
		.version = PROTO_VERSION,
		.build_id = {(const char *)proto_build_id, sizeof(proto_build_id)}};
	struct ans_docker_hello answer = {.version = 0};
	*channel = (struct priv_channel){
		.fd = fd, .domain = domain, .buffer = malloc(PROTO_FRAME_MAX)};
	if (channel->buffer == NULL) {
		zfd_closep(&channel->fd);
		return zerr_set(err, -ENOMEM, "hello: no memory");
	}
	int r = priv_call(channel, PROTO_HELLO, &hello, &answer, NULL, err);
	if (r == 0 && answer.version == PROTO_VERSION &&
	    answer.build_id.length == sizeof(proto_build_id) &&
	    memcmp(answer.build_id.data, proto_build_id, sizeof(proto_build_id)) == 0)
		return 0;
	priv_close(channel);
	return r < 0 ? r : zerr_set(err, -EPROTO, "hello: the helper is of another build");
}

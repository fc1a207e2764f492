/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer as the broker's client reads it, through a real channel: the fuzzer's
 * bytes stand in the helper's place.  The client must either fill the answer, and
 * then it encodes to the same bytes, or close the channel.
 */
#include "common/zfd.h"
#include "privsep/client.h"

#include <assert.h>
#include <sys/socket.h>
#include <unistd.h>

union message {
#define REQUEST(domain, name, ...) struct req_##domain##_##name request_##name;
#define ANSWER(domain, name) struct ans_##domain##_##name answer_##name;
#include "privsep/requests.def"
};

/* Messages of zeros break many rows' bounds; the fuzzer is to see answers, not that. */
static const struct proto_row *ask(struct priv_channel *channel, size_t choice, const void **request)
{
	static const struct req_docker_hello hello = {.version = 1};
	static const struct req_docker_open_channel open_channel;
	static const struct req_docker_noop noop;
	static const struct req_docker_engine_info info = {.api_minor = 40, .wait_ms = 1};
	static const struct {
		uint16_t number;
		const void *message;
	} requests[] = {{PRIV_docker_hello, &hello},
			{PRIV_docker_open_channel, &open_channel},
			{PRIV_docker_noop, &noop},
			{PRIV_docker_engine_info, &info}};
	choice %= sizeof(requests) / sizeof(requests[0]);
	*request = requests[choice].message;
	return proto_find(channel->domain, requests[choice].number);
}

static void check_answer(const struct proto_row *row, const void *answer, const uint8_t *data, size_t size)
{
	static uint8_t again[PROTO_FRAME_MAX];
	struct zwriter writer;
	zwriter_init(&writer, again, sizeof(again));
	proto_encode(row->answer_fields, row->answer_field_count, answer, &writer);
	assert(!writer.failed && writer.used == size - PROTO_HEADER_SIZE);
	assert(memcmp(again, data + PROTO_HEADER_SIZE, writer.used) == 0);
}

/* The first byte chooses the request; the rest is the answer's frame. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union message answer;
	struct priv_channel channel = {.domain = PROTO_DOCKER, .fd = -1};
	const void *request;
	struct zerr err;
	int pair[2], fd;
	if (size < 2 || size > PROTO_FRAME_MAX + 1)
		return 0;
	const struct proto_row *row = ask(&channel, data[0], &request);
	assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	channel.fd = pair[0];
	channel.buffer = malloc(PROTO_FRAME_MAX);
	assert(channel.buffer != NULL);
	assert(zfd_send(pair[1], data + 1, size - 1, NULL, 0, 0) == 0);
	int r = priv_call(&channel, row->number, request, &answer, &fd, &err);
	assert((r < 0) == (channel.fd < 0) && fd == -1);
	if (r == 0)
		check_answer(row, &answer, data + 1, size - 1);
	priv_close(&channel);
	close(pair[1]);
	return 0;
}

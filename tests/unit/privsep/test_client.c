/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's side of a channel against a helper that lies: each answer that
 * breaks the table closes the channel, and nothing of it reaches the caller.
 */
#include "common/zfd.h"
#include "privsep/client.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ENGINE_HEAD_SIZE                                                                           \
	16 /* http_status, framing, content_length, body_continues, body's length */

static bool time_is_up;

int __real_zfd_wait(int fd, short events, uint64_t deadline_ms);
int __wrap_zfd_wait(int fd, short events, uint64_t deadline_ms);
int __wrap_zfd_wait(int fd, short events, uint64_t deadline_ms)
{
	return time_is_up ? -ETIMEDOUT : __real_zfd_wait(fd, events, deadline_ms);
}

/* One way to lie in the answer to an engine_info request. */
struct lie {
	const char *name;
	struct proto_header flip; /* bits of the right header that are not as they should be */
	size_t payload;		  /* bytes of it that are sent */
	size_t fds;
	uint8_t first_byte; /* of the payload */
	int expected;	    /* > 0: a status, < 0: an errno */
};

static const struct lie lies[] = {
	{"none", {0}, ENGINE_HEAD_SIZE, 0, 200, 0},
	{"none, with a descriptor", {.descriptors = 1}, ENGINE_HEAD_SIZE, 1, 200, 0},
	{"magic", {.magic = 1}, ENGINE_HEAD_SIZE, 0, 200, -EPIPE},
	{"version", {.version = 2}, ENGINE_HEAD_SIZE, 0, 200, -EPIPE},
	{"domain", {.domain = 2}, ENGINE_HEAD_SIZE, 0, 200, -EPIPE},
	{"the request's own type", {.type = 1}, ENGINE_HEAD_SIZE, 0, 200, -EPIPE},
	{"another answer",
	 {.type = (PRIV_docker_engine_info ^ PRIV_docker_noop)},
	 ENGINE_HEAD_SIZE,
	 0,
	 200,
	 -EPIPE},
	{"sequence", {.sequence = 3}, ENGINE_HEAD_SIZE, 0, 200, -EPIPE},
	{"status", {.status = PROTO_STATUS_COUNT}, 2, 0, 0, -EPIPE},
	{"length", {.length = 3}, ENGINE_HEAD_SIZE, 0, 200, -EPIPE},
	{"cut payload", {0}, ENGINE_HEAD_SIZE - 1, 0, 200, -EPIPE},
	{"payload with a rest", {0}, ENGINE_HEAD_SIZE + 1, 0, 200, -EPIPE},
	{"field out of its bound", {0}, ENGINE_HEAD_SIZE, 0, 7, -EPIPE},
	{"descriptor not announced", {0}, ENGINE_HEAD_SIZE, 1, 200, -EPIPE},
	{"descriptor announced only", {.descriptors = 1}, ENGINE_HEAD_SIZE, 0, 200, -EPIPE},
	{"two descriptors", {.descriptors = 2}, ENGINE_HEAD_SIZE, 2, 200, -EPIPE},
	{"descriptor with a refusal", {.status = PROTO_DENIED, .descriptors = 1}, 2, 1, 0, -EPIPE},
	{"refusal", {.status = PROTO_DENIED}, 2, 0, 0, PROTO_DENIED},
	{"refusal with a rest", {.status = PROTO_DENIED}, 3, 0, 0, -EPIPE},
	{"refusal with a control byte", {.status = PROTO_NOT_OURS}, 3, 0, 1, -EPIPE},
};

static size_t open_descriptors(void)
{
	size_t count = 0;
	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void send_lie(int socket, const struct lie *lie)
{
	uint8_t frame[PROTO_HEADER_SIZE + 64] = {0};
	int fds[] = {socket, socket};
	const struct proto_header *flip = &lie->flip;
	struct proto_header header = {
		.magic = PROTO_MAGIC ^ flip->magic,
		.version = PROTO_VERSION ^ flip->version,
		.domain = PROTO_DOCKER ^ flip->domain,
		.descriptors = flip->descriptors,
		.type = (PRIV_docker_engine_info + 1) ^ flip->type,
		.status = flip->status,
		.sequence = 1 ^ flip->sequence,
		.length = (uint32_t)lie->payload ^ flip->length,
	};
	struct zwriter writer;
	zwriter_init(&writer, frame, sizeof(frame));
	proto_put_header(&writer, &header);
	frame[PROTO_HEADER_SIZE] = lie->first_byte;
	assert_int_equal(
		zfd_send(socket, frame, PROTO_HEADER_SIZE + lie->payload, fds, lie->fds, 0), 0);
}

static void make_channel(struct priv_channel *channel, int *helper)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*channel = (struct priv_channel){
		.fd = pair[0], .domain = PROTO_DOCKER, .buffer = malloc(PROTO_FRAME_MAX)};
	*helper = pair[1];
	time_is_up = false;
}

static const struct req_docker_engine_info info = {.api_minor = 40, .wait_ms = 5};

static void test_each_lie_in_an_answer_closes_the_channel(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct ans_docker_engine_info answer = {.http_status = 0};
		size_t before = open_descriptors();
		struct priv_channel channel;
		struct zerr err;
		int helper, fd = -1;
		make_channel(&channel, &helper);
		send_lie(helper, &lies[i]);
		int r = priv_docker_engine_info(&channel, &info, &answer, &fd, &err);
		if (r != lies[i].expected)
			fail_msg("%s: %d, not %d (%s)", lies[i].name, r, lies[i].expected, err.msg);
		if ((channel.fd < 0) != (r < 0) || (fd >= 0) != (r == 0 && lies[i].fds > 0))
			fail_msg("%s: descriptors are not as they should be", lies[i].name);
		zfd_closep(&fd);
		priv_close(&channel);
		zfd_closep(&helper);
		if (open_descriptors() != before)
			fail_msg("%s: a descriptor was left open", lies[i].name);
	}
}

static void test_the_end_of_the_channel_and_a_dead_one_are_told(void **state)
{
	struct priv_channel channel;
	struct ans_docker_engine_info answer;
	struct zerr err;
	int helper;

	(void)state;
	make_channel(&channel, &helper);
	zfd_closep(&helper);
	assert_int_equal(priv_docker_engine_info(&channel, &info, &answer, NULL, &err), -EPIPE);
	assert_non_null(strstr(err.msg, "engine_info"));
	assert_int_equal(priv_docker_engine_info(&channel, &info, &answer, NULL, &err), -EPIPE);
	priv_close(&channel);

	make_channel(&channel, &helper);
	assert_int_equal(shutdown(helper, SHUT_WR), 0);
	assert_int_equal(priv_docker_engine_info(&channel, &info, &answer, NULL, &err), -EPIPE);
	zfd_closep(&helper);
}

static void test_a_helper_that_does_not_answer_is_given_up(void **state)
{
	struct priv_channel channel;
	struct ans_docker_engine_info answer;
	struct zerr err;
	int helper;

	(void)state;
	make_channel(&channel, &helper);
	time_is_up = true;
	assert_int_equal(priv_docker_engine_info(&channel, &info, &answer, NULL, &err), -ETIMEDOUT);
	assert_int_equal(channel.fd, -1);
	zfd_closep(&helper);
}

static void test_a_helper_that_does_not_read_is_given_up(void **state)
{
	struct priv_channel channel;
	struct ans_docker_engine_info answer;
	struct zerr err;
	int helper;

	(void)state;
	make_channel(&channel, &helper);
	while (zfd_send(channel.fd, "x", 1, NULL, 0, MSG_DONTWAIT) == 0)
		;
	time_is_up = true;
	assert_int_equal(priv_docker_engine_info(&channel, &info, &answer, NULL, &err), -ETIMEDOUT);
	zfd_closep(&helper);
}

static void test_a_request_that_breaks_the_table_is_not_sent(void **state)
{
	struct req_docker_engine_info request = {.api_minor = 23, .wait_ms = 1};
	struct req_docker_container_create create = {.api_minor = 40, .wait_ms = 1};
	struct ans_docker_engine_info answer;
	struct ans_docker_container_create created;
	struct priv_channel channel;
	struct zerr err;
	char byte;
	int helper;

	(void)state;
	make_channel(&channel, &helper);
	assert_int_equal(priv_docker_engine_info(&channel, &request, &answer, NULL, &err), -EINVAL);
	assert_int_equal(priv_docker_container_create(&channel, &create, &created, NULL, &err),
			 -EINVAL);
	assert_int_equal(recv(helper, &byte, 1, MSG_DONTWAIT), -1);
	assert_true(channel.fd >= 0);
	assert_int_equal(channel.sequence, 0);
	priv_close(&channel);
	zfd_closep(&helper);
}

static void test_a_helper_of_another_build_is_refused(void **state)
{
	uint8_t frame[PROTO_HEADER_SIZE + 38] = {0};
	struct proto_header header = {.magic = PROTO_MAGIC,
				      .version = PROTO_VERSION,
				      .domain = PROTO_DOCKER,
				      .type = PROTO_HELLO + 1,
				      .sequence = 1,
				      .length = 38};
	struct priv_channel channel;
	struct zwriter writer;
	struct zerr err;
	int pair[2];

	(void)state;
	time_is_up = false;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	zwriter_init(&writer, frame, sizeof(frame));
	proto_put_header(&writer, &header);
	zput_u16(&writer, PROTO_VERSION);
	zput_u32(&writer, 32);
	zput_bytes(&writer, proto_build_id, 32);
	frame[sizeof(frame) - 1] ^= 1;
	assert_int_equal(zfd_send(pair[1], frame, sizeof(frame), NULL, 0, 0), 0);

	assert_int_equal(priv_open(&channel, pair[0], PROTO_DOCKER, &err), -EPROTO);
	assert_int_equal(channel.fd, -1);
	assert_string_equal(err.msg, "hello: the helper is of another build");
	zfd_closep(&pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_lie_in_an_answer_closes_the_channel),
		cmocka_unit_test(test_the_end_of_the_channel_and_a_dead_one_are_told),
		cmocka_unit_test(test_a_helper_that_does_not_answer_is_given_up),
		cmocka_unit_test(test_a_helper_that_does_not_read_is_given_up),
		cmocka_unit_test(test_a_request_that_breaks_the_table_is_not_sent),
		cmocka_unit_test(test_a_helper_of_another_build_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

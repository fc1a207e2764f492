/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper loop with a domain that asks no engine: what it lets through, how
 * it ends at each surprise, what it records, and how it runs its servers.
 */
#include "common/zfd.h"
#include "fake.h"
#include "policy/sandbox.h"
#include "privsep/client.h"
#include "sample.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint8_t frame[1 << 17];
static bool answers_go_unread; /* makes each wait for room a timeout at once */

int __real_zfd_wait(int fd, short events, uint64_t deadline_ms);
int __wrap_zfd_wait(int fd, short events, uint64_t deadline_ms);
int __wrap_zfd_wait(int fd, short events, uint64_t deadline_ms)
{
	return answers_go_unread ? -ETIMEDOUT : __real_zfd_wait(fd, events, deadline_ms);
}

static int set_up(void **state)
{
	struct fake *fake = malloc(sizeof(*fake));
	fake_prepare(fake);
	answers_go_unread = false;
	*state = fake;
	return 0;
}

static int tear_down(void **state)
{
	(void)fake_finish(*state);
	free(*state);
	return 0;
}

/* A request's frame; every part of it can be spoiled before it is sent. */
static size_t make_frame(uint16_t type, uint32_t sequence, enum sample sample)
{
	const struct proto_row *row = proto_find(PROTO_DOCKER, type);
	size_t length = row != NULL ? sample_payload(row, sample, frame + PROTO_HEADER_SIZE) : 0;
	struct proto_header header = {.magic = PROTO_MAGIC,
				      .version = PROTO_VERSION,
				      .domain = PROTO_DOCKER,
				      .type = type,
				      .sequence = sequence,
				      .length = (uint32_t)length};
	struct zwriter writer;
	zwriter_init(&writer, frame, PROTO_HEADER_SIZE);
	proto_put_header(&writer, &header);
	return PROTO_HEADER_SIZE + length;
}

static void send_frame(struct fake *fake, size_t length, const int *fds, size_t fd_count)
{
	assert_int_equal(zfd_send(fake->channel, frame, length, fds, fd_count, 0), 0);
}

static void say_hello(struct fake *fake, struct priv_channel *channel)
{
	struct zerr err = {0};
	if (priv_open(channel, dup(fake->channel), PROTO_DOCKER, &err) != 0)
		fail_msg("%s", err.msg);
}

static void test_a_request_is_answered(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	struct req_docker_noop request = {.payload = {"a\0b", 3}};
	struct ans_docker_noop answer;
	struct zerr err;

	fake_run(fake);
	say_hello(fake, &channel);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(priv_docker_noop(&channel, &request, &answer, NULL, &err), 0);
		assert_int_equal(answer.payload.length, 3);
		assert_memory_equal(answer.payload.data, "a\0b", 3);
	}
	priv_close(&channel);

	assert_int_equal(fake_finish(fake), HELPER_EXIT_OK);
	fake_prepare(fake);
}

/* ---- surprises ---- */

struct surprise {
	const char *name;
	enum helper_exit expected;
	void (*send)(struct fake *fake); /* after hello, which was request 1 */
	bool without_hello;
};

static void send_short(struct fake *fake)
{
	(void)make_frame(PRIV_docker_noop, 2, SAMPLE_TYPICAL);
	send_frame(fake, PROTO_HEADER_SIZE - 1, NULL, 0);
}
static void send_empty(struct fake *fake)
{
	assert_int_equal(send(fake->channel, "", 0, 0), 0);
}
static void send_too_long(struct fake *fake)
{
	(void)make_frame(PRIV_docker_noop, 2, SAMPLE_TYPICAL);
	send_frame(fake, PROTO_FRAME_MAX + 1, NULL, 0);
}
static void send_spoiled(struct fake *fake, size_t at)
{
	size_t length = make_frame(PRIV_docker_noop, 2, SAMPLE_TYPICAL);
	frame[at] ^= 0x40;
	send_frame(fake, length, NULL, 0);
}
static void send_magic(struct fake *fake)
{
	send_spoiled(fake, 0);
}
static void send_version(struct fake *fake)
{
	send_spoiled(fake, 4);
}
static void send_domain(struct fake *fake)
{
	send_spoiled(fake, 6);
}
static void send_status(struct fake *fake)
{
	send_spoiled(fake, 10);
}
static void send_length(struct fake *fake)
{
	send_spoiled(fake, 16);
}
static void send_claimed_descriptor(struct fake *fake)
{
	send_spoiled(fake, 7);
}
static void send_replay(struct fake *fake)
{
	send_frame(fake, make_frame(PRIV_docker_noop, 1, SAMPLE_TYPICAL), NULL, 0);
}
static void send_gap(struct fake *fake)
{
	send_frame(fake, make_frame(PRIV_docker_noop, 3, SAMPLE_TYPICAL), NULL, 0);
}
static void send_unknown(struct fake *fake)
{
	send_frame(fake, make_frame(4000, 2, SAMPLE_TYPICAL), NULL, 0);
}
static void send_answer_type(struct fake *fake)
{
	send_frame(fake, make_frame(PRIV_docker_noop + 1, 2, SAMPLE_TYPICAL), NULL, 0);
}
static void send_before_hello(struct fake *fake)
{
	send_frame(fake, make_frame(PRIV_docker_noop, 1, SAMPLE_TYPICAL), NULL, 0);
}
static void send_hello_again(struct fake *fake)
{
	send_frame(fake, make_frame(PROTO_HELLO, 2, SAMPLE_TYPICAL), NULL, 0);
}
static void send_descriptor(struct fake *fake)
{
	int fd = STDIN_FILENO;
	size_t length = make_frame(PRIV_docker_noop, 2, SAMPLE_TYPICAL);
	frame[7] = 1;
	send_frame(fake, length, &fd, 1);
}
static void send_silent_descriptor(struct fake *fake)
{
	int fd = STDIN_FILENO;
	send_frame(fake, make_frame(PRIV_docker_noop, 2, SAMPLE_TYPICAL), &fd, 1);
}
static void send_many_descriptors(struct fake *fake)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(253 * sizeof(int))];
	} control;
	size_t length = make_frame(PRIV_docker_noop, 2, SAMPLE_TYPICAL);
	struct iovec part = {.iov_base = frame, .iov_len = length};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	memset(&control, 0, sizeof(control)); /* stdin, so many times */
	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(253 * sizeof(int));
	assert_int_equal(sendmsg(fake->channel, &message, 0), (ssize_t)length);
}
static void send_large(struct fake *fake, int fd)
{
	(void)make_frame(PRIV_docker_container_create, 2, SAMPLE_LEAST);
	frame[7] = 1;
	memset(frame + 16, 0, 4);
	send_frame(fake, PROTO_HEADER_SIZE, &fd, 1);
	close(fd);
}
static void send_unsealed(struct fake *fake)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, 100000), 0);
	send_large(fake, fd);
}
static void send_no_memfd(struct fake *fake)
{
	send_large(fake, open("/dev/null", O_RDONLY | O_CLOEXEC));
}
static void send_small_memfd(struct fake *fake)
{
	send_large(fake, zfd_sealed_memfd("test", frame, 100));
}
static void send_huge_memfd(struct fake *fake)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, PROTO_LARGE_MAX + 1), 0);
	assert_int_equal(
		fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
		0);
	send_large(fake, fd);
}
static void send_senseless_memfd(struct fake *fake)
{
	send_large(fake, zfd_sealed_memfd("test", frame, 100000));
}
static void send_write_only_memfd(struct fake *fake)
{
	int fd = zfd_sealed_memfd("test", frame, 100000);
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	send_large(fake, open(path, O_PATH | O_CLOEXEC));
	close(fd);
}
static void send_bad_field(struct fake *fake)
{
	size_t length = make_frame(PRIV_docker_engine_version, 2, SAMPLE_LEAST);
	memset(frame + PROTO_HEADER_SIZE, 0, 4); /* wait_ms 0 */
	send_frame(fake, length, NULL, 0);
}
static void send_rest(struct fake *fake)
{
	size_t length = make_frame(PRIV_docker_engine_version, 2, SAMPLE_LEAST);
	frame[16]++;
	send_frame(fake, length + 1, NULL, 0);
}
static void send_other_build(struct fake *fake)
{
	send_frame(fake, make_frame(PROTO_HELLO, 1, SAMPLE_GREATEST), NULL, 0);
}
static void send_from_another_process(struct fake *fake)
{
	size_t length = make_frame(PRIV_docker_noop, 2, SAMPLE_TYPICAL);
	pid_t child = fork();
	if (child == 0)
		_exit(zfd_send(fake->channel, frame, length, NULL, 0, 0) < 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}
static void send_table_breaker(struct fake *fake)
{
	send_frame(fake, make_frame(PRIV_docker_image_inspect, 2, SAMPLE_TYPICAL), NULL, 0);
}

static const struct surprise surprises[] = {
	{"header cut", HELPER_EXIT_FRAME, send_short, false},
	{"empty packet", HELPER_EXIT_FRAME, send_empty, false},
	{"packet over a frame", HELPER_EXIT_FRAME, send_too_long, false},
	{"magic", HELPER_EXIT_FRAME, send_magic, false},
	{"version", HELPER_EXIT_FRAME, send_version, false},
	{"domain", HELPER_EXIT_FRAME, send_domain, false},
	{"status in a request", HELPER_EXIT_FRAME, send_status, false},
	{"length", HELPER_EXIT_FRAME, send_length, false},
	{"sequence replayed", HELPER_EXIT_FRAME, send_replay, false},
	{"sequence with a gap", HELPER_EXIT_FRAME, send_gap, false},
	{"unknown request", HELPER_EXIT_TYPE, send_unknown, false},
	{"an answer", HELPER_EXIT_TYPE, send_answer_type, false},
	{"request before hello", HELPER_EXIT_STATE, send_before_hello, true},
	{"hello twice", HELPER_EXIT_STATE, send_hello_again, false},
	{"descriptor claimed", HELPER_EXIT_FDS, send_claimed_descriptor, false},
	{"descriptor not claimed", HELPER_EXIT_FDS, send_silent_descriptor, false},
	{"descriptor where none may be", HELPER_EXIT_FDS, send_descriptor, false},
	{"253 descriptors", HELPER_EXIT_FDS, send_many_descriptors, false},
	{"unsealed memfd", HELPER_EXIT_FDS, send_unsealed, false},
	{"no memfd", HELPER_EXIT_FDS, send_no_memfd, false},
	{"memfd for what fits a frame", HELPER_EXIT_FDS, send_small_memfd, false},
	{"memfd too large", HELPER_EXIT_FDS, send_huge_memfd, false},
	{"memfd that cannot be read", HELPER_EXIT_FDS, send_write_only_memfd, false},
	{"memfd without sense", HELPER_EXIT_FIELD, send_senseless_memfd, false},
	{"field out of its bound", HELPER_EXIT_FIELD, send_bad_field, false},
	{"bytes left over", HELPER_EXIT_FIELD, send_rest, false},
	{"hello of another build", HELPER_EXIT_FIELD, send_other_build, true},
	{"another process", HELPER_EXIT_PEER, send_from_another_process, false},
	{"handler breaks the table", HELPER_EXIT_IO, send_table_breaker, false},
};

static void test_each_surprise_ends_the_process_with_its_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(surprises) / sizeof(surprises[0]); i++) {
		_cleanup_(priv_close) struct priv_channel channel = {.fd = -1};
		struct fake fake;
		uint8_t back[64];
		fake_prepare(&fake);
		fake_run(&fake);
		if (!surprises[i].without_hello)
			say_hello(&fake, &channel);
		surprises[i].send(&fake);
		int status = fake_wait(&fake);
		if (status != (int)surprises[i].expected)
			fail_msg("%s: exit status %d, not %d", surprises[i].name, status,
				 (int)surprises[i].expected);
		if (recv(fake.channel, back, sizeof(back), MSG_DONTWAIT) > 0)
			fail_msg("%s: was answered", surprises[i].name);
		(void)fake_finish(&fake);
	}
}

static void test_a_peer_of_another_user_is_refused(void **state)
{
	struct fake *fake = *state;

	fake->site.broker_uid = getuid() + 1;
	fake_run(fake);
	send_frame(fake, make_frame(PROTO_HELLO, 1, SAMPLE_TYPICAL), NULL, 0);

	assert_int_equal(fake_wait(fake), HELPER_EXIT_PEER);
}

static void test_a_packet_that_shows_no_sender_is_refused(void **state)
{
	struct fake *fake = *state;
	int off = 0;

	assert_int_equal(
		setsockopt(fake->helper.channel, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off)), 0);
	fake_run(fake);
	send_frame(fake, make_frame(PROTO_HELLO, 1, SAMPLE_TYPICAL), NULL, 0);

	assert_int_equal(fake_wait(fake), HELPER_EXIT_PEER);
}

static void test_a_dead_channel_is_told_from_its_end(void **state)
{
	struct fake *fake = *state;

	close(fake->helper.channel);
	fake->helper.channel = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fake_run(fake);

	assert_int_equal(fake_wait(fake), HELPER_EXIT_IO);
}

static void test_unread_answers_end_the_process(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;

	fake_run(fake);
	say_hello(fake, &channel);
	/* The helper has been forked: its own waits are real, so it has to be made anew. */
	priv_close(&channel);
	(void)fake_finish(fake);
	fake_prepare(fake);
	answers_go_unread = true;
	fake_run(fake);
	answers_go_unread = false;
	say_hello(fake, &channel);
	for (uint32_t i = 2;; i++)
		if (zfd_send(fake->channel, frame, make_frame(PRIV_docker_noop, i, SAMPLE_GREATEST),
			     NULL, 0, 0) < 0)
			break;

	assert_int_equal(fake_wait(fake), HELPER_EXIT_IO);
}

static void test_a_peer_that_goes_away_ends_the_helper_in_order(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;

	fake_run(fake);
	say_hello(fake, &channel);
	priv_close(&channel);
	for (uint32_t i = 2; i < 20; i++)
		send_frame(fake, make_frame(PRIV_docker_noop, i, SAMPLE_TYPICAL), NULL, 0);
	/* Closed with its answers unread: the helper sees a reset, a broken pipe or the end. */
	zfd_closep(&fake->channel);

	assert_int_equal(fake_wait(fake), HELPER_EXIT_OK);
}

static void test_sigterm_ends_the_helper_in_order(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;

	fake_run(fake);
	say_hello(fake, &channel);
	assert_int_equal(kill(fake->child, SIGTERM), 0);

	assert_int_equal(fake_wait(fake), HELPER_EXIT_OK);
}

/* ---- what is recorded ---- */

static const struct req_docker_container_start start_request = {.request_id = {"req-7", 5},
								.project_id = {"p", 1},
								.user_id = {"u", 1},
								.api_minor = 40,
								.wait_ms = 1000};

static void test_an_effect_is_recorded_before_it_happens(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	struct ans_docker_container_start answer;
	struct zerr err;

	fake_run(fake);
	say_hello(fake, &channel);
	assert_int_equal(priv_docker_container_start(&channel, &start_request, &answer, NULL, &err),
			 0);

	assert_int_equal(answer.http_status, 204);
	const char *log = fake_log(fake);
	assert_non_null(strstr(log, "\"op\":\"docker.container_start\",\"rid\":\"req-7\""));
	assert_non_null(strstr(log, "\"project\":\"p\",\"user\":\"u\""));
	assert_non_null(strstr(log, "\"obj\":{\"type\":\"container\",\"id\":\"00000000-0000-0000-"
				    "0000-000000000000\"}"));
	assert_non_null(
		strstr(log, "\"args\":{\"api_minor\":40,\"wait_ms\":1000},\"decision\":\"allow\""));
	assert_int_equal(fake->audit.state->ends[fake->audit.state->current].sequence, 1);
}

static void test_a_failed_effect_has_a_second_record(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	struct req_docker_container_delete request = {.api_minor = 40, .wait_ms = 1};
	struct req_docker_container_restart restart = {.api_minor = 40, .wait_ms = 1};
	struct ans_docker_container_delete answer;
	struct ans_docker_container_restart restarted;
	struct zerr err;

	fake_run(fake);
	say_hello(fake, &channel);
	assert_int_equal(priv_docker_container_delete(&channel, &request, &answer, NULL, &err), 0);
	assert_int_equal(answer.http_status, 404);
	assert_int_equal(priv_docker_container_restart(&channel, &restart, &restarted, NULL, &err),
			 PROTO_NO_ENGINE);

	assert_memory_equal(err.msg, "container_restart: engine_unreachable", 37);
	const char *log = fake_log(fake);
	assert_non_null(strstr(log, "\"decision\":\"error\",\"rule\":\"http 404\""));
	assert_non_null(strstr(log, "\"decision\":\"error\",\"rule\":\"engine_unreachable"));
	assert_int_equal(fake->audit.state->ends[fake->audit.state->current].sequence, 4);
}

static void test_a_request_that_the_policy_refuses_is_recorded_and_not_done(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	struct req_docker_container_create request = {.api_minor = 40,
						      .wait_ms = 1,
						      .privileged = 1,
						      .image = {"busybox", 7},
						      .environment_count = 2,
						      .environment = {{"TOKEN", 5}, {"hush", 4}},
						      .health_command = {"check", 5}};
	struct ans_docker_container_create answer;
	struct zerr err;

	fake_run(fake);
	say_hello(fake, &channel);
	assert_int_equal(priv_docker_container_create(&channel, &request, &answer, NULL, &err),
			 PROTO_DENIED);

	assert_string_equal(err.msg, "container_create: privileged");
	const char *log = fake_log(fake);
	assert_non_null(strstr(log, "\"decision\":\"deny\",\"rule\":\"privileged\""));
	assert_non_null(strstr(
		log,
		"\"image\":\"busybox\",\"environment\":2,\"privileged\":1,\"health_command\":5"));
	assert_null(strstr(log, "hush"));
	assert_null(strstr(log, "allow"));
}

static void test_a_foreign_object_is_a_refusal_for_every_row(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	struct req_docker_container_inspect inspect = {.api_minor = 40, .wait_ms = 1};
	struct req_docker_container_kill request = {.api_minor = 40, .wait_ms = 1};
	struct ans_docker_container_inspect inspected;
	struct ans_docker_container_kill killed;
	struct zerr err;

	fake_run(fake);
	say_hello(fake, &channel);
	assert_int_equal(priv_docker_container_inspect(&channel, &inspect, &inspected, NULL, &err),
			 PROTO_NOT_OURS);
	assert_non_null(strstr(fake_log(fake), "container_inspect"));
	assert_non_null(strstr(fake_log(fake), "\"decision\":\"deny\",\"rule\":\"not_ours\""));
	assert_int_equal(priv_docker_container_kill(&channel, &request, &killed, NULL, &err),
			 PROTO_NOT_OURS);

	assert_int_equal(fake->audit.state->ends[fake->audit.state->current].sequence, 3);
}

static void test_without_a_record_nothing_is_done(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	struct req_docker_container_pause request = {.api_minor = 40, .wait_ms = 1};
	struct ans_docker_container_pause answer;
	struct req_docker_noop noop = {0};
	struct ans_docker_noop echo;
	struct zerr err;

	close(fake->audit.fd);
	fake->audit.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	fake_run(fake);
	say_hello(fake, &channel);
	/* Its handler would kill the helper. */
	assert_int_equal(priv_docker_container_pause(&channel, &request, &answer, NULL, &err),
			 PROTO_NO_AUDIT);
	assert_int_equal(priv_docker_noop(&channel, &noop, &echo, NULL, &err), 0);
}

/* ---- descriptors and large requests ---- */

static void test_a_pipe_is_fed_after_the_answer(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	struct req_docker_engine_version request = {.wait_ms = 1};
	struct ans_docker_engine_version answer;
	_cleanup_fd_ int pipe = -1;
	struct zerr err;
	char body[16];

	fake_run(fake);
	say_hello(fake, &channel);
	assert_int_equal(priv_docker_engine_version(&channel, &request, &answer, &pipe, &err), 0);
	assert_int_equal(zfd_read_all(pipe, body, sizeof(body)), 8);

	assert_memory_equal(body, "the rest", 8);
	/* A caller that does not want the descriptor gets none, and the channel goes on. */
	assert_int_equal(priv_docker_engine_version(&channel, &request, &answer, NULL, &err), 0);
}

static void test_a_large_request_travels_in_a_memfd(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel channel;
	static char argument[60000];
	struct req_docker_container_create request = {
		.api_minor = 40, .wait_ms = 1, .image = {"busybox", 7}};
	struct ans_docker_container_create answer;
	struct zerr err;

	memset(argument, 'x', sizeof(argument));
	request.command_count = 10;
	for (size_t i = 0; i < 10; i++)
		request.command[i] = (struct zstr){argument, sizeof(argument)};
	fake_run(fake);
	say_hello(fake, &channel);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
			priv_docker_container_create(&channel, &request, &answer, NULL, &err), 0);
		assert_int_equal(answer.content_length, 10);
		assert_memory_equal(answer.body.data, "xxxx", 4);
	}
	request.command_count = 20;
	for (size_t i = 0; i < 20; i++)
		request.command[i] = (struct zstr){argument, sizeof(argument)};
	assert_int_equal(priv_docker_container_create(&channel, &request, &answer, NULL, &err),
			 -EINVAL);
	request.command_count = 0;
	assert_int_equal(priv_docker_container_create(&channel, &request, &answer, NULL, &err), 0);
}

/* ---- servers ---- */

static int open_server(struct priv_channel *first, struct priv_channel *server, struct zerr *err)
{
	struct req_docker_open_channel request;
	struct ans_docker_open_channel answer;
	int fd = -1;
	int r = priv_docker_open_channel(first, &request, &answer, &fd, err);
	return r != 0 ? r : priv_open(server, fd, PROTO_DOCKER, err);
}

static void test_a_server_serves_a_channel_of_its_own(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel first, server;
	struct ans_docker_container_start answer;
	struct zerr err = {0};

	fake_run(fake);
	say_hello(fake, &first);
	assert_int_equal(open_server(&first, &server, &err), 0);
	assert_int_equal(priv_docker_container_start(&server, &start_request, &answer, NULL, &err),
			 0);
	assert_int_equal(priv_docker_container_start(&first, &start_request, &answer, NULL, &err),
			 0);

	assert_int_equal(fake->audit.state->ends[fake->audit.state->current].sequence, 2);
}

static void test_a_server_belongs_to_the_process_that_speaks_first(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel first, own = {.fd = -1};
	struct req_docker_open_channel request;
	struct ans_docker_open_channel answer;
	struct zerr err = {0};
	int fd = -1, status;

	fake_run(fake);
	say_hello(fake, &first);
	assert_int_equal(priv_docker_open_channel(&first, &request, &answer, &fd, &err), 0);
	pid_t worker = fork();
	if (worker == 0) {
		struct priv_channel server;
		struct ans_docker_container_start started;
		_exit(priv_open(&server, fd, PROTO_DOCKER, &err) != 0 ||
		      priv_docker_container_start(&server, &start_request, &started, NULL, &err) !=
			      0);
	}
	close(fd);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	assert_int_equal(status, 0);
	assert_int_equal(open_server(&first, &own, &err), 0);
}

static void test_a_server_opens_no_channels(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel first, server;
	struct priv_channel none = {.fd = -1};
	struct zerr err = {0};

	fake_run(fake);
	say_hello(fake, &first);
	assert_int_equal(open_server(&first, &server, &err), 0);
	assert_int_equal(open_server(&server, &none, &err), -EPIPE);

	/* A server that ends at a surprise ends the domain with its status. */
	assert_int_equal(fake_wait(fake), HELPER_EXIT_STATE);
}

static void test_a_killed_server_ends_the_domain(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel first, server;
	struct req_docker_container_pause request = {.api_minor = 40, .wait_ms = 1};
	struct ans_docker_container_pause answer;
	struct zerr err = {0};

	fake_run(fake);
	say_hello(fake, &first);
	assert_int_equal(open_server(&first, &server, &err), 0);
	assert_int_equal(priv_docker_container_pause(&server, &request, &answer, NULL, &err),
			 -EPIPE);

	assert_int_equal(fake_wait(fake), HELPER_EXIT_SERVER);
}

static void test_a_server_without_its_sandbox_does_not_run(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel first;
	struct priv_channel none = {.fd = -1};
	struct zerr err = {0};

	fake_confine_result = -EPERM;
	fake_run(fake);
	say_hello(fake, &first);
	assert_int_equal(open_server(&first, &none, &err), -EPIPE);

	assert_int_equal(fake_wait(fake), HELPER_EXIT_SANDBOX);
}

static void test_the_number_of_servers_is_bounded_and_freed(void **state)
{
	struct fake *fake = *state;
	_cleanup_(priv_close) struct priv_channel first;
	struct priv_channel servers[HELPER_SERVERS_MAX + 1];
	struct zerr err = {0};

	fake->helper.board = mmap(NULL, sizeof(struct sandbox_board), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fake_run(fake);
	say_hello(fake, &first);
	for (size_t i = 0; i < HELPER_SERVERS_MAX; i++)
		assert_int_equal(open_server(&first, &servers[i], &err), 0);
	assert_int_equal(open_server(&first, &servers[HELPER_SERVERS_MAX], &err), PROTO_LIMIT);
	assert_string_equal(err.msg, "open_channel: servers");
	for (size_t i = 0; i < HELPER_SERVERS_MAX; i++)
		priv_close(&servers[i]);
	/* They end on their own; the place of one is free soon after. */
	int r = PROTO_LIMIT;
	for (size_t tries = 0; tries < 200 && r == PROTO_LIMIT; tries++) {
		r = open_server(&first, &servers[0], &err);
		if (r == PROTO_LIMIT)
			(void)usleep(10000);
	}
	assert_int_equal(r, 0);
	priv_close(&servers[0]);
	munmap(fake->helper.board, sizeof(struct sandbox_board));
}

#define WITH_HELPER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_HELPER(test_a_request_is_answered),
		cmocka_unit_test(test_each_surprise_ends_the_process_with_its_status),
		WITH_HELPER(test_a_peer_of_another_user_is_refused),
		WITH_HELPER(test_a_packet_that_shows_no_sender_is_refused),
		WITH_HELPER(test_a_dead_channel_is_told_from_its_end),
		WITH_HELPER(test_unread_answers_end_the_process),
		WITH_HELPER(test_a_peer_that_goes_away_ends_the_helper_in_order),
		WITH_HELPER(test_sigterm_ends_the_helper_in_order),
		WITH_HELPER(test_an_effect_is_recorded_before_it_happens),
		WITH_HELPER(test_a_failed_effect_has_a_second_record),
		WITH_HELPER(test_a_request_that_the_policy_refuses_is_recorded_and_not_done),
		WITH_HELPER(test_a_foreign_object_is_a_refusal_for_every_row),
		WITH_HELPER(test_without_a_record_nothing_is_done),
		WITH_HELPER(test_a_pipe_is_fed_after_the_answer),
		WITH_HELPER(test_a_large_request_travels_in_a_memfd),
		WITH_HELPER(test_a_server_serves_a_channel_of_its_own),
		WITH_HELPER(test_a_server_belongs_to_the_process_that_speaks_first),
		WITH_HELPER(test_a_server_opens_no_channels),
		WITH_HELPER(test_a_killed_server_ends_the_domain),
		WITH_HELPER(test_a_server_without_its_sandbox_does_not_run),
		WITH_HELPER(test_the_number_of_servers_is_bounded_and_freed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

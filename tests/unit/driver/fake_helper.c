/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted helper. Process: child of a unit test. */
#include "tests/unit/driver/fake_helper.h"
#include "common/zfd.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK 700 /* small, so that a body has many */

/* A request or answer of any row. */
union fake_message {
	struct req_docker_hello hello;
	struct req_docker_container_create create;
	struct req_docker_image_pull pull;
	struct req_docker_container_stop stop;
	struct ans_docker_container_inspect answer;
};

static void die(const char *why)
{
	(void)fprintf(stderr, "fake helper: %s\n", why);
	_exit(1);
}

static uint64_t integer(const struct proto_row *row, const char *name, const void *message)
{
	return proto_integer(proto_field_find(row->fields, row->field_count, name), message);
}

static void text(const struct proto_row *row, const char *name, const void *message, char *out)
{
	const struct proto_field *field = proto_field_find(row->fields, row->field_count, name);
	struct zstr value = {0};

	if (field != NULL)
		memcpy(&value, (const char *)message + field->offset, sizeof(value));
	if (zstr_copy(value, out, FAKE_TEXT_MAX) < 0)
		die("a text is too long to be logged");
}

static void note(struct fake_log *log, const struct proto_row *row, const void *message)
{
	const struct proto_field *uuid = proto_field_find(row->fields, row->field_count, "uuid");
	struct fake_asked *asked = &log->asked[log->count];

	if (log->count == FAKE_STEPS_MAX)
		die("too many requests");
	asked->number = row->number;
	asked->api_minor = (uint8_t)integer(row, "api_minor", message);
	asked->wait_ms = (uint32_t)integer(row, "wait_ms", message);
	asked->has_grace = integer(row, "has_grace", message);
	asked->grace_s = integer(row, "grace_s", message);
	asked->signal = integer(row, "signal", message);
	asked->force = integer(row, "force", message);
	text(row, "image", message, asked->image);
	text(row, "request_id", message, asked->request_id);
	if (uuid != NULL)
		memcpy(asked->uuid, (const char *)message + uuid->offset, UUID_SIZE);
	log->count++;
}

/* Receives one request into message; NULL when the channel has ended. */
static const struct proto_row *receive(int channel, uint8_t *buffer, void *message,
				       struct proto_header *header)
{
	struct zfd_packet packet = {.data = buffer, .size = PROTO_FRAME_MAX};
	const struct proto_row *row;
	struct zreader reader;
	const char *bad = "length";
	int result = zfd_receive(channel, &packet, 0);

	if (result == 0)
		return NULL;
	if (result < 0)
		die("no packet");
	zreader_init(&reader, packet.data, packet.length);
	proto_get_header(&reader, header);
	row = proto_find(PROTO_DOCKER, header->type);
	if (row == NULL)
		die("no such request");
	if (packet.fd_count == 1) {
		/* Mapped for good: the child is short-lived and strings borrow from it. */
		ssize_t size = zfd_check_sealed(packet.fds[0], PROTO_LARGE_MAX);
		void *map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE,
					    packet.fds[0], 0)
				     : MAP_FAILED;

		if (map == MAP_FAILED)
			die("no sealed memfd");
		zreader_init(&reader, map, (size_t)size);
	}
	if (proto_decode(row->fields, row->field_count, reader.data, reader.left, message, &bad) <
	    0)
		die(bad);
	zfd_packet_close(&packet);
	return row;
}

static void reply(int channel, const struct proto_header *request, uint16_t status,
		  const struct zwriter *payload, int fd)
{
	_cleanup_free_ uint8_t *frame = malloc(PROTO_FRAME_MAX);
	struct proto_header header = *request;
	struct zwriter writer;

	header.type = (uint16_t)(request->type + 1);
	header.status = status;
	header.descriptors = fd >= 0;
	header.length = (uint32_t)payload->used;
	if (frame == NULL || payload->failed)
		die("the answer does not fit");
	zwriter_init(&writer, frame, PROTO_FRAME_MAX);
	proto_put_header(&writer, &header);
	zput_bytes(&writer, payload->data, payload->used);
	if (zfd_send(channel, writer.data, writer.used, &fd, fd >= 0, 0) < 0)
		die("cannot answer");
}

static void reply_message(int channel, const struct proto_header *request,
			  const struct proto_row *row, const void *answer, int fd)
{
	_cleanup_free_ uint8_t *data = malloc(PROTO_PAYLOAD_MAX);
	struct zwriter writer;

	if (data == NULL)
		die("memory");
	zwriter_init(&writer, data, PROTO_PAYLOAD_MAX);
	proto_encode(row->answer_fields, row->answer_field_count, answer, &writer);
	reply(channel, request, PROTO_OK, &writer, fd);
}

/* The body as it would be on the wire; owned. */
static char *framed(const struct fake_step *step, size_t *length)
{
	size_t left = strlen(step->body), used = 0;
	char *out = malloc(left * 2 + 64);

	if (out == NULL)
		die("memory");
	if (!step->chunked) {
		memcpy(out, step->body, left);
		*length = left;
		return out;
	}
	for (const char *from = step->body; left > 0;) {
		size_t part = left < CHUNK ? left : CHUNK;

		used += (size_t)snprintf(out + used, 16, "%zx\r\n", part);
		memcpy(out + used, from, part);
		memcpy(out + used + part, "\r\n", 2);
		used += part + 2;
		from += part;
		left -= part;
	}
	memcpy(out + used, "0\r\n\r\n", 5);
	*length = used + 5;
	return out;
}

static void answer_engine(int channel, const struct proto_header *header,
			  const struct proto_row *row, const struct fake_step *step)
{
	struct ans_docker_container_inspect answer = {.http_status = step->http_status,
						      .framing = PROTO_BODY_NONE};
	_cleanup_free_ char *body = NULL;
	size_t length = 0, inline_bytes;
	int ends[2] = {-1, -1};

	if (step->body != NULL) {
		body = framed(step, &length);
		answer.framing = step->chunked ? PROTO_BODY_CHUNKED : PROTO_BODY_LENGTH;
		answer.content_length = step->chunked ? 0 : length;
		length -= step->cut;
	}
	inline_bytes = step->inline_bytes == 0 || step->inline_bytes > length ? length
									      : step->inline_bytes;
	answer.body = (struct zstr){body, inline_bytes};
	answer.body_continues = inline_bytes < length || step->stall;
	if (answer.body_continues && pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	reply_message(channel, header, row, &answer, ends[0]);
	zfd_closep(&ends[0]);
	/* A reader that has enough goes away early: not an error. */
	if (answer.body_continues)
		(void)zfd_write_all(ends[1], body + inline_bytes, length - inline_bytes);
	if (!step->stall)
		zfd_closep(&ends[1]);
}

static void refuse(int channel, const struct proto_header *header, const struct fake_step *step)
{
	uint8_t data[256];
	struct zwriter writer;

	zwriter_init(&writer, data, sizeof(data));
	zput_cstr(&writer, step->rule != NULL ? step->rule : "no reason");
	reply(channel, header, step->status, &writer, -1);
}

static void hello(int channel, uint8_t *buffer, union fake_message *message)
{
	struct ans_docker_hello answer = {
		.version = PROTO_VERSION,
		.build_id = {(const char *)proto_build_id, sizeof(proto_build_id)}};
	struct proto_header header;
	const struct proto_row *row = receive(channel, buffer, message, &header);

	if (row == NULL || row->number != PRIV_docker_hello)
		die("no hello");
	reply_message(channel, &header, row, &answer, -1);
}

static _Noreturn void serve(int channel, const struct fake_step *steps, struct fake_log *log)
{
	uint8_t *buffer = malloc(PROTO_FRAME_MAX);
	union fake_message *message = malloc(sizeof(*message));

	if (buffer == NULL || message == NULL)
		die("memory");
	hello(channel, buffer, message);
	for (unsigned played = 0; steps->number != 0;) {
		struct proto_header header;
		const struct proto_row *row = receive(channel, buffer, message, &header);

		if (row == NULL)
			die("the channel ended before the script");
		note(log, row, message);
		if (row->number != steps->number) {
			(void)fprintf(stderr, "step %zu: ", log->count);
			die(row->name);
		}
		if (steps->hang_up)
			_exit(0);
		if (steps->status != PROTO_OK)
			refuse(channel, &header, steps);
		else
			answer_engine(channel, &header, row, steps);
		if (played++ >= steps->repeat) {
			played = 0;
			steps++;
		}
	}
	struct proto_header header;

	if (receive(channel, buffer, message, &header) != NULL)
		die("more requests than the script has");
	free(buffer);
	free(message);
	_exit(0);
}

void fake_start(struct fake_helper *helper, const struct fake_step *steps)
{
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN); /* a body may be closed early */
	helper->log = mmap(NULL, sizeof(*helper->log), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(helper->log != MAP_FAILED);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	helper->pid = fork();
	assert_true(helper->pid >= 0);
	if (helper->pid == 0) {
		(void)close(ends[0]);
		serve(ends[1], steps, helper->log);
	}
	(void)close(ends[1]);
	helper->channel = ends[0];
}

void fake_finish(struct fake_helper *helper)
{
	int status = 0;

	assert_int_equal(ZFD_RETRY(waitpid(helper->pid, &status, 0)), helper->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(munmap(helper->log, sizeof(*helper->log)), 0);
}

char *fake_data(const char *name, size_t *length)
{
	_cleanup_fd_ int fd = -1;
	char path[512];
	char *data = malloc(65536 + 1);
	ssize_t count;

	(void)snprintf(path, sizeof(path), "%s/%s", TEST_DATA, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && data != NULL);
	count = zfd_read_all(fd, data, 65536);
	assert_true(count >= 0);
	data[count] = '\0';
	if (length != NULL)
		*length = (size_t)count;
	return data;
}

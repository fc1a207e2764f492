/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 to the engine's unix socket, a connection a request.  Runs in the
 * servers of the docker domain: this is where the engine's socket is opened, the
 * one right of the domain.  Every wait has a deadline (known-faults R3).
 */
#include "privsep/docker_engine.h"
#include "common/text.h"
#include "common/zfd.h"
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A full backlog gives no event to wait for: try again this often. */
#define CONNECT_PAUSE_NS 10000000L
/* How long the answer's frame is held back for a body that is on its way.  What an engine has
 * ready is there in a few milliseconds; what trickles (a pull) goes through the pipe. */
#define INLINE_PATIENCE_MS 100
/* One step of the relay: what a pipe holds. */
#define RELAY_STEP 65536
/* How often a relay that waits for the engine looks whether its reader is still there. */
#define RELAY_LOOK_MS 200

/* Of every request, but for its first line. */
#define ENGINE_FIELDS                                                                              \
	" HTTP/1.1\r\nHost: docker\r\nUser-Agent: keelson\r\nConnection: close\r\n"                \
	"%sContent-Length: %zu\r\n\r\n"

/* False when it does not fit: then nothing is sent. */
static __attribute__((format(printf, 2, 0))) bool write_head(struct engine_call *call,
							     const char *format, va_list arguments)
{
	int used = vsnprintf(call->head, ENGINE_LINE_MAX, format, arguments);

	if (used < 0 || used >= ENGINE_LINE_MAX)
		return false;
	(void)snprintf(call->head + used, ENGINE_FIELDS_MAX, ENGINE_FIELDS,
		       call->body.length > 0 ? "Content-Type: application/json\r\n" : "",
		       call->body.length);
	return true;
}

const char *engine_escape(struct zstr value, const char *plain, char out[ENGINE_ESCAPED_MAX])
{
	char *end = out;

	assert(value.length <= IMAGEREF_MAX); /* the request table's bound */
	*end = '\0';
	for (size_t i = 0; i < value.length; i++)
		end += snprintf(end, sizeof("%00"),
				text_span(value, i, plain) > 0 ? "%c" : "%%%02X",
				(unsigned char)value.data[i]);
	return out;
}

static enum proto_status engine_connect(const struct engine_call *call, int *connection)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0)
		return PROTO_LIMIT;
	(void)zstr_copy(zstr_from(call->socket_path), address.sun_path, sizeof(address.sun_path));
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return PROTO_NO_ENGINE;
		if (zfd_now_ms() >= call->deadline_ms)
			return PROTO_ENGINE_TIMEOUT;
		(void)ppoll(NULL, 0, &(struct timespec){0, CONNECT_PAUSE_NS}, NULL); /* or less */
	}
	*connection = TAKE_FD(fd);
	return PROTO_OK;
}

static enum proto_status engine_send(int fd, struct zstr part, uint64_t deadline_ms)
{
	while (part.length > 0 && zfd_wait(fd, POLLOUT, deadline_ms) == 0) {
		ssize_t n = send(fd, part.data, part.length, MSG_NOSIGNAL | MSG_DONTWAIT);

		/* An engine may refuse and hang up before it has read all: its answer counts. */
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return PROTO_OK;
		if (n > 0)
			part = (struct zstr){part.data + n, part.length - (size_t)n};
	}
	return part.length > 0 ? PROTO_ENGINE_TIMEOUT : PROTO_OK;
}

static bool until_end(const struct engine_reply *reply)
{
	return reply->head.framing == PROTO_BODY_CHUNKED || reply->head.framing == PROTO_BODY_CLOSE;
}

uint64_t engine_left(const struct engine_reply *reply)
{
	return until_end(reply) ? UINT64_MAX : reply->head.content_length - reply->body.length;
}

/* Reads what there is; 0 at the end, -ETIMEDOUT, or another negative number. */
static ssize_t receive(int fd, char *data, size_t size, uint64_t deadline_ms)
{
	int r = zfd_wait(fd, POLLIN, deadline_ms);

	return r < 0 ? r : ZFD_RETRY(recv(fd, data, size, MSG_DONTWAIT));
}

static enum proto_status read_head(int fd, uint64_t deadline_ms, struct engine_reply *reply)
{
	size_t used = 0;
	int whole;

	while ((whole = docker_head_parse(reply->data, used, &reply->head)) == 0) {
		ssize_t n = receive(fd, reply->data + used, DOCKER_HEAD_MAX - used, deadline_ms);

		if (n <= 0)
			return n == -ETIMEDOUT ? PROTO_ENGINE_TIMEOUT : PROTO_ENGINE_BROKEN;
		used += (size_t)n;
	}
	if (whole < 0)
		return PROTO_ENGINE_BROKEN;
	reply->body = (struct zstr){reply->data + reply->head.length, used - reply->head.length};
	/* Bytes after the announced end would be a second answer to one question. */
	if (!until_end(reply) && reply->body.length > reply->head.content_length)
		return PROTO_ENGINE_BROKEN;
	return PROTO_OK;
}

/* Fills the body up to its end or ENGINE_INLINE_MAX; true when there is nothing more to come. */
static bool read_body(int fd, struct engine_reply *reply)
{
	uint64_t patience_ms = zfd_now_ms() + INLINE_PATIENCE_MS;

	while (engine_left(reply) > 0 && reply->body.length < ENGINE_INLINE_MAX) {
		uint64_t left = engine_left(reply);
		size_t room = ENGINE_INLINE_MAX - reply->body.length;
		ssize_t n = receive(fd, reply->data + reply->head.length + reply->body.length,
				    left < room ? (size_t)left : room, patience_ms);

		if (n <= 0)
			return n !=
			       -ETIMEDOUT; /* its end, or cut off: length or last chunk tells */
		reply->body.length += (size_t)n;
	}
	return engine_left(reply) == 0;
}

enum proto_status engine_ask(struct engine_call *call, struct engine_reply *reply,
			     const char *format, va_list arguments)
{
	_cleanup_fd_ int fd = -1;
	enum proto_status status = PROTO_LIMIT;

	reply->connection = -1;
	if (write_head(call, format, arguments))
		status = engine_connect(call, &fd);
	if (status == PROTO_OK)
		status = engine_send(fd, zstr_from(call->head), call->deadline_ms);
	if (status == PROTO_OK)
		status = engine_send(fd, call->body, call->deadline_ms);
	if (status == PROTO_OK)
		status = read_head(fd, call->deadline_ms, reply);
	if (status == PROTO_OK && !read_body(fd, reply))
		reply->connection = TAKE_FD(fd);
	return status;
}

/* Waits until there is something to move and room for it.  False: a side is gone, or the time is
 * over. */
static bool wait_both(int connection, int pipe_write, uint64_t deadline_ms)
{
	while (zfd_wait(connection, POLLIN, zfd_now_ms() + RELAY_LOOK_MS) < 0) {
		/* A reader that went away is an error of the pipe, whatever is waited for. */
		if (zfd_now_ms() >= deadline_ms || zfd_wait(pipe_write, 0, 0) == 0)
			return false;
	}
	return zfd_wait(pipe_write, POLLOUT, deadline_ms) == 0;
}

void engine_relay(int connection, int pipe_write, uint64_t left, uint32_t wait_ms)
{
	uint64_t deadline_ms = zfd_now_ms() + wait_ms;

	while (left > 0) {
		ssize_t n = splice(connection, NULL, pipe_write, NULL,
				   left < RELAY_STEP ? (size_t)left : RELAY_STEP,
				   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n > 0) {
			deadline_ms = zfd_now_ms() + wait_ms;
			left -= left != UINT64_MAX ? (uint64_t)n : 0;
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
			   !wait_both(connection, pipe_write, deadline_ms)) {
			return;
		}
	}
}

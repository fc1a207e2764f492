/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher as the dispatcher sees it: a child with a socket, that gets
 * replies and says what became of each.  Dispatcher, no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/pool.h"
#include "unpriv/compute/replies_private.h"
#include "unpriv/rpc/publisher.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RETRY_FIRST_MS 1000U
#define RETRY_MAX_MS   30000U
#define STEADY_MS      10000

/* Gives the publisher what it does not have yet, as far as its socket takes it. */
void replies_pass_on(struct replies *replies)
{
	struct outgoing *reply;

	if (replies->socket < 0)
		return;
	for (reply = TAILQ_FIRST(&replies->waiting); reply; reply = TAILQ_NEXT(reply, entry)) {
		struct publisher_request request = {.token = reply->token,
						    .fleeting = reply->fleeting};
		uint8_t packet[PUBLISHER_PACKET_MAX];
		struct zwriter writer;

		if (reply->passed)
			continue;
		memcpy(request.queue, reply->queue, sizeof(request.queue));
		zwriter_init(&writer, packet, sizeof(packet));
		publisher_put_request(&writer, &request);
		/* What does not fit now goes with the next tick or answer. */
		if (zfd_send(replies->socket, packet, writer.used, &reply->fd, 1, MSG_DONTWAIT) < 0)
			return;
		reply->passed = true;
	}
}

static void lose_publisher(struct replies *replies)
{
	struct outgoing *reply;

	if (replies->socket < 0)
		return;
	loop_unwatch(replies->loop, replies->socket);
	zfd_closep(&replies->socket);
	for (reply = TAILQ_FIRST(&replies->waiting); reply; reply = TAILQ_NEXT(reply, entry))
		reply->passed = false;
}

static void on_answer(void *context, int fd, uint32_t events)
{
	struct replies *replies = context;

	(void)events;
	for (int i = 0; i < 64 && replies->socket >= 0; i++) {
		uint8_t data[PUBLISHER_PACKET_MAX];
		struct zfd_packet packet = {.data = data, .size = sizeof(data)};
		struct publisher_answer answer;
		int result = zfd_receive(fd, &packet, MSG_DONTWAIT);

		if (result == -EAGAIN)
			break;
		if (result > 0 && packet.fd_count == 0 &&
		    publisher_get_answer(packet.data, packet.length, &answer) == 0) {
			replies_settle(replies, answer.token,
				       answer.outcome == PUBLISHER_TOO_LARGE);
			continue;
		}
		zfd_packet_close(&packet);
		if (result > 0 && replies->publisher > 0)
			(void)kill(replies->publisher,
				   SIGKILL); /* it makes no sense; ours, not reaped */
		lose_publisher(replies);
	}
	replies_pass_on(replies);
}

static _Noreturn void be_publisher(const struct replies *replies, pid_t parent, int socket)
{
	/* TERM, INT and HUP stay blocked: it ends with its socket, after the last replies. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	pool_close_other(socket, -1);
	replies->hooks->publish(replies->context, socket);
	_exit(1);
}

static void note_failure(struct replies *replies, const char *what)
{
	uint64_t pause = RETRY_FIRST_MS;

	for (unsigned i = 0; i < replies->failures && pause < RETRY_MAX_MS; i++)
		pause *= 2;
	replies->failures++;
	replies->retry_ms = zfd_now_ms() + (pause < RETRY_MAX_MS ? pause : RETRY_MAX_MS);
	zlog_warning("publisher: %s: another one follows", what);
}

void replies_start(struct replies *replies)
{
	_cleanup_fd_ int ours = -1, theirs = -1;
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		note_failure(replies, strerror(errno));
		return;
	}
	ours = pair[0];
	theirs = pair[1];
	if (loop_watch(replies->loop, ours, EPOLLIN, on_answer, replies) < 0) {
		note_failure(replies, "the loop does not take its socket");
		return;
	}
	pid = fork();
	if (pid == 0)
		be_publisher(replies, parent, theirs);
	if (pid < 0) {
		loop_unwatch(replies->loop, ours);
		note_failure(replies, strerror(errno));
		return;
	}
	replies->socket = TAKE_FD(ours);
	replies->publisher = pid;
	replies->born_ms = zfd_now_ms();
	replies_pass_on(replies);
}

void replies_reap(struct replies *replies)
{
	int status;
	pid_t pid = replies->publisher;

	if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid)
		return;
	/* What it had said before it ended still counts. */
	replies->publisher = 0;
	if (replies->socket >= 0)
		on_answer(replies, replies->socket, EPOLLIN);
	lose_publisher(replies);
	if (zfd_now_ms() - replies->born_ms > STEADY_MS)
		replies->failures = 0;
	note_failure(replies, "it ended");
	replies->hooks->ended(replies->context, pid, status);
}

void replies_tick(struct replies *replies, uint64_t now_ms)
{
	if (replies->publisher == 0 && now_ms >= replies->retry_ms)
		replies_start(replies);
	replies_pass_on(replies);
}

void replies_end_publisher(struct replies *replies, unsigned wait_ms)
{
	static const struct timespec pause = {.tv_nsec = 10000000};

	lose_publisher(replies);
	for (unsigned waited = 0; replies->publisher > 0 && waited < wait_ms; waited += 10) {
		if (waitpid(replies->publisher, NULL, WNOHANG) == replies->publisher)
			replies->publisher = 0;
		else
			(void)nanosleep(&pause, NULL);
	}
}

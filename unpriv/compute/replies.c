/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies between workers and publisher.  Runs in the dispatcher, without a
 * privilege.  A reply is a descriptor here: it is passed on, never read.
 */
#include "unpriv/compute/replies.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/pool.h"
#include "unpriv/rpc/envelope.h"
#include "unpriv/rpc/publisher.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A little more than the publisher holds: it is the one to choose what is dropped. */
#define WAITING_MAX 1200
#define WAITING_BYTES_MAX ((uint64_t)80 << 20)
/* Kept for requests that come twice. */
#define KEPT_MAX 128
#define KEPT_BYTES_MAX ((uint64_t)8 << 20)
#define RETRY_FIRST_MS 1000U
#define RETRY_MAX_MS 30000U
#define STEADY_MS 10000

struct outgoing {
	TAILQ_ENTRY(outgoing) entry;
	uint64_t token;
	int fd; /* owned */
	size_t size;
	bool fleeting;
	bool replaced; /* a failure in place of a reply that was too large */
	bool passed;   /* the publisher has it */
	char queue[JOB_ID_MAX + 1], msg_id[JOB_ID_MAX + 1];
};

struct kept {
	TAILQ_ENTRY(kept) entry;
	int fd; /* owned */
	size_t size;
	char unique_id[JOB_ID_MAX + 1];
};

TAILQ_HEAD(outgoing_list, outgoing);
TAILQ_HEAD(kept_list, kept);

struct replies {
	struct loop *loop;
	const struct config *config;
	const struct replies_hooks *hooks;
	void *context;
	struct outgoing_list waiting; /* in order of token */
	size_t count;
	uint64_t bytes;
	struct kept_list kept;
	size_t kept_count;
	uint64_t kept_bytes;
	uint64_t next_token;
	int socket; /* owned; -1 = no publisher */
	pid_t publisher;
	uint64_t born_ms, retry_ms;
	unsigned failures, dropped;
};

static void pass_on(struct replies *replies);

struct replies *replies_new(struct loop *loop, const struct config *config,
			    const struct replies_hooks *hooks, void *context, struct zerr *err)
{
	struct replies *replies = calloc(1, sizeof(*replies));

	if (!replies) {
		zerr_errno(err, -ENOMEM, "replies");
		return NULL;
	}
	replies->loop = loop;
	replies->config = config;
	replies->hooks = hooks;
	replies->context = context;
	replies->socket = -1;
	replies->next_token = 1;
	TAILQ_INIT(&replies->waiting);
	TAILQ_INIT(&replies->kept);
	return replies;
}

static void forget(struct replies *replies, struct outgoing *reply)
{
	TAILQ_REMOVE(&replies->waiting, reply, entry);
	replies->count--;
	replies->bytes -= reply->size;
	zfd_closep(&reply->fd);
	free(reply);
}

static void forget_kept(struct replies *replies, struct kept *kept)
{
	TAILQ_REMOVE(&replies->kept, kept, entry);
	replies->kept_count--;
	replies->kept_bytes -= kept->size;
	zfd_closep(&kept->fd);
	free(kept);
}

static void keep(struct replies *replies, const struct job_record *record, int fd, size_t size)
{
	struct kept *kept;

	if (record->unique_id[0] == '\0' || size > KEPT_BYTES_MAX / 8)
		return;
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return;
	kept->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	kept->size = size;
	memcpy(kept->unique_id, record->unique_id, sizeof(kept->unique_id));
	TAILQ_INSERT_TAIL(&replies->kept, kept, entry);
	replies->kept_count++;
	replies->kept_bytes += size;
	while (replies->kept_count > KEPT_MAX || replies->kept_bytes > KEPT_BYTES_MAX)
		forget_kept(replies, TAILQ_FIRST(&replies->kept));
}

/* Known-faults R4: the oldest goes when too much waits. */
static void make_room(struct replies *replies, size_t size)
{
	while (replies->count > 0 &&
	       (replies->count >= WAITING_MAX || replies->bytes + size > WAITING_BYTES_MAX)) {
		if (replies->dropped++ % 100 == 0)
			zlog_warning("replies: too many wait for the publisher: the oldest is dropped "
				     "(%u so far)",
				     replies->dropped);
		forget(replies, TAILQ_FIRST(&replies->waiting));
	}
}

/* Takes fd. */
static struct outgoing *queue_reply(struct replies *replies, const char *queue, const char *msg_id,
				    int fd)
{
	struct outgoing *reply;
	struct stat status;

	if (fstat(fd, &status) < 0 || status.st_size <= 0) {
		zfd_closep(&fd);
		return NULL;
	}
	reply = calloc(1, sizeof(*reply));
	if (!reply) {
		zfd_closep(&fd);
		return NULL;
	}
	make_room(replies, (size_t)status.st_size);
	reply->token = replies->next_token++;
	reply->fd = fd;
	reply->size = (size_t)status.st_size;
	(void)snprintf(reply->queue, sizeof(reply->queue), "%s", queue);
	(void)snprintf(reply->msg_id, sizeof(reply->msg_id), "%s", msg_id);
	TAILQ_INSERT_TAIL(&replies->waiting, reply, entry);
	replies->count++;
	replies->bytes += reply->size;
	return reply;
}

static bool is_answerable(const struct job_record *record)
{
	return record->msg_id[0] != '\0' && record->reply_queue[0] != '\0';
}

void replies_add(struct replies *replies, const struct job_record *record, int fd)
{
	const struct outgoing *reply;

	if (!is_answerable(record)) {
		zfd_closep(&fd);
		return;
	}
	reply = queue_reply(replies, record->reply_queue, record->msg_id, fd);
	if (!reply) {
		zlog_error("reply to %s: lost for lack of memory", record->msg_id);
		return;
	}
	keep(replies, record, reply->fd, reply->size);
	pass_on(replies);
}

/* A reply text (owned, may be NULL) as a descriptor, or -1. */
static int text_fd(char *text)
{
	_cleanup_free_ char *owned = text;

	return owned ? zfd_sealed_memfd("reply", owned, strlen(owned)) : -1;
}

void replies_fail(struct replies *replies, const struct job_record *record, const char *class,
		  const char *text)
{
	struct rpc_failure failure = {0};
	int fd;

	if (!is_answerable(record))
		return;
	rpc_fail(&failure, class, "%s", text);
	fd = text_fd(rpc_reply(record, NULL, &failure, (size_t)replies->config->max_reply_bytes));
	if (fd >= 0)
		replies_add(replies, record, fd);
	else
		zlog_error("reply to %s: lost for lack of memory", record->msg_id);
}

void replies_sign_of_life(struct replies *replies, const struct job_record *record)
{
	struct outgoing *reply;
	int fd;

	if (!is_answerable(record))
		return;
	fd = text_fd(rpc_reply_heartbeat(record->msg_id));
	if (fd < 0)
		return; /* the next one follows soon */
	reply = queue_reply(replies, record->reply_queue, record->msg_id, fd);
	if (!reply)
		return;
	reply->fleeting = true;
	pass_on(replies);
}

bool replies_repeat(struct replies *replies, const struct job_record *record)
{
	struct kept *kept;
	int fd;

	TAILQ_FOREACH(kept, &replies->kept, entry) {
		if (strcmp(kept->unique_id, record->unique_id) != 0)
			continue;
		fd = fcntl(kept->fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0 || !queue_reply(replies, record->reply_queue, record->msg_id, fd))
			return false;
		pass_on(replies);
		return true;
	}
	return false;
}

/* Gives the publisher what it does not have yet, as far as its socket takes it. */
static void pass_on(struct replies *replies)
{
	struct outgoing *reply;

	if (replies->socket < 0)
		return;
	TAILQ_FOREACH(reply, &replies->waiting, entry) {
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

/* Known-faults F10: the caller learns of the limit, once. */
static void replace(struct replies *replies, const struct outgoing *reply)
{
	struct job_record record = {.call = true};
	struct rpc_failure failure = {0};
	struct outgoing *other;
	int fd;

	memcpy(record.msg_id, reply->msg_id, sizeof(record.msg_id));
	memcpy(record.reply_queue, reply->queue, sizeof(record.reply_queue));
	rpc_fail(&failure, "ZunException",
		 "the reply is larger than max_reply_bytes (%lld), or than the message broker takes",
		 (long long)replies->config->max_reply_bytes);
	fd = text_fd(rpc_reply(&record, NULL, &failure, (size_t)replies->config->max_reply_bytes));
	other = fd < 0 ? NULL : queue_reply(replies, reply->queue, reply->msg_id, fd);
	if (other)
		other->replaced = true;
}

static void settle(struct replies *replies, const struct publisher_answer *answer)
{
	struct outgoing *reply;

	TAILQ_FOREACH(reply, &replies->waiting, entry) {
		if (reply->token != answer->token)
			continue;
		if (answer->outcome == PUBLISHER_TOO_LARGE && !reply->replaced) {
			zlog_warning("reply to %s: too large: the caller gets a failure", reply->msg_id);
			replace(replies, reply);
		}
		forget(replies, reply);
		return;
	}
}

static void lose_publisher(struct replies *replies)
{
	struct outgoing *reply;

	if (replies->socket < 0)
		return;
	loop_unwatch(replies->loop, replies->socket);
	zfd_closep(&replies->socket);
	TAILQ_FOREACH(reply, &replies->waiting, entry)
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
			settle(replies, &answer);
			continue;
		}
		zfd_packet_close(&packet);
		if (result > 0 && replies->publisher > 0)
			(void)kill(replies->publisher, SIGKILL); /* it makes no sense; ours, not reaped */
		lose_publisher(replies);
	}
	pass_on(replies);
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
	pass_on(replies);
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
	pass_on(replies);
}

size_t replies_waiting(const struct replies *replies)
{
	return replies->count;
}

void replies_free(struct replies *replies, unsigned wait_ms)
{
	static const struct timespec pause = {.tv_nsec = 10000000};

	if (!replies)
		return;
	lose_publisher(replies);
	for (unsigned waited = 0; replies->publisher > 0 && waited < wait_ms; waited += 10) {
		if (waitpid(replies->publisher, NULL, WNOHANG) == replies->publisher)
			replies->publisher = 0;
		else
			(void)nanosleep(&pause, NULL);
	}
	while (!TAILQ_EMPTY(&replies->waiting))
		forget(replies, TAILQ_FIRST(&replies->waiting));
	while (!TAILQ_EMPTY(&replies->kept))
		forget_kept(replies, TAILQ_FIRST(&replies->kept));
	free(replies);
}

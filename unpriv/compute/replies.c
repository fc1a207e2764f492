/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies between workers and publisher.  Runs in the dispatcher, without a
 * privilege.  A reply is a descriptor here: it is passed on, never read.
 */
#include "unpriv/compute/replies.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/replies_private.h"
#include "unpriv/rpc/envelope.h"
#include <fcntl.h>
#include <sys/stat.h>

/* A little more than the publisher holds: it is the one to choose what is dropped. */
#define WAITING_MAX	  1200
#define WAITING_BYTES_MAX ((uint64_t)80 << 20)
/* Kept for requests that come twice. */
#define KEPT_MAX       128
#define KEPT_BYTES_MAX ((uint64_t)8 << 20)

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
			zlog_warning(
				"replies: too many wait for the publisher: the oldest is dropped "
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
	replies_pass_on(replies);
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
	replies_pass_on(replies);
}

bool replies_repeat(struct replies *replies, const struct job_record *record)
{
	struct kept *kept;
	int fd;

	for (kept = TAILQ_FIRST(&replies->kept); kept; kept = TAILQ_NEXT(kept, entry)) {
		if (strcmp(kept->unique_id, record->unique_id) != 0)
			continue;
		fd = fcntl(kept->fd, F_DUPFD_CLOEXEC, 3);
		if (fd < 0 || !queue_reply(replies, record->reply_queue, record->msg_id, fd))
			return false;
		replies_pass_on(replies);
		return true;
	}
	return false;
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
	rpc_fail(
		&failure, "ZunException",
		"the reply is larger than max_reply_bytes (%lld), or than the message broker takes",
		(long long)replies->config->max_reply_bytes);
	fd = text_fd(rpc_reply(&record, NULL, &failure, (size_t)replies->config->max_reply_bytes));
	other = fd < 0 ? NULL : queue_reply(replies, reply->queue, reply->msg_id, fd);
	if (other)
		other->replaced = true;
}

void replies_settle(struct replies *replies, uint64_t token, bool too_large)
{
	struct outgoing *reply;

	for (reply = TAILQ_FIRST(&replies->waiting); reply; reply = TAILQ_NEXT(reply, entry)) {
		if (reply->token != token)
			continue;
		if (too_large && !reply->replaced) {
			zlog_warning("reply to %s: too large: the caller gets a failure",
				     reply->msg_id);
			replace(replies, reply);
		}
		forget(replies, reply);
		return;
	}
}

size_t replies_waiting(const struct replies *replies)
{
	return replies->count;
}

void replies_free(struct replies *replies, unsigned wait_ms)
{
	if (!replies)
		return;
	replies_end_publisher(replies, wait_ms);
	while (!TAILQ_EMPTY(&replies->waiting))
		forget(replies, TAILQ_FIRST(&replies->waiting));
	while (!TAILQ_EMPTY(&replies->kept))
		forget_kept(replies, TAILQ_FIRST(&replies->kept));
	free(replies);
}

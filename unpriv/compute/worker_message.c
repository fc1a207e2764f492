/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: classified when they come, run when their turn comes.  Runs in
 * workers; no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/worker_work.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A message or an intent, mapped. */
struct text {
	const char *data;
	size_t length;
};

static void text_unmap(struct text *text)
{
	if (text->length > 0)
		(void)munmap((void *)(uintptr_t)text->data, text->length); /* cannot fail */
}

/* Only what is sealed: nobody can change it while it is read. */
static int text_map(int fd, struct text *text)
{
	ssize_t length = fd < 0 ? -EBADF : zfd_check_sealed(fd, INTENT_LINE_MAX);
	void *data;

	*text = (struct text){.data = ""};
	if (length <= 0)
		return (int)length;
	data = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*text = (struct text){.data = data, .length = (size_t)length};
	return 0;
}

static int reply_make(const struct worker *worker, struct work *work, struct json_object *result,
		      const struct rpc_failure *failure)
{
	_cleanup_free_ char *text = NULL;
	int fd;

	text = rpc_reply(&work->result.record, result, failure && failure->class ? failure : NULL,
			 (size_t)worker->config->max_reply_bytes);
	if (!text)
		return -ENOMEM;
	fd = zfd_sealed_memfd("reply", text, strlen(text));
	if (fd < 0)
		return fd;
	work->reply = fd;
	return 0;
}

/* The intent is on disk before the dispatcher acknowledges the message. */
static int intent_write(struct worker *worker, const char *order, struct job_record *record,
			const struct rpc_message *message)
{
	_cleanup_free_ char *line = NULL;
	int result = intent_name(order, record->unique_id, record->intent);

	if (result < 0)
		return result;
	line = rpc_message_to_intent(message, record);
	if (!line)
		return -ENOMEM;
	result = intent_create(&worker->intents, record->intent, line, strlen(line));
	/* There already: a worker wrote it and died before it could say so. */
	return result == -EEXIST ? 0 : result;
}

static int classify_message(struct worker *worker, struct work *work, const struct text *text,
			    struct rpc_message *message)
{
	struct job_record *record = &work->result.record;
	struct rpc_failure failure = {0};
	char order[sizeof(record->intent)];

	memcpy(order, record->intent, sizeof(order));
	record->intent[0] = '\0';
	rpc_classify(text->data, text->length, work->request->content_type, record, message,
		     &failure);
	if (record->verdict == VERDICT_RUN && !record->call)
		return intent_write(worker, order, record, message);
	if (record->verdict == VERDICT_ANSWERED && record->call)
		return reply_make(worker, work, NULL, &failure);
	return 0;
}

int worker_classify(struct worker *worker, struct work *work)
{
	_cleanup_(text_unmap) struct text text = {0};
	_cleanup_(rpc_message_clear) struct rpc_message message = {0};
	struct zerr err = {0};
	int result = text_map(work->fd, &text);

	if (result < 0)
		return result;
	if (!work->request->record.resumed)
		return classify_message(worker, work, &text, &message);
	result = rpc_message_from_intent(text.data, text.length, &work->result.record, &message,
					 &err);
	if (result < 0) {
		/* Kept by the dispatcher for the operator: nothing else can be made of it. */
		zlog_error("intent %s: %s", work->request->record.intent, err.msg);
		work->result.record.verdict = VERDICT_DROP;
		(void)snprintf(work->result.record.reason, sizeof(work->result.record.reason),
			       "the intent cannot be read");
	}
	return 0;
}

static int read_message(struct work *work, const struct text *text, struct rpc_message *message)
{
	struct job_record scratch = work->request->record;
	struct rpc_failure failure = {0};
	struct zerr err = {0};
	int result = 0;

	if (scratch.resumed)
		result = rpc_message_from_intent(text->data, text->length, &scratch, message, &err);
	else
		rpc_classify(text->data, text->length, "application/json", &scratch, message,
			     &failure);
	if (result < 0)
		zlog_error("intent %s: %s", work->request->record.intent, err.msg);
	return result;
}

/* Why the caller of a call gets no result although no operation failed. */
static void answer_without(struct manager_job *job, int result)
{
	if (!job->failure.class && result == -EPIPE)
		rpc_fail(&job->failure, "DockerError",
			 "Docker internal error: the docker helper cannot be reached.");
	else if (!job->failure.class)
		rpc_fail(&job->failure, "ZunException", "The database cannot be reached.");
}

/* 0 when the job's outcome is stored, else a negative errno: it will come again. */
static int run_message(struct worker *worker, struct work *work, struct manager_job *job)
{
	int result = worker_driver(worker);

	if (result == 0)
		result = manager_run(&worker->manager, job);
	if (result == -EPIPE && worker->manager.driver && !worker_usable(worker))
		_exit(EXIT_CHANNEL); /* lost on the way: another worker goes on from the intent */
	work->result.outcome_stored = (result == 0 || job->failure.class) && !job->leftover;
	if (!job->record->call)
		return result;
	if (result < 0)
		answer_without(job, result);
	return reply_make(worker, work, job->result, &job->failure);
}

int worker_run(struct worker *worker, struct work *work)
{
	_cleanup_(text_unmap) struct text text = {0};
	_cleanup_(rpc_message_clear) struct rpc_message message = {0};
	_cleanup_(manager_job_clear) struct manager_job job = {.record = &work->request->record};
	int result = text_map(work->fd, &text);

	if (result == 0)
		result = read_message(work, &text, &message);
	if (result < 0)
		return result;
	job.args = message.args;
	job.actor = (struct store_actor){.request_id = message.context.request_id,
					 .project_id = message.context.project_id,
					 .user_id = message.context.user_id};
	return run_message(worker, work, &job);
}

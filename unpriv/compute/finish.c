/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of a job that ran, and what follows: reply, intent, the next one
 * of its strand, another try.  Dispatcher, no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/jobs.h"
#include <stddef.h>

#define TRIES_MAX 2U
/* An outcome that cannot be stored (no database) is tried again with pauses of up to a minute:
 * after this many times the strand goes on, and the intent is left to the next start. */
#define RESTS_MAX 100U
#define LOST_CALL "the request ended the process that worked on it"

void finish_end(struct dispatcher *d, struct job *job)
{
	struct strand_node *next;

	if (job->strand.strand) {
		next = strands_pop(d->strands, &job->strand);
		if (next)
			job_queue(d, (struct job *)(void *)((char *)next -
							    offsetof(struct job, strand)));
	}
	if (job->kind == JOB_HEARTBEAT) {
		d->heartbeat_queued = false;
		d->heartbeat_tried = true;
		dispatcher_consume(d);
	} else if (job->kind == JOB_INVENTORY) {
		d->inventory_queued = false;
		d->inventory_tried = true;
		dispatcher_consume(d);
	}
	job_free(d, job);
	accept_release(d);
	jobs_press(d);
}

/* The outcome is not in the store: the intent stays, and the strand waits with it. */
static void retry_cast(struct dispatcher *d, struct job *job, int status)
{
	if (job->rests >= RESTS_MAX) {
		zlog_error("intent %s: no outcome after %u tries: left to the next start: %s",
			   job->record.intent, RESTS_MAX, strerror(-status));
		finish_end(d, job);
		return;
	}
	zlog_warning("request %s: its outcome could not be stored, it is tried again: %s",
		     job->record.request_id, strerror(-status));
	job->record.resumed = true;
	job_rest(d, job);
}

static void finish_cast(struct dispatcher *d, struct job *job, const struct job_result *result)
{
	if (result->outcome_stored) {
		job_forget_intent(d, job);
		finish_end(d, job);
	} else if (job->record.intent[0] == '\0') {
		zlog_error("request %s: no outcome, and no intent to try again from: %s",
			   job->record.request_id, strerror(-result->status));
		finish_end(d, job);
	} else {
		retry_cast(d, job, result->status);
	}
}

static void finish_call(struct dispatcher *d, struct job *job, int fd)
{
	if (fd >= 0)
		replies_add(d->replies, &job->record, fd);
	else
		replies_fail(d->replies, &job->record, "ZunException", "the request has no result");
	finish_end(d, job);
}

void finish_job(struct dispatcher *d, struct job *job, const struct job_result *result, int fd)
{
	if (job->kind == JOB_RUN && job->record.call) {
		finish_call(d, job, fd);
		return;
	}
	zfd_closep(&fd);
	switch (job->kind) {
	case JOB_RUN:
	case JOB_ABANDON:
		finish_cast(d, job, result);
		break;
	case JOB_RECOVER:
		recover_page(d, job, result);
		finish_end(d, job);
		break;
	case JOB_RECOVER_ONE:
		if (result->status < 0)
			zlog_warning("container %s: its recovery failed: %s", job->record.uuid,
				     strerror(-result->status));
		finish_end(d, job);
		break;
	case JOB_HEARTBEAT:
	case JOB_INVENTORY:
	case JOB_CLASSIFY:
		finish_end(d, job);
		break;
	}
}

/* Its workers died of it: the caller, or the row, gets a definite end. */
static void give_up(struct dispatcher *d, struct job *job)
{
	if (job->kind == JOB_RUN && job->record.call) {
		replies_fail(d->replies, &job->record, "ZunException", LOST_CALL);
		finish_end(d, job);
	} else if (job->kind == JOB_RUN) {
		zlog_error("request %s: it ended two workers: given up", job->record.request_id);
		job->kind = JOB_ABANDON;
		job->record.tries = 0;
		job->record.resumed = true;
		job_queue_first(d, job);
	} else {
		if (job->kind == JOB_ABANDON)
			zlog_error("intent %s: even giving it up ends workers", job->record.intent);
		job_forget_intent(d, job);
		finish_end(d, job);
	}
}

void finish_died(struct dispatcher *d, struct job *job)
{
	struct job_result failed = {.status = -ECHILD};

	if (job->kind == JOB_HEARTBEAT || job->kind == JOB_INVENTORY) {
		finish_end(d, job); /* the next one is due anyway */
		return;
	}
	if (job->kind == JOB_RECOVER) {
		recover_page(d, job, &failed);
		finish_end(d, job);
		return;
	}
	job->record.tries++;
	if (job->record.tries >= TRIES_MAX) {
		give_up(d, job);
		return;
	}
	/* Its first try may have had effects: the intent knows. */
	if (job->record.intent[0] != '\0')
		job->record.resumed = true;
	job_queue_first(d, job);
}

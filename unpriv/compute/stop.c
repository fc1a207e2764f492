/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end in good order (known-faults F62): no new messages, what runs may
 * finish, calls get an answer, casts stay in their intents.  Dispatcher, no
 * privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/jobs.h"

#define FINISH_MS     30000
#define REPLIES_MS    3000
#define CLOSE_MS      5000
#define STOPPING_TEXT "the compute service is stopping"

enum { STOP_FINISHING, STOP_REPLYING, STOP_CLOSING };

void stop_begin(struct dispatcher *d, const char *why)
{
	if (d->stopping)
		return;
	d->stopping = true;
	d->stop_ms = zfd_now_ms() + FINISH_MS;
	zlog_info("stopping: %s: %u jobs run, %zu wait", why, pool_busy(d->pool),
		  d->jobs - pool_busy(d->pool));
	notify_send(&d->notify, "STOPPING=1");
	consumer_pause(d->consumer, false);
	consumer_cancel(d->consumer);
}

/* True when neither a job runs nor a call waits that may still run. */
static bool all_quiet(const struct dispatcher *d)
{
	const struct job *job;

	if (pool_busy(d->pool) > 0)
		return false;
	for (job = TAILQ_FIRST(&d->all); job; job = TAILQ_NEXT(job, all))
		if (job->kind == JOB_RUN && job->record.call && job->state == STATE_QUEUED)
			return false;
	return true;
}

/* Calls that got no turn: a definite word instead of a timeout. */
static void answer_calls(struct dispatcher *d)
{
	struct job *job;
	unsigned casts = 0;

	for (job = TAILQ_FIRST(&d->all); job; job = TAILQ_NEXT(job, all)) {
		if (job->kind == JOB_RUN && job->record.call)
			replies_fail(d->replies, &job->record, "ZunException", STOPPING_TEXT);
		else if (job->record.intent[0] != '\0')
			casts++;
	}
	if (casts > 0)
		zlog_info("stopping: %u requests are left to the next start", casts);
}

void stop_tick(struct dispatcher *d, uint64_t now_ms)
{
	bool late = now_ms >= d->stop_ms;

	if (d->stop_step == STOP_FINISHING && (late || all_quiet(d))) {
		if (late)
			zlog_warning(
				"stopping: %u jobs are still running: not waited for any longer",
				pool_busy(d->pool));
		answer_calls(d);
		d->stop_step = STOP_REPLYING;
		d->stop_ms = now_ms + REPLIES_MS;
	} else if (d->stop_step == STOP_REPLYING && (late || replies_waiting(d->replies) == 0)) {
		d->stop_step = STOP_CLOSING;
		d->stop_ms = now_ms + CLOSE_MS;
		consumer_close(d->consumer);
	} else if (d->stop_step == STOP_CLOSING && late) {
		loop_stop(d->loop);
	}
}

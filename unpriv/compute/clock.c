/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is due by the clock: this node's rows, signs of life to callers, and to
 * the service manager.  Dispatcher, no privilege.
 */
#include "common/zfd.h"
#include "unpriv/compute/jobs.h"

#define DEFAULT_PERIOD_S 60

static void queue_periodic(struct dispatcher *d, enum job_kind kind, bool *queued)
{
	struct job *job = job_new(d, kind);

	if (!job)
		return; /* next time */
	*queued = true;
	job_queue(d, job);
}

/* The rows that say that this node is there.  The heartbeat only while the bus is heard: an agent
 * that is deaf must be seen as down (known-faults F02). */
void clock_periodic(struct dispatcher *d, uint64_t now_ms)
{
	int64_t period_s = d->config->periodic_interval_max;
	uint64_t period =
		(uint64_t)(period_s > 0 && period_s < 3600 ? period_s : DEFAULT_PERIOD_S) * 1000;

	if (d->stopping)
		return;
	if (now_ms >= d->heartbeat_ms && !d->heartbeat_queued && consumer_is_alive(d->consumer)) {
		d->heartbeat_ms = now_ms + period;
		queue_periodic(d, JOB_HEARTBEAT, &d->heartbeat_queued);
	}
	if (now_ms >= d->inventory_ms && !d->inventory_queued) {
		d->inventory_ms = now_ms + period;
		queue_periodic(d, JOB_INVENTORY, &d->inventory_queued);
	}
}

/* Signs of life to callers who asked for them. */
void clock_monitors(struct dispatcher *d, uint64_t now_ms)
{
	struct job *job;

	for (job = TAILQ_FIRST(&d->all); job; job = TAILQ_NEXT(job, all)) {
		if (job->monitor_ms == 0 || now_ms < job->monitor_ms)
			continue;
		job->monitor_ms += (uint64_t)job->record.monitor_s * 500;
		replies_sign_of_life(d->replies, &job->record);
	}
}

void clock_watchdog(struct dispatcher *d, uint64_t now_ms)
{
	if (d->notify.every_ms == 0 || now_ms < d->watchdog_ms)
		return;
	d->watchdog_ms = now_ms + d->notify.every_ms;
	notify_send(&d->notify, "WATCHDOG=1");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces that the manager's flows are made of: row, task_state, event,
 * action, intent, patience.  Runs in workers; no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/manager.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PAUSE_FIRST_MS 1000
#define PAUSE_MAX_MS   15000

/* A failure of the store: said in the log, once, here. */
static int store_result(const struct manager_job *job, int result, const struct zerr *err)
{
	if (result < 0)
		zlog_error("container %s: %s", job->record->uuid, err->msg);
	return result;
}

int step_load(struct manager *manager, struct manager_job *job)
{
	struct zerr err = {0};
	int result;

	container_clear(&job->row);
	result = manager->store_ops->container_get(manager->store, job->record->uuid, &job->row,
						   &err);
	if (result == -ENOENT)
		return result;
	/* On a strand nobody else acts on the container: a value that is there was left behind. */
	(void)snprintf(job->task, sizeof(job->task), "%s",
		       container_text(&job->row, CONTAINER_task_state));
	return store_result(job, result, &err);
}

static int save(struct manager *manager, struct manager_job *job, const char *expect)
{
	struct zerr err = {0};
	int result = manager->store_ops->container_save(manager->store, &job->row, expect, &err);

	return store_result(job, result, &err);
}

int step_task(struct manager *manager, struct manager_job *job, const char *task_state)
{
	int result = container_set_text(&job->row, CONTAINER_task_state, task_state);

	if (result == 0)
		result = save(manager, job, NULL);
	if (result == 0)
		(void)snprintf(job->task, sizeof(job->task), "%s", task_state);
	return result;
}

int step_settle(struct manager *manager, struct manager_job *job)
{
	int result = container_set_text(&job->row, CONTAINER_task_state, NULL);

	if (result == 0)
		result = save(manager, job, job->task[0] ? job->task : NULL);
	if (result == 0)
		job->task[0] = '\0';
	return result;
}

int step_status(struct manager *manager, struct manager_job *job, const char *status,
		const char *reason)
{
	int result = container_set_text(&job->row, CONTAINER_status_reason, reason);

	if (result == 0 && status)
		result = container_set_text(&job->row, CONTAINER_status, status);
	return result < 0 ? result : step_settle(manager, job);
}

int step_event_start(struct manager *manager, struct manager_job *job, const char *event)
{
	struct zerr err = {0};
	int result = manager->store_ops->event_start(manager->store, &job->action, event, &err);

	return store_result(job, result, &err);
}

int step_event_finish(struct manager *manager, struct manager_job *job, const char *event)
{
	const char *error = job->failure.class ? job->failure.message : NULL;
	struct zerr err = {0};
	int result =
		manager->store_ops->event_finish(manager->store, &job->action, event, error, &err);

	return store_result(job, result, &err);
}

int step_action_finish(struct manager *manager, struct manager_job *job)
{
	struct zerr err = {0};
	int result = manager->store_ops->action_finish(manager->store, &job->action,
						       job->failure.class != NULL, &err);

	return store_result(job, result, &err);
}

const char *step_not_rebooted(struct manager *manager, struct manager_job *job)
{
	struct rpc_failure kept = job->failure;

	/* What cannot be seen stays as it is. */
	(void)manager->driver_ops->show(manager->driver, &job->row, true, &job->failure);
	job->failure = kept;
	return strcmp(container_text(&job->row, CONTAINER_status), "Restarting") == 0 ? "Error"
										      : NULL;
}

/* A refused reboot would leave Restarting for good: only the agent ever takes it back. */
static int refuse_reboot(struct manager *manager, struct manager_job *job)
{
	bool ours = step_is_ours(manager, job);
	const char *status = "Error";

	if (strcmp(container_text(&job->row, CONTAINER_status), "Restarting") != 0 ||
	    (CONTAINER_HAS(&job->row, host) && !ours))
		return 0;
	if (ours)
		status = step_not_rebooted(manager, job);
	return step_status(manager, job, status, job->failure.message);
}

int step_refuse(struct manager *manager, struct manager_job *job)
{
	int result = 0;

	zlog_warning("container %s: %s: %s", job->record->uuid, job->method->name,
		     job->failure.message);
	if (job->method->method == RPC_CONTAINER_REBOOT)
		result = refuse_reboot(manager, job);
	return result < 0 ? result : step_action_finish(manager, job);
}

int step_effect(struct manager *manager, struct manager_job *job, const char *effect)
{
	int result;

	if (!job->record->intent[0])
		return 0;
	result = intent_effect(manager->intents, job->record->intent, effect, NULL);
	if (result < 0)
		zlog_error("intent %s: %s cannot be recorded: %s", job->record->intent, effect,
			   strerror(-result));
	return result == -ENOENT ? -EIO : result; /* -ENOENT speaks of rows */
}

bool step_effect_was(struct manager *manager, const struct manager_job *job, const char *effect)
{
	return job->repeated && job->record->intent[0] &&
	       intent_has(manager->intents, job->record->intent, effect, NULL, 0);
}

bool step_is_ours(const struct manager *manager, const struct manager_job *job)
{
	return strcmp(container_text(&job->row, CONTAINER_host), manager->config->host) == 0;
}

int step_gone(struct manager *manager, struct manager_job *job)
{
	bool deleting = strcmp(container_text(&job->row, CONTAINER_status), "Deleting") == 0;

	if (deleting)
		return step_settle(manager, job);
	if (job->row.auto_remove)
		return step_status(manager, job, "Deleted", NULL);
	return step_status(manager, job, "Error", job->failure.message);
}

/* The channel to the helper is gone, and with it this worker's use: another one takes the job over,
 * once. The intent says how far this one came. */
static bool hand_over(const struct manager *manager, const struct manager_job *job)
{
	return !manager->driver_ops->usable(manager->driver) && job->record->intent[0] &&
	       job->record->tries == 0;
}

int step_patiently(struct manager *manager, struct manager_job *job, step_act *act)
{
	uint64_t deadline_ms = zfd_now_ms() + manager->engine_patience_ms;

	for (unsigned pause_ms = PAUSE_FIRST_MS;;) {
		struct timespec pause = {.tv_sec = pause_ms / 1000};
		int result;

		job->failure = (struct rpc_failure){0};
		result = act(manager, job);
		if (result == -EAGAIN && hand_over(manager, job)) {
			job->failure = (struct rpc_failure){0};
			return -EPIPE;
		}
		if (result != -EAGAIN || job->record->call ||
		    zfd_now_ms() + pause_ms > deadline_ms ||
		    !manager->driver_ops->usable(manager->driver))
			return result;
		zlog_warning("container %s: %s: again in %u s", job->record->uuid,
			     job->failure.message, pause_ms / 1000);
		(void)nanosleep(&pause, NULL); /* a shorter pause does no harm */
		pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
		job->repeated = true;
	}
}

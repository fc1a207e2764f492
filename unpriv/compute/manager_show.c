/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_show (rpc-methods.md §4.6): the object with the runtime's state in
 * it.  Not on the strand: it may run beside an action and must not undo what
 * that writes.  Runs in workers; no privilege.
 */
#include "common/zlog.h"
#include "unpriv/compute/manager.h"
#include <errno.h>
#include <string.h>

static int answer(struct manager_job *job)
{
	job->result = container_reply(&job->argument, &job->row);
	if (job->result)
		return 0;
	rpc_fail(&job->failure, "ZunException", "Out of memory");
	return -ENOMEM;
}

/* Saves what was seen, unless an action is under way: then its word counts. */
static int save_seen(struct manager *manager, struct manager_job *job)
{
	struct zerr err = {0};
	int result = manager->store_ops->container_save(manager->store, &job->row, "", &err);

	if (result == 0 || result == -EBUSY || result == -ENOENT)
		return 0;
	/* The caller gets the state all the same; the next show saves it. */
	zlog_error("container %s: %s", job->row.uuid, err.msg);
	return 0;
}

static bool in_transition(const struct manager_job *job)
{
	static const char *const statuses[] = {"Creating", "Deleting", "Deleted", "Rebuilding"};
	const char *status = container_text(&job->row, CONTAINER_status);

	if (container_text(&job->row, CONTAINER_task_state)[0])
		return true;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (strcmp(status, statuses[i]) == 0)
			return true;
	return false;
}

/* The runtime has no such container: no error, but a state. */
static int gone(struct manager *manager, struct manager_job *job)
{
	const char *status = job->row.auto_remove ? "Deleted" : "Error";
	int result = 0;

	if (!in_transition(job)) {
		result = container_set_text(&job->row, CONTAINER_status, status);
		if (result == 0)
			result = container_set_text(&job->row, CONTAINER_status_reason,
						    job->row.auto_remove ? NULL
									 : job->failure.message);
		if (result == 0)
			result = save_seen(manager, job);
	}
	job->failure = (struct rpc_failure){0};
	return result;
}

int manager_show(struct manager *manager, struct manager_job *job)
{
	int result;

	/* Nothing here to look at: never created, or on another node. */
	if (!container_text(&job->row, CONTAINER_container_id)[0] || !step_is_ours(manager, job) ||
	    job->row.container_type != 0)
		return answer(job);
	result = manager->driver_ops->show(manager->driver, &job->row, false, &job->failure);
	if (result == -ENOENT)
		result = gone(manager, job);
	else if (result == 0)
		result = save_seen(manager, job);
	return result < 0 ? result : answer(job);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_delete (rpc-methods.md §4.3): the container, then the row with its
 * claim.  Forced, it always ends without the row (known-faults F57).
 * Runs in workers; no privilege.
 */
#include "common/zlog.h"
#include "unpriv/base/json.h"
#include "unpriv/compute/manager.h"
#include <errno.h>
#include <string.h>

static bool forced(const struct manager_job *job)
{
	struct zerr err = {0};
	bool force = false;

	/* Recovery finishes a delete that was accepted before: nobody would ask again. */
	if (!job->args)
		return true;
	(void)json_get_bool(job->args, "force", &force, &err); /* of another type: not forced */
	return force;
}

static int act_remove(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->remove(manager->driver, &job->row, forced(job), &job->failure);
}

/* The row stays, with a reason; the action does not stay open (K27). */
static int delete_fail(struct manager *manager, struct manager_job *job)
{
	int result = step_status(manager, job, "Error", job->failure.message);

	if (result == -ENOENT)
		return 0;
	return result < 0 ? result : step_action_finish(manager, job);
}

static int delete_check(struct manager *manager, struct manager_job *job)
{
	if (CONTAINER_HAS(&job->row, host) && !step_is_ours(manager, job)) {
		rpc_fail(&job->failure, "Conflict", "The container is not on host %s",
			 manager->config->host);
		return -EREMOTE;
	}
	if (job->row.container_type != 0 && !forced(job) &&
	    container_text(&job->row, CONTAINER_container_id)[0]) {
		rpc_fail(&job->failure, "OperationNotSupported",
			 "Capsules are not supported by this release: their members would stay");
		return -ENOTSUP;
	}
	return 0;
}

/* With force the row goes although the container did not.  One that may go later keeps the intent.
 */
static void note_leftover(struct manager_job *job, int result)
{
	zlog_warning("container %s: %s; its row goes all the same", job->record->uuid,
		     job->failure.message);
	job->leftover = result == -EAGAIN || result == -EBUSY;
	job->failure = (struct rpc_failure){0};
}

static int delete_row(struct manager *manager, struct manager_job *job)
{
	struct zerr err = {0};
	int result = manager->store_ops->container_destroy(manager->store, job->record->uuid,
							   forced(job), &err);

	if (result == -EBUSY) {
		rpc_fail(&job->failure, "Conflict", "%s", err.msg);
		return delete_fail(manager, job);
	}
	if (result < 0)
		zlog_error("container %s: %s", job->record->uuid, err.msg);
	return result;
}

int manager_delete(struct manager *manager, struct manager_job *job)
{
	int result;

	if (delete_check(manager, job) < 0)
		return step_refuse(manager, job);
	/* The API leaves this change to the agent (rpc-methods.md §3.3). */
	if (job->argument.status_changed &&
	    container_set_text(&job->row, CONTAINER_status, "Deleting") < 0)
		return -ENOMEM;
	result = step_task(manager, job, job->method->task_state);
	if (result == 0)
		result = step_effect(manager, job, "delete");
	if (result < 0)
		return result;
	result = step_patiently(manager, job, act_remove);
	if (result < 0 && !job->failure.class)
		return result;
	if (result < 0 && !forced(job))
		return delete_fail(manager, job);
	if (result < 0)
		note_leftover(job, result);
	return delete_row(manager, job);
}

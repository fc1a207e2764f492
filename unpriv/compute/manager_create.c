/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container_create (rpc-methods.md §4.2).  Whatever an earlier process did of it
 * is found again: the claim by the row's host, the container by its name (the
 * driver adopts it), the outcome by the row's status.
 * Runs in workers; no privilege.
 */
#include "common/zlog.h"
#include "unpriv/base/json.h"
#include "unpriv/compute/manager.h"
#include <errno.h>
#include <string.h>

static int act_image(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->image_ready(manager->driver, &job->row, &job->failure);
}

static int act_create(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->create(manager->driver, &job->row, &job->failure);
}

/* Memory, cpu and disk of the node; container.host is set with them, also when nothing is asked
 * (K36). */
static int create_claim(struct manager *manager, struct manager_job *job)
{
	struct claim_limits limits;
	struct zerr err = {0};
	int result = create_limits(job, &limits);

	if (result == 0)
		result = step_effect(manager, job, "claim");
	if (result < 0)
		return result;
	result = manager->store_ops->claim(manager->store, manager->config->host, job->row.uuid,
					   &limits, &err);
	if (result == -ENOSPC)
		rpc_fail(&job->failure, "ResourcesUnavailable", "%s", err.msg);
	else if (result == -EINVAL)
		rpc_fail(&job->failure, "Invalid", "Invalid container: %s", err.msg);
	else if (result < 0)
		zlog_error("container %s: claim: %s", job->row.uuid, err.msg);
	if (result < 0)
		return result;
	result = container_set_text(&job->row, CONTAINER_host, manager->config->host);
	job->row.changed &= ~CONTAINER_BIT(CONTAINER_host); /* the claim has stored it */
	return result;
}

/* Steps 3 to 7 up to the container itself.  *keep_host: a failure leaves the claim to the row. */
static int create_container(struct manager *manager, struct manager_job *job, bool *keep_host)
{
	int result;

	*keep_host = false;
	result = create_disk(manager, job);
	if (result == 0)
		result = step_event_start(manager, job, job->method->event);
	if (result == 0)
		result = create_claim(manager, job);
	if (result == 0)
		result = step_task(manager, job, job->method->task_state);
	if (result < 0)
		return result;
	*keep_host = true;
	result = step_patiently(manager, job, act_image);
	if (result < 0)
		return result;
	*keep_host = false;
	result = container_set_text(&job->row, CONTAINER_image_driver, "docker");
	if (result == 0)
		result = step_effect(manager, job, "create");
	return result < 0 ? result : step_patiently(manager, job, act_create);
}

/* False when the runtime may still have something of ours.  A container of that name which is not
 * ours
 * (-EEXIST) is none of our affair. */
static bool create_undo(struct manager *manager, struct manager_job *job)
{
	struct rpc_failure failure = {0};
	int result = manager->driver_ops->remove(manager->driver, &job->row, true, &failure);

	if (result == 0 || result == -EEXIST)
		return true;
	zlog_warning("container %s: %s", job->row.uuid, failure.message);
	return false;
}

/* Undoes, in reverse, what a failed create has made; then the row's definite state.  What cannot be
 * removed keeps the host, so that a later delete finds its way here. */
static int create_fail(struct manager *manager, struct manager_job *job, bool keep_host)
{
	struct zerr err = {0};
	int result = 0;

	zlog_warning("container %s: not created: %s", job->row.uuid, job->failure.message);
	if (job->task[0] && !keep_host)
		keep_host = !create_undo(manager, job);
	if (!keep_host && step_is_ours(manager, job)) {
		result = manager->store_ops->release(manager->store, manager->config->host,
						     job->row.uuid, &err);
		if (result < 0)
			zlog_error("container %s: release: %s", job->row.uuid, err.msg);
	}
	/* Of what the driver found out nothing holds any more. */
	job->row.changed = 0;
	if (result == 0)
		result = step_status(manager, job, "Error", job->failure.message);
	if (result == 0)
		result = step_event_finish(manager, job, job->method->event);
	return result < 0 ? result : step_action_finish(manager, job);
}

static int create_run(struct manager *manager, struct manager_job *job)
{
	bool run = false;
	struct zerr err = {0};
	int result = 0;

	if (json_get_bool(job->args, "run", &run, &err) == 0 && run)
		result = lifecycle_operate(manager, job, RPC_CONTAINER_START);
	return result < 0 ? result : step_action_finish(manager, job);
}

/* A row that is not Creating has had its create: the same message once more, or one that was cut
 * off between the steps.  Only the start may still be due. */
static int create_again(struct manager *manager, struct manager_job *job)
{
	const char *status = container_text(&job->row, CONTAINER_status);

	zlog_info("container %s: create: it is %s already", job->row.uuid, status);
	if (job->repeated && strcmp(status, "Created") == 0 && step_is_ours(manager, job))
		return create_run(manager, job);
	if (strcmp(status, "Error") == 0)
		rpc_fail(&job->failure, "ZunException", "%s",
			 container_text(&job->row, CONTAINER_status_reason));
	return step_action_finish(manager, job);
}

int manager_create(struct manager *manager, struct manager_job *job)
{
	bool keep_host = false;
	int result;

	if (strcmp(container_text(&job->row, CONTAINER_status), "Creating") != 0)
		return create_again(manager, job);
	if (CONTAINER_HAS(&job->row, host) && !step_is_ours(manager, job)) {
		rpc_fail(&job->failure, "Conflict", "The container is not on host %s",
			 manager->config->host);
		return step_refuse(manager, job);
	}
	result = create_check(manager, job);
	if (result == 0)
		result = create_container(manager, job, &keep_host);
	if (result < 0)
		return job->failure.class ? create_fail(manager, job, keep_host) : result;
	result = step_settle(manager, job);
	if (result == 0)
		result = step_event_finish(manager, job, job->method->event);
	return result < 0 ? result : create_run(manager, job);
}

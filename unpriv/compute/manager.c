/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a classified message to the flow it asks for.  Of the message only the
 * uuid, the pending changes and the plain arguments count: the row is the truth.
 * Runs in workers; no privilege.
 */
#include "unpriv/compute/manager.h"
#include "common/zlog.h"
#include "unpriv/base/json.h"
#include <errno.h>
#include <string.h>

typedef int handler(struct manager *manager, struct manager_job *job);

static handler *handler_of(enum rpc_method method)
{
	static handler *const handlers[RPC_METHOD_COUNT] = {
		[RPC_CONTAINER_CREATE] = manager_create,
		[RPC_CONTAINER_DELETE] = manager_delete,
		[RPC_CONTAINER_SHOW] = manager_show,
		[RPC_CONTAINER_START] = manager_lifecycle,
		[RPC_CONTAINER_STOP] = manager_lifecycle,
		[RPC_CONTAINER_REBOOT] = manager_lifecycle,
		[RPC_CONTAINER_PAUSE] = manager_lifecycle,
		[RPC_CONTAINER_UNPAUSE] = manager_lifecycle,
		[RPC_CONTAINER_KILL] = manager_lifecycle,
	};

	return handlers[method];
}

void manager_job_clear(struct manager_job *job)
{
	container_clear(&job->row);
	json_putp(&job->result);
}

static void prepare(struct manager *manager, struct manager_job *job)
{
	job->method = rpc_method_row(job->record->method);
	job->action.uuid = job->record->uuid;
	job->action.name = job->method ? job->method->action : NULL;
	if (job->record->request_id[0])
		job->action.request_id = job->record->request_id;
	job->timeout_s = -1;
	if (manager->driver)
		manager->driver_ops->actor(manager->driver, &job->actor);
}

/* A message that cannot be carried out: a create leaves Error, as nothing else will ever happen to
 * its row; any other action leaves the row as it is. */
static int refuse_message(struct manager *manager, struct manager_job *job)
{
	int result = job->record->uuid[0] ? step_load(manager, job) : -ENOENT;

	if (result == -ENOENT)
		return 0;
	if (result == 0 && job->record->method == RPC_CONTAINER_CREATE &&
	    strcmp(container_text(&job->row, CONTAINER_status), "Creating") == 0)
		result = step_status(manager, job, "Error", job->failure.message);
	return result < 0 ? result : step_refuse(manager, job);
}

static int act_remove_orphan(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->remove(manager->driver, &job->row, true, &job->failure);
}

/* The row is gone.  After a forced delete that had to leave the container behind, it is removed
 * now. */
static int without_row(struct manager *manager, struct manager_job *job)
{
	int result;

	zlog_info("container %s: %s: it has no row", job->record->uuid, job->method->name);
	if (job->record->call)
		rpc_fail(&job->failure, "ContainerNotFound", "Container %s could not be found.",
			 job->record->uuid);
	if (!step_effect_was(manager, job, "delete"))
		return 0;
	if (container_set_text(&job->row, CONTAINER_uuid, job->record->uuid) < 0)
		return -ENOMEM;
	result = step_patiently(manager, job, act_remove_orphan);
	if (result < 0 && !job->failure.class)
		return result;
	job->leftover = result == -EAGAIN || result == -EBUSY;
	if (result < 0)
		zlog_warning("container %s: %s", job->record->uuid, job->failure.message);
	job->failure = (struct rpc_failure){0};
	return 0;
}

/* Columns that the API has set and leaves to the agent's first UPDATE, from an allow-list
 * (rpc-methods.md §3.3); the status of a delete is manager_delete's. */
static int take_changes(struct manager_job *job)
{
	const char *policy = NULL;
	struct zerr err = {0};

	if (job->record->method != RPC_CONTAINER_CREATE || !job->argument.cpu_policy_changed)
		return 0;
	if (json_get_string(job->argument.data, "cpu_policy", &policy, &err) < 0)
		return 0; /* its type was checked with the object */
	return container_set_text(&job->row, CONTAINER_cpu_policy, policy);
}

static int read_argument(struct manager_job *job)
{
	struct json_object *container = NULL;
	int result;

	if (job->record->reason[0]) {
		rpc_fail(&job->failure, "Invalid", "%s", job->record->reason);
		return -EINVAL;
	}
	(void)json_object_object_get_ex(job->args, "container", &container);
	result = container_argument_read(container, &job->argument, &job->failure);
	if (result == 0 && strcmp(job->argument.uuid, job->record->uuid) != 0) {
		rpc_fail(&job->failure, "Invalid",
			 "The container's uuid is not that of the message");
		result = -EINVAL;
	}
	return result;
}

int manager_run(struct manager *manager, struct manager_job *job)
{
	int result;

	prepare(manager, job);
	if (!job->method)
		return 0;
	job->repeated = job->record->resumed || job->record->tries > 0;
	job->action.fallback = !job->actor.project_id;
	if (read_argument(job) < 0)
		return refuse_message(manager, job);
	result = step_load(manager, job);
	if (result == -ENOENT)
		return without_row(manager, job);
	if (result == 0)
		result = take_changes(job);
	if (result == 0)
		result = handler_of(job->record->method)(manager, job);
	/* The API, or a forced delete elsewhere, took the row away under us: nothing is left to
	 * store. */
	return result == -ENOENT && !job->failure.class ? 0 : result;
}

/* A create that made nothing of its container gives the claim back; else the host stays, so that a
 * later delete finds its way here. */
static int abandon_claim(struct manager *manager, struct manager_job *job)
{
	struct zerr err = {0};
	int result = 0;

	if (job->record->method == RPC_CONTAINER_CREATE && !step_effect_was(manager, job, "create"))
		result = manager->store_ops->release(manager->store, manager->config->host,
						     job->record->uuid, &err);
	if (result < 0)
		zlog_error("container %s: release: %s", job->record->uuid, err.msg);
	return result;
}

/* What is known of the row when the workers of its job died: the status as it was, but for a
 * create, which has no other chance, and for a delete or reboot, which must not look as if it went
 * on. */
static int abandon_row(struct manager *manager, struct manager_job *job)
{
	const char *status = NULL;
	int result = step_load(manager, job);

	if (result < 0)
		return result;
	/* What another message has done since is not undone. */
	if (job->record->method == RPC_CONTAINER_CREATE &&
	    strcmp(container_text(&job->row, CONTAINER_status), "Creating") == 0) {
		status = "Error";
		result = abandon_claim(manager, job);
	}
	if (job->record->method == RPC_CONTAINER_DELETE ||
	    (job->record->method == RPC_CONTAINER_REBOOT &&
	     strcmp(container_text(&job->row, CONTAINER_status), "Restarting") == 0))
		status = "Error";
	if (result == 0)
		result = step_status(manager, job, status, job->failure.message);
	if (result == 0)
		result = step_event_finish(manager, job, job->method->event);
	return result < 0 ? result : step_action_finish(manager, job);
}

int manager_abandon(struct manager *manager, struct manager_job *job)
{
	int result;

	prepare(manager, job);
	if (!job->method || !job->record->uuid[0])
		return 0;
	job->action.fallback = true;
	job->repeated = true;
	rpc_fail(&job->failure, "ZunException",
		 "The request ended the processes that worked on it");
	result = abandon_row(manager, job);
	return result == -ENOENT ? 0 : result;
}

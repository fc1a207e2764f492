/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery of one row after a start (timers-and-recovery.md §3): nobody works on
 * it any more and no intent speaks for it.  Runs in workers, on the container's
 * strand; no privilege.
 */
#include "common/zlog.h"
#include "unpriv/compute/manager.h"
#include <errno.h>
#include <string.h>

typedef int recovery(struct manager *manager, struct manager_job *job);

static bool status_is(const struct manager_job *job, const char *status)
{
	return strcmp(container_text(&job->row, CONTAINER_status), status) == 0;
}

/* The job goes on as if its message had come again; its action is the newest open one of that name
 * (K13). */
static void become(struct manager_job *job, enum rpc_method method)
{
	job->method = rpc_method_row(method);
	job->action.name = job->method->action;
	zlog_info("container %s: recovery: %s", job->record->uuid, job->method->name);
}

static int look(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->show(manager->driver, &job->row, true, &job->failure);
}

/* A create that got stuck: its rest is removed, the row says what happened.  The host stays. */
static int recover_create(struct manager *manager, struct manager_job *job)
{
	struct rpc_failure failure = {0};
	int result;

	become(job, RPC_CONTAINER_CREATE);
	if (!container_text(&job->row, CONTAINER_container_id)[0] &&
	    manager->driver_ops->remove(manager->driver, &job->row, true, &failure) < 0)
		zlog_warning("container %s: %s", job->record->uuid, failure.message);
	rpc_fail(&job->failure, "ZunException", "Container failed to create correctly");
	result = step_status(manager, job, "Error", job->failure.message);
	return result < 0 ? result : step_action_finish(manager, job);
}

/* Networks or security groups were being changed: the container itself is fine, unless the operator
 * wants zun-compute's judgement. */
static int recover_network(struct manager *manager, struct manager_job *job)
{
	static const struct {
		const char *task_state, *action;
	} actions[] = {{"network_attaching", "network_attach"},
		       {"network_detaching", "network_detach"},
		       {"sg_adding", "add_security_group"},
		       {"sg_removing", "remove_security_group"}};
	struct rpc_failure interrupted = {0};
	int result;

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(job->task, actions[i].task_state) == 0)
			job->action.name = actions[i].action;
	rpc_fail(&interrupted, "ZunException", "Container failed to create correctly");
	if (!manager->config->strict_recovery) {
		rpc_fail(&interrupted, "ZunException", "Interrupted by a restart of the agent");
		(void)look(manager, job); /* what cannot be seen stays as it is */
	}
	job->failure = interrupted;
	result = manager->config->strict_recovery
			 ? step_status(manager, job, "Error", job->failure.message)
			 : step_settle(manager, job);
	return result < 0 ? result : step_action_finish(manager, job);
}

static int recover_delete(struct manager *manager, struct manager_job *job)
{
	become(job, RPC_CONTAINER_DELETE);
	return manager_delete(manager, job); /* without arguments: forced */
}

/* K12: what Docker has is what there is. */
static int recover_rebuild(struct manager *manager, struct manager_job *job)
{
	int result = step_patiently(manager, job, look);

	job->action.name = "rebuild";
	zlog_info("container %s: recovery: rebuild", job->record->uuid);
	if (result == -EAGAIN)
		return result;
	if (result < 0 || !container_text(&job->row, CONTAINER_container_id)[0]) {
		rpc_fail(&job->failure, "ZunException", "Container failed to rebuild");
		result = step_status(manager, job, "Error", job->failure.message);
	} else {
		/* Made, but never started: the state of a rebuild that ended well. */
		result = step_status(manager, job, status_is(job, "Rebuilding") ? "Created" : NULL,
				     NULL);
	}
	return result < 0 ? result : step_action_finish(manager, job);
}

static int again(struct manager *manager, struct manager_job *job, enum rpc_method method)
{
	int result;

	become(job, method);
	job->timeout_s = manager->config->docker_default_timeout;
	result = lifecycle_operate(manager, job, method);
	return result < 0 ? result : step_action_finish(manager, job);
}

static int recover_reboot(struct manager *manager, struct manager_job *job)
{
	return again(manager, job, RPC_CONTAINER_REBOOT);
}

static int recover_stop(struct manager *manager, struct manager_job *job)
{
	return again(manager, job, RPC_CONTAINER_STOP);
}

static int recover_start(struct manager *manager, struct manager_job *job)
{
	return again(manager, job, RPC_CONTAINER_START);
}

static int recover_pause(struct manager *manager, struct manager_job *job)
{
	return again(manager, job, RPC_CONTAINER_PAUSE);
}

static int recover_unpause(struct manager *manager, struct manager_job *job)
{
	return again(manager, job, RPC_CONTAINER_UNPAUSE);
}

static int recover_kill(struct manager *manager, struct manager_job *job)
{
	return again(manager, job, RPC_CONTAINER_KILL); /* which signal it was nobody knows (K11) */
}

static recovery *recovery_of(const struct manager_job *job)
{
	static const struct {
		const char *task_state;
		recovery *run;
	} table[] = {
		{"container_creating", recover_create}, {"image_pulling", recover_create},
		{"network_attaching", recover_network}, {"network_detaching", recover_network},
		{"sg_adding", recover_network},		{"sg_removing", recover_network},
		{"container_deleting", recover_delete}, {"container_rebooting", recover_reboot},
		{"container_stopping", recover_stop},	{"container_starting", recover_start},
		{"container_pausing", recover_pause},	{"container_unpausing", recover_unpause},
		{"container_killing", recover_kill},	{"container_rebuilding", recover_rebuild}};

	if (status_is(job, "Creating"))
		return recover_create;
	if (status_is(job, "Deleting"))
		return recover_delete;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(job->task, table[i].task_state) == 0)
			return table[i].run;
	return NULL;
}

/* A task_state that this release does not know is nobody's. */
static int recover_unknown(struct manager *manager, struct manager_job *job)
{
	zlog_warning("container %s: task_state %s is unknown and cleared", job->record->uuid,
		     job->task);
	return step_settle(manager, job);
}

/* Running by the row, stopped by the runtime: started again if the operator wants that. */
static int resume_state(struct manager *manager, struct manager_job *job)
{
	int result;

	if (!manager->config->resume_container_state || !status_is(job, "Running"))
		return 0;
	result = look(manager, job);
	if (result < 0 || !status_is(job, "Stopped"))
		return 0; /* the state is the sync's affair */
	zlog_info("container %s: recovery: started again", job->record->uuid);
	job->row.changed = 0;
	job->action.name = NULL; /* nobody asked */
	return lifecycle_operate(manager, job, RPC_CONTAINER_START);
}

/* Actions that nobody finishes any more (K7), and the state they left. */
static int expire(struct manager *manager, struct manager_job *job)
{
	struct zerr err = {0};
	int expired = manager->store_ops->actions_expire(manager->store, job->record->uuid,
							 manager->config->action_timeout, &err);
	int result;

	if (expired <= 0) {
		if (expired < 0)
			zlog_error("container %s: %s", job->record->uuid, err.msg);
		return expired;
	}
	zlog_warning("container %s: %d actions were open and are ended", job->record->uuid,
		     expired);
	result = step_load(manager, job);
	if (result == 0 &&
	    manager->driver_ops->show(manager->driver, &job->row, true, &job->failure) == 0)
		result = step_settle(manager, job);
	return result;
}

int manager_recover(struct manager *manager, struct manager_job *job)
{
	recovery *run;
	int result = step_load(manager, job);

	job->action = (struct store_action){.uuid = job->record->uuid, .fallback = true};
	job->repeated = true;
	manager->driver_ops->actor(manager->driver, &job->actor);
	if (result == 0 && !step_is_ours(manager, job))
		return 0; /* it has moved since the scan */
	if (result == 0) {
		run = recovery_of(job);
		if (run)
			result = run(manager, job);
		else if (job->task[0])
			result = recover_unknown(manager, job);
		else
			result = resume_state(manager, job);
	}
	if (result == 0)
		result = expire(manager, job);
	return result == -ENOENT ? 0 : result;
}

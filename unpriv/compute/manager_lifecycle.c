/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start, stop, reboot, pause, unpause, kill (rpc-methods.md §4.4).
 * Runs in workers; no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/base/json.h"
#include "unpriv/compute/manager.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

struct operation {
	step_act *act;
	const char *effect; /* as recorded in the intent */
	const char *status; /* of the row when it is done; NULL: what the runtime says */
};

static int act_start(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->start(manager->driver, &job->row, &job->failure);
}

static int act_stop(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->stop(manager->driver, &job->row, job->timeout_s, &job->failure);
}

static int act_reboot(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->reboot(manager->driver, &job->row, job->timeout_s,
					   &job->failure);
}

/* What the runtime says now.  The row's task_state is ours. */
static int look(struct manager *manager, struct manager_job *job)
{
	return manager->driver_ops->show(manager->driver, &job->row, true, &job->failure);
}

/* "Already so" is success where an earlier try may have done it (known-faults R5). */
static int unless_so(struct manager *manager, struct manager_job *job, int result,
		     const char *status)
{
	struct rpc_failure conflict = job->failure;

	if (result != -EBUSY || !job->repeated)
		return result;
	job->failure = (struct rpc_failure){0};
	if (look(manager, job) == 0 &&
	    strcmp(container_text(&job->row, CONTAINER_status), status) == 0)
		return 0;
	job->failure = conflict;
	return result;
}

static int act_pause(struct manager *manager, struct manager_job *job)
{
	int result = manager->driver_ops->pause(manager->driver, &job->row, &job->failure);

	return unless_so(manager, job, result, "Paused");
}

static int act_unpause(struct manager *manager, struct manager_job *job)
{
	int result = manager->driver_ops->unpause(manager->driver, &job->row, &job->failure);

	return unless_so(manager, job, result, "Running");
}

/* A signal that ends what it reaches may be sent to what still runs; another one was perhaps heard
 * already and is not sent twice. */
static bool signal_repeatable(unsigned number)
{
	return number == 0 || number == SIGKILL || number == SIGTERM || number == SIGINT ||
	       number == SIGQUIT;
}

/* Then what the runtime says (K37): a signal need not end anything. */
static int act_kill(struct manager *manager, struct manager_job *job)
{
	bool sent = step_effect_was(manager, job, "kill_sent");
	int result = 0;

	if (!sent || signal_repeatable(job->signal)) {
		result = step_effect(manager, job, "kill_sent");
		if (result == 0)
			result = manager->driver_ops->kill(manager->driver, &job->row, job->signal,
							   &job->failure);
		result = unless_so(manager, job, result, "Stopped");
	}
	return result < 0 ? result : look(manager, job);
}

static const struct operation *operation_of(enum rpc_method method)
{
	static const struct operation operations[RPC_METHOD_COUNT] = {
		[RPC_CONTAINER_START] = {act_start, "start", "Running"},
		[RPC_CONTAINER_STOP] = {act_stop, "stop", "Stopped"},
		[RPC_CONTAINER_REBOOT] = {act_reboot, "reboot", "Running"},
		[RPC_CONTAINER_PAUSE] = {act_pause, "pause", "Paused"},
		[RPC_CONTAINER_UNPAUSE] = {act_unpause, "unpause", "Running"},
		[RPC_CONTAINER_KILL] = {act_kill, "kill", NULL},
	};

	return &operations[method];
}

static int settle_success(struct manager *manager, struct manager_job *job, enum rpc_method method)
{
	const char *status = operation_of(method)->status;
	const char *reason = NULL;
	char now[STORE_TIME_SIZE];

	if (method == RPC_CONTAINER_START) {
		store_now(now);
		if (container_set_text(&job->row, CONTAINER_started_at, now) < 0)
			return -ENOMEM;
	}
	/* What made it Unknown stands in the reason. */
	if (!status && strcmp(container_text(&job->row, CONTAINER_status), "Unknown") == 0)
		reason = job->row.status_reason;
	return step_status(manager, job, status, reason);
}

/* The status that a failed action leaves, NULL for the one that it found.  An engine that does not
 * answer changes nothing in what we believe of its containers (known-faults R9); Restarting is no
 * belief, but what the API wrote before it cast. */
static const char *failure_status(struct manager *manager, struct manager_job *job,
				  enum rpc_method method, int result)
{
	if (method == RPC_CONTAINER_REBOOT)
		return step_not_rebooted(manager, job);
	return method == RPC_CONTAINER_START && result != -EAGAIN ? "Error" : NULL;
}

static int settle_failure(struct manager *manager, struct manager_job *job, enum rpc_method method,
			  int result)
{
	if (result == -ENOENT)
		return step_gone(manager, job);
	return step_status(manager, job, failure_status(manager, job, method, result),
			   job->failure.message);
}

int lifecycle_operate(struct manager *manager, struct manager_job *job, enum rpc_method method)
{
	const struct rpc_method_row *row = rpc_method_row(method);
	const struct operation *operation = operation_of(method);
	int outcome, result = step_task(manager, job, row->task_state);

	if (result == 0)
		result = step_event_start(manager, job, row->event);
	if (result == 0)
		result = step_effect(manager, job, operation->effect);
	if (result < 0)
		return result;
	outcome = step_patiently(manager, job, operation->act);
	if (outcome < 0 && !job->failure.class)
		return outcome;
	result = outcome == 0 ? settle_success(manager, job, method)
			      : settle_failure(manager, job, method, outcome);
	if (result == 0)
		result = step_event_finish(manager, job, row->event);
	return result;
}

static int read_timeout(struct manager_job *job)
{
	struct json_object *value = NULL;
	uint64_t seconds = 0;

	job->timeout_s = -1;
	if (!json_object_object_get_ex(job->args, "timeout", &value) || !value)
		return 0;
	/* 0 and "" mean the engine's default, as for zun-compute. */
	if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0)
		seconds = (uint64_t)json_object_get_int64(value);
	else if (!json_object_is_type(value, json_type_string) ||
		 (json_object_get_string_len(value) > 0 &&
		  zfd_parse_u64(json_object_get_string(value), INT32_MAX, &seconds) < 0)) {
		rpc_fail(&job->failure, "Invalid", "Invalid timeout: seconds expected");
		return -EINVAL;
	}
	if (seconds > 0)
		job->timeout_s = seconds > INT32_MAX ? INT32_MAX : (int64_t)seconds;
	return 0;
}

/* "RTMIN", "RTMIN+3", "RTMAX-2": Linux' numbers as the engine counts them. */
static unsigned realtime_signal(const char *name)
{
	unsigned base = strncasecmp(name, "RTMIN", 5) == 0 ? 34U : 64U;
	uint64_t distance = 0;

	if (strncasecmp(name, "RTMIN", 5) != 0 && strncasecmp(name, "RTMAX", 5) != 0)
		return 0;
	if (!name[5])
		return base;
	if (name[5] != (base == 34U ? '+' : '-') || zfd_parse_u64(name + 6, 15, &distance) < 0)
		return 0;
	return base == 34U ? base + (unsigned)distance : base - (unsigned)distance;
}

/* 0 when there is no such signal. */
static unsigned signal_number(const char *name)
{
	uint64_t number = 0;

	if (zfd_parse_u64(name, 64, &number) == 0)
		return (unsigned)number;
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i < 32; i++)
		if (sigabbrev_np(i) && strcasecmp(sigabbrev_np(i), name) == 0)
			return (unsigned)i;
	return realtime_signal(name);
}

static int read_signal(struct manager_job *job)
{
	struct json_object *value = NULL;
	const char *text;

	job->signal = 0;
	if (!json_object_object_get_ex(job->args, "signal", &value) || !value)
		return 0;
	if (!json_object_is_type(value, json_type_string) &&
	    !json_object_is_type(value, json_type_int)) {
		rpc_fail(&job->failure, "Invalid", "Invalid signal: name or number expected");
		return -EINVAL;
	}
	text = json_object_get_string(value);
	if (!text[0] || strcmp(text, "None") == 0)
		return 0;
	job->signal = signal_number(text);
	if (job->signal > 0)
		return 0;
	rpc_fail(&job->failure, "Invalid", "Invalid signal: %.32s", text);
	return -EINVAL;
}

int lifecycle_arguments(struct manager_job *job)
{
	int result = 0;

	job->timeout_s = -1;
	if (job->method->method == RPC_CONTAINER_STOP ||
	    job->method->method == RPC_CONTAINER_REBOOT)
		result = read_timeout(job);
	if (result == 0 && job->method->method == RPC_CONTAINER_KILL)
		result = read_signal(job);
	return result;
}

/* Which rows an action may be tried on at all; their status is the API's business. */
static int lifecycle_check(struct manager *manager, struct manager_job *job)
{
	if (job->row.container_type != 0) {
		rpc_fail(&job->failure, "OperationNotSupported", "Capsules are not supported");
		return -ENOTSUP;
	}
	if (!container_text(&job->row, CONTAINER_container_id)[0]) {
		rpc_fail(&job->failure, "Invalid", "Cannot operate an uncreated container.");
		return -EINVAL;
	}
	if (!step_is_ours(manager, job)) {
		rpc_fail(&job->failure, "Conflict", "The container is not on host %s",
			 manager->config->host);
		return -EREMOTE; /* K50 */
	}
	return 0;
}

int manager_lifecycle(struct manager *manager, struct manager_job *job)
{
	int result = lifecycle_check(manager, job);

	if (result == 0)
		result = lifecycle_arguments(job);
	if (result < 0)
		return step_refuse(manager, job);
	result = lifecycle_operate(manager, job, job->method->method);
	return result < 0 ? result : step_action_finish(manager, job);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager: what a container_… message means, written down as rpc-methods.md
 * §4 has it.  Straight-line code in a worker; store and driver are seams.
 *
 * Every function that returns int follows one rule: 0, or a negative errno.
 * With job->failure.class set, it is the operation that failed, and what the row
 * and the caller get is in job->failure; without it, the store (or the intent
 * log) could not be reached and the job's outcome is not stored.
 */
#pragma once
#include "unpriv/base/intent.h"
#include "unpriv/base/job.h"
#include "unpriv/compute/object.h"
#include "unpriv/driver/driver.h"
#include "unpriv/rpc/envelope.h"
#include "unpriv/rpc/method.h"
#include "unpriv/store/store.h"

struct manager {
	const struct config *config;
	const struct store_ops *store_ops;
	struct store *store;
	const struct driver_ops *driver_ops;
	struct driver *driver; /* NULL until the worker opened it */
	struct intent_log *intents;
	uint64_t engine_patience_ms; /* how long a cast waits for an engine that does not answer */
	bool quota_known, quota_supported; /* does the engine limit a container's disk? */
};

#define MANAGER_ENGINE_PATIENCE_MS 300000 /* known-faults F27 */

struct manager_job {
	const struct rpc_method_row *method;
	const struct job_record *record;
	struct json_object *args; /* borrowed; NULL for a job that no message asked for */
	struct container_argument argument;
	struct store_actor actor;   /* for audit records */
	struct store_action action; /* the row to finish */
	bool repeated;		    /* an earlier process may have done some of it */
	int64_t timeout_s;	    /* stop, reboot; < 0: the engine's default */
	unsigned signal;	    /* kill; 0: the engine's default */
	/* filled on the way */
	struct container row;
	char task[24]; /* the task_state that is ours to clear, "" = none */
	bool leftover; /* something of it is still to be removed: keep the intent */
	struct rpc_failure failure;
	struct json_object *result; /* of a call; owned */
};

/* Runs the message of job->record, job->args. */
int manager_run(struct manager *manager, struct manager_job *job);
/* Gives the row and the action of a job whose workers died a definite end. */
int manager_abandon(struct manager *manager, struct manager_job *job);
/* Recovers the container job->record->uuid after a start (timers-and-recovery.md §3). */
int manager_recover(struct manager *manager, struct manager_job *job);
void manager_job_clear(struct manager_job *job);

/* ---- private to unpriv/compute/manager*.c, recover_row.c ---- */

int manager_create(struct manager *manager, struct manager_job *job);
int manager_delete(struct manager *manager, struct manager_job *job);
int manager_show(struct manager *manager, struct manager_job *job);
int manager_lifecycle(struct manager *manager, struct manager_job *job);

/* Why this release cannot create the container: -ENOTSUP or -EINVAL with job->failure, or 0. */
int create_check(struct manager *manager, struct manager_job *job);
int create_limits(struct manager_job *job, struct claim_limits *limits);
/* What it asks of the disk against what the engine can limit; may set the row's disk. */
int create_disk(struct manager *manager, struct manager_job *job);

/* One of start, stop, reboot, pause, unpause, kill on the row at hand: task_state, event, the
 * runtime's part, row, event.  The action is the caller's. */
int lifecycle_operate(struct manager *manager, struct manager_job *job, enum rpc_method method);
/* The arguments timeout and signal into job. */
int lifecycle_arguments(struct manager_job *job);

/* manager_step.c: the pieces that the flows are made of */
/* Reads the row: 0, -ENOENT, or another negative errno; notes its task_state as ours to clear. */
int step_load(struct manager *manager, struct manager_job *job);
/* Writes task_state and whatever else changed. */
int step_task(struct manager *manager, struct manager_job *job, const char *task_state);
/* Writes what changed, with task_state cleared in the same UPDATE if it is still ours (F13). */
int step_settle(struct manager *manager, struct manager_job *job);
/* As step_settle, with status and reason (NULL = SQL NULL); status NULL = unchanged. */
int step_status(struct manager *manager, struct manager_job *job, const char *status,
		const char *reason);
int step_event_start(struct manager *manager, struct manager_job *job, const char *event);
/* The event, with job->failure as its error. */
int step_event_finish(struct manager *manager, struct manager_job *job, const char *event);
/* The action, failed when job->failure is set. */
int step_action_finish(struct manager *manager, struct manager_job *job);
/* The status for a container that was to be rebooted and was not: NULL when the runtime has told
 * it, else "Error".  The API has set Restarting before it cast. */
const char *step_not_rebooted(struct manager *manager, struct manager_job *job);
/* The action fails, the row stays as it is, but for the Restarting of a reboot. */
int step_refuse(struct manager *manager, struct manager_job *job);
/* Records that an effect is about to be made; nothing for a job without an intent. */
int step_effect(struct manager *manager, struct manager_job *job, const char *effect);
/* Did an earlier process record it? */
bool step_effect_was(struct manager *manager, const struct manager_job *job, const char *effect);
/* Is the row's host this node? */
bool step_is_ours(const struct manager *manager, const struct manager_job *job);
/* The runtime knows the container no more: Deleted if it was to be removed by itself, else Error.
 */
int step_gone(struct manager *manager, struct manager_job *job);

typedef int step_act(struct manager *manager, struct manager_job *job);
/* Repeats act while the engine does not answer, for casts and up to engine_patience_ms; sets
 * job->repeated before a repetition. */
int step_patiently(struct manager *manager, struct manager_job *job, step_act *act);

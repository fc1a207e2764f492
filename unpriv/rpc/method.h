/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods that the agent serves: the allow-list (contract rpc-methods.md §2).
 * One row each: name, call or cast, whether it runs under the container's
 * strand, the names of action, event and task_state.
 */
#pragma once
#include <stdbool.h>

enum rpc_method {
	RPC_NONE,
	RPC_CONTAINER_CREATE,
	RPC_CONTAINER_DELETE,
	RPC_CONTAINER_SHOW,
	RPC_CONTAINER_START,
	RPC_CONTAINER_STOP,
	RPC_CONTAINER_REBOOT,
	RPC_CONTAINER_PAUSE,
	RPC_CONTAINER_UNPAUSE,
	RPC_CONTAINER_KILL,
	RPC_METHOD_COUNT
};

struct rpc_method_row {
	enum rpc_method method;
	const char *name;
	bool call; /* usually; a cast of it is served too, and answered by nobody */
	bool locked;
	const char *action;	/* container_actions row finished, or NULL */
	const char *event;	/* container_actions_events row, or NULL */
	const char *task_state; /* or NULL */
	/* The names of the arguments it takes, NULL-terminated; the first `required` must be there.
	 */
	const char *const *arguments;
	unsigned required;
};

/* NULL for a name that is not served. */
const struct rpc_method_row *rpc_method_find(const char *name);
/* NULL for RPC_NONE and what is no method. */
const struct rpc_method_row *rpc_method_row(enum rpc_method method);

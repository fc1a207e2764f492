/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of served methods.  Only what stands here can be called: upstream
 * would run every public method of its manager for anybody on the bus
 * (oslo-messaging-wire.md §5).  Data only; no privilege.
 */
#include "unpriv/rpc/method.h"
#include <stddef.h>
#include <string.h>

static const char *const container_only[] = {"container", NULL};
static const char *const container_force[] = {"container", "force", NULL};
static const char *const container_timeout[] = {"container", "timeout", NULL};
static const char *const container_signal[] = {"container", "signal", NULL};
static const char *const create_arguments[] = {
	"limits", "requested_networks", "requested_volumes", "container", "run", "pci_requests",
	NULL};

/* In the order of enum rpc_method. */
static const struct rpc_method_row rows[RPC_METHOD_COUNT] = {
	[RPC_CONTAINER_CREATE] = {.method = RPC_CONTAINER_CREATE,
				  .name = "container_create",
				  .locked = true,
				  .action = "create",
				  .event = "compute__do_container_create",
				  .task_state = "container_creating",
				  .arguments = create_arguments,
				  .required = 5},
	/* Upstream leaves the action of a delete open; K27: a failure finishes it.  After a success
	 * it went with the row. */
	[RPC_CONTAINER_DELETE] = {.method = RPC_CONTAINER_DELETE,
				  .name = "container_delete",
				  .locked = true,
				  .action = "delete",
				  .task_state = "container_deleting",
				  .arguments = container_force,
				  .required = 1},
	[RPC_CONTAINER_SHOW] = {.method = RPC_CONTAINER_SHOW,
				.name = "container_show",
				.call = true,
				.arguments = container_only,
				.required = 1},
	[RPC_CONTAINER_START] = {.method = RPC_CONTAINER_START,
				 .name = "container_start",
				 .locked = true,
				 .action = "start",
				 .event = "compute__do_container_start",
				 .task_state = "container_starting",
				 .arguments = container_only,
				 .required = 1},
	[RPC_CONTAINER_STOP] = {.method = RPC_CONTAINER_STOP,
				.name = "container_stop",
				.locked = true,
				.action = "stop",
				.event = "compute__do_container_stop",
				.task_state = "container_stopping",
				.arguments = container_timeout,
				.required = 2},
	[RPC_CONTAINER_REBOOT] = {.method = RPC_CONTAINER_REBOOT,
				  .name = "container_reboot",
				  .locked = true,
				  .action = "reboot",
				  .event = "compute__do_container_reboot",
				  .task_state = "container_rebooting",
				  .arguments = container_timeout,
				  .required = 2},
	[RPC_CONTAINER_PAUSE] = {.method = RPC_CONTAINER_PAUSE,
				 .name = "container_pause",
				 .locked = true,
				 .action = "pause",
				 .event = "compute__do_container_pause",
				 .task_state = "container_pausing",
				 .arguments = container_only,
				 .required = 1},
	[RPC_CONTAINER_UNPAUSE] = {.method = RPC_CONTAINER_UNPAUSE,
				   .name = "container_unpause",
				   .locked = true,
				   .action = "unpause",
				   .event = "compute__do_container_unpause",
				   .task_state = "container_unpausing",
				   .arguments = container_only,
				   .required = 1},
	[RPC_CONTAINER_KILL] = {.method = RPC_CONTAINER_KILL,
				.name = "container_kill",
				.locked = true,
				.action = "kill",
				.event = "compute__do_container_kill",
				.task_state = "container_killing",
				.arguments = container_signal,
				.required = 2},
};

const struct rpc_method_row *rpc_method_find(const char *name)
{
	for (unsigned i = RPC_NONE + 1; i < RPC_METHOD_COUNT; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct rpc_method_row *rpc_method_row(enum rpc_method method)
{
	return method > RPC_NONE && method < RPC_METHOD_COUNT ? &rows[method] : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver seam: what the manager asks of a container runtime.  Results:
 * 0, or a negative errno with *failure saying what the caller gets
 * (rpc-methods.md §6, docker-driver.md §4):
 *   -ENOENT   the runtime has no such container or image
 *   -EAGAIN   the runtime does not answer: nothing is known (R9)
 *   -EEXIST, -EBUSY  conflict;  -EACCES refused by the site policy;  others
 */
#pragma once
#include "unpriv/rpc/envelope.h"
#include "unpriv/store/container.h"
#include "unpriv/store/store.h"
#include <stdbool.h>

struct driver;

struct driver_ops {
	int (*open)(const struct config *config, int helper_channel, struct driver **driver,
		    struct zerr *err);
	void (*close)(struct driver *driver);
	/* False once the channel to the helper is gone: every operation fails with -EAGAIN from
	 * then on, and the worker ends so that another takes its place. */
	bool (*usable)(const struct driver *driver);
	/* Who is asking, for the audit records of what follows. Borrowed until the next call. */
	void (*actor)(struct driver *driver, const struct store_actor *actor);

	/* Presence and pull by the row's image and image_pull_policy (NULL = always). */
	int (*image_ready)(struct driver *driver, struct container *row,
			   struct rpc_failure *failure);
	/* Makes the container or adopts what an interrupted create left (F19); sets container_id,
	 * command, entrypoint, status, status_detail, ports, hostname, runtime in row. */
	int (*create)(struct driver *driver, struct container *row, struct rpc_failure *failure);
	/* Reads the runtime's state into row (docker-driver.md §3).  force: also while task_state
	 * is set. */
	int (*show)(struct driver *driver, struct container *row, bool force,
		    struct rpc_failure *failure);
	int (*start)(struct driver *driver, struct container *row, struct rpc_failure *failure);
	int (*stop)(struct driver *driver, struct container *row,
		    int64_t timeout_s /* < 0: default */, struct rpc_failure *failure);
	int (*reboot)(struct driver *driver, struct container *row, int64_t timeout_s,
		      struct rpc_failure *failure);
	int (*pause)(struct driver *driver, struct container *row, struct rpc_failure *failure);
	int (*unpause)(struct driver *driver, struct container *row, struct rpc_failure *failure);
	int (*kill)(struct driver *driver, struct container *row, unsigned signal /* 0: default */,
		    struct rpc_failure *failure);
	/* Gone when it returns 0: "already gone" is success, "in progress" is waited for (F20). */
	int (*remove)(struct driver *driver, struct container *row, bool force,
		      struct rpc_failure *failure);
	/* Resources of the node into *node (labels, runtimes, numa_topology owned). */
	int (*inventory)(struct driver *driver, struct compute_node *node, struct zerr *err);
};

extern const struct driver_ops driver_docker;

/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of driver_docker that have a file of their own. */
#pragma once
#include "unpriv/driver/docker_call.h"
#include "unpriv/driver/docker_inspect.h"

int docker_image_ready(struct driver *driver, struct container *row, struct rpc_failure *failure);
/* Replaces an empty command or entrypoint of row by the image's.  0 or a negative errno. */
int docker_image_defaults(struct driver *driver, const char *reference, struct container *row,
			  struct rpc_failure *failure);
int docker_create_container(struct driver *driver, struct container *row,
			    struct rpc_failure *failure);
int docker_remove_container(struct driver *driver, struct container *row, bool force,
			    struct rpc_failure *failure);
int docker_inventory(struct driver *driver, struct compute_node *node, struct zerr *err);

/* uuid of row in binary; -EINVAL with *failure. */
int docker_row_uuid(const struct container *row, uint8_t uuid[UUID_SIZE],
		    struct rpc_failure *failure);
/* What the engine says of the row's container.  0 with *container owned; -ENOENT when there is
 * none. */
int docker_look(struct driver *driver, const struct container *row,
		struct docker_container *container, struct rpc_failure *failure);
/* Fills row from container; the state too when task_state allows it or force is set. */
int docker_fill_row(const struct docker_container *container, bool force, struct container *row,
		    struct rpc_failure *failure);

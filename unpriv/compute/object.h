/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versioned objects on the wire (contract rpc-methods.md §3): checks of a
 * Container argument, and the reply made from it.
 */
#pragma once
#include "common/text.h"
#include "common/zerr.h"
#include "unpriv/rpc/envelope.h"
#include <json-c/json.h>

struct container_argument {
	struct json_object *object; /* borrows: the primitive as received */
	struct json_object *data;   /* its zun_object.data */
	char uuid[UUID_TEXT_SIZE];
	bool capsule;               /* Capsule: container_type 1; else 0 */
	bool status_changed;        /* zun_object.changes has "status" */
	bool cpu_policy_changed;
};

/* Checks name, namespace, version (same major as ours) and the type of every known field that is set;
 * unknown fields are ignored.  On failure *failure has the class the contract names for that case and
 * -EINVAL is returned. */
int container_argument_read(struct json_object *value, struct container_argument *argument,
			    struct rpc_failure *failure);

struct container; /* unpriv/store/container.h */

/* The reply object: every field of the request kept, those of the row that the agent may change set from it.
 * Owned. */
struct json_object *container_reply(const struct container_argument *argument, const struct container *row);

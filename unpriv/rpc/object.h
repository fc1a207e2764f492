/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versioned objects on the wire (contract rpc-methods.md §3): the checks of a
 * Container argument.  The reply that is made from it is in unpriv/compute/object.h.
 */
#pragma once
#include "common/text.h"
#include "unpriv/rpc/envelope.h"
#include <json-c/json.h>
#include <stdbool.h>

struct container_argument {
	struct json_object *object; /* borrows: the primitive as received */
	struct json_object *data;   /* its zun_object.data */
	char uuid[UUID_TEXT_SIZE];
	bool capsule;	     /* Capsule: container_type 1; else 0 */
	bool status_changed; /* zun_object.changes has "status" */
	bool cpu_policy_changed;
};

/* Checks name, namespace, version (same major as ours) and the type of every known field that is
 * set; unknown fields are ignored.  On failure *failure has the class the contract names for that
 * case and -EINVAL is returned; then *argument holds what could be read: uuid, if nothing else (""
 * when not). */
int container_argument_read(struct json_object *value, struct container_argument *argument,
			    struct rpc_failure *failure);

/* Whether zun's readers know the value: another one would be a ValueError there, so it must not be
 * sent. */
bool container_status_known(const char *status);
bool container_task_state_known(const char *task_state);

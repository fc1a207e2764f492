/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reply made from a Container argument (contract rpc-methods.md §3.1, §4.6).
 * The checks of the argument itself, which classification needs too, are in
 * unpriv/rpc/object.h.
 */
#pragma once
#include "unpriv/rpc/object.h"
#include <json-c/json.h>

struct container; /* unpriv/store/container.h */

/* The reply object: every field of the request kept, those of the row that the agent may change set
 * from it; no "changes".  A value that zun's readers would stumble over is never sent: an unknown
 * status becomes Unknown, an unknown task_state null, a broken column leaves the request's value.
 * Owned; NULL only for lack of memory. */
struct json_object *container_reply(const struct container_argument *argument,
				    const struct container *row);

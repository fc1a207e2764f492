/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's state, as the row has it (docker-driver.md §3). */
#pragma once
#include "unpriv/driver/docker_inspect.h"
#include "unpriv/store/container.h"
#include <time.h>

/* Sets status, status_detail and status_reason of row.  0 or -ENOMEM. */
int docker_state_to_row(const struct docker_state *state, time_t now, struct container *row);
/* Sets hostname (only when the row has none), ports and runtime.  0 or -ENOMEM. */
int docker_config_to_row(const struct docker_container *container, struct container *row);
/* Was the container never started? */
bool docker_never_started(const struct docker_state *state);

/* Sets a JSON column to text unless it already holds an equal value.  0 or -ENOMEM. */
int docker_set_json(struct container *row, enum container_column column, const char *text);
/* Do two JSON texts hold the same array of strings?  NULL, "" and [] are equal. */
bool docker_same_strings(const char *a, const char *b);

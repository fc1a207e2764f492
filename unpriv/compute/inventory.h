/* SPDX-License-Identifier: Apache-2.0 */
/* The node's row (timers-and-recovery.md §5.1, §5.3). */
#pragma once
#include "unpriv/compute/manager.h"

/* Resources from the driver into the store, which recounts the usage and writes only what changed.
 * 0 or a negative errno, logged. */
int inventory_update(struct manager *manager);

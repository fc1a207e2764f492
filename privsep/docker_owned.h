/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which containers are known to be ours: a table of uuids in pages that every
 * server of the docker domain shares.  It may forget at any time: what is not in
 * it is asked of the engine again.
 */
#pragma once
#include "common/text.h"
#include <stdatomic.h>
#include <stdbool.h>

#define OWNED_SLOTS 4096U

struct docker_owned_slot {
	uint8_t used;
	uint8_t uuid[UUID_SIZE];
};

struct docker_owned {
	atomic_flag busy;
	struct docker_owned_slot slots[OWNED_SLOTS];
};

enum owned_step {
	OWNED_CHECK, /* is it there? */
	OWNED_ADD,   /* remember it; another one may be forgotten for it */
	OWNED_DROP   /* forget it */
};

/* Takes one step for uuid.  True when uuid was in the table before. */
bool docker_owned(struct docker_owned *owned, enum owned_step step, const uint8_t uuid[UUID_SIZE]);

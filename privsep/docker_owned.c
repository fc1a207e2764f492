/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared table of containers that are ours.  Runs in every server of the
 * docker domain.
 *
 * The lock is tried for a bounded time: a server that was killed while it held it
 * must not stop the others.  Who does not get it knows nothing, and neither does
 * anybody after it: then each request asks the engine.
 */
#include "privsep/docker_owned.h"
#include <string.h>

/* A holder needs some tens of instructions; the rest is for one that is not running now. */
#define LOCK_TRIES 200000

bool docker_owned(struct docker_owned *owned, enum owned_step step, const uint8_t uuid[UUID_SIZE])
{
	struct docker_owned_slot wanted = {.used = 1};
	unsigned hash = 0;
	unsigned tries = 0;
	bool found;

	/* The caller may choose uuids that share a slot: that costs it questions, nothing else. */
	for (size_t i = 0; i < UUID_SIZE; i++)
		hash = hash * 31 + uuid[i];
	memcpy(wanted.uuid, uuid, UUID_SIZE);
	while (atomic_flag_test_and_set_explicit(&owned->busy, memory_order_acquire)) {
		if (++tries == LOCK_TRIES)
			return false;
	}
	struct docker_owned_slot *slot = &owned->slots[hash % OWNED_SLOTS];

	found = memcmp(slot, &wanted, sizeof(wanted)) == 0;
	if (step == OWNED_ADD)
		*slot = wanted;
	else if (step == OWNED_DROP && found)
		slot->used = 0;
	atomic_flag_clear_explicit(&owned->busy, memory_order_release);
	return found;
}

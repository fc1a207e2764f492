/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strands: jobs for one container run one at a time and in the order in which
 * they were put there; strands of different containers know nothing of each
 * other (known-faults F59).  Runs in the dispatcher; no system calls.
 */
#pragma once
#include "common/text.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

/* Part of whatever stands on a strand. */
struct strand_node {
	TAILQ_ENTRY(strand_node) entry;
	struct strand *strand; /* NULL: on none */
};

struct strands;

/* Owned; NULL for lack of memory. */
struct strands *strands_new(void);
void strands_free(struct strands *strands);
/* Puts node at the end of the strand of uuid.  1: it is the first and may run, 0: it waits, or
 * -ENOMEM. */
int strands_push(struct strands *strands, const char *uuid, struct strand_node *node);
/* node, the first of its strand, is done.  Returns the next one, which may run now, or NULL. */
struct strand_node *strands_pop(struct strands *strands, struct strand_node *node);
bool strands_has(const struct strands *strands, const char *uuid);
/* Nodes on all strands. */
size_t strands_count(const struct strands *strands);

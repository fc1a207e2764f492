/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real docker helpers as victims: a process inside the domain's own sandbox forks
 * one for each case, and tells how it ended.  A system call that is not on the
 * domain's list is a death by SIGSYS, which no case expects.
 */
#pragma once
#include "privsep/helper.h"
#include <sys/types.h>

struct victims {
	char folder[64];
	int directory;
	struct audit audit;
	struct site_policy site;
	pid_t pid;   /* forks the helpers */
	int control; /* to it */
};

struct victim {
	struct victims *victims;
	int channel; /* the broker's end */
	uint32_t sequence;
};

/* Starts the process that forks helpers; ends this one when that cannot be. */
void victims_start(struct victims *victims);
/* Ends it.  0 when it ended in order and the audit log of all its helpers verifies. */
int victims_finish(struct victims *victims);
/* Descriptors that it has open. */
size_t victims_descriptors(const struct victims *victims);

/* A fresh helper: one at a time. */
void victim_start(struct victim *victim, struct victims *victims);
/* Closes our end; the helper's exit status, or -signal. */
int victim_finish(struct victim *victim);
/* The same without closing: waits until it has ended by itself, at most so long; -ETIMEDOUT. */
int victim_wait(struct victim *victim, int milliseconds);

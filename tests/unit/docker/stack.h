/* SPDX-License-Identifier: Apache-2.0 */
/* The docker domain as it runs: loop, audit log and client, in a child without a sandbox.  Tests
 * only. */
#pragma once
#include "privsep/client.h"
#include "privsep/docker.h"
#include "privsep/helper.h"

struct stack {
	char folder[64]; /* holds the audit log */
	struct audit audit;
	struct site_policy site;
	struct helper helper;
	pid_t child;
	struct priv_channel channel;
	struct zerr err;
};

/* A policy that allows all; may be changed before stack_run. */
void stack_prepare(struct stack *stack, const char *socket_path);
/* Forks the helper and says hello. */
void stack_run(struct stack *stack);
/* Closes the channel; the helper's exit status, or -signal.  Removes the folder. */
int stack_finish(struct stack *stack);
/* Open descriptors and resident KiB of the helper. */
unsigned stack_descriptors(const struct stack *stack);
unsigned long stack_resident(const struct stack *stack);

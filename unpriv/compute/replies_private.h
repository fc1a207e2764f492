/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by replies.c and replies_publisher.c only. */
#pragma once
#include "unpriv/compute/replies.h"
#include <sys/queue.h>

struct outgoing {
	TAILQ_ENTRY(outgoing) entry;
	uint64_t token;
	int fd; /* owned */
	size_t size;
	bool fleeting;
	bool replaced; /* a failure in place of a reply that was too large */
	bool passed;   /* the publisher has it */
	char queue[JOB_ID_MAX + 1], msg_id[JOB_ID_MAX + 1];
};

struct kept {
	TAILQ_ENTRY(kept) entry;
	int fd; /* owned */
	size_t size;
	char unique_id[JOB_ID_MAX + 1];
};

TAILQ_HEAD(outgoing_list, outgoing);
TAILQ_HEAD(kept_list, kept);

struct replies {
	struct loop *loop;
	const struct config *config;
	const struct replies_hooks *hooks;
	void *context;
	struct outgoing_list waiting; /* in order of token */
	size_t count;
	uint64_t bytes;
	struct kept_list kept;
	size_t kept_count;
	uint64_t kept_bytes;
	uint64_t next_token;
	int socket; /* owned; -1 = no publisher */
	pid_t publisher;
	uint64_t born_ms, retry_ms;
	unsigned failures, dropped;
};

/* replies.c: what the publisher says of a reply. */
void replies_settle(struct replies *replies, uint64_t token, bool too_large);
/* replies_publisher.c: gives the publisher what it does not have yet, as far as its socket takes
 * it. */
void replies_pass_on(struct replies *replies);
/* Lets it end, and waits for that at most wait_ms. */
void replies_end_publisher(struct replies *replies, unsigned wait_ms);

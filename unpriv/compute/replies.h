/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher's side of the publisher: keeps each reply until the publisher
 * says what became of it, starts another publisher when one dies, and
 * remembers the last replies for requests that come a second time
 * (known-faults F07).
 */
#pragma once
#include "common/loop.h"
#include "unpriv/base/config.h"
#include "unpriv/base/job.h"
#include <sys/types.h>

struct replies;

struct replies_hooks {
	/* In a fresh child with only socket open beyond 0 to 2: never returns. */
	void (*publish)(void *context, int socket);
	/* The publisher ended with this status of waitpid. */
	void (*ended)(void *context, pid_t pid, int status);
};

/* Owned; NULL with *err. */
struct replies *replies_new(struct loop *loop, const struct config *config,
			    const struct replies_hooks *hooks, void *context, struct zerr *err);
/* Starts the publisher. */
void replies_start(struct replies *replies);
/* Sends the inner text in fd (takes it) as the reply to record's call. */
void replies_add(struct replies *replies, const struct job_record *record, int fd);
/* Sends a failure of class (module zun.common.exception). */
void replies_fail(struct replies *replies, const struct job_record *record, const char *class,
		  const char *text);
/* Call monitoring: a sign of life. */
void replies_sign_of_life(struct replies *replies, const struct job_record *record);
/* Sends the reply to an earlier request of this unique id once more; false when it is not known. */
bool replies_repeat(struct replies *replies, const struct job_record *record);
/* On SIGCHLD. */
void replies_reap(struct replies *replies);
void replies_tick(struct replies *replies, uint64_t now_ms);
/* Replies of which nothing is known yet. */
size_t replies_waiting(const struct replies *replies);
/* Lets the publisher end (waits for it at most wait_ms). */
void replies_free(struct replies *replies, unsigned wait_ms);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of workers: forked in advance, one job each at a time, more of them
 * as load asks and fewer when they are idle.  A worker that dies, or is past
 * its job's deadline, costs its job a try and nobody else anything.  Runs in
 * the dispatcher.
 */
#pragma once
#include "common/loop.h"
#include "unpriv/base/job.h"
#include <sys/types.h>

struct pool;

struct pool_hooks {
	/* In a fresh child, all descriptors but 0 to 2, jobs and spare closed: never returns. */
	void (*work)(void *context, int jobs, int spare);
	/* Before the fork: a descriptor for the child to own (a helper's channel), or a negative
	 * errno: no worker now.  May be NULL: spare is -1. */
	int (*equip)(void *context);
	/* A job's result; takes fd (-1 = none).  cookie is what it was submitted with. */
	void (*result)(void *context, void *cookie, const struct job_result *result, int fd);
	/* The worker that had the job is gone. */
	void (*died)(void *context, void *cookie);
	/* A worker ended with this status of waitpid; idle: it had no job. */
	void (*ended)(void *context, pid_t pid, int status, bool idle);
};

struct pool_options {
	unsigned least, most;
	const struct pool_hooks *hooks;
	void *context;
};

/* Owned; NULL with *err.  Forks nothing yet. */
struct pool *pool_new(struct loop *loop, const struct pool_options *options, struct zerr *err);
/* Forks up to the least number of workers. */
void pool_start(struct pool *pool);
/* Gives a job to an idle worker, or to a new one.  fd is borrowed.  0; -EAGAIN: none is free;
 * or another negative errno, the job's own fault (it does not fit into a packet). */
int pool_submit(struct pool *pool, const struct job_request *request, int fd, uint64_t deadline_ms,
		void *cookie);
/* True when pool_submit would find a worker. */
bool pool_ready(const struct pool *pool);
/* When no worker is free: milliseconds after which another one may be made; 0 = that is no question
 * of time. */
unsigned pool_growth_wait(const struct pool *pool);
/* On SIGCHLD. */
void pool_reap(struct pool *pool);
/* Often, a second apart or less: deadlines, growth, shrinking. */
void pool_tick(struct pool *pool, uint64_t now_ms);
/* Workers end as soon as they are idle, and new ones take their place (new log level). */
void pool_renew(struct pool *pool);
unsigned pool_busy(const struct pool *pool);
unsigned pool_size(const struct pool *pool);
/* Ends all workers: those that are idle by the end of their socket, the others by SIGKILL. */
void pool_free(struct pool *pool);
/* In a child of the caller that is to be no worker: closes all but 0 to 2 and those two. */
void pool_close_other(int keep, int also_keep);

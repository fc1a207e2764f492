/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's inside: shared by worker*.c only. */
#pragma once
#include "unpriv/compute/manager.h"
#include "unpriv/compute/worker.h"

/* How a worker ends when it cannot go on; for the dispatcher's log. */
enum { EXIT_SANDBOX = 70, EXIT_STORE = 71, EXIT_INTENTS = 72, EXIT_JOBS = 73, EXIT_CHANNEL = 74 };

struct worker {
	const struct worker_options *options;
	const struct config *config;
	struct manager manager;
	struct intent_log intents;
	int jobs;
	int docker_channel; /* until the driver takes it */
	bool beaten;	    /* the service row has the availability zone */
};

/* One job: what came, and what goes back. */
struct work {
	const struct job_request *request;
	int fd; /* borrowed */
	struct job_result result;
	int reply; /* owned; -1 = none */
};

/* worker.c */
/* Opens the driver when a job first needs it: only then the helper hears a hello.  0 or -EPIPE. */
int worker_driver(struct worker *worker);
/* False when the channel to the helper is gone: a new worker takes this one's place. */
bool worker_usable(const struct worker *worker);

/* worker_message.c */
int worker_classify(struct worker *worker, struct work *work);
int worker_run(struct worker *worker, struct work *work);

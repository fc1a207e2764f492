/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: takes one job at a time from the dispatcher and runs it in a
 * straight line.  Called in a fresh child; never returns.
 */
#pragma once
#include "policy/sandbox.h"
#include "unpriv/base/config.h"

struct worker_options {
	const struct config *config;
	const char *state_directory;	       /* of the service: intents are below it */
	int jobs;			       /* SEQPACKET socket to the dispatcher; taken */
	int docker_channel;		       /* of the docker domain, hello not said yet; taken */
	const struct sandbox_confine *confine; /* NULL: no sandbox (tests) */
};

/* Ends with 0 when jobs ends. */
_Noreturn void worker_main(const struct worker_options *options);

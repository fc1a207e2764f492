/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher: owns the connection to the message broker, the order of
 * jobs, the intents and the timers; gives jobs to workers and replies to the
 * publisher.  Parses no message.
 */
#pragma once
#include "common/zerr.h"
#include "unpriv/base/config.h"
#include <sys/types.h>

struct dispatcher_hooks {
	/* In a fresh child, with nothing open beyond 0 to 2 but what is passed: these never return.
	 */
	void (*work)(void *context, int jobs, int channel);
	void (*publish)(void *context, int socket);
	/* A new channel to the docker domain for a worker (owned), or a negative errno.  May be
	 * NULL. */
	int (*open_channel)(void *context);
	/* A child has been reaped. */
	void (*ended)(void *context, pid_t pid);
	/* SIGHUP: read the log level again. */
	void (*reload)(void *context);
	/* Before the first byte from outside: close the sandbox.  0 or a negative errno with *err.
	 */
	int (*confine)(void *context, struct zerr *err);
};

struct dispatcher_options {
	const struct config *config;
	const char *state_directory;
	int launcher; /* gets "R" when ready; its end stops the service; -1 = none.  Borrowed. */
	const struct dispatcher_hooks *hooks;
	void *context;
};

/* Runs until it is told to stop.  0, or a negative errno with *err. */
int dispatcher_run(const struct dispatcher_options *options, struct zerr *err);

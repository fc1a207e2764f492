/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the launcher. */
#pragma once
#include "policy/sandbox.h"
#include "policy/site.h"
#include "privsep/audit.h"

struct launch_options {
	const char *service; /* "compute": names its folders and boards */
	const char *policy;
	const char *broker;    /* the program to run */
	char **arguments;      /* its argv, ended by NULL */
	uint64_t stop_wait_ms; /* what the broker gets to end in order */
	bool respawn;
};

/* The broker first: when both have ended at once, it is the one that began. */
enum launch_child_kind { LAUNCH_BROKER, LAUNCH_DOCKER, LAUNCH_CHILDREN };

struct launch_child {
	const char *name;
	pid_t pid; /* 0 = ended, or not begun */
	int pidfd;
};

struct launch {
	const struct launch_options *options;
	struct site_policy site;
	struct audit audit;
	struct sandbox_board *board; /* the launcher's own */
	struct sandbox_board *docker_board;
	int run;				 /* folder of the boards */
	int lock;				 /* its board: locked while the launcher lives */
	int broker_board;			 /* the broker maps it itself */
	int signals;				 /* signalfd */
	int docker_channel[2];			 /* the helper's end, the broker's */
	int link[2];				 /* ours, the broker's: fds.h */
	char broker_state[300], broker_run[160]; /* the folders that the broker may write to */
	struct launch_child children[LAUNCH_CHILDREN];
};

/* Policy, folders, audit log, boards, channels: all that needs root and no child.  0 or a negative
 * errno with *err. */
int launch_prepare(struct launch *launch, struct zerr *err);
/* Forks the children, then gives up what only they needed.  0 or a negative errno with *err. */
int launch_start(struct launch *launch, struct zerr *err);
/* Waits until the service is to end and has ended; the exit status. */
int launch_watch(struct launch *launch);

/* Removes the boards. */
void launch_tidy(const struct launch *launch);

/* The folder path, made with all above it where they are missing: each of them root's alone, the
 * last one of owner and group with mode.  Returns an owned descriptor, or a negative errno with
 * *err. */
struct stat;
int launch_folder(const char *path, const struct stat *wanted, struct zerr *err);

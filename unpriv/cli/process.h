/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_NAME_MAX 64

struct process {
	pid_t pid, parent;
	char name[PROCESS_NAME_MAX]; /* escaped */
	uid_t uid[4], gid[4];	     /* real, effective, saved, file system */
	uint64_t inheritable, permitted, effective, bounding, ambient;
	unsigned no_new_privs, seccomp, filters, threads;
	bool dumpable; /* its files in /proc are its user's; not to be told for root */
};

/* 0 or a negative errno: -ENOENT when there is no such process. */
int process_read(pid_t pid, struct process *process);
/* Owned list of all processes, *count of them, or NULL. */
struct process *process_list(size_t *count);

#define DESCRIPTOR_TEXT_MAX 160

struct descriptor {
	int number;
	char kind[24];			/* "tcp", "unix seqpacket", "file", "eventpoll" … */
	char text[DESCRIPTOR_TEXT_MAX]; /* address or path, escaped; may be empty */
};

/* Calls each for every open descriptor of pid.  Sockets are looked up in its own network namespace,
 * in the caller's and in that of maker (0 = none).  0 or a negative errno. */
int process_descriptors(pid_t pid, pid_t maker,
			void (*each)(void *context, const struct descriptor *descriptor),
			void *context);

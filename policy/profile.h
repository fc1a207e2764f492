/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of policy/ (and for its tests): the tables of system calls, and what is made of them. */
#pragma once
#include "policy/sandbox.h"
#include <seccomp.h>

/*
 * The rule for a system call's arguments; what it does not let through ends the process.
 * NONE: any arguments.  ERROR: not allowed, but a library asks, and lives with ENOSYS.
 * SOCKET_UNIX: AF_UNIX.  SOCKET_INET: AF_INET, AF_INET6; EAFNOSUPPORT for AF_UNIX, AF_NETLINK.
 * FORK: clone as fork(3) does it, no namespaces, no threads.  PRCTL: name, parent-death signal,
 * and what narrows or proves the sandbox.  FCNTL: flags, duplicates, seals, locks, pipe size.
 * FIONREAD: that ioctl alone.  NO_EXEC: memory that is not executable.  SELF: first argument 0,
 * the process itself.  SOCKET_OPTION: SO_PASSCRED.  KILL: SIGTERM, SIGKILL, SIGHUP.
 */
enum sandbox_filter {
	FILTER_NONE, FILTER_ERROR, FILTER_SOCKET_UNIX, FILTER_SOCKET_INET, FILTER_FORK,
	FILTER_PRCTL, FILTER_FCNTL, FILTER_FIONREAD, FILTER_NO_EXEC, FILTER_SELF,
	FILTER_SOCKET_OPTION, FILTER_KILL
};

#define ROLE(name)   ((uint8_t)(1U << SANDBOX_##name))
#define CALL(call, roles, rule, why) {SCMP_SYS(call), #call, why, roles, FILTER_##rule}
#define TABLE(table) .syscalls = table, .syscall_rows = sizeof(table) / sizeof(table[0])
#define LIMITS(files, processes, memory, file) \
	.nofile = files, .nproc = processes, .address_space = memory, .file_size = file
#define MIB(size)    (UINT64_C(size) << 20)

extern const struct sandbox_profile launcher_profile, docker_profile, docker_server_profile,
	dispatcher_profile, publisher_profile, worker_profile;

/* The role's filter, ready to be exported; NULL when it cannot be made.  Owned. */
scmp_filter_ctx filter_build(const struct sandbox_profile *profile);
/* Puts it in force.  Returns its BPF instructions or a negative errno. */
int filter_load(const struct sandbox_profile *profile);

/* Returns the ABI in force, or a negative errno with *err. */
int landlock_confine(const struct sandbox_profile *profile, const struct sandbox_confine *confine,
		     struct zerr *err);

/* Enters the namespaces that drop asks for, as root; the working folder is / then. */
int view_enter(const struct sandbox_drop *drop, struct zerr *err);

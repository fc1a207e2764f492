/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of policy/ (and for its tests): the tables of system calls, and what is made of them. */
#pragma once
#include "policy/sandbox.h"
#include <seccomp.h>

/* The rule for a system call's arguments; what it does not let through ends the process. */
enum sandbox_filter {
	FILTER_NONE,          /* any arguments */
	FILTER_ERROR,         /* not allowed, but a library asks, and lives with ENOSYS */
	FILTER_SOCKET_UNIX,   /* AF_UNIX */
	FILTER_SOCKET_INET,   /* AF_INET, AF_INET6; AF_UNIX and AF_NETLINK get EAFNOSUPPORT */
	FILTER_FORK,          /* clone as fork(3) does it: no namespaces, no threads */
	FILTER_PRCTL,         /* name, parent-death signal, and what narrows or proves the sandbox */
	FILTER_FCNTL,         /* flags, duplicates, seals, locks, pipe size */
	FILTER_FIONREAD,      /* ioctl: bytes waiting, nothing else */
	FILTER_NO_EXEC,       /* memory that is not executable */
	FILTER_SELF,          /* first argument 0: the process itself */
	FILTER_SOCKET_OPTION, /* SO_PASSCRED */
	FILTER_KILL,          /* SIGTERM, SIGKILL, SIGHUP */
};

#define ROLE(name)                   ((uint8_t)(1U << SANDBOX_##name))
#define CALL(call, roles, rule, why) {SCMP_SYS(call), #call, why, roles, FILTER_##rule}
#define TABLE(calls)                 .syscalls = calls, .syscall_rows = sizeof(calls) / sizeof(calls[0])
#define MIB(size)                    (UINT64_C(size) << 20)

extern const struct sandbox_profile launcher_profile, docker_profile, docker_server_profile,
	dispatcher_profile, publisher_profile, worker_profile;

/* The role's filter, ready to be exported; NULL when it cannot be made.  Owned (seccomp_release). */
scmp_filter_ctx filter_build(const struct sandbox_profile *profile);
/* Puts it in force.  Returns its BPF instructions or a negative errno. */
int filter_load(const struct sandbox_profile *profile);

/* Returns the ABI in force, or a negative errno with *err. */
int landlock_confine(const struct sandbox_profile *profile, const struct sandbox_confine *confine,
		     struct zerr *err);

/* Enters the namespaces that drop asks for, in a child that is root; the working folder is / then. */
int view_enter(const struct sandbox_drop *drop, struct zerr *err);

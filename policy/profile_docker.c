/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the docker domain may ask of the kernel: its first process and the
 * servers that it forks (uid keelson-docker, no capability, an empty tree with
 * the folder of the engine's socket, no network).  Both may open that socket, so
 * both are worth root on the node: the list is as short as their work.
 * They allocate nothing while they serve: brk is there for libseccomp in a
 * server's second step, mmap is not.
 */
#include "policy/profile.h"

#define FIRST  ROLE(DOCKER)
#define SERVER ROLE(DOCKER_SERVER)
#define BOTH   (FIRST | SERVER)

static const struct sandbox_syscall calls[] = {
	SYSCALL(recvmsg, BOTH, NONE, "requests from the broker"),
	SYSCALL(sendmsg, BOTH, NONE, "answers, with the read end of a pipe"),
	SYSCALL(socket, BOTH, SOCKET_UNIX, "the engine's socket"),
	SYSCALL(connect, BOTH, NONE, "the same"),
	SYSCALL(sendto, BOTH, NONE, "send(2) of a request to the engine"),
	SYSCALL(recvfrom, BOTH, NONE, "recv(2) of its answer"),
	SYSCALL(ppoll, BOTH, NONE, "every wait has a deadline"),
	SYSCALL(pipe2, BOTH, NONE, "the rest of a long answer goes to the broker through a pipe"),
	SYSCALL(splice, BOTH, NONE, "and is not read here"),
	SYSCALL(read, BOTH, NONE, "signalfd"),
	SYSCALL(pread64, BOTH, NONE, "a large request from its memfd; the audit log's end"),
	SYSCALL(write, BOTH, NONE, "audit records, log lines"),
	SYSCALL(close, BOTH, NONE, "descriptors"),
	SYSCALL(newfstatat, BOTH, NONE, "fstat(3): size of memfd and audit log"),
	SYSCALL(fcntl, BOTH, FCNTL, "the audit log's lock, a memfd's seals"),
	SYSCALL(fdatasync, BOTH, NONE, "audit records that must be on disk first"),
	SYSCALL(clock_gettime, BOTH, NONE, "deadlines, where the vDSO cannot tell"),
	SYSCALL(getpid, BOTH, NONE, "the process's name in audit records"),
	SYSCALL(brk, BOTH, NONE, "malloc of libseccomp, in a server's second step"),
	SYSCALL(prctl, BOTH, PRCTL, "narrow and prove the sandbox"),
	SYSCALL(exit_group, BOTH, NONE, "the end"),

	SYSCALL(clone, FIRST, FORK, "a server for a channel"),
	SYSCALL(wait4, FIRST, NONE, "how it ended"),
	SYSCALL(getppid, FIRST, NONE, "a server whose parent died before it could ask to be told"),
	SYSCALL(socketpair, FIRST, SOCKET_UNIX, "its channel; its filter on the way to the kernel"),
	SYSCALL(setsockopt, FIRST, SOCKET_OPTION, "each packet shows its sender"),
	SYSCALL(prlimit64, FIRST, SELF, "a server may not fork"),
	SYSCALL(capget, FIRST, NONE, "a server proves that it has no capability"),

	SYSCALL(clone3, BOTH, ERROR, "glibc falls back to clone, whose flags a filter can see"),
	SYSCALL(set_robust_list, BOTH, ERROR, "fork(3); there are no robust mutexes"),
};

#define ADDRESS_SPACE (UINT64_C(64) << 20)

const struct sandbox_profile docker_profile = {
	.role = SANDBOX_DOCKER,
	.name = "docker",
	.syscalls = calls,
	.syscall_rows = sizeof(calls) / sizeof(calls[0]),
	.syscall_max = 28,
	.nofile = 64,
	.nproc = 64,
	.address_space = ADDRESS_SPACE,
	.file_size = 0, /* the launcher gives the audit file's limit */
	.landlock_files = true,
	.landlock_scope = true,
};

const struct sandbox_profile docker_server_profile = {
	.role = SANDBOX_DOCKER_SERVER,
	.name = "docker-server",
	.syscalls = calls,
	.syscall_rows = sizeof(calls) / sizeof(calls[0]),
	.syscall_max = 28,
	.nofile = 64,
	.nproc = 0,
	.address_space = ADDRESS_SPACE,
	.file_size = 0,
	.stacked = true,
	.landlock_inherited = true, /* no file, no port: there is nothing narrower */
	.landlock_files = true,
	.landlock_scope = true,
};

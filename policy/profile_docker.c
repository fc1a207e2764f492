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
	CALL(recvmsg, BOTH, NONE, "requests from the broker"),
	CALL(sendmsg, BOTH, NONE, "answers, with the read end of a pipe"),
	CALL(socket, BOTH, SOCKET_UNIX, "the engine's socket"),
	CALL(connect, BOTH, NONE, "the same"),
	CALL(sendto, BOTH, NONE, "send(2) of a request to the engine"),
	CALL(recvfrom, BOTH, NONE, "recv(2) of its answer"),
	CALL(ppoll, BOTH, NONE, "every wait has a deadline"),
	CALL(pipe2, BOTH, NONE, "the rest of a long answer goes to the broker through a pipe"),
	CALL(splice, BOTH, NONE, "and is not read here"),
	CALL(read, BOTH, NONE, "signalfd"),
	CALL(pread64, BOTH, NONE, "a large request from its memfd; the audit log's end"),
	CALL(write, BOTH, NONE, "audit records, log lines"),
	CALL(close, BOTH, NONE, "descriptors"),
	CALL(newfstatat, BOTH, NONE, "fstat(3): size of memfd and audit log"),
	CALL(fcntl, BOTH, FCNTL, "the audit log's lock, a memfd's seals"),
	CALL(fdatasync, BOTH, NONE, "audit records that must be on disk first"),
	CALL(clock_gettime, BOTH, NONE, "deadlines, where the vDSO cannot tell"),
	CALL(getpid, BOTH, NONE, "the process's name in audit records"),
	CALL(brk, BOTH, NONE, "malloc of libseccomp, in a server's second step"),
	CALL(prctl, BOTH, PRCTL, "narrow and prove the sandbox"),
	CALL(exit_group, BOTH, NONE, "the end"),

	CALL(clone, FIRST, FORK, "a server for a channel"),
	CALL(wait4, FIRST, NONE, "how it ended"),
	CALL(getppid, FIRST, NONE, "a server whose parent died before it could ask to be told"),
	CALL(socketpair, FIRST, SOCKET_UNIX, "its channel; its filter on the way to the kernel"),
	CALL(setsockopt, FIRST, SOCKET_OPTION, "each packet shows its sender"),
	CALL(prlimit64, FIRST, SELF, "a server may not fork"),
	CALL(capget, FIRST, NONE, "a server proves that it has no capability"),

	CALL(clone3, BOTH, ERROR, "glibc falls back to clone, whose flags a filter can see"),
	CALL(set_robust_list, BOTH, ERROR, "fork(3); there are no robust mutexes"),
};

/* The file is the audit log, whose limit the launcher gives.  Servers inherit Landlock: no file and
 * no port, so there is nothing narrower. */
const struct sandbox_profile docker_profile = {
	SANDBOX_DOCKER, "docker", TABLE(calls), .syscall_max = 28, LIMITS(64, 64, MIB(64), 0)};
const struct sandbox_profile docker_server_profile = {
	SANDBOX_DOCKER_SERVER, "docker-server", TABLE(calls), .syscall_max = 28,
	LIMITS(64, 0, MIB(64), 0), .stacked = true, .landlock_inherited = true};

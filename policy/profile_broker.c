/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker's processes may ask of the kernel: the dispatcher, and the
 * publisher and workers that it forks (uid keelson, no capability).  Since their
 * filters stand below the dispatcher's, its list holds theirs; found with strace
 * on librabbitmq, libpq and OpenSSL, and on glibc's resolver.
 */
#include "policy/profile.h"

#define D   ROLE(DISPATCHER)
#define P   ROLE(PUBLISHER)
#define W   ROLE(WORKER)
#define ALL (D | P | W)

static const struct sandbox_syscall calls[] = {
	/* Memory, time, the end. */
	SYSCALL(brk, ALL, NONE, "malloc"),
	SYSCALL(mmap, ALL, NO_EXEC, "malloc; no code is ever mapped after start"),
	SYSCALL(munmap, ALL, NONE, "free"),
	SYSCALL(madvise, ALL, NONE, "secrets stay out of core dumps"),
	SYSCALL(futex, ALL, NONE, "pthread_once in OpenSSL and libpq"),
	SYSCALL(getrandom, ALL, NONE, "TLS, SCRAM, unique ids"),
	SYSCALL(clock_gettime, ALL, NONE, "deadlines, where the vDSO cannot tell"),
	SYSCALL(clock_nanosleep, ALL, NONE, "back-off between two tries"),
	SYSCALL(getpid, ALL, NONE, "log lines, OpenSSL's fork check"),
	SYSCALL(exit_group, ALL, NONE, "the end"),
	SYSCALL(rt_sigprocmask, ALL, NONE, "libpq blocks SIGPIPE, the loop routes signals to signalfd"),
	SYSCALL(restart_syscall, ALL, NONE, "poll after SIGSTOP and SIGCONT"),
	SYSCALL(prctl, ALL, PRCTL, "narrow and prove the sandbox; process name"),

	/* Sockets: RabbitMQ, PostgreSQL, DNS, the channels. */
	SYSCALL(socket, ALL, SOCKET_INET, "connections to RabbitMQ, PostgreSQL and name servers"),
	SYSCALL(connect, ALL, NONE, "the same; Landlock names the TCP ports"),
	SYSCALL(getsockname, ALL, NONE, "getaddrinfo orders addresses by the source they would use"),
	SYSCALL(getsockopt, ALL, NONE, "the outcome of a non-blocking connect"),
	SYSCALL(setsockopt, ALL, NONE, "TCP_NODELAY, keep-alive, IP_RECVERR of the resolver"),
	SYSCALL(sendto, ALL, NONE, "send(2) of librabbitmq, libpq, resolver"),
	SYSCALL(recvfrom, ALL, NONE, "recv(2) of the same"),
	SYSCALL(sendmsg, ALL, NONE, "channels to helper, dispatcher, publisher, launcher"),
	SYSCALL(recvmsg, ALL, NONE, "the same"),
	SYSCALL(sendmmsg, ALL, NONE, "the resolver asks for A and AAAA at once"),
	SYSCALL(poll, ALL, NONE, "librabbitmq, libpq, resolver"),
	SYSCALL(ppoll, ALL, NONE, "our own waits"),
	SYSCALL(ioctl, ALL, FIONREAD, "the resolver asks for an answer's size"),

	/* Files: bodies in memfds, logs on stderr, configuration of resolver and TLS, intents. */
	SYSCALL(read, ALL, NONE, "files, pipes, TLS sockets, timers, signals"),
	SYSCALL(pread64, ALL, NONE, "message bodies and replies, end of an intent"),
	SYSCALL(write, ALL, NONE, "log lines, intents, bodies, TLS sockets"),
	SYSCALL(writev, ALL, NONE, "the resolver over TCP"),
	SYSCALL(close, ALL, NONE, "descriptors"),
	SYSCALL(openat, ALL, NONE, "resolver files, CA bundle; Landlock names them"),
	SYSCALL(newfstatat, ALL, NONE, "fstat(3), whether resolv.conf changed"),
	SYSCALL(lseek, ALL, NONE, "rewinds a memfd; stdio"),
	SYSCALL(fcntl, ALL, FCNTL, "non-blocking sockets, seals"),
	SYSCALL(openat2, D | W, NONE, "intents, below the state folder only"),
	SYSCALL(renameat2, D | W, NONE, "an intent appears whole"),
	SYSCALL(unlinkat, D | W, NONE, "an intent goes"),
	SYSCALL(ftruncate, D | W, NONE, "a torn line of an intent is cut off"),
	SYSCALL(fdatasync, D | W, NONE, "an intent is on disk before the acknowledgement"),
	SYSCALL(fsync, D | W, NONE, "so is its name"),
	SYSCALL(getdents64, D | W, NONE, "intents left at start"),
	SYSCALL(memfd_create, D | W, NONE, "a body or reply for another process, sealed"),
	SYSCALL(statfs, D | W, NONE, "disk size for the inventory"),

	/* The loops. */
	SYSCALL(epoll_create1, D | P, NONE, "loop"),
	SYSCALL(epoll_ctl, D | P, NONE, "loop"),
	SYSCALL(epoll_wait, D | P, NONE, "loop"),
	SYSCALL(timerfd_create, D | P, NONE, "loop"),
	SYSCALL(timerfd_settime, D | P, NONE, "loop"),
	SYSCALL(signalfd4, D | P, NONE, "loop"),

	/* Children, and their second step. */
	SYSCALL(clone, D, FORK, "fork of workers and publisher"),
	SYSCALL(wait4, D, NONE, "how a child ended"),
	SYSCALL(kill, D, KILL, "ends a child that is past its deadline"),
	SYSCALL(getppid, D, NONE, "a child whose parent died before it could ask to be told"),
	SYSCALL(socketpair, D, SOCKET_UNIX, "a child's channel; its filter on the way to the kernel"),
	SYSCALL(prlimit64, D, SELF, "a child lowers its limits"),
	SYSCALL(capget, D, NONE, "a child proves that it has no capability"),
	SYSCALL(landlock_create_ruleset, D, NONE, "a child takes narrower rules"),
	SYSCALL(landlock_add_rule, D, NONE, "the same"),
	SYSCALL(landlock_restrict_self, D, NONE, "the same"),

	/* Answered with an error: libraries ask and go on without. */
	SYSCALL(clone3, ALL, ERROR, "glibc falls back to clone, whose flags a filter can see"),
	SYSCALL(set_robust_list, ALL, ERROR, "fork(3); there are no robust mutexes"),
	SYSCALL(mremap, ALL, ERROR, "realloc(3) copies instead"),
	SYSCALL(mlock, ALL, ERROR, "secrets are locked before, at start"),
	SYSCALL(uname, ALL, ERROR, "the resolver's default domain"),
	SYSCALL(sysinfo, ALL, ERROR, "qsort(3) asks for the memory's size"),
	SYSCALL(geteuid, ALL, ERROR, "libpq without HOME: no home, no files in it"),
	SYSCALL(getuid, ALL, ERROR, "the same"),
};

/* RLIMIT_FSIZE holds for memfds too: larger than any message. */
#define FILE_MAX      (UINT64_C(256) << 20)
#define ADDRESS_SPACE (UINT64_C(256) << 20)

const struct sandbox_profile dispatcher_profile = {
	.role = SANDBOX_DISPATCHER,
	.name = "dispatcher",
	.syscalls = calls,
	.syscall_rows = sizeof(calls) / sizeof(calls[0]),
	.syscall_max = 60,
	.nofile = 4096,
	.nproc = 256, /* 32 workers a service, all of one uid */
	.address_space = ADDRESS_SPACE,
	.file_size = FILE_MAX,
	.landlock_files = true,
	.landlock_scope = true,
};

const struct sandbox_profile publisher_profile = {
	.role = SANDBOX_PUBLISHER,
	.name = "publisher",
	.syscalls = calls,
	.syscall_rows = sizeof(calls) / sizeof(calls[0]),
	.syscall_max = 60,
	.nofile = 1024,
	.nproc = 0,
	.address_space = ADDRESS_SPACE,
	.file_size = FILE_MAX,
	.stacked = true,
	.landlock_files = true,
	.landlock_scope = true,
};

const struct sandbox_profile worker_profile = {
	.role = SANDBOX_WORKER,
	.name = "worker",
	.syscalls = calls,
	.syscall_rows = sizeof(calls) / sizeof(calls[0]),
	.syscall_max = 60,
	.nofile = 256,
	.nproc = 0,
	.address_space = ADDRESS_SPACE,
	.file_size = FILE_MAX,
	.stacked = true,
	.landlock_files = true,
	.landlock_scope = true,
};

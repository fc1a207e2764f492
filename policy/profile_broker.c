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
	CALL(brk, ALL, NONE, "malloc"),
	CALL(mmap, ALL, NO_EXEC, "malloc; no code is ever mapped after start"),
	CALL(munmap, ALL, NONE, "free"),
	CALL(madvise, ALL, NONE, "secrets stay out of core dumps"),
	CALL(futex, ALL, NONE, "pthread_once in OpenSSL and libpq"),
	CALL(getrandom, ALL, NONE, "TLS, SCRAM, unique ids"),
	CALL(clock_gettime, ALL, NONE, "deadlines, where the vDSO cannot tell"),
	CALL(clock_nanosleep, ALL, NONE, "back-off between two tries"),
	CALL(getpid, ALL, NONE, "log lines, OpenSSL's fork check"),
	CALL(exit_group, ALL, NONE, "the end"),
	CALL(rt_sigprocmask, ALL, NONE, "libpq blocks SIGPIPE, the loop takes signals by signalfd"),
	CALL(restart_syscall, ALL, NONE, "poll after SIGSTOP and SIGCONT"),
	CALL(prctl, ALL, PRCTL, "narrow and prove the sandbox; process name"),

	/* Sockets: RabbitMQ, PostgreSQL, DNS, the channels. */
	CALL(socket, ALL, SOCKET_INET, "connections to RabbitMQ, PostgreSQL and name servers"),
	CALL(connect, ALL, NONE, "the same; Landlock names the TCP ports"),
	CALL(getsockname, ALL, NONE, "getaddrinfo orders addresses by the source they would use"),
	CALL(getsockopt, ALL, NONE, "the outcome of a non-blocking connect"),
	CALL(setsockopt, ALL, NONE, "TCP_NODELAY, keep-alive, IP_RECVERR of the resolver"),
	CALL(sendto, ALL, NONE, "send(2) of librabbitmq, libpq, resolver"),
	CALL(recvfrom, ALL, NONE, "recv(2) of the same"),
	CALL(sendmsg, ALL, NONE, "channels to helper, dispatcher, publisher, launcher"),
	CALL(recvmsg, ALL, NONE, "the same"),
	CALL(sendmmsg, ALL, NONE, "the resolver asks for A and AAAA at once"),
	CALL(poll, ALL, NONE, "librabbitmq, libpq, resolver"),
	CALL(ppoll, ALL, NONE, "our own waits"),
	CALL(ioctl, ALL, FIONREAD, "the resolver asks for an answer's size"),

	/* Files: bodies in memfds, logs on stderr, configuration of resolver and TLS, intents. */
	CALL(read, ALL, NONE, "files, pipes, TLS sockets, timers, signals"),
	CALL(pread64, ALL, NONE, "message bodies and replies, end of an intent"),
	CALL(write, ALL, NONE, "log lines, intents, bodies, TLS sockets"),
	CALL(writev, ALL, NONE, "the resolver over TCP"),
	CALL(close, ALL, NONE, "descriptors"),
	CALL(openat, ALL, NONE, "resolver files, CA bundle; Landlock names them"),
	CALL(newfstatat, ALL, NONE, "fstat(3), whether resolv.conf changed"),
	CALL(lseek, ALL, NONE, "rewinds a memfd; stdio"),
	CALL(fcntl, ALL, FCNTL, "non-blocking sockets, seals"),
	CALL(openat2, D | W, NONE, "intents, below the state folder only"),
	CALL(renameat2, D | W, NONE, "an intent appears whole"),
	CALL(unlinkat, D | W, NONE, "an intent goes"),
	CALL(ftruncate, D | W, NONE, "a torn line of an intent is cut off"),
	CALL(fdatasync, D | W, NONE, "an intent is on disk before the acknowledgement"),
	CALL(fsync, D | W, NONE, "so is its name"),
	CALL(getdents64, D, NONE, "intents left at start"),
	CALL(memfd_create, D | W, NONE, "a body or reply for another process, sealed"),
	CALL(statfs, D | W, NONE, "disk size for the inventory"),

	/* The loops. */
	CALL(epoll_create1, D | P, NONE, "loop"),
	CALL(epoll_ctl, D | P, NONE, "loop"),
	CALL(epoll_wait, D | P, NONE, "loop"),
	CALL(timerfd_create, D | P, NONE, "loop"),
	CALL(timerfd_settime, D | P, NONE, "loop"),
	CALL(signalfd4, D | P, NONE, "loop"),

	/* Children, and their second step. */
	CALL(clone, D, FORK, "fork of workers and publisher"),
	CALL(wait4, D, NONE, "how a child ended"),
	CALL(kill, D, KILL, "ends a child that is past its deadline"),
	CALL(getppid, D, NONE, "a child whose parent died before it could ask to be told"),
	CALL(socketpair, D, SOCKET_UNIX, "a child's channel; its filter on the way to the kernel"),
	CALL(prlimit64, D, SELF, "a child lowers its limits"),
	CALL(capget, D, NONE, "a child proves that it has no capability"),
	CALL(landlock_create_ruleset, D, NONE, "a child takes narrower rules"),
	CALL(landlock_add_rule, D, NONE, "the same"),
	CALL(landlock_restrict_self, D, NONE, "the same"),

	/* Answered with an error: libraries ask and go on without. */
	CALL(clone3, ALL, ERROR, "glibc falls back to clone, whose flags a filter can see"),
	CALL(set_robust_list, ALL, ERROR, "fork(3); there are no robust mutexes"),
	CALL(mremap, ALL, ERROR, "realloc(3) copies instead"),
	CALL(mlock, ALL, ERROR, "secrets are locked before, at start"),
	CALL(uname, ALL, ERROR, "the resolver's default domain"),
	CALL(sysinfo, ALL, ERROR, "qsort(3) asks for the memory's size"),
	CALL(geteuid, ALL, ERROR, "libpq without HOME: no home, no files in it"),
	CALL(getuid, ALL, ERROR, "the same"),
};

/* RLIMIT_FSIZE holds for memfds too: larger than any message.  All workers have one uid. */
const struct sandbox_profile dispatcher_profile = {
	SANDBOX_DISPATCHER, "dispatcher", TABLE(calls), .syscall_max = 60,
	LIMITS(4096, 256, MIB(256), MIB(256))};
const struct sandbox_profile publisher_profile = {
	SANDBOX_PUBLISHER, "publisher", TABLE(calls), .syscall_max = 60,
	LIMITS(1024, 0, MIB(256), MIB(256)), .stacked = true};
const struct sandbox_profile worker_profile = {
	SANDBOX_WORKER, "worker", TABLE(calls), .syscall_max = 60,
	LIMITS(256, 0, MIB(256), MIB(256)), .stacked = true};

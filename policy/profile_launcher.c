/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher may ask of the kernel once its children run: it waits for
 * them, tells the service manager, syncs the audit logs and tidies up.  It is
 * root with CAP_KILL and nothing else, reads nothing but one byte of the broker,
 * and can start no process any more.
 */
#include "policy/profile.h"

#define L ROLE(LAUNCHER)

static const struct sandbox_syscall calls[] = {
	SYSCALL(read, L, NONE, "the broker's ready byte, signalfd, timerfd"),
	SYSCALL(write, L, NONE, "log lines, the audit log's recovery line"),
	SYSCALL(recvmsg, L, NONE, "the broker's ready byte"),
	SYSCALL(recvfrom, L, NONE, "the same"),
	SYSCALL(socket, L, SOCKET_UNIX, "the service manager's datagram socket"),
	SYSCALL(connect, L, NONE, "the same"),
	SYSCALL(sendto, L, NONE, "READY=1, WATCHDOG=1, STOPPING=1"),
	SYSCALL(sendmsg, L, NONE, "the same"),
	SYSCALL(poll, L, NONE, "waits"),
	SYSCALL(ppoll, L, NONE, "waits"),
	SYSCALL(restart_syscall, L, NONE, "a wait after SIGSTOP and SIGCONT"),
	SYSCALL(clock_gettime, L, NONE, "deadlines, where the vDSO cannot tell"),
	SYSCALL(wait4, L, NONE, "how a child ended"),
	SYSCALL(waitid, L, NONE, "the same"),
	SYSCALL(kill, L, KILL, "ends the children"),
	SYSCALL(pidfd_send_signal, L, NONE, "the same"),
	SYSCALL(fdatasync, L, NONE, "audit logs, once a second"),
	SYSCALL(fcntl, L, FCNTL, "the audit log's lock"),
	SYSCALL(pread64, L, NONE, "the audit log's end"),
	SYSCALL(newfstatat, L, NONE, "its size"),
	SYSCALL(unlinkat, L, NONE, "boards go with the service"),
	SYSCALL(unlink, L, NONE, "the same"),
	SYSCALL(close, L, NONE, "descriptors"),
	SYSCALL(mmap, L, NO_EXEC, "malloc"),
	SYSCALL(munmap, L, NONE, "free"),
	SYSCALL(brk, L, NONE, "malloc"),
	SYSCALL(getpid, L, NONE, "log lines"),
	SYSCALL(rt_sigprocmask, L, NONE, "signals are read through signalfd"),
	SYSCALL(prctl, L, PRCTL, "proves the sandbox"),
	SYSCALL(exit_group, L, NONE, "the end"),
	SYSCALL(clone3, L, ERROR, "nothing forks here: an error, then clone ends the process"),
};

const struct sandbox_profile launcher_profile = {
	.role = SANDBOX_LAUNCHER,
	.name = "launcher",
	.syscalls = calls,
	.syscall_rows = sizeof(calls) / sizeof(calls[0]),
	.syscall_max = 40,
	.nofile = 64,
	.nproc = UINT64_MAX, /* does not bind root */
	.address_space = UINT64_C(64) << 20,
	.file_size = UINT64_MAX, /* its stderr may be a file of any size */
	.landlock_files = true,
	.landlock_scope = false, /* its children stand outside, and NOTIFY_SOCKET may be abstract */
};

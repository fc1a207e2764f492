/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher may ask of the kernel once its children run: it waits for
 * them, tells the service manager, syncs the audit logs and tidies up.  It is
 * root with CAP_KILL and nothing else, reads nothing but one byte of the broker,
 * and can start no process any more.
 */
#include "policy/profile.h"
#include <linux/capability.h>

#define L ROLE(LAUNCHER)

static const struct sandbox_syscall calls[] = {
	CALL(read, L, NONE, "the broker's ready byte, signalfd, timerfd"),
	CALL(write, L, NONE, "log lines, the audit log's recovery line"),
	CALL(recvmsg, L, NONE, "the broker's ready byte"),
	CALL(recvfrom, L, NONE, "the same"),
	CALL(socket, L, SOCKET_UNIX, "the service manager's datagram socket"),
	CALL(connect, L, NONE, "the same"),
	CALL(sendto, L, NONE, "READY=1, WATCHDOG=1, STOPPING=1"),
	CALL(sendmsg, L, NONE, "the same"),
	CALL(poll, L, NONE, "waits"),
	CALL(ppoll, L, NONE, "waits"),
	CALL(restart_syscall, L, NONE, "a wait after SIGSTOP and SIGCONT"),
	CALL(clock_gettime, L, NONE, "deadlines, where the vDSO cannot tell"),
	CALL(wait4, L, NONE, "how a child ended"),
	CALL(waitid, L, NONE, "the same"),
	CALL(kill, L, KILL, "ends the children"),
	CALL(pidfd_send_signal, L, NONE, "the same"),
	CALL(fdatasync, L, NONE, "audit logs, once a second"),
	CALL(fcntl, L, FCNTL, "the audit log's lock"),
	CALL(pread64, L, NONE, "the audit log's end"),
	CALL(newfstatat, L, NONE, "its size"),
	CALL(unlinkat, L, NONE, "boards go with the service"),
	CALL(unlink, L, NONE, "the same"),
	CALL(close, L, NONE, "descriptors"),
	CALL(mmap, L, NO_EXEC, "malloc"),
	CALL(munmap, L, NONE, "free"),
	CALL(brk, L, NONE, "malloc"),
	CALL(getpid, L, NONE, "log lines"),
	CALL(rt_sigprocmask, L, NONE, "signals are read through signalfd"),
	CALL(prctl, L, PRCTL, "proves the sandbox"),
	CALL(exit_group, L, NONE, "the end"),
	CALL(clone3, L, ERROR, "nothing forks here: an error, then clone ends the process"),
};

/* Limits on processes do not bind root, and its stderr may be a file of any size.  Its children stand
 * outside of its Landlock domain, and NOTIFY_SOCKET may be abstract. */
const struct sandbox_profile launcher_profile = {
	SANDBOX_LAUNCHER, "launcher", TABLE(calls), .syscall_max = 40,
	.nofile = 64, .nproc = UINT64_MAX, .address_space = MIB(64), .file_size = UINT64_MAX,
	.capabilities = UINT64_C(1) << CAP_KILL, .landlock_unscoped = true};

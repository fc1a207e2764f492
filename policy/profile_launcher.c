/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher may ask of the kernel once its children run: it waits for
 * them, ends them, syncs the audit log and tidies up.  It is root with CAP_KILL
 * and nothing else, and can start no process any more.
 */
#include "policy/profile.h"
#include <linux/capability.h>

#define L ROLE(LAUNCHER)

static const struct sandbox_syscall calls[] = {
	CALL(ppoll, L, NONE, "waits"),
	CALL(read, L, NONE, "signalfd"),
	CALL(recvfrom, L, NONE, "the broker's ready byte"),
	CALL(wait4, L, NONE, "how a child ended"),
	CALL(pidfd_send_signal, L, KILL, "ends the children, hands SIGHUP on"),
	CALL(write, L, NONE, "log lines, records of the audit log itself"),
	CALL(fcntl, L, FCNTL, "the audit log's lock"),
	CALL(fdatasync, L, NONE, "the audit log, once a second"),
	CALL(pread64, L, NONE, "its end"),
	CALL(newfstatat, L, NONE, "its size"),
	CALL(unlinkat, L, NONE, "the boards go with the service"),
	CALL(close, L, NONE, "descriptors"),
	CALL(clock_gettime, L, NONE, "deadlines, where the vDSO cannot tell"),
	CALL(getpid, L, NONE, "its name in log and audit records"),
	CALL(brk, L, NONE, "malloc"),
	CALL(prctl, L, PRCTL, "proves the sandbox"),
	CALL(exit_group, L, NONE, "the end"),
};

/* Limits on processes do not bind root, and its stderr may be a file of any size.  Its children
 * stand outside of its Landlock domain. */
const struct sandbox_profile launcher_profile = {
	SANDBOX_LAUNCHER, "launcher", TABLE(calls), .syscall_max = 20,
	LIMITS(64, UINT64_MAX, MIB(64), UINT64_MAX), .capabilities = UINT64_C(1) << CAP_KILL,
	.landlock_unscoped = true};

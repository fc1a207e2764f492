/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a profile to a seccomp filter: native architecture only, the listed calls
 * with the rules for their arguments, and the end of the process for all else.
 */
#include "policy/profile.h"
#include "common/zfd.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROGRAM_MAX 2048 /* BPF instructions; the longest filter has some hundreds */

/* What fork(3) passes; the stack pointer is 0 and the kernel copies all else. */
#define FORK_FLAGS (CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD)

#ifdef KEELSON_SANITIZED
/* What the sanitizers' run-time needs; not counted, not in a release. */
static const int sanitizer_calls[] = {
	SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(mprotect), SCMP_SYS(madvise),
	SCMP_SYS(futex), SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(tgkill),
	SCMP_SYS(sched_yield), SCMP_SYS(openat), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
	SCMP_SYS(getrlimit), SCMP_SYS(prlimit64), SCMP_SYS(ioctl), SCMP_SYS(newfstatat),
	SCMP_SYS(write), SCMP_SYS(sched_getaffinity), SCMP_SYS(lseek), SCMP_SYS(getrandom),
};

/* The leak check at exit would trace this process from a child of its own. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return prctl(PR_GET_SECCOMP) != 0;
}
#endif

static struct scmp_arg_cmp equals(unsigned argument, uint64_t value)
{
	return (struct scmp_arg_cmp){argument, SCMP_CMP_EQ, value, 0};
}

static int allow(scmp_filter_ctx filter, int call, struct scmp_arg_cmp condition)
{
	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &condition);
}

static int allow_both(scmp_filter_ctx filter, int call, struct scmp_arg_cmp first,
		      struct scmp_arg_cmp second)
{
	const struct scmp_arg_cmp conditions[] = {first, second};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 2, conditions);
}

/* Allows the call when argument has one of values, a list ended by END. */
#define END UINT64_MAX
static int allow_values(scmp_filter_ctx filter, int call, unsigned argument, const uint64_t *values)
{
	int result = 0;

	for (; *values != END && result == 0; values++)
		result = allow(filter, call, equals(argument, *values));
	return result;
}

/* Answers with EAFNOSUPPORT what getaddrinfo asks, and lives without: the name service cache
 * and the kernel's list of addresses. */
static int refuse_families(scmp_filter_ctx filter, int call)
{
	static const uint64_t families[] = {AF_UNIX, AF_NETLINK};
	int result = 0;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && result == 0; i++) {
		struct scmp_arg_cmp condition = equals(0, families[i]);

		result = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), call, 1,
						&condition);
	}
	return result;
}

static int allow_prctl(scmp_filter_ctx filter, int call)
{
	static const uint64_t options[] = {
		PR_SET_NAME,	PR_SET_PDEATHSIG,    PR_GET_DUMPABLE,	  PR_GET_SECCOMP,
		PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, END,
	};
	int result = allow_values(filter, call, 0, options);

	return result < 0 ? result
			  : allow_both(filter, call, equals(0, PR_SET_DUMPABLE), equals(1, 0));
}

static int add_rules(scmp_filter_ctx filter, const struct sandbox_syscall *row)
{
	static const uint64_t internet[] = {AF_INET, AF_INET6, END};
	static const uint64_t signals[] = {SIGTERM, SIGKILL, END};
	static const uint64_t commands[] = {
		F_GETFD, F_SETFD,  F_GETFL,	F_SETFL,      F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS,
		F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ,    F_SETPIPE_SZ, END,
	};
	const struct scmp_arg_cmp not_executable = {2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0};
	int call = row->number;
	int result;

	switch ((enum sandbox_filter)row->filter) {
	case FILTER_NONE:
		return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 0, NULL);
	case FILTER_ERROR:
		return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), call, 0, NULL);
	case FILTER_SOCKET_UNIX:
		return allow(filter, call, equals(0, AF_UNIX));
	case FILTER_SOCKET_INET:
		result = allow_values(filter, call, 0, internet);
		return result < 0 ? result : refuse_families(filter, call);
	case FILTER_FORK:
		return allow(filter, call, equals(0, FORK_FLAGS));
	case FILTER_PRCTL:
		return allow_prctl(filter, call);
	case FILTER_FCNTL:
		return allow_values(filter, call, 1, commands);
	case FILTER_FIONREAD:
		return allow(filter, call, equals(1, FIONREAD));
	case FILTER_NO_EXEC:
		return allow(filter, call, not_executable);
	case FILTER_SELF:
		return allow(filter, call, equals(0, 0));
	case FILTER_SOCKET_OPTION:
		return allow_both(filter, call, equals(1, SOL_SOCKET), equals(2, SO_PASSCRED));
	case FILTER_KILL:
		return allow_values(filter, call, 1, signals);
	}
	return -EINVAL;
}

scmp_filter_ctx filter_build(const struct sandbox_profile *profile)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int result = filter ? seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
					       SCMP_ACT_KILL_PROCESS)
			    : -ENOMEM;

#ifdef KEELSON_SANITIZED
	for (size_t i = 0; i < sizeof(sanitizer_calls) / sizeof(sanitizer_calls[0]); i++)
		if (result == 0)
			result = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, sanitizer_calls[i],
							0, NULL);
#endif
	for (size_t i = 0; i < profile->syscall_rows && result == 0; i++) {
		const struct sandbox_syscall *row = &profile->syscalls[i];

		if (row->roles & (1U << profile->role))
			result = add_rules(filter, row);
#ifdef KEELSON_SANITIZED
		if (result == -EACCES || result == -EEXIST)
			result = 0; /* the list above has it already */
#endif
	}
	if (result == 0)
		return filter;
	seccomp_release(filter);
	return NULL;
}

int sandbox_export(enum sandbox_role role, int fd)
{
	scmp_filter_ctx filter = filter_build(sandbox_profile(role));
	int result = filter ? seccomp_export_pfc(filter, fd) : -EINVAL;

	seccomp_release(filter);
	return result;
}

/* Reads the program back from a socket: libseccomp writes to descriptors only, and these calls are
 * in the list of every process that has children to confine. */
static ssize_t compile(const struct sandbox_profile *profile, struct sock_filter *code, size_t size)
{
	scmp_filter_ctx filter = filter_build(profile);
	_cleanup_fd_ int in = -1;
	_cleanup_fd_ int out = -1;
	int pair[2];
	int result = filter ? 0 : -EINVAL;

	if (result == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		result = -errno;
	if (result == 0) {
		in = pair[0];
		out = pair[1];
		result = seccomp_export_bpf(filter, in);
		zfd_closep(&in);
	}
	seccomp_release(filter);
	return result < 0 ? result : zfd_read_all(out, code, size);
}

int filter_load(const struct sandbox_profile *profile)
{
	struct sock_filter code[PROGRAM_MAX];
	struct sock_fprog program = {.filter = code};
	ssize_t size = compile(profile, code, sizeof(code));
	long result;

	if (size < 0)
		return (int)size;
	program.len = (unsigned short)((size_t)size / sizeof(code[0]));
	/* With prctl a forking process needs one name less; but only seccomp(2) logs refusals. */
	if (profile->stacked)
		result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	else
		result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_TSYNC, &program);
	if (result != 0)
		return result < 0 ? -errno : -ESRCH; /* > 0: a thread that could not follow */
	return program.len;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a profile to a seccomp filter: native architecture only, the listed calls
 * with the rules for their arguments, and the end of the process for all else.
 * Runs in every process of Keelson, at its start.
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
#define VALUES_MAX  13
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* An argument must have one of some values. */
static const struct rule {
	enum sandbox_filter filter;
	uint16_t error; /* what the call is then answered with; 0 = allowed */
	uint8_t argument, count;
	uint64_t values[VALUES_MAX];
} rules[] = {
	{FILTER_SOCKET_UNIX, 0, 0, 1, {AF_UNIX}},
	{FILTER_SOCKET_INET, 0, 0, 2, {AF_INET, AF_INET6}},
	/* getaddrinfo asks the name service cache and for the kernel's addresses. */
	{FILTER_SOCKET_INET, EAFNOSUPPORT, 0, 2, {AF_UNIX, AF_NETLINK}},
	{FILTER_FORK, 0, 0, 1, {CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD}},
	{FILTER_PRCTL, 0, 0, 6,
	 {PR_SET_NAME, PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_GET_SECCOMP, PR_GET_DUMPABLE,
	  PR_GET_NO_NEW_PRIVS}},
	{FILTER_FCNTL, 0, 1, 13,
	 {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS, F_SETLK,
	  F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ, F_SETPIPE_SZ}},
	{FILTER_FIONREAD, 0, 1, 1, {FIONREAD}},
	{FILTER_SELF, 0, 0, 1, {0}},
	{FILTER_SOCKET_OPTION, 0, 2, 1, {SO_PASSCRED}},
	{FILTER_KILL, 0, 1, 3, {SIGTERM, SIGKILL, SIGHUP}},
};

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

static int add(scmp_filter_ctx filter, uint32_t action, int call,
	       const struct scmp_arg_cmp *condition)
{
	int result = seccomp_rule_add_array(filter, action, call, condition != NULL, condition);

#ifdef KEELSON_SANITIZED
	if (result == -EACCES || result == -EEXIST)
		return 0; /* the sanitizers have the call already */
#endif
	return result;
}

static int add_rules(scmp_filter_ctx filter, const struct sandbox_syscall *row)
{
	const struct scmp_arg_cmp not_executable = {2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0};
	int result = 0;

	if (row->filter == FILTER_NONE)
		return add(filter, SCMP_ACT_ALLOW, row->number, NULL);
	if (row->filter == FILTER_ERROR)
		return add(filter, SCMP_ACT_ERRNO(ENOSYS), row->number, NULL);
	if (row->filter == FILTER_NO_EXEC)
		return add(filter, SCMP_ACT_ALLOW, row->number, &not_executable);
	for (const struct rule *rule = rules; rule < rules + COUNT(rules); rule++) {
		uint32_t action = rule->error ? SCMP_ACT_ERRNO(rule->error) : SCMP_ACT_ALLOW;

		for (size_t i = 0; rule->filter == row->filter && i < rule->count; i++) {
			struct scmp_arg_cmp equal = {rule->argument, SCMP_CMP_EQ, rule->values[i],
						     0};

			if (result == 0)
				result = add(filter, action, row->number, &equal);
		}
	}
	return result;
}

scmp_filter_ctx filter_build(const struct sandbox_profile *profile)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

#ifdef KEELSON_SANITIZED
	for (size_t i = 0; i < COUNT(sanitizer_calls) && result == 0; i++)
		result = add(filter, SCMP_ACT_ALLOW, sanitizer_calls[i], NULL);
#endif
	for (size_t i = 0; i < profile->syscall_rows && result == 0; i++)
		if (profile->syscalls[i].roles & (1U << profile->role))
			result = add_rules(filter, &profile->syscalls[i]);
	if (result == 0)
		return filter;
	seccomp_release(filter);
	return NULL;
}

/* Reads the program back from a socket: libseccomp writes to descriptors only, and these calls are
 * in the list of every process that has children to confine.  Its size or a negative errno. */
static ssize_t compile(const struct sandbox_profile *profile, struct sock_filter *code, size_t size)
{
	scmp_filter_ctx filter = filter_build(profile);
	_cleanup_fd_ int in = -1;
	_cleanup_fd_ int out = -1;
	int pair[2];
	int result;

	if (!filter)
		return -EINVAL;
	result = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
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
	/* With prctl who forks needs one name less; but only seccomp(2) logs refusals. */
	if (profile->stacked)
		result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	else
		result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				 SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_TSYNC, &program);
	if (result < 0 || prctl(PR_GET_SECCOMP) != SECCOMP_MODE_FILTER)
		return result < 0 ? -errno : -EPERM;
	return result == 0 ? program.len : -EBUSY; /* > 0: a thread that could not follow */
}

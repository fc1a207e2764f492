/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second step of a process's sandbox, taken by the process itself: limits,
 * dumpable, no_new_privs, Landlock, seccomp; then it reads back from the kernel
 * what it has, and reports it on the board.  Runs in every process of Keelson.
 */
#include "policy/profile.h"
#include "common/zbuf.h"
#include "common/zfd.h"
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct sandbox_profile *sandbox_profile(enum sandbox_role role)
{
	static const struct sandbox_profile *const profiles[SANDBOX_ROLE_COUNT] = {
		[SANDBOX_LAUNCHER] = &launcher_profile,
		[SANDBOX_DOCKER] = &docker_profile,
		[SANDBOX_DOCKER_SERVER] = &docker_server_profile,
		[SANDBOX_DISPATCHER] = &dispatcher_profile,
		[SANDBOX_PUBLISHER] = &publisher_profile,
		[SANDBOX_WORKER] = &worker_profile,
	};

	return profiles[role];
}

size_t sandbox_syscall_count(const struct sandbox_profile *profile)
{
	size_t count = 0;

	for (size_t i = 0; i < profile->syscall_rows; i++)
		count += profile->syscalls[i].roles & (1U << profile->role) &&
			 profile->syscalls[i].filter != FILTER_ERROR;
	return count;
}

/* Lowers a limit, soft and hard; one that is lower already stays. */
static int limit(int resource, uint64_t value)
{
	struct rlimit now;

	if (value == UINT64_MAX)
		return 0;
	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return -errno;
	if (now.rlim_max > value)
		now.rlim_max = value;
	now.rlim_cur = now.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &now) < 0 ? -errno : 0;
}

static int lower_limits(const struct sandbox_profile *profile, uint64_t file_size)
{
	int result = limit(RLIMIT_CORE, 0);

	if (result == 0)
		result = limit(RLIMIT_NOFILE, profile->nofile);
	if (result == 0)
		result = limit(RLIMIT_NPROC, profile->nproc);
#ifndef KEELSON_SANITIZED /* shadow memory is terabytes of address space */
	if (result == 0)
		result = limit(RLIMIT_AS, profile->address_space);
#endif
	if (result == 0)
		result = limit(RLIMIT_FSIZE, file_size ? file_size : profile->file_size);
	return result;
}

/* Facts of the kernel about this process. */
struct facts {
	uid_t uid;
	uint64_t capabilities; /* permitted, effective and inheritable together */
};

/*
 * In a process that has no file at hand, and few system calls left, the owner of
 * a new socket tells the user that the kernel takes it for.
 */
static int read_user(struct facts *facts)
{
	_cleanup_fd_ int first = -1;
	_cleanup_fd_ int second = -1;
	struct stat status;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	first = pair[0];
	second = pair[1];
	if (fstat(first, &status) < 0)
		return -errno;
	facts->uid = status.st_uid;
	return 0;
}

static int read_facts(const struct sandbox_profile *profile, struct facts *facts)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uid_t real, effective, saved;

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	facts->capabilities = data[0].permitted | data[0].effective | data[0].inheritable;
	facts->capabilities |=
		(uint64_t)(data[1].permitted | data[1].effective | data[1].inheritable) << 32;
	if (profile->stacked) /* its parent has proven the rest, and can't have changed it */
		return read_user(facts);
	if (getresuid(&real, &effective, &saved) < 0)
		return -errno;
	facts->uid = real;
	return real == effective && real == saved ? 0 : -EPERM;
}

/* Only the launcher is root, and only the launcher has a capability: to end its children. */
static int judge(const struct sandbox_profile *profile, const struct facts *facts, struct zerr *err)
{
	uint64_t allowed =
		profile->role == SANDBOX_LAUNCHER ? UINT64_C(1) << CAP_KILL : UINT64_C(0);

	if (facts->capabilities & ~allowed)
		return zerr_set(err, -EPERM, "sandbox %s: it still has capabilities %llx",
				profile->name, (unsigned long long)facts->capabilities);
	if (profile->role != SANDBOX_LAUNCHER && facts->uid == 0)
		return zerr_set(err, -EPERM, "sandbox %s: it is still root", profile->name);
	return 0;
}

static void report(const struct sandbox_profile *profile, const struct sandbox_slot *facts,
		   struct sandbox_board *board)
{
	for (size_t i = 0; board && i < SANDBOX_BOARD_SLOTS; i++) {
		struct sandbox_slot *slot = &board->slots[i];
		uint32_t is_free = 0;

		if (!__atomic_compare_exchange_n(&slot->pid, &is_free, facts->pid, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		*slot = *facts;
		(void)zstr_copy(zstr_from(profile->name), slot->role, sizeof(slot->role));
		return;
	}
	/* A full board hides a process from `keelson doctor`, which then complains; no more. */
}

/* What can be changed without seccomp and Landlock. */
static int prepare(const struct sandbox_profile *profile, const struct sandbox_confine *confine,
		   struct zerr *err)
{
	int result;

	if (sandbox_syscall_count(profile) > profile->syscall_max)
		return zerr_set(err, -E2BIG, "sandbox %s: more than %zu system calls",
				profile->name, profile->syscall_max);
	/* A file at its limit is an error of write(2) that has its answer, not the end. */
	if (!profile->stacked && signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return zerr_errno(err, -errno, "sandbox %s: SIGXFSZ", profile->name);
	result = lower_limits(profile, confine->file_size_max);
	if (result < 0)
		return zerr_errno(err, result, "sandbox %s: limits", profile->name);
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_GET_DUMPABLE) != 0)
		return zerr_set(err, -EPERM, "sandbox %s: dumpable", profile->name);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return zerr_set(err, -EPERM, "sandbox %s: no_new_privs", profile->name);
	return 0;
}

int sandbox_confine(enum sandbox_role role, const struct sandbox_confine *confine, struct zerr *err)
{
	const struct sandbox_profile *profile = sandbox_profile(role);
	struct sandbox_slot slot = {.pid = (uint32_t)getpid()};
	struct facts facts = {0};
	int result = prepare(profile, confine, err);
	int abi = profile->landlock_inherited ? -1 : 0;

	if (result < 0)
		return result;
	result = read_facts(profile, &facts);
	if (result < 0)
		return zerr_errno(err, result, "sandbox %s: uid and capabilities", profile->name);
	result = judge(profile, &facts, err);
	if (result == 0 && !profile->landlock_inherited)
		result = abi = landlock_confine(profile, confine, err);
	if (result < 0)
		return result;
	result = filter_load(profile);
	if (result < 0)
		return zerr_errno(err, result, "sandbox %s: seccomp", profile->name);
	if (prctl(PR_GET_SECCOMP) != 2)
		return zerr_set(err, -EPERM, "sandbox %s: no filter in force", profile->name);
	slot.uid = facts.uid;
	slot.capabilities = facts.capabilities;
	slot.syscalls = (uint32_t)sandbox_syscall_count(profile);
	slot.instructions = (uint32_t)result;
	slot.landlock_abi = abi;
	report(profile, &slot, confine->board);
	return 0;
}

int sandbox_board_map(int fd, struct sandbox_board **board)
{
	struct stat status;
	void *page;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size < (off_t)sizeof(**board))
		return -EINVAL;
	page = mmap(NULL, sizeof(**board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	*board = page;
	return 0;
}

void sandbox_board_leave(struct sandbox_board *board, pid_t pid)
{
	for (size_t i = 0; board && i < SANDBOX_BOARD_SLOTS; i++) {
		uint32_t expected = (uint32_t)pid;

		if (__atomic_compare_exchange_n(&board->slots[i].pid, &expected, 0, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second step of a process's sandbox, taken by the process itself: limits,
 * dumpable, no_new_privs, Landlock, seccomp; it reads back from the kernel what it
 * has, and reports it on the board.  Runs in every process of Keelson.
 */
#include "common/zbuf.h"
#include "common/zfd.h"
#include "policy/profile.h"
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
		&launcher_profile,   &docker_profile,	 &docker_server_profile,
		&dispatcher_profile, &publisher_profile, &worker_profile,
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
static int lower(__rlimit_resource_t resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return -errno;
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	limit.rlim_cur = limit.rlim_max;
	return value != UINT64_MAX && setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static int lower_limits(const struct sandbox_profile *profile, uint64_t file_size)
{
	const struct {
		__rlimit_resource_t resource;
		uint64_t value;
	} limits[] = {
		{RLIMIT_CORE, 0},
		{RLIMIT_NOFILE, profile->nofile},
		{RLIMIT_NPROC, profile->nproc},
		{RLIMIT_FSIZE, file_size ? file_size : profile->file_size},
#ifndef KEELSON_SANITIZED /* their shadow memory is terabytes of address space */
		{RLIMIT_AS, profile->address_space},
#endif
	};
	int result = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]) && result == 0; i++)
		result = lower(limits[i].resource, limits[i].value);
	return result;
}

/* Few system calls are left to a process whose parent is confined: the owner of a new socket tells
 * which user the kernel takes it for. */
static int read_user(uid_t *user)
{
	_cleanup_fd_ int first = -1, second = -1;
	struct stat status;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	first = pair[0];
	second = pair[1];
	if (fstat(first, &status) < 0)
		return -errno;
	*user = status.st_uid;
	return 0;
}

/* Fills the slot with what the kernel says about user and capabilities. */
static int read_facts(const struct sandbox_profile *profile, struct sandbox_slot *slot)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uid_t real, effective, saved;

	if (syscall(SYS_capget, &header, data) < 0 || read_user(&slot->uid) < 0)
		return -errno;
	for (unsigned i = 0; i < 2; i++)
		slot->capabilities |= (uint64_t)(data[i].permitted | data[i].effective |
						 data[i].inheritable) << (32 * i);
	if (profile->stacked) /* which list has no getresuid; its parent has asked */
		return 0;
	if (getresuid(&real, &effective, &saved) < 0)
		return -errno;
	return real == slot->uid && saved == slot->uid ? 0 : -EPERM;
}

/* -EPERM when the role must not run like this. */
static int prove(const struct sandbox_profile *profile, struct sandbox_slot *slot, struct zerr *err)
{
	int result = read_facts(profile, slot);

	if (result < 0)
		return zerr_errno(err, result, "%s: uid and capabilities", profile->name);
	if (slot->capabilities & ~profile->capabilities ||
	    (slot->uid == 0 && profile->capabilities == 0))
		return zerr_set(err, -EPERM, "%s: it has uid %u and capabilities %llx",
				profile->name, slot->uid, (unsigned long long)slot->capabilities);
	if (prctl(PR_GET_DUMPABLE) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return zerr_set(err, -EPERM, "%s: it is dumpable, or no_new_privs is off",
				profile->name);
	return 0;
}

/* A full board hides a process from `keelson doctor`, which then complains; no more. */
static void report(const struct sandbox_slot *facts, struct sandbox_board *board)
{
	for (size_t i = 0; board && i < SANDBOX_BOARD_SLOTS; i++) {
		uint32_t is_free = 0;

		if (!__atomic_compare_exchange_n(&board->slots[i].pid, &is_free, facts->pid, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		board->slots[i] = *facts;
		return;
	}
}

/* What a confined parent has done for its children too. */
static int close_doors(const struct sandbox_profile *profile)
{
	/* A file at its limit is then an error of write(2), which has its answer, and not the end. */
	if (profile->stacked)
		return 0;
	return signal(SIGXFSZ, SIG_IGN) == SIG_ERR || prctl(PR_SET_DUMPABLE, 0) < 0 ||
			       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		       ? -errno
		       : 0;
}

int sandbox_confine(enum sandbox_role role, const struct sandbox_confine *confine, struct zerr *err)
{
	const struct sandbox_profile *profile = sandbox_profile(role);
	struct sandbox_slot slot = {.pid = (uint32_t)getpid(), .landlock_abi = -1};
	int result;

	slot.syscalls = (uint32_t)sandbox_syscall_count(profile);
	(void)zstr_copy(zstr_from(profile->name), slot.role, sizeof(slot.role)); /* they fit */
	if (slot.syscalls > profile->syscall_max)
		return zerr_set(err, -E2BIG, "%s: too many system calls", profile->name);
	result = close_doors(profile);
	if (result == 0)
		result = lower_limits(profile, confine->file_size_max);
	if (result < 0)
		return zerr_errno(err, result, "%s: limits", profile->name);
	result = prove(profile, &slot, err);
	if (result < 0)
		return result;
	if (!profile->landlock_inherited) {
		result = landlock_confine(profile, confine, err);
		if (result < 0)
			return result;
		slot.landlock_abi = result;
	}
	result = filter_load(profile);
	if (result < 0)
		return zerr_errno(err, result, "%s: seccomp", profile->name);
	slot.instructions = (uint32_t)result;
	report(&slot, confine->board);
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

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

	if (value == UINT64_MAX)
		return 0;
	if (getrlimit(resource, &limit) < 0)
		return -1;
	if (limit.rlim_max > value)
		limit.rlim_max = value;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

/* What a confined parent has done for its children is passed over: they lack the calls for it. */
static int close_doors(const struct sandbox_profile *profile, uint64_t file_size)
{
	/* A file at its limit is then an error of write(2), which has its answer, and not the end.
	 */
	if (!profile->stacked &&
	    (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	     prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
		return -errno;
#ifndef KEELSON_SANITIZED /* their shadow memory is terabytes of address space */
	if (lower(RLIMIT_AS, profile->address_space) < 0)
		return -errno;
#endif
	if (lower(RLIMIT_CORE, 0) < 0 || lower(RLIMIT_NOFILE, profile->nofile) < 0 ||
	    lower(RLIMIT_NPROC, profile->nproc) < 0 ||
	    lower(RLIMIT_FSIZE, file_size ? file_size : profile->file_size) < 0)
		return -errno;
	return 0;
}

/* Few system calls are left to a process whose parent is confined: the owner of a new socket tells
 * which user the kernel takes it for. */
static int read_user(uid_t *user)
{
	struct stat status;
	int pair[2], result;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	result = fstat(pair[0], &status) < 0 ? -errno : 0;
	zfd_closep(&pair[0]);
	zfd_closep(&pair[1]);
	if (result == 0)
		*user = status.st_uid;
	return result;
}

/* Fills the slot with what the kernel says; -EPERM when the role must not run like this. */
static int prove(const struct sandbox_profile *profile, struct sandbox_slot *slot, struct zerr *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	int result = syscall(SYS_capget, &header, data) < 0 ? -errno : read_user(&slot->uid);

	if (result < 0)
		return zerr_errno(err, result, "%s: uid and capabilities", profile->name);
	for (unsigned i = 0; i < 2; i++)
		slot->capabilities |=
			(uint64_t)(data[i].permitted | data[i].effective | data[i].inheritable)
			<< (32 * i);
	if (slot->capabilities & ~profile->capabilities ||
	    (slot->uid == 0 && profile->capabilities == 0))
		return zerr_set(err, -EPERM, "%s: it has uid %u and capabilities %llx",
				profile->name, slot->uid, (unsigned long long)slot->capabilities);
	if (prctl(PR_GET_DUMPABLE) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return zerr_set(err, -EPERM, "%s: it is dumpable, or no_new_privs is off",
				profile->name);
	return 0;
}

/* Gives the slot of one pid, or a free one (0), to another.  NULL when there is none. */
static struct sandbox_slot *hand_over(struct sandbox_board *board, uint32_t from, uint32_t to)
{
	for (size_t i = 0; board && i < SANDBOX_BOARD_SLOTS; i++) {
		uint32_t expected = from;

		if (__atomic_compare_exchange_n(&board->slots[i].pid, &expected, to, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return &board->slots[i];
	}
	return NULL;
}

int sandbox_confine(enum sandbox_role role, const struct sandbox_confine *confine, struct zerr *err)
{
	const struct sandbox_profile *profile = sandbox_profile(role);
	struct sandbox_slot slot = {.pid = (uint32_t)getpid(), .landlock_abi = -1};
	struct sandbox_slot *place;
	int result;

	slot.syscalls = (uint32_t)sandbox_syscall_count(profile);
	(void)zstr_copy(zstr_from(profile->name), slot.role, sizeof(slot.role)); /* they fit */
	if (slot.syscalls > profile->syscall_max)
		return zerr_set(err, -E2BIG, "%s: too many system calls", profile->name);
	result = close_doors(profile, confine->file_size_max);
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
	/* A full board hides a process from `keelson doctor`, which then complains; no more. */
	place = hand_over(confine->board, 0, slot.pid);
	if (place)
		*place = slot;
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
	(void)hand_over(board, (uint32_t)pid, 0); /* who never reported has no slot */
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first step of a process's sandbox: a child of the launcher gives up, in
 * this order, descriptors, its view of files and network, its user and groups,
 * and its capabilities; then it tries to get them back.
 */
#include "common/zfd.h"
#include "policy/view.h"
#include <cap-ng.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A uid of 0 has no power of its own, a change of uid changes no capability, and none of this can be
 * taken back: capabilities are what is set here, and nothing else. */
#define SECURE_BITS                                                                        \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                   \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |                         \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

#define CAPABILITY_MAX 63
#define GROUPS_MAX     32

/* 0 becomes /dev/null; 1 and 2 too where the caller left them closed. */
static int standard_descriptors(void)
{
	_cleanup_fd_ int null = -1;

	for (int fd = 0; fd <= 2; fd++) {
		if (fd > 0 && fcntl(fd, F_GETFD) >= 0)
			continue;
		if (null < 0)
			null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0)
			return -errno;
		if (null == fd) { /* the lowest free number: it is in its place already */
			if (fcntl(TAKE_FD(null), F_SETFD, 0) < 0)
				return -errno;
		} else if (dup2(null, fd) < 0) {
			return -errno;
		}
	}
	return 0;
}

/* Closes all but 0 to 2 and keep; -EBADF when one of keep is not open or not in order. */
static int close_others(const int *keep, size_t count)
{
	unsigned next = 3;

	for (size_t i = 0; i < count; i++) {
		if (keep[i] < (int)next || fcntl(keep[i], F_GETFD) < 0)
			return -EBADF;
		if ((unsigned)keep[i] > next && close_range(next, (unsigned)keep[i] - 1, 0) < 0)
			return -errno;
		next = (unsigned)keep[i] + 1;
	}
	return close_range(next, ~0U, 0) < 0 ? -errno : 0;
}

static int change_user(const struct sandbox_drop *drop)
{
	if (prctl(PR_SET_SECUREBITS, SECURE_BITS) < 0)
		return -errno;
	if (setgroups(drop->group_count, drop->groups) < 0 ||
	    setresgid(drop->gid, drop->gid, drop->gid) < 0 ||
	    setresuid(drop->uid, drop->uid, drop->uid) < 0)
		return -errno;
	return 0;
}

static int set_capabilities(uint64_t wanted)
{
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned capability = 0; capability <= CAPABILITY_MAX; capability++) {
		if (!(wanted & (UINT64_C(1) << capability)))
			continue;
		if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
				 capability) < 0)
			return -EINVAL;
	}
	return capng_apply(CAPNG_SELECT_ALL) < 0 ? -EPERM : 0;
}

/* The five sets, asked from the kernel one by one. */
static bool capabilities_are(uint64_t wanted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uint32_t low = (uint32_t)wanted, high = (uint32_t)(wanted >> 32);

	if (syscall(SYS_capget, &header, data) < 0 || data[0].effective != low || data[1].effective != high ||
	    data[0].permitted != low || data[1].permitted != high || data[0].inheritable != 0 ||
	    data[1].inheritable != 0)
		return false;
	for (unsigned long capability = 0; capability <= CAPABILITY_MAX; capability++) {
		int bounding = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);

		if (bounding < 0) /* beyond the last one that this kernel knows */
			break;
		if (bounding != (int)(wanted >> capability & 1) ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) != 0)
			return false;
	}
	return prctl(PR_GET_SECUREBITS) == SECURE_BITS;
}

static bool groups_are(const gid_t *groups, size_t count)
{
	gid_t now[GROUPS_MAX];
	int found = getgroups(GROUPS_MAX, now);

	if (found < 0 || (size_t)found != count)
		return false;
	/* The kernel sorts them. */
	for (size_t i = 0; i < count; i++) {
		bool member = false;

		for (int j = 0; j < found; j++)
			member |= now[j] == groups[i];
		if (!member)
			return false;
	}
	return true;
}

/* False if the process could become root again, or anything is not as it was asked for. */
static bool user_is(const struct sandbox_drop *drop)
{
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || getresgid(&gid[0], &gid[1], &gid[2]) < 0)
		return false;
	for (size_t i = 0; i < 3; i++)
		if (uid[i] != drop->uid || gid[i] != drop->gid)
			return false;
	if (!groups_are(drop->groups, drop->group_count))
		return false;
	if (!(drop->capabilities & (UINT64_C(1) << CAP_SETGID)) &&
	    (setgroups(0, NULL) == 0 || (drop->gid != 0 && setresgid(0, 0, 0) == 0)))
		return false;
	return drop->uid == 0 || drop->capabilities & (UINT64_C(1) << CAP_SETUID) ||
	       (setresuid(0, 0, 0) < 0 && setresuid((uid_t)-1, 0, (uid_t)-1) < 0);
}

static int verify(const struct sandbox_drop *drop, struct zerr *err)
{
	if (!capabilities_are(drop->capabilities))
		return zerr_set(err, -EPERM, "sandbox: capabilities are not as asked for");
	if (!user_is(drop))
		return zerr_set(err, -EPERM, "sandbox: user and groups are not as asked for");
	/* A change of user makes a process dumpable or not as the host's sysctl says. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_GET_DUMPABLE) != 0)
		return zerr_set(err, -EPERM, "sandbox: dumpable");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return zerr_errno(err, -errno, "sandbox: no_new_privs");
	return 0;
}

int sandbox_drop(const struct sandbox_drop *drop, struct zerr *err)
{
	int result = close_others(drop->keep, drop->keep_count);

	if (result < 0)
		return zerr_errno(err, result, "sandbox: descriptors");
	result = standard_descriptors();
	if (result < 0)
		return zerr_errno(err, result, "sandbox: standard descriptors");
	(void)umask(077); /* cannot fail */
	result = view_enter(drop, err);
	if (result < 0)
		return result;
	result = change_user(drop);
	if (result < 0)
		return zerr_errno(err, result, "sandbox: user %u", drop->uid);
	result = set_capabilities(drop->capabilities);
	if (result < 0)
		return zerr_errno(err, result, "sandbox: capabilities");
	return verify(drop, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first step of a process's sandbox: a child of the launcher gives up, in
 * this order, descriptors, its view of files and network, its user and groups,
 * and its capabilities; then it tries to get them back.
 */
#include "common/zfd.h"
#include "policy/profile.h"
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

/* uid 0 has no power of its own, a change of uid changes no capability, and none of this can be
 * taken back: capabilities are what is set here, and nothing else. */
#define SECURE_BITS                                                                                \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |   \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)
#define HAS(set, capability) (((set) >> (capability)) & 1)
#define CAPABILITY_MAX	     63

/* Closes all but 0 to 2 and keep; 0 becomes /dev/null, and so do 1 and 2 if they are not open. */
static int set_descriptors(const int *keep, size_t count)
{
	unsigned next = 3;

	for (size_t i = 0; i < count; i++) {
		if (keep[i] < (int)next || fcntl(keep[i], F_GETFD) < 0)
			return -EBADF;
		if ((unsigned)keep[i] > next && close_range(next, (unsigned)keep[i] - 1, 0) < 0)
			return -errno;
		next = (unsigned)keep[i] + 1;
	}
	(void)close(0); /* it may be closed already */
	if (close_range(next, ~0U, 0) < 0 || open("/dev/null", O_RDWR) != 0)
		return -errno;
	for (int fd = 1; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && dup2(0, fd) < 0)
			return -errno;
	return 0;
}

static int change_user(const struct sandbox_drop *drop)
{
	return prctl(PR_SET_SECUREBITS, SECURE_BITS) < 0 ||
			       setgroups(drop->group_count, drop->groups) < 0 ||
			       setresgid(drop->gid, drop->gid, drop->gid) < 0 ||
			       setresuid(drop->uid, drop->uid, drop->uid) < 0
		       ? -errno
		       : 0;
}

static int set_capabilities(uint64_t wanted)
{
	capng_clear(CAPNG_SELECT_ALL);
	for (unsigned capability = 0; capability <= CAPABILITY_MAX; capability++)
		if (HAS(wanted, capability) &&
		    capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET,
				 capability) < 0)
			return -EINVAL;
	return capng_apply(CAPNG_SELECT_ALL) < 0 ? -EPERM : 0;
}

/* The five sets, asked from the kernel one by one. */
static bool capabilities_are(uint64_t wanted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (data[i].effective != (uint32_t)(wanted >> (32 * i)) ||
		    data[i].permitted != data[i].effective || data[i].inheritable != 0)
			return false;
	for (unsigned long capability = 0; capability <= CAPABILITY_MAX; capability++) {
		int bounding = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);

		if (bounding >= 0 && /* this kernel knows it */
		    (bounding != (int)HAS(wanted, capability) ||
		     prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) != 0))
			return false;
	}
	return prctl(PR_GET_SECUREBITS) == SECURE_BITS;
}

static bool user_is(const struct sandbox_drop *drop)
{
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || getresgid(&gid[0], &gid[1], &gid[2]) < 0)
		return false;
	for (size_t i = 0; i < 3; i++)
		if (uid[i] != drop->uid || gid[i] != drop->gid)
			return false;
	return getgroups(0, NULL) == (int)drop->group_count;
}

/* Tries to become root again, or to change groups. */
static bool can_go_back(const struct sandbox_drop *drop)
{
	bool groups = !HAS(drop->capabilities, CAP_SETGID);
	bool users = !HAS(drop->capabilities, CAP_SETUID) && drop->uid != 0;

	return (groups && setgroups(0, NULL) == 0) ||
	       (groups && drop->gid != 0 && setresgid(0, 0, 0) == 0) ||
	       (users && setresuid(0, 0, 0) == 0);
}

int sandbox_drop(const struct sandbox_drop *drop, struct zerr *err)
{
	int result = set_descriptors(drop->keep, drop->keep_count);

	if (result < 0)
		return zerr_errno(err, result, "sandbox: descriptors");
	(void)umask(077); /* cannot fail */
	result = view_enter(drop, err);
	if (result < 0)
		return result;
	result = change_user(drop);
	if (result == 0)
		result = set_capabilities(drop->capabilities);
	if (result < 0)
		return zerr_errno(err, result, "sandbox: user %u and capabilities", drop->uid);
	/* A change of user makes a process dumpable or not as the host's sysctl says. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return zerr_errno(err, -errno, "sandbox: dumpable, no_new_privs");
	if (!capabilities_are(drop->capabilities) || !user_is(drop) || can_go_back(drop) ||
	    prctl(PR_GET_DUMPABLE) != 0)
		return zerr_set(err, -EPERM, "sandbox: user %u: it has more than was asked for",
				drop->uid);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process sees of the file system and the network: an empty tree with one
 * folder, or the host's tree read-only.  Runs in the launcher's children while
 * they are root and have read nothing.
 */
#include "policy/view.h"
#include "common/zfd.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_TRICKS    (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define LOCKED_DOWN  (MOUNT_ATTR_RDONLY | NO_TRICKS)
#define WRITABLE_MAX 8

/* A mount of the folder alone, attached nowhere yet.  Owned descriptor or a negative errno. */
static int copy_folder(const char *path, uint64_t attributes)
{
	struct mount_attr change = {.attr_set = attributes};
	_cleanup_fd_ int folder =
		open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (folder < 0 ||
	    mount_setattr(folder, "", AT_EMPTY_PATH, &change, sizeof(change)) < 0)
		return -errno;
	return TAKE_FD(folder);
}

static int attach(int mount, int folder, const char *path)
{
	return move_mount(mount, "", folder, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* An empty tmpfs.  Owned descriptor or a negative errno. */
static int empty_tree(void)
{
	_cleanup_fd_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int mount;

	if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "mode", "0555", 0) < 0 ||
	    fsconfig(context, FSCONFIG_SET_STRING, "size", "64k", 0) < 0 ||
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = fsmount(context, FSMOUNT_CLOEXEC, NO_TRICKS);
	return mount < 0 ? -errno : mount;
}

/* Fills the tree: the folder at point, and nothing may be written.  point begins with '/'. */
static int furnish(int tree, int folder, const char *point)
{
	struct mount_attr change = {.attr_set = LOCKED_DOWN};

	/* mkdir minds the umask; the process that comes here is not root any more. */
	if (mkdirat(tree, point + 1, 0755) < 0 || fchmodat(tree, point + 1, 0555, 0) < 0)
		return -errno;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &change, sizeof(change)) < 0)
		return -errno;
	return attach(folder, tree, point + 1);
}

/* The new root goes over the old one, then takes its place; the old one is let go with all below it. */
static int enter(int tree)
{
	int result = attach(tree, AT_FDCWD, "/");

	if (result < 0)
		return result;
	if (fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

static int only_folder(const struct sandbox_drop *drop, struct zerr *err)
{
	_cleanup_fd_ int folder = copy_folder(drop->only_directory, LOCKED_DOWN);
	_cleanup_fd_ int tree = -1;
	int result = folder;

	if (result < 0)
		return zerr_errno(err, result, "sandbox: folder %s", drop->only_directory);
	tree = result = empty_tree();
	if (result >= 0)
		result = furnish(tree, folder, drop->engine_mount);
	if (result >= 0)
		result = enter(tree);
	return result < 0 ? zerr_errno(err, result, "sandbox: empty tree") : 0;
}

static int read_only(const struct sandbox_drop *drop, struct zerr *err)
{
	struct mount_attr change = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
	const char *const *path = drop->writable;
	int folders[WRITABLE_MAX];
	size_t count = 0;
	int result = 0;

	/* Copied while they are writable; all is attached, or the process ends and the kernel tidies up. */
	for (; path && path[count] && result >= 0; count++) {
		if (count == WRITABLE_MAX)
			return zerr_set(err, -E2BIG, "sandbox: too many writable folders");
		folders[count] = result = copy_folder(path[count], NO_TRICKS);
		if (result < 0)
			return zerr_errno(err, result, "sandbox: folder %s", path[count]);
	}
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &change, sizeof(change)) < 0)
		return zerr_errno(err, -errno, "sandbox: read-only view");
	for (size_t i = 0; i < count; i++) {
		result = attach(folders[i], AT_FDCWD, path[i]);
		zfd_closep(&folders[i]);
		if (result < 0)
			return zerr_errno(err, result, "sandbox: folder %s", path[i]);
	}
	return chdir("/") < 0 ? zerr_errno(err, -errno, "sandbox: chdir /") : 0;
}

int view_enter(const struct sandbox_drop *drop, struct zerr *err)
{
	struct mount_attr change = {.propagation = MS_PRIVATE};
	bool mounts = drop->only_directory || drop->read_only_view;
	int flags = (mounts ? CLONE_NEWNS : 0) | (drop->private_network ? CLONE_NEWNET : 0);

	if (flags && unshare(flags) < 0)
		return zerr_errno(err, -errno, "sandbox: new namespaces");
	if (!mounts)
		return 0;
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &change, sizeof(change)) < 0)
		return zerr_errno(err, -errno, "sandbox: private mounts");
	return drop->only_directory ? only_folder(drop, err) : read_only(drop, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process sees of the file system and the network: an empty tree with one
 * folder, or the host's tree read-only.  Runs in the launcher's children while
 * they are root and have read nothing.
 */
#include "common/zfd.h"
#include "policy/profile.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_TRICKS    (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define LOCKED_DOWN  (MOUNT_ATTR_RDONLY | NO_TRICKS)
#define WRITABLE_MAX 8

static int change(int mount, const char *path, unsigned flags, struct mount_attr what)
{
	return mount_setattr(mount, path, flags, &what, sizeof(what)) < 0 ? -errno : 0;
}

/* A mount of the folder alone, attached nowhere yet.  Owned descriptor or a negative errno. */
static int copy_folder(const char *path, uint64_t attributes)
{
	_cleanup_fd_ int folder = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int result = folder < 0 ? -errno
				: change(folder, "", AT_EMPTY_PATH,
					 (struct mount_attr){.attr_set = attributes});

	return result < 0 ? result : TAKE_FD(folder);
}

static int attach(int mount, int folder, const char *path)
{
	return move_mount(mount, "", folder, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

/* An empty tmpfs.  Owned descriptor or a negative errno. */
static int empty_tree(void)
{
	_cleanup_fd_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int mount = -1;

	if (context >= 0 && fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount = fsmount(context, FSMOUNT_CLOEXEC, NO_TRICKS);
	return mount < 0 ? -errno : mount;
}

static int only_folder(const char *path, const char *point)
{
	_cleanup_fd_ int folder = copy_folder(path, LOCKED_DOWN);
	_cleanup_fd_ int tree = folder < 0 ? folder : empty_tree();
	int result;

	if (tree < 0)
		return tree;
	/* mkdir minds the umask, and who comes here is not root any more. */
	if (mkdirat(tree, point + 1, 0755) < 0 || fchmodat(tree, point + 1, 0555, 0) < 0)
		return -errno;
	result = change(tree, "", AT_EMPTY_PATH, (struct mount_attr){.attr_set = LOCKED_DOWN});
	if (result == 0)
		result = attach(folder, tree, point + 1);
	/* The new root goes over the old one and takes its place; the old one is let go, with all
	 * that is below. */
	if (result == 0)
		result = attach(tree, AT_FDCWD, "/");
	if (result == 0 && (fchdir(tree) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
			    umount2(".", MNT_DETACH) < 0))
		result = -errno;
	return result;
}

static int read_only(const char *const *writable)
{
	const struct mount_attr closed = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
	int folders[WRITABLE_MAX]; /* on an error the process ends, and the kernel tidies up */
	size_t count = 0;
	int result = 0;

	/* Copied while they can be written. */
	for (; writable && writable[count] && result >= 0; count++) {
		if (count == WRITABLE_MAX)
			return -E2BIG;
		folders[count] = result = copy_folder(writable[count], NO_TRICKS);
	}
	if (result >= 0)
		result = change(AT_FDCWD, "/", AT_RECURSIVE, closed);
	for (size_t i = 0; i < count && result >= 0; i++) {
		result = attach(folders[i], AT_FDCWD, writable[i]);
		zfd_closep(&folders[i]);
	}
	return result;
}

int view_enter(const struct sandbox_drop *drop, struct zerr *err)
{
	const struct mount_attr private = {.propagation = MS_PRIVATE};
	bool mounts = drop->only_directory || drop->read_only_view;
	int result = 0;

	if (unshare((mounts ? CLONE_NEWNS : 0) | (drop->private_network ? CLONE_NEWNET : 0)) < 0)
		return zerr_errno(err, -errno, "sandbox: new namespaces");
	if (mounts)
		result = change(AT_FDCWD, "/", AT_RECURSIVE, private);
	if (mounts && result == 0)
		result = drop->only_directory
				 ? only_folder(drop->only_directory, drop->engine_mount)
				 : read_only(drop->writable);
	if (result == 0 && chdir("/") < 0)
		result = -errno;
	return result < 0 ? zerr_errno(err, result, "sandbox: view of the file system") : 0;
}

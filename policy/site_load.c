/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site policy file: who may have written it, and the accounts that it names,
 * from /etc/passwd and /etc/group (the name service is not asked).  Runs in the
 * launcher, as root, before anything else is read.
 */
#include "common/zfd.h"
#include "policy/site.h"
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES 65536

/* Nobody but root may change what was opened, or put something else in its place. */
static int check_owner(int fd, bool folder, const char *path, struct zerr *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return zerr_errno(err, -errno, "%s", path);
	if (!folder && !S_ISREG(status.st_mode))
		return zerr_set(err, -EINVAL, "%s: not a regular file", path);
	/* In a sticky folder others cannot touch an entry that is root's, and the next one is. */
	if (status.st_uid != 0 ||
	    (status.st_mode & (S_IWGRP | S_IWOTH) && !(folder && status.st_mode & S_ISVTX)))
		return zerr_set(err, -EPERM, "%s: %s must be root's and writable by nobody else",
				path, folder ? "every folder above it" : "it");
	return 0;
}

/* Follows no symbolic link, in no part of path.  Owned descriptor or a negative errno. */
static int open_checked(const char *path, struct zerr *err)
{
	_cleanup_fd_ int fd = open("/", O_PATH | O_CLOEXEC);
	const char *part = path + 1;
	int result = 0;

	if (!site_path_valid(path) || strlen(path) >= PATH_MAX)
		return zerr_set(err, -EINVAL, "%s: expected an absolute path", path);
	while (*part && result == 0) {
		size_t length = strcspn(part, "/");
		int how = part[length] ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
		char name[NAME_MAX + 1];
		int next;

		result = check_owner(fd, true, path, err);
		if (result < 0 || zstr_copy((struct zstr){part, length}, name, sizeof(name)) < 0)
			break;
		next = openat(fd, name, how | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return zerr_errno(err, -errno, "%s", path);
		zfd_closep(&fd);
		fd = next;
		part += length + (part[length] != '\0');
	}
	if (result == 0)
		result = check_owner(fd, false, path, err);
	return result < 0 ? result : TAKE_FD(fd);
}

/* The group of a user that is given by its number has the same number. */
static bool find_user(const char *name, uid_t *uid, gid_t *gid)
{
	_cleanup_file_ FILE *file = NULL;
	const struct passwd *entry;

	*gid = *uid;
	if (*uid == SITE_NOBODY)
		file = fopen("/etc/passwd", "re");
	while (file && (entry = fgetpwent(file)))
		if (strcmp(entry->pw_name, name) == 0) {
			*uid = entry->pw_uid;
			*gid = entry->pw_gid;
		}
	return *uid != SITE_NOBODY;
}

/* "" is the group of the engine's socket, if that is there already. */
static bool find_group(const char *name, const char *socket, gid_t *gid)
{
	_cleanup_file_ FILE *file = NULL;
	const struct group *entry;
	struct stat status;

	if (name[0] == '\0' && stat(socket, &status) == 0)
		*gid = status.st_gid;
	if (name[0] != '\0' && *gid == SITE_NOBODY)
		file = fopen("/etc/group", "re");
	while (file && (entry = fgetgrent(file)))
		if (strcmp(entry->gr_name, name) == 0)
			*gid = entry->gr_gid;
	return *gid != SITE_NOBODY;
}

static int find_accounts(const char *path, struct site_policy *policy, struct zerr *err)
{
	if (!find_user(policy->broker_user, &policy->broker_uid, &policy->broker_gid) ||
	    !find_user(policy->docker_user, &policy->docker_uid, &policy->docker_gid))
		return zerr_set(err, -ENOENT, "%s: user %s or %s is not in /etc/passwd", path,
				policy->broker_user, policy->docker_user);
	if (!find_group(policy->docker_group, policy->docker_socket, &policy->docker_socket_gid))
		return zerr_set(err, -ENOENT, "%s: docker_group: %s", path,
				policy->docker_group[0] ? "not in /etc/group"
							: "not given, and there is no socket");
	if (policy->broker_uid == 0 || policy->broker_gid == 0 || policy->docker_uid == 0 ||
	    policy->broker_uid == policy->docker_uid)
		return zerr_set(err, -EINVAL,
				"%s: broker_user and docker_user must be two, and neither root",
				path);
	return 0;
}

int site_policy_load(const char *path, struct site_policy *policy, struct zerr *err)
{
	_cleanup_fd_ int file = open_checked(path, err);
	_cleanup_free_ char *text = NULL;
	ssize_t length;
	int result;

	if (file < 0)
		return file;
	text = malloc(FILE_MAX_BYTES);
	length = text ? zfd_read_all(file, text, FILE_MAX_BYTES) : -ENOMEM;
	if (length < 0)
		return zerr_errno(err, (int)length, "%s", path);
	result = site_policy_parse(path, text, (size_t)length, policy, err);
	return result < 0 ? result : find_accounts(path, policy, err);
}

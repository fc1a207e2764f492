/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: what of the file system, which TCP ports, and no signals or abstract
 * sockets outside, each as far as the kernel's ABI goes.
 */
#include "policy/landlock.h"
#include "common/zfd.h"
#include "policy/profile.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_RIGHTS  (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define WRITE_RIGHTS (LL_FS_WRITE_FILE | LL_FS_TRUNCATE | LL_FS_MAKE_REG | LL_FS_REMOVE_FILE)
#define FILE_RIGHTS  (LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_TRUNCATE)

static uint64_t fs_rights(int abi)
{
	if (abi >= 5)
		return LL_FS_ABI5;
	if (abi >= 3)
		return LL_FS_ABI3;
	return abi >= 2 ? LL_FS_ABI2 : LL_FS_ABI1;
}

static int add_path(int ruleset, uint64_t handled, const struct sandbox_path *path)
{
	_cleanup_fd_ int fd = open(path->path, O_PATH | O_CLOEXEC);
	uint64_t allowed = path->writable ? READ_RIGHTS | WRITE_RIGHTS : READ_RIGHTS;
	struct ll_path_rule rule = {.parent = fd};
	struct stat status;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		allowed &= FILE_RIGHTS;
	rule.allowed = allowed & handled;
	if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH, &rule, 0) < 0)
		return -errno;
	return 0;
}

static int add_paths(int ruleset, uint64_t handled, const struct sandbox_path *path,
		     struct zerr *err)
{
	for (; path && path->path; path++) {
		int result = add_path(ruleset, handled, path);

		if (result < 0)
			return zerr_errno(err, result, "Landlock rule for %s", path->path);
	}
	return 0;
}

static int add_ports(int ruleset, const uint16_t *port, struct zerr *err)
{
	for (; port && *port; port++) {
		struct ll_port_rule rule = {.allowed = LL_NET_CONNECT_TCP, .port = *port};

		if (syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PORT, &rule, 0) < 0)
			return zerr_errno(err, -errno, "Landlock rule for port %u", *port);
	}
	return 0;
}

/* The root folder is never among the paths: if it can be listed, no rule is in force. */
static int prove(const struct sandbox_profile *profile, struct zerr *err)
{
	_cleanup_fd_ int root = -1;

	if (!profile->landlock_files)
		return 0;
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 || errno != EACCES)
		return zerr_set(err, -EPERM, "Landlock: the root folder can still be opened");
	return 0;
}

int landlock_confine(const struct sandbox_profile *profile, const struct sandbox_confine *confine,
		     struct zerr *err)
{
	long offered = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_RULESET_VERSION);
	int abi = offered < 0 ? 0 : (int)offered;
	struct ll_ruleset rules = {0};
	_cleanup_fd_ int ruleset = -1;
	int result;

	if ((unsigned)abi < confine->landlock_min_abi)
		return zerr_set(err, -ENOTSUP, "Landlock ABI %d, but the policy asks for %u", abi,
				confine->landlock_min_abi);
	if (profile->landlock_files && abi >= 1)
		rules.fs = fs_rights(abi);
	if (abi >= 4)
		rules.net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP;
	if (profile->landlock_scope && abi >= 6)
		rules.scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
	if (!rules.fs && !rules.net && !rules.scoped)
		return 0;
	/* An older kernel takes the longer structure as long as what it does not know is 0. */
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	if (ruleset < 0)
		return zerr_errno(err, -errno, "Landlock rules");
	result = add_paths(ruleset, rules.fs, confine->paths, err);
	if (result == 0 && rules.net)
		result = add_ports(ruleset, confine->connect_ports, err);
	if (result < 0)
		return result;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return zerr_errno(err, -errno, "Landlock");
	result = prove(profile, err);
	return result < 0 ? result : abi;
}

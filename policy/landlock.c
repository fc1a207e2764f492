/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock, by raw calls (Debian 12's headers end at an older ABI): what of the
 * file system, which TCP ports, and no signals or abstract sockets outside; each
 * as far as the kernel's ABI goes.  Runs in every process of Keelson, at its start.
 */
#include "common/zfd.h"
#include "policy/profile.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASK_ABI	  1U
#define RULE_PATH 1
#define RULE_PORT 2

#define WRITE_FILE (UINT64_C(1) << 1)
#define READ_FILE  (UINT64_C(1) << 2)
#define READ_DIR   (UINT64_C(1) << 3)
#define REMOVE	   (UINT64_C(1) << 5)
#define MAKE_FILE  (UINT64_C(1) << 8)
#define TRUNCATE   (UINT64_C(1) << 14)
#define ON_FILES   (READ_FILE | WRITE_FILE | TRUNCATE)
#define ON_FOLDERS (READ_DIR | REMOVE | MAKE_FILE)
#define CONNECT	   UINT64_C(2)

/* How many rights an ABI knows: bits 0 to n - 1 of each set. */
static const struct {
	unsigned files, ports, scopes;
} known[] = {{0, 0, 0}, {13, 0, 0}, {14, 0, 0}, {15, 0, 0}, {15, 2, 0}, {16, 2, 0}, {16, 2, 2}};
#define NEWEST (sizeof(known) / sizeof(known[0]) - 1)

struct ruleset {
	uint64_t files, ports, scopes;
};
struct path_rule {
	uint64_t allowed;
	int32_t path;
} __attribute__((packed));
struct port_rule {
	uint64_t allowed, port;
};

static int add_path(int ruleset, uint64_t handled, const struct sandbox_path *path)
{
	_cleanup_fd_ int fd = open(path->path, O_PATH | O_CLOEXEC);
	struct path_rule rule = {.allowed = READ_FILE | READ_DIR, .path = fd};
	struct stat status;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (path->writable)
		rule.allowed = ON_FILES | ON_FOLDERS;
	rule.allowed &= S_ISDIR(status.st_mode) ? handled : handled & ON_FILES;
	return syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0) < 0 ? -errno : 0;
}

static int add_rules(int ruleset, const struct ruleset *handled,
		     const struct sandbox_confine *confine, struct zerr *err)
{
	const uint16_t *port = handled->ports ? confine->connect_ports : NULL;

	for (const struct sandbox_path *path = confine->paths; path && path->path; path++) {
		int result = add_path(ruleset, handled->files, path);

		if (result < 0)
			return zerr_errno(err, result, "Landlock: %s", path->path);
	}
	for (; port && *port; port++) {
		struct port_rule rule = {.allowed = CONNECT, .port = *port};

		if (syscall(SYS_landlock_add_rule, ruleset, RULE_PORT, &rule, 0) < 0)
			return zerr_errno(err, -errno, "Landlock: port %u", *port);
	}
	return 0;
}

/* What this kernel can be asked to restrict, for this role. */
static struct ruleset handled_rights(const struct sandbox_profile *profile, long abi)
{
	size_t version = abi < 0 ? 0 : abi > (long)NEWEST ? NEWEST : (size_t)abi;
	unsigned scopes = profile->landlock_unscoped ? 0 : known[version].scopes;

	return (struct ruleset){(1U << known[version].files) - 1, (1U << known[version].ports) - 1,
				(1U << scopes) - 1};
}

int landlock_confine(const struct sandbox_profile *profile, const struct sandbox_confine *confine,
		     struct zerr *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_ABI);
	struct ruleset handled = handled_rights(profile, abi);
	_cleanup_fd_ int ruleset = -1, root = -1;
	int result;

	if (abi < 0)
		abi = 0;
	if (abi < (long)confine->landlock_min_abi)
		return zerr_set(err, -ENOTSUP, "Landlock: ABI %ld, but the policy asks for %u", abi,
				confine->landlock_min_abi);
	if (abi == 0)
		return 0;
	/* An older kernel takes the longer structure as long as what it does not know is 0. */
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
	if (ruleset < 0)
		return zerr_errno(err, -errno, "Landlock: rules");
	result = add_rules(ruleset, &handled, confine, err);
	if (result < 0)
		return result;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return zerr_errno(err, -errno, "Landlock: restrict");
	/* No role is given the root folder: if it can be listed, no rule is in force. */
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0 || errno != EACCES)
		return zerr_set(err, -EPERM, "Landlock: the root folder can still be read");
	return (int)abi;
}

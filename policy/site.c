/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site policy file: who may have written it, its lines, and the accounts it
 * names.  Runs in the launcher, as root, before anything else is read; asks the
 * name service nothing.
 */
#include "policy/site.h"
#include "common/zfd.h"
#include "policy/site_value.h"
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES 65536
#define LINE_MAX_BYTES 1200
#define NOBODY         UINT32_MAX

enum kind { BYTES, CPUS, COUNT, FLAG, PATH, LIST, SYNC, BROKER, DOCKER, GROUP, ABI };

struct key {
	const char *name;
	enum kind kind;
	size_t offset, size; /* the field of struct site_policy */
	const char *expected;
};

#define FIELD(member) offsetof(struct site_policy, member), sizeof(((struct site_policy *)0)->member)
#define A_PATH        "an absolute path without \"..\", \"//\" and a \"/\" at its end"
#define A_LIST        "names separated by commas, or *"
#define AN_ACCOUNT    "a user's name or number, not root"

static const struct key keys[] = {
	{"docker_socket", PATH, FIELD(docker_socket), A_PATH},
	{"memory_max", BYTES, FIELD(memory_max_bytes), "bytes, with K, M or G; 0 for no ceiling"},
	{"cpu_max", CPUS, FIELD(cpu_shares_max), "cpus, 0.002 to 256; 0 for no ceiling"},
	{"pids_max", COUNT, FIELD(pids_max), "a number; 0 for no ceiling"},
	{"disk_max", COUNT, FIELD(disk_max_gib), "GiB; 0 for no ceiling"},
	{"runtimes", LIST, FIELD(runtimes), A_LIST},
	{"registries", LIST, FIELD(registries), A_LIST},
	{"privileged", FLAG, FIELD(privileged), "yes or no"},
	{"no_new_privileges", FLAG, FIELD(no_new_privileges), "yes or no"},
	{"adopt_unlabelled", FLAG, FIELD(adopt_unlabelled), "yes or no"},
	{"audit_directory", PATH, FIELD(audit_directory), A_PATH},
	{"audit_sync", SYNC, FIELD(audit_sync_always), "always or second"},
	{"broker_user", BROKER, FIELD(broker_user), AN_ACCOUNT},
	{"docker_user", DOCKER, FIELD(docker_user), AN_ACCOUNT},
	{"docker_group", GROUP, FIELD(docker_group), "a group's name or number"},
	{"state_directory", PATH, FIELD(state_directory), A_PATH},
	{"run_directory", PATH, FIELD(run_directory), A_PATH},
	{"landlock_min_abi", ABI, FIELD(landlock_min_abi), "0 to 99"},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

static int set_count(const char *value, uint64_t max, void *field)
{
	uint64_t count;
	uint32_t narrow;

	if (value_count(value, max, &count) < 0)
		return -EINVAL;
	narrow = (uint32_t)count;
	memcpy(field, &narrow, sizeof(narrow));
	return 0;
}

static int set_user(const char *value, char *name, uid_t *uid, gid_t *gid)
{
	uint32_t id;

	if (value_account(value, name, &id) < 0 || id == 0)
		return -EINVAL;
	*uid = id;
	*gid = id;
	return 0;
}

static int set_value(struct site_policy *policy, const struct key *key, const char *value)
{
	void *field = (char *)policy + key->offset;

	switch (key->kind) {
	case BYTES:
		return value_bytes(value, field);
	case CPUS:
		return value_cpus(value, field);
	case COUNT:
		return set_count(value, INT32_MAX, field);
	case ABI:
		return set_count(value, 99, field);
	case FLAG:
		return value_flag(value, field);
	case PATH:
		return value_path(value, field, key->size);
	case LIST:
		return value_list(value, field);
	case SYNC:
		policy->audit_sync_always = strcmp(value, "always") == 0;
		return policy->audit_sync_always || strcmp(value, "second") == 0 ? 0 : -EINVAL;
	case BROKER:
		return set_user(value, field, &policy->broker_uid, &policy->broker_gid);
	case DOCKER:
		return set_user(value, field, &policy->docker_uid, &policy->docker_gid);
	case GROUP:
		policy->docker_group_set = true;
		return value_account(value, field, &policy->docker_socket_gid);
	}
	return -EINVAL;
}

static void set_defaults(struct site_policy *policy)
{
	*policy = (struct site_policy){
		.docker_socket = "/var/run/docker.sock",
		.pids_max = 4096,
		.registries = {.any = true},
		.audit_directory = "/var/lib/keelson/audit",
		.broker_user = "keelson",
		.docker_user = "keelson-docker",
		.broker_uid = NOBODY,
		.broker_gid = NOBODY,
		.docker_uid = NOBODY,
		.docker_gid = NOBODY,
		.docker_socket_gid = NOBODY,
		.state_directory = "/var/lib/keelson",
		.run_directory = "/run/keelson",
		.landlock_min_abi = 1,
	};
	(void)value_list("runc", &policy->runtimes); /* a good list */
}

/* A copy of the bytes without blanks around them; -EINVAL for what is not printable. */
static int trimmed(const char *data, size_t length, char out[LINE_MAX_BYTES])
{
	for (size_t i = 0; i < length; i++)
		if ((data[i] < 0x20 || data[i] > 0x7e) && data[i] != '\t')
			return -EINVAL;
	while (length > 0 && (data[0] == ' ' || data[0] == '\t')) {
		data++;
		length--;
	}
	while (length > 0 && (data[length - 1] == ' ' || data[length - 1] == '\t'))
		length--;
	return zstr_copy((struct zstr){data, length}, out, LINE_MAX_BYTES) < 0 ? -EINVAL : 0;
}

/* One line, with what is said about it without its place. */
static int parse_line(const char *line, size_t length, struct site_policy *policy, uint32_t *seen,
		      struct zerr *err)
{
	char text[LINE_MAX_BYTES], name[LINE_MAX_BYTES], value[LINE_MAX_BYTES];
	const char *equals;
	size_t at = 0;

	if (trimmed(line, length, text) < 0)
		return zerr_set(err, -EINVAL, "too long, or not printable ASCII");
	if (text[0] == '\0' || text[0] == '#')
		return 0;
	equals = strchr(text, '=');
	if (!equals)
		return zerr_set(err, -EINVAL, "expected key = value");
	/* Parts of a line that is good already. */
	(void)trimmed(text, (size_t)(equals - text), name);
	(void)trimmed(equals + 1, strlen(equals + 1), value);
	while (at < KEYS && strcmp(keys[at].name, name) != 0)
		at++;
	if (at == KEYS)
		return zerr_set(err, -EINVAL, "unknown key %.40s", name);
	if (*seen & (1U << at))
		return zerr_set(err, -EINVAL, "%s: stands here for the second time", name);
	*seen |= 1U << at;
	if (strchr(value, '#'))
		return zerr_set(err, -EINVAL, "%s: a comment takes a line of its own", name);
	if (set_value(policy, &keys[at], value) < 0)
		return zerr_set(err, -EINVAL, "%s: expected %s", name, keys[at].expected);
	return 0;
}

int site_policy_parse(const char *name, const char *text, size_t length, struct site_policy *policy,
		      struct zerr *err)
{
	_Static_assert(KEYS <= 32, "one bit a key");
	unsigned number = 0;
	uint32_t seen = 0;
	struct zerr fault;

	set_defaults(policy);
	while (length > 0) {
		const char *end = memchr(text, '\n', length);
		size_t used = end ? (size_t)(end - text) : length;

		number++;
		if (parse_line(text, used, policy, &seen, &fault) < 0)
			return zerr_set(err, -EINVAL, "%s:%u: %s", name, number, fault.msg);
		used += end != NULL;
		text += used;
		length -= used;
	}
	if (policy->broker_uid == policy->docker_uid && policy->broker_uid != NOBODY)
		return zerr_set(err, -EINVAL, "%s: broker_user and docker_user must differ", name);
	return 0;
}

/* Nobody but root may change what is opened here, or put something else in its place. */
static int check_owner(int fd, bool folder, const char *path, struct zerr *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return zerr_errno(err, -errno, "%s", path);
	if (folder ? !S_ISDIR(status.st_mode) : !S_ISREG(status.st_mode))
		return zerr_set(err, -EINVAL, "%s: %s", path,
				folder ? "a folder above it is none" : "not a regular file");
	if (status.st_uid != 0)
		return zerr_set(err, -EPERM, "%s: %s is not owned by root", path,
				folder ? "a folder above it" : "it");
	/* In a sticky folder others cannot touch an entry that is root's, and the next one is. */
	if (status.st_mode & (S_IWGRP | S_IWOTH) && !(folder && status.st_mode & S_ISVTX))
		return zerr_set(err, -EPERM, "%s: %s can be written by others than root", path,
				folder ? "a folder above it" : "it");
	return 0;
}

/* Opens path without following a symbolic link anywhere.  Owned descriptor or a negative errno. */
static int open_checked(const char *path, struct zerr *err)
{
	_cleanup_fd_ int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *part = path + 1;
	char clean[256];

	if (value_path(path, clean, sizeof(clean)) < 0)
		return zerr_set(err, -EINVAL, "%s: expected " A_PATH, path);
	for (;;) {
		size_t length = strcspn(part, "/");
		bool last = part[length] == '\0';
		char name[256];
		int next, result = check_owner(at, true, path, err);

		if (result < 0)
			return result;
		(void)zstr_copy((struct zstr){part, length}, name, sizeof(name)); /* as long as path */
		next = openat(at, name,
			      O_CLOEXEC | O_NOFOLLOW | (last ? O_RDONLY | O_NONBLOCK : O_PATH));
		if (next < 0)
			return zerr_errno(err, -errno, "%s", path);
		zfd_closep(&at);
		at = next;
		if (last)
			break;
		part += length + 1;
	}
	return check_owner(at, false, path, err) < 0 ? -EPERM : TAKE_FD(at);
}

static bool find_user(const char *name, uid_t *uid, gid_t *gid)
{
	_cleanup_file_ FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry;

	while (file && (entry = fgetpwent(file))) {
		if (strcmp(entry->pw_name, name) != 0)
			continue;
		*uid = entry->pw_uid;
		*gid = entry->pw_gid;
		return true;
	}
	return false;
}

static bool find_group(const char *name, gid_t *gid)
{
	_cleanup_file_ FILE *file = fopen("/etc/group", "re");
	const struct group *entry;

	while (file && (entry = fgetgrent(file))) {
		if (strcmp(entry->gr_name, name) != 0)
			continue;
		*gid = entry->gr_gid;
		return true;
	}
	return false;
}

static int find_accounts(const char *name, struct site_policy *policy, struct zerr *err)
{
	struct stat status;

	if (policy->broker_uid == NOBODY &&
	    !find_user(policy->broker_user, &policy->broker_uid, &policy->broker_gid))
		return zerr_set(err, -ENOENT, "%s: no user %s in /etc/passwd", name,
				policy->broker_user);
	if (policy->docker_uid == NOBODY &&
	    !find_user(policy->docker_user, &policy->docker_uid, &policy->docker_gid))
		return zerr_set(err, -ENOENT, "%s: no user %s in /etc/passwd", name,
				policy->docker_user);
	if (policy->broker_uid == 0 || policy->broker_gid == 0 || policy->docker_uid == 0)
		return zerr_set(err, -EINVAL, "%s: neither user may be root", name);
	if (policy->broker_uid == policy->docker_uid)
		return zerr_set(err, -EINVAL, "%s: broker_user and docker_user must differ", name);
	if (policy->docker_group_set && policy->docker_socket_gid == NOBODY &&
	    !find_group(policy->docker_group, &policy->docker_socket_gid))
		return zerr_set(err, -ENOENT, "%s: no group %s in /etc/group", name,
				policy->docker_group);
	if (!policy->docker_group_set && stat(policy->docker_socket, &status) == 0 &&
	    S_ISSOCK(status.st_mode))
		policy->docker_socket_gid = status.st_gid;
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
	if (!text)
		return zerr_errno(err, -ENOMEM, "%s", path);
	length = zfd_read_all(file, text, FILE_MAX_BYTES);
	if (length < 0)
		return zerr_errno(err, (int)length, "%s", path);
	result = site_policy_parse(path, text, (size_t)length, policy, err);
	return result < 0 ? result : find_accounts(path, policy, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site policy file: its lines and values.  Runs in the launcher, as root,
 * before anything else is read.
 */
#include "policy/site.h"
#include "common/zfd.h"
#include <stddef.h>

#define LINE_MAX_BYTES  1200
#define SHARES_OF_A_CPU 1024U
#define SHARES_MAX      (256 * SHARES_OF_A_CPU)
#define SHARES_MIN      2U /* the kernel's */

enum kind { BYTES, CPUS, COUNT, FLAG, PATH, LIST, SYNC, BROKER, DOCKER, GROUP, ABI };

#define FIELD(member) offsetof(struct site_policy, member), sizeof(((struct site_policy *)0)->member)
#define A_COUNT       "a number, 0 for no ceiling"
#define A_FLAG        "yes or no"
#define A_LIST        "names separated by commas, or *"
#define A_PATH        "an absolute path without \"..\", \"//\" and \"/\" at its end"
#define A_USER        "a user's name or number, not root"

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset, size; /* the field of struct site_policy */
	const char *expected;
} keys[] = {
	{"docker_socket", PATH, FIELD(docker_socket), A_PATH},
	{"memory_max", BYTES, FIELD(memory_max_bytes), "bytes, with K, M or G; 0 for no ceiling"},
	{"cpu_max", CPUS, FIELD(cpu_shares_max), "cpus, 0.002 to 256; 0 for no ceiling"},
	{"pids_max", COUNT, FIELD(pids_max), A_COUNT},
	{"disk_max", COUNT, FIELD(disk_max_gib), A_COUNT},
	{"runtimes", LIST, FIELD(runtimes), A_LIST},
	{"registries", LIST, FIELD(registries), A_LIST},
	{"privileged", FLAG, FIELD(privileged), A_FLAG},
	{"no_new_privileges", FLAG, FIELD(no_new_privileges), A_FLAG},
	{"adopt_unlabelled", FLAG, FIELD(adopt_unlabelled), A_FLAG},
	{"audit_directory", PATH, FIELD(audit_directory), A_PATH},
	{"audit_sync", SYNC, FIELD(audit_sync_always), "always or second"},
	{"broker_user", BROKER, FIELD(broker_user), A_USER},
	{"docker_user", DOCKER, FIELD(docker_user), A_USER},
	{"docker_group", GROUP, FIELD(docker_group), "a group's name or number"},
	{"state_directory", PATH, FIELD(state_directory), A_PATH},
	{"run_directory", PATH, FIELD(run_directory), A_PATH},
	{"landlock_min_abi", ABI, FIELD(landlock_min_abi), "0 to 99"},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(KEYS <= 32, "parse_line has one bit a key");

static int read_digits(const char *text, size_t length, uint64_t max, uint64_t *value)
{
	char digits[21];

	return zstr_copy((struct zstr){text, length}, digits, sizeof(digits)) < 0
		       ? -EINVAL
		       : zfd_parse_u64(digits, max, value);
}

static int read_u32(const char *text, uint64_t max, void *field)
{
	uint64_t value;
	int result = read_digits(text, strlen(text), max, &value);

	if (result == 0)
		memcpy(field, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
	return result;
}

static int read_bytes(const char *text, uint64_t *bytes)
{
	size_t length = strcspn(text, "KMG");
	unsigned shift = !text[length] ? 0 : text[length] == 'K' ? 10 : text[length] == 'M' ? 20 : 30;

	if ((shift && text[length + 1]) ||
	    read_digits(text, length, INT64_MAX >> shift, bytes) < 0)
		return -EINVAL;
	*bytes <<= shift;
	return 0;
}

static int read_cpus(const char *text, uint32_t *shares)
{
	size_t length = strcspn(text, ".");
	size_t places = text[length] ? strlen(text + length + 1) : 3;
	uint64_t cpus, thousandths = 0;

	if (places == 0 || places > 3 || read_digits(text, length, SHARES_MAX, &cpus) < 0 ||
	    (text[length] && read_digits(text + length + 1, places, 999, &thousandths) < 0))
		return -EINVAL;
	for (; places < 3; places++)
		thousandths *= 10;
	cpus = (cpus * 1000 + thousandths) * SHARES_OF_A_CPU / 1000;
	if (cpus > SHARES_MAX || (cpus < SHARES_MIN && strspn(text, "0.") != strlen(text)))
		return -EINVAL;
	*shares = (uint32_t)cpus;
	return 0;
}

static int read_choice(const char *text, const char *yes, const char *no, bool *choice)
{
	*choice = strcmp(text, yes) == 0;
	return *choice || strcmp(text, no) == 0 ? 0 : -EINVAL;
}

bool site_path_valid(const char *path)
{
	size_t length;

	do {
		if (*path != '/')
			return false;
		length = strcspn(++path, "/");
		if (length == 0 || (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))))
			return false;
		path += length;
	} while (*path);
	return true;
}

static int read_list(const char *text, struct site_list *list)
{
	size_t used = 0;

	*list = (struct site_list){.any = strcmp(text, "*") == 0};
	while (!list->any) {
		size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789._-:/");

		if (length == 0 || list->count == SITE_LIST_MAX ||
		    length >= sizeof(list->text) - used)
			return -EINVAL;
		list->items[list->count++] = memcpy(list->text + used, text, length);
		used += length + 1;
		text += length;
		if (!*text)
			break;
		/* Blanks, a comma or both, and then another item. */
		text += strspn(text, " \t");
		text += *text == ',';
		text += strspn(text, " \t");
	}
	return 0;
}

bool site_list_has(const struct site_list *list, struct zstr item)
{
	const char *text = list->text; /* not items: the structure may be a copy of another */

	for (size_t i = 0; i < list->count; i++, text += strlen(text) + 1)
		if (zstr_equal(item, text))
			return true;
	return list->any;
}

/* A name, whose number is not known here, or a number. */
static int read_account(const char *text, char *name, size_t size, uint32_t *id)
{
	bool number = strspn(text, "0123456789") == strlen(text);
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	if (text[length] || text[0] == '-')
		return -EINVAL;
	*id = SITE_NOBODY;
	/* The two greatest numbers mean "none". */
	return number && read_u32(text, UINT32_MAX - 2, id) < 0
		       ? -EINVAL
		       : zstr_copy(zstr_from(text), name, size);
}

static int read_user(const char *text, char *name, uid_t *uid, gid_t *gid)
{
	int result = read_account(text, name, sizeof(((struct site_policy *)0)->broker_user), uid);

	*gid = *uid;
	return result < 0 || *uid == 0 ? -EINVAL : 0;
}

static int read_value(const char *text, const struct key *key, struct site_policy *policy)
{
	void *field = (char *)policy + key->offset;

	switch (key->kind) {
	case BYTES:
		return read_bytes(text, field);
	case CPUS:
		return read_cpus(text, field);
	case COUNT:
		return read_u32(text, INT32_MAX, field);
	case ABI:
		return read_u32(text, 99, field);
	case FLAG:
		return read_choice(text, "yes", "no", field);
	case SYNC:
		return read_choice(text, "always", "second", field);
	case PATH:
		return site_path_valid(text) ? zstr_copy(zstr_from(text), field, key->size) : -EINVAL;
	case LIST:
		return read_list(text, field);
	case BROKER:
		return read_user(text, field, &policy->broker_uid, &policy->broker_gid);
	case DOCKER:
		return read_user(text, field, &policy->docker_uid, &policy->docker_gid);
	case GROUP:
		policy->docker_group_set = true;
		return read_account(text, field, key->size, &policy->docker_socket_gid);
	}
	return -EINVAL;
}

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t");
	length = strlen(text);
	while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		text[--length] = '\0';
	return text;
}

/* The key's index, or KEYS with what is wrong in *err. */
static size_t find_key(const char *name, uint32_t *seen, struct zerr *err)
{
	size_t at = 0;

	while (at < KEYS && strcmp(keys[at].name, name) != 0)
		at++;
	if (at < KEYS && !(*seen & (1U << at))) {
		*seen |= 1U << at;
		return at;
	}
	zerr_set(err, -EINVAL, at < KEYS ? "%.40s: stands here for the second time" : "unknown key %.40s",
		 name);
	return KEYS;
}

/* What is wrong goes to *err, without its place. */
static int parse_line(struct zstr line, struct site_policy *policy, uint32_t *seen, struct zerr *err)
{
	char text[LINE_MAX_BYTES];
	char *value;
	size_t at;

	for (size_t i = 0; i < line.length; i++)
		if ((line.data[i] < 0x20 || line.data[i] > 0x7e) && line.data[i] != '\t')
			return zerr_set(err, -EINVAL, "not printable ASCII");
	if (zstr_copy(line, text, sizeof(text)) < 0)
		return zerr_set(err, -EINVAL, "line too long");
	text[strcspn(text, "#")] = '\0';
	if (*trim(text) == '\0')
		return 0;
	value = strchr(text, '=');
	if (!value)
		return zerr_set(err, -EINVAL, "expected key = value");
	*value++ = '\0';
	at = find_key(trim(text), seen, err);
	if (at == KEYS)
		return -EINVAL;
	return read_value(trim(value), &keys[at], policy) == 0
		       ? 0
		       : zerr_set(err, -EINVAL, "%s: expected %s", keys[at].name, keys[at].expected);
}

int site_policy_parse(const char *name, const char *text, size_t length, struct site_policy *policy,
		      struct zerr *err)
{
	unsigned number = 0;
	uint32_t seen = 0;
	struct zerr fault;

	*policy = (struct site_policy){
		.docker_socket = "/var/run/docker.sock",
		.pids_max = 4096,
		.registries = {.any = true},
		.audit_directory = "/var/lib/keelson/audit",
		.broker_user = "keelson",
		.docker_user = "keelson-docker",
		.broker_uid = SITE_NOBODY,
		.docker_uid = SITE_NOBODY,
		.docker_socket_gid = SITE_NOBODY,
		.state_directory = "/var/lib/keelson",
		.run_directory = "/run/keelson",
		.landlock_min_abi = 1,
	};
	(void)read_list("runc", &policy->runtimes); /* is good */
	while (length > 0) {
		const char *end = memchr(text, '\n', length);
		struct zstr line = {text, end ? (size_t)(end - text) : length};

		number++;
		if (parse_line(line, policy, &seen, &fault) < 0)
			return zerr_set(err, -EINVAL, "%s:%u: %s", name, number, fault.msg);
		text += line.length + (end != NULL);
		length -= line.length + (end != NULL);
	}
	return 0;
}

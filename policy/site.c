/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site policy file: its lines and values.  Runs in the launcher, as root,
 * before anything else is read.
 */
#include "policy/site.h"
#include "common/zfd.h"
#include <stddef.h>

#define LINE_MAX_BYTES	1200
#define SHARES_OF_A_CPU UINT64_C(1024)
#define SHARES_MAX	(256 * SHARES_OF_A_CPU)
#define SHARES_MIN	2 /* the kernel's */
#define NAME_BYTES	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

enum kind { BYTES, CPUS, COUNT, FLAG, PATH, LIST, SYNC, ACCOUNT, ABI };

#define AT(member)    offsetof(struct site_policy, member)
#define SIZED(member) AT(member), sizeof(((struct site_policy *)0)->member)
#define A_COUNT	      "a number, 0 for no ceiling"
#define A_FLAG	      "yes or no"
#define A_LIST	      "names separated by commas, or *"
#define A_PATH	      "an absolute path without \"..\", \"//\" and \"/\" at its end"
#define AN_ACCOUNT    "a name or a number"

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset; /* of the field */
	size_t more;   /* PATH: its size; ACCOUNT: offset of the number */
	const char *expected;
} keys[] = {
	{"docker_socket", PATH, SIZED(docker_socket), A_PATH},
	{"memory_max", BYTES, AT(memory_max_bytes), 0, "bytes, with K, M or G; 0 for no ceiling"},
	{"cpu_max", CPUS, AT(cpu_shares_max), 0, "cpus, 0.002 to 256; 0 for no ceiling"},
	{"pids_max", COUNT, AT(pids_max), 0, A_COUNT},
	{"disk_max", COUNT, AT(disk_max_gib), 0, A_COUNT},
	{"runtimes", LIST, AT(runtimes), 0, A_LIST},
	{"registries", LIST, AT(registries), 0, A_LIST},
	{"privileged", FLAG, AT(privileged), 0, A_FLAG},
	{"no_new_privileges", FLAG, AT(no_new_privileges), 0, A_FLAG},
	{"adopt_unlabelled", FLAG, AT(adopt_unlabelled), 0, A_FLAG},
	{"audit_directory", PATH, SIZED(audit_directory), A_PATH},
	{"audit_sync", SYNC, AT(audit_sync_always), 0, "always or second"},
	{"broker_user", ACCOUNT, AT(broker_user), AT(broker_uid), AN_ACCOUNT},
	{"docker_user", ACCOUNT, AT(docker_user), AT(docker_uid), AN_ACCOUNT},
	{"docker_group", ACCOUNT, AT(docker_group), AT(docker_socket_gid), AN_ACCOUNT},
	{"state_directory", PATH, SIZED(state_directory), A_PATH},
	{"run_directory", PATH, SIZED(run_directory), A_PATH},
	{"landlock_min_abi", ABI, AT(landlock_min_abi), 0, "0 to 99"},
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(KEYS <= 32, "parse_line has one bit a key");

static int read_digits(struct zstr text, uint64_t max, uint64_t *value)
{
	char digits[21];

	return zstr_copy(text, digits, sizeof(digits)) < 0 ? -EINVAL
							   : zfd_parse_u64(digits, max, value);
}

static int read_u32(const char *text, uint32_t max, uint32_t *value)
{
	uint64_t wide = 0;
	int result = read_digits(zstr_from(text), max, &wide);

	if (result == 0)
		*value = (uint32_t)wide;
	return result;
}

static int read_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	size_t length = strcspn(text, units);
	unsigned shift = 0;

	if (text[length] != '\0') {
		shift = 10 * (unsigned)(strchr(units, text[length]) - units + 1);
		if (text[length + 1] != '\0')
			return -EINVAL;
	}
	if (read_digits((struct zstr){text, length}, INT64_MAX >> shift, bytes) < 0)
		return -EINVAL;
	*bytes <<= shift;
	return 0;
}

/* Up to three decimals: thousandths of a cpu. */
static int read_cpus(const char *text, uint32_t *shares)
{
	struct zstr whole = {text, strcspn(text, ".")};
	const char *decimals = text[whole.length] ? text + whole.length + 1 : "0";
	size_t places = strlen(decimals);
	uint64_t cpus = 0, thousandths = 0, sum;

	if (places > 3 || read_digits(whole, SHARES_MAX, &cpus) < 0 ||
	    read_digits(zstr_from(decimals), 999, &thousandths) < 0)
		return -EINVAL;
	for (; places < 3; places++)
		thousandths *= 10;
	sum = (cpus * 1000 + thousandths) * SHARES_OF_A_CPU / 1000;
	if (sum > SHARES_MAX || (sum < SHARES_MIN && cpus + thousandths > 0))
		return -EINVAL;
	*shares = (uint32_t)sum;
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
		if (length == 0 ||
		    (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))))
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
		size_t length = strspn(text, NAME_BYTES ":/");

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

/* A name, whose number is not known here, or a number: but the two greatest mean "none". */
static int read_account(const char *text, char name[SITE_NAME_SIZE], uint32_t *id)
{
	*id = SITE_NOBODY;
	if (strspn(text, "0123456789") == strlen(text)) {
		if (read_u32(text, UINT32_MAX - 2, id) < 0)
			return -EINVAL;
	} else if (text[0] == '-' || text[strspn(text, NAME_BYTES)] != '\0') {
		return -EINVAL;
	}
	return zstr_copy(zstr_from(text), name, SITE_NAME_SIZE);
}

static int read_value(const char *text, const struct key *key, struct site_policy *policy)
{
	void *field = (char *)policy + key->offset;
	void *number = (char *)policy + key->more;

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
		return site_path_valid(text) ? zstr_copy(zstr_from(text), field, key->more)
					     : -EINVAL;
	case LIST:
		return read_list(text, field);
	case ACCOUNT:
		return read_account(text, field, number);
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
	zerr_set(err, -EINVAL,
		 at < KEYS ? "%.40s: stands here for the second time" : "unknown key %.40s", name);
	return KEYS;
}

/* What is wrong goes to *err, without its place. */
static int parse_line(struct zstr line, struct site_policy *policy, uint32_t *seen,
		      struct zerr *err)
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
		       : zerr_set(err, -EINVAL, "%s: expected %s", keys[at].name,
				  keys[at].expected);
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

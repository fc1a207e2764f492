/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the NUMA nodes of /sys/devices/system/node.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/node_numa.h"
#include "common/jsonw.h"
#include "common/zfd.h"
#include <fcntl.h>

#define NUMBERS_MAX  4096 /* cpus or nodes of one host */
#define FILE_MAX     16384
#define JSON_SIZE    65536 /* NUMBERS_MAX cpus with their commas, and some hundred nodes */
#define KIB_PER_MIB  1024
#define MEMORY_LABEL "MemTotal:"

struct number_set {
	bool has[NUMBERS_MAX];
};

/* One of "7" and "0-3"; false for anything else. */
static bool add_range(const char *text, size_t length, struct number_set *set)
{
	char from[16], to[16];
	const char *dash = memchr(text, '-', length);
	size_t first = dash != NULL ? (size_t)(dash - text) : length;
	uint64_t low, high;

	if (zstr_copy((struct zstr){text, first}, from, sizeof(from)) < 0 ||
	    zfd_parse_u64(from, NUMBERS_MAX - 1, &low) < 0)
		return false;
	high = low;
	if (dash != NULL &&
	    (zstr_copy((struct zstr){dash + 1, length - first - 1}, to, sizeof(to)) < 0 ||
	     zfd_parse_u64(to, NUMBERS_MAX - 1, &high) < 0))
		return false;
	for (uint64_t i = low; i <= high; i++)
		set->has[i] = true;
	return true;
}

/* "0-3,8", blanks and a newline at the end allowed. */
static bool read_list(const char *text, struct number_set *set)
{
	*set = (struct number_set){0};
	for (;;) {
		size_t length;

		text += strspn(text, " \n");
		if (*text == '\0')
			return true;
		length = strcspn(text, ", \n");
		if (!add_range(text, length, set))
			return false;
		text += length;
		text += strspn(text, " ");
		text += *text == ',';
	}
}

/* <path>/<name> into text; false when it cannot be read. */
static bool read_file(const char *path, const char *name, char text[FILE_MAX])
{
	char whole[512];
	_cleanup_fd_ int fd = -1;
	int length = snprintf(whole, sizeof(whole), "%s/%s", path, name);
	ssize_t count;

	if (length < 0 || (size_t)length >= sizeof(whole))
		return false;
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	count = zfd_read_all(fd, text, FILE_MAX - 1);
	if (count < 0)
		return false;
	text[count] = '\0';
	return true;
}

/* "Node 0 MemTotal:  24684080 kB" as MiB. */
static bool read_memory(const char *text, uint64_t *mib)
{
	const char *label = strstr(text, MEMORY_LABEL);
	char digits[24];
	uint64_t kib;

	if (label == NULL)
		return false;
	label += sizeof(MEMORY_LABEL) - 1;
	label += strspn(label, " \t");
	if (zstr_copy((struct zstr){label, strspn(label, "0123456789")}, digits, sizeof(digits)) <
		    0 ||
	    zfd_parse_u64(digits, UINT64_MAX, &kib) < 0)
		return false;
	*mib = kib / KIB_PER_MIB;
	return true;
}

static void write_node(struct jsonw *json, const char *path, unsigned id,
		       const struct number_set *except)
{
	char name[64], text[FILE_MAX];
	struct number_set cpus;
	uint64_t mib;

	(void)snprintf(name, sizeof(name), "node%u/cpulist", id);
	if (!read_file(path, name, text) || !read_list(text, &cpus))
		return;
	(void)snprintf(name, sizeof(name), "node%u/meminfo", id);
	if (!read_file(path, name, text) || !read_memory(text, &mib))
		return;
	jsonw_object(json);
	jsonw_key(json, "id");
	jsonw_u64(json, id);
	jsonw_key(json, "cpuset");
	jsonw_array(json);
	for (unsigned i = 0; i < NUMBERS_MAX; i++) {
		if (cpus.has[i] && !except->has[i])
			jsonw_u64(json, i);
	}
	jsonw_end_array(json);
	jsonw_key(json, "pinned_cpus");
	jsonw_array(json);
	jsonw_end_array(json);
	jsonw_key(json, "mem_total");
	jsonw_u64(json, mib);
	jsonw_key(json, "mem_available");
	jsonw_u64(json, mib);
	jsonw_end_object(json);
}

char *node_numa_topology(const char *path, const char *except)
{
	_cleanup_free_ char *space = malloc(JSON_SIZE);
	struct number_set nodes = {0}, left_out;
	char text[FILE_MAX];
	struct jsonw json;

	if (space == NULL)
		return NULL;
	if (!read_list(except != NULL ? except : "", &left_out))
		left_out = (struct number_set){0};
	if (read_file(path, "online", text) && !read_list(text, &nodes))
		nodes = (struct number_set){0};
	jsonw_init(&json, space, JSON_SIZE - 1);
	jsonw_object(&json);
	jsonw_key(&json, "nodes");
	jsonw_array(&json);
	for (unsigned i = 0; i < NUMBERS_MAX; i++) {
		if (nodes.has[i])
			write_node(&json, path, i, &left_out);
	}
	jsonw_end_array(&json);
	jsonw_end_object(&json);
	if (!jsonw_done(&json))
		return strdup("{\"nodes\":[]}");
	space[json.used] = '\0';
	return strdup(space); /* a few hundred bytes of the space */
}

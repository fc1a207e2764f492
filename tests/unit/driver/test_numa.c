/* SPDX-License-Identifier: Apache-2.0 */
/* NUMA nodes read from a folder as the kernel makes it. */
#include "common/zfd.h"
#include "unpriv/driver/node_numa.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE(id, cpus, memory)                                                                     \
	{"node" id "/cpulist", cpus},                                                              \
	{                                                                                          \
		"node" id "/meminfo", memory                                                       \
	}

struct node_file {
	const char *name, *text; /* at most 8, NULL ends */
};

static const struct {
	const char *name;
	struct node_file files[8];
	const char *except, *topology;
} hosts[] = {
	{"one node",
	 {{"online", "0\n"},
	  NODE("0", "0-1\n", "Node 0 MemTotal:       10185000 kB\nNode 0 MemFree: 1 kB\n")},
	 NULL,
	 "{\"nodes\":[{\"id\":0,\"cpuset\":[0,1],\"pinned_cpus\":[],\"mem_total\":9946,"
	 "\"mem_available\":9946}]}"},
	{"two nodes, some cpus kept out",
	 {{"online", "0,2\n"},
	  NODE("0", "0-2,8\n", "Node 0 MemTotal: 2048 kB\n"),
	  NODE("2", "3\n", "Node 2 MemTotal: 1024 kB\n")},
	 "1-2, 3",
	 "{\"nodes\":[{\"id\":0,\"cpuset\":[0,8],\"pinned_cpus\":[],\"mem_total\":2,"
	 "\"mem_available\":2},{\"id\":2,\"cpuset\":[],\"pinned_cpus\":[],\"mem_total\":1,"
	 "\"mem_available\":1}]}"},
	{"a node that cannot be read is left out",
	 {{"online", "0-1\n"},
	  {"node0/cpulist", "0\n"},
	  NODE("1", "1\n", "Node 1 MemTotal: 1024 kB\n")},
	 NULL,
	 "{\"nodes\":[{\"id\":1,\"cpuset\":[1],\"pinned_cpus\":[],\"mem_total\":1,"
	 "\"mem_available\":1}]}"},
	{"a list that is none", {{"online", "0-x\n"}}, NULL, "{\"nodes\":[]}"},
	{"numbers beyond any host", {{"online", "0-99999\n"}}, NULL, "{\"nodes\":[]}"},
	{"memory without a number",
	 {{"online", "0\n"}, NODE("0", "0\n", "Node 0 MemTotal: kB\n")},
	 NULL,
	 "{\"nodes\":[]}"},
	{"nothing", {{NULL, NULL}}, "x", "{\"nodes\":[]}"},
};

static void write_file(const char *folder, const struct node_file *file)
{
	char path[256];
	char *slash;
	_cleanup_fd_ int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file->name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	*slash = '/';
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(zfd_write_all(fd, file->text, strlen(file->text)), 0);
}

static void remove_file(const char *folder, const struct node_file *file)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file->name);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	(void)rmdir(path); /* fails while something is left in it */
}

static void test_numa_nodes_are_those_of_the_kernel(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		char folder[] = "/tmp/keelson-numa-XXXXXX";
		_cleanup_free_ char *topology = NULL;
		size_t count = 0;

		assert_non_null(mkdtemp(folder));
		while (count < 8 && hosts[i].files[count].name != NULL)
			write_file(folder, &hosts[i].files[count++]);

		topology = node_numa_topology(folder, hosts[i].except);

		if (strcmp(topology, hosts[i].topology) != 0)
			fail_msg("%s: %s", hosts[i].name, topology);
		while (count > 0)
			remove_file(folder, &hosts[i].files[--count]);
		(void)rmdir(folder); /* gone with its last file */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numa_nodes_are_those_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The node's description. */
#include "common/zfd.h"
#include "tests/unit/driver/fake_helper.h"
#include "unpriv/driver/docker_info.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_a_recorded_description_is_read(void **state)
{
	_cleanup_(docker_info_clear) struct docker_info info = {0};
	struct zerr err;
	size_t length;
	_cleanup_free_ char *text = fake_data("info.json", &length);

	(void)state;
	assert_int_equal(docker_info_read(text, length, &info, &err), 0);
	assert_string_equal(info.name, "vm");
	assert_string_equal(info.storage_driver, "vfs");
	assert_string_equal(info.architecture, "x86_64");
	assert_string_equal(info.os_type, "linux");
	assert_string_equal(info.os, "Debian GNU/Linux 12 (bookworm)");
	assert_int_equal(info.cpus, 2);
	assert_string_equal(info.labels, "{\"rack\":\"a1\",\"zone\":\"x\"}");
	assert_string_equal(
		info.runtimes,
		"[\"io.containerd.runc.v2\",\"io.containerd.runtime.v1.linux\",\"runc\"]");
}

static void test_descriptions_with_little_in_them_are_read(void **state)
{
	static const struct {
		const char *text, *labels;
		bool good;
	} texts[] = {
		{"{}", "{}", true},
		{"{\"Labels\":null,\"Runtimes\":null,\"DriverStatus\":null}", "{}", true},
		{"{\"Labels\":[\"a=b=c\",\"x\",\"y=\"]}", "{\"a\":\"b=c\",\"y\":\"\"}", true},
		{"{\"DriverStatus\":[[\"a\"],\"b\",[1,2],[\"Backing Filesystem\",\"xfs\"]]}", "{}",
		 true},
		{"{\"Labels\":[1]}", NULL, false},
		{"{\"NCPU\":\"2\"}", NULL, false},
		{"{\"NCPU\":-1}", NULL, false},
		{"{\"Runtimes\":[]}", NULL, false},
		{"[]", NULL, false},
		{"", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_(docker_info_clear) struct docker_info info = {0};
		struct zerr err;
		int result = docker_info_read(texts[i].text, strlen(texts[i].text), &info, &err);

		if (result != (texts[i].good ? 0 : -EBADMSG))
			fail_msg("%s: %d", texts[i].text, result);
		if (result == 0)
			assert_string_equal(info.labels, texts[i].labels);
	}
}

static void test_memory_is_whole_mib(void **state)
{
	struct node_memory memory;

	(void)state;
	assert_int_equal(
		node_memory_read("MemTotal:       24684080 kB\nMemFree:        23807111 kB\n"
				 "MemAvailable:   23883000 kB\nBuffers: 1 kB\n",
				 &memory),
		0);
	assert_int_equal(memory.total_mib, 24105);
	assert_int_equal(memory.free_mib, 23249);
	assert_int_equal(memory.available_mib, 23323);
}

static void test_memory_without_a_number_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"MemTotal: 1 kB\nMemFree: 1 kB\n",
		"MemTotal: kB\nMemFree: 1 kB\nMemAvailable: 1 kB\n",
		"MemTotal: 99999999999999999999999999 kB\nMemFree: 1 kB\nMemAvailable: 1 kB\n",
		"XMemTotal: 1 kB\nMemFree: 1 kB\nMemAvailable: 1 kB\n",
	};
	struct node_memory memory;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(node_memory_read(texts[i], &memory), -EBADMSG);
}

#define ROOT_LINE "22 1 252:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n"
#define XFS_LINE                                                                                   \
	"40 22 252:16 / /var/lib/docker rw,relatime shared:9 master:2 - xfs /dev/vdb "             \
	"rw,attr2,prjquota\n"

static void test_a_disk_limit_needs_a_filesystem_that_can_hold_it(void **state)
{
	static const struct {
		const char *driver, *backing, *root, *mounts;
		bool quota;
	} hosts[] = {
		{"devicemapper", "", "/var/lib/docker", "", true},
		{"windowsfilter", "", "/var/lib/docker", "", true},
		{"zfs", "", "/var/lib/docker", "", true},
		{"btrfs", "", "/var/lib/docker", "", true},
		{"vfs", "xfs", "/var/lib/docker", ROOT_LINE XFS_LINE, false},
		{"windowfilter", "", "/var/lib/docker", "", false},
		{"overlay2", "xfs", "/var/lib/docker", ROOT_LINE XFS_LINE, true},
		{"overlay2", "xfs", "/var/lib/docker/100.100", ROOT_LINE XFS_LINE, true},
		{"overlay2", "xfs", "/var/lib/dockerx", ROOT_LINE XFS_LINE, false},
		{"overlay2", "xfs", "/var/lib", ROOT_LINE XFS_LINE, false},
		{"overlay2", "extfs", "/var/lib/docker", ROOT_LINE XFS_LINE, false},
		{"overlay2", "xfs", "/var/lib/docker", ROOT_LINE, false},
		{"overlay2", "xfs", "/var/lib/docker", "", false},
		{"overlay2", "xfs", "/data dir/d",
		 "40 22 252:16 / /data\\040dir rw - xfs /dev/vdb rw,pquota\n", true},
		{"overlay2", "xfs", "/d", "40 22 252:16 / /d rw - xfs /dev/vdb rw,prjquotax\n",
		 false},
		{"overlay2", "xfs", "/d", "40 22 252:16 / /d rw,prjquota - xfs /dev/vdb rw\n",
		 false},
		/* what is mounted later hides what was there */
		{"overlay2", "xfs", "/var/lib/docker",
		 XFS_LINE "41 40 252:17 / /var/lib/docker rw - ext4 /dev/vdc rw\n", false},
		{"overlay2", "xfs", "/d", "40\n40 22\n\n40 22 252:16 / /d rw - xfs\nx", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct docker_info info = {0};

		(void)snprintf(info.storage_driver, sizeof(info.storage_driver), "%s",
			       hosts[i].driver);
		(void)snprintf(info.backing_filesystem, sizeof(info.backing_filesystem), "%s",
			       hosts[i].backing);
		(void)snprintf(info.root_dir, sizeof(info.root_dir), "%s", hosts[i].root);
		if (docker_disk_quota(&info, hosts[i].mounts) != hosts[i].quota)
			fail_msg("case %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_recorded_description_is_read),
		cmocka_unit_test(test_descriptions_with_little_in_them_are_read),
		cmocka_unit_test(test_memory_is_whole_mib),
		cmocka_unit_test(test_memory_without_a_number_is_refused),
		cmocka_unit_test(test_a_disk_limit_needs_a_filesystem_that_can_hold_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

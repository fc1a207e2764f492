/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/drop.c and policy/view.c: each promise of sandbox_drop, tried in a child. */
#include "inside.h"
#include "common/zbuf.h"
#include "common/zfd.h"
#include "policy/sandbox.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

static const struct sandbox_drop plain = {.uid = SOME_UID, .gid = SOME_GID};

static void drop(const struct sandbox_drop *how)
{
	struct zerr err = {0};

	MUST_DO(sandbox_drop(how, &err), &err);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void keeps_two(void)
{
	static const int keep[] = {5, 9};
	struct sandbox_drop how = plain;

	for (int fd = 3; fd < 40; fd++)
		MUST(dup2(1, fd) == fd);
	how.keep = keep;
	how.keep_count = 2;
	drop(&how);
	for (int fd = 0; fd < 60; fd++)
		MUST(is_open(fd) == (fd <= 2 || fd == 5 || fd == 9));
}

static void test_drop_keeps_only_the_listed_descriptors(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(keeps_two), 0);
}

static void refuses(const int *keep, size_t count)
{
	struct sandbox_drop how = plain;
	struct zerr err = {0};

	how.keep = keep;
	how.keep_count = count;
	MUST(sandbox_drop(&how, &err) == -EBADF);
	MUST(strstr(err.msg, "descriptors"));
}

static void refuses_closed(void)
{
	refuses((const int[]){77}, 1);
}

static void refuses_unsorted(void)
{
	MUST(dup2(1, 5) == 5 && dup2(1, 6) == 6);
	refuses((const int[]){6, 5}, 2);
}

static void test_drop_refuses_a_closed_descriptor_and_a_list_out_of_order(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(refuses_closed), 0);
	assert_int_equal(inside(refuses_unsorted), 0);
}

static void standard(void)
{
	struct stat status, null;

	MUST(stat("/dev/null", &null) == 0);
	MUST(dup2(2, 60) == 60 && close(1) == 0 && close(2) == 0);
	drop(&plain);
	for (int fd = 0; fd <= 2; fd++)
		MUST(fstat(fd, &status) == 0 && status.st_rdev == null.st_rdev);
	MUST((umask(0) & 0777) == 077);
}

static void test_drop_gives_dev_null_and_a_tight_umask(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(standard), 0);
}

static void user(void)
{
	static const gid_t groups[] = {4711, 4712};
	struct sandbox_drop how = plain;
	gid_t now[8];
	uid_t uid[3];
	gid_t gid[3];

	how.groups = groups;
	how.group_count = 2;
	drop(&how);
	MUST(getresuid(&uid[0], &uid[1], &uid[2]) == 0 &&
	     getresgid(&gid[0], &gid[1], &gid[2]) == 0);
	for (int i = 0; i < 3; i++)
		MUST(uid[i] == SOME_UID && gid[i] == SOME_GID);
	MUST(getgroups(8, now) == 2 && now[0] == 4711 && now[1] == 4712);
	MUST(setresuid(0, 0, 0) < 0 && setuid(0) < 0 && seteuid(0) < 0);
	MUST(setresgid(0, 0, 0) < 0 && setgroups(0, NULL) < 0);
	MUST(chown("/proc/self", 0, 0) < 0 && chroot("/") < 0);
}

static void test_drop_changes_user_and_groups_for_good(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(user), 0);
}

static uint64_t capabilities(int set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	MUST(syscall(SYS_capget, &header, data) == 0);
	if (set == 0)
		return data[0].permitted | (uint64_t)data[1].permitted << 32;
	if (set == 1)
		return data[0].effective | (uint64_t)data[1].effective << 32;
	return data[0].inheritable | (uint64_t)data[1].inheritable << 32;
}

static void must_have(uint64_t wanted)
{
	MUST(capabilities(0) == wanted && capabilities(1) == wanted && capabilities(2) == 0);
	for (unsigned long bit = 0; bit < 41; bit++)
		MUST(prctl(PR_CAPBSET_READ, bit) == (int)(wanted >> bit & 1));
}

static void no_capability(void)
{
	drop(&plain);
	must_have(0);
	MUST(prctl(PR_SET_SECUREBITS, 0) < 0);
}

static void kill_only(void)
{
	struct sandbox_drop how = {.capabilities = UINT64_C(1) << CAP_KILL};

	drop(&how);
	MUST(getuid() == 0);
	must_have(UINT64_C(1) << CAP_KILL);
	MUST(kill(getppid(), 0) == 0);
	/* uid 0 without DAC_OVERRIDE and CHOWN is a user like any other. */
	MUST(chown("/proc/self", 1, 1) < 0 && unshare(CLONE_NEWUTS) < 0);
}

static void two_as_user(void)
{
	struct sandbox_drop how = plain;

	how.capabilities = UINT64_C(1) << CAP_NET_ADMIN | UINT64_C(1) << CAP_SYS_ADMIN;
	drop(&how);
	must_have(how.capabilities);
	MUST(getuid() == SOME_UID && setuid(0) < 0);
}

static void test_drop_leaves_exactly_the_asked_capabilities_in_every_set(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(no_capability), 0);
	assert_int_equal(inside(kill_only), 0);
	assert_int_equal(inside(two_as_user), 0);
}

static void gains_nothing_by_exec(void)
{
	drop(&plain);
	/* Seen from outside: the program that runs now has no capability either. */
	execl("/bin/sh", "sh", "-c",
	      "grep -q '^CapBnd:.0000000000000000' /proc/self/status && "
	      "grep -q '^CapEff:.0000000000000000' /proc/self/status && "
	      "grep -q '^NoNewPrivs:.1' /proc/self/status",
	      (char *)NULL);
	_exit(1);
}

static void test_drop_holds_over_exec(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(gains_nothing_by_exec), 0);
}

static void not_dumpable(void)
{
	struct stat status;

	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
	drop(&plain);
	MUST(prctl(PR_GET_DUMPABLE) == 0);
	MUST(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	/* The kernel keeps its files from the process's own user. */
	MUST(stat("/proc/self/mem", &status) == 0 && status.st_uid == 0);
	MUST(open("/proc/self/environ", O_RDONLY) < 0);
}

static void test_drop_makes_the_process_undumpable_after_the_change_of_user(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(not_dumpable), 0);
}

static char folder[] = "/var/tmp/keelson-drop.XXXXXX";

static const char *below(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void no_network(void)
{
	struct sandbox_drop how = plain;
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	how.private_network = true;
	drop(&how);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	MUST(fd >= 0);
	MUST(connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
	     errno == ENETUNREACH);
}

static void test_drop_into_a_private_network_reaches_not_even_the_loopback(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(no_network), 0);
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	MUST(zstr_copy(zstr_from(path), address.sun_path, sizeof(address.sun_path)) == 0);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address));
}

static void only_one_folder(void)
{
	struct sandbox_drop how = plain;
	struct stat status;

	how.private_network = true;
	how.only_directory = folder;
	how.engine_mount = "/engine";
	drop(&how);
	MUST(stat("/engine/file", &status) == 0);
	MUST(connect_unix("/engine/socket") == 0);
	MUST(open("/engine/new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS);
	MUST(open("/engine/file", O_WRONLY) < 0 && errno == EROFS);
	MUST(open("/new", O_WRONLY | O_CREAT, 0600) < 0);
	MUST(stat("/proc", &status) < 0 && stat("/etc", &status) < 0);
	MUST(stat("..", &status) == 0 && stat("../../etc", &status) < 0);
	MUST(stat("/", &status) == 0 && (status.st_mode & 07777) == 0755 && status.st_nlink == 3);
	MUST(stat(folder, &status) < 0);
}

static void test_drop_into_an_empty_tree_sees_one_folder_and_reaches_its_socket(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(only_one_folder), 0);
}

static void read_only(void)
{
	const char *writable[] = {below("state"), NULL};
	struct sandbox_drop how = plain;
	struct stat status;
	char inner[300];

	how.read_only_view = true;
	how.writable = writable;
	drop(&how);
	MUST(open("/var/tmp/keelson-new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS);
	MUST(open("/dev/shm/keelson-new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS);
	MUST(open("/dev/null", O_WRONLY) >= 0);
	MUST(stat("/etc/passwd", &status) == 0);
	(void)snprintf(inner, sizeof(inner), "%s/state/new", folder);
	MUST(open(inner, O_WRONLY | O_CREAT, 0600) >= 0 && unlink(inner) == 0);
	MUST(open(below("beside"), O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS);
}

static void test_drop_into_a_read_only_view_writes_only_where_it_may(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(read_only), 0);
}

static void view_is_private(void)
{
	struct sandbox_drop how = {.capabilities = UINT64_C(1) << CAP_SYS_ADMIN,
				   .read_only_view = true};
	struct stat before, after;

	MUST(stat(folder, &before) == 0);
	drop(&how);
	MUST(mount("tmpfs", folder, "tmpfs", 0, NULL) == 0);
	MUST(stat(folder, &after) == 0 && after.st_dev != before.st_dev);
	_exit(0);
}

static void test_mounts_of_a_dropped_process_stay_its_own(void **state)
{
	struct stat before, after;

	(void)state;
	need_root();
	assert_int_equal(stat(folder, &before), 0);
	assert_int_equal(inside(view_is_private), 0);
	assert_int_equal(stat(folder, &after), 0);
	assert_true(before.st_dev == after.st_dev);
}

static void missing_folder(void)
{
	struct sandbox_drop how = plain;
	struct zerr err = {0};

	how.only_directory = "/var/tmp/keelson-there-is-none";
	how.engine_mount = "/engine";
	MUST(sandbox_drop(&how, &err) == -ENOENT);
	MUST(err.msg[0]);
}

static void test_drop_fails_when_the_folder_is_missing(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(missing_folder), 0);
}

static void unprivileged(void)
{
	struct sandbox_drop how = plain;
	struct zerr err = {0};

	if (geteuid() == 0)
		MUST(setresuid(SOME_UID, SOME_UID, SOME_UID) == 0);
	how.uid = SOME_UID + 1;
	MUST(sandbox_drop(&how, &err) == -EPERM);
}

static void test_drop_fails_without_the_right_to_drop(void **state)
{
	(void)state;
	assert_int_equal(inside(unprivileged), 0);
}

static int make_folder(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	(void)state;
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return -1;
	fd = open(below("file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0666) < 0 || close(fd) < 0 || mkdir(below("state"), 0700) < 0)
		return -1;
	(void)!chown(below("state"), SOME_UID, SOME_GID); /* fails for those who skip anyhow */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (zstr_copy(zstr_from(below("socket")), address.sun_path, sizeof(address.sun_path)) < 0 ||
	    fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 4) < 0)
		return -1;
	return chmod(below("socket"), 0666);
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(below("file"));
	(void)unlink(below("socket"));
	(void)rmdir(below("state"));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop_keeps_only_the_listed_descriptors),
		cmocka_unit_test(test_drop_refuses_a_closed_descriptor_and_a_list_out_of_order),
		cmocka_unit_test(test_drop_gives_dev_null_and_a_tight_umask),
		cmocka_unit_test(test_drop_changes_user_and_groups_for_good),
		cmocka_unit_test(test_drop_leaves_exactly_the_asked_capabilities_in_every_set),
		cmocka_unit_test(test_drop_holds_over_exec),
		cmocka_unit_test(test_drop_makes_the_process_undumpable_after_the_change_of_user),
		cmocka_unit_test(test_drop_into_a_private_network_reaches_not_even_the_loopback),
		cmocka_unit_test(
			test_drop_into_an_empty_tree_sees_one_folder_and_reaches_its_socket),
		cmocka_unit_test(test_drop_into_a_read_only_view_writes_only_where_it_may),
		cmocka_unit_test(test_mounts_of_a_dropped_process_stay_its_own),
		cmocka_unit_test(test_drop_fails_when_the_folder_is_missing),
		cmocka_unit_test(test_drop_fails_without_the_right_to_drop),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

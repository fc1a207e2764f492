/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/site.c and site_load.c. */
#include "inside.h"
#include "common/zbuf.h"
#include "common/zfd.h"
#include "policy/site.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int parse(const char *text, struct site_policy *policy, struct zerr *err)
{
	*err = (struct zerr){0};
	return site_policy_parse("policy.conf", text, strlen(text), policy, err);
}

static void test_an_empty_file_gives_the_documented_defaults(void **state)
{
	struct site_policy policy;
	struct zerr err;

	(void)state;
	assert_int_equal(parse("", &policy, &err), 0);
	assert_string_equal(policy.docker_socket, "/var/run/docker.sock");
	assert_int_equal(policy.memory_max_bytes, 0);
	assert_int_equal(policy.cpu_shares_max, 0);
	assert_int_equal(policy.pids_max, 4096);
	assert_int_equal(policy.disk_max_gib, 0);
	assert_int_equal(policy.runtimes.count, 1);
	assert_string_equal(policy.runtimes.items[0], "runc");
	assert_false(policy.runtimes.any);
	assert_true(policy.registries.any);
	assert_false(policy.privileged || policy.no_new_privileges || policy.adopt_unlabelled);
	assert_string_equal(policy.audit_directory, "/var/lib/keelson/audit");
	assert_false(policy.audit_sync_always);
	assert_string_equal(policy.broker_user, "keelson");
	assert_string_equal(policy.docker_user, "keelson-docker");
	assert_string_equal(policy.docker_group, "");
	assert_true(policy.docker_uid == SITE_NOBODY && policy.docker_socket_gid == SITE_NOBODY);
	assert_string_equal(policy.state_directory, "/var/lib/keelson");
	assert_string_equal(policy.run_directory, "/run/keelson");
	assert_int_equal(policy.landlock_min_abi, 1);
}

static void test_every_key_is_read(void **state)
{
	static const char text[] = "# comment\n"
				   "\n"
				   "  docker_socket = /srv/docker.sock  \n"
				   "memory_max=64G\n"
				   "cpu_max = 16.5\n"
				   "pids_max = 100\n"
				   "disk_max = 20\n"
				   "runtimes = runc, kata-runtime runsc\n"
				   "registries = docker.io,registry.local:5000/team\n"
				   "privileged = yes # for now\n"
				   "no_new_privileges = yes\n"
				   "adopt_unlabelled = yes\n"
				   "audit_directory = /srv/audit\n"
				   "audit_sync = always\n"
				   "broker_user = 61801\n"
				   "docker_user = 61802\n"
				   "docker_group = 4711\n"
				   "state_directory = /srv/state\n"
				   "run_directory = /srv/run\n"
				   "\tlandlock_min_abi\t=\t2"; /* the last line needs no end */
	struct site_policy policy;
	struct zerr err;

	(void)state;
	assert_int_equal(parse(text, &policy, &err), 0);
	assert_string_equal(policy.docker_socket, "/srv/docker.sock");
	assert_true(policy.memory_max_bytes == UINT64_C(64) << 30);
	assert_int_equal(policy.cpu_shares_max, 16896);
	assert_int_equal(policy.pids_max, 100);
	assert_int_equal(policy.disk_max_gib, 20);
	assert_int_equal(policy.runtimes.count, 3);
	assert_true(site_list_has(&policy.runtimes, zstr_from("kata-runtime")));
	assert_true(site_list_has(&policy.runtimes, zstr_from("runsc")));
	assert_false(site_list_has(&policy.runtimes, zstr_from("run")));
	assert_false(site_list_has(&policy.runtimes, zstr_from("")));
	assert_true(site_list_has(&policy.registries, zstr_from("registry.local:5000/team")));
	assert_false(site_list_has(&policy.registries, zstr_from("quay.io")));
	assert_true(policy.privileged && policy.no_new_privileges && policy.adopt_unlabelled);
	assert_string_equal(policy.audit_directory, "/srv/audit");
	assert_true(policy.audit_sync_always);
	assert_int_equal(policy.broker_uid, 61801);
	assert_int_equal(policy.docker_uid, 61802);
	assert_int_equal(policy.docker_socket_gid, 4711);
	assert_string_equal(policy.state_directory, "/srv/state");
	assert_string_equal(policy.run_directory, "/srv/run");
	assert_int_equal(policy.landlock_min_abi, 2);
}

static void test_a_list_survives_a_copy_of_the_policy(void **state)
{
	struct site_policy policy, copy;
	struct zerr err;

	(void)state;
	assert_int_equal(parse("runtimes = runc,kata\n", &policy, &err), 0);
	copy = policy;
	memset(&policy, 'x', sizeof(policy));
	assert_true(site_list_has(&copy.runtimes, zstr_from("kata")));
}

static void test_numbers_mean_what_they_say(void **state)
{
	static const struct {
		const char *text;
		uint64_t memory;
		uint32_t shares;
	} cases[] = {
		{"memory_max = 0", 0, 0},
		{"memory_max = 4096", 4096, 0},
		{"memory_max = 4K", 4096, 0},
		{"memory_max = 8M", 8388608, 0},
		{"memory_max = 9223372036854775807", INT64_MAX, 0},
		{"memory_max = 8589934591G", UINT64_C(8589934591) << 30, 0},
		{"cpu_max = 0", 0, 0},
		{"cpu_max = 0.0", 0, 0},
		{"cpu_max = 0.5", 0, 512},
		{"cpu_max = 0.05", 0, 51},
		{"cpu_max = 0.002", 0, 2},
		{"cpu_max = 1.001", 0, 1025},
		{"cpu_max = 256", 0, 262144},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct site_policy policy;
		struct zerr err;

		if (parse(cases[i].text, &policy, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.msg);
		if (policy.memory_max_bytes != cases[i].memory ||
		    policy.cpu_shares_max != cases[i].shares)
			fail_msg("%s: %llu bytes, %u shares", cases[i].text,
				 (unsigned long long)policy.memory_max_bytes,
				 policy.cpu_shares_max);
	}
}

struct bad {
	const char *text, *message;
};

static void refuse(const struct bad *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct site_policy policy;
		struct zerr err;

		if (parse(cases[i].text, &policy, &err) != -EINVAL)
			fail_msg("taken: %s", cases[i].text);
		if (!strstr(err.msg, cases[i].message))
			fail_msg("%s: said %s", cases[i].text, err.msg);
	}
}

static void test_a_bad_line_is_refused_with_its_place(void **state)
{
	static const struct bad cases[] = {
		{"memory_maximum = 1", "policy.conf:1: unknown key memory_maximum"},
		{"\n\nMemory_max = 1", "policy.conf:3: unknown key Memory_max"},
		{" = 1", "policy.conf:1: unknown key "},
		{"privileged", "policy.conf:1: expected key = value"},
		{"privileged: no", "policy.conf:1: expected key = value"},
		{"[docker]", "policy.conf:1: expected key = value"},
		{"pids_max = 1\npids_max = 1",
		 "policy.conf:2: pids_max: stands here for the second time"},
		{"privileged = true", "policy.conf:1: privileged: expected yes or no"},
		{"privileged = ", "privileged: expected yes or no"},
		{"privileged = YES", "expected yes or no"},
		{"privileged # = yes", "expected key = value"},
		{"privileged = # yes", "expected yes or no"},
		{"privileged = yes\r\n", "policy.conf:1: not printable ASCII"},
		{"runtimes = r\303\274n", "not printable ASCII"},
		{"pids_max = 1\n\001", "policy.conf:2: not printable ASCII"},
		{"memory_max = -1", "memory_max: expected bytes"},
		{"memory_max = +1", "memory_max: expected bytes"},
		{"memory_max = 1 G", "memory_max: expected bytes"},
		{"memory_max = 1KB", "memory_max: expected bytes"},
		{"memory_max = G", "memory_max: expected bytes"},
		{"memory_max = 1T", "memory_max: expected bytes"},
		{"memory_max = 0x10", "memory_max: expected bytes"},
		{"memory_max = 9223372036854775808", "memory_max: expected bytes"},
		{"memory_max = 8589934592G", "memory_max: expected bytes"},
		{"memory_max = 99999999999999999999999", "memory_max: expected bytes"},
		{"cpu_max = -0.5", "cpu_max: expected"},
		{"cpu_max = 256.001", "cpu_max: expected"},
		{"cpu_max = 0.001", "cpu_max: expected"},
		{"cpu_max = 0.0005", "cpu_max: expected"},
		{"cpu_max = 1.", "cpu_max: expected"},
		{"cpu_max = .5", "cpu_max: expected"},
		{"cpu_max = 1.2.3", "cpu_max: expected"},
		{"cpu_max = 1e3", "cpu_max: expected"},
		{"cpu_max = 18446744073709551616", "cpu_max: expected"},
		{"pids_max = 2147483648", "pids_max: expected"},
		{"pids_max = 1K", "pids_max: expected"},
		{"disk_max = -1", "disk_max: expected"},
	};

	(void)state;
	refuse(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_a_bad_path_list_or_name_is_refused(void **state)
{
	static const struct bad cases[] = {
		{"docker_socket = docker.sock", "docker_socket: expected an absolute path"},
		{"docker_socket = /var/run/../run/docker.sock", "docker_socket: expected"},
		{"docker_socket = /var//run", "docker_socket: expected"},
		{"docker_socket = /var/./run", "docker_socket: expected"},
		{"docker_socket = /var/run/", "docker_socket: expected"},
		{"docker_socket = /", "docker_socket: expected"},
		{"docker_socket = ", "docker_socket: expected"},
		{"docker_socket = unix:///var/run/docker.sock", "docker_socket: expected"},
		{"runtimes = ", "runtimes: expected"},
		{"runtimes = runc,", "runtimes: expected"},
		{"runtimes = ,runc", "runtimes: expected"},
		{"runtimes = runc,,kata", "runtimes: expected"},
		{"runtimes = runc;kata", "runtimes: expected"},
		{"runtimes = *,runc", "runtimes: expected"},
		{"registries = \"docker.io\"", "registries: expected"},
		{"audit_sync = never", "audit_sync: expected always or second"},
		{"broker_user = root1!", "broker_user: expected"},
		{"docker_user = 4294967295", "docker_user: expected"},
		{"docker_user = 4294967296", "docker_user: expected"},
		{"docker_user = -1", "docker_user: expected"},
		{"docker_user = ", "docker_user: expected"},
		{"docker_user = a23456789012345678901234567890123", "docker_user: expected"},
		{"docker_group = 4294967296", "docker_group: expected"},
		{"landlock_min_abi = 100", "landlock_min_abi: expected 0 to 99"},
		{"landlock_min_abi = best-effort", "landlock_min_abi: expected 0 to 99"},
	};

	(void)state;
	refuse(cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_lines_lists_and_names_have_bounds(void **state)
{
	struct site_policy policy;
	struct zerr err;
	char text[4096] = "runtimes = ";
	size_t used = strlen(text);

	(void)state;
	for (size_t i = 0; i < SITE_LIST_MAX; i++, used += 2)
		memcpy(text + used, "a,", 2);
	text[used - 1] = '\0';
	assert_int_equal(parse(text, &policy, &err), 0);
	assert_int_equal(policy.runtimes.count, SITE_LIST_MAX);
	text[used - 1] = ',';
	text[used++] = 'a';
	assert_int_equal(parse(text, &policy, &err), -EINVAL);

	memset(text, 'a', sizeof(text));
	memcpy(text, "runtimes = ", 11);
	text[11 + sizeof(policy.runtimes.text) - 1] = '\0';
	assert_int_equal(parse(text, &policy, &err), 0);
	text[11 + sizeof(policy.runtimes.text) - 1] = 'a';
	text[11 + sizeof(policy.runtimes.text)] = '\0';
	assert_int_equal(parse(text, &policy, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "runtimes: expected"));

	memset(text, ' ', sizeof(text));
	text[2000] = '\0';
	assert_int_equal(parse(text, &policy, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "line too long"));

	memset(text, 'a', sizeof(text));
	memcpy(text, "docker_socket = /", 17);
	text[16 + 107] = '\0';
	assert_int_equal(parse(text, &policy, &err), 0);
	text[16 + 107] = 'a';
	text[16 + 108] = '\0';
	assert_int_equal(parse(text, &policy, &err), -EINVAL);
	assert_int_equal(site_policy_parse("p", "a\0=1", 4, &policy, &err), -EINVAL);
}

/* The example's lines, those with a key freed of their "#". */
static size_t free_keys(char *text)
{
	size_t found = 0;

	for (char *line = text; line; line = strchr(line + 1, '\n')) {
		char *mark = line + (*line == '\n');
		size_t word = *mark == '#' ? strspn(mark + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;

		if (word == 0 || strncmp(mark + 1 + word, " = ", 3) != 0)
			continue;
		*mark = ' ';
		found++;
	}
	return found;
}

static void test_the_shipped_example_shows_every_key_with_its_default(void **state)
{
	_cleanup_fd_ int fd = open(POLICY_EXAMPLE, O_RDONLY | O_CLOEXEC);
	static char text[16384];
	struct site_policy as_shipped, freed, defaults;
	struct zerr err = {0};

	(void)state;
	assert_true(zfd_read_all(fd, text, sizeof(text) - 1) > 0);
	assert_int_equal(parse("", &defaults, &err), 0);
	assert_int_equal(parse(text, &as_shipped, &err), 0);
	assert_memory_equal(as_shipped.docker_socket, defaults.docker_socket,
			    sizeof(defaults.docker_socket));
	assert_int_equal(free_keys(text), 18);
	if (parse(text, &freed, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(freed.docker_socket, defaults.docker_socket);
	assert_int_equal(freed.memory_max_bytes, defaults.memory_max_bytes);
	assert_int_equal(freed.cpu_shares_max, defaults.cpu_shares_max);
	assert_int_equal(freed.pids_max, defaults.pids_max);
	assert_int_equal(freed.disk_max_gib, defaults.disk_max_gib);
	assert_memory_equal(freed.runtimes.text, defaults.runtimes.text,
			    sizeof(defaults.runtimes.text));
	assert_true(freed.registries.any && defaults.registries.any);
	assert_false(freed.privileged || freed.no_new_privileges || freed.adopt_unlabelled);
	assert_string_equal(freed.audit_directory, defaults.audit_directory);
	assert_false(freed.audit_sync_always);
	assert_string_equal(freed.broker_user, defaults.broker_user);
	assert_string_equal(freed.docker_user, defaults.docker_user);
	assert_string_equal(freed.state_directory, defaults.state_directory);
	assert_string_equal(freed.run_directory, defaults.run_directory);
	assert_int_equal(freed.landlock_min_abi, defaults.landlock_min_abi);
}

/* ---- the file itself ---- */

static char base[] = "/var/tmp/keelson-site.XXXXXX";
static const char good[] = "broker_user = 61801\ndocker_user = 61802\ndocker_group = 61803\n";

static const char *at(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", base, name);
	return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	_cleanup_fd_ int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(zfd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static int load(const char *name, struct zerr *err)
{
	struct site_policy policy;

	*err = (struct zerr){0};
	return site_policy_load(at(name), &policy, err);
}

static void test_a_file_of_roots_is_loaded(void **state)
{
	struct site_policy policy;
	struct zerr err;

	(void)state;
	need_root();
	write_file("conf/policy.conf", good, 0644);
	assert_int_equal(site_policy_load(at("conf/policy.conf"), &policy, &err), 0);
	assert_int_equal(policy.broker_uid, 61801);
	assert_int_equal(policy.broker_gid, 61801);
	assert_int_equal(policy.docker_uid, 61802);
	assert_int_equal(policy.docker_gid, 61802);
	assert_int_equal(policy.docker_socket_gid, 61803);
}

static void test_accounts_are_found_by_name(void **state)
{
	struct site_policy policy;
	struct zerr err;

	(void)state;
	need_root();
	write_file("conf/policy.conf",
		   "broker_user = nobody\ndocker_user = daemon\ndocker_group = tty\n", 0644);
	assert_int_equal(site_policy_load(at("conf/policy.conf"), &policy, &err), 0);
	assert_int_equal(policy.broker_uid, 65534);
	assert_int_equal(policy.broker_gid, 65534);
	assert_int_equal(policy.docker_uid, 1);
	assert_int_equal(policy.docker_socket_gid, 5);
}

static void test_accounts_that_will_not_do_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"broker_user = there-is-none\ndocker_user = 5\n", "not in /etc/passwd"},
		{"broker_user = 5\ndocker_user = there-is-none\n", "not in /etc/passwd"},
		{"broker_user = root\ndocker_user = 5\ndocker_group = 7\n", "neither root"},
		{"broker_user = 5\ndocker_user = root\ndocker_group = 7\n", "neither root"},
		{"broker_user = 0\ndocker_user = 5\ndocker_group = 7\n", "neither root"},
		{"broker_user = 5\ndocker_user = 0\ndocker_group = 7\n", "neither root"},
		{"broker_user = 5\ndocker_user = 5\ndocker_group = 7\n", "must be two"},
		{"broker_user = daemon\ndocker_user = 1\ndocker_group = 7\n", "must be two"},
		{"broker_user = 5\ndocker_user = 6\ndocker_socket = /there/is/none\n",
		 "docker_group: not given, and there is no socket"},
		{"broker_user = 5\ndocker_user = 6\ndocker_group = there-is-none\n",
		 "docker_group: not in /etc/group"},
	};
	struct zerr err;

	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_file("conf/policy.conf", cases[i].text, 0644);
		if (load("conf/policy.conf", &err) >= 0 || !strstr(err.msg, cases[i].message))
			fail_msg("%s: said %s", cases[i].text, err.msg);
	}
}

static void test_the_group_of_the_engines_socket_is_taken_when_none_is_given(void **state)
{
	struct site_policy policy;
	struct zerr err;
	char text[400];

	(void)state;
	need_root();
	(void)snprintf(text, sizeof(text), "broker_user = 5\ndocker_user = 6\ndocker_socket = %s\n",
		       at("conf/socket"));
	write_file("conf/policy.conf", text, 0644);
	write_file("conf/socket", "", 0660);
	assert_int_equal(chown(at("conf/socket"), 0, 4712), 0);
	assert_int_equal(site_policy_load(at("conf/policy.conf"), &policy, &err), 0);
	assert_int_equal(policy.docker_socket_gid, 4712);
	assert_int_equal(unlink(at("conf/socket")), 0);
}

static void test_a_file_that_others_may_write_is_refused(void **state)
{
	static const mode_t modes[] = {0664, 0646, 0666, 0660, 0602};
	struct zerr err;

	(void)state;
	need_root();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		write_file("conf/policy.conf", good, modes[i]);
		if (load("conf/policy.conf", &err) != -EPERM ||
		    !strstr(err.msg, "writable by nobody else"))
			fail_msg("mode %o: said %s", modes[i], err.msg);
	}
	write_file("conf/policy.conf", good, 0600);
	assert_int_equal(load("conf/policy.conf", &err), 0);
	assert_int_equal(chown(at("conf/policy.conf"), 61801, 0), 0);
	assert_int_equal(load("conf/policy.conf", &err), -EPERM);
	assert_int_equal(chown(at("conf/policy.conf"), 0, 61801), 0);
	assert_int_equal(load("conf/policy.conf", &err), 0);
}

static void test_a_folder_that_others_may_write_is_refused(void **state)
{
	static const mode_t modes[] = {0775, 0757, 0777};
	struct zerr err;

	(void)state;
	need_root();
	write_file("conf/policy.conf", good, 0644);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(at("conf"), modes[i]), 0);
		if (load("conf/policy.conf", &err) != -EPERM ||
		    !strstr(err.msg, "every folder above it"))
			fail_msg("mode %o: said %s", modes[i], err.msg);
	}
	/* Where only the owner of an entry may remove it, root's entry is safe. */
	assert_int_equal(chmod(at("conf"), 01777), 0);
	assert_int_equal(load("conf/policy.conf", &err), 0);
	assert_int_equal(chmod(at("conf"), 0755), 0);
	assert_int_equal(chown(at("conf"), 61801, 0), 0);
	assert_int_equal(load("conf/policy.conf", &err), -EPERM);
	assert_int_equal(chown(at("conf"), 0, 0), 0);
	assert_int_equal(load("conf/policy.conf", &err), 0);
}

static void test_links_and_other_kinds_of_file_are_refused(void **state)
{
	struct zerr err;
	char target[256];

	(void)state;
	need_root();
	write_file("conf/policy.conf", good, 0644);
	(void)snprintf(target, sizeof(target), "%s/conf", base);
	assert_int_equal(symlink("policy.conf", at("conf/link")), 0);
	assert_int_equal(symlink(target, at("folderlink")), 0);
	assert_int_equal(mkfifo(at("conf/fifo"), 0600), 0);
	assert_int_equal(load("conf/link", &err), -ELOOP);
	assert_int_equal(load("folderlink/policy.conf", &err), -ENOTDIR);
	assert_int_equal(load("conf/fifo", &err), -EINVAL);
	assert_int_equal(load("conf", &err), -EINVAL);
	assert_int_equal(load("conf/missing", &err), -ENOENT);
	assert_non_null(strstr(err.msg, "conf/missing"));
	assert_int_equal(load("conf/../conf/policy.conf", &err), -EINVAL);
	assert_int_equal(
		unlink(at("conf/link")) | unlink(at("conf/fifo")) | unlink(at("folderlink")), 0);
}

static void test_relative_and_endless_paths_are_refused(void **state)
{
	struct site_policy policy;
	struct zerr err;
	char path[300] = "/";

	(void)state;
	assert_int_equal(site_policy_load("policy.conf", &policy, &err), -EINVAL);
	assert_int_equal(site_policy_load("", &policy, &err), -EINVAL);
	assert_int_equal(site_policy_load("/", &policy, &err), -EINVAL);
	memset(path + 1, 'a', sizeof(path) - 2);
	assert_true(site_policy_load(path, &policy, &err) < 0);
}

static void test_a_file_that_is_too_large_is_refused(void **state)
{
	_cleanup_fd_ int fd = -1;
	struct zerr err;

	(void)state;
	need_root();
	write_file("conf/policy.conf", good, 0644);
	fd = open(at("conf/policy.conf"), O_WRONLY | O_APPEND | O_CLOEXEC);
	for (size_t i = 0; i < 65536 / 64; i++)
		assert_int_equal(
			zfd_write_all(
				fd,
				"#                                                              \n",
				64),
			0);
	assert_int_equal(load("conf/policy.conf", &err), -EFBIG);
}

static int make(void **state)
{
	(void)state;
	return !mkdtemp(base) || chmod(base, 0755) < 0 || mkdir(at("conf"), 0755) < 0 ? -1 : 0;
}

static int clean(void **state)
{
	(void)state;
	(void)unlink(at("conf/policy.conf"));
	(void)rmdir(at("conf"));
	return rmdir(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_file_gives_the_documented_defaults),
		cmocka_unit_test(test_every_key_is_read),
		cmocka_unit_test(test_a_list_survives_a_copy_of_the_policy),
		cmocka_unit_test(test_numbers_mean_what_they_say),
		cmocka_unit_test(test_a_bad_line_is_refused_with_its_place),
		cmocka_unit_test(test_a_bad_path_list_or_name_is_refused),
		cmocka_unit_test(test_lines_lists_and_names_have_bounds),
		cmocka_unit_test(test_the_shipped_example_shows_every_key_with_its_default),
		cmocka_unit_test(test_a_file_of_roots_is_loaded),
		cmocka_unit_test(test_accounts_are_found_by_name),
		cmocka_unit_test(test_accounts_that_will_not_do_are_refused),
		cmocka_unit_test(test_the_group_of_the_engines_socket_is_taken_when_none_is_given),
		cmocka_unit_test(test_a_file_that_others_may_write_is_refused),
		cmocka_unit_test(test_a_folder_that_others_may_write_is_refused),
		cmocka_unit_test(test_links_and_other_kinds_of_file_are_refused),
		cmocka_unit_test(test_relative_and_endless_paths_are_refused),
		cmocka_unit_test(test_a_file_that_is_too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, make, clean);
}

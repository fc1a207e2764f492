/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the tables of system calls: the filter that is loaded is the list that is written
 * down, as libseccomp exports it, and no list is longer than it may be. */
#include "inside.h"
#include "common/zfd.h"
#include "policy/profile.h"
#include <sys/mman.h>

#define PFC_MAX 262144

/* SECURITY-BAR 1, written down a second time: who raises it in a profile must do so here too. */
static const struct {
	enum sandbox_role role, parent;
	size_t most;
} bounds[] = {
	{SANDBOX_LAUNCHER, SANDBOX_LAUNCHER, 20},    {SANDBOX_DOCKER, SANDBOX_DOCKER, 28},
	{SANDBOX_DOCKER_SERVER, SANDBOX_DOCKER, 28}, {SANDBOX_DISPATCHER, SANDBOX_DISPATCHER, 60},
	{SANDBOX_PUBLISHER, SANDBOX_DISPATCHER, 60}, {SANDBOX_WORKER, SANDBOX_DISPATCHER, 60},
};
#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))

static bool allowed(enum sandbox_role role, const char *name)
{
	const struct sandbox_profile *profile = sandbox_profile(role);

	for (size_t i = 0; i < profile->syscall_rows; i++)
		if (strcmp(profile->syscalls[i].name, name) == 0)
			return profile->syscalls[i].roles & (1U << role) &&
			       profile->syscalls[i].filter != FILTER_ERROR;
	return false;
}

static void test_every_list_keeps_its_maximum(void **state)
{
	(void)state;
	for (size_t i = 0; i < BOUNDS; i++) {
		const struct sandbox_profile *profile = sandbox_profile(bounds[i].role);

		assert_int_equal(profile->role, bounds[i].role);
		assert_int_equal(profile->syscall_max, bounds[i].most);
		print_message("# %s: %zu system calls, at most %zu\n", profile->name,
			      sandbox_syscall_count(profile), profile->syscall_max);
		assert_in_range(sandbox_syscall_count(profile), 1, bounds[i].most);
	}
}

static void test_every_row_has_a_reason_and_stands_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < BOUNDS; i++) {
		const struct sandbox_profile *profile = sandbox_profile(bounds[i].role);

		for (size_t a = 0; a < profile->syscall_rows; a++) {
			const struct sandbox_syscall *row = &profile->syscalls[a];

			assert_true(row->number >= 0 && row->roles != 0);
			assert_true(row->reason && strlen(row->reason) >= 4);
			for (size_t b = 0; b < a; b++)
				assert_int_not_equal(row->number, profile->syscalls[b].number);
		}
	}
}

static void test_what_a_child_may_do_its_parent_may_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < BOUNDS; i++) {
		const struct sandbox_profile *profile = sandbox_profile(bounds[i].role);

		for (size_t a = 0; a < profile->syscall_rows; a++)
			if (allowed(bounds[i].role, profile->syscalls[a].name) &&
			    !allowed(bounds[i].parent, profile->syscalls[a].name))
				fail_msg("%s may %s, its parent may not", profile->name,
					 profile->syscalls[a].name);
	}
}

static void test_nobody_may_what_no_list_may_hold(void **state)
{
	static const char *const never[] = {
		"execve",
		"execveat",
		"ptrace",
		"process_vm_readv",
		"process_vm_writev",
		"bpf",
		"perf_event_open",
		"userfaultfd",
		"io_uring_setup",
		"io_uring_enter",
		"keyctl",
		"add_key",
		"kexec_load",
		"init_module",
		"finit_module",
		"open_by_handle_at",
		"pidfd_getfd",
		"personality",
		"unshare",
		"setns",
		"mount",
		"move_mount",
		"umount2",
		"pivot_root",
		"chroot",
		"mprotect",
		"setuid",
		"setresuid",
		"setgroups",
		"capset",
		"seccomp",
		"bind",
		"listen",
		"accept4",
		"chmod",
		"fchmodat",
		"fchownat",
		"mknodat",
		"symlinkat",
		"linkat",
		"vfork",
		"rt_sigreturn",
	};

	(void)state;
	for (size_t i = 0; i < BOUNDS; i++)
		for (size_t a = 0; a < sizeof(never) / sizeof(never[0]); a++)
			assert_false(allowed(bounds[i].role, never[a]));
	/* Only these start a process, and none of them maps code. */
	for (size_t i = 0; i < BOUNDS; i++)
		assert_int_equal(allowed(bounds[i].role, "clone"),
				 bounds[i].role == SANDBOX_DOCKER ||
					 bounds[i].role == SANDBOX_DISPATCHER);
}

static char *export(enum sandbox_role role)
{
	static char text[PFC_MAX];
	scmp_filter_ctx filter = filter_build(sandbox_profile(role));
	int fd = memfd_create("pfc", MFD_CLOEXEC);
	ssize_t length;

	assert_non_null(filter);
	assert_true(fd >= 0);
	assert_int_equal(seccomp_export_pfc(filter, fd), 0);
	seccomp_release(filter);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	length = zfd_read_all(fd, text, sizeof(text) - 1);
	assert_true(length > 0);
	text[length] = '\0';
	assert_int_equal(close(fd), 0);
	return text;
}

static void test_the_exported_filter_has_the_listed_names_and_no_other(void **state)
{
	static const char mark[] = "# filter for syscall \"";

	(void)state;
#ifdef KEELSON_SANITIZED
	skip(); /* the sanitizers' calls are there too */
#endif
	for (size_t i = 0; i < BOUNDS; i++) {
		const struct sandbox_profile *profile = sandbox_profile(bounds[i].role);
		const char *text = export(bounds[i].role);
		size_t found = 0, listed = 0;

		for (const char *at = text; (at = strstr(at, mark)) != NULL; found++) {
			const struct sandbox_syscall *row = NULL;
			size_t length;

			at += sizeof(mark) - 1;
			length = strcspn(at, "\"");
			for (size_t a = 0; a < profile->syscall_rows && !row; a++)
				if (strlen(profile->syscalls[a].name) == length &&
				    memcmp(profile->syscalls[a].name, at, length) == 0)
					row = &profile->syscalls[a];
			if (!row || !(row->roles & (1U << bounds[i].role)))
				fail_msg("%s: %.*s is not listed", profile->name, (int)length, at);
		}
		for (size_t a = 0; a < profile->syscall_rows; a++)
			listed += (profile->syscalls[a].roles & (1U << bounds[i].role)) != 0;
		assert_int_equal(found, listed);
		assert_non_null(strstr(text, "# default action\n  action KILL_PROCESS;"));
	}
}

static void test_arguments_are_filtered_where_they_must_be(void **state)
{
	const char *text = export(SANDBOX_DOCKER_SERVER);

	(void)state;
#ifdef KEELSON_SANITIZED
	skip();
#endif
	assert_non_null(strstr(text, "# filter for syscall \"socket\""));
	assert_non_null(strstr(text, "if ($a0.lo32 == 1)\n"));
	text = export(SANDBOX_WORKER);
	assert_non_null(strstr(text, "if ($a2.lo32 & 0x00000004 == 0)\n"));
	assert_non_null(strstr(text, "action ERRNO(97);"));
	assert_non_null(strstr(text, "if ($a1.lo32 == 21531)\n")); /* FIONREAD */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_list_keeps_its_maximum),
		cmocka_unit_test(test_every_row_has_a_reason_and_stands_once),
		cmocka_unit_test(test_what_a_child_may_do_its_parent_may_do),
		cmocka_unit_test(test_nobody_may_what_no_list_may_hold),
		cmocka_unit_test(test_the_exported_filter_has_the_listed_names_and_no_other),
		cmocka_unit_test(test_arguments_are_filtered_where_they_must_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

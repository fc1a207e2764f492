/* SPDX-License-Identifier: Apache-2.0 */
/* keelson doctor, the host: what the kernel offers, and whether policy, audit folder and engine are
 * there. */
#include "common/zbuf.h"
#include "common/zfd.h"
#include "unpriv/cli/doctor.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CONNECT_MS 2000

static void have(const char *what, const char *text)
{
	(void)printf("  %-22s %s\n", what, text);
}

/* Asks with arguments that no call takes: what is there says so, what is not says ENOSYS. */
static void check_calls(struct doctor *doctor)
{
	static const struct {
		long number;
		const char *name, *need;
	} calls[] = {
		{SYS_openat2, "openat2", "files below a folder (Linux 5.6)"},
		{SYS_close_range, "close_range", "closing what a child must not have (Linux 5.9)"},
		{SYS_pidfd_open, "pidfd_open", "watching children (Linux 5.3)"},
		{442, "mount_setattr", "a read-only view of the host (Linux 5.12)"},
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (syscall(calls[i].number, -1, NULL, 0, NULL, 0) < 0 && errno == ENOSYS)
			doctor_fault(doctor, "%s is missing: %s", calls[i].name, calls[i].need);
		else
			have(calls[i].name, "yes");
	}
}

static void check_kernel(struct doctor *doctor)
{
	const uint32_t action = SECCOMP_RET_KILL_PROCESS;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
	unsigned least = doctor->policy_known ? doctor->policy.landlock_min_abi : 1;
	struct utsname name;
	char text[64];

	if (uname(&name) == 0)
		have("kernel", name.release);
	check_calls(doctor);
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
		doctor_fault(doctor, "seccomp filters that end a process are missing: %s",
			     strerror(errno));
	else
		have("seccomp", "yes");
	(void)snprintf(text, sizeof(text), "ABI %ld%s", abi < 0 ? 0 : abi,
		       abi >= 6	  ? ": files, ports, signals"
		       : abi >= 4 ? ": files, ports"
		       : abi >= 1 ? ": files"
				  : "");
	if (abi < (long)least)
		doctor_fault(doctor,
			     "Landlock %s, at least %u wanted (is it in the kernel's lsm= list?)",
			     text, least);
	else
		have("Landlock", abi < 1 ? "none: best effort is allowed" : text);
}

/* The first line of a file, without its end; "" when there is none.  Returns out. */
static const char *read_line(const char *path, char *out, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : ZFD_RETRY(read(fd, out, size - 1));

	out[length < 0 ? 0 : length] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return out;
}

static void check_settings(void)
{
	struct statfs cgroup = {0}, unified = {0};
	char text[32];

	(void)read_line("/proc/sys/user/max_user_namespaces", text, sizeof(text));
	have("user namespaces",
	     text[0] == '\0' || strcmp(text, "0") == 0 ? "off" : "on (not needed)");
	(void)read_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	have("Yama ptrace_scope", text[0] ? text : "none (1 or more is better)");
	(void)statfs("/sys/fs/cgroup", &cgroup); /* stays zero: no hierarchy */
	(void)statfs("/sys/fs/cgroup/unified", &unified);
	have("cgroups", cgroup.f_type == CGROUP2_SUPER_MAGIC ? "version 2"
			: unified.f_type == CGROUP2_SUPER_MAGIC
				? "version 1, with an empty version 2"
			: cgroup.f_type == TMPFS_MAGIC ? "version 1"
						       : "none found");
}

static void check_audit(struct doctor *doctor)
{
	const char *path = doctor->policy.audit_directory;
	struct stat status;

	if (lstat(path, &status) < 0 && errno == ENOENT)
		have("audit folder", "not there yet: the launcher makes it");
	else if (lstat(path, &status) < 0)
		doctor_fault(doctor, "audit folder %s: %s", path, strerror(errno));
	else if (!S_ISDIR(status.st_mode) || status.st_uid != 0 || status.st_mode & 077)
		doctor_fault(doctor, "audit folder %s must be root's, mode 0700", path);
	else
		have("audit folder", path);
}

/* 0 or an errno. */
static int try_connect(const char *path)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0 || zstr_copy(zstr_from(path), address.sun_path, sizeof(address.sun_path)) < 0)
		return ENAMETOOLONG;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return 0;
	if (errno != EAGAIN && errno != EINPROGRESS)
		return errno;
	return zfd_wait(fd, POLLOUT, zfd_now_ms() + CONNECT_MS) < 0 ? ETIMEDOUT : 0;
}

static void check_engine(struct doctor *doctor)
{
	const char *path = doctor->policy.docker_socket;
	gid_t group = doctor->policy.docker_socket_gid;
	struct stat status;
	int error;

	if (stat(path, &status) < 0) {
		doctor_fault(doctor, "engine's socket %s: %s", path, strerror(errno));
		return;
	}
	error = S_ISSOCK(status.st_mode) ? try_connect(path) : ENOTSOCK;
	if (error)
		doctor_fault(doctor, "engine's socket %s: %s", path, strerror(error));
	else
		have("engine's socket", path);
	if (status.st_mode & S_IWOTH)
		doctor_fault(doctor,
			     "every user of this host may write to %s, which is as good as root",
			     path);
	if (!(status.st_mode & S_IWGRP) || status.st_gid != group)
		doctor_fault(doctor, "%s is not writable for group %u: the helper cannot reach it",
			     path, group);
}

void doctor_host(struct doctor *doctor)
{
	(void)printf("This host:\n");
	check_kernel(doctor);
	check_settings();
	if (!doctor->policy_known) {
		doctor_fault(doctor, "site policy: %s", doctor->policy_error);
		return;
	}
	have("site policy", doctor->policy_path);
	check_audit(doctor);
	check_engine(doctor);
}

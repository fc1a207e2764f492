/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code that has taken over a process tries.  Each function makes one attempt
 * and returns WORKED or the errno that it met; the tables say how it must end in
 * each role.
 */
#include "sandbox_attack.h"
#include <errno.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct attack_place place;

/* ---- what an attacker tries ---- */

static int ended(long result)
{
	return result < 0 ? errno : WORKED;
}

static int connect_unix(const char *path, bool is_abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	memcpy(address.sun_path + is_abstract, path, length);
	return ended(connect(
		fd, (const struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + is_abstract)));
}

static int to_engine(void)
{
	return connect_unix(place.in_docker ? "/engine/socket" : place.engine_socket, false);
}

static int to_abstract(void)
{
	return connect_unix(place.abstract, true);
}

static int to_systemd(void)
{
	return connect_unix("/run/systemd/private", false);
}

static int to_port(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return ended(connect(fd, (const struct sockaddr *)&address, sizeof(address)));
}

static int to_open_port(void)
{
	return to_port(OPEN_PORT);
}

static int to_other_port(void)
{
	return to_port(OTHER_PORT);
}

static int listens(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : ended(bind(fd, (const struct sockaddr *)&address, sizeof(address)));
}

#define SOCKET_OF(name, family, type, protocol)                                                    \
	static int name(void)                                                                      \
	{                                                                                          \
		return ended(socket(family, type, protocol));                                      \
	}
SOCKET_OF(socket_netlink, AF_NETLINK, SOCK_RAW, 0)
SOCKET_OF(socket_packet, AF_PACKET, SOCK_RAW, 0)
SOCKET_OF(socket_vsock, AF_VSOCK, SOCK_STREAM, 0)
SOCKET_OF(socket_alg, AF_ALG, SOCK_SEQPACKET, 0)
SOCKET_OF(socket_raw, AF_INET, SOCK_RAW, IPPROTO_ICMP)

static int socket_pair_of_internet(void)
{
	int pair[2];

	return ended(syscall(SYS_socketpair, AF_INET, SOCK_STREAM, 0, pair));
}

#define OPEN(name, path, flags)                                                                    \
	static int name(void)                                                                      \
	{                                                                                          \
		return ended(open(path, flags, 0600));                                             \
	}
OPEN(read_shadow, "/etc/shadow", O_RDONLY)
OPEN(read_passwd, "/etc/passwd", O_RDONLY)
OPEN(read_hosts, "/etc/hosts", O_RDONLY)
OPEN(read_root, "/", O_RDONLY | O_DIRECTORY)
OPEN(read_boot_memory, "/proc/1/mem", O_RDONLY)
OPEN(read_boot_environment, "/proc/1/environ", O_RDONLY)
OPEN(read_kernel_log, "/proc/kmsg", O_RDONLY)
OPEN(write_core_pattern, "/proc/sys/kernel/core_pattern", O_WRONLY)
OPEN(write_cgroup, "/sys/fs/cgroup/attack", O_WRONLY | O_CREAT)
OPEN(write_shared_memory, "/dev/shm/keelson-attack", O_WRONLY | O_CREAT)
OPEN(write_etc, "/etc/keelson-attack", O_WRONLY | O_CREAT)
OPEN(write_outside, place.outside, O_WRONLY | O_CREAT)
OPEN(open_engine_socket, place.engine_socket, O_RDWR)
OPEN(read_library, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY)

static int of_process(pid_t pid, const char *file)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return ended(open(path, O_RDONLY | O_CLOEXEC));
}

static int read_sibling_memory(void)
{
	return of_process(place.sibling, "mem");
}

static int read_sibling_environment(void)
{
	return of_process(place.sibling, "environ");
}

static int read_sibling_descriptors(void)
{
	return of_process(place.sibling, "fd");
}

static int read_launcher_memory(void)
{
	return of_process(place.launcher, "mem");
}

static int write_state(void)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/attack", place.state);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? errno : ended(unlinkat(AT_FDCWD, path, 0));
}

static int remove_hosts(void)
{
	return ended(unlinkat(AT_FDCWD, "/etc/hosts", 0));
}

static int leave_state(void)
{
	char path[80];

	(void)snprintf(path, sizeof(path), "%s/../../outside", place.state);
	return ended(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int move_out_of_state(void)
{
	char from[80];
	int fd;

	(void)snprintf(from, sizeof(from), "%s/attack", place.state);
	fd = open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	return ended(renameat2(AT_FDCWD, from, AT_FDCWD, place.outside, RENAME_NOREPLACE));
}

static int execute(void)
{
	static const char *const words[] = {"/bin/sh", "-c", "exit 0", NULL};

	return ended(syscall(SYS_execve, words[0], words, NULL));
}

static int execute_memory(void)
{
	int fd = memfd_create("program", 0);

	return fd < 0 ? errno : ended(syscall(SYS_execveat, fd, "", NULL, NULL, AT_EMPTY_PATH));
}

/* A filter of one's own comes below the one in force, and takes nothing away from it. */
static int allow_all_then_execute(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, all};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return errno;
	return execute();
}

static int widen_landlock(void)
{
	const uint64_t rules[] = {1U << 2, 0, 0}; /* reading files */
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, rules, sizeof(rules), 0);
	struct {
		uint64_t allowed;
		int32_t path;
	} __attribute__((packed)) rule = {1U << 2, open("/etc/passwd", O_PATH)};

	if (ruleset < 0 || rule.path < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return errno;
	return read_passwd();
}

static int gain_capability(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{~0U, ~0U, ~0U}, {~0U, ~0U, ~0U}};

	return ended(syscall(SYS_capset, &header, data));
}

#define PRCTL(name, option, value)                                                                 \
	static int name(void)                                                                      \
	{                                                                                          \
		return ended(prctl(option, value, 0, 0, 0));                                       \
	}
PRCTL(become_dumpable, PR_SET_DUMPABLE, 1)
PRCTL(keep_capabilities, PR_SET_KEEPCAPS, 1)
PRCTL(change_secure_bits, PR_SET_SECUREBITS, 0)
PRCTL(allow_tracer, PR_SET_PTRACER, PR_SET_PTRACER_ANY)

static int become_root(void)
{
	return ended(syscall(SYS_setresuid, 0, 0, 0));
}

static int join_groups(void)
{
	const gid_t groups[] = {DOCKER_GID, 0};

	return ended(syscall(SYS_setgroups, 2, groups));
}

static int trace_sibling(void)
{
	return ended(ptrace(PTRACE_SEIZE, place.sibling, NULL, NULL));
}

static int read_sibling(void)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {&byte, 1};

	return ended(syscall(SYS_process_vm_readv, place.sibling, &here, 1, &there, 1, 0));
}

static int steal_descriptor(void)
{
	int fd = (int)syscall(SYS_pidfd_open, place.sibling, 0);

	return fd < 0 ? errno : ended(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

static int end_launcher(void)
{
	return ended(kill(place.launcher, SIGTERM));
}

static int end_sibling(void)
{
	return ended(kill(place.sibling, SIGTERM));
}

static int end_boot_process(void)
{
	return ended(kill(1, SIGKILL));
}

static int signal_sibling_by_thread(void)
{
	return ended(syscall(SYS_tgkill, place.sibling, place.sibling, SIGTERM));
}

static int raise_limit(void)
{
	struct rlimit limit = {100000, 100000};

	return ended(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL));
}

static int limit_sibling(void)
{
	struct rlimit limit = {1, 1};

	return ended(syscall(SYS_prlimit64, place.sibling, RLIMIT_CPU, &limit, NULL));
}

static int forks(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return ended(child);
}

#define CLONE(name, flags)                                                                         \
	static int name(void)                                                                      \
	{                                                                                          \
		long child = syscall(SYS_clone, (flags) | SIGCHLD, NULL, NULL, NULL, 0L);          \
                                                                                                   \
		if (child == 0)                                                                    \
			_exit(0);                                                                  \
		return ended(child);                                                               \
	}
CLONE(fork_into_user_namespace, CLONE_NEWUSER)
CLONE(fork_into_pid_namespace, CLONE_NEWPID)
CLONE(fork_untraceable, CLONE_UNTRACED)

static int new_clone(void)
{
	return ended(syscall(SYS_clone3, NULL, 0));
}

static int map_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? errno : WORKED;
}

static int make_code(void)
{
	static char page[8192] __attribute__((aligned(4096)));

	return ended(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
}

static int type_into_terminal(void)
{
	return ended(ioctl(0, TIOCSTI, "x"));
}

#define FCNTL(name, command, value)                                                                \
	static int name(void)                                                                      \
	{                                                                                          \
		return ended(fcntl(1, command, value));                                            \
	}
FCNTL(own_descriptor, F_SETOWN, 1)
FCNTL(lease_file, F_SETLEASE, F_RDLCK)
FCNTL(watch_folder, F_NOTIFY, 1)

static int x32_call(void)
{
	return ended(syscall(0x40000000 | SYS_getpid));
}

static int i386_call(void)
{
	long number = 20; /* getpid */

	__asm__ volatile("int $0x80" : "+a"(number) : : "memory");
	return number < 0 ? (int)-number : WORKED;
}

static int see_host(void)
{
	struct stat status;

	return ended(stat("/etc", &status));
}

/* ---- what is expected: dispatcher, publisher, worker, docker, docker-server ---- */

#define BROKER(outcome) outcome, outcome, outcome
#define ALL_KILLED                                                                                 \
	{                                                                                          \
		BROKER(KILLED), KILLED, KILLED                                                     \
	}
#define FILES(outcome)                                                                             \
	{                                                                                          \
		BROKER(outcome), KILLED, KILLED                                                    \
	}
#define ANY 0, true

const struct attack attacks[] = {
	/* What a role may do: else the rest would prove nothing. */
	{"reads what names are resolved with", read_hosts, FILES(WORKED), ANY},
	{"writes to its state folder",
	 write_state,
	 {WORKED, EACCES, WORKED, KILLED, KILLED},
	 0,
	 false},
	{"connects to a configured port", to_open_port, FILES(ECONNREFUSED), ANY},
	{"connects to the engine", to_engine, {BROKER(EAFNOSUPPORT), WORKED, WORKED}, ANY},
	{"forks", forks, {WORKED, KILLED, KILLED, WORKED, KILLED}, ANY},

	{"opens the engine's socket as a file", open_engine_socket, FILES(EACCES), ANY},
	{"connects to the service manager",
	 to_systemd,
	 {BROKER(EAFNOSUPPORT), ENOENT, ENOENT},
	 ANY},
	/* The docker domain has a network namespace of its own, and with it abstract names of
	   its own. */
	{"connects to an abstract socket",
	 to_abstract,
	 {BROKER(EAFNOSUPPORT), ECONNREFUSED, ECONNREFUSED},
	 ANY},
	{"connects to another port", to_other_port, FILES(EACCES), 4, true},
	{"listens", listens, ALL_KILLED, ANY},
	{"netlink socket", socket_netlink, FILES(EAFNOSUPPORT), ANY},
	{"packet socket", socket_packet, ALL_KILLED, ANY},
	{"vsock socket", socket_vsock, ALL_KILLED, ANY},
	{"kernel crypto socket", socket_alg, ALL_KILLED, ANY},
	{"raw internet socket", socket_raw, FILES(EPERM), ANY},
	{"pair of internet sockets", socket_pair_of_internet, ALL_KILLED, ANY},

	{"reads /etc/shadow", read_shadow, FILES(EACCES), ANY},
	{"reads /etc/passwd", read_passwd, FILES(EACCES), ANY},
	{"lists the root folder", read_root, FILES(EACCES), ANY},
	{"reads a library", read_library, FILES(EACCES), ANY},
	{"reads the memory of process 1", read_boot_memory, FILES(EACCES), ANY},
	{"reads the environment of process 1", read_boot_environment, FILES(EACCES), ANY},
	{"reads the launcher's memory", read_launcher_memory, FILES(EACCES), ANY},
	{"reads a sibling's memory", read_sibling_memory, FILES(EACCES), ANY},
	{"reads a sibling's environment", read_sibling_environment, FILES(EACCES), ANY},
	{"lists a sibling's descriptors", read_sibling_descriptors, FILES(EACCES), ANY},
	{"reads the kernel's log", read_kernel_log, FILES(EACCES), ANY},
	{"writes outside of its state folder", write_outside, FILES(EROFS), ANY},
	{"writes outside by way of ..", leave_state, FILES(EROFS), ANY},
	{"moves a file out of its state folder",
	 move_out_of_state,
	 {EXDEV, EACCES, EXDEV, KILLED, KILLED},
	 ANY},
	{"writes to /etc", write_etc, FILES(EROFS), ANY},
	{"writes to shared memory", write_shared_memory, FILES(EROFS), ANY},
	{"changes the core pattern", write_core_pattern, FILES(EACCES), ANY},
	{"makes a cgroup", write_cgroup, FILES(EROFS), ANY},
	{"removes /etc/hosts", remove_hosts, {EROFS, KILLED, EROFS, KILLED, KILLED}, ANY},
	{"looks for the host's tree", see_host, {BROKER(WORKED), ENOENT, ENOENT}, ANY},

	{"executes a shell", execute, ALL_KILLED, ANY},
	{"executes memory", execute_memory, ALL_KILLED, ANY},
	{"executes below a filter of its own", allow_all_then_execute, ALL_KILLED, ANY},
	{"widens its Landlock rules",
	 widen_landlock,
	 {EACCES, KILLED, KILLED, KILLED, KILLED},
	 ANY},
	{"takes every capability", gain_capability, ALL_KILLED, ANY},
	{"becomes root", become_root, ALL_KILLED, ANY},
	{"joins the engine's group", join_groups, ALL_KILLED, ANY},
	{"becomes dumpable", become_dumpable, ALL_KILLED, ANY},
	{"keeps capabilities over a change of user", keep_capabilities, ALL_KILLED, ANY},
	{"changes its secure bits", change_secure_bits, ALL_KILLED, ANY},
	{"lets others trace it", allow_tracer, ALL_KILLED, ANY},

	{"traces a sibling", trace_sibling, ALL_KILLED, ANY},
	{"reads a sibling by system call", read_sibling, ALL_KILLED, ANY},
	{"steals a sibling's descriptor", steal_descriptor, ALL_KILLED, ANY},
	{"signals a sibling's thread", signal_sibling_by_thread, ALL_KILLED, 6, true},
	{"ends the launcher", end_launcher, {EPERM, KILLED, KILLED, KILLED, KILLED}, ANY},
	{"ends process 1", end_boot_process, {EPERM, KILLED, KILLED, KILLED, KILLED}, ANY},
	{"ends a sibling", end_sibling, {EPERM, KILLED, KILLED, KILLED, KILLED}, 6, true},
	{"raises its limits", raise_limit, {EPERM, KILLED, KILLED, EPERM, KILLED}, ANY},
	{"lowers a sibling's limits", limit_sibling, ALL_KILLED, 0, false},

	{"forks into a user namespace", fork_into_user_namespace, ALL_KILLED, ANY},
	{"forks into a process namespace", fork_into_pid_namespace, ALL_KILLED, ANY},
	{"forks untraceably", fork_untraceable, ALL_KILLED, ANY},
	{"forks by clone3", new_clone, {BROKER(ENOSYS), ENOSYS, ENOSYS}, ANY},
	{"maps code", map_code, ALL_KILLED, 0, false},
	{"makes memory executable", make_code, ALL_KILLED, 0, false},
	{"types into a terminal", type_into_terminal, ALL_KILLED, ANY},
	{"takes over a descriptor's signals", own_descriptor, ALL_KILLED, ANY},
	{"leases a file", lease_file, ALL_KILLED, ANY},
	{"watches a folder", watch_folder, ALL_KILLED, ANY},
	{"calls by the x32 table", x32_call, ALL_KILLED, ANY},
	{"calls by the i386 table", i386_call, ALL_KILLED, ANY},
};

#define CALL(name)                                                                                 \
	{                                                                                          \
#name, SYS_##name                                                                  \
	}
/* System calls that end every role, whatever their arguments. */
/* clang-format off */
const struct attack_call attack_calls[] = {
	CALL(unshare), CALL(setns), CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot),
	CALL(chdir), CALL(fchdir), CALL(open_tree), CALL(move_mount), CALL(fsopen),
	CALL(fsmount), CALL(fspick), {"mount_setattr", 442}, CALL(ptrace),
	CALL(process_vm_readv), CALL(process_vm_writev), CALL(pidfd_open), CALL(pidfd_getfd),
	CALL(pidfd_send_signal), CALL(kcmp), CALL(process_madvise), CALL(rt_sigqueueinfo),
	CALL(rt_tgsigqueueinfo), CALL(tkill), CALL(bpf), CALL(perf_event_open),
	CALL(userfaultfd), CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
	CALL(io_setup), CALL(keyctl), CALL(add_key), CALL(request_key), CALL(kexec_load),
	CALL(kexec_file_load), CALL(init_module), CALL(finit_module), CALL(delete_module),
	CALL(open_by_handle_at), CALL(name_to_handle_at), CALL(personality), CALL(seccomp),
	CALL(fanotify_init), CALL(inotify_init1), CALL(quotactl), CALL(swapon), CALL(reboot),
	CALL(sethostname), CALL(setdomainname), CALL(settimeofday), CALL(clock_settime),
	CALL(adjtimex), CALL(clock_adjtime), CALL(acct), CALL(syslog), CALL(iopl), CALL(ioperm),
	CALL(modify_ldt), CALL(arch_prctl), CALL(setuid), CALL(setgid), CALL(setreuid),
	CALL(setfsuid), CALL(setsid), CALL(setpgid), CALL(vfork), CALL(shmget), CALL(shmat),
	CALL(msgget), CALL(semget), CALL(mq_open), CALL(pkey_mprotect), CALL(mlockall),
	CALL(move_pages), CALL(migrate_pages), CALL(mbind), CALL(vmsplice), CALL(tee),
	CALL(copy_file_range), CALL(sendfile), CALL(mkdir), CALL(mkdirat), CALL(rmdir),
	CALL(link), CALL(linkat), CALL(symlink), CALL(symlinkat), CALL(mknod), CALL(mknodat),
	CALL(chmod), CALL(fchmod), CALL(fchmodat), CALL(chown), CALL(fchown), CALL(fchownat),
	CALL(truncate), CALL(setxattr), CALL(fsetxattr), CALL(utimensat), CALL(creat),
	CALL(open), CALL(rename), CALL(bind), CALL(listen), CALL(accept), CALL(accept4),
	CALL(ioprio_set), CALL(setpriority), CALL(sched_setscheduler), CALL(sched_setattr),
	CALL(sched_setaffinity), CALL(timer_create), CALL(setitimer), CALL(alarm), CALL(uselib),
	CALL(lookup_dcookie), CALL(nfsservctl), CALL(memfd_secret), CALL(remap_file_pages),
	CALL(dup), CALL(dup2), CALL(dup3), CALL(close_range),
};
/* clang-format on */

/* ---- from outside: the same user, not confined, against a confined process ---- */

const struct attack attacks_from_outside[] = {
	{"traces it", trace_sibling, {BROKER(EPERM), EPERM, EPERM}, ANY},
	{"reads it by system call", read_sibling, {BROKER(EPERM), EPERM, EPERM}, ANY},
	{"steals its descriptor", steal_descriptor, {BROKER(EPERM), EPERM, EPERM}, ANY},
	{"reads its memory", read_sibling_memory, {BROKER(EACCES), EACCES, EACCES}, ANY},
	{"reads its environment", read_sibling_environment, {BROKER(EACCES), EACCES, EACCES}, ANY},
	{"lists its descriptors", read_sibling_descriptors, {BROKER(EACCES), EACCES, EACCES}, ANY},
};

const size_t attack_count = sizeof(attacks) / sizeof(attacks[0]);
const size_t attack_call_count = sizeof(attack_calls) / sizeof(attack_calls[0]);
const size_t attack_from_outside_count =
	sizeof(attacks_from_outside) / sizeof(attacks_from_outside[0]);

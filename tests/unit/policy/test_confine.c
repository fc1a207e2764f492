/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/confine.c, filter.c and landlock.c: what a process can and cannot do once it
 * has confined itself, alone and below a parent that is confined. */
#include "inside.h"
#include "common/zbuf.h"
#include "common/zfd.h"
#include "policy/sandbox.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char folder[] = "/var/tmp/keelson-confine.XXXXXX";
static struct sandbox_board *board; /* shared with every child */

static const struct sandbox_path some_paths[] = {{folder, true},
						 SANDBOX_RESOLVER_PATHS,
						 SANDBOX_CA_PATHS,
						 {"/there/is/none", false},
						 {NULL, false}};
static const uint16_t some_ports[] = {9, 0};

static struct sandbox_confine everything(void)
{
	return (struct sandbox_confine){.paths = some_paths,
					.connect_ports = some_ports,
					.landlock_min_abi = 1,
					.board = board};
}

/* As the launcher does it before. */
static void leave_root(void)
{
	const struct sandbox_drop how = {.uid = SOME_UID, .gid = SOME_GID};
	struct zerr err = {0};

	if (geteuid() == 0) {
		MUST_DO(sandbox_drop(&how, &err), &err);
		return;
	}
	MUST(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
}

static void confine(enum sandbox_role role)
{
	struct sandbox_confine how = everything();
	struct zerr err = {0};

	MUST_DO(sandbox_confine(role, &how, &err), &err);
}

static void enter(enum sandbox_role role)
{
	leave_root();
	confine(role);
}

static bool killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static void as_root(void)
{
	struct sandbox_confine how = everything();
	struct zerr err = {0};

	MUST(sandbox_confine(SANDBOX_WORKER, &how, &err) == -EPERM);
	MUST(strstr(err.msg, "worker"));
}

static void with_capability(void)
{
	struct sandbox_confine how = everything();
	const struct sandbox_drop keep = {
		.uid = SOME_UID, .gid = SOME_GID, .capabilities = UINT64_C(1) << CAP_CHOWN};
	struct zerr err = {0};

	MUST_DO(sandbox_drop(&keep, &err), &err);
	MUST(sandbox_confine(SANDBOX_DISPATCHER, &how, &err) == -EPERM);
}

static void launcher_with_more(void)
{
	struct sandbox_confine how = everything();
	struct zerr err = {0};

	MUST(sandbox_confine(SANDBOX_LAUNCHER, &how, &err) == -EPERM);
}

static void test_confine_refuses_to_go_on_with_root_or_a_capability(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(inside(as_root), 0);
	assert_int_equal(inside(with_capability), 0);
	assert_int_equal(inside(launcher_with_more), 0);
}

static void future_abi(void)
{
	struct sandbox_confine how = everything();
	struct zerr err = {0};

	leave_root();
	how.landlock_min_abi = 90;
	MUST(sandbox_confine(SANDBOX_DISPATCHER, &how, &err) == -ENOTSUP);
	MUST(strstr(err.msg, "asks for 90"));
}

static void test_confine_refuses_a_kernel_below_the_policys_landlock(void **state)
{
	(void)state;
	assert_int_equal(inside(future_abi), 0);
}

static void facts(void)
{
	const struct sandbox_profile *profile = sandbox_profile(SANDBOX_DISPATCHER);
	struct rlimit limits[4];

	/* What may not be asked for inside is asked for before. */
	MUST(prctl(PR_GET_SECCOMP) == 0);
	enter(SANDBOX_DISPATCHER);
	MUST(prctl(PR_GET_SECCOMP) == 2);
	MUST(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	MUST(prctl(PR_GET_DUMPABLE) == 0);
	MUST(getrlimit(RLIMIT_CORE, &limits[0]) == 0 && limits[0].rlim_max == 0);
	MUST(getrlimit(RLIMIT_NOFILE, &limits[1]) == 0 && limits[1].rlim_max <= profile->nofile);
	MUST(getrlimit(RLIMIT_NPROC, &limits[2]) == 0 && limits[2].rlim_max <= profile->nproc);
	MUST(getrlimit(RLIMIT_FSIZE, &limits[3]) == 0 && limits[3].rlim_max <= profile->file_size);
}

static void test_confine_leaves_limits_filter_and_no_new_privs_in_force(void **state)
{
	(void)state;
	assert_int_equal(inside(facts), 0);
}

static void file_limit(void)
{
	struct sandbox_confine how = everything();
	struct zerr err = {0};
	char page[4096] = {0};
	int fd;

	leave_root();
	fd = memfd_create("log", MFD_CLOEXEC);
	how.file_size_max = 1000;
	MUST_DO(sandbox_confine(SANDBOX_DOCKER, &how, &err), &err);
	MUST(write(fd, page, sizeof(page)) == 1000);
	MUST(write(fd, page, sizeof(page)) < 0 && errno == EFBIG);
}

static void test_a_full_file_is_an_error_and_not_a_signal(void **state)
{
	(void)state;
	assert_int_equal(inside(file_limit), 0);
}

static void files(void)
{
	_cleanup_fd_ int place = -1;
	int fd;

	leave_root();
	place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	confine(SANDBOX_DISPATCHER);
	MUST(open("/etc/hosts", O_RDONLY) >= 0);
	MUST(open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES);
	MUST(open("/", O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES);
	MUST(open("/proc/self/status", O_RDONLY) < 0 && errno == EACCES);
	MUST(open("/etc/hosts", O_WRONLY) < 0);
	MUST(open("/var/tmp/keelson-new", O_WRONLY | O_CREAT, 0600) < 0 && errno == EACCES);
	fd = zfd_open_beneath(place, "new", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0 && write(fd, "x", 1) == 1 && ftruncate(fd, 0) == 0);
	MUST(renameat2(place, "new", place, "newer", RENAME_NOREPLACE) == 0);
	MUST(unlinkat(place, "newer", 0) == 0);
}

static void test_landlock_lets_only_the_given_paths_through(void **state)
{
	(void)state;
	assert_int_equal(inside(files), 0);
}

static void try_port(uint16_t port, int expected)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	MUST(fd >= 0);
	MUST(connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0);
	MUST(errno == expected);
	(void)close(fd);
}

static void ports(void)
{
	bool by_port = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 4;

	enter(SANDBOX_DISPATCHER);
	try_port(9, ECONNREFUSED);
	if (by_port)
		try_port(10, EACCES);
}

static void test_landlock_lets_only_the_given_ports_through(void **state)
{
	(void)state;
	assert_int_equal(inside(ports), 0);
}

static void names(void)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;

	enter(SANDBOX_DISPATCHER);
	for (int flags = 0; flags <= AI_ADDRCONFIG; flags += AI_ADDRCONFIG) {
		hints.ai_flags = flags;
		MUST(getaddrinfo("localhost", "5672", &hints, &found) == 0);
		MUST(found != NULL);
		freeaddrinfo(found);
	}
	MUST(getaddrinfo("::1", "5672", &hints, &found) == 0);
}

static void test_names_of_etc_hosts_resolve_inside(void **state)
{
	(void)state;
	assert_int_equal(inside(names), 0);
}

static void netlink_and_unix(void)
{
	enter(SANDBOX_DISPATCHER);
	MUST(socket(AF_NETLINK, SOCK_RAW, 0) < 0 && errno == EAFNOSUPPORT);
	MUST(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EAFNOSUPPORT);
	MUST(syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS);
}

static void test_what_the_resolver_asks_for_is_answered_with_an_error(void **state)
{
	(void)state;
	assert_int_equal(inside(netlink_and_unix), 0);
}

static void packet_socket(void)
{
	enter(SANDBOX_DISPATCHER);
	(void)socket(AF_PACKET, SOCK_RAW, 0);
}

static void internet_in_docker(void)
{
	enter(SANDBOX_DOCKER);
	(void)socket(AF_INET, SOCK_STREAM, 0);
}

static void new_namespace(void)
{
	enter(SANDBOX_DISPATCHER);
	(void)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0L);
}

static void thread(void)
{
	enter(SANDBOX_DISPATCHER);
	(void)syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
		      NULL, NULL, NULL, 0L);
}

static void wrong_signal(void)
{
	enter(SANDBOX_DISPATCHER);
	(void)kill(getpid(), SIGUSR1);
}

static void others_limits(void)
{
	enter(SANDBOX_DISPATCHER);
	(void)syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, NULL, NULL);
}

static void keep_capabilities(void)
{
	enter(SANDBOX_DISPATCHER);
	(void)prctl(PR_SET_KEEPCAPS, 1);
}

static void dumpable_again(void)
{
	enter(SANDBOX_WORKER);
	(void)prctl(PR_SET_DUMPABLE, 1);
}

static void owner(void)
{
	enter(SANDBOX_DISPATCHER);
	(void)fcntl(1, F_SETOWN, 1);
}

static void executes(void)
{
	enter(SANDBOX_WORKER);
	(void)execl("/bin/true", "true", (char *)NULL);
}

static void x32(void)
{
	enter(SANDBOX_DOCKER);
	(void)syscall(0x40000000 | SYS_getpid);
}

static void by_int80(void)
{
	long number = 20; /* i386 getpid */

	enter(SANDBOX_DOCKER);
	__asm__ volatile("int $0x80" : "+a"(number) : : "memory");
}

static void test_what_is_not_on_the_list_ends_the_process(void **state)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} cases[] = {
		{"packet socket", packet_socket},
		{"internet in docker", internet_in_docker},
		{"namespace", new_namespace},
		{"thread", thread},
		{"signal", wrong_signal},
		{"limits of another", others_limits},
		{"keepcaps", keep_capabilities},
		{"dumpable", dumpable_again},
		{"F_SETOWN", owner},
		{"execve", executes},
		{"x32", x32},
		{"int 0x80", by_int80},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = inside(cases[i].function);

#ifdef KEELSON_SANITIZED
		if (cases[i].function == others_limits)
			continue; /* the sanitizers ask for their own */
#endif
		if (!killed(status))
			fail_msg("%s: wait status %x", cases[i].name, (unsigned)status);
	}
}

#ifndef KEELSON_SANITIZED
static void maps_code(void)
{
	enter(SANDBOX_WORKER);
	(void)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
}

static void makes_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	enter(SANDBOX_WORKER);
	(void)mprotect(page, 4096, PROT_READ | PROT_EXEC);
}
#endif

static void test_no_memory_becomes_executable(void **state)
{
	(void)state;
#ifdef KEELSON_SANITIZED
	skip();
#else
	assert_true(killed(inside(maps_code)));
	assert_true(killed(inside(makes_code)));
#endif
}

/* Runs function in a child of a confined process, confined to role itself. */
static int below(enum sandbox_role role, void (*function)(void))
{
	int status = -1;
	pid_t child = fork();

	MUST(child >= 0);
	if (child == 0) {
		confine(role);
		function();
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	return status;
}

static void works(void)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;

	MUST(getaddrinfo("localhost", "5672", &hints, &found) == 0);
	freeaddrinfo(found);
	MUST(prctl(PR_GET_SECCOMP) == 2 && prctl(PR_GET_DUMPABLE) == 0);
}

static void forks(void)
{
	if (fork() == 0)
		_exit(0);
}

static void loops(void)
{
	(void)syscall(SYS_epoll_create1, 0);
}

static void writes_state(void)
{
	_cleanup_fd_ int place = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)zfd_open_beneath(place, "new", O_RDWR | O_CREAT, 0600);
}

static void broker(void)
{
	enter(SANDBOX_DISPATCHER);
	MUST(below(SANDBOX_WORKER, works) == 0);
	MUST(below(SANDBOX_PUBLISHER, works) == 0);
	MUST(below(SANDBOX_PUBLISHER, loops) == 0);
	MUST(killed(below(SANDBOX_WORKER, forks)));
	MUST(killed(below(SANDBOX_PUBLISHER, forks)));
	MUST(killed(below(SANDBOX_WORKER, loops)));
	MUST(killed(below(SANDBOX_PUBLISHER, writes_state)));
}

static void test_workers_and_publisher_confine_themselves_below_the_dispatcher(void **state)
{
	(void)state;
	assert_int_equal(inside(broker), 0);
}

static void asks_engine(void)
{
	MUST(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
	/* Nothing can be opened, and there is no call to open with. */
}

#ifndef KEELSON_SANITIZED
static void opens(void)
{
	(void)open("/etc/hosts", O_RDONLY);
}
#endif

static void makes_channel(void)
{
	int pair[2];

	(void)socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
}

static void docker(void)
{
	enter(SANDBOX_DOCKER);
	MUST(below(SANDBOX_DOCKER_SERVER, asks_engine) == 0);
	MUST(killed(below(SANDBOX_DOCKER_SERVER, forks)));
	MUST(killed(below(SANDBOX_DOCKER_SERVER, makes_channel)));
#ifndef KEELSON_SANITIZED
	MUST(killed(below(SANDBOX_DOCKER_SERVER, opens)));
#endif
}

static void unconfined_parent(void)
{
	const struct sandbox_drop how = {.uid = SOME_UID, .gid = SOME_GID};
	struct sandbox_confine all = everything();
	struct zerr err = {0};

	if (geteuid() == 0)
		MUST_DO(sandbox_drop(&how, &err), &err);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
	MUST(sandbox_confine(SANDBOX_WORKER, &all, &err) == -EPERM);
	MUST(strstr(err.msg, "dumpable"));
}

static void test_a_worker_refuses_a_parent_that_is_not_confined(void **state)
{
	(void)state;
	assert_int_equal(inside(unconfined_parent), 0);
}

static void test_servers_confine_themselves_below_the_docker_domains_first_process(void **state)
{
	(void)state;
	assert_int_equal(inside(docker), 0);
}

static const struct sandbox_slot *slot_of(const char *role)
{
	for (size_t i = 0; i < SANDBOX_BOARD_SLOTS; i++)
		if (board->slots[i].pid && strcmp(board->slots[i].role, role) == 0)
			return &board->slots[i];
	return NULL;
}

static void dispatcher_and_worker(void)
{
	enter(SANDBOX_DISPATCHER);
	MUST(below(SANDBOX_WORKER, works) == 0);
}

static void test_each_process_reports_on_the_board(void **state)
{
	const struct sandbox_slot *dispatcher, *worker;

	(void)state;
	memset(board, 0, sizeof(*board));
	assert_int_equal(inside(dispatcher_and_worker), 0);
	dispatcher = slot_of("dispatcher");
	worker = slot_of("worker");
	assert_non_null(dispatcher);
	assert_non_null(worker);
	assert_int_equal(worker->uid, geteuid() == 0 ? SOME_UID : geteuid());
	assert_int_equal(worker->uid, dispatcher->uid);
	assert_int_equal(worker->capabilities, 0);
	assert_int_equal(worker->syscalls, sandbox_syscall_count(sandbox_profile(SANDBOX_WORKER)));
	assert_in_range(worker->instructions, worker->syscalls, 1000);
	assert_in_range(worker->landlock_abi, 1, 100);
	sandbox_board_leave(board, (pid_t)worker->pid);
	assert_null(slot_of("worker"));
	assert_non_null(slot_of("dispatcher"));
}

static void test_a_full_board_does_not_stop_a_process(void **state)
{
	(void)state;
	for (size_t i = 0; i < SANDBOX_BOARD_SLOTS; i++)
		board->slots[i] = (struct sandbox_slot){.pid = 4000000, .role = "other"};
	assert_int_equal(inside(facts), 0);
	assert_null(slot_of("dispatcher"));
	sandbox_board_leave(board, 4000000);
	assert_int_equal(inside(facts), 0);
	assert_non_null(slot_of("dispatcher"));
	memset(board, 0, sizeof(*board));
}

static void test_board_map_refuses_a_short_file(void **state)
{
	_cleanup_fd_ int fd = memfd_create("board", MFD_CLOEXEC);
	struct sandbox_board *mapped = NULL;

	(void)state;
	assert_int_equal(ftruncate(fd, sizeof(*mapped) - 1), 0);
	assert_int_equal(sandbox_board_map(fd, &mapped), -EINVAL);
	assert_null(mapped);
	assert_int_equal(ftruncate(fd, sizeof(*mapped)), 0);
	assert_int_equal(sandbox_board_map(fd, &mapped), 0);
	assert_int_equal(munmap(mapped, sizeof(*mapped)), 0);
	assert_int_equal(sandbox_board_map(-1, &mapped), -EBADF);
}

static int make(void **state)
{
	int fd = memfd_create("board", MFD_CLOEXEC);

	(void)state;
	if (!mkdtemp(folder) || (geteuid() == 0 && chown(folder, SOME_UID, SOME_GID) < 0))
		return -1;
	return ftruncate(fd, sizeof(*board)) < 0 || sandbox_board_map(fd, &board) < 0 ? -1 : 0;
}

static int clean(void **state)
{
	(void)state;
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_confine_refuses_to_go_on_with_root_or_a_capability),
		cmocka_unit_test(test_confine_refuses_a_kernel_below_the_policys_landlock),
		cmocka_unit_test(test_confine_leaves_limits_filter_and_no_new_privs_in_force),
		cmocka_unit_test(test_a_full_file_is_an_error_and_not_a_signal),
		cmocka_unit_test(test_landlock_lets_only_the_given_paths_through),
		cmocka_unit_test(test_landlock_lets_only_the_given_ports_through),
		cmocka_unit_test(test_names_of_etc_hosts_resolve_inside),
		cmocka_unit_test(test_what_the_resolver_asks_for_is_answered_with_an_error),
		cmocka_unit_test(test_what_is_not_on_the_list_ends_the_process),
		cmocka_unit_test(test_no_memory_becomes_executable),
		cmocka_unit_test(
			test_workers_and_publisher_confine_themselves_below_the_dispatcher),
		cmocka_unit_test(test_a_worker_refuses_a_parent_that_is_not_confined),
		cmocka_unit_test(
			test_servers_confine_themselves_below_the_docker_domains_first_process),
		cmocka_unit_test(test_each_process_reports_on_the_board),
		cmocka_unit_test(test_a_full_board_does_not_stop_a_process),
		cmocka_unit_test(test_board_map_refuses_a_short_file),
	};

	return cmocka_run_group_tests(tests, make, clean);
}

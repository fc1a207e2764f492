/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that has taken over a process, tried inside the sandbox of each role: it
 * must come to nothing, and in the way that the sandbox is meant to stop it.
 * Every attack runs in a process of its own, dropped and confined as the
 * launcher and the broker do it.  Root only; a line for each role, a line for
 * each attack that was not stopped as expected, and a summary.
 */
#include "common/zfd.h"
#include "policy/sandbox.h"
#include "sandbox_attack.h"
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit statuses that carry an end which is no errno. */
#define EXIT_WORKED 200
#define EXIT_SETUP  201
#define EXIT_KILLED 202

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static char folder[] = "/var/tmp/keelson-attack.XXXXXX";
static char engine[64];			     /* the folder of the engine's socket */
static pid_t broker_sibling, docker_sibling; /* processes to attack */
static int landlock_abi;

/* ---- the sandboxes ---- */

static const struct sandbox_path broker_paths[] = {
	{place.state, true}, SANDBOX_RESOLVER_PATHS, {NULL, false}};
static const struct sandbox_path publisher_paths[] = {SANDBOX_RESOLVER_PATHS, {NULL, false}};
static const uint16_t broker_ports[] = {OPEN_PORT, 0};

static const struct role {
	enum sandbox_role role, parent;
	bool docker;
	const struct sandbox_path *paths;
} roles[] = {
	{SANDBOX_DISPATCHER, SANDBOX_DISPATCHER, false, broker_paths},
	{SANDBOX_PUBLISHER, SANDBOX_DISPATCHER, false, publisher_paths},
	{SANDBOX_WORKER, SANDBOX_DISPATCHER, false, broker_paths},
	{SANDBOX_DOCKER, SANDBOX_DOCKER, true, NULL},
	{SANDBOX_DOCKER_SERVER, SANDBOX_DOCKER, true, NULL},
};

static void must(int result, const struct zerr *err)
{
	if (result == 0)
		return;
	(void)!write(2, err->msg, strlen(err->msg));
	(void)!write(2, "\n", 1);
	_exit(EXIT_SETUP);
}

static void drop(bool docker)
{
	static const gid_t groups[] = {DOCKER_GID};
	const char *const writable[] = {place.state, NULL};
	const struct sandbox_drop as_docker = {.uid = DOCKER_UID,
					       .gid = DOCKER_UID,
					       .groups = groups,
					       .group_count = 1,
					       .private_network = true,
					       .only_directory = engine,
					       .engine_mount = "/engine"};
	const struct sandbox_drop as_broker = {
		.uid = BROKER_UID, .gid = BROKER_UID, .read_only_view = true, .writable = writable};
	struct zerr err = {0};

	must(sandbox_drop(docker ? &as_docker : &as_broker, &err), &err);
}

static void confine(enum sandbox_role role, const struct role *how)
{
	struct sandbox_confine given = {.paths = how->paths,
					.connect_ports = how->docker ? NULL : broker_ports,
					.landlock_min_abi = 1};
	struct zerr err = {0};

	must(sandbox_confine(role, &given, &err), &err);
}

static int status_of(int outcome)
{
	return outcome == WORKED ? EXIT_WORKED : outcome;
}

static int outcome_of(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : -100 - WTERMSIG(status);
	if (WEXITSTATUS(status) == EXIT_KILLED)
		return KILLED;
	return WEXITSTATUS(status) == EXIT_WORKED ? WORKED : WEXITSTATUS(status);
}

static int attack_once(int (*try)(void), long number)
{
	if (try)
		return try();
	return syscall(number, 0, 0, 0, 0, 0, 0) < 0 ? errno : WORKED;
}

/* In a process of the role, below one of its parent where it has one. */
static int run(const struct role *role, int (*try)(void), long number)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		place.in_docker = role->docker;
		place.sibling = role->docker ? docker_sibling : broker_sibling;
		drop(role->docker);
		confine(role->parent, &roles[role->docker ? 3 : 0]);
		if (role->role == role->parent)
			_exit(status_of(attack_once(try, number)));
		child = fork();
		if (child == 0) {
			confine(role->role, role);
			_exit(status_of(attack_once(try, number)));
		}
		(void)waitpid(child, &status, 0);
		if (WIFSIGNALED(status))
			_exit(WTERMSIG(status) == SIGSYS ? EXIT_KILLED : EXIT_SETUP);
		_exit(WEXITSTATUS(status));
	}
	return waitpid(child, &status, 0) == child ? outcome_of(status) : EXIT_SETUP;
}

static int run_outside(bool docker, int (*try)(void))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		uid_t uid = docker ? DOCKER_UID : BROKER_UID;

		place.sibling = docker ? docker_sibling : broker_sibling;
		if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
			_exit(EXIT_SETUP);
		_exit(status_of(try()));
	}
	return waitpid(child, &status, 0) == child ? outcome_of(status) : EXIT_SETUP;
}

/* ---- the bench ---- */

static const char *name_of(int outcome)
{
	if (outcome == WORKED)
		return "worked";
	if (outcome == KILLED)
		return "killed";
	return outcome == EXIT_SETUP ? "no sandbox"
	       : outcome < 0	     ? "another signal"
				     : strerrorname_np(outcome);
}

static size_t tried, failed;

static void judge(const char *role, const char *name, int got, int expected)
{
	tried++;
	if (got == expected)
		return;
#ifdef KEELSON_SANITIZED
	/* Their run-time needs some of the calls: then it is the kernel that must refuse. */
	if (expected == KILLED && got > 0 && got < EXIT_WORKED)
		return;
#endif
	failed++;
	(void)printf("FAIL %s: %s: %s, not %s\n", role, name, name_of(got), name_of(expected));
}

static bool is_tried(const struct attack *attack)
{
#ifdef KEELSON_SANITIZED
	if (!attack->sanitized)
		return false;
#endif
	return landlock_abi >= attack->abi;
}

static void attack_role(size_t index)
{
	const char *name = sandbox_profile(roles[index].role)->name;
	size_t failed_before = failed, tried_before = tried;

	for (size_t i = 0; i < attack_count; i++)
		if (is_tried(&attacks[i]))
			judge(name, attacks[i].name, run(&roles[index], attacks[i].try, 0),
			      attacks[i].expected[index]);
	for (size_t i = 0; i < attack_call_count; i++)
		judge(name, attack_calls[i].name, run(&roles[index], NULL, attack_calls[i].number),
		      KILLED);
	if (failed == failed_before)
		(void)printf("PASS %s: %zu attacks end as they must\n", name, tried - tried_before);
	(void)fflush(stdout);
}

static void attack_from_outside(bool docker)
{
	const char *name = docker ? "docker, from its own user" : "dispatcher, from its own user";
	size_t failed_before = failed, tried_before = tried;

	for (size_t i = 0; i < attack_from_outside_count; i++)
		judge(name, attacks_from_outside[i].name,
		      run_outside(docker, attacks_from_outside[i].try),
		      attacks_from_outside[i].expected[0]);
	if (failed == failed_before)
		(void)printf("PASS %s: %zu attacks end as they must\n", name, tried - tried_before);
	(void)fflush(stdout);
}

/* A confined process that does nothing until it is killed. */
static pid_t start_sibling(size_t index)
{
	int ready[2];
	char byte;
	pid_t child;

	if (pipe2(ready, O_CLOEXEC) < 0 || dup2(ready[1], 100) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		static const int keep[] = {100};
		struct zerr err = {0};
		const char *const writable[] = {place.state, NULL};
		const struct sandbox_drop how = {
			.uid = roles[index].docker ? DOCKER_UID : BROKER_UID,
			.gid = roles[index].docker ? DOCKER_UID : BROKER_UID,
			.read_only_view = true,
			.writable = writable,
			.keep = keep,
			.keep_count = 1};

		must(sandbox_drop(&how, &err), &err);
		confine(roles[index].role, &roles[index]);
		(void)!write(100, "r", 1);
		for (;;)
			(void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
	}
	(void)close(100);
	(void)close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		child = -1;
	(void)close(ready[0]);
	return child;
}

static int listen_on(const struct sockaddr_un *address, size_t length)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0 ||
	    listen(fd, 64) < 0)
		return -1;
	return fd;
}

static int prepare(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length;

	place.launcher = getpid();
	landlock_abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return -1;
	(void)snprintf(place.state, sizeof(place.state), "%s/state", folder);
	(void)snprintf(engine, sizeof(engine), "%s/engine", folder);
	(void)snprintf(place.engine_socket, sizeof(place.engine_socket), "%s/socket", engine);
	(void)snprintf(place.outside, sizeof(place.outside), "%s/outside", folder);
	if (mkdir(place.state, 0700) < 0 || chown(place.state, BROKER_UID, BROKER_UID) < 0 ||
	    mkdir(engine, 0755) < 0)
		return -1;
	memcpy(address.sun_path, place.engine_socket, strlen(place.engine_socket) + 1);
	if (listen_on(&address, strlen(place.engine_socket) + 1) < 0 ||
	    chown(place.engine_socket, 0, DOCKER_GID) < 0 || chmod(place.engine_socket, 0660) < 0)
		return -1;
	length = snprintf(place.abstract, sizeof(place.abstract), "keelson-attack-%d",
			  (int)place.launcher);
	memset(address.sun_path, 0, sizeof(address.sun_path));
	memcpy(address.sun_path + 1, place.abstract, (size_t)length);
	if (listen_on(&address, (size_t)length + 1) < 0)
		return -1;
	broker_sibling = start_sibling(0);
	docker_sibling = start_sibling(3);
	return broker_sibling < 0 || docker_sibling < 0 ? -1 : 0;
}

static void end_one(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

static void clean(void)
{
	char path[80];

	end_one(broker_sibling);
	end_one(docker_sibling);
	(void)snprintf(path, sizeof(path), "%s/attack", place.state);
	(void)unlink(path);
	(void)unlink(place.outside);
	(void)unlink(place.engine_socket);
	(void)rmdir(engine);
	(void)rmdir(place.state);
	(void)rmdir(folder);
}

int main(void)
{
	if (geteuid() != 0) {
		(void)puts("SKIP sandbox attack: needs root");
		return 0;
	}
	if (prepare() < 0) {
		perror("FAIL sandbox attack: preparation");
		clean();
		return 1;
	}
	for (size_t i = 0; i < COUNT(roles); i++)
		attack_role(i);
	attack_from_outside(false);
	attack_from_outside(true);
	/* Whoever was attacked is still there. */
	if (kill(broker_sibling, 0) < 0 || kill(docker_sibling, 0) < 0 ||
	    waitpid(broker_sibling, NULL, WNOHANG) != 0 ||
	    waitpid(docker_sibling, NULL, WNOHANG) != 0) {
		failed++;
		(void)puts("FAIL a sibling was ended");
	}
	clean();
	(void)printf("sandbox attack: %zu attacks on %zu roles, Landlock ABI %d, %zu failed\n",
		     tried, COUNT(roles), landlock_abi, failed);
	return failed > 0;
}

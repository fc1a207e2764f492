/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's children: each gives up what it does not need (policy/) before
 * it reads a byte.  The helper goes on in this program; the broker is executed.
 * When both run, the launcher keeps CAP_KILL and a list of system calls that
 * cannot start anything.
 */
#include "privsep/launch.h"

#include "common/zfd.h"
#include "common/zlog.h"
#include "privsep/docker.h"
#include "privsep/fds.h"
#include "privsep/helper.h"
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENGINE_MOUNT	"/engine"
#define ENVIRONMENT_MAX 64
#define SPARE_FD	16 /* above the numbers of fds.h */
#define FD_PROGRAM	(FD_LAUNCHER + 1)

/* Ends a child that could not become what it should be. */
static _Noreturn void give_up(const struct zerr *err)
{
	zlog_error("%s", err->msg);
	_exit(HELPER_EXIT_SANDBOX);
}

static void must(int r, const struct zerr *err)
{
	if (r < 0)
		give_up(err);
}

/* Blocks the signals and makes a descriptor for them: owned, or a negative errno. */
static int take_signals(const int *signals, size_t count)
{
	sigset_t set;
	(void)sigemptyset(&set); /* these two fail for no signal that exists */
	for (size_t i = 0; i < count; i++)
		(void)sigaddset(&set, signals[i]);
	int fd = sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -1 : signalfd(-1, &set, SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* sandbox_drop with descriptors in any order; then the end of the parent is the child's end.  In
 * this order, since a change of user forgets the latter. */
static void drop(struct sandbox_drop *drop, int *keep, size_t count, pid_t parent)
{
	struct zerr err;
	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && keep[j] < keep[j - 1]; j--) {
			int fd = keep[j];
			keep[j] = keep[j - 1];
			keep[j - 1] = fd;
		}
	(void)clearenv(); /* the broker's is made beforehand; nobody else has one */
	drop->keep = keep;
	drop->keep_count = count;
	must(sandbox_drop(drop, &err), &err);
	if (parent != 0 && (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent))
		must(zerr_set(&err, -ESRCH, "the launcher is gone"), &err);
}

/* The docker domain's first process: its tree is the folder of the engine's socket. */
static _Noreturn void run_docker(struct launch *launch, pid_t parent)
{
	static const int signals[] = {SIGTERM, SIGCHLD};
	const struct site_policy *site = &launch->site;
	char folder[sizeof(site->docker_socket)],
		socket[sizeof(site->docker_socket) + sizeof(ENGINE_MOUNT)];
	size_t slash = (size_t)(strrchr(site->docker_socket, '/') - site->docker_socket);
	struct helper helper = {
		.domain = &docker_domain,
		.site = site,
		.audit = &launch->audit,
		.channel = launch->docker_channel[0],
		.first = true,
		.board = launch->docker_board,
		.signals = take_signals(signals, sizeof(signals) / sizeof(signals[0]))};
	struct sandbox_confine confine = {.landlock_min_abi = site->landlock_min_abi,
					  .file_size_max = AUDIT_FILE_MAX,
					  .board = helper.board};
	struct zerr err;
	zlog_start(docker_domain.name, ZLOG_INFO);
	must(munmap(launch->board, sizeof(*launch->board)), &err);
	(void)snprintf(folder, sizeof(folder), "%.*s", slash > 0 ? (int)slash : 1,
		       site->docker_socket);
	(void)snprintf(socket, sizeof(socket), ENGINE_MOUNT "%s", site->docker_socket + slash);
	helper.shared = docker_shared_new(socket);
	if (helper.shared == NULL || helper.signals < 0)
		must(zerr_errno(&err, -errno, "docker: shared pages or signals"), &err);
	drop(&(struct sandbox_drop){.uid = site->docker_uid,
				    .gid = site->docker_gid,
				    .groups = &site->docker_socket_gid,
				    .group_count = 1,
				    .private_network = true,
				    .only_directory = folder,
				    .engine_mount = ENGINE_MOUNT},
	     (int[]){launch->audit.fd, helper.channel, helper.signals}, 3, parent);
	must(sandbox_confine(SANDBOX_DOCKER, &confine, &err), &err);
	_exit(helper_serve(&helper));
}

/* The broker's program: owned, or a negative errno with *err. */
static int open_program(const char *path, struct zerr *err)
{
	struct stat status;
	_cleanup_fd_ int program = open(path, O_RDONLY | O_CLOEXEC);
	if (program < 0 || fstat(program, &status) < 0)
		return zerr_errno(err, -errno, "broker %s", path);
	if (!S_ISREG(status.st_mode) || status.st_uid != 0 || (status.st_mode & 022) != 0)
		return zerr_set(err, -EPERM, "broker %s: not a file that root alone can change",
				path);
	return TAKE_FD(program);
}

/* What of the environment goes to the broker: options of oslo.config, the service manager's, the
 * locale. */
static void make_environment(const struct launch *launch, char *out[ENVIRONMENT_MAX])
{
	static const char *const allowed[] = {"OS_",
					      "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "LANG=", "TZ="};
	static char state[sizeof(launch->broker_state) + 32], run[sizeof(launch->broker_run) + 32];
	size_t count = 2;
	(void)snprintf(state, sizeof(state), "KEELSON_STATE_DIRECTORY=%s", launch->broker_state);
	(void)snprintf(run, sizeof(run), "KEELSON_RUN_DIRECTORY=%s", launch->broker_run);
	out[0] = state;
	out[1] = run;
	for (char **variable = environ; *variable != NULL; variable++)
		for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
			if (count < ENVIRONMENT_MAX - 1 &&
			    strncmp(*variable, allowed[i], strlen(allowed[i])) == 0)
				out[count++] = *variable;
	out[count] = NULL;
}

static int place_descriptors(int *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, SPARE_FD)) < 0)
			return -errno;
	for (size_t i = 0; i < count; i++)
		if (dup3(from[i], FD_DOCKER_CHANNEL + (int)i, i == count - 1 ? O_CLOEXEC : 0) < 0)
			return -errno;
	return 0;
}

/* An ordinary user with a read-only view of the host; the program confines its processes itself. */
static _Noreturn void run_broker(struct launch *launch, pid_t parent)
{
	const struct site_policy *site = &launch->site;
	const char *const writable[] = {launch->broker_state, launch->broker_run, NULL};
	char *environment[ENVIRONMENT_MAX];
	sigset_t none;
	struct zerr err;
	int program = open_program(launch->options->broker, &err);
	make_environment(launch, environment);
	must(program, &err);
	int fds[] = {launch->docker_channel[1], launch->broker_board, launch->link[1], program};
	if (place_descriptors(fds, sizeof(fds) / sizeof(fds[0])) < 0)
		must(zerr_errno(&err, -errno, "broker: descriptors"), &err);
	drop(&(struct sandbox_drop){.uid = site->broker_uid,
				    .gid = site->broker_gid,
				    .read_only_view = true,
				    .writable = writable},
	     (int[]){FD_DOCKER_CHANNEL, FD_BOARD, FD_LAUNCHER, FD_PROGRAM}, 4, parent);
	(void)sigemptyset(&none);		     /* cannot fail */
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* the same */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)fexecve(FD_PROGRAM, launch->options->arguments, environment);
	(void)zerr_errno(&err, -errno, "broker %s", launch->options->broker);
	give_up(&err);
}

static int start_child(struct launch *launch, enum launch_child_kind kind,
		       void (*run)(struct launch *launch, pid_t parent), struct zerr *err)
{
	struct launch_child *child = &launch->children[kind];
	pid_t parent = getpid();
	child->pid = fork();
	if (child->pid == 0)
		run(launch, parent);
	child->pidfd = child->pid < 0 ? -1 : pidfd_open(child->pid, 0);
	return child->pidfd < 0 ? zerr_errno(err, -errno, "%s not started", child->name) : 0;
}

/* The launcher itself: root in name, able to end its children. */
static int confine_launcher(struct launch *launch, struct zerr *err)
{
	const struct sandbox_path paths[] = {{launch->site.run_directory, true}, {NULL, false}};
	struct sandbox_confine confine = {.paths = paths,
					  .board = launch->board,
					  .landlock_min_abi = launch->site.landlock_min_abi};
	drop(&(struct sandbox_drop){.capabilities = UINT64_C(1) << CAP_KILL},
	     (int[]){launch->audit.fd, launch->run, launch->lock, launch->signals, launch->link[0],
		     launch->children[LAUNCH_DOCKER].pidfd, launch->children[LAUNCH_BROKER].pidfd},
	     7, 0);
	return sandbox_confine(SANDBOX_LAUNCHER, &confine, err);
}

int launch_start(struct launch *launch, struct zerr *err)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* a full audit log is an error of write(2) */
	launch->signals = take_signals(signals, sizeof(signals) / sizeof(signals[0]));
	if (launch->signals < 0)
		return zerr_errno(err, launch->signals, "signals");
	int r = start_child(launch, LAUNCH_DOCKER, run_docker, err);
	if (r == 0)
		r = start_child(launch, LAUNCH_BROKER, run_broker, err);
	if (r == 0)
		r = confine_launcher(launch, err);
	return r;
}

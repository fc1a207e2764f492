/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forking process of the helpers that hostile_broker.c attacks.  Runs in
 * tests only; as root it becomes nobody first, since a helper refuses to be root.
 */
#include "victim.h"

#include "common/zfd.h"
#include "policy/sandbox.h"
#include "privsep/docker.h"
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static void must(int r, const char *what)
{
	if (r < 0)
		die(what);
}

/* Takes a channel, forks a helper for it, tells how it ended; until the control socket's end. */
static void fork_helpers(struct helper *helper, int control)
{
	uint8_t byte;
	struct zfd_packet packet = {.data = &byte, .size = sizeof(byte)};
	while (zfd_receive(control, &packet, 0) > 0) {
		int status = -1;
		pid_t pid = fork();
		if (pid == 0) {
			helper->channel = packet.fds[0];
			_exit(helper_serve(helper));
		}
		zfd_packet_close(&packet);
		if (pid < 0 || ZFD_RETRY(waitpid(pid, &status, 0)) != pid)
			_exit(1);
		must(zfd_send(control, &status, sizeof(status), NULL, 0, 0), "status");
	}
}

static _Noreturn void run_forker(struct victims *victims, int control)
{
	struct helper helper = {.domain = &docker_domain,
				.site = &victims->site,
				.audit = &victims->audit,
				.first = true};
	struct sandbox_confine confine = {.file_size_max = AUDIT_FILE_MAX};
	struct zerr err = {0};
	sigset_t signals;
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGCHLD);
	(void)signal(SIGPIPE, SIG_IGN);
	must(sigprocmask(SIG_BLOCK, &signals, NULL), "signals");
	/* Thousands of lines that say what is expected. */
	if (getenv("HOSTILE_VERBOSE") == NULL && freopen("/dev/null", "w", stderr) == NULL)
		die("/dev/null");
	/* A helper that the forker forks takes its own children's SIGCHLD here. */
	helper.signals = signalfd(-1, &signals, SFD_CLOEXEC);
	helper.shared = docker_shared_new("/nowhere/docker.sock");
	if (helper.shared == NULL || helper.signals < 0)
		die("shared pages");
	if (getuid() == 0)
		must(setresgid(NOBODY, NOBODY, NOBODY) < 0 ? -1 : setresuid(NOBODY, NOBODY, NOBODY),
		     "nobody");
	if (sandbox_confine(SANDBOX_DOCKER, &confine, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		_exit(1);
	}
	fork_helpers(&helper, control);
	_exit(0);
}

void victims_start(struct victims *victims)
{
	static const char any[] = "*";
	struct zerr err = {0};
	int pair[2];
	*victims = (struct victims){.folder = "/tmp/keelson-hostile-XXXXXX"};
	if (mkdtemp(victims->folder) == NULL)
		die("mkdtemp");
	victims->directory = open(victims->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(audit_open(&victims->audit, victims->directory, "docker", false, &err), err.msg);
	victims->site.broker_uid = getuid();
	victims->site.runtimes.any = victims->site.registries.any = true;
	victims->site.registries.items[0] = any;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "socketpair");
	victims->pid = fork();
	must(victims->pid, "fork");
	if (victims->pid == 0) {
		close(pair[1]);
		close(victims->directory);
		run_forker(victims, pair[0]);
	}
	close(pair[0]);
	victims->control = pair[1];
}

int victims_finish(struct victims *victims)
{
	struct audit_report report;
	struct zerr err = {0};
	int status;
	close(victims->control);
	must(waitpid(victims->pid, &status, 0), "waitpid");
	_cleanup_fd_ int log = openat(victims->directory, "docker.log", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int page = openat(victims->directory, "docker.state", O_RDONLY | O_CLOEXEC);
	int r = audit_verify(log, page, &report, &err);
	if (r < 0)
		fprintf(stderr, "audit log: %s\n", err.msg);
	audit_close(&victims->audit);
	(void)unlinkat(victims->directory, "docker.log", 0);
	(void)unlinkat(victims->directory, "docker.state", 0);
	(void)rmdir(victims->folder);
	close(victims->directory);
	return status != 0 ? -1 : r;
}

size_t victims_descriptors(const struct victims *victims)
{
	char path[64];
	size_t count = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)victims->pid);
	DIR *folder = opendir(path);
	if (folder == NULL)
		die(path);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

void victim_start(struct victim *victim, struct victims *victims)
{
	int pair[2];
	must(helper_channel(pair), "channel");
	must(zfd_send(victims->control, "", 1, &pair[0], 1, 0), "control");
	close(pair[0]);
	*victim = (struct victim){.victims = victims, .channel = pair[1]};
}

int victim_wait(struct victim *victim, int milliseconds)
{
	struct pollfd entry = {.fd = victim->victims->control, .events = POLLIN};
	int status;
	if (poll(&entry, 1, milliseconds) == 0)
		return -ETIMEDOUT;
	if (recv(victim->victims->control, &status, sizeof(status), 0) != sizeof(status))
		die("the process that forks helpers is gone");
	zfd_closep(&victim->channel);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int victim_finish(struct victim *victim)
{
	zfd_closep(&victim->channel);
	return victim_wait(victim, -1);
}

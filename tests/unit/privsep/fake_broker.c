/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for keelson-compute under the real launcher: says what it was given,
 * then does what its argument says.  Runs in tests only.
 */
#include "common/zfd.h"
#include "privsep/client.h"
#include "privsep/fds.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD_LOOK_MAX 256

static void say_descriptors(void)
{
	dprintf(STDERR_FILENO, "descriptors");
	for (int fd = 0; fd < FD_LOOK_MAX; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			dprintf(STDERR_FILENO, " %d", fd);
	dprintf(STDERR_FILENO, ".\n");
}

static void say_file(const char *path, const char *const *keys)
{
	char text[8192];
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : zfd_read_all(fd, text, sizeof(text) - 1);
	text[got < 0 ? 0 : got] = '\0';
	for (; *keys != NULL; keys++) {
		const char *line = strstr(text, *keys);
		if (line != NULL)
			dprintf(STDERR_FILENO, "status %.*s\n", (int)strcspn(line, "\n"), line);
	}
}

static void say_writable(const char *what, const char *folder)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/probe", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	dprintf(STDERR_FILENO, "write to %s: %s\n", what, fd >= 0 ? "yes" : strerror(errno));
	if (fd >= 0) {
		close(fd);
		(void)unlink(path);
	}
}

/* A request on a server's channel, which leaves a record. */
static int use_helper(struct priv_channel *first)
{
	struct priv_channel server = {.fd = -1};
	struct req_docker_open_channel open_request;
	struct ans_docker_open_channel opened;
	struct req_docker_container_start start = {
		.api_minor = 40, .wait_ms = 1000, .request_id = {"req-1", 5}};
	struct ans_docker_container_start started;
	struct zerr err = {0};
	int fd = -1;
	int r = priv_open(first, FD_DOCKER_CHANNEL, PROTO_DOCKER, &err);
	if (r == 0)
		r = priv_docker_open_channel(first, &open_request, &opened, &fd, &err);
	if (r == 0)
		r = priv_open(&server, fd, PROTO_DOCKER, &err);
	if (r == 0)
		r = priv_docker_container_start(&server, &start, &started, NULL, &err);
	dprintf(STDERR_FILENO, "helper: %d %s\n", r, err.msg);
	priv_close(&server);
	return r;
}

static int wait_for_signals(void)
{
	sigset_t set;
	int signal;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)send(FD_LAUNCHER, "R", 1, MSG_NOSIGNAL);
	while (sigwait(&set, &signal) == 0 && signal != SIGTERM)
		dprintf(STDERR_FILENO, "signal %d\n", signal);
	return 0;
}

int main(int count, char **words)
{
	static const char *const keys[] = {
		"Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "NoNewPrivs:", "SigBlk:", NULL};
	_cleanup_(priv_close) struct priv_channel first = {.fd = -1};
	const char *what = count > 1 ? words[1] : "";
	say_descriptors();
	say_file("/proc/self/status", keys);
	dprintf(STDERR_FILENO, "program %s, %d arguments, secret %s, option %s\n", words[0],
		count - 1, getenv("SECRET") != NULL ? "seen" : "hidden", getenv("OS_OPTION"));
	say_writable("state", getenv("KEELSON_STATE_DIRECTORY"));
	say_writable("run", getenv("KEELSON_RUN_DIRECTORY"));
	say_writable("tmp", "/tmp");
	(void)use_helper(&first);
	if (strcmp(what, "die") == 0)
		return 3;
	if (strcmp(what, "garbage") == 0)
		(void)send(FD_DOCKER_CHANNEL, "x", 1, MSG_NOSIGNAL);
	if (strcmp(what, "deaf") == 0) {
		(void)signal(SIGTERM, SIG_IGN);
		(void)send(FD_LAUNCHER, "R", 1, MSG_NOSIGNAL);
		(void)sleep(60);
	}
	return wait_for_signals();
}

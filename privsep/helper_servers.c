/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a domain: one process for each channel, forked by the domain's
 * first process, which holds no capability itself.  A server confines itself
 * further (it may never fork) before it reads its channel.
 */
#include "privsep/helper_internal.h"

#include "common/zfd.h"
#include "common/zlog.h"
#include "policy/sandbox.h"
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What servers get to end the request that they are at, when the domain ends; less than the
 * launcher waits for all of it. */
#define SERVERS_WAIT_MS 5000U

int helper_channel(int pair[2])
{
	int on = 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	/* Set here, before anything can be sent: a packet sent earlier would show no sender. */
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0) {
		int r = -errno;
		zfd_closep(&pair[0]);
		zfd_closep(&pair[1]);
		return r;
	}
	return 0;
}

static _Noreturn void run_server(const struct helper *first, int channel)
{
	struct sandbox_confine confine = {.landlock_min_abi = first->site->landlock_min_abi,
					  .file_size_max = AUDIT_FILE_MAX,
					  .board = first->board};
	struct helper helper = *first;
	struct zerr err;
	helper.channel = channel;
	helper.first = false;
	helper.servers = 0;
	zlog_start(helper.domain->name, ZLOG_INFO);
	if (sandbox_confine(SANDBOX_DOCKER_SERVER, &confine, &err) < 0)
		helper_surprise(&helper, HELPER_EXIT_SANDBOX, err.msg);
	_exit(helper_serve(&helper));
}

void helper_open_channel(struct helper *helper, struct helper_result *result)
{
	int pair[2];
	pid_t parent = getpid();
	helper_reap(helper);
	result->status = PROTO_LIMIT;
	result->rule = "servers";
	if (helper->servers >= HELPER_SERVERS_MAX)
		return;
	result->rule = "descriptors";
	if (helper_channel(pair) < 0)
		return;
	pid_t child = fork();
	if (child == 0) {
		zfd_closep(&pair[1]);
		zfd_closep(&helper->channel);
		/* The channel's end stops a server; this is for one that waits for the engine then.
		 */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(HELPER_EXIT_SERVER);
		run_server(helper, pair[0]);
	}
	zfd_closep(&pair[0]);
	if (child < 0) {
		zfd_closep(&pair[1]);
		result->rule = "processes";
		return;
	}
	helper->servers++;
	result->status = PROTO_OK;
	result->fd = pair[1];
}

void helper_reap(struct helper *helper)
{
	int status;
	pid_t pid;
	while (helper->first && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
		helper->servers--;
		if (helper->board != NULL)
			sandbox_board_leave(helper->board, pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		if (WIFEXITED(status)) /* the server has said why */
			_exit(WEXITSTATUS(status));
		helper_surprise(helper, HELPER_EXIT_SERVER, strsignal(WTERMSIG(status)));
	}
}

void helper_wait_servers(struct helper *helper)
{
	uint64_t deadline = zfd_now_ms() + SERVERS_WAIT_MS;
	struct signalfd_siginfo signal;
	while (helper->servers > 0 && zfd_wait(helper->signals, POLLIN, deadline) == 0) {
		(void)!read(helper->signals, &signal,
			    sizeof(signal)); /* which one is all the same */
		helper_reap(helper);
	}
}

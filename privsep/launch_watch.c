/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the launcher does while the service runs: waits.  One child's death is
 * the service's; SIGTERM ends it in order; the audit log is synced every second.
 * Runs as root with CAP_KILL alone; reads single bytes of the broker, which tell
 * nothing but that it is ready.
 */
#include "privsep/launch.h"

#include "common/zfd.h"
#include "common/zlog.h"
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYNC_MS 1000U
/* A helper ends in order when its channel does: then the broker is about to say why. */
#define GRACE_MS 1000U
#define STOP_WAIT_MS                                                                               \
	10000U /* between SIGTERM and SIGKILL, for all but the broker's orderly end                \
		*/

struct watch {
	struct launch *launch;
	bool stopping, failed, link_closed;
	int next_signal; /* while stopping: to all that still run, at signal_at */
	uint64_t signal_at, sync_at;
};

static void signal_child(const struct launch_child *child, int signal)
{
	/* The child is ours and not yet waited for: this fails only if it has just ended. */
	if (child->pid > 0)
		(void)pidfd_send_signal(child->pidfd, signal, NULL, 0);
}

static bool all_ended(const struct launch *launch)
{
	for (size_t i = 0; i < LAUNCH_CHILDREN; i++)
		if (launch->children[i].pid > 0)
			return false;
	return true;
}

/* Plans the next signal to all that still run. */
static void plan(struct watch *watch, int signal, uint64_t wait_ms)
{
	watch->stopping = true;
	watch->next_signal = signal;
	watch->signal_at = zfd_now_ms() + wait_ms;
}

static void take_signal(struct watch *watch)
{
	struct launch *launch = watch->launch;
	struct signalfd_siginfo signal;
	if (ZFD_RETRY(read(launch->signals, &signal, sizeof(signal))) != sizeof(signal))
		return;
	if (signal.ssi_signo == SIGHUP)
		signal_child(&launch->children[LAUNCH_BROKER], SIGHUP);
	if ((signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGINT) && !watch->stopping) {
		zlog_info("%s stops", launch->options->service);
		/* The broker first: the helper ends with its channels. */
		signal_child(&launch->children[LAUNCH_BROKER], SIGTERM);
		plan(watch, SIGKILL, launch->options->stop_wait_ms);
	}
}

static void tell_end(const struct launch_child *child, int status)
{
	if (WIFSIGNALED(status))
		zlog_error("%s (pid %d) was killed by signal %d (%s)", child->name, (int)child->pid,
			   WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		zlog_error("%s (pid %d) ended with status %d", child->name, (int)child->pid,
			   WEXITSTATUS(status));
	else
		zlog_info("%s (pid %d) ended", child->name, (int)child->pid);
}

/* A child's end: in order if it was asked to and says so, else the end of the service. */
static void take_end(struct watch *watch, struct launch_child *child)
{
	int status;
	if (ZFD_RETRY(waitpid(child->pid, &status, WNOHANG)) != child->pid)
		return;
	tell_end(child, status);
	child->pid = 0;
	zfd_closep(&child->pidfd);
	if (!watch->stopping || status != 0)
		watch->failed = true;
	bool broker = child == &watch->launch->children[LAUNCH_BROKER];
	plan(watch, SIGTERM, broker || status != 0 ? 0 : GRACE_MS);
}

/* The broker says "R" when it is ready.  What else it says is nothing to us. */
static void take_word(struct watch *watch)
{
	char word;
	ssize_t got = ZFD_RETRY(recv(watch->launch->link[0], &word, sizeof(word), MSG_DONTWAIT));
	if (got == 1 && word == 'R')
		zlog_info("%s is ready", watch->launch->options->service);
	else if (got == 0 || (got < 0 && errno != EAGAIN))
		watch->link_closed = true; /* its end is told by its pidfd */
}

static void keep_time(struct watch *watch)
{
	struct launch *launch = watch->launch;
	uint64_t now = zfd_now_ms();
	if (now >= watch->sync_at) {
		int r = audit_sync(&launch->audit);
		if (r < 0)
			zlog_error("audit log not synced: %s", strerror(-r));
		watch->sync_at = now + SYNC_MS;
	}
	if (!watch->stopping || now < watch->signal_at || all_ended(launch))
		return;
	for (size_t i = 0; i < LAUNCH_CHILDREN; i++)
		signal_child(&launch->children[i], watch->next_signal);
	if (watch->next_signal == SIGKILL) {
		zlog_error("%s does not end: killed", launch->options->service);
		watch->failed = true;
	}
	plan(watch, SIGKILL, STOP_WAIT_MS);
}

static void wait_a_second(struct watch *watch)
{
	struct launch *launch = watch->launch;
	const struct timespec second = {.tv_sec = 1};
	struct pollfd entries[2 + LAUNCH_CHILDREN] = {
		{.fd = launch->signals, .events = POLLIN},
		{.fd = watch->link_closed ? -1 : launch->link[0], .events = POLLIN},
	};
	for (size_t i = 0; i < LAUNCH_CHILDREN; i++) /* -1 when it has ended: passed over */
		entries[2 + i] = (struct pollfd){.fd = launch->children[i].pidfd, .events = POLLIN};
	if (ppoll(entries, 2 + LAUNCH_CHILDREN, &second, NULL) <= 0)
		return;
	if (entries[0].revents != 0)
		take_signal(watch);
	if (entries[1].revents != 0)
		take_word(watch);
	for (size_t i = 0; i < LAUNCH_CHILDREN; i++)
		if (entries[2 + i].revents != 0)
			take_end(watch, &launch->children[i]);
}

int launch_watch(struct launch *launch)
{
	struct watch watch = {.launch = launch};
	while (!all_ended(launch)) {
		wait_a_second(&watch);
		keep_time(&watch);
	}
	(void)audit_sync(&launch->audit); /* as best it can: what failed was told before */
	launch_tidy(launch);
	return watch.failed ? 1 : 0;
}

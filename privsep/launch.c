/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson-launch: starts a service in pieces that hold as little as each needs,
 * and ends it when one of them does.  Begins as root; see launch_start.c for what
 * is left of that.  With --respawn an outer process, which reads nothing at all,
 * begins anew after a failure.
 */
#include "privsep/launch.h"

#include "common/zfd.h"
#include "common/zlog.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLICY_FILE "/etc/keelson/policy.conf"
#define SYSUSERS    "/usr/bin/systemd-sysusers"

#define STOP_WAIT_MS	UINT64_C(30000)
#define STOP_WAIT_MAX_S 3600U
#define BACKOFF_MAX_S	30U
#define STEADY_MS	UINT64_C(60000) /* who ran so long begins anew after a second */

#define EXIT_USAGE 2

static const char usage_text[] =
	"usage: keelson-launch compute [--policy FILE] [--broker PROGRAM] [--respawn]\n"
	"                              [--stop-wait SECONDS] [-- ARGUMENT...]\n"
	"       keelson-launch --setup\n";

static int usage(void)
{
	(void)!write(STDERR_FILENO, usage_text, sizeof(usage_text) - 1); /* nobody else to tell */
	return EXIT_USAGE;
}

/* Makes the accounts, where systemd can; else says how. */
static int set_up_accounts(void)
{
	static const char advice[] = "no " SYSUSERS " here; run:\n"
				     "useradd --system --user-group --home-dir /var/lib/keelson "
				     "--shell /usr/sbin/nologin keelson\n"
				     "useradd --system --user-group --home-dir / --shell "
				     "/usr/sbin/nologin keelson-docker\n";
	char *const none[] = {NULL};
	(void)execle(SYSUSERS, "systemd-sysusers", "--inline",
		     "u keelson - \"Keelson broker\" /var/lib/keelson",
		     "u keelson-docker - \"Keelson docker helper\" /", NULL, none);
	(void)!write(STDOUT_FILENO, advice, sizeof(advice) - 1); /* nobody else to tell */
	return errno == ENOENT ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_service(const struct launch_options *options)
{
	static struct launch launch = {
		.children = {[LAUNCH_DOCKER] = {.name = "docker helper", .pidfd = -1},
			     [LAUNCH_BROKER] = {.name = "broker", .pidfd = -1}}};
	struct zerr err;
	zlog_start("launcher", ZLOG_INFO);
	launch.options = options;
	int r = launch_prepare(&launch, &err);
	if (r == 0)
		r = launch_start(&launch, &err);
	if (r < 0) {
		zlog_error("%s not started: %s", options->service, err.msg);
		return EXIT_FAILURE;
	}
	return launch_watch(&launch);
}

/* Waits for the service or for a signal to it.  Its exit status, or -1 when it failed. */
static int wait_service(pid_t child, const sigset_t *signals, bool *ending)
{
	int status;
	for (;;) {
		int signal = sigwaitinfo(signals, NULL);
		if (signal > 0 && signal != SIGCHLD)
			(void)kill(child, signal); /* fails only when it has just ended */
		*ending |= signal == SIGTERM || signal == SIGINT;
		if (waitpid(child, &status, WNOHANG) == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
}

/* Runs the service until it ends in order; waits 1, 2, 4 … 30 s after a failure. */
static int respawn(const struct launch_options *options)
{
	struct timespec delay = {.tv_sec = 1};
	bool ending = false;
	sigset_t signals, before;
	(void)sigemptyset(&signals); /* these fail for no signal that exists */
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &signals, &before);
	zlog_start("respawn", ZLOG_INFO);
	for (;;) {
		uint64_t began = zfd_now_ms();
		pid_t child = fork();
		if (child < 0)
			return EXIT_FAILURE;
		if (child == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGTERM);	       /* cannot fail */
			(void)sigprocmask(SIG_SETMASK, &before, NULL); /* as it came */
			_exit(run_service(options));
		}
		int status = wait_service(child, &signals, &ending);
		if (status == 0 || ending)
			return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
		if (zfd_now_ms() - began > STEADY_MS)
			delay.tv_sec = 1;
		zlog_warning("%s failed: again in %d s", options->service, (int)delay.tv_sec);
		(void)sigdelset(&signals, SIGCHLD);
		int signal = sigtimedwait(&signals, NULL, &delay);
		(void)sigaddset(&signals, SIGCHLD);
		if (signal == SIGTERM || signal == SIGINT)
			return EXIT_SUCCESS;
		delay.tv_sec = delay.tv_sec * 2 < BACKOFF_MAX_S ? delay.tv_sec * 2 : BACKOFF_MAX_S;
	}
}

/* Takes the options that have a value.  The number of words used, 0 when name is none of them, -1
 * when the value is bad. */
static int take_value(struct launch_options *options, const char *name, char *value)
{
	uint64_t seconds;
	if (strcmp(name, "--policy") == 0 && value != NULL) {
		options->policy = value;
	} else if (strcmp(name, "--broker") == 0 && value != NULL) {
		options->broker = value;
	} else if (strcmp(name, "--stop-wait") == 0 && value != NULL) {
		if (zfd_parse_u64(value, STOP_WAIT_MAX_S, &seconds) < 0)
			return -1;
		options->stop_wait_ms = seconds * 1000;
	} else {
		return 0;
	}
	return 2;
}

/* Fills options from the words behind the service's name.  0, or -EINVAL. */
static int parse(struct launch_options *options, int count, char **words)
{
	int i = 0;
	while (i < count && strcmp(words[i], "--") != 0) {
		int used = take_value(options, words[i], i + 1 < count ? words[i + 1] : NULL);
		if (used == 0 && strcmp(words[i], "--respawn") == 0) {
			options->respawn = true;
			used = 1;
		}
		if (used <= 0)
			return -EINVAL;
		i += used;
	}
	options->arguments = &words[i];
	return 0;
}

int main(int count, char **words)
{
	static char broker_name[] = "keelson-compute";
	static char *no_arguments[] = {broker_name, NULL};
	struct launch_options options = {.service = "compute",
					 .policy = POLICY_FILE,
					 .broker = KEELSON_SBIN "/keelson-compute",
					 .stop_wait_ms = STOP_WAIT_MS};
	if (count == 2 && strcmp(words[1], "--setup") == 0)
		return set_up_accounts();
	if (count < 2 || strcmp(words[1], options.service) != 0 ||
	    parse(&options, count - 2, words + 2) < 0)
		return usage();
	/* The "--" becomes the program's name. */
	if (options.arguments[0] != NULL)
		options.arguments[0] = broker_name;
	else
		options.arguments = no_arguments;
	if (geteuid() != 0) {
		zlog_start("launcher", ZLOG_INFO);
		zlog_error("%s: only root can start a service in pieces", options.service);
		return EXIT_FAILURE;
	}
	return options.respawn ? respawn(&options) : run_service(&options);
}

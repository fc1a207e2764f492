/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher as a whole: what it is made of, what its parts tell it, its
 * clock.  Without a privilege; see jobs.h for how its files share the work.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/jobs.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS	    250
#define WORKERS_CAP 32U
/* Two for calls, one for casts, one for what is short: with fewer nothing would be left for one of
 * them. */
#define WORKERS_LEAST 4U
/* What a child says when it cannot prove its sandbox: then none may run (policy/sandbox.h). */
#define EXIT_SANDBOX 70
/* How long taking messages waits for the first rows of this node. */
#define ROWS_WAIT_MS 5000

void dispatcher_fail(struct dispatcher *d, int error, const char *why)
{
	if (d->fatal == 0) {
		d->fatal = error;
		zerr_errno(&d->fatal_error, error, "%s", why);
	}
	loop_stop(d->loop);
}

void dispatcher_consume(struct dispatcher *d)
{
	bool rows = d->heartbeat_tried && d->inventory_tried;

	if (d->begun || d->stopping || d->recovery != RECOVER_DONE)
		return;
	/* Who is told that we are ready finds our rows; a slow engine does not hold that up for
	 * long. */
	if (!rows && zfd_now_ms() - d->start_ms < ROWS_WAIT_MS)
		return;
	d->begun = true;
	consumer_begin(d->consumer);
}

/* What the consumer tells. */

static void on_message(void *context, const struct consumer_message *message)
{
	struct dispatcher *d = context;

	if (d->stopping) {
		int body = message->body;

		zfd_closep(&body); /* the broker has it still, and gives it to the next start */
		return;
	}
	accept_message(d, message);
}

static void on_consuming(void *context, bool consuming)
{
	struct dispatcher *d = context;

	if (d->stopping)
		return;
	if (!consuming) {
		zlog_warning("the message broker's queues are not consumed for now");
		return;
	}
	if (d->ready_said) {
		zlog_info("consuming again");
		return;
	}
	d->ready_said = true;
	zlog_info("ready: consuming");
	notify_send(&d->notify, "READY=1");
	if (d->options->launcher >= 0 &&
	    send(d->options->launcher, "R", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		zlog_warning("launcher: telling it that we are ready: %s", strerror(errno));
}

static void on_closed(void *context)
{
	struct dispatcher *d = context;

	loop_stop(d->loop);
}

static const struct consumer_handlers consumer_handlers = {
	.message = on_message, .consuming = on_consuming, .closed = on_closed};

/* What the pool tells. */

static void hook_work(void *context, int jobs, int spare)
{
	const struct dispatcher *d = context;

	d->options->hooks->work(d->options->context, jobs, spare);
}

static int hook_equip(void *context)
{
	const struct dispatcher *d = context;

	return d->options->hooks->open_channel(d->options->context);
}

static void hook_result(void *context, void *cookie, const struct job_result *result, int fd)
{
	struct dispatcher *d = context;
	struct job *job = cookie;

	d->running[job_class(job)]--;
	if (job->kind == JOB_CLASSIFY)
		accept_classified(d, job, result, fd);
	else
		finish_job(d, job, result, fd);
}

static void hook_died(void *context, void *cookie)
{
	struct dispatcher *d = context;
	struct job *job = cookie;

	d->running[job_class(job)]--;
	if (job->kind == JOB_CLASSIFY)
		accept_died(d, job);
	else
		finish_died(d, job);
}

/* How a child ended, for the log; a child without a sandbox ends the service. */
static void note_end(struct dispatcher *d, pid_t pid, int status)
{
	if (d->options->hooks->ended)
		d->options->hooks->ended(d->options->context, pid);
	if (WIFSIGNALED(status))
		zlog_warning("process %d ended by signal %d", (int)pid, WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		zlog_warning("process %d ended with status %d", (int)pid, WEXITSTATUS(status));
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SANDBOX)
		dispatcher_fail(d, -EPERM, "a process could not close its sandbox");
}

static void hook_ended(void *context, pid_t pid, int status, bool idle)
{
	(void)idle;
	note_end(context, pid, status);
}

static void hook_publish(void *context, int socket)
{
	const struct dispatcher *d = context;

	d->options->hooks->publish(d->options->context, socket);
}

static void hook_publisher_ended(void *context, pid_t pid, int status)
{
	note_end(context, pid, status);
}

static const struct pool_hooks pool_hooks_equipped = {.work = hook_work,
						      .equip = hook_equip,
						      .result = hook_result,
						      .died = hook_died,
						      .ended = hook_ended};
static const struct pool_hooks pool_hooks_plain = {
	.work = hook_work, .result = hook_result, .died = hook_died, .ended = hook_ended};
static const struct replies_hooks replies_hooks = {.publish = hook_publish,
						   .ended = hook_publisher_ended};

/* The clock. */

static void tick(void *context)
{
	struct dispatcher *d = context;
	uint64_t now = zfd_now_ms();

	d->tick_timer = loop_timer(d->loop, TICK_MS, tick, d);
	pool_tick(d->pool, now);
	replies_tick(d->replies, now);
	jobs_wake(d, now);
	clock_monitors(d, now);
	dispatcher_consume(d);
	clock_watchdog(d, now);
	if (d->stopping)
		stop_tick(d, now);
}

/* Parts only queue; workers get their jobs here, when everything that happened is known. */
static bool before_sleep(void *context)
{
	struct dispatcher *d = context;

	clock_periodic(d, zfd_now_ms());
	jobs_schedule(d);
	return false;
}

static void on_signal(void *context, int signal, uint32_t events)
{
	struct dispatcher *d = context;

	(void)events;
	if (signal == SIGCHLD) {
		pool_reap(d->pool);
		replies_reap(d->replies);
	} else if (signal == SIGHUP) {
		if (d->options->hooks->reload)
			d->options->hooks->reload(d->options->context);
		pool_renew(d->pool);
	} else {
		stop_begin(d, signal == SIGTERM ? "SIGTERM" : "SIGINT");
	}
}

/* The launcher says nothing: only its end counts. */
static void on_launcher(void *context, int fd, uint32_t events)
{
	struct dispatcher *d = context;
	char byte;
	ssize_t got = recv(fd, &byte, sizeof(byte), MSG_DONTWAIT);

	(void)events;
	if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	loop_unwatch(d->loop, fd);
	stop_begin(d, "the launcher ended");
}

static void init_lists(struct dispatcher *d)
{
	TAILQ_INIT(&d->all);
	TAILQ_INIT(&d->arrivals);
	TAILQ_INIT(&d->resting);
	for (size_t i = 0; i < CLASS_COUNT; i++)
		TAILQ_INIT(&d->ready[i]);
}

static unsigned workers_most(const struct config *config)
{
	unsigned most = WORKERS_CAP;

	if (config->executor_thread_pool_size < WORKERS_CAP)
		most = (unsigned)config->executor_thread_pool_size;
	return most < WORKERS_LEAST ? WORKERS_LEAST : most;
}

/* The parts that have files in the state folder, made while the sandbox is open. */
static int open_state(struct dispatcher *d, struct zerr *err)
{
	const char *path = d->options->state_directory;
	_cleanup_fd_ int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return zerr_errno(err, -errno, "%s", path);
	if (intent_log_open(&d->intents, path, err) < 0)
		return err->code;
	d->seen = seen_open(directory, (uint64_t)time(NULL), err);
	if (!d->seen)
		return err->code;
	d->poison = poison_open(directory, err);
	return d->poison ? 0 : err->code;
}

static int open_parts(struct dispatcher *d, struct zerr *err)
{
	struct pool_options options = {
		.least = (unsigned)d->config->workers_min,
		.most = d->workers_most,
		.hooks = d->options->hooks->open_channel ? &pool_hooks_equipped : &pool_hooks_plain,
		.context = d,
	};

	if (options.least > options.most)
		options.least = options.most;
	d->strands = strands_new();
	if (!d->strands)
		return zerr_errno(err, -ENOMEM, "strands");
	d->pool = pool_new(d->loop, &options, err);
	if (!d->pool)
		return err->code;
	d->replies = replies_new(d->loop, d->config, &replies_hooks, d, err);
	if (!d->replies)
		return err->code;
	d->consumer = consumer_new(d->loop, d->config, &consumer_handlers, d, err);
	return d->consumer ? 0 : err->code;
}

static int open_all(struct dispatcher *d, struct zerr *err)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, -1};
	int result = open_state(d, err);

	if (result < 0)
		return result;
	notify_open(&d->notify);
	if (d->options->hooks->confine) {
		result = d->options->hooks->confine(d->options->context, err);
		if (result < 0)
			return result;
	}
	d->loop = loop_new(err);
	if (!d->loop)
		return err->code;
	result = loop_signals(d->loop, signals, on_signal, d);
	if (result == 0 && d->options->launcher >= 0)
		result = loop_watch(d->loop, d->options->launcher, EPOLLIN, on_launcher, d);
	if (result < 0)
		return zerr_errno(err, result, "signals and launcher");
	return open_parts(d, err);
}

static void close_all(struct dispatcher *d)
{
	pool_free(d->pool);
	replies_free(d->replies, 1000);
	consumer_free(d->consumer);
	while (d->loop && !TAILQ_EMPTY(&d->all))
		job_free(d, TAILQ_FIRST(&d->all));
	strands_free(d->strands);
	seen_close(d->seen);
	poison_close(d->poison, d->stopping);
	intent_log_close(&d->intents);
	notify_close(&d->notify);
	loop_free(d->loop);
}

int dispatcher_run(const struct dispatcher_options *options, struct zerr *err)
{
	struct dispatcher d = {.options = options,
			       .config = options->config,
			       .intents.directory = -1,
			       .notify.fd = -1,
			       .workers_most = workers_most(options->config)};
	int result;

	init_lists(&d);
	result = open_all(&d, err);
	if (result == 0)
		result = recover_start(&d, err);
	if (result == 0) {
		replies_start(d.replies);
		pool_start(d.pool);
		d.start_ms = zfd_now_ms();
		consumer_connect(d.consumer);
		tick(&d);
		result = loop_run(d.loop, before_sleep, &d);
		if (result < 0)
			zerr_errno(err, result, "event loop");
	}
	if (result == 0 && d.fatal < 0) {
		result = d.fatal;
		*err = d.fatal_error;
	}
	close_all(&d);
	return result;
}

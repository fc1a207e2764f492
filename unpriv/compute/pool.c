/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool of workers.  Runs in the dispatcher, without a privilege.  A worker
 * is told nothing but its job, over a SEQPACKET socket of its own; the end of
 * that socket is the end of the worker.
 */
#include "unpriv/compute/pool.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker beyond the least number goes after this time without a job. */
#define IDLE_MS 60000
/* One worker more at a time: a burst of short jobs is over before the next is worth its making. */
#define GROW_MS 20
/* A worker that could not be made, or ended at once, is tried again after 1 s, 2 s, … 30 s. */
#define RETRY_FIRST_MS 1000U
#define RETRY_MAX_MS   30000U
/* A worker that ends within this time without a job shows that something is wrong with workers. */
#define STEADY_MS 10000

struct worker {
	TAILQ_ENTRY(worker) entry;
	struct pool *pool;
	pid_t pid;
	int socket;   /* owned; -1: told to end, not reaped yet */
	void *cookie; /* of its job */
	bool busy;
	bool retiring; /* to end as soon as it is idle */
	bool proved;   /* it has given a result: workers can be made */
	bool reaped;   /* its number may be another process's by now */
	uint32_t job;  /* id of its job */
	uint64_t deadline_ms, since_ms, born_ms;
};

TAILQ_HEAD(worker_list, worker);

struct pool {
	struct loop *loop;
	struct pool_options options;
	struct worker_list workers; /* those that can work: idle ones first */
	struct worker_list leaving; /* told to end, or gone, but not reaped */
	unsigned size, busy;
	unsigned failures;
	uint64_t retry_ms; /* no new worker before this time: making one failed */
	uint64_t grow_ms;  /* no further one before this time: the last may be enough */
};

struct pool *pool_new(struct loop *loop, const struct pool_options *options, struct zerr *err)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool) {
		zerr_errno(err, -ENOMEM, "pool of workers");
		return NULL;
	}
	pool->loop = loop;
	pool->options = *options;
	TAILQ_INIT(&pool->workers);
	TAILQ_INIT(&pool->leaving);
	return pool;
}

/* close_range is not among the system calls that the dispatcher leaves its children. */
void pool_close_other(int keep, int also_keep)
{
	struct rlimit limit;
	int most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536
			   ? (int)limit.rlim_cur
			   : 65536;

	for (int fd = 3; fd < most; fd++)
		if (fd != keep && fd != also_keep)
			(void)close(fd); /* most were never open */
}

static _Noreturn void be_worker(const struct pool *pool, pid_t parent, int jobs, int spare)
{
	/* A worker must not outlive the dispatcher: the next one would do its job a second time.
	 * TERM, INT and HUP stay blocked, as the loop left them: a worker ends with its socket. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	pool_close_other(jobs, spare);
	pool->options.hooks->work(pool->options.context, jobs, spare);
	_exit(1);
}

static void note_failure(struct pool *pool, const char *what, int error)
{
	uint64_t pause = RETRY_FIRST_MS;

	for (unsigned i = 0; i < pool->failures && pause < RETRY_MAX_MS; i++)
		pause *= 2;
	pause = pause < RETRY_MAX_MS ? pause : RETRY_MAX_MS;
	pool->failures++;
	pool->retry_ms = zfd_now_ms() + pause;
	zlog_warning("worker: %s: %s: next one in %llu s", what, strerror(error),
		     (unsigned long long)pause / 1000);
}

static void on_worker(void *context, int fd, uint32_t events);

/* Takes *socket, if it can. */
static struct worker *adopt(struct pool *pool, pid_t pid, int *socket)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return NULL;
	worker->pool = pool;
	worker->pid = pid;
	worker->socket = *socket;
	worker->born_ms = worker->since_ms = zfd_now_ms();
	if (loop_watch(pool->loop, worker->socket, EPOLLIN, on_worker, worker) < 0) {
		free(worker);
		return NULL;
	}
	*socket = -1;
	TAILQ_INSERT_HEAD(&pool->workers, worker, entry);
	pool->size++;
	return worker;
}

/* A new worker, or NULL: not now. */
static struct worker *make(struct pool *pool)
{
	_cleanup_fd_ int ours = -1, theirs = -1, spare = -1;
	struct worker *worker;
	pid_t parent = getpid(), pid;
	int pair[2];

	if (pool->options.hooks->equip) {
		spare = pool->options.hooks->equip(pool->options.context);
		if (spare < 0) {
			note_failure(pool, "no channel to the helpers", -spare);
			return NULL;
		}
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		note_failure(pool, "socket pair", errno);
		return NULL;
	}
	ours = pair[0];
	theirs = pair[1];
	pid = fork();
	if (pid < 0) {
		note_failure(pool, "fork", errno);
		return NULL;
	}
	if (pid == 0)
		be_worker(pool, parent, theirs, spare);
	pool->grow_ms = zfd_now_ms() + GROW_MS;
	worker = adopt(pool, pid, &ours);
	if (!worker)
		note_failure(pool, "taking it up",
			     ENOMEM); /* it ends by itself, and stays a zombie */
	return worker;
}

static bool may_make(const struct pool *pool)
{
	return pool->size < pool->options.most && zfd_now_ms() >= pool->retry_ms;
}

static bool may_grow(const struct pool *pool)
{
	return may_make(pool) &&
	       (pool->size < pool->options.least || zfd_now_ms() >= pool->grow_ms);
}

unsigned pool_growth_wait(const struct pool *pool)
{
	uint64_t now = zfd_now_ms();

	return may_make(pool) && pool->grow_ms > now ? (unsigned)(pool->grow_ms - now) : 0;
}

void pool_start(struct pool *pool)
{
	while (pool->size < pool->options.least && may_make(pool))
		if (!make(pool))
			return;
}

static struct worker *find_idle(const struct pool *pool)
{
	struct worker *worker;

	for (worker = TAILQ_FIRST(&pool->workers); worker; worker = TAILQ_NEXT(worker, entry))
		if (!worker->busy && !worker->retiring)
			return worker;
	return NULL;
}

bool pool_ready(const struct pool *pool)
{
	return find_idle(pool) || may_grow(pool);
}

/* The worker is no longer one: its socket is closed, and what is left is to reap it. */
static void dismiss(struct worker *worker)
{
	struct pool *pool = worker->pool;

	if (worker->socket < 0)
		return;
	loop_unwatch(pool->loop, worker->socket);
	zfd_closep(&worker->socket);
	TAILQ_REMOVE(&pool->workers, worker, entry);
	TAILQ_INSERT_TAIL(&pool->leaving, worker, entry);
	pool->size--;
	if (worker->busy)
		pool->busy--;
}

/* Ends a worker that can't be trusted to end itself; its job is given back. */
static void kill_worker(struct worker *worker, const char *why)
{
	struct pool *pool = worker->pool;
	bool busy = worker->busy;

	zlog_warning("worker %d: %s", (int)worker->pid, why);
	dismiss(worker);
	worker->busy = false;
	if (!worker->reaped)
		(void)kill(worker->pid, SIGKILL);
	if (busy)
		pool->options.hooks->died(pool->options.context, worker->cookie);
}

static void receive_result(struct worker *worker, struct zfd_packet *packet)
{
	struct pool *pool = worker->pool;
	struct job_result result;
	void *cookie = worker->cookie;

	if (!worker->busy || packet->fd_count > 1 ||
	    job_get_result(packet->data, packet->length, &result) < 0 || result.id != worker->job) {
		kill_worker(worker, "sent something that is no result of its job");
		return;
	}
	worker->busy = false;
	worker->proved = true;
	pool->failures = 0;
	worker->cookie = NULL;
	worker->since_ms = zfd_now_ms();
	pool->busy--;
	/* To the front: the worker that was idle last is warm, those at the end may go. */
	TAILQ_REMOVE(&pool->workers, worker, entry);
	TAILQ_INSERT_HEAD(&pool->workers, worker, entry);
	if (worker->retiring)
		dismiss(worker);
	pool->options.hooks->result(pool->options.context, cookie, &result,
				    packet->fd_count > 0 ? TAKE_FD(packet->fds[0]) : -1);
}

static void on_worker(void *context, int fd, uint32_t events)
{
	struct worker *worker = context;
	uint8_t data[JOB_PACKET_MAX];
	struct zfd_packet packet = {.data = data, .size = sizeof(data)};
	int result = zfd_receive(fd, &packet, MSG_DONTWAIT);

	(void)events;
	if (result == -EAGAIN)
		return;
	if (result > 0)
		receive_result(worker, &packet);
	else
		kill_worker(worker, result == 0 ? "its socket ended" : strerror(-result));
	zfd_packet_close(&packet);
}

int pool_submit(struct pool *pool, const struct job_request *request, int fd, uint64_t deadline_ms,
		void *cookie)
{
	uint8_t data[JOB_PACKET_MAX];
	struct zwriter writer;
	struct worker *worker = find_idle(pool);
	int result;

	zwriter_init(&writer, data, sizeof(data));
	job_put_request(&writer, request);
	if (writer.failed)
		return -EMSGSIZE;
	if (!worker && may_grow(pool))
		worker = make(pool);
	if (!worker)
		return -EAGAIN;
	result = zfd_send(worker->socket, data, writer.used, &fd, fd >= 0, MSG_DONTWAIT);
	if (result < 0) {
		/* It has died and was not noticed yet; the job has not begun. */
		kill_worker(worker, strerror(-result));
		return -EAGAIN;
	}
	worker->busy = true;
	worker->cookie = cookie;
	worker->job = request->id;
	worker->deadline_ms = deadline_ms;
	pool->busy++;
	TAILQ_REMOVE(&pool->workers, worker, entry);
	TAILQ_INSERT_TAIL(&pool->workers, worker, entry);
	return 0;
}

/* What waitpid says of one worker; in which list it stands does not matter. */
static void reaped(struct worker *worker, int status)
{
	struct pool *pool = worker->pool;
	bool busy = worker->busy, idle = !worker->busy;
	void *cookie = worker->cookie;
	pid_t pid = worker->pid;

	if (worker->socket >= 0 && idle && !worker->proved &&
	    zfd_now_ms() - worker->born_ms < STEADY_MS)
		note_failure(pool, "ended before its first job", ECHILD);
	dismiss(worker);
	TAILQ_REMOVE(&pool->leaving, worker, entry);
	free(worker);
	pool->options.hooks->ended(pool->options.context, pid, status, idle);
	if (busy)
		pool->options.hooks->died(pool->options.context, cookie);
}

static void reap_list(struct worker_list *list)
{
	struct worker *worker, *next;
	int status;

	for (worker = TAILQ_FIRST(list); worker; worker = next) {
		next = TAILQ_NEXT(worker, entry);
		if (waitpid(worker->pid, &status, WNOHANG) != worker->pid)
			continue;
		worker->reaped = true;
		/* A result that it sent before it ended still counts. */
		if (worker->socket >= 0 && worker->busy)
			on_worker(worker, worker->socket, EPOLLIN);
		reaped(worker, status);
	}
}

void pool_reap(struct pool *pool)
{
	reap_list(&pool->workers);
	reap_list(&pool->leaving);
}

void pool_tick(struct pool *pool, uint64_t now_ms)
{
	struct worker *worker, *next;

	for (worker = TAILQ_FIRST(&pool->workers); worker; worker = next) {
		next = TAILQ_NEXT(worker, entry);
		if (worker->busy && now_ms >= worker->deadline_ms) {
			kill_worker(worker, "its job is past its deadline");
			/* The list has changed under us: the others have their turn next time. */
			break;
		}
		if (!worker->busy && (worker->retiring || (pool->size > pool->options.least &&
							   now_ms - worker->since_ms > IDLE_MS)))
			dismiss(worker);
	}
	pool_start(pool);
}

void pool_renew(struct pool *pool)
{
	struct worker *worker;

	for (worker = TAILQ_FIRST(&pool->workers); worker; worker = TAILQ_NEXT(worker, entry))
		worker->retiring = true;
}

unsigned pool_busy(const struct pool *pool)
{
	return pool->busy;
}

unsigned pool_size(const struct pool *pool)
{
	return pool->size;
}

static void free_list(struct pool *pool, struct worker_list *list)
{
	struct worker *worker;

	while ((worker = TAILQ_FIRST(list)) != NULL) {
		bool busy = worker->busy;

		dismiss(worker);
		if (busy)
			(void)kill(worker->pid, SIGKILL); /* as in kill_worker */
		TAILQ_REMOVE(&pool->leaving, worker, entry);
		free(worker);
	}
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	free_list(pool, &pool->workers);
	free_list(pool, &pool->leaving);
	free(pool);
}

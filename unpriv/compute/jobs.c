/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: making them, queueing them, choosing which one a worker gets next.
 * Dispatcher, no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/jobs.h"

/* Accepted jobs that are not done.  Above this nothing further is classified, so nothing is
 * acknowledged, and the broker keeps the rest (known-faults R4). */
#define JOBS_MAX 10000
/* Bodies in memory: above the first mark those of accepted casts are dropped (the intent has them),
 * above the second the broker's connection is not read. */
#define BODIES_KEEP 256
#define BODIES_MAX  2000
#define BYTES_KEEP  ((uint64_t)16 << 20)
#define BYTES_PAUSE ((uint64_t)64 << 20)
/* Workers that casts leave to calls, and that both leave to what is short. */
#define KEPT_FOR_CALLS	     2U
#define KEPT_FOR_SHORT	     1U
#define CLASSIFY_DEADLINE_MS 30000U
#define SERVICE_DEADLINE_MS  120000U
#define RECOVER_DEADLINE_MS  300000U
#define MARGIN_MS	     60000U
#define STALE_TEXT	     "no worker was free before the request's time was over"
#define REST_FIRST_MS	     1000U
#define REST_MAX_MS	     60000U

struct job *job_new(struct dispatcher *d, enum job_kind kind)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->kind = kind;
	job->body = -1;
	job->since_ms = zfd_now_ms();
	TAILQ_INSERT_TAIL(&d->all, job, all);
	d->jobs++;
	return job;
}

void job_take_body(struct dispatcher *d, struct job *job, int body, uint64_t size)
{
	job->body = body;
	job->size = size;
	d->bytes += size;
	d->bodies++;
}

static void drop_body(struct dispatcher *d, struct job *job)
{
	if (job->body < 0)
		return;
	zfd_closep(&job->body);
	d->bytes -= job->size;
	d->bodies--;
}

void job_free(struct dispatcher *d, struct job *job)
{
	if (job->arriving)
		TAILQ_REMOVE(&d->arrivals, job, arrival);
	if (job->kind == JOB_CLASSIFY)
		d->unclassified--;
	drop_body(d, job);
	TAILQ_REMOVE(&d->all, job, all);
	d->jobs--;
	free(job);
}

void job_forget_body(struct dispatcher *d, struct job *job)
{
	bool many = d->bytes > BYTES_KEEP || d->bodies > BODIES_KEEP;

	if (job->body < 0 || job->record.intent[0] == '\0' || !many)
		return;
	drop_body(d, job);
	job->record.resumed = true;
}

void job_forget_intent(struct dispatcher *d, struct job *job)
{
	int result;

	if (job->record.intent[0] == '\0')
		return;
	result = intent_remove(&d->intents, job->record.intent);
	if (result < 0)
		zlog_error("intent %s: removing it: %s", job->record.intent, strerror(-result));
	job->record.intent[0] = '\0';
}

void jobs_press(struct dispatcher *d)
{
	consumer_pause(d->consumer, d->bytes > BYTES_PAUSE);
}

enum job_class job_class(const struct job *job)
{
	switch (job->kind) {
	case JOB_CLASSIFY:
		return CLASS_CLASSIFY;
	case JOB_HEARTBEAT:
	case JOB_RECOVER:
		return CLASS_SERVICE;
	case JOB_RUN:
		return job->record.call ? CLASS_CALL : CLASS_CAST;
	case JOB_ABANDON:
	case JOB_RECOVER_ONE:
	case JOB_INVENTORY:
		break;
	}
	return CLASS_CAST;
}

void job_queue(struct dispatcher *d, struct job *job)
{
	job->state = STATE_QUEUED;
	TAILQ_INSERT_TAIL(&d->ready[job_class(job)], job, entry);
}

void job_queue_first(struct dispatcher *d, struct job *job)
{
	job->state = STATE_QUEUED;
	TAILQ_INSERT_HEAD(&d->ready[job_class(job)], job, entry);
}

void job_rest(struct dispatcher *d, struct job *job)
{
	uint64_t pause = REST_FIRST_MS;

	for (unsigned i = 0; i < job->rests && pause < REST_MAX_MS; i++)
		pause *= 2;
	job->rests++;
	job->state = STATE_RESTING;
	job->rest_ms = zfd_now_ms() + (pause < REST_MAX_MS ? pause : REST_MAX_MS);
	TAILQ_INSERT_TAIL(&d->resting, job, entry);
}

void jobs_wake(struct dispatcher *d, uint64_t now_ms)
{
	struct job *job, *next;

	for (job = TAILQ_FIRST(&d->resting); job; job = next) {
		next = TAILQ_NEXT(job, entry);
		if (now_ms < job->rest_ms)
			continue;
		TAILQ_REMOVE(&d->resting, job, entry);
		job_queue_first(d, job);
	}
}

/* May a worker be given to this class now? */
static bool has_place(const struct dispatcher *d, enum job_class class)
{
	unsigned casts = d->running[CLASS_CAST], both = casts + d->running[CLASS_CALL];
	unsigned for_both = d->workers_most - KEPT_FOR_SHORT;

	switch (class) {
	case CLASS_CLASSIFY:
		return !d->stopping && d->jobs - d->unclassified < JOBS_MAX &&
		       d->bodies < BODIES_MAX;
	case CLASS_CALL:
		return both < for_both;
	case CLASS_CAST:
		return !d->stopping && both < for_both && casts < for_both - KEPT_FOR_CALLS;
	case CLASS_SERVICE:
	case CLASS_COUNT:
		break;
	}
	return !d->stopping;
}

static struct job *choose(struct dispatcher *d)
{
	for (unsigned class = 0; class < CLASS_COUNT; class ++)
		if (!TAILQ_EMPTY(&d->ready[class]) && has_place(d, (enum job_class) class))
			return TAILQ_FIRST(&d->ready[class]);
	return NULL;
}

/* When a worker that is not done is beyond hope.  Its own deadlines are shorter. */
static uint64_t deadline_of(const struct dispatcher *d, const struct job *job)
{
	uint64_t now = zfd_now_ms();

	switch (job->kind) {
	case JOB_CLASSIFY:
		return now + CLASSIFY_DEADLINE_MS;
	case JOB_HEARTBEAT:
		return now + SERVICE_DEADLINE_MS;
	case JOB_RECOVER:
	case JOB_INVENTORY:
		return now + RECOVER_DEADLINE_MS;
	case JOB_RUN:
		if (job->record.method == RPC_CONTAINER_CREATE)
			return now + (uint64_t)d->config->create_timeout * 1000 + MARGIN_MS;
		break;
	case JOB_RECOVER_ONE:
	case JOB_ABANDON:
		break;
	}
	return now + (uint64_t)d->config->action_timeout * 1000 + MARGIN_MS;
}

/* The text that the worker reads: the body as it came, or what the intent has of it. */
static int open_text(struct dispatcher *d, const struct job *job, int *owned)
{
	_cleanup_free_ char *line = NULL;
	size_t length;
	int result;

	*owned = -1;
	if (!job->record.resumed || job->record.intent[0] == '\0')
		return job->body;
	result = intent_read(&d->intents, job->record.intent, &line, &length);
	if (result < 0)
		return result;
	*owned = zfd_sealed_memfd("intent", line, length);
	return *owned;
}

static bool needs_text(const struct job *job)
{
	return job->kind == JOB_CLASSIFY || job->kind == JOB_RUN;
}

/* 0, -EAGAIN: no worker free, or another negative errno: the job cannot be run at all. */
static int submit(struct dispatcher *d, struct job *job)
{
	struct job_request request = {.id = ++d->next_id, .kind = job->kind, .record = job->record};
	_cleanup_fd_ int owned = -1;
	int text = -1;

	if (needs_text(job)) {
		text = open_text(d, job, &owned);
		if (text < 0)
			return text == -1 ? -ENOENT : text;
	}
	memcpy(request.content_type, job->content_type, sizeof(request.content_type));
	if (job->kind == JOB_CLASSIFY && !job->record.resumed)
		(void)snprintf(request.record.intent, sizeof(request.record.intent), "%016llx",
			       (unsigned long long)job->order);
	job->id = request.id;
	return pool_submit(d->pool, &request, text, deadline_of(d, job), job);
}

/* A job that cannot be handed over: for now (no memory, no descriptor), or for good (its intent is
 * gone, or is none). */
static void refuse(struct dispatcher *d, struct job *job, int error)
{
	zlog_error("job of order %016llx: it cannot be given to a worker: %s",
		   (unsigned long long)job->order, strerror(-error));
	if (error != -ENOENT && error != -EBADMSG && error != -EFBIG && error != -EINVAL) {
		job_rest(d, job);
		return;
	}
	if (job->kind == JOB_CLASSIFY && job->record.resumed)
		recover_intent_classified(d);
	finish_end(d, job);
}

/* A call that waited for longer than its caller: whoever asks again does not want it done twice. */
static bool is_stale(const struct dispatcher *d, const struct job *job)
{
	return job->kind == JOB_RUN && job->record.call && d->config->rpc_response_timeout > 0 &&
	       zfd_now_ms() - job->since_ms > (uint64_t)d->config->rpc_response_timeout * 1000;
}

/* Hands one job over.  False: no worker is free. */
static bool start_job(struct dispatcher *d, struct job *job)
{
	enum job_class class = job_class(job);
	bool stale = is_stale(d, job);
	int result = stale ? 0 : submit(d, job);

	if (result == -EAGAIN)
		return false;
	TAILQ_REMOVE(&d->ready[class], job, entry);
	if (stale) {
		replies_fail(d->replies, &job->record, "ZunException", STALE_TEXT);
		finish_end(d, job);
	} else if (result < 0) {
		refuse(d, job, result);
	} else {
		job->state = STATE_RUNNING;
		d->running[class]++;
	}
	return true;
}

static void on_growth(void *context)
{
	struct dispatcher *d = context;

	d->growth_timer = 0; /* what is to be done is done before the loop sleeps again */
}

void jobs_schedule(struct dispatcher *d)
{
	struct job *job;
	unsigned wait;

	while ((job = choose(d)) != NULL)
		if (!pool_ready(d->pool) || !start_job(d, job))
			break;
	wait = job ? pool_growth_wait(d->pool) : 0;
	if (wait > 0 && d->growth_timer == 0)
		d->growth_timer = loop_timer(d->loop, wait, on_growth, d);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher's inside: shared by its own files only. */
#pragma once
#include "common/loop.h"
#include "unpriv/base/intent.h"
#include "unpriv/base/job.h"
#include "unpriv/compute/dispatcher.h"
#include "unpriv/compute/notify.h"
#include "unpriv/compute/poison.h"
#include "unpriv/compute/pool.h"
#include "unpriv/compute/replies.h"
#include "unpriv/compute/seen.h"
#include "unpriv/compute/strand.h"
#include "unpriv/rpc/consumer.h"

/* Where a job is.  Each moves on only as jobs.c, accept.c and finish.c say. */
enum job_state {
	STATE_QUEUED,  /* in the ready list of its class */
	STATE_RUNNING, /* a worker has it */
	STATE_SORTED,  /* classified; goes to its strand when all that came before it are */
	STATE_WAITING, /* on its strand, behind another */
	STATE_RESTING  /* to be tried again at rest_ms */
};

/* Who goes first, and how many workers it may take. */
enum job_class {
	CLASS_CLASSIFY, /* short, and nothing moves without it */
	CLASS_SERVICE,	/* the heartbeat row, the pages of recovery */
	CLASS_CALL,	/* somebody waits */
	CLASS_CAST,	/* safe in the intent log; recovery of a row and inventory too */
	CLASS_COUNT
};

struct job {
	TAILQ_ENTRY(job) all, arrival, entry; /* entry: in ready[] or resting */
	struct strand_node strand;
	enum job_kind kind;
	enum job_state state;
	bool arriving;	/* in arrivals: later jobs for a container must not overtake it */
	uint64_t order; /* of arrival */
	uint32_t id;	/* of its present run */
	struct consumer_delivery delivery;
	int body;      /* sealed memfd, owned; -1 = in the intent only */
	uint64_t size; /* of the body */
	char content_type[64];
	bool redelivered;
	struct job_record record;
	uint64_t since_ms;   /* when it came */
	uint64_t rest_ms;    /* STATE_RESTING */
	uint64_t monitor_ms; /* next sign of life to the caller; 0 = none wanted */
	unsigned rests;	     /* how often it was to be tried again */
};

TAILQ_HEAD(job_list, job);

struct dispatcher {
	const struct dispatcher_options *options;
	const struct config *config;
	struct loop *loop;
	struct consumer *consumer;
	struct pool *pool;
	struct replies *replies;
	struct strands *strands;
	struct seen *seen;
	struct poison *poison;
	struct intent_log intents;
	struct notify notify;

	struct job_list all, arrivals; /* arrivals: in order of arrival */
	struct job_list ready[CLASS_COUNT], resting;
	size_t jobs;	     /* in all */
	size_t unclassified; /* of them */
	uint64_t bytes;	     /* of the bodies held */
	size_t bodies;	     /* how many */
	unsigned running[CLASS_COUNT];
	unsigned workers_most;
	uint64_t next_order;
	uint32_t next_id;
	uint64_t rejected, duplicates;

	bool heartbeat_queued, inventory_queued, heartbeat_tried, inventory_tried;
	uint64_t heartbeat_ms, inventory_ms, watchdog_ms; /* when due */
	enum { RECOVER_INTENTS, RECOVER_ROWS, RECOVER_DONE } recovery;
	size_t intents_left; /* resumed ones not classified yet */

	uint64_t start_ms;
	bool begun, ready_said, stopping;
	int stop_step;
	uint64_t stop_ms; /* when the present step of stopping is over */
	int fatal;	  /* negative errno that ends the service */
	struct zerr fatal_error;
	int64_t tick_timer, growth_timer;
};

/* jobs.c: making, queueing, choosing. */
struct job *job_new(struct dispatcher *d, enum job_kind kind);
void job_free(struct dispatcher *d, struct job *job);
enum job_class job_class(const struct job *job);
/* A job that was in no list is to run. */
void job_queue(struct dispatcher *d, struct job *job);
/* The same, in front of the others of its class. */
void job_queue_first(struct dispatcher *d, struct job *job);
/* To be tried again later, after a pause that grows. */
void job_rest(struct dispatcher *d, struct job *job);
/* Gives workers what they may have now. */
void jobs_schedule(struct dispatcher *d);
void jobs_wake(struct dispatcher *d, uint64_t now_ms);
/* Lets the broker hold back when the bodies here are too many. */
void jobs_press(struct dispatcher *d);
/* Takes body. */
void job_take_body(struct dispatcher *d, struct job *job, int body, uint64_t size);
/* Drops the body of a job that has it in its intent, too, when there are many. */
void job_forget_body(struct dispatcher *d, struct job *job);
void job_forget_intent(struct dispatcher *d, struct job *job);

/* accept.c: from arrival to acceptance. */
void accept_message(struct dispatcher *d, const struct consumer_message *message);
void accept_classified(struct dispatcher *d, struct job *job, const struct job_result *result,
		       int fd);
void accept_died(struct dispatcher *d, struct job *job);
/* Sorted jobs go to their strands, in order of arrival. */
void accept_release(struct dispatcher *d);

/* finish.c: what became of a job that ran. */
void finish_job(struct dispatcher *d, struct job *job, const struct job_result *result, int fd);
void finish_died(struct dispatcher *d, struct job *job);
/* The job is over: its strand goes on. */
void finish_end(struct dispatcher *d, struct job *job);

/* recover.c: start-up. */
int recover_start(struct dispatcher *d, struct zerr *err);
void recover_page(struct dispatcher *d, const struct job *job, const struct job_result *result);
void recover_intent_classified(struct dispatcher *d);
/* Removes whatever intent a worker may have left for this order of arrival. */
void recover_forget(struct dispatcher *d, uint64_t order);

/* dispatcher.c */
void dispatcher_fail(struct dispatcher *d, int error, const char *why);
/* Begins to take messages, if all that comes before it is done. */
void dispatcher_consume(struct dispatcher *d);
/* clock.c: each does what is due. */
void clock_periodic(struct dispatcher *d, uint64_t now_ms);
void clock_monitors(struct dispatcher *d, uint64_t now_ms);
void clock_watchdog(struct dispatcher *d, uint64_t now_ms);
/* stop.c: the end in good order. */
void stop_begin(struct dispatcher *d, const char *why);
void stop_tick(struct dispatcher *d, uint64_t now_ms);

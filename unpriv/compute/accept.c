/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a message's arrival to its acceptance: classified by a worker, told from
 * duplicates, acknowledged, put in order.  Dispatcher, no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/jobs.h"
#include <time.h>

/* A body that ended this many workers is given to no further one (known-faults R2). */
#define TRIES_MAX 2U

static uint64_t now_seconds(void)
{
	return (uint64_t)time(NULL);
}

static void reject_poison(struct dispatcher *d, struct job *job, const char *why)
{
	bool kept = poison_save(d->poison, job->order, job->body);

	zlog_error("message of order %016llx: %s: refused%s", (unsigned long long)job->order, why,
		   kept ? ", kept in the poison folder" : "");
	consumer_reject(d->consumer, &job->delivery);
	poison_clear(d->poison, job->body, job->size);
	d->rejected++;
}

void accept_message(struct dispatcher *d, const struct consumer_message *message)
{
	struct job *job = job_new(d, JOB_CLASSIFY);
	int body = message->body;

	if (!job) {
		/* Not acknowledged: the broker delivers it again when the connection is renewed. */
		zlog_error("a message is left to the message broker for lack of memory");
		zfd_closep(&body);
		return;
	}
	d->unclassified++;
	job->order = d->next_order++;
	job->delivery = message->delivery;
	job_take_body(d, job, body, message->length);
	job->redelivered = message->redelivered;
	memcpy(job->content_type, message->content_type, sizeof(job->content_type));
	if (job->redelivered && poison_suspect(d->poison, job->body, job->size)) {
		reject_poison(d, job, "it was there when the service ended, more than once");
		job_free(d, job);
		return;
	}
	job->arriving = true;
	TAILQ_INSERT_TAIL(&d->arrivals, job, arrival);
	job_queue(d, job);
	jobs_press(d);
}

/* Gives a job that leaves no trace its end. */
static void end_unaccepted(struct dispatcher *d, struct job *job)
{
	bool resumed = job->record.resumed;

	job_free(d, job);
	if (resumed)
		recover_intent_classified(d);
	accept_release(d);
	jobs_press(d);
}

/* The classification failed for want of something (disk, memory): the message waits,
 * unacknowledged. */
static void try_again(struct dispatcher *d, struct job *job, int error)
{
	zlog_error("message of order %016llx: it cannot be taken now: %s",
		   (unsigned long long)job->order, strerror(-error));
	if (!job->record.resumed && !consumer_holds(d->consumer, &job->delivery)) {
		recover_forget(d, job->order);
		end_unaccepted(d, job);
		return;
	}
	job_rest(d, job);
}

/* Known-faults F07: acknowledged, not done again; a call is answered as it was. */
static void end_duplicate(struct dispatcher *d, struct job *job)
{
	d->duplicates++;
	zlog_info("message %s: came a second time: not done again", job->record.unique_id);
	job_forget_intent(d, job);
	consumer_ack(d->consumer, &job->delivery);
	if (job->record.call)
		(void)replies_repeat(d->replies,
				     &job->record); /* not known: still at work, or long ago */
	end_unaccepted(d, job);
}

static void remember(struct dispatcher *d, const struct job *job)
{
	int result;

	if (job->record.unique_id[0] == '\0')
		return;
	result = seen_add(d->seen, job->record.unique_id, job->order, now_seconds());
	if (result < 0)
		zlog_error("message %s: its id may not be remembered: %s", job->record.unique_id,
			   strerror(-result));
}

static void end_refused(struct dispatcher *d, struct job *job, int fd)
{
	zlog_warning("request %s: refused: %s", job->record.request_id, job->record.reason);
	remember(d, job);
	consumer_ack(d->consumer, &job->delivery);
	if (fd >= 0)
		replies_add(d->replies, &job->record, fd);
	end_unaccepted(d, job);
}

static void end_rejected(struct dispatcher *d, struct job *job)
{
	d->rejected++;
	zlog_warning("message of order %016llx: no message for us: %s",
		     (unsigned long long)job->order, job->record.reason);
	if (job->record.verdict == VERDICT_REJECT)
		consumer_reject(d->consumer, &job->delivery);
	else
		consumer_ack(d->consumer, &job->delivery);
	end_unaccepted(d, job);
}

/* True when the order under which this id was accepted is another one. */
static bool is_duplicate(struct dispatcher *d, const struct job *job)
{
	uint64_t order;

	if (job->record.unique_id[0] == '\0')
		return false;
	order = seen_find(d->seen, job->record.unique_id, now_seconds());
	return order != 0 && order != job->order;
}

static void accept_job(struct dispatcher *d, struct job *job)
{
	bool resumed = job->record.resumed;

	/* Without an id the second delivery could not be told from the first: leave it to that one.
	 */
	if (!resumed && job->record.unique_id[0] == '\0' &&
	    !consumer_holds(d->consumer, &job->delivery)) {
		job_forget_intent(d, job);
		end_unaccepted(d, job);
		return;
	}
	remember(d, job);
	consumer_ack(d->consumer, &job->delivery);
	d->unclassified--;
	job->kind = JOB_RUN;
	job->rests = 0;
	job->record.tries = 0;
	if (job->record.call && job->record.monitor_s >= 2)
		job->monitor_ms = zfd_now_ms() + (uint64_t)job->record.monitor_s * 500;
	job_forget_body(d, job);
	if (job->record.exclusive && job->record.uuid[0] != '\0') {
		job->state = STATE_SORTED;
	} else {
		job->arriving = false;
		TAILQ_REMOVE(&d->arrivals, job, arrival);
		job_queue(d, job);
	}
	if (resumed)
		recover_intent_classified(d);
	accept_release(d);
	jobs_press(d);
}

/* An intent of another name than the one asked for is not this job's to remove. */
static bool names_its_intent(const struct job *job, const struct job_record *record)
{
	char order[32];

	if (record->intent[0] == '\0')
		return true;
	(void)snprintf(order, sizeof(order), "%016llx-", (unsigned long long)job->order);
	return strncmp(record->intent, order, strlen(order)) == 0 &&
	       intent_name_valid(record->intent);
}

void accept_classified(struct dispatcher *d, struct job *job, const struct job_result *result,
		       int fd)
{
	bool resumed = job->record.resumed;
	char intent[sizeof(job->record.intent)];

	if (result->status < 0) {
		zfd_closep(&fd);
		try_again(d, job, result->status);
		return;
	}
	if (!names_its_intent(job, &result->record)) {
		zlog_error("message of order %016llx: its worker named an intent of another job",
			   (unsigned long long)job->order);
		zfd_closep(&fd);
		accept_died(d, job);
		return;
	}
	if (job->redelivered)
		poison_clear(d->poison, job->body, job->size);
	memcpy(intent, job->record.intent, sizeof(intent));
	job->record = result->record;
	job->record.resumed = resumed;
	if (resumed)
		memcpy(job->record.intent, intent, sizeof(intent));
	if (job->record.verdict == VERDICT_RUN || job->record.verdict == VERDICT_ANSWERED) {
		if (is_duplicate(d, job)) {
			zfd_closep(&fd);
			end_duplicate(d, job);
			return;
		}
	}
	if (job->record.verdict == VERDICT_RUN) {
		zfd_closep(&fd);
		accept_job(d, job);
	} else if (job->record.verdict == VERDICT_ANSWERED) {
		job_forget_intent(d, job);
		end_refused(d, job, fd);
	} else {
		zfd_closep(&fd);
		job_forget_intent(d, job);
		end_rejected(d, job);
	}
}

/* An intent that nobody can read: kept for the operator, and out of the way. */
static void bury_intent(struct dispatcher *d, struct job *job)
{
	_cleanup_free_ char *line = NULL;
	size_t length = 0;
	bool kept = intent_read(&d->intents, job->record.intent, &line, &length) == 0 &&
		    poison_save_text(d->poison, job->order, line, length);

	zlog_error("intent %s: it ended %u workers: given up%s", job->record.intent, TRIES_MAX,
		   kept ? ", kept in the poison folder" : "");
	job_forget_intent(d, job);
}

void accept_died(struct dispatcher *d, struct job *job)
{
	job->record.tries++;
	if (!job->record.resumed)
		recover_forget(d, job->order); /* the next worker makes it anew */
	if (job->record.tries < TRIES_MAX) {
		job_queue_first(d, job);
		return;
	}
	if (job->record.resumed)
		bury_intent(d, job);
	else
		reject_poison(d, job, "it ended two workers");
	end_unaccepted(d, job);
}

void accept_release(struct dispatcher *d)
{
	struct job *job;

	while ((job = TAILQ_FIRST(&d->arrivals)) != NULL && job->state == STATE_SORTED) {
		int first = strands_push(d->strands, job->record.uuid, &job->strand);

		if (first == -ENOMEM) {
			zlog_error("container %s: no memory for its strand", job->record.uuid);
			return; /* tried again with the next message */
		}
		TAILQ_REMOVE(&d->arrivals, job, arrival);
		job->arriving = false;
		if (first == 1)
			job_queue(d, job);
		else
			job->state = STATE_WAITING;
	}
}

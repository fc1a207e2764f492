/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up (contract timers-and-recovery.md §1, §3): the intents that are left
 * go to their strands, in order; then the rows that need it, on theirs; only
 * then new messages are taken.  Dispatcher, no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/jobs.h"
#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define ORDER_DIGITS 16
#define UUID_LENGTH  (UUID_TEXT_SIZE - 1)

/* The order in an intent's name, or 0. */
static uint64_t order_of(const char *name)
{
	uint64_t order = 0;

	for (int i = 0; i < ORDER_DIGITS; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = name[i] ? strchr(digits, name[i]) : NULL;

		if (!digit)
			return 0;
		order = order << 4 | (uint64_t)(digit - digits);
	}
	return name[ORDER_DIGITS] == '-' ? order : 0;
}

static int resume(void *context, const char *name)
{
	struct dispatcher *d = context;
	uint64_t order = order_of(name);
	struct job *job;

	if (order == 0)
		return 0;
	job = job_new(d, JOB_CLASSIFY);
	if (!job)
		return -ENOMEM;
	d->unclassified++;
	d->intents_left++;
	job->order = order;
	job->record.resumed = true;
	(void)snprintf(job->record.intent, sizeof(job->record.intent), "%s", name);
	job->arriving = true;
	TAILQ_INSERT_TAIL(&d->arrivals, job, arrival);
	job_queue(d, job);
	if (order >= d->next_order)
		d->next_order = order + 1;
	return 0;
}

/* The next page of rows, after uuid; at once, or after a pause when the last try failed. */
static void ask_page(struct dispatcher *d, const char *after, unsigned rests)
{
	struct job *job = job_new(d, JOB_RECOVER);

	if (!job) {
		dispatcher_fail(d, -ENOMEM, "recovery");
		return;
	}
	memcpy(job->record.uuid, after, UUID_TEXT_SIZE);
	job->rests = rests;
	if (rests == 0)
		job_queue(d, job);
	else
		job_rest(d, job);
}

static void rows_next(struct dispatcher *d)
{
	static const char beginning[UUID_TEXT_SIZE];

	if (d->recovery != RECOVER_INTENTS || d->intents_left > 0)
		return;
	d->recovery = RECOVER_ROWS;
	ask_page(d, beginning, 0);
}

int recover_start(struct dispatcher *d, struct zerr *err)
{
	struct timespec now = {0};
	int result;

	/* Real time, so that orders grow from start to start; the names that are left, should it go
	 * back. */
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: the clock always exists */
	d->next_order = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	result = intent_each(&d->intents, resume, d);
	if (result < 0)
		return zerr_errno(err, result, "reading the intents");
	if (d->intents_left > 0)
		zlog_info("recovery: %zu intents are resumed", d->intents_left);
	rows_next(d);
	return 0;
}

void recover_intent_classified(struct dispatcher *d)
{
	d->intents_left--;
	rows_next(d);
}

static int recover_one(struct dispatcher *d, const char *uuid)
{
	struct job *job;
	int first;

	/* What has an intent is finished by that. */
	if (strands_has(d->strands, uuid))
		return 0;
	job = job_new(d, JOB_RECOVER_ONE);
	if (!job)
		return -ENOMEM;
	memcpy(job->record.uuid, uuid, UUID_TEXT_SIZE);
	job->record.exclusive = true;
	first = strands_push(d->strands, uuid, &job->strand);
	if (first < 0) {
		job_free(d, job);
		return first;
	}
	job->state = STATE_WAITING;
	if (first == 1)
		job_queue(d, job);
	return 0;
}

void recover_page(struct dispatcher *d, const struct job *job, const struct job_result *result)
{
	char uuid[UUID_TEXT_SIZE] = "";
	size_t length = strlen(result->uuids), at;

	if (result->status < 0) {
		zlog_warning("recovery: the rows cannot be read, it is tried again: %s",
			     strerror(-result->status));
		ask_page(d, job->record.uuid, job->rests + 1);
		return;
	}
	for (at = 0; at + UUID_LENGTH <= length; at += UUID_LENGTH) {
		memcpy(uuid, result->uuids + at, UUID_LENGTH);
		uuid[UUID_LENGTH] = '\0';
		if (recover_one(d, uuid) < 0) {
			dispatcher_fail(d, -ENOMEM, "recovery");
			return;
		}
	}
	/* A page that does not go on would be asked for without end. */
	if (result->more && strcmp(uuid, job->record.uuid) > 0) {
		ask_page(d, uuid, 0);
		return;
	}
	d->recovery = RECOVER_DONE;
	zlog_info("recovery: %zu containers are looked after", strands_count(d->strands));
	dispatcher_consume(d);
}

void recover_forget(struct dispatcher *d, uint64_t order)
{
	int fd = zfd_open_beneath(d->intents.directory, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder) {
		zfd_closep(&fd);
		return;
	}
	for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
		if (order_of(entry->d_name) == order)
			(void)intent_remove(&d->intents,
					    entry->d_name); /* found again at the next start */
	(void)closedir(folder);
}

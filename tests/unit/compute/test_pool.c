/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of workers, with real forks: growth, shrinking, death, deadlines. */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/pool.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* What a worker of the test does with a job, by the job's kind. */
#define ECHO	  JOB_RUN
#define DIE	  JOB_ABANDON
#define SLEEP	  JOB_RECOVER
#define LIE	  JOB_INVENTORY
#define LAST_WORD JOB_HEARTBEAT
#define SIT	  JOB_CLASSIFY /* a moment, then as ECHO */

struct watcher {
	struct loop *loop;
	struct pool *pool;
	unsigned results, deaths, ends, idle_ends;
	void *last_cookie;
	struct job_result last;
	char text[64];	/* what came with the last result */
	unsigned until; /* events to wait for */
};

static void note(struct watcher *watcher)
{
	if (watcher->results + watcher->deaths + watcher->ends >= watcher->until)
		loop_stop(watcher->loop);
}

static void answer(int jobs, const struct job_request *request, int fd)
{
	uint8_t data[JOB_PACKET_MAX];
	struct job_result result = {.id = request->id, .record = request->record};
	struct zwriter writer;
	int reply;

	if (request->kind == LIE)
		result.id++;
	(void)snprintf(result.record.request_id, sizeof(result.record.request_id), "%d", getpid());
	reply = fd >= 0 ? fd : -1;
	zwriter_init(&writer, data, sizeof(data));
	job_put_result(&writer, &result);
	(void)zfd_send(jobs, data, writer.used, &reply, reply >= 0, 0);
}

static void work(void *context, int jobs, int spare)
{
	uint8_t data[JOB_PACKET_MAX];
	struct zfd_packet packet = {.data = data, .size = sizeof(data)};
	struct job_request request;

	(void)context;
	/* Only what it was given is open. */
	for (int fd = 3; fd < 256; fd++)
		if (fd != jobs && fd != spare && fcntl(fd, F_GETFD) >= 0)
			_exit(99);
	while (zfd_receive(jobs, &packet, 0) > 0) {
		if (job_get_request(packet.data, packet.length, &request) < 0)
			_exit(98);
		if (request.kind == DIE)
			(void)raise(SIGKILL);
		if (request.kind == SLEEP)
			(void)pause();
		if (request.kind == SIT)
			(void)nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
		answer(jobs, &request, packet.fds[0]);
		if (request.kind == LAST_WORD)
			_exit(3);
		zfd_packet_close(&packet);
	}
	_exit(0);
}

static void on_result(void *context, void *cookie, const struct job_result *result, int fd)
{
	struct watcher *watcher = context;

	watcher->results++;
	watcher->last_cookie = cookie;
	watcher->last = *result;
	watcher->text[0] = '\0';
	if (fd >= 0)
		watcher->text[zfd_read_all(fd, watcher->text, sizeof(watcher->text) - 1)] = '\0';
	zfd_closep(&fd);
	note(watcher);
}

static void on_died(void *context, void *cookie)
{
	struct watcher *watcher = context;

	watcher->deaths++;
	watcher->last_cookie = cookie;
	note(watcher);
}

static void on_ended(void *context, pid_t pid, int status, bool idle)
{
	struct watcher *watcher = context;

	(void)pid;
	(void)status;
	watcher->ends++;
	watcher->idle_ends += idle;
	note(watcher);
}

static int equip(void *context)
{
	(void)context;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int equip_fails(void *context)
{
	(void)context;
	return -EUSERS;
}

static const struct pool_hooks hooks = {
	.work = work, .result = on_result, .died = on_died, .ended = on_ended};
static const struct pool_hooks equipped = {
	.work = work, .equip = equip, .result = on_result, .died = on_died, .ended = on_ended};
static const struct pool_hooks poor = {.work = work,
				       .equip = equip_fails,
				       .result = on_result,
				       .died = on_died,
				       .ended = on_ended};

static void on_signal(void *context, int signal, uint32_t events)
{
	struct watcher *watcher = context;

	(void)signal;
	(void)events;
	pool_reap(watcher->pool);
}

static void too_late(void *context)
{
	struct watcher *watcher = context;

	print_error("only %u results, %u deaths, %u ends\n", watcher->results, watcher->deaths,
		    watcher->ends);
	abort();
}

static struct watcher *begin(const struct pool_hooks *with, unsigned least, unsigned most)
{
	static const int signals[] = {SIGCHLD, -1};
	struct watcher *watcher = calloc(1, sizeof(*watcher));
	struct pool_options options = {
		.least = least, .most = most, .hooks = with, .context = watcher};
	struct zerr err = {0};

	zlog_setup("test", ZLOG_ERROR, false);
	watcher->loop = loop_new(&err);
	watcher->pool = pool_new(watcher->loop, &options, &err);
	assert_non_null(watcher->pool);
	assert_int_equal(loop_signals(watcher->loop, signals, on_signal, watcher), 0);
	pool_start(watcher->pool);
	return watcher;
}

static void end(struct watcher *watcher)
{
	pool_free(watcher->pool);
	loop_free(watcher->loop);
	free(watcher);
}

/* Runs the loop until so many further results, deaths and ends have come. */
static void wait_for(struct watcher *watcher, unsigned events)
{
	int64_t timer = loop_timer(watcher->loop, 10000, too_late, watcher);

	watcher->until = watcher->results + watcher->deaths + watcher->ends + events;
	assert_int_equal(loop_run(watcher->loop, NULL, NULL), 0);
	loop_cancel(watcher->loop, timer);
}

static int submit(struct watcher *watcher, enum job_kind kind, void *cookie)
{
	static uint32_t id;
	struct job_request request = {.id = ++id, .kind = kind};
	_cleanup_fd_ int fd = zfd_sealed_memfd("job", "payload", 7);

	return pool_submit(watcher->pool, &request, fd, zfd_now_ms() + 60000, cookie);
}

/* Submits so many jobs, with the time between them that growing takes. */
static void submit_all(struct watcher *watcher, enum job_kind kind, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct timespec pause = {0};

		pause.tv_nsec = (long)pool_growth_wait(watcher->pool) * 1000000;
		assert_int_equal(nanosleep(&pause, NULL), 0);
		assert_int_equal(submit(watcher, kind, NULL), 0);
	}
}

static void test_pool_grows_by_one_worker_at_a_time(void **state)
{
	struct watcher *watcher = begin(&hooks, 1, 8);

	(void)state;
	assert_int_equal(submit(watcher, SLEEP, NULL), 0);
	submit_all(watcher, SLEEP, 1);
	assert_int_equal(pool_size(watcher->pool), 2);
	assert_false(pool_ready(watcher->pool));
	assert_true(pool_growth_wait(watcher->pool) > 0);
	assert_int_equal(submit(watcher, SLEEP, NULL), -EAGAIN);
	submit_all(watcher, SLEEP, 1);
	assert_int_equal(pool_size(watcher->pool), 3);
	end(watcher);
}

static void test_pool_forks_its_least_number_and_runs_a_job(void **state)
{
	struct watcher *watcher = begin(&equipped, 2, 4);
	int cookie;

	(void)state;
	assert_int_equal(pool_size(watcher->pool), 2);
	assert_int_equal(submit(watcher, ECHO, &cookie), 0);
	assert_int_equal(pool_busy(watcher->pool), 1);
	wait_for(watcher, 1);
	assert_int_equal(watcher->results, 1);
	assert_ptr_equal(watcher->last_cookie, &cookie);
	assert_string_equal(watcher->text, "payload");
	assert_int_equal(pool_busy(watcher->pool), 0);
	end(watcher);
}

static void test_pool_grows_to_its_most_and_no_further(void **state)
{
	struct watcher *watcher = begin(&hooks, 1, 3);

	(void)state;
	submit_all(watcher, SLEEP, 3);
	assert_int_equal(pool_size(watcher->pool), 3);
	assert_false(pool_ready(watcher->pool));
	assert_int_equal(submit(watcher, ECHO, NULL), -EAGAIN);
	end(watcher);
}

static void test_pool_shrinks_when_workers_are_idle(void **state)
{
	struct watcher *watcher = begin(&hooks, 1, 3);

	(void)state;
	submit_all(watcher, SIT, 3);
	wait_for(watcher, 3);
	pool_tick(watcher->pool, zfd_now_ms() + 1000);
	assert_int_equal(pool_size(watcher->pool), 3);
	pool_tick(watcher->pool, zfd_now_ms() + 3600000);
	assert_int_equal(pool_size(watcher->pool), 1);
	wait_for(watcher, 2);
	assert_int_equal(watcher->idle_ends, 2);
	assert_int_equal(watcher->deaths, 0);
	end(watcher);
}

static void test_pool_gives_back_the_job_of_a_worker_that_dies(void **state)
{
	struct watcher *watcher = begin(&hooks, 2, 2);
	int cookie;

	(void)state;
	assert_int_equal(submit(watcher, DIE, &cookie), 0);
	wait_for(watcher, 2); /* its death and its end */
	assert_int_equal(watcher->deaths, 1);
	assert_ptr_equal(watcher->last_cookie, &cookie);
	assert_int_equal(pool_busy(watcher->pool), 0);
	/* The next one finds a worker at once. */
	assert_int_equal(submit(watcher, ECHO, NULL), 0);
	wait_for(watcher, 1);
	assert_int_equal(watcher->results, 1);
	pool_tick(watcher->pool, zfd_now_ms());
	assert_int_equal(pool_size(watcher->pool), 2);
	end(watcher);
}

static void test_pool_counts_the_last_word_of_a_worker_that_ends(void **state)
{
	struct watcher *watcher = begin(&hooks, 1, 1);

	(void)state;
	assert_int_equal(submit(watcher, LAST_WORD, NULL), 0);
	wait_for(watcher, 2);
	assert_int_equal(watcher->results, 1);
	assert_int_equal(watcher->deaths, 0);
	assert_int_equal(watcher->idle_ends, 1);
	end(watcher);
}

static void test_pool_kills_a_worker_past_its_deadline(void **state)
{
	struct watcher *watcher = begin(&hooks, 1, 1);
	int cookie;

	(void)state;
	assert_int_equal(submit(watcher, SLEEP, &cookie), 0);
	pool_tick(watcher->pool, zfd_now_ms() + 59000);
	assert_int_equal(watcher->deaths, 0);
	pool_tick(watcher->pool, zfd_now_ms() + 61000);
	assert_int_equal(watcher->deaths, 1);
	assert_ptr_equal(watcher->last_cookie, &cookie);
	wait_for(watcher, 1);
	assert_int_equal(watcher->ends, 1);
	assert_int_equal(watcher->deaths, 1);
	end(watcher);
}

static void test_pool_believes_no_result_of_another_job(void **state)
{
	struct watcher *watcher = begin(&hooks, 1, 1);

	(void)state;
	assert_int_equal(submit(watcher, LIE, NULL), 0);
	wait_for(watcher, 2);
	assert_int_equal(watcher->results, 0);
	assert_int_equal(watcher->deaths, 1);
	end(watcher);
}

static void test_pool_without_equipment_waits_before_the_next_try(void **state)
{
	struct watcher *watcher = begin(&poor, 2, 4);

	(void)state;
	assert_int_equal(pool_size(watcher->pool), 0);
	assert_false(pool_ready(watcher->pool));
	assert_int_equal(submit(watcher, ECHO, NULL), -EAGAIN);
	end(watcher);
}

static void test_pool_renews_its_workers_without_losing_a_job(void **state)
{
	struct watcher *watcher = begin(&hooks, 2, 2);
	char before[65];

	(void)state;
	assert_int_equal(submit(watcher, ECHO, NULL), 0);
	wait_for(watcher, 1);
	memcpy(before, watcher->last.record.request_id, sizeof(before));
	pool_renew(watcher->pool);
	pool_tick(watcher->pool, zfd_now_ms());
	assert_int_equal(pool_size(watcher->pool), 2);
	assert_int_equal(submit(watcher, ECHO, NULL), 0);
	wait_for(watcher, 3);
	assert_int_equal(watcher->results, 2);
	assert_int_equal(watcher->ends, 2);
	assert_string_not_equal(watcher->last.record.request_id, before);
	end(watcher);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_forks_its_least_number_and_runs_a_job),
		cmocka_unit_test(test_pool_grows_by_one_worker_at_a_time),
		cmocka_unit_test(test_pool_grows_to_its_most_and_no_further),
		cmocka_unit_test(test_pool_shrinks_when_workers_are_idle),
		cmocka_unit_test(test_pool_gives_back_the_job_of_a_worker_that_dies),
		cmocka_unit_test(test_pool_counts_the_last_word_of_a_worker_that_ends),
		cmocka_unit_test(test_pool_kills_a_worker_past_its_deadline),
		cmocka_unit_test(test_pool_believes_no_result_of_another_job),
		cmocka_unit_test(test_pool_without_equipment_waits_before_the_next_try),
		cmocka_unit_test(test_pool_renews_its_workers_without_losing_a_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

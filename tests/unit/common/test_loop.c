/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/loop.c. */
#include "common/loop.h"
#include "common/zfd.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* What the handlers of a test saw, in order, as one letter each. */
struct trace {
	struct loop *loop;
	char seen[LOOP_TIMERS_MAX + 8];
	size_t count;
	int fd, other_fd;
	int64_t timer;
	uint32_t events;
};

static void note(struct trace *trace, char letter)
{
	assert_true(trace->count < sizeof(trace->seen) - 1);
	trace->seen[trace->count++] = letter;
	trace->seen[trace->count] = '\0';
}

static void start(struct trace *trace)
{
	struct zerr err;

	*trace = (struct trace){.loop = loop_new(&err), .fd = -1, .other_fd = -1};
	assert_non_null(trace->loop);
}

static void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
}

static void on_a(void *context)
{
	note(context, 'a');
}

static void on_b(void *context)
{
	note(context, 'b');
}

static void on_c(void *context)
{
	note(context, 'c');
}

static void on_stop(void *context)
{
	struct trace *trace = context;

	note(trace, '.');
	loop_stop(trace->loop);
}

static void on_readable(void *context, int fd, uint32_t events)
{
	struct trace *trace = context;
	char byte = '!';

	trace->events = events;
	if (read(fd, &byte, 1) == 1)
		note(trace, byte);
}

static void test_timers_fire_in_the_order_of_their_deadlines(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace);
	assert_true(loop_timer(trace.loop, 30, on_c, &trace) >= 1);
	assert_true(loop_timer(trace.loop, 10, on_a, &trace) >= 1);
	assert_true(loop_timer(trace.loop, 40, on_stop, &trace) >= 1);
	assert_true(loop_timer(trace.loop, 20, on_b, &trace) >= 1);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "abc.");
	loop_free(trace.loop);
}

static void test_timers_of_one_deadline_fire_in_the_order_they_were_set(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace);
	for (int i = 0; i < 10; i++) {
		loop_timer(trace.loop, 0, on_a, &trace);
		loop_timer(trace.loop, 0, on_b, &trace);
	}
	loop_timer(trace.loop, 5, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "abababababababababab.");
	loop_free(trace.loop);
}

static void test_a_timer_never_fires_early(void **state)
{
	struct trace trace;
	uint64_t before;

	(void)state;
	start(&trace);
	before = zfd_now_ms();
	loop_timer(trace.loop, 25, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_true(zfd_now_ms() >= before + 25);
	loop_free(trace.loop);
}

static void test_cancelled_timers_do_not_fire(void **state)
{
	struct trace trace;
	int64_t timers[40];

	(void)state;
	start(&trace);
	for (size_t i = 0; i < 40; i++)
		timers[i] = loop_timer(trace.loop, (i * 17) % 40, i % 2 ? on_a : on_b, &trace);
	for (size_t i = 0; i < 40; i += 2)
		loop_cancel(trace.loop, timers[i]);
	loop_cancel(trace.loop, timers[0]);
	loop_cancel(trace.loop, 0);
	loop_cancel(trace.loop, -ENOSPC);
	loop_timer(trace.loop, 60, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "aaaaaaaaaaaaaaaaaaaa.");
	loop_free(trace.loop);
}

static void on_cancel_other(void *context)
{
	struct trace *trace = context;

	note(trace, 'x');
	loop_cancel(trace->loop, trace->timer);
}

static void test_a_timer_may_cancel_one_that_is_due_at_the_same_time(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace);
	loop_timer(trace.loop, 0, on_cancel_other, &trace);
	trace.timer = loop_timer(trace.loop, 0, on_a, &trace);
	loop_timer(trace.loop, 5, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "x.");
	loop_free(trace.loop);
}

static void on_again(void *context)
{
	struct trace *trace = context;

	if (trace->count < 5)
		note(trace, 'r');
	loop_timer(trace->loop, 0, on_again, trace);
}

static void test_a_timer_that_renews_itself_does_not_starve_descriptors(void **state)
{
	struct trace trace;
	int ends[2];

	(void)state;
	start(&trace);
	make_pipe(ends);
	assert_int_equal(write(ends[1], "d", 1), 1);
	loop_timer(trace.loop, 0, on_again, &trace);
	assert_int_equal(loop_watch(trace.loop, ends[0], EPOLLIN, on_readable, &trace), 0);
	loop_timer(trace.loop, 5, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_non_null(strchr(trace.seen, 'd'));
	loop_free(trace.loop);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void test_timers_are_bounded_in_number_and_time(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace);
	assert_int_equal(loop_timer(trace.loop, UINT64_MAX, on_a, &trace), -ERANGE);
	assert_int_equal(loop_timer(trace.loop, INT64_MAX / 1000000, on_a, &trace), -ERANGE);
	for (int i = 0; i < LOOP_TIMERS_MAX; i++)
		assert_true(loop_timer(trace.loop, (uint64_t)(LOOP_TIMERS_MAX - i) / 16, on_a,
				       &trace) >= 1);
	assert_int_equal(loop_timer(trace.loop, 0, on_a, &trace), -ENOSPC);
	loop_cancel(trace.loop, 1);
	assert_true(loop_timer(trace.loop, 50, on_stop, &trace) >= 1);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_int_equal(trace.count, LOOP_TIMERS_MAX); /* one was cancelled, one is the stop */
	loop_free(trace.loop);
}

static void test_watch_reports_and_changes_events_and_handler(void **state)
{
	struct trace trace;
	int ends[2];

	(void)state;
	start(&trace);
	make_pipe(ends);
	assert_int_equal(loop_watch(trace.loop, ends[0], EPOLLOUT, on_readable, &trace), 0);
	assert_int_equal(loop_watch(trace.loop, ends[0], EPOLLIN, on_readable, &trace), 0);
	assert_int_equal(write(ends[1], "xyz", 3), 3);
	loop_timer(trace.loop, 10, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "xyz.");
	assert_int_equal(trace.events, EPOLLIN);
	loop_unwatch(trace.loop, ends[0]);
	assert_int_equal(write(ends[1], "no", 2), 2);
	loop_timer(trace.loop, 5, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "xyz..");
	loop_free(trace.loop);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void on_first_of_two(void *context, int fd, uint32_t events)
{
	struct trace *trace = context;
	int other = fd == trace->fd ? trace->other_fd : trace->fd;

	(void)events;
	note(trace, '1');
	loop_unwatch(trace->loop, fd);
	loop_unwatch(trace->loop, other);
}

static void test_a_handler_may_unwatch_another_that_is_ready_too(void **state)
{
	struct trace trace;
	int first[2], second[2];

	(void)state;
	start(&trace);
	make_pipe(first);
	make_pipe(second);
	trace.fd = first[0];
	trace.other_fd = second[0];
	assert_int_equal(write(first[1], "x", 1), 1);
	assert_int_equal(write(second[1], "x", 1), 1);
	assert_int_equal(loop_watch(trace.loop, first[0], EPOLLIN, on_first_of_two, &trace), 0);
	assert_int_equal(loop_watch(trace.loop, second[0], EPOLLIN, on_first_of_two, &trace), 0);
	loop_timer(trace.loop, 10, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "1.");
	loop_free(trace.loop);
	(void)close(first[0]);
	(void)close(first[1]);
	(void)close(second[0]);
	(void)close(second[1]);
}

/* Closes the other descriptor and watches a new one that gets the same number. */
static void on_replace(void *context, int fd, uint32_t events)
{
	struct trace *trace = context;
	int other = fd == trace->fd ? trace->other_fd : trace->fd;
	int ends[2];

	(void)events;
	note(trace, '1');
	loop_unwatch(trace->loop, fd);
	loop_unwatch(trace->loop, other);
	(void)close(other);
	make_pipe(ends);
	assert_int_equal(ends[0], other);
	assert_int_equal(loop_watch(trace->loop, ends[0], EPOLLIN, on_readable, trace), 0);
	trace->events = 0;
	trace->timer = ends[1];
}

static void test_an_event_of_a_closed_descriptor_does_not_reach_its_successor(void **state)
{
	struct trace trace;
	int first[2], second[2];

	(void)state;
	start(&trace);
	make_pipe(first);
	make_pipe(second);
	trace.fd = first[0];
	trace.other_fd = second[0];
	assert_int_equal(write(first[1], "x", 1), 1);
	assert_int_equal(write(second[1], "x", 1), 1);
	assert_int_equal(loop_watch(trace.loop, first[0], EPOLLIN, on_replace, &trace), 0);
	assert_int_equal(loop_watch(trace.loop, second[0], EPOLLIN, on_replace, &trace), 0);
	loop_timer(trace.loop, 10, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "1.");
	assert_int_equal(trace.events, 0);
	loop_free(trace.loop);
	(void)close(first[0]);
	(void)close(first[1]);
	(void)close(second[0]);
	(void)close(second[1]);
	(void)close((int)trace.timer);
}

static void test_watch_reports_errors_and_unwatch_takes_anything(void **state)
{
	struct trace trace;
	int file;

	(void)state;
	start(&trace);
	file = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
	assert_int_equal(loop_watch(trace.loop, -1, EPOLLIN, on_readable, &trace), -EBADF);
	assert_int_equal(loop_watch(trace.loop, 900, EPOLLIN, on_readable, &trace), -EBADF);
	assert_int_equal(loop_watch(trace.loop, file, EPOLLIN, on_readable, &trace), -EPERM);
	loop_unwatch(trace.loop, -1);
	loop_unwatch(trace.loop, 900);
	loop_unwatch(trace.loop, 100000);
	loop_free(trace.loop);
	loop_free(NULL);
	(void)close(file);
}

static void test_watch_takes_high_descriptor_numbers(void **state)
{
	struct trace trace;
	int ends[2], high;

	(void)state;
	start(&trace);
	make_pipe(ends);
	high = fcntl(ends[0], F_DUPFD_CLOEXEC, 700);
	assert_true(high >= 700);
	assert_int_equal(loop_watch(trace.loop, high, EPOLLIN, on_readable, &trace), 0);
	assert_int_equal(write(ends[1], "h", 1), 1);
	loop_timer(trace.loop, 5, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "h.");
	loop_free(trace.loop);
	(void)close(high);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void on_signal(void *context, int signal_number, uint32_t events)
{
	struct trace *trace = context;

	(void)events;
	note(trace, signal_number == SIGUSR1 ? 'u' : signal_number == SIGTERM ? 't' : '?');
	if (signal_number == SIGTERM)
		loop_stop(trace->loop);
}

static void test_signals_come_as_events(void **state)
{
	static const int first[] = {SIGUSR1, -1}, second[] = {SIGTERM, -1}, none[] = {-1},
			 bad[] = {9999, -1};
	struct trace trace;
	sigset_t before;

	(void)state;
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &before), 0);
	start(&trace);
	assert_int_equal(loop_signals(trace.loop, bad, on_signal, &trace), -EINVAL);
	assert_int_equal(loop_signals(trace.loop, none, on_signal, &trace), 0);
	assert_int_equal(loop_signals(trace.loop, first, on_signal, &trace), 0);
	assert_int_equal(loop_signals(trace.loop, second, on_signal, &trace), 0);
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, "ut");
	loop_free(trace.loop);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static bool on_idle(void *context)
{
	struct trace *trace = context;

	if (trace->count == 3) {
		loop_stop(trace->loop);
		return false;
	}
	note(trace, 'i');
	return true;
}

static void test_idle_runs_before_each_sleep_until_it_has_nothing(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace);
	assert_int_equal(loop_run(trace.loop, on_idle, &trace),
			 0); /* would hang if it slept after work */
	assert_string_equal(trace.seen, "iii");
	loop_free(trace.loop);
}

static bool on_idle_without_work(void *context)
{
	note(context, 'i');
	return false;
}

static void test_idle_without_work_sleeps_until_an_event(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace);
	loop_timer(trace.loop, 10, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, on_idle_without_work, &trace), 0);
	assert_string_equal(trace.seen, "i.");
	loop_free(trace.loop);
}

static void test_stop_leaves_the_rest_of_the_events(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace);
	loop_timer(trace.loop, 0, on_stop, &trace);
	loop_timer(trace.loop, 0, on_a, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, ".");
	loop_timer(trace.loop, 5, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, ".a.");
	loop_free(trace.loop);
}

static void on_signal_handler(int signal)
{
	(void)signal;
}

static void test_run_goes_on_after_a_foreign_signal(void **state)
{
	struct sigaction action = {.sa_handler = on_signal_handler};
	struct trace trace;
	int status;
	pid_t child;

	(void)state;
	start(&trace);
	assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct timespec pause = {.tv_nsec = 10000000};

		loop_free(trace.loop); /* must not disturb the parent's */
		(void)nanosleep(&pause, NULL);
		_exit(kill(getppid(), SIGUSR2) == 0 ? 0 : 1);
	}
	loop_timer(trace.loop, 50, on_stop, &trace);
	assert_int_equal(loop_run(trace.loop, NULL, NULL), 0);
	assert_string_equal(trace.seen, ".");
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	loop_free(trace.loop);
}

static void test_new_says_when_descriptors_lack(void **state)
{
	struct rlimit before, limit;
	struct zerr err = {0};
	int first_free = dup(0);
	int results[2];

	(void)state;
	(void)close(first_free);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (int room = 0; room < 2; room++) {
		limit = before;
		limit.rlim_cur = (rlim_t)(first_free + room);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		results[room] = loop_new(&err) == NULL ? err.code : 0;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	}
	assert_int_equal(results[0], -EMFILE);
	assert_int_equal(results[1], -EMFILE);
	assert_string_equal(err.msg, "event loop: Too many open files");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timers_fire_in_the_order_of_their_deadlines),
		cmocka_unit_test(test_timers_of_one_deadline_fire_in_the_order_they_were_set),
		cmocka_unit_test(test_a_timer_never_fires_early),
		cmocka_unit_test(test_cancelled_timers_do_not_fire),
		cmocka_unit_test(test_a_timer_may_cancel_one_that_is_due_at_the_same_time),
		cmocka_unit_test(test_a_timer_that_renews_itself_does_not_starve_descriptors),
		cmocka_unit_test(test_timers_are_bounded_in_number_and_time),
		cmocka_unit_test(test_watch_reports_and_changes_events_and_handler),
		cmocka_unit_test(test_a_handler_may_unwatch_another_that_is_ready_too),
		cmocka_unit_test(test_an_event_of_a_closed_descriptor_does_not_reach_its_successor),
		cmocka_unit_test(test_watch_reports_errors_and_unwatch_takes_anything),
		cmocka_unit_test(test_watch_takes_high_descriptor_numbers),
		cmocka_unit_test(test_signals_come_as_events),
		cmocka_unit_test(test_idle_runs_before_each_sleep_until_it_has_nothing),
		cmocka_unit_test(test_idle_without_work_sleeps_until_an_event),
		cmocka_unit_test(test_stop_leaves_the_rest_of_the_events),
		cmocka_unit_test(test_run_goes_on_after_a_foreign_signal),
		cmocka_unit_test(test_new_says_when_descriptors_lack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

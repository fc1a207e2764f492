/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop of the dispatcher and the publisher, without a privilege.
 * Handlers run one after another in the loop's own process; they may watch,
 * unwatch, set and cancel anything, also what is just being served.
 */
#include "common/loop.h"
#include "common/zfd.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 64

struct watch {
	loop_fd_handler *handler; /* NULL: not watched */
	void *context;
	uint32_t serial; /* tells an event of this watch from one of an earlier watch of the same
			    number */
};

struct timer {
	uint64_t deadline_ms;
	int64_t id;
	loop_timer_handler *handler;
	void *context;
};

struct loop {
	int epoll, timer_fd, signal_fd;
	bool stopped;
	struct watch *watches; /* by descriptor number */
	size_t watch_count;
	uint32_t next_serial;
	struct timer timers[LOOP_TIMERS_MAX]; /* a heap: [0] is due first */
	size_t timer_count;
	int64_t next_timer;
	sigset_t signals;
	loop_fd_handler *signal_handler;
	void *signal_context;
};

static bool due_before(const struct timer *a, const struct timer *b)
{
	return a->deadline_ms < b->deadline_ms ||
	       (a->deadline_ms == b->deadline_ms && a->id < b->id);
}

static void swap(struct timer *a, struct timer *b)
{
	struct timer kept = *a;

	*a = *b;
	*b = kept;
}

/* Moves a timer to its place, towards the root or away from it. */
static void settle(struct loop *loop, size_t at)
{
	struct timer *heap = loop->timers;

	while (at > 0 && due_before(&heap[at], &heap[(at - 1) / 2])) {
		swap(&heap[at], &heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= loop->timer_count)
			return;
		if (child + 1 < loop->timer_count && due_before(&heap[child + 1], &heap[child]))
			child++;
		if (!due_before(&heap[child], &heap[at]))
			return;
		swap(&heap[child], &heap[at]);
		at = child;
	}
}

static void remove_timer(struct loop *loop, size_t at)
{
	loop->timer_count--;
	if (at < loop->timer_count) {
		loop->timers[at] = loop->timers[loop->timer_count];
		settle(loop, at);
	}
}

/* Sets the timerfd to the first deadline, or off. */
static void arm(struct loop *loop)
{
	struct itimerspec when = {0};

	if (loop->timer_count > 0) {
		uint64_t deadline = loop->timers[0].deadline_ms;

		when.it_value.tv_sec = (time_t)(deadline / 1000);
		when.it_value.tv_nsec = (long)(deadline % 1000) * 1000000;
	}
	/* Cannot fail: the descriptor and the value are our own. */
	(void)timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void serve_timers(void *context, int fd, uint32_t events)
{
	struct loop *loop = context;
	uint64_t expirations, now = zfd_now_ms();
	int64_t newest = loop->next_timer;

	(void)events;
	(void)!read(fd, &expirations,
		    sizeof(expirations)); /* only to make it quiet; EAGAIN after a cancel */
	/* Timers set by these handlers wait for the next turn, so that descriptors get theirs. */
	while (!loop->stopped && loop->timer_count > 0 && loop->timers[0].deadline_ms <= now &&
	       loop->timers[0].id < newest) {
		struct timer due = loop->timers[0];

		remove_timer(loop, 0);
		due.handler(due.context);
	}
	arm(loop);
}

static void serve_signals(void *context, int fd, uint32_t events)
{
	struct loop *loop = context;
	struct signalfd_siginfo info;

	while (!loop->stopped && ZFD_RETRY(read(fd, &info, sizeof(info))) == (ssize_t)sizeof(info))
		loop->signal_handler(loop->signal_context, (int)info.ssi_signo, events);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	/* Closing is enough, and all that a child of fork may do: the set itself is shared with the
	 * parent. */
	zfd_closep(&loop->epoll);
	zfd_closep(&loop->timer_fd);
	zfd_closep(&loop->signal_fd);
	free(loop->watches);
	free(loop);
}

struct loop *loop_new(struct zerr *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int result;

	if (!loop) {
		zerr_errno(err, -ENOMEM, "event loop");
		return NULL;
	}
	loop->next_timer = 1;
	loop->signal_fd = -1;
	loop->timer_fd = -1;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll >= 0)
		loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	result = loop->timer_fd < 0 ? -errno
				    : loop_watch(loop, loop->timer_fd, EPOLLIN, serve_timers, loop);
	(void)sigemptyset(&loop->signals); /* cannot fail on a valid pointer */
	if (result < 0) {
		zerr_errno(err, result, "event loop");
		loop_free(loop);
		return NULL;
	}
	return loop;
}

static int make_room(struct loop *loop, size_t needed)
{
	size_t count = loop->watch_count ? loop->watch_count : 64;
	struct watch *larger;

	if (needed <= loop->watch_count)
		return 0;
	while (count < needed)
		count *= 2;
	larger = reallocarray(loop->watches, count, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	memset(larger + loop->watch_count, 0, (count - loop->watch_count) * sizeof(*larger));
	loop->watches = larger;
	loop->watch_count = count;
	return 0;
}

int loop_watch(struct loop *loop, int fd, uint32_t events, loop_fd_handler *handler, void *context)
{
	struct epoll_event event = {.events = events};
	struct watch *watch;
	int result;

	if (fd < 0)
		return -EBADF;
	result = make_room(loop, (size_t)fd + 1);
	if (result < 0)
		return result;
	watch = &loop->watches[fd];
	event.data.u64 = (uint64_t)loop->next_serial << 32 | (uint32_t)fd;
	if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event) < 0 &&
	    (errno != ENOENT || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0))
		return -errno;
	*watch = (struct watch){
		.handler = handler, .context = context, .serial = loop->next_serial++};
	return 0;
}

void loop_unwatch(struct loop *loop, int fd)
{
	if (fd < 0 || (size_t)fd >= loop->watch_count || !loop->watches[fd].handler)
		return;
	loop->watches[fd].handler = NULL;
	(void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd,
			NULL); /* fails when it was closed: out already */
}

int64_t loop_timer(struct loop *loop, uint64_t delay_ms, loop_timer_handler *handler, void *context)
{
	uint64_t deadline;
	size_t at = loop->timer_count;

	if (at == LOOP_TIMERS_MAX)
		return -ENOSPC;
	if (__builtin_add_overflow(zfd_now_ms(), delay_ms, &deadline) ||
	    deadline > INT64_MAX / 1000000)
		return -ERANGE; /* beyond what the kernel's clock can count */
	loop->timers[at] = (struct timer){.deadline_ms = deadline,
					  .id = loop->next_timer++,
					  .handler = handler,
					  .context = context};
	loop->timer_count++;
	settle(loop, at);
	arm(loop);
	return loop->next_timer - 1;
}

void loop_cancel(struct loop *loop, int64_t timer)
{
	for (size_t i = 0; i < loop->timer_count; i++) {
		if (loop->timers[i].id == timer) {
			remove_timer(loop, i);
			arm(loop);
			return;
		}
	}
}

int loop_signals(struct loop *loop, const int *signals, loop_fd_handler *handler, void *context)
{
	int fd;

	for (; *signals >= 0; signals++)
		if (sigaddset(&loop->signals, *signals) < 0)
			return -errno;
	if (sigprocmask(SIG_BLOCK, &loop->signals, NULL) < 0)
		return -errno;
	fd = signalfd(loop->signal_fd, &loop->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	loop->signal_fd = fd;
	loop->signal_handler = handler;
	loop->signal_context = context;
	return loop_watch(loop, fd, EPOLLIN, serve_signals, loop);
}

static void serve(struct loop *loop, const struct epoll_event *event)
{
	size_t fd = (uint32_t)event->data.u64;
	const struct watch *watch = &loop->watches[fd];

	/* An earlier handler of this turn may have unwatched it, or closed it and watched its
	 * successor. */
	if (watch->handler && watch->serial == (uint32_t)(event->data.u64 >> 32))
		watch->handler(watch->context, (int)fd, event->events);
}

int loop_run(struct loop *loop, bool (*idle)(void *context), void *context)
{
	struct epoll_event events[EVENTS_AT_ONCE];

	loop->stopped = false;
	for (;;) {
		bool worked = idle && idle(context);
		int count;

		if (loop->stopped)
			return 0;
		count = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, worked ? 0 : -1);
		if (count < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < count && !loop->stopped; i++)
			serve(loop, &events[i]);
		if (loop->stopped)
			return 0;
	}
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
}

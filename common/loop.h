/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one event loop (dispatcher, publisher): epoll, a timer heap on monotonic
 * time, signals through signalfd.  Linked only where a loop runs.
 */
#pragma once
#include "zerr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOOP_TIMERS_MAX 256

struct loop;
typedef void loop_fd_handler(void *context, int fd, uint32_t events);
typedef void loop_timer_handler(void *context);

/* Owned; NULL with *err for lack of memory or descriptors. */
struct loop *loop_new(struct zerr *err);
void loop_free(struct loop *loop);
/* Watches fd (borrowed) for EPOLLIN/EPOLLOUT; a second call with the same fd changes events and
 * handler. */
int loop_watch(struct loop *loop, int fd, uint32_t events, loop_fd_handler *handler, void *context);
void loop_unwatch(struct loop *loop, int fd);
/* Calls handler once after delay_ms.  Returns a timer id >= 1, or a negative errno. */
int64_t loop_timer(struct loop *loop, uint64_t delay_ms, loop_timer_handler *handler,
		   void *context);
void loop_cancel(struct loop *loop, int64_t timer);
/* Blocks and routes these signals (-1 ends the list) to handler, fd being the signal number. */
int loop_signals(struct loop *loop, const int *signals, loop_fd_handler *handler, void *context);
/* Runs until loop_stop; before each sleep calls idle (may be NULL), which returns true when it did
 * work. */
int loop_run(struct loop *loop, bool (*idle)(void *context), void *context);
void loop_stop(struct loop *loop);

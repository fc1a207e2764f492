/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a piece of a test in a child, where a sandbox may be closed. */
#pragma once
#include "common/zerr.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SOME_UID 61811
#define SOME_GID 61811

/* In the child: ends it, saying why, unless what should hold does. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(void)dprintf(2, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* The same for a call that fills an error. */
#define MUST_DO(call, err)                                                                         \
	do {                                                                                       \
		if ((call) < 0) {                                                                  \
			(void)dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, (err)->msg);           \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* The wait status of a child that runs function. */
static inline int inside(void (*function)(void))
{
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		function();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static inline void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

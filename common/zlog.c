/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines.  Used at the process level of every program, also under seccomp:
 * beside clock_gettime (vDSO) and one write it makes no system call, and it
 * reads no time zone and no locale.
 */
#include "common/zlog.h"
#include "common/jsonw.h"
#include "common/zfd.h"
#include <stdarg.h>
#include <time.h>

#define LINE_MAX_BYTES 2048 /* PIPE_BUF is 4096: a line is never torn by another process's */

/* The log is the process's own, like stderr itself: its form is the one state outside a main
 * context. */
static struct zlog_form form = {
	.highest = ZLOG_INFO, .start = "", .middle = " ", .rest = " main: ", .end = "\n"};

void zlog_use(const struct zlog_form *other)
{
	form = *other;
}

void zlog_start(const char *process, enum zlog_level highest)
{
	form = (struct zlog_form){.highest = highest, .start = "", .middle = " ", .end = "\n"};
	(void)snprintf(form.rest, sizeof(form.rest),
		       " %.32s[%d] %.32s: ", program_invocation_short_name, getpid(),
		       process); /* fits */
}

void zlog_utc(uint64_t seconds, char out[ZLOG_UTC_SIZE])
{
	/* Eras of 400 years are equal (146097 days); a year from March on has its leap day last. */
	uint64_t days = seconds / 86400 + 719468, of_era = days % 146097;
	uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * of_year + 2) / 153; /* 0 = March */
	unsigned int day = (unsigned int)(of_year - (153 * month + 2) / 5 + 1);
	unsigned int of_day = (unsigned int)(seconds % 86400);

	year += days / 146097 * 400 + (month >= 10);
	(void)snprintf(out, ZLOG_UTC_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u",
		       (unsigned int)year % 10000, (unsigned int)(month + 2) % 12 + 1, day,
		       of_day / 3600, of_day / 60 % 60, of_day % 60);
}

void zlog(enum zlog_level level, const char *format, ...)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	char line[LINE_MAX_BYTES], text[LINE_MAX_BYTES] = "", utc[ZLOG_UTC_SIZE];
	/* What stands before the text is far below a line. */
	size_t room = sizeof(line) - strlen("...") - strlen(form.end) - 1, used;
	struct timespec now = {0};
	int saved = errno;
	va_list arguments;
	bool cut;

	if (level > form.highest)
		return;
	va_start(arguments, format);
	cut = (size_t)vsnprintf(text, sizeof(text), format, arguments) >= sizeof(text);
	va_end(arguments);
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: the clock always exists */
	zlog_utc((uint64_t)now.tv_sec, utc);
	used = (size_t)snprintf(line, room, "%s%s.%06ldZ%s%s%s", form.start, utc,
				now.tv_nsec / 1000, form.middle, levels[level], form.rest);
	cut |= !jsonw_escape(zstr_from(text), line, room, &used);
	used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", cut ? "..." : "",
				 form.end);
	(void)!ZFD_RETRY(write(STDERR_FILENO, line, used)); /* nobody is left to be told */
	errno = saved;
}

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
#include <unistd.h>

#define LINE_MAX_BYTES 2048 /* PIPE_BUF is 4096: a line is never torn by another process's */
#define TEXT_MAX_BYTES 2048 /* before escaping; a longer text is cut */
#define REQUEST_ID_MAX 64

/* The log is the process's own, like stderr itself: its set-up is the one state outside a main
 * context. */
static struct {
	const char *process;
	enum zlog_level highest;
	bool json;
	pid_t pid;
	char request_id[6 * REQUEST_ID_MAX + 1]; /* escaped: one byte becomes at most six */
} setup = {.process = "main", .highest = ZLOG_INFO};

void zlog_setup(const char *process, enum zlog_level highest, bool json)
{
	setup.process = process;
	setup.highest = highest;
	setup.json = json;
	setup.pid = getpid();
}

void zlog_request(const char *request_id)
{
	struct zstr id = zstr_from(request_id);
	size_t used = 0;

	if (id.length > REQUEST_ID_MAX)
		id.length = REQUEST_ID_MAX;
	(void)jsonw_escape(id, setup.request_id, sizeof(setup.request_id) - 1, &used); /* fits */
	setup.request_id[used] = '\0';
}

/* The civil date of a day count since 1970-01-01, by counting 400-year eras from 0000-03-01. */
static void civil_date(int64_t days, int *year, int *month, int *day)
{
	int64_t shifted = days + 719468;
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	int64_t of_era = shifted - era * 146097;
	int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t shifted_month = (5 * of_year + 2) / 153; /* 0 = March */

	*day = (int)(of_year - (153 * shifted_month + 2) / 5 + 1);
	*month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
	*year = (int)(year_of_era + era * 400 + (*month <= 2));
}

void zlog_utc(int64_t seconds, char out[ZLOG_UTC_SIZE])
{
	int64_t days = seconds / 86400, rest = seconds % 86400;
	int year, month, day;

	if (rest < 0) {
		rest += 86400;
		days--;
	}
	civil_date(days, &year, &month, &day);
	(void)snprintf(out, ZLOG_UTC_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day,
		       (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
}

/* All that stands before the text; its length. */
static size_t write_head(enum zlog_level level, char *line, size_t size)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	struct timespec now = {0};
	char utc[ZLOG_UTC_SIZE];
	int used;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: the clock always exists */
	zlog_utc(now.tv_sec, utc);
	if (setup.json)
		used = snprintf(
			line, size,
			"{\"ts\":\"%s.%06ldZ\",\"level\":\"%s\",\"program\":\"%s\",\"pid\":%d,"
			"\"process\":\"%s\",\"request_id\":\"%s\",\"text\":\"",
			utc, now.tv_nsec / 1000, levels[level], program_invocation_short_name,
			setup.pid, setup.process, setup.request_id);
	else
		used = snprintf(line, size, "%s.%06ldZ %s %s[%d] %s: %s%s%s", utc,
				now.tv_nsec / 1000, levels[level], program_invocation_short_name,
				setup.pid, setup.process, setup.request_id[0] ? "request_id=" : "",
				setup.request_id, setup.request_id[0] ? " " : "");
	return used < 0 ? 0 : (size_t)used < size ? (size_t)used : size - 1;
}

void zlog(enum zlog_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES], text[TEXT_MAX_BYTES];
	const char *tail = setup.json ? "\"}\n" : "\n";
	int saved = errno;
	va_list arguments;
	size_t used, room;
	bool cut;
	int length;

	if (level > setup.highest)
		return;
	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0)
		length = snprintf(text, sizeof(text), "(%s)", format);
	cut = (size_t)length >= sizeof(text);
	room = sizeof(line) - strlen("...") - strlen(tail);
	used = write_head(level, line, room);
	if (!jsonw_escape(zstr_from(text), line, room, &used))
		cut = true;
	used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", cut ? "..." : "", tail);
	/* Nobody is left to be told that the log cannot be written. */
	(void)!ZFD_RETRY(write(STDERR_FILENO, line, used < sizeof(line) ? used : sizeof(line)));
	errno = saved;
}

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

/* All that stands before the text; its length.  Every part is bounded: it is far below a line. */
static size_t write_head(enum zlog_level level, char *line, size_t size)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};
	const char *name = setup.json ? ",\"request_id\":\"" : " request_id=";
	bool has_id = setup.request_id[0] != '\0';
	struct timespec now = {0};
	char utc[ZLOG_UTC_SIZE];

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: the clock always exists */
	zlog_utc((uint64_t)now.tv_sec, utc);
	return (size_t)snprintf(
		line, size,
		setup.json ? "{\"ts\":\"%s.%06ldZ\",\"level\":\"%s\",\"program\":\"%.32s\","
			     "\"pid\":%d,\"process\":\"%.32s\"%s%s%s,\"text\":\""
			   : "%s.%06ldZ %s %.32s[%d] %.32s:%s%s%s ",
		utc, now.tv_nsec / 1000, levels[level], program_invocation_short_name, setup.pid,
		setup.process, has_id ? name : "", setup.request_id,
		has_id && setup.json ? "\"" : "");
}

void zlog(enum zlog_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES], text[TEXT_MAX_BYTES] = "";
	const char *tail = setup.json ? "\"}\n" : "\n";
	size_t room = sizeof(line) - strlen("...") - strlen(tail) - 1, used;
	int saved = errno;
	va_list arguments;
	bool cut;

	if (level > setup.highest)
		return;
	va_start(arguments, format);
	cut = (size_t)vsnprintf(text, sizeof(text), format, arguments) >= sizeof(text);
	va_end(arguments);
	used = write_head(level, line, room);
	cut |= !jsonw_escape(zstr_from(text), line, room, &used);
	used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", cut ? "..." : "", tail);
	(void)!ZFD_RETRY(write(STDERR_FILENO, line, used)); /* nobody is left to be told */
	errno = saved;
}

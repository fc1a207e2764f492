/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of log lines that only unprivileged processes have: JSON, and the
 * id of the request that a worker is at.
 */
#include "common/zlog.h"
#include "common/jsonw.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define REQUEST_ID_MAX 64

/* As in zlog.c: the log is the process's own. */
static struct {
	const char *process;
	enum zlog_level highest;
	bool json;
	pid_t pid;
} setup = {.process = "main", .highest = ZLOG_INFO};

/* id is escaped, or empty. */
static void use(const char *id)
{
	struct zlog_form plain = {
		.highest = setup.highest, .start = "", .middle = " ", .end = "\n"};
	struct zlog_form json = {.highest = setup.highest,
				 .start = "{\"ts\":\"",
				 .middle = "\",\"level\":\"",
				 .end = "\"}\n"};

	if (!setup.json)
		(void)snprintf(plain.rest, sizeof(plain.rest), " %.32s[%d] %.32s:%s%s ",
			       program_invocation_short_name, setup.pid, setup.process,
			       *id ? " request_id=" : "", id); /* fits */
	else
		(void)snprintf(json.rest, sizeof(json.rest),
			       "\",\"program\":\"%.32s\",\"pid\":%d,\"process\":\"%.32s\"%s%s%s,"
			       "\"text\":\"",
			       program_invocation_short_name, setup.pid, setup.process,
			       *id ? ",\"request_id\":\"" : "", id, *id ? "\"" : ""); /* fits */
	zlog_use(setup.json ? &json : &plain);
}

void zlog_setup(const char *process, enum zlog_level highest, bool json)
{
	setup.process = process;
	setup.highest = highest;
	setup.json = json;
	setup.pid = getpid();
	use("");
}

void zlog_request(const char *request_id)
{
	char escaped[6 * REQUEST_ID_MAX + 1]; /* one byte becomes at most six */
	struct zstr id = zstr_from(request_id);
	size_t used = 0;

	if (id.length > REQUEST_ID_MAX)
		id.length = REQUEST_ID_MAX;
	(void)jsonw_escape(id, escaped, sizeof(escaped) - 1, &used); /* fits */
	escaped[used] = '\0';
	use(escaped);
}

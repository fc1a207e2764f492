/* SPDX-License-Identifier: Apache-2.0 */
/* keelson audit verify: runs with the rights of who calls it; needs to read the logs. */
#include "common/zfd.h"
#include "privsep/audit.h"
#include "unpriv/cli/commands.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>

/* The state file of a log: docker.log has docker.state beside it.  An owned descriptor, or -1 with
 * errno. */
static int open_state(const char *log)
{
	char path[PATH_MAX];
	size_t length = strlen(log);

	if (length < 4 || strcmp(log + length - 4, ".log") != 0 || length + 3 > sizeof(path)) {
		errno = ENOENT;
		return -1;
	}
	(void)snprintf(path, sizeof(path), "%.*s.state", (int)length - 4, log); /* it fits */
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int verify(const char *path)
{
	_cleanup_fd_ int log = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_fd_ int state = log < 0 ? -1 : open_state(path);
	bool complete = state >= 0 || errno == ENOENT;
	struct audit_report report = {0};
	struct zerr err = {0};

	if (log < 0 || !complete) {
		(void)printf("%s: %s: %s\n", path,
			     log < 0 ? "not read" : "its state file is not read", strerror(errno));
		return EXIT_FAULT;
	}
	if (audit_verify(log, state, &report, &err) < 0) {
		(void)printf("%s: BROKEN: %s\n", path, err.msg);
		return EXIT_FAULT;
	}
	(void)printf("%s: intact: %" PRIu64 " records, last sequence %" PRIu64 ", last hash %s%s\n",
		     path, report.records, report.last_sequence, report.last_hash,
		     state >= 0 ? "" : "; no state file beside it: a cut end would not be seen");
	return EXIT_SUCCESS;
}

int command_audit(int count, char **words)
{
	int result = EXIT_SUCCESS;

	if (count < 2 || strcmp(words[0], "verify") != 0)
		return EXIT_USAGE;
	for (int i = 1; i < count; i++)
		if (words[i][0] == '-')
			return EXIT_USAGE;
	for (int i = 1; i < count; i++)
		if (verify(words[i]) != EXIT_SUCCESS)
			result = EXIT_FAULT;
	return result;
}

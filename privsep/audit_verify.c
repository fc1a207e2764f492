/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks an audit log from its first line to its last: form, sequence, hash
 * chain, and the end against the state page.  Runs in `keelson audit verify`,
 * without a privilege beyond reading the two files; reads them only.
 */
#include "privsep/audit_line.h"

#include "common/zfd.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

struct check {
	int log;
	uint64_t size;
	uint64_t number; /* of the line being read, from 1 */
	struct audit_mark end;
	struct audit_line line;
	struct zerr *err;
};

/* The keys of a record in their order, and how the value of each begins. */
static const char *const keys[] = {"{\"ts\":\"",
				   ",\"seq\":",
				   ",\"boot\":\"",
				   ",\"proc\":\"",
				   ",\"op\":\"",
				   ",\"rid\":\"",
				   ",\"actor\":{\"unverified\":true,\"project\":\"",
				   ",\"user\":\"",
				   ",\"obj\":{\"type\":\"",
				   ",\"id\":\"",
				   ",\"args\":{",
				   ",\"decision\":\"",
				   ",\"rule\":\"",
				   ",\"errno\":",
				   ",\"dur_us\":",
				   ",\"prev\":\""};

static bool has_form(const struct audit_line *line)
{
	const char *at = line->data;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t left = line->used - (size_t)(at - line->data);
		at = memmem(at, left, keys[i], strlen(keys[i]));
		if (at == NULL || (i == 0 && at != line->data))
			return false;
		at += strlen(keys[i]);
	}
	return true;
}

/* Whether the line is an operation of the log's own. */
static bool is_operation(const struct audit_line *line, const char *operation)
{
	char text[64];
	int length = snprintf(text, sizeof(text), ",\"op\":\"%s\",\"rid\":\"\"", operation);
	return memmem(line->data, line->used, text, (size_t)length) != NULL;
}

/* The lines that the writer may have left in the state in which a record finds them broken. */
static bool names_fragment(const struct check *check, const struct audit_line *line, uint64_t bytes)
{
	char hex[2 * SHA256_SIZE + 1], args[160];
	if (!is_operation(line, "audit.recovered") ||
	    audit_hash_range(check->log, check->end.length, bytes, hex) < 0)
		return false;
	int length = snprintf(args, sizeof(args),
			      ",\"args\":{\"bytes\":%" PRIu64 ",\"sha256\":\"%s\",", bytes, hex);
	return memmem(line->data, line->used, args, (size_t)length) != NULL;
}

/*
 * At a line that does not follow: looks for the record that names exactly the
 * bytes from here to itself, and follows the last good line.  True when it was
 * found; the check then stands behind it.
 */
static bool skip_fragment(struct check *check)
{
	const size_t mark = strlen(AUDIT_FRAGMENT_END);
	uint64_t start = check->end.length, offset = start;
	char before[sizeof(AUDIT_FRAGMENT_END)];
	while (offset < check->size) {
		ssize_t length = audit_line_read(check->log, offset, check->size, &check->line);
		struct audit_mark end = check->end;
		if (length < 0)
			return false;
		if (offset >= start + mark + 1 && length > 0 &&
		    pread(check->log, before, mark, (off_t)(offset - mark)) == (ssize_t)mark &&
		    memcmp(before, AUDIT_FRAGMENT_END, mark) == 0 &&
		    audit_line_follow(&check->line, &end) &&
		    names_fragment(check, &check->line, offset - mark - start)) {
			end.length += offset - start;
			check->end = end;
			return true;
		}
		/* A fragment without a newline for so long can hold anything: go on byte by byte.
		 */
		offset += length > 0 ? (uint64_t)length : sizeof(check->line.data);
	}
	return false;
}

static int check_line(struct check *check)
{
	struct audit_mark before = check->end;
	ssize_t length = audit_line_read(check->log, before.length, check->size, &check->line);
	if (length < 0)
		return zerr_errno(check->err, (int)length, "line %" PRIu64, check->number);
	if (!audit_line_follow(&check->line, &check->end)) {
		if (skip_fragment(check))
			return 0;
		return zerr_set(check->err, -EBADMSG,
				"line %" PRIu64 ": is not record %" PRIu64
				" that follows the line before: altered, dropped, inserted or cut",
				check->number, before.sequence + 1);
	}
	if (!has_form(&check->line))
		return zerr_set(check->err, -EBADMSG, "line %" PRIu64 ": is not a record",
				check->number);
	/* Here nothing broken stands before: a record may not claim so. */
	if (is_operation(&check->line, "audit.recovered") &&
	    memmem(check->line.data, check->line.used, ",\"args\":{\"bytes\":0,", 19) == NULL)
		return zerr_set(check->err, -EBADMSG,
				"line %" PRIu64 ": names a fragment that is not there",
				check->number);
	return 0;
}

/* What the state page says while nobody writes, and the log's size at that moment. */
static int read_state(int log, int state, struct audit_state *page, uint64_t *size)
{
	struct flock range = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	struct stat status;
	if (ZFD_RETRY(fcntl(log, F_SETLKW, &range)) < 0)
		return -errno;
	ssize_t got = state < 0 ? (ssize_t)sizeof(*page)
				: ZFD_RETRY(pread(state, page, sizeof(*page), 0));
	int r = fstat(log, &status) < 0 ? -errno : 0;
	range.l_type = F_UNLCK;
	(void)fcntl(log, F_SETLK, &range); /* cannot fail for a lock that is held */
	if (r == 0 && got != sizeof(*page))
		r = -EBADMSG;
	if (r == 0)
		*size = (uint64_t)status.st_size;
	return r;
}

static int check_end(const struct check *check, const struct audit_state *page)
{
	const struct audit_mark *end = &page->ends[page->current & 1U];
	if (page->magic != AUDIT_STATE_MAGIC)
		return zerr_set(check->err, -EBADMSG, "state: is not a state page");
	if (check->end.sequence != end->sequence || check->end.length != end->length ||
	    memcmp(check->end.hash, end->hash, SHA256_SIZE) != 0)
		return zerr_set(check->err, -EBADMSG,
				"end: the log ends with record %" PRIu64
				", the state says %" PRIu64,
				check->end.sequence, end->sequence);
	return 0;
}

int audit_verify(int log, int state, struct audit_report *report, struct zerr *err)
{
	struct audit_state page = {.magic = 0};
	struct check check = {.log = log, .err = err};
	int r = read_state(log, state, &page, &check.size);
	if (r < 0)
		return zerr_errno(err, r, "audit log or state unreadable");
	while (check.end.length < check.size) {
		check.number++;
		r = check_line(&check);
		if (r < 0)
			return r;
	}
	if (state >= 0)
		r = check_end(&check, &page);
	if (r < 0)
		return r;
	report->records = check.end.sequence;
	report->last_sequence = check.end.sequence;
	hex_encode(check.end.hash, SHA256_SIZE, report->last_hash);
	return 0;
}

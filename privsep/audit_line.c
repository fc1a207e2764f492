/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of the audit log.  The writer's part runs in the helpers for every
 * record: no printf, no allocation, only the values that change.
 */
#include "privsep/audit_line.h"

#include "common/zfd.h"
#include "common/zlog.h"
#include <time.h>
#include <unistd.h>

static void put(struct audit_line *line, const char *text, size_t length)
{
	if (length > sizeof(line->data) - line->used) {
		line->failed = true;
		return;
	}
	memcpy(line->data + line->used, text, length);
	line->used += length;
}

static void put_text(struct audit_line *line, const char *text)
{
	put(line, text, strlen(text));
}

/* before, the escaped value, and the closing quote. */
static void put_string(struct audit_line *line, const char *before, struct zstr value)
{
	put_text(line, before);
	line->failed |= !jsonw_escape(value, line->data, sizeof(line->data), &line->used);
	put_text(line, "\"");
}

static void put_number(struct audit_line *line, const char *before, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);
	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	put_text(line, before);
	put(line, digits + at, sizeof(digits) - at);
}

static void put_time(struct audit_line *line, struct audit *audit)
{
	struct timespec now = {0};
	char fraction[] = ".000000000Z";
	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: the clock always exists */
	if (now.tv_sec != audit->date_second) {
		zlog_utc((uint64_t)now.tv_sec, audit->date);
		audit->date_second = now.tv_sec;
	}
	for (size_t at = 9; at > 0; at--, now.tv_nsec /= 10)
		fraction[at] = (char)('0' + now.tv_nsec % 10);
	put_text(line, "{\"ts\":\"");
	put_text(line, audit->date);
	put_text(line, fraction);
}

void audit_line_make(struct audit_line *line, struct audit *audit, const struct audit_mark *end,
		     const struct audit_entry *entry)
{
	char prev[2 * SHA256_SIZE + 1];
	hex_encode(end->hash, SHA256_SIZE, prev);
	line->used = 0;
	line->failed = false;
	put_time(line, audit);
	put_number(line, "\",\"seq\":", end->sequence + 1);
	put_string(line, ",\"boot\":\"", zstr_from(audit->boot_id));
	put_text(line, ",\"proc\":\"");
	put_text(line, audit->process);
	put_number(line, "[", (uint64_t)getpid());
	put_string(line, "]\",\"op\":\"", zstr_from(entry->operation));
	put_string(line, ",\"rid\":\"", entry->request_id);
	put_string(line, ",\"actor\":{\"unverified\":true,\"project\":\"", entry->project_id);
	put_string(line, ",\"user\":\"", entry->user_id);
	put_string(line, "},\"obj\":{\"type\":\"", zstr_from(entry->object_type));
	put_string(line, ",\"id\":\"", zstr_from(entry->object_id));
	put_text(line, "},\"args\":");
	put_text(line, entry->args[0] != '\0' ? entry->args : "{}");
	put_string(line, ",\"decision\":\"", zstr_from(entry->decision));
	put_string(line, ",\"rule\":\"", zstr_from(entry->rule));
	put_number(line, ",\"errno\":", (uint64_t)entry->error);
	put_number(line, ",\"dur_us\":", entry->duration_us);
	put_string(line, ",\"prev\":\"", zstr_from(prev));
	put_text(line, "}\n");
}

ssize_t audit_line_read(int log, uint64_t offset, uint64_t size, struct audit_line *line)
{
	size_t want = sizeof(line->data);
	if (size - offset < want)
		want = (size_t)(size - offset);
	ssize_t got = ZFD_RETRY(pread(log, line->data, want, (off_t)offset));
	if (got < 0)
		return -errno;
	const char *newline = memchr(line->data, '\n', (size_t)got);
	line->used = newline != NULL ? (size_t)(newline - line->data) + 1 : 0;
	return (ssize_t)line->used;
}

void audit_mark_advance(struct audit_mark *end, const char *line, size_t length)
{
	end->sequence++;
	end->length += length;
	end->last_length = length;
	sha256(line, length, end->hash);
}

bool audit_line_follow(const struct audit_line *line, struct audit_mark *end)
{
	static const char start[] = "{\"ts\":\"2026-12-01T02:32:43.123456789Z"; /* of this length */
	struct audit_line head = {.used = 0}, tail = {.used = 0};
	char hash[2 * SHA256_SIZE + 1];
	hex_encode(end->hash, SHA256_SIZE, hash);
	put_number(&head, "\",\"seq\":", end->sequence + 1);
	put_text(&head, ",\"boot\":\"");
	put_string(&tail, ",\"prev\":\"", zstr_from(hash));
	put_text(&tail, "}\n");
	if (line->used < sizeof(start) - 1 + head.used + tail.used ||
	    memcmp(line->data, start, strlen("{\"ts\":\"")) != 0 ||
	    memcmp(line->data + sizeof(start) - 1, head.data, head.used) != 0 ||
	    memcmp(line->data + line->used - tail.used, tail.data, tail.used) != 0)
		return false;
	audit_mark_advance(end, line->data, line->used);
	return true;
}

int audit_hash_range(int log, uint64_t offset, uint64_t length, char hex[2 * SHA256_SIZE + 1])
{
	uint8_t digest[SHA256_SIZE];
	char part[AUDIT_LINE_MAX];
	struct sha256 hash;
	sha256_init(&hash);
	for (uint64_t end = offset + length; offset < end;) {
		size_t want = end - offset < sizeof(part) ? (size_t)(end - offset) : sizeof(part);
		ssize_t got = ZFD_RETRY(pread(log, part, want, (off_t)offset));
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		sha256_update(&hash, part, (size_t)got);
		offset += (uint64_t)got;
	}
	sha256_final(&hash, digest);
	hex_encode(digest, sizeof(digest), hex);
	return 0;
}

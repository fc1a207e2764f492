/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the audit log, for its writer, its recovery and its verification. */
#pragma once
#include "privsep/audit.h"

struct audit_line {
	char data[AUDIT_LINE_MAX];
	size_t used;
	bool failed; /* it did not fit */
};

/* Fills line with the record that follows end. */
void audit_line_make(struct audit_line *line, struct audit *audit, const struct audit_mark *end,
		     const struct audit_entry *entry);
/* Reads the line at offset of a log of size bytes: its length with the newline; 0 when no whole
 * line is there (or one too long), or a negative errno. */
ssize_t audit_line_read(int log, uint64_t offset, uint64_t size, struct audit_line *line);
/* Whether line has the form of a record and follows end (sequence number and hash); if so, moves
 * end behind it. */
bool audit_line_follow(const struct audit_line *line, struct audit_mark *end);
/* Moves end behind a line that was checked or made by us. */
void audit_mark_advance(struct audit_mark *end, const char *line, size_t length);
/* The hash of length bytes from offset, in hexadecimal.  0 or a negative errno. */
int audit_hash_range(int log, uint64_t offset, uint64_t length, char hex[2 * SHA256_SIZE + 1]);

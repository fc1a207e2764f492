/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines to stderr (the journal, or the file the launcher opened there):
 *     2026-12-01T02:32:43.123456Z warning keelson-compute[123] worker: text
 * or, for the broker with json on, one JSON object a line.  Whole line in one
 * write(2).  Values are escaped: a container's name can never forge a line.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum zlog_level { ZLOG_ERROR, ZLOG_WARNING, ZLOG_INFO, ZLOG_DEBUG };

/* Sets the process name shown ("worker", "dispatcher", …) and the highest level written.  Call once
 * in main, again after fork: zlog_start in the launcher and the helpers, zlog_setup in the broker's
 * processes (borrows process). */
void zlog_start(const char *process, enum zlog_level highest);
void zlog_setup(const char *process, enum zlog_level highest, bool json);

/* Request id shown in the following lines as request_id=…; NULL or "" for none. Copied (cut at
 * 64).  After zlog_setup only. */
void zlog_request(const char *request_id);

void zlog(enum zlog_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define zlog_error(...)	  zlog(ZLOG_ERROR, __VA_ARGS__)
#define zlog_warning(...) zlog(ZLOG_WARNING, __VA_ARGS__)
#define zlog_info(...)	  zlog(ZLOG_INFO, __VA_ARGS__)
#define zlog_debug(...)	  zlog(ZLOG_DEBUG, __VA_ARGS__)

/* What stands around the time, the level and the text of a line; for zlog_setup. */
struct zlog_form {
	enum zlog_level highest;
	const char *start, *middle, *end; /* borrowed */
	char rest[640];			  /* between level and text */
};
void zlog_use(const struct zlog_form *form);

/* The second as "2026-12-01T02:32:43", terminated; seconds since 1970, up to the year 9999.
 * Reads no time zone. */
#define ZLOG_UTC_SIZE 20
void zlog_utc(uint64_t seconds, char out[ZLOG_UTC_SIZE]);

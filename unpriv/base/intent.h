/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intents: one file a cast in <state>/intents, written and synced before the
 * message is acknowledged, appended before each outside effect, removed when
 * the outcome is in the store.
 *
 * Name: <16 hex: order of arrival>-<unique id, [0-9a-f]{1,32}>.  Text, one JSON object a line: the
 * first {"intent":1,"record":{…},"message":{…sanitised message: no auth_token, auth_token_info,
 * password, trust_id, trace_info…}}, then one {"effect":"…","detail":"…"} a line.
 * A torn last line (crash while appending) is ignored, and cut off by the next append.
 * A name of any other form is refused with -EINVAL before it touches the file system.
 */
#pragma once
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>

#define INTENT_NAME_SIZE 64
#define INTENT_LINE_MAX                                                                            \
	((size_t)64 << 20) /* of the message; more is no message that was classified */
#define INTENT_EFFECT_MAX 32
#define INTENT_DETAIL_MAX 512

struct intent_log {
	int directory; /* owned descriptor of <state>/intents */
};

int intent_log_open(struct intent_log *log, const char *state_directory, struct zerr *err);
bool intent_name_valid(const char *name);
/* Makes a name of the 16 hex digits of the order and the message's unique id; an id that is not
 * plain lower-case hex, or none, becomes "0".  0 or -EINVAL (order). */
int intent_name(const char *order, const char *unique_id, char name[INTENT_NAME_SIZE]);
/* Writes name atomically (temporary file, fdatasync, rename, folder sync).  line has no newline. 0,
 * -EEXIST or another negative errno. */
int intent_create(struct intent_log *log, const char *name, const char *line, size_t length);
/* Appends one effect line and syncs.  effect: [a-z0-9_]{1,32}; detail: at most 512 bytes, NULL =
 * "". 0 or a negative errno: then the effect must not be made. */
int intent_effect(struct intent_log *log, const char *name, const char *effect, const char *detail);
/* True when the file has an effect line of that name; detail (if not NULL) gets its last detail. */
bool intent_has(struct intent_log *log, const char *name, const char *effect, char *detail,
		size_t size);
/* Reads the first line (the message), without its newline, into an owned, NUL-terminated buffer.
 * 0, -EBADMSG when it has no end, or another negative errno. */
int intent_read(struct intent_log *log, const char *name, char **line, size_t *length);
/* Removes it and syncs the folder lazily (with the next create: what comes back after a crash is
 * found done).  0 or a negative errno; -ENOENT is 0. */
int intent_remove(struct intent_log *log, const char *name);
/* Calls each for every intent, in order of arrival, until one returns a negative value, which it
 * returns; removes leftover temporary files.  Only at start-up, before anything writes. */
int intent_each(struct intent_log *log, int (*each)(void *context, const char *name),
		void *context);
void intent_log_close(struct intent_log *log);

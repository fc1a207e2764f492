/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intents: one file a cast in <state>/intents, written and synced before the
 * message is acknowledged, appended before each outside effect, removed when
 * the outcome is in the store.
 *
 * Name: <16 hex: order of arrival>-<unique id, [0-9a-f]{1,32}>.  Text, one JSON object a line:
 * the first {"intent":1,"record":{…},"message":{…sanitised message: no auth_token, auth_token_info,
 * password, trust_id, trace_info…}}, then one {"effect":"…","detail":"…"} a line.
 * A torn last line (crash while appending) is ignored.
 */
#pragma once
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>

struct intent_log {
	int directory; /* owned descriptor of <state>/intents */
};

int intent_log_open(struct intent_log *log, const char *state_directory, struct zerr *err);
/* Writes name atomically (temporary file, fdatasync, rename, folder sync).  0 or a negative errno. */
int intent_create(struct intent_log *log, const char *name, const char *line, size_t length);
/* Appends one effect line and syncs.  0 or a negative errno: then the effect must not be made. */
int intent_effect(struct intent_log *log, const char *name, const char *effect, const char *detail);
/* True when the file has an effect line of that name; detail (if not NULL) gets its last detail. */
bool intent_has(struct intent_log *log, const char *name, const char *effect, char *detail, size_t size);
/* Reads the first line (the message) into an owned, NUL-terminated buffer. */
int intent_read(struct intent_log *log, const char *name, char **line, size_t *length);
/* Removes it and syncs the folder lazily.  0 or a negative errno; -ENOENT is 0. */
int intent_remove(struct intent_log *log, const char *name);
/* Calls each for every intent, in order of arrival; removes leftover temporary files. */
int intent_each(struct intent_log *log, int (*each)(void *context, const char *name), void *context);
void intent_log_close(struct intent_log *log);

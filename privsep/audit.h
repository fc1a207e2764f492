/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log of a domain: one JSON object a line, fixed key order, each line
 * holding the SHA-256 of the line before.  Every server of the domain appends to
 * the same file under a lock; a state page (mapped file) holds the last sequence
 * number, the last line's hash and the file's length, so that a cut tail is seen.
 *
 * {"ts":"2026-12-01T02:32:43.123456789Z","seq":1,"boot":"<boot id>","proc":"docker[123]",
 *  "op":"docker.container_start","rid":"req-…","actor":{"unverified":true,"project":"…","user":"…"},
 *  "obj":{"type":"container","id":"…"},"args":{…},"decision":"allow|deny|error","rule":"",
 *  "errno":0,"dur_us":0,"prev":"<64 hex>"}
 */
#pragma once
#include "common/jsonw.h"
#include "common/sha256.h"
#include "common/zerr.h"
#include <stdbool.h>
#include <stdint.h>

#define AUDIT_LINE_MAX 4096
#define AUDIT_OBJECT_MAX 520

struct audit_entry {
	const char *operation;   /* "docker.container_start" */
	struct zstr request_id, project_id, user_id;
	const char *object_type; /* "container", "image", "" */
	char object_id[AUDIT_OBJECT_MAX];
	const char *decision;    /* "allow", "deny", "error" */
	const char *rule;        /* "" when allowed */
	int error;               /* errno or 0 */
	uint64_t duration_us;
	char args[1024];         /* a JSON object text made with jsonw, or empty for {} */
};

struct audit {
	int fd;                    /* append-only file */
	struct audit_state *state; /* mapped, shared by the servers of the domain */
	const char *process;       /* "docker" */
	char boot_id[40];
	bool sync_always;
};

/* Launcher: opens (creates 0600) <directory>/<name>.log and maps <name>.state; checks that the log's end is
 * the one that the state names, takes over whole lines that a crash left beyond it and records a torn
 * fragment with an "audit.recovered" line.  0 or a negative errno with *err. */
int audit_open(struct audit *audit, int directory, const char *name, bool sync_always, struct zerr *err);
/* Appends one record.  0, or a negative errno: then the request must be refused. */
int audit_write(struct audit *audit, const struct audit_entry *entry);
/* fdatasync if something was written since the last one.  0 or a negative errno. */
int audit_sync(struct audit *audit);
void audit_close(struct audit *audit);

struct audit_report {
	uint64_t records;
	uint64_t last_sequence;
	char last_hash[2 * SHA256_SIZE + 1];
};

/* Reads a log from its beginning and checks every line's form, sequence and hash, and its end against
 * state (a descriptor, or -1 when there is none).  0, or a negative errno with *err naming line and fault. */
int audit_verify(int log, int state, struct audit_report *report, struct zerr *err);

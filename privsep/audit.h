/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log of a domain: one JSON object a line, fixed key order, each line
 * holding the SHA-256 of the line before, its newline included (the first: 64
 * zeros).  Every server of the domain appends to the same file under a lock; a
 * state page (mapped file) holds where the log ends, so that a cut tail is seen.
 *
 * {"ts":"2026-12-01T02:32:43.123456789Z","seq":1,"boot":"<boot id>","proc":"docker[123]",
 *  "op":"docker.container_start","rid":"req-…",
 *  "actor":{"unverified":true,"project":"…","user":"…"},
 *  "obj":{"type":"container","id":"…"},"args":{…},"decision":"allow|deny|error","rule":"",
 *  "errno":0,"dur_us":0,"prev":"<64 hex>"}
 *
 * Two operations are the log's own:
 *
 * audit.recovered: a crash or a full disk left the log's end and the page apart.  args: "bytes" and
 * "sha256" of the fragment that stands before this line (ended by "!" and a newline), "taken" whole
 * lines that the page did not know, "lost" lines that it knew and the disk never got.
 *
 *  audit.denials    args "suppressed": refusals that came too fast for a record each.
 */
#pragma once
#include "common/jsonw.h"
#include "common/sha256.h"
#include "common/zerr.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define AUDIT_LINE_MAX	   4096
#define AUDIT_FILE_MAX	   (UINT64_C(1) << 30) /* RLIMIT_FSIZE of whoever appends */
#define AUDIT_OBJECT_MAX   520
#define AUDIT_BOOT_ID_SIZE 37
#define AUDIT_DATE_SIZE	   20

struct audit_entry {
	const char *operation; /* "docker.container_start" */
	struct zstr request_id, project_id, user_id;
	const char *object_type; /* "container", "image", "" */
	char object_id[AUDIT_OBJECT_MAX];
	const char *decision; /* "allow", "deny", "error" */
	const char *rule;     /* "" when allowed */
	int error;	      /* errno or 0 */
	uint64_t duration_us;
	char args[2048]; /* a JSON object text made with jsonw, or empty for {} */
};

/* A place in the log: behind the line with this sequence number. */
struct audit_mark {
	uint64_t sequence;
	uint64_t length;      /* bytes of the log up to here */
	uint64_t last_length; /* bytes of that line */
	uint8_t hash[SHA256_SIZE];
};

/* The state page.  The log's end is ends[current]: the other one is filled first, so that a writer
 * that is killed leaves a whole one. */
struct audit_state {
	uint32_t magic;
	uint32_t unfinished; /* bytes may stand beyond the end: their writer has not come back */
	uint32_t current;
	struct audit_mark ends[2];
	struct audit_mark synced; /* what the disk certainly has */
	uint64_t suppressed;	  /* refusals without a record yet */
	uint64_t refusals_due_ms; /* the rate limit of refusals (monotonic) */
	char boot_id[AUDIT_BOOT_ID_SIZE];
};
#define AUDIT_STATE_MAGIC  0x4b415331U
#define AUDIT_FRAGMENT_END "!\n"

struct audit {
	int fd;			   /* append-only file */
	struct audit_state *state; /* mapped, shared by the servers of the domain */
	const char *process;	   /* "docker" */
	char boot_id[AUDIT_BOOT_ID_SIZE];
	bool sync_always;
	int64_t date_second; /* the second that date is the text of */
	char date[AUDIT_DATE_SIZE];
};

/* Launcher: opens (creates 0600) <directory>/<name>.log and maps <name>.state; checks that the
 * log's end is the one that the state names, takes over whole lines that a crash left beyond it and
 * records a torn fragment with an "audit.recovered" line.  A log that has less than the state says
 * was synced, or another last line, is refused.  name is borrowed.  0 or a negative errno with
 * *err. */
int audit_open(struct audit *audit, int directory, const char *name, bool sync_always,
	       struct zerr *err);
/* Appends one record; refusals beyond a rate are only counted.  0, or a negative errno: then the
 * request must be refused. */
int audit_write(struct audit *audit, const struct audit_entry *entry);
/* fdatasync if something was written since the last one; records counted refusals.  0 or a negative
 * errno. */
int audit_sync(struct audit *audit);
void audit_close(struct audit *audit);

struct audit_report {
	uint64_t records;
	uint64_t last_sequence;
	char last_hash[2 * SHA256_SIZE + 1];
};

/* Reads a log from its beginning and checks every line's form, sequence and hash, and its end
 * against state (a descriptor, or -1 when there is none).  0, or a negative errno with *err naming
 * line and fault. */
int audit_verify(int log, int state, struct audit_report *report, struct zerr *err);

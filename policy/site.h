/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site policy: /etc/keelson/policy.conf, the only file that the trusted
 * side reads.  "key = value" lines, '#' begins a comment; an unknown key, a
 * repeated key or a bad value is an error that names file and line.  The file
 * must be owned by root, regular, and not writable by group or others; so must
 * every folder above it, unless it is sticky (policy.conf(5)).  A missing file
 * is an error.
 */
#pragma once
#include "common/zbuf.h"
#include "common/zerr.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SITE_LIST_MAX  32
#define SITE_NAME_SIZE 33
#define SITE_NOBODY    UINT32_MAX /* the number of an account that is not known */

struct site_list {
	char text[1024]; /* the items, each terminated */
	const char *items[SITE_LIST_MAX]; /* in text */
	size_t count;
	bool any; /* the list was "*" */
};

/* Each field is the key of its name, unless another is named; 0 is no ceiling. */
struct site_policy {
	/* docker domain */
	char docker_socket[108];     /* absolute; default /var/run/docker.sock */
	uint64_t memory_max_bytes;   /* memory_max: bytes, with K, M, G */
	uint32_t cpu_shares_max;     /* cpu_max: cpus, e.g. 16 or 0.5, here as shares */
	uint32_t pids_max;           /* default 4096 */
	uint32_t disk_max_gib;       /* disk_max */
	struct site_list runtimes;   /* default "runc" */
	struct site_list registries; /* default "*" */
	bool privileged;             /* default no */
	bool no_new_privileges;      /* default no: containers get the security option */
	bool adopt_unlabelled;       /* default no: take over zun-<uuid> without our label */
	/* audit */
	char audit_directory[256]; /* default /var/lib/keelson/audit */
	bool audit_sync_always;    /* audit_sync = always | second (default) */
	/* Accounts: numbers, or names that site_policy_load looks up in /etc/passwd and /etc/group.
	 * The group of a user given by its number has the same number.  Neither user may be root,
	 * nor may they be one. */
	char broker_user[SITE_NAME_SIZE];  /* default keelson */
	char docker_user[SITE_NAME_SIZE];  /* default keelson-docker */
	char docker_group[SITE_NAME_SIZE]; /* default "": the group of the engine's socket */
	uid_t broker_uid, docker_uid;
	gid_t broker_gid, docker_gid, docker_socket_gid;
	char state_directory[256]; /* default /var/lib/keelson; the broker has <dir>/<service> */
	char run_directory[108];   /* default /run/keelson */
	unsigned landlock_min_abi; /* default 1; 0 = best effort */
};

/* Reads and checks path.  0 or a negative errno with *err ("policy.conf:12: memory_max: …"). */
int site_policy_load(const char *path, struct site_policy *policy, struct zerr *err);
/* The parser alone, for tests and fuzzing: text of length bytes, name for messages.  Looks no name
 * up: the numbers of accounts given by name, or not at all, are SITE_NOBODY. */
int site_policy_parse(const char *name, const char *text, size_t length, struct site_policy *policy,
		      struct zerr *err);
/* Absolute, without ".", "..", "//" and a "/" at its end. */
bool site_path_valid(const char *path);
bool site_list_has(const struct site_list *list, struct zstr item);

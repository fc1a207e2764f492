/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site policy: /etc/keelson/policy.conf, the only file that the trusted
 * side reads.  "key = value" lines, '#' comments; an unknown key, a repeated
 * key or a bad value is an error that names file and line.  The file must be
 * owned by root, regular, and not writable by group or others; the same holds
 * for every folder above it (docs/policy.conf.5).  A missing file is an error.
 */
#pragma once
#include "common/zbuf.h"
#include "common/zerr.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SITE_LIST_MAX 32
#define SITE_NOBODY   UINT32_MAX /* the id of an account that is not known */

struct site_list {
	char text[1024]; /* the items, each terminated */
	const char *items[SITE_LIST_MAX];
	size_t count;
	bool any; /* the list was "*" */
};

struct site_policy {
	/* docker domain */
	char docker_socket[108];    /* docker_socket, absolute; default /var/run/docker.sock */
	uint64_t memory_max_bytes;  /* memory_max (bytes; K, M, G suffix), 0 = no ceiling */
	uint32_t cpu_shares_max;    /* cpu_max (cpus, e.g. 16 or 0.5), as shares; 0 = no ceiling */
	uint32_t pids_max;          /* pids_max, 0 = no ceiling; default 4096 */
	uint32_t disk_max_gib;      /* disk_max (GiB), 0 = no ceiling */
	struct site_list runtimes;  /* runtimes, default "runc" */
	struct site_list registries; /* registries, default "*" */
	bool privileged;            /* privileged, default no */
	bool no_new_privileges;     /* no_new_privileges, default no: containers get the security option */
	bool adopt_unlabelled;      /* adopt_unlabelled, default no: take over zun-<uuid> containers without our label */
	/* audit */
	char audit_directory[256];  /* audit_directory, default /var/lib/keelson/audit */
	bool audit_sync_always;     /* audit_sync = always | second (default) */
	/* accounts: names looked up in /etc/passwd and /etc/group by site_policy_load, or numbers (the
	 * group of a user given by its number has the same number).  Neither user may be root, nor may
	 * they be one. */
	char broker_user[33];       /* broker_user, default keelson */
	char docker_user[33];       /* docker_user, default keelson-docker */
	char docker_group[33];      /* docker_group, "" when not given */
	uid_t broker_uid;
	gid_t broker_gid;
	uid_t docker_uid;
	gid_t docker_gid;
	gid_t docker_socket_gid;    /* docker_group, default the group of the socket; SITE_NOBODY when neither
				     * is known: no socket yet */
	bool docker_group_set;
	char state_directory[256];  /* state_directory, default /var/lib/keelson: the broker's own, <dir>/<service> */
	char run_directory[108];    /* run_directory, default /run/keelson */
	unsigned landlock_min_abi;  /* landlock_min_abi, default 1; 0 = best effort */
};

/* Reads and checks path.  0 or a negative errno with *err ("policy.conf:12: memory_max: expected …"). */
int site_policy_load(const char *path, struct site_policy *policy, struct zerr *err);
/* The parser alone, for tests and fuzzing: text of length bytes, name for messages.  Looks no name up:
 * the ids of accounts given by name, or not at all, are SITE_NOBODY. */
int site_policy_parse(const char *name, const char *text, size_t length, struct site_policy *policy,
		      struct zerr *err);
/* Absolute, without ".", "..", "//" and a "/" at its end. */
bool site_path_valid(const char *path);
bool site_list_has(const struct site_list *list, struct zstr item);

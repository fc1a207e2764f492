/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store seam: what the manager asks of the database, whichever it is.
 * Every function is one transaction (row lock, changed columns only, updated_at),
 * run again up to 5 times after 40001/40P01 and, on a new connection, after a
 * lost one; running it again after its COMMIT took effect changes nothing.
 * 0 or a negative errno with *err; -ENOENT when the row is not there, -EAGAIN when
 * the store cannot be reached in time: then it is not known what was stored.
 * Times are naive UTC with microseconds.  JSON columns are read and written as text.
 */
#pragma once
#include "common/text.h"
#include "common/zerr.h"
#include "unpriv/base/config.h"
#include "unpriv/store/container.h"
#include <stdbool.h>
#include <stdint.h>

struct store; /* an implementation's connection */

struct compute_node {
	char uuid[UUID_TEXT_SIZE], rp_uuid[UUID_TEXT_SIZE];
	char hostname[256];
	char architecture[33], os_type[33], os[65], kernel_version[129];
	char *labels, *runtimes, *numa_topology, *pci_stats; /* JSON text, owned */
	int32_t mem_total, mem_free, mem_available, mem_used;
	int32_t total_containers, running_containers, paused_containers, stopped_containers;
	int32_t cpus, disk_total, disk_used;
	double cpu_used;
	bool disk_quota_supported, enable_cpu_pinning;
};

/* What the scheduler allows on this node; negative = no limit. */
struct claim_limits {
	double memory_mib, cpu, disk_gib;
};

struct store_actor {
	const char *request_id, *project_id, *user_id; /* any may be NULL */
};

/* A row of container_actions: by container, request id and name; with fallback, when there is none,
 * the newest open one of that name (K13). */
struct store_action {
	const char *uuid, *request_id, *name; /* request_id may be NULL */
	bool fallback;
};

/* Which rows of a node: host = host, uuid > after ("" = all), and unless all is set only those that
 * recovery must look at: transitional status or task_state, or an action open for longer than
 * action_timeout. */
struct store_scan {
	const char *host, *after;
	bool all;
};

struct store_ops {
	int (*open)(const struct config *config, struct store **store, struct zerr *err);
	void (*close)(struct store *store);

	/* Containers.  get fills an owned *row (container_clear). */
	int (*container_get)(struct store *store, const char *uuid, struct container *row,
			     struct zerr *err);
	/* Writes the columns in row->changed (bits of enum container_column), clears the mask on
	 * success and sets row->updated_at.  expect_task_state (F13): NULL = write all; a value =
	 * task_state is written only while the column still has it; "" = nothing is written and
	 * -EBUSY returned while an action is under way (task_state not NULL). */
	int (*container_save)(struct store *store, struct container *row,
			      const char *expect_task_state, struct zerr *err);
	/* Deletes the row and gives its usage back to the node that claimed it, in one transaction.
	 * -EBUSY while volume mappings refer to it, unless drop_volumes deletes their rows, too. */
	int (*container_destroy)(struct store *store, const char *uuid, bool drop_volumes,
				 struct zerr *err);
	/* Calls each, in the order of uuids (by bytes), for containers and capsules of the scan;
	 * each ends it by a value other than 0, which is returned. */
	int (*container_each)(struct store *store, const struct store_scan *scan,
			      int (*each)(void *context, const char *uuid), void *context,
			      struct zerr *err);

	/* Actions and events.  No such action: 0 and a warning in the log.  An event of that
	 * name that is still open is started only once. */
	int (*event_start)(struct store *store, const struct store_action *action,
			   const char *event, struct zerr *err);
	/* error: NULL = Success, else Error with this as traceback. */
	int (*event_finish)(struct store *store, const struct store_action *action,
			    const char *event, const char *error, struct zerr *err);
	/* Also finishes what is open of its events. */
	int (*action_finish)(struct store *store, const struct store_action *action, bool failed,
			     struct zerr *err);
	/* Finishes with Error what is open for longer than seconds: actions that the agent
	 * finishes, and their events (K7).  Returns how many actions. */
	int (*actions_expire)(struct store *store, const char *uuid, int64_t seconds,
			      struct zerr *err);

	/* Claim under the row lock of compute_node, by the row's own memory, cpu and disk: -ENOSPC
	 * with the contract's text in *err when short; else container.host = host and the usage
	 * grows in the same transaction.  A container that already has host = host is not counted
	 * twice. */
	int (*claim)(struct store *store, const char *host, const char *uuid,
		     const struct claim_limits *limits, struct zerr *err);
	/* Takes the claim back: container.host = NULL and the usage shrinks (never below 0).
	 * Nothing for a row that is gone or that another host has. */
	int (*release)(struct store *store, const char *host, const char *uuid, struct zerr *err);

	int (*heartbeat)(struct store *store, const char *host, const char *zone, bool first,
			 struct zerr *err);
	/* Inserts or updates the node's row: resources from *node, usage recomputed from the rows
	 * of the host. */
	int (*compute_node_update)(struct store *store, struct compute_node *node,
				   struct zerr *err);
};

#define STORE_TIME_SIZE 27
/* Now, as the columns have it: "2026-12-01 02:32:43.123456", UTC. */
void store_now(char out[STORE_TIME_SIZE]);

extern const struct store_ops store_postgresql;
/* NULL when the configuration names none that was built. */
const struct store_ops *store_select(const struct config *config);

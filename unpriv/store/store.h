/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store seam: what the manager asks of the database, whichever it is.
 * Every function is one transaction (row lock, changed columns only, updated_at)
 * and retries 40001/40P01 up to 5 times; a lost connection is opened again
 * within [database] limits.  0 or a negative errno with *err; -ENOENT when the
 * row is not there; -EAGAIN when the store cannot be reached in time.
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

/* What a container asks of the node, and the limits the scheduler sent (negative = no limit). */
struct claim_request {
	int64_t memory_mib;
	double cpu;
	int64_t disk_gib;
	double memory_limit, cpu_limit, disk_limit;
};

struct store_actor {
	const char *request_id, *project_id, *user_id; /* any may be NULL */
};

struct store_ops {
	int (*open)(const struct config *config, struct store **store, struct zerr *err);
	void (*close)(struct store *store);

	/* Containers.  get fills an owned *row (container_clear). */
	int (*container_get)(struct store *store, const char *uuid, struct container *row, struct zerr *err);
	/* Writes the columns in row->changed (bits of enum container_column), clears the mask on success.
	 * expect_task_state: if not NULL the UPDATE of task_state to NULL happens only while the column still
	 * has this value (F13). */
	int (*container_save)(struct store *store, struct container *row, const char *expect_task_state,
			      struct zerr *err);
	int (*container_destroy)(struct store *store, const char *uuid, struct zerr *err);
	/* Calls each for the uuid of every row with host = host that recovery must look at (transitional
	 * status or task_state, or all when all is true). */
	int (*container_each)(struct store *store, const char *host, bool all,
			      int (*each)(void *context, const char *uuid), void *context, struct zerr *err);

	/* Actions and events.  Action: by (container, request id, name), else (fallback) the newest open one of
	 * that name.  Not there: 0 and a warning in the log. */
	int (*event_start)(struct store *store, const char *uuid, const struct store_actor *actor,
			   const char *event, bool fallback, struct zerr *err);
	int (*event_finish)(struct store *store, const char *uuid, const struct store_actor *actor,
			    const char *event, bool fallback, const char *error, struct zerr *err);
	int (*action_finish)(struct store *store, const char *uuid, const struct store_actor *actor,
			     const char *action, bool fallback, bool failed, struct zerr *err);

	/* Claim under the row lock of compute_node: -ENOSPC with the contract's text in *err when short;
	 * else container.host = host and the usage grow in the same transaction.  A container that already has
	 * host = host is not counted twice. */
	int (*claim)(struct store *store, const char *host, const char *uuid, const struct claim_request *request,
		     struct zerr *err);
	/* Gives the usage back (never below 0); with unset_host also container.host = NULL. */
	int (*release)(struct store *store, const char *host, const char *uuid, const struct claim_request *request,
		       bool unset_host, struct zerr *err);

	int (*heartbeat)(struct store *store, const char *host, const char *zone, bool first, struct zerr *err);
	/* Inserts or updates the node's row: resources from *node, usage recomputed from the rows of the host. */
	int (*compute_node_update)(struct store *store, struct compute_node *node, struct zerr *err);
};

extern const struct store_ops store_postgresql;
/* NULL when the configuration names none that was built. */
const struct store_ops *store_select(const struct config *config);

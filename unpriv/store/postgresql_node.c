/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims, usage and the node's own rows on PostgreSQL (timers-and-recovery.md
 * §4, §5).  A claim is one transaction under the row lock of compute_node, so a
 * worker that dies in it leaves nothing.  Runs in workers; no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/store/amount.h"
#include "unpriv/store/postgresql.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NUMBER_SIZE 32

struct pg_amounts pg_amounts(const PGresult *result, int row, int column, const char **bad)
{
	struct pg_amounts amounts = {0};
	const char *disk = pg_text(result, row, column + 2);

	if (amount_memory(pg_text(result, row, column), &amounts.memory_mib) < 0 && bad)
		*bad = "memory";
	if (amount_cpu(pg_text(result, row, column + 1), &amounts.cpu) < 0 && bad)
		*bad = "cpu";
	amounts.disk_gib = disk ? strtol(disk, NULL, 10) : 0; /* an integer column */
	if (amounts.disk_gib < 0)
		amounts.disk_gib = 0;
	return amounts;
}

int pg_usage(struct store *store, const char *host, const struct pg_amounts *amounts, int sign,
	     struct zerr *err)
{
	char memory[NUMBER_SIZE], cpu[NUMBER_SIZE], disk[NUMBER_SIZE];
	struct pg_values values = {.text = {host, memory, cpu, disk, sign > 0 ? "1" : "-1"},
				   .count = 5};

	(void)snprintf(memory, sizeof(memory), "%" PRId64, sign * amounts->memory_mib);
	(void)snprintf(cpu, sizeof(cpu), "%.17g", sign * amounts->cpu);
	(void)snprintf(disk, sizeof(disk), "%" PRId64, sign * amounts->disk_gib);
	return pg_run(store, PG_CLAIM_USAGE, &values, NULL, err);
}

struct claim_context {
	const char *host, *uuid;
	const struct claim_limits *limits;
};

/* Appends the contract's sentence for one resource that is short. */
static void claim_test(char *reason, size_t size, const char *what[2], const double amounts[3])
{
	double requested = amounts[0], limit = amounts[1], used = amounts[2];
	size_t at = strlen(reason);

	if (limit < 0 || requested <= limit - used)
		return;
	(void)snprintf(reason + at, size - at, "%sFree %s %.2f %s < requested %.15g %s",
		       at ? "; " : "", what[0], limit - used, what[1], requested,
		       what[1]); /* cut when it does not fit */
}

static double used_of(const PGresult *node, int column)
{
	return PQntuples(node) > 0 ? strtod(PQgetvalue(node, 0, column), NULL) : 0;
}

static int claim_fits(const struct claim_context *claim, const PGresult *node,
		      const struct pg_amounts *amounts, struct zerr *err)
{
	const struct claim_limits *limits = claim->limits;
	char reason[200] = "";

	claim_test(reason, sizeof(reason), (const char *[]){"memory", "MB"},
		   (const double[]){(double)amounts->memory_mib, limits->memory_mib,
				    used_of(node, 0)});
	claim_test(reason, sizeof(reason), (const char *[]){"vcpu", "VCPU"},
		   (const double[]){amounts->cpu, limits->cpu, used_of(node, 1)});
	claim_test(reason, sizeof(reason), (const char *[]){"disk", "GB"},
		   (const double[]){(double)amounts->disk_gib, limits->disk_gib, used_of(node, 2)});
	if (!reason[0])
		return 0;
	return zerr_set(err, -ENOSPC, "Insufficient compute resources: %s.", reason);
}

static int host_set(struct store *store, const char *uuid, const char *host, struct zerr *err)
{
	char stamp[STORE_TIME_SIZE];
	struct pg_values values = {.text = {uuid, host, stamp}, .count = 3};

	store_now(stamp);
	return pg_run(store, PG_CLAIM_HOST, &values, NULL, err);
}

/* Locks node and container, in this order everywhere.  *node may have no row: before the first
 * inventory. */
static int claim_lock(struct store *store, const struct claim_context *claim, PGresult **node,
		      PGresult **row, struct zerr *err)
{
	struct pg_values host = {.text = {claim->host}, .count = 1};
	struct pg_values uuid = {.text = {claim->uuid}, .count = 1};
	int result = pg_run(store, PG_CLAIM_LOCK, &host, node, err);

	return result < 0 ? result : pg_run(store, PG_CLAIM_ROW, &uuid, row, err);
}

static int claim_body(struct store *store, void *context, struct zerr *err)
{
	const struct claim_context *claim = context;
	_cleanup_result_ PGresult *node = NULL;
	_cleanup_result_ PGresult *row = NULL;
	struct pg_amounts amounts;
	const char *bad = NULL;
	const char *host;
	int result = claim_lock(store, claim, &node, &row, err);

	if (result < 0)
		return result;
	if (PQntuples(row) == 0)
		return zerr_set(err, -ENOENT, "container %s has no row", claim->uuid);
	host = pg_text(row, 0, 0);
	if (host && strcmp(host, claim->host) == 0)
		return 0; /* counted already */
	if (host)
		return zerr_set(err, -EBUSY, "container %s is on host %s", claim->uuid, host);
	amounts = pg_amounts(row, 0, 1, &bad);
	if (bad)
		return zerr_set(err, -EINVAL, "its %s is not a valid amount", bad);
	result = claim_fits(claim, node, &amounts, err);
	if (result == 0)
		result = host_set(store, claim->uuid, claim->host, err);
	if (result == 0)
		result = pg_usage(store, claim->host, &amounts, 1, err);
	return result;
}

int pg_claim(struct store *store, const char *host, const char *uuid,
	     const struct claim_limits *limits, struct zerr *err)
{
	struct claim_context claim = {.host = host, .uuid = uuid, .limits = limits};

	return pg_transact(store, claim_body, &claim, err);
}

static int release_body(struct store *store, void *context, struct zerr *err)
{
	const struct claim_context *claim = context;
	_cleanup_result_ PGresult *node = NULL;
	_cleanup_result_ PGresult *row = NULL;
	struct pg_amounts amounts;
	int result = claim_lock(store, claim, &node, &row, err);

	if (result < 0)
		return result;
	if (PQntuples(row) == 0 || strcmp(PQgetvalue(row, 0, 0), claim->host) != 0)
		return 0; /* not, or no longer, claimed by this host */
	amounts = pg_amounts(row, 0, 1, NULL);
	result = host_set(store, claim->uuid, NULL, err);
	return result < 0 ? result : pg_usage(store, claim->host, &amounts, -1, err);
}

int pg_release(struct store *store, const char *host, const char *uuid, struct zerr *err)
{
	struct claim_context claim = {.host = host, .uuid = uuid};

	return pg_transact(store, release_body, &claim, err);
}

struct heartbeat_context {
	const char *host, *zone;
	bool first;
};

/* A beat that is counted twice after a lost COMMIT harms nobody: readers look at last_seen_up. */
static int heartbeat_body(struct store *store, void *context, struct zerr *err)
{
	const struct heartbeat_context *beat = context;
	struct pg_values row = {.text = {beat->host, beat->zone}, .count = 2};
	struct pg_values values = {.text = {beat->host, beat->zone, beat->first ? "true" : "false"},
				   .count = 3};
	_cleanup_result_ PGresult *updated = NULL;
	int result = pg_run(store, PG_HEARTBEAT, &values, &updated, err);

	if (result < 0 || strcmp(PQcmdTuples(updated), "0") != 0)
		return result;
	result = pg_run(store, PG_HEARTBEAT_INSERT, &row, NULL, err);
	return result < 0 ? result : pg_run(store, PG_HEARTBEAT, &values, NULL, err);
}

int pg_heartbeat(struct store *store, const char *host, const char *zone, bool first,
		 struct zerr *err)
{
	struct heartbeat_context beat = {.host = host, .zone = zone, .first = first};

	return pg_transact(store, heartbeat_body, &beat, err);
}

static int32_t clamp(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : value < 0 ? 0 : (int32_t)value;
}

/* Every container and capsule of the host counts, whatever its status; running_containers is their
 * number (kept: it is what the scheduler sees). */
static int node_usage(struct store *store, struct compute_node *node, struct zerr *err)
{
	_cleanup_result_ PGresult *rows = NULL;
	struct pg_values host = {.text = {node->hostname}, .count = 1};
	int64_t memory = 0, disk = 0;
	int result = pg_run(store, PG_NODE_USAGE, &host, &rows, err);

	if (result < 0)
		return result;
	node->cpu_used = 0;
	for (int i = 0; i < PQntuples(rows); i++) {
		const char *bad = NULL;
		struct pg_amounts amounts = pg_amounts(rows, i, 1, &bad);

		if (bad)
			zlog_warning("container %s: its %s makes no sense and counts as 0",
				     PQgetvalue(rows, i, 0), bad);
		if (__builtin_add_overflow(memory, amounts.memory_mib, &memory))
			memory = INT64_MAX;
		disk += amounts.disk_gib; /* at most 2^31 for a row: no overflow below 2^32 rows */
		node->cpu_used += amounts.cpu;
	}
	node->mem_used = clamp(memory);
	node->mem_free = clamp(node->mem_total - memory);
	node->disk_used = clamp(disk);
	node->running_containers = clamp(PQntuples(rows));
	return 0;
}

static int uuid_make(char out[UUID_TEXT_SIZE])
{
	uint8_t bytes[UUID_SIZE];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40); /* version 4 */
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80); /* variant of RFC 4122 */
	uuid_format(bytes, out);
	return 0;
}

#define NODE_NUMBERS 11

/* In the order of NODE_COLUMNS (postgresql_sql.c), after the uuid. */
static void node_values(const struct compute_node *node, struct pg_values *values,
			char numbers[NODE_NUMBERS + 1][NUMBER_SIZE])
{
	const int32_t integers[NODE_NUMBERS] = {
		node->mem_total,	 node->mem_free,	   node->mem_available,
		node->mem_used,		 node->total_containers,   node->running_containers,
		node->paused_containers, node->stopped_containers, node->cpus,
		node->disk_total,	 node->disk_used};
	const char *const texts[] = {node->architecture,   node->os_type, node->os,
				     node->kernel_version, node->labels,  node->runtimes,
				     node->pci_stats};

	for (size_t i = 0; i < NODE_NUMBERS; i++)
		(void)snprintf(numbers[i], NUMBER_SIZE, "%" PRId32, integers[i]);
	(void)snprintf(numbers[NODE_NUMBERS], NUMBER_SIZE, "%.17g", node->cpu_used);

	*values = (struct pg_values){.text = {node->uuid, node->hostname, node->numa_topology},
				     .count = 3};
	for (size_t i = 0; i < 9; i++)
		pg_add(values, numbers[i]);
	pg_add(values, numbers[NODE_NUMBERS]);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		pg_add(values, texts[i]);
	pg_add(values, numbers[9]);
	pg_add(values, numbers[10]);
	pg_add(values, node->disk_quota_supported ? "true" : "false");
	pg_add(values, node->enable_cpu_pinning ? "true" : "false");
}

static int node_body(struct store *store, void *context, struct zerr *err)
{
	struct compute_node *node = context;
	char numbers[NODE_NUMBERS + 1][NUMBER_SIZE];
	struct pg_values values, host = {.text = {node->hostname}, .count = 1};
	_cleanup_result_ PGresult *found = NULL;
	int result = pg_run(store, PG_NODE_FIND, &host, &found, err);

	if (result < 0)
		return result;
	if (PQntuples(found) > 1)
		return zerr_set(err, -EEXIST, "compute_node has %d rows for %s", PQntuples(found),
				node->hostname);
	result = node_usage(store, node, err);
	if (result < 0)
		return result;
	if (PQntuples(found) == 1) {
		(void)snprintf(node->uuid, sizeof(node->uuid), "%s",
			       PQgetvalue(found, 0, 0)); /* varchar(36) */
		(void)snprintf(node->rp_uuid, sizeof(node->rp_uuid), "%s", PQgetvalue(found, 0, 1));
	} else {
		result = uuid_make(node->uuid);
		if (result < 0)
			return zerr_errno(err, result, "no random bytes");
		memcpy(node->rp_uuid, node->uuid, sizeof(node->rp_uuid));
	}
	node_values(node, &values, numbers);
	return pg_run(store, PQntuples(found) == 1 ? PG_NODE_UPDATE : PG_NODE_INSERT, &values, NULL,
		      err);
}

int pg_compute_node_update(struct store *store, struct compute_node *node, struct zerr *err)
{
	return pg_transact(store, node_body, node, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statements, all of them with parameters only.  Times that must be the
 * agent's own come as a parameter; others are the server's, in UTC.
 */
#include "unpriv/store/postgresql.h"

#define UTC_NOW "timezone('utc', now())"

/* The actions whose rows the agent finishes (rpc-methods.md §2): others are the API's own affair.
 */
#define AGENT_ACTIONS                                                                              \
	"('create', 'delete', 'reboot', 'rebuild', 'stop', 'start', 'pause', 'unpause', 'kill', "  \
	"'commit', 'add_security_group', 'remove_security_group', 'network_attach', "              \
	"'network_detach')"

#define STALE(row, seconds)                                                                        \
	row ".finish_time IS NULL AND " row ".start_time < " UTC_NOW                               \
	    " - make_interval(secs => " seconds ") AND " row ".action IN " AGENT_ACTIONS

#define NAME(column, ...) #column ", "

/* clang-format off: a statement reads by its clauses */
#define NODE_COLUMNS                                                                               \
	"hostname, numa_topology, mem_total, mem_free, mem_available, mem_used, "                  \
	"total_containers, running_containers, paused_containers, "                                \
	"stopped_containers, cpus, cpu_used, architecture, os_type, os, "                          \
	"kernel_version, labels, runtimes, pci_stats, disk_total, disk_used, "                     \
	"disk_quota_supported, enable_cpu_pinning"
#define NODE_VALUES                                                                                \
	"$2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "                           \
	"$16, $17, $18, $19, $20, $21, $22, $23, $24"

const char *const pg_statements[PG_STATEMENT_COUNT] = {
	[PG_CONTAINER_GET] = "SELECT " CONTAINER_COLUMNS(NAME, NAME, NAME, NAME,
							 NAME) "1 "
							       "FROM container WHERE uuid = $1",
	/* Was the row written with this very time already? */
	[PG_CONTAINER_LOCK] = "SELECT task_state, updated_at IS NOT DISTINCT FROM $2::timestamp "
			      "FROM container WHERE uuid = $1 FOR UPDATE",
	[PG_CONTAINER_HOST] = "SELECT host FROM container WHERE uuid = $1",
	[PG_CONTAINER_DELETE] = "DELETE FROM container WHERE uuid = $1",
	/* Of a capsule also those of its members.  Rows of Cinder volumes stay: their connection
	 * is not undone. */
	[PG_MAPPINGS_DELETE] =
		"WITH gone AS (DELETE FROM volume_mapping WHERE container_uuid IN "
		"(SELECT m.uuid FROM container c JOIN container m "
		"ON m.id = c.id OR m.capsule_id = c.id WHERE c.uuid = $1) RETURNING id, volume_id) "
		"DELETE FROM volume v USING gone "
		"WHERE v.id = gone.volume_id AND v.volume_provider = 'local' "
		"AND NOT EXISTS (SELECT 1 FROM volume_mapping o WHERE o.volume_id = v.id "
		"AND o.id NOT IN (SELECT id FROM gone))",
	[PG_CONTAINER_EACH] =
		"SELECT c.uuid FROM container c WHERE c.host = $1 AND c.uuid COLLATE \"C\" > $2 "
		"AND COALESCE(c.container_type, 0) IN (0, 1) AND ($3::boolean "
		"OR c.status IN ('Creating', 'Deleting') OR c.task_state IS NOT NULL "
		"OR EXISTS (SELECT 1 FROM container_actions a WHERE a.container_uuid = c.uuid "
		"AND " STALE("a", "$4") ")) ORDER BY c.uuid COLLATE \"C\"",

	[PG_ACTION_FIND] =
		"SELECT id FROM container_actions WHERE container_uuid = $1 AND action = $3 "
		"AND (request_id = $2 OR ($4::boolean AND finish_time IS NULL)) "
		"ORDER BY (request_id IS NOT DISTINCT FROM $2) DESC, id DESC LIMIT 1",
	[PG_EVENT_START] =
		"INSERT INTO container_actions_events (created_at, start_time, event, action_id) "
		"SELECT $3::timestamp, $3::timestamp, $2::varchar, $1::integer "
		"WHERE NOT EXISTS (SELECT 1 FROM container_actions_events "
		"WHERE action_id = $1::integer AND event = $2::varchar AND finish_time IS NULL)",
	[PG_EVENT_FINISH] =
		"UPDATE container_actions_events SET finish_time = $3::timestamp, "
		"updated_at = $3::timestamp, result = $4, traceback = $5 WHERE id = "
		"(SELECT id FROM container_actions_events WHERE action_id = $1 AND event = $2 "
		"ORDER BY finish_time IS NULL DESC, id LIMIT 1)",
	[PG_ACTION_FINISH] =
		"WITH events AS (UPDATE container_actions_events SET finish_time = $2::timestamp, "
		"updated_at = $2::timestamp, result = $4 "
		"WHERE action_id = $1 AND finish_time IS NULL) "
		"UPDATE container_actions SET finish_time = $2::timestamp, "
		"updated_at = $2::timestamp, message = COALESCE($3, message) WHERE id = $1",
	[PG_ACTIONS_EXPIRE] =
		"WITH stale AS (UPDATE container_actions a SET finish_time = " UTC_NOW ", "
		"updated_at = " UTC_NOW
		", message = 'Error' WHERE a.container_uuid = $1 AND " STALE(
			"a", "$2") " RETURNING a.id), "
				   "events AS (UPDATE container_actions_events e SET finish_time "
				   "= " UTC_NOW ", "
				   "updated_at = " UTC_NOW ", result = 'Error', "
				   "traceback = 'nobody works on it any more' FROM stale "
				   "WHERE e.action_id = stale.id AND e.finish_time IS NULL) "
				   "SELECT count(*) FROM stale",

	[PG_CLAIM_LOCK] =
		"SELECT mem_used, cpu_used, disk_used FROM compute_node WHERE hostname = $1 "
		"ORDER BY uuid FOR UPDATE",
	[PG_CLAIM_ROW] = "SELECT host, memory, cpu, disk FROM container WHERE uuid = $1 FOR UPDATE",
	[PG_CLAIM_HOST] =
		"UPDATE container SET host = $2, updated_at = $3::timestamp WHERE uuid = $1",
	[PG_CLAIM_USAGE] =
		"UPDATE compute_node SET "
		"mem_used = GREATEST(LEAST(mem_used + $2::bigint, 2147483647), 0), "
		"mem_free = GREATEST(LEAST(mem_total - (mem_used + $2::bigint), mem_total), 0), "
		"cpu_used = GREATEST(cpu_used + $3::double precision, 0), "
		"disk_used = GREATEST(LEAST(disk_used + $4::bigint, 2147483647), 0), "
		"running_containers = GREATEST(running_containers + $5::integer, 0), "
		"updated_at = " UTC_NOW " WHERE hostname = $1",

	[PG_HEARTBEAT_INSERT] =
		"INSERT INTO zun_service (created_at, host, \"binary\", availability_zone, "
		"report_count, disabled, forced_down) "
		"VALUES (" UTC_NOW ", $1, 'zun-compute', $2, 0, false, false) "
		"ON CONFLICT DO NOTHING",
	[PG_HEARTBEAT] =
		"UPDATE zun_service SET report_count = report_count + 1, "
		"last_seen_up = " UTC_NOW ", updated_at = " UTC_NOW ", "
		"availability_zone = CASE WHEN $3::boolean THEN $2 ELSE availability_zone END "
		"WHERE host = $1 AND \"binary\" = 'zun-compute'",

	[PG_NODE_FIND] = "SELECT uuid, rp_uuid FROM compute_node WHERE hostname = $1 FOR UPDATE",
	[PG_NODE_USAGE] = "SELECT uuid, memory, cpu, disk FROM container WHERE host = $1 "
			  "AND COALESCE(container_type, 0) IN (0, 1) ORDER BY uuid",
	[PG_NODE_INSERT] = "INSERT INTO compute_node (created_at, uuid, rp_uuid, " NODE_COLUMNS ") "
			   "VALUES (" UTC_NOW ", $1, $1, " NODE_VALUES ")",
	[PG_NODE_UPDATE] = "UPDATE compute_node SET (" NODE_COLUMNS ") = ROW(" NODE_VALUES "), "
			   "updated_at = " UTC_NOW " WHERE uuid = $1 "
			   "AND (" NODE_COLUMNS ") IS DISTINCT FROM ROW(" NODE_VALUES ")",
};
/* clang-format on */

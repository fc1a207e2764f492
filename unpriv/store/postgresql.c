/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store on PostgreSQL: Zun's own schema (schema/zun-postgresql.sql).
 * Runs in workers, each with a connection of its own; no privilege.
 */
#include "common/zlog.h"
#include "unpriv/store/postgresql.h"
#include <errno.h>
#include <stdlib.h>

static int pg_open(const struct config *config, struct store **store, struct zerr *err)
{
	struct store *made = calloc(1, sizeof(*made));

	if (!made)
		return zerr_set(err, -ENOMEM, "database: no memory");
	made->config = config;
	made->patience_ms = PG_PATIENCE_MS;
	made->answer_ms = PG_ANSWER_MS;
	made->statement_ms = PG_STATEMENT_MS;
	made->lock_ms = PG_LOCK_MS;
	*store = made; /* connects when it is first needed */
	return 0;
}

static void pg_close(struct store *store)
{
	if (store)
		pg_disconnect(store);
	free(store);
}

const struct store_ops store_postgresql = {
	.open = pg_open,
	.close = pg_close,
	.container_get = pg_container_get,
	.container_save = pg_container_save,
	.container_destroy = pg_container_destroy,
	.container_each = pg_container_each,
	.event_start = pg_event_start,
	.event_finish = pg_event_finish,
	.action_finish = pg_action_finish,
	.actions_expire = pg_actions_expire,
	.claim = pg_claim,
	.release = pg_release,
	.heartbeat = pg_heartbeat,
	.compute_node_update = pg_compute_node_update,
};

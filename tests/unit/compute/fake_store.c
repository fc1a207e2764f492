/* SPDX-License-Identifier: Apache-2.0 */
/* The store of the small world. */
#include "common/zfd.h"
#include "manager_case.h"
#include "unpriv/store/column.h"
#include <errno.h>
#include <string.h>

static int gone(struct zerr *err)
{
	return zerr_set(err, -EAGAIN, "the store is gone");
}

static void copy_row(const struct container *from, struct container *to)
{
	char buffer[CONTAINER_STORE_SIZE];

	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT; i++)
		if (from->set & CONTAINER_BIT(i))
			(void)container_load(to, (enum container_column)i,
					     container_store(from, (enum container_column)i, buffer,
							     sizeof(buffer)));
}

static int container_get(struct store *store, const char *uuid, struct container *row,
			 struct zerr *err)
{
	struct world *world = store->world;

	*row = (struct container){0};
	if (!world_alive(world))
		return gone(err);
	if (!world->row_exists || strcmp(uuid, world->row.uuid) != 0)
		return zerr_set(err, -ENOENT, "no row");
	copy_row(&world->row, row);
	return 0;
}

/* Takes over one column of a save; task_state only while it is what is expected (F13). */
static void save_column(struct world *world, const struct container *row,
			enum container_column column, const char *expect)
{
	const char *current = container_text(&world->row, CONTAINER_task_state);
	char buffer[CONTAINER_STORE_SIZE];
	const char *text = container_store(row, column, buffer, sizeof(buffer));

	if (!(row->changed & CONTAINER_BIT(column)) ||
	    (column == CONTAINER_task_state && expect && expect[0] && strcmp(current, expect) != 0))
		return;
	if (column == CONTAINER_started_at)
		text = "now"; /* the same in every log */
	world_note(world, " %s=%s", container_columns[column].name, text ? text : "NULL");
	(void)container_load(&world->row, column, text);
}

static int container_save(struct store *store, struct container *row, const char *expect,
			  struct zerr *err)
{
	struct world *world = store->world;

	if (!row->changed)
		return 0;
	if (!world_alive(world))
		return gone(err);
	if (!world->row_exists)
		return zerr_set(err, -ENOENT, "no row");
	if (expect && !expect[0] && container_text(&world->row, CONTAINER_task_state)[0])
		return zerr_set(err, -EBUSY, "under way");
	world_note(world, "update");
	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT; i++)
		save_column(world, row, (enum container_column)i, expect);
	world_note(world, "\n");
	row->changed = 0;
	return 0;
}

static int container_destroy(struct store *store, const char *uuid, bool drop_volumes,
			     struct zerr *err)
{
	struct world *world = store->world;

	(void)uuid;
	if (!world_alive(world))
		return gone(err);
	if (world->row_exists && world->volumes && !drop_volumes)
		return zerr_set(err, -EBUSY, "container still has volumes");
	world_note(world, "destroy\n");
	world->row_exists = false;
	world->claimed = false;
	return 0;
}

static int container_each(struct store *store, const struct store_scan *scan,
			  int (*each)(void *context, const char *uuid), void *context,
			  struct zerr *err)
{
	(void)scan;
	(void)err;
	return each(context, store->world->row.uuid);
}

static int event_start(struct store *store, const struct store_action *action, const char *event,
		       struct zerr *err)
{
	if (!event || !action->name)
		return 0;
	if (!world_alive(store->world))
		return gone(err);
	world_note(store->world, "event %s\n", event);
	return 0;
}

static int event_finish(struct store *store, const struct store_action *action, const char *event,
			const char *error, struct zerr *err)
{
	if (!event || !action->name)
		return 0;
	if (!world_alive(store->world))
		return gone(err);
	world_note(store->world, "event %s %s\n", event, error ? "Error" : "Success");
	return 0;
}

static int action_finish(struct store *store, const struct store_action *action, bool failed,
			 struct zerr *err)
{
	if (!action->name)
		return 0;
	if (!world_alive(store->world))
		return gone(err);
	world_note(store->world, "action %s %s%s\n", action->name, failed ? "Error" : "Success",
		   action->fallback ? " (newest)" : "");
	return 0;
}

static int actions_expire(struct store *store, const char *uuid, int64_t seconds, struct zerr *err)
{
	unsigned expired = store->world->expired;

	(void)uuid;
	(void)seconds;
	if (!world_alive(store->world))
		return gone(err);
	if (expired > 0)
		world_note(store->world, "expire\n");
	store->world->expired = 0;
	return (int)expired;
}

static int claim(struct store *store, const char *host, const char *uuid,
		 const struct claim_limits *limits, struct zerr *err)
{
	struct world *world = store->world;

	(void)uuid;
	if (!world_alive(world))
		return gone(err);
	if (world->claim_result < 0)
		return zerr_set(err, world->claim_result,
				"Insufficient compute resources: nothing left.");
	world_note(world, "claim %g %g %g\n", limits->memory_mib, limits->cpu, limits->disk_gib);
	world->claimed = true;
	return container_load(&world->row, CONTAINER_host, host);
}

static int release(struct store *store, const char *host, const char *uuid, struct zerr *err)
{
	struct world *world = store->world;

	(void)host;
	(void)uuid;
	if (!world_alive(world))
		return gone(err);
	world_note(world, "release\n");
	world->claimed = false;
	return container_load(&world->row, CONTAINER_host, NULL);
}

static int heartbeat(struct store *store, const char *host, const char *zone, bool first,
		     struct zerr *err)
{
	(void)store;
	(void)host;
	(void)zone;
	(void)first;
	(void)err;
	return 0;
}

static int compute_node_update(struct store *store, struct compute_node *node, struct zerr *err)
{
	(void)err;
	world_note(store->world, "node %s %s %s\n", node->hostname, node->numa_topology,
		   node->labels);
	return 0;
}

static int store_open(const struct config *config, struct store **store, struct zerr *err)
{
	(void)config;
	(void)store;
	(void)err;
	return 0;
}

static void store_close(struct store *store)
{
	(void)store;
}

const struct store_ops fake_store = {
	.open = store_open,
	.close = store_close,
	.container_get = container_get,
	.container_save = container_save,
	.container_destroy = container_destroy,
	.container_each = container_each,
	.event_start = event_start,
	.event_finish = event_finish,
	.action_finish = action_finish,
	.actions_expire = actions_expire,
	.claim = claim,
	.release = release,
	.heartbeat = heartbeat,
	.compute_node_update = compute_node_update,
};

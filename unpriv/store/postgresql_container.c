/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of table container on PostgreSQL.  Runs in workers; no privilege.
 */
#include "common/zfd.h"
#include "unpriv/store/column.h"
#include "unpriv/store/postgresql.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct get_context {
	const char *uuid;
	struct container *row;
};

static int get_body(struct store *store, void *context, struct zerr *err)
{
	struct get_context *get = context;
	_cleanup_result_ PGresult *found = NULL;
	struct pg_values values = {.text = {get->uuid}, .count = 1};
	int result = pg_run(store, PG_CONTAINER_GET, &values, &found, err);

	if (result < 0)
		return result;
	container_clear(get->row); /* of an earlier run */
	if (PQntuples(found) == 0)
		return zerr_set(err, -ENOENT, "container %s has no row", get->uuid);
	for (int i = 0; i < CONTAINER_COLUMN_COUNT && result == 0; i++)
		result = container_load(get->row, (enum container_column)i, pg_text(found, 0, i));
	return result < 0 ? zerr_set(err, result, "container %s: its row cannot be read", get->uuid)
			  : 0;
}

int pg_container_get(struct store *store, const char *uuid, struct container *row, struct zerr *err)
{
	struct get_context context = {.uuid = uuid, .row = row};
	int result;

	*row = (struct container){0};
	result = pg_transact(store, get_body, &context, err);
	if (result < 0)
		container_clear(row);
	return result;
}

/* Never written: keys, and the times that the store itself sets. */
#define FIXED_COLUMNS                                                                              \
	(CONTAINER_BIT(CONTAINER_id) | CONTAINER_BIT(CONTAINER_uuid) |                             \
	 CONTAINER_BIT(CONTAINER_created_at) | CONTAINER_BIT(CONTAINER_updated_at))

#define UPDATE_SIZE 2048 /* every column at once takes about 1200 */

struct save_context {
	struct container *row;
	const char *expect;
	const char *
		stamp; /* updated_at of this save: an earlier run that took effect is known by it */
	uint64_t columns;
};

static int save_update(struct store *store, const struct save_context *save, struct zerr *err)
{
	char sql[UPDATE_SIZE] = "UPDATE container SET updated_at = $2::timestamp";
	char numbers[CONTAINER_COLUMN_COUNT][CONTAINER_STORE_SIZE];
	struct pg_values values = {.text = {save->row->uuid, save->stamp}, .count = 2};
	size_t used = strlen(sql);

	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT; i++) {
		if (!(save->columns & CONTAINER_BIT(i)))
			continue;
		pg_add(&values, container_store(save->row, (enum container_column)i, numbers[i],
						sizeof(numbers[i])));
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, ", %s = $%d",
					 container_columns[i].name, values.count);
		if (used >= sizeof(sql))
			return -ENOBUFS;
	}
	if ((size_t)snprintf(sql + used, sizeof(sql) - used, " WHERE uuid = $1") >=
	    sizeof(sql) - used)
		return -ENOBUFS;
	return pg_run_text(store, sql, &values, NULL, err);
}

/* Which columns this save may write, seeing what task_state is now (F13). */
static int save_columns(struct save_context *save, const char *current, struct zerr *err)
{
	const uint64_t task_state = CONTAINER_BIT(CONTAINER_task_state);
	const char *expect = save->expect;

	save->columns = save->row->changed & ~FIXED_COLUMNS;
	if (expect && !expect[0] && current)
		return zerr_set(err, -EBUSY, "container %s: %s is under way", save->row->uuid,
				current);
	if (expect && expect[0] && strcmp(current ? current : "", expect) != 0)
		save->columns &= ~task_state;
	return 0;
}

static int save_body(struct store *store, void *context, struct zerr *err)
{
	struct save_context *save = context;
	_cleanup_result_ PGresult *found = NULL;
	struct pg_values key = {.text = {save->row->uuid, save->stamp}, .count = 2};
	int result = pg_run(store, PG_CONTAINER_LOCK, &key, &found, err);

	if (result < 0)
		return result;
	if (PQntuples(found) == 0)
		return zerr_set(err, -ENOENT, "container %s has no row", save->row->uuid);
	if (pg_text(found, 0, 1)[0] == 't')
		return 0; /* the COMMIT whose answer was lost */
	result = save_columns(save, pg_text(found, 0, 0), err);
	if (result < 0 || !save->columns)
		return result;
	return save_update(store, save, err);
}

int pg_container_save(struct store *store, struct container *row, const char *expect_task_state,
		      struct zerr *err)
{
	char stamp[STORE_TIME_SIZE];
	struct save_context context = {.row = row, .expect = expect_task_state, .stamp = stamp};
	int result;

	if (!row->uuid)
		return zerr_set(err, -EINVAL, "a row without uuid cannot be saved");
	if (!(row->changed & ~FIXED_COLUMNS))
		return 0;
	store_now(stamp);
	result = pg_transact(store, save_body, &context, err);
	if (result < 0)
		return result;
	row->changed = 0;
	return container_load(row, CONTAINER_updated_at, stamp);
}

static int destroy_row(struct store *store, const char *uuid, bool drop_volumes, struct zerr *err)
{
	struct pg_values key = {.text = {uuid}, .count = 1};
	int result = 0;

	if (drop_volumes)
		result = pg_run(store, PG_MAPPINGS_DELETE, &key, NULL, err);
	if (result == 0)
		result = pg_run(store, PG_CONTAINER_DELETE, &key, NULL, err);
	if (result == -EBUSY && store->fault == PG_DEFINITE)
		(void)zerr_set(err, -EBUSY, "container %s still has volumes", uuid);
	return result;
}

struct destroy_context {
	const char *uuid;
	bool drop_volumes;
};

/* The node is locked before the container, as a claim does. */
static int destroy_body(struct store *store, void *context, struct zerr *err)
{
	struct destroy_context *destroy = context;
	_cleanup_result_ PGresult *before = NULL;
	_cleanup_result_ PGresult *locked = NULL;
	struct pg_values key = {.text = {destroy->uuid}, .count = 1};
	struct pg_amounts amounts;
	const char *host;
	int result = pg_run(store, PG_CONTAINER_HOST, &key, &before, err);

	if (result < 0 || PQntuples(before) == 0)
		return result; /* gone already is what was asked for */
	host = pg_text(before, 0, 0);
	if (host) {
		struct pg_values node = {.text = {host}, .count = 1};

		result = pg_run(store, PG_CLAIM_LOCK, &node, NULL, err);
		if (result < 0)
			return result;
	}
	result = pg_run(store, PG_CLAIM_ROW, &key, &locked, err);
	if (result < 0 || PQntuples(locked) == 0)
		return result;
	if (strcmp(host ? host : "", pg_text(locked, 0, 0) ? pg_text(locked, 0, 0) : "") != 0) {
		store->fault = PG_CONFLICT;
		return zerr_set(err, -EAGAIN, "container %s changes its host", destroy->uuid);
	}
	amounts = pg_amounts(locked, 0, 1, NULL);
	result = destroy_row(store, destroy->uuid, destroy->drop_volumes, err);
	if (result == 0 && host)
		result = pg_usage(store, host, &amounts, -1, err);
	return result;
}

int pg_container_destroy(struct store *store, const char *uuid, bool drop_volumes, struct zerr *err)
{
	struct destroy_context context = {.uuid = uuid, .drop_volumes = drop_volumes};

	return pg_transact(store, destroy_body, &context, err);
}

struct each_context {
	const struct store_scan *scan;
	PGresult *found;
};

static int each_body(struct store *store, void *context, struct zerr *err)
{
	struct each_context *each = context;
	struct pg_values values = {
		.text = {each->scan->host, each->scan->after, each->scan->all ? "true" : "false"},
		.count = 3};
	char seconds[24];

	(void)snprintf(seconds, sizeof(seconds), "%" PRId64, store->config->action_timeout);
	pg_add(&values, seconds);
	pg_clear(&each->found);
	return pg_run(store, PG_CONTAINER_EACH, &values, &each->found, err);
}

int pg_container_each(struct store *store, const struct store_scan *scan,
		      int (*each)(void *context, const char *uuid), void *context, struct zerr *err)
{
	struct each_context found = {.scan = scan};
	int result = pg_transact(store, each_body, &found, err);

	for (int i = 0; result == 0 && i < PQntuples(found.found); i++)
		result = each(context, PQgetvalue(found.found, i, 0));
	pg_clear(&found.found);
	return result;
}

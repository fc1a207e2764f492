/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of container_actions and container_actions_events on PostgreSQL
 * (rpc-methods.md §4.1).  Runs in workers; no privilege.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/store/column.h"
#include "unpriv/store/postgresql.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct action_context {
	const struct store_action *action;
	const char *event; /* NULL: the action itself is finished */
	const char *error;
	bool start, failed;
	const char *stamp;
};

/* 1 with its id, 0 when there is none. */
static int action_find(struct store *store, const struct store_action *action, char id[16],
		       struct zerr *err)
{
	_cleanup_result_ PGresult *found = NULL;
	struct pg_values values = {.text = {action->uuid, action->request_id, action->name,
					    action->fallback ? "true" : "false"},
				   .count = 4};
	int result = pg_run(store, PG_ACTION_FIND, &values, &found, err);

	if (result < 0)
		return result;
	if (PQntuples(found) == 0) {
		zlog_warning("container %s: no action %s of request %s", action->uuid, action->name,
			     action->request_id ? action->request_id : "(unknown)");
		return 0;
	}
	(void)snprintf(id, 16, "%s", pg_text(found, 0, 0)); /* an integer: at most 11 characters */
	return 1;
}

static int action_body(struct store *store, void *context, struct zerr *err)
{
	const struct action_context *work = context;
	char id[16] = "";
	struct pg_values values = {.text = {id}, .count = 1};
	int result = action_find(store, work->action, id, err);

	if (result <= 0)
		return result;
	if (!work->event) {
		pg_add(&values, work->stamp);
		pg_add(&values, work->failed ? "Error" : NULL);
		pg_add(&values, work->failed ? "Error" : "Success");
		return pg_run(store, PG_ACTION_FINISH, &values, NULL, err);
	}
	pg_add(&values, work->event);
	pg_add(&values, work->stamp);
	if (work->start)
		return pg_run(store, PG_EVENT_START, &values, NULL, err);
	pg_add(&values, work->error ? "Error" : "Success");
	pg_add(&values, work->error);
	return pg_run(store, PG_EVENT_FINISH, &values, NULL, err);
}

static int action_transact(struct store *store, const struct action_context *work, struct zerr *err)
{
	char stamp[STORE_TIME_SIZE];
	struct action_context stamped = *work;

	if (!work->action->name)
		return 0; /* a method without an action of its own */
	store_now(stamp);
	stamped.stamp = stamp;
	return pg_transact(store, action_body, &stamped, err);
}

int pg_event_start(struct store *store, const struct store_action *action, const char *event,
		   struct zerr *err)
{
	struct action_context work = {.action = action, .event = event, .start = true};

	return event ? action_transact(store, &work, err) : 0;
}

int pg_event_finish(struct store *store, const struct store_action *action, const char *event,
		    const char *error, struct zerr *err)
{
	_cleanup_free_ char *text = error ? column_text_copy(error, 0) : NULL;
	struct action_context work = {.action = action, .event = event, .error = text};

	if (error && !text)
		return zerr_set(err, -ENOMEM, "no memory");
	return event ? action_transact(store, &work, err) : 0;
}

int pg_action_finish(struct store *store, const struct store_action *action, bool failed,
		     struct zerr *err)
{
	struct action_context work = {.action = action, .failed = failed};

	return action_transact(store, &work, err);
}

struct expire_context {
	const char *uuid;
	int64_t seconds;
	int expired;
};

static int expire_body(struct store *store, void *context, struct zerr *err)
{
	struct expire_context *expire = context;
	_cleanup_result_ PGresult *count = NULL;
	char seconds[24];
	struct pg_values values = {.text = {expire->uuid, seconds}, .count = 2};
	int result;

	(void)snprintf(seconds, sizeof(seconds), "%" PRId64, expire->seconds);
	result = pg_run(store, PG_ACTIONS_EXPIRE, &values, &count, err);
	if (result == 0)
		expire->expired = (int)strtol(pg_text(count, 0, 0), NULL, 10);
	return result;
}

int pg_actions_expire(struct store *store, const char *uuid, int64_t seconds, struct zerr *err)
{
	struct expire_context expire = {.uuid = uuid, .seconds = seconds};
	int result = pg_transact(store, expire_body, &expire, err);

	return result < 0 ? result : expire.expired;
}

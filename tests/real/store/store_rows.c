/* SPDX-License-Identifier: Apache-2.0 */
/* Containers, actions and events. */
#include "store_test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define OPS (&store_postgresql)

static void get_reads_every_kind_of_column(struct test *test)
{
	const char *uuid = new_container(
		test,
		"name, status, cpu, memory, disk, tty, interactive, command, labels, started_at",
		"'web', 'Running', 0.25, '512', 7, true, false, '[\"sh\", \"ü\"]', NULL, "
		"'2026-12-01 02:32:43.123456'");
	struct container row;
	struct zerr err = {0};

	CHECK(test, OPS->container_get(test->store, uuid, &row, &err) == 0);
	CHECK(test, strcmp(row.uuid, uuid) == 0 && strcmp(row.name, "web") == 0);
	CHECK(test, row.cpu > 0.2499 && row.cpu < 0.2501 && row.disk == 7 && row.tty);
	CHECK(test, CONTAINER_HAS(&row, interactive) && !row.interactive);
	CHECK(test, strcmp(row.command, "[\"sh\", \"ü\"]") == 0 && !row.labels);
	CHECK(test, !CONTAINER_HAS(&row, auto_heal) && !CONTAINER_HAS(&row, host));
	CHECK(test, strcmp(row.started_at, "2026-12-01 02:32:43.123456") == 0);
	CHECK(test, row.changed == 0);
	container_clear(&row);
}

static void a_missing_row_is_not_found(struct test *test)
{
	struct container row;
	struct zerr err = {0};

	CHECK(test, OPS->container_get(test->store, "no-such-uuid", &row, &err) == -ENOENT);
	row = (struct container){.uuid = strdup("no-such-uuid")};
	CHECK(test, container_set_text(&row, CONTAINER_status, "Running") == 0);
	CHECK(test, OPS->container_save(test->store, &row, NULL, &err) == -ENOENT);
	container_clear(&row);
}

static void save_writes_only_what_changed(struct test *test)
{
	const char *uuid = new_container(test, "name, status", "'old', 'Creating'");
	struct container row;
	struct zerr err = {0};

	CHECK(test, OPS->container_get(test->store, uuid, &row, &err) == 0);
	sql(test, "UPDATE container SET name = 'new', labels = '{\"a\": \"b\"}' WHERE uuid = '%s'",
	    uuid);
	CHECK(test, container_set_text(&row, CONTAINER_status, "Created") == 0);
	CHECK(test, OPS->container_save(test->store, &row, NULL, &err) == 0 && row.changed == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT name || status || labels FROM container WHERE uuid = '%s'",
			 uuid),
		     "newCreated{\"a\": \"b\"}") == 0);
	CHECK(test, strcmp(sql(test, "SELECT updated_at = '%s' FROM container WHERE uuid = '%s'",
			       row.updated_at, uuid),
			   "t") == 0);
	CHECK(test, strcmp(sql(test,
			       "SELECT updated_at - timezone('utc', now()) < '2s' AND "
			       "timezone('utc', now()) - updated_at < '2s' FROM container "
			       "WHERE uuid = '%s'",
			       uuid),
			   "t") == 0);
	container_clear(&row);
}

static void saving_nothing_touches_nothing(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Running'");
	struct container row;
	struct zerr err = {0};

	CHECK(test, OPS->container_get(test->store, uuid, &row, &err) == 0);
	CHECK(test, container_set_text(&row, CONTAINER_status, "Running") == 0 && row.changed == 0);
	CHECK(test, container_set_text(&row, CONTAINER_labels, "{}") == 0 && row.changed == 0);
	CHECK(test, OPS->container_save(test->store, &row, NULL, &err) == 0);
	CHECK(test,
	      sql(test, "SELECT updated_at FROM container WHERE uuid = '%s'", uuid)[0] == '\0');
	container_clear(&row);
}

static void task_state_of_another_is_left(struct test *test)
{
	const char *uuid =
		new_container(test, "status, task_state", "'Running', 'container_stopping'");
	struct container row;
	struct zerr err = {0};

	CHECK(test, OPS->container_get(test->store, uuid, &row, &err) == 0);
	sql(test, "UPDATE container SET task_state = 'container_deleting' WHERE uuid = '%s'", uuid);
	CHECK(test, container_set_text(&row, CONTAINER_status, "Stopped") == 0);
	CHECK(test, container_set_text(&row, CONTAINER_task_state, NULL) == 0);
	CHECK(test, OPS->container_save(test->store, &row, "container_stopping", &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT status || task_state FROM container WHERE uuid = '%s'",
			       uuid),
			   "Stoppedcontainer_deleting") == 0);
	CHECK(test, container_set_text(&row, CONTAINER_task_state, "x") == 0);
	CHECK(test, container_set_text(&row, CONTAINER_task_state, NULL) == 0);
	CHECK(test, OPS->container_save(test->store, &row, "container_deleting", &err) == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT task_state IS NULL FROM container WHERE uuid = '%s'", uuid),
		     "t") == 0);
	container_clear(&row);
}

static void a_guarded_save_waits_for_no_action(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Running'");
	struct container row;
	struct zerr err = {0};

	CHECK(test, OPS->container_get(test->store, uuid, &row, &err) == 0);
	sql(test, "UPDATE container SET task_state = 'container_stopping' WHERE uuid = '%s'", uuid);
	CHECK(test, container_set_text(&row, CONTAINER_status, "Stopped") == 0);
	CHECK(test, OPS->container_save(test->store, &row, "", &err) == -EBUSY);
	sql(test, "UPDATE container SET task_state = NULL WHERE uuid = '%s'", uuid);
	CHECK(test, OPS->container_save(test->store, &row, "", &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT status FROM container WHERE uuid = '%s'", uuid),
			   "Stopped") == 0);
	container_clear(&row);
}

static void json_columns_are_never_null(struct test *test)
{
	const char *uuid = new_container(test, "command, labels", "'[\"a\"]', '{\"a\": \"b\"}'");
	struct container row;
	struct zerr err = {0};

	CHECK(test, OPS->container_get(test->store, uuid, &row, &err) == 0);
	CHECK(test, container_set_text(&row, CONTAINER_command, NULL) == 0);
	CHECK(test, container_set_text(&row, CONTAINER_labels, "") == 0);
	CHECK(test, container_set_text(&row, CONTAINER_annotations, NULL) == 0);
	CHECK(test, OPS->container_save(test->store, &row, NULL, &err) == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT command || labels FROM container WHERE uuid = '%s'", uuid),
		     "[]{}") == 0);
	container_clear(&row);
}

static void long_and_broken_texts_are_stored_all_the_same(struct test *test)
{
	const char *uuid = new_container(test, "", "");
	struct container row;
	struct zerr err = {0};
	char text[201];

	memset(text, 'x', 200);
	text[200] = '\0';
	text[48] = (char)0xc3; /* U+00FC across the limit of 50 */
	text[49] = (char)0xbc;
	text[47] = (char)0xff; /* no character at all */
	CHECK(test, OPS->container_get(test->store, uuid, &row, &err) == 0);
	CHECK(test, container_set_text(&row, CONTAINER_status_detail, text + 1) == 0);
	CHECK(test, container_set_text(&row, CONTAINER_hostname, text) == 0);
	CHECK(test, container_set_text(&row, CONTAINER_status_reason, text) == 0);
	CHECK(test, OPS->container_save(test->store, &row, NULL, &err) == 0);
	CHECK(test, strcmp(sql(test,
			       "SELECT length(status_detail) || ' ' || length(hostname) || ' ' || "
			       "length(status_reason) FROM container WHERE uuid = '%s'",
			       uuid),
			   "49 62 199") == 0);
	CHECK(test,
	      strcmp(sql(test,
			 "SELECT substr(status_reason, 48, 2) FROM container WHERE uuid = '%s'",
			 uuid),
		     "?ü") == 0);
	container_clear(&row);
}

static void destroy_takes_actions_along_and_is_repeatable(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Stopped'");
	struct zerr err = {0};

	sql(test, "INSERT INTO container_actions (action, container_uuid) VALUES ('delete', '%s')",
	    uuid);
	CHECK(test, OPS->container_destroy(test->store, uuid, false, &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT count(*) FROM container_actions"), "0") == 0);
	CHECK(test, OPS->container_destroy(test->store, uuid, false, &err) == 0);
}

static void volumes_hold_a_row_back_unless_told_otherwise(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Stopped'");
	struct zerr err = {0};

	sql(test, "INSERT INTO volume (id, uuid, volume_provider) VALUES (1, 'v1', 'local'), (2, "
		  "'v2', 'cinder')");
	sql(test,
	    "INSERT INTO volume_mapping (uuid, container_uuid, volume_id) VALUES ('m1', '%s', 1), "
	    "('m2', '%s', 2)",
	    uuid, uuid);
	CHECK(test, OPS->container_destroy(test->store, uuid, false, &err) == -EBUSY);
	CHECK(test, strstr(err.msg, "volumes") != NULL);
	CHECK(test, strcmp(sql(test, "SELECT count(*) FROM volume_mapping"), "2") == 0);
	CHECK(test, OPS->container_destroy(test->store, uuid, true, &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT string_agg(uuid, ',') FROM volume"), "v2") == 0);
	CHECK(test, strcmp(sql(test, "SELECT count(*) FROM container"), "0") == 0);
}

struct found {
	char uuids[8][UUID_TEXT_SIZE];
	unsigned count;
};

static int note(void *context, const char *uuid)
{
	struct found *found = context;

	(void)snprintf(found->uuids[found->count++ % 8], UUID_TEXT_SIZE, "%s", uuid);
	return 0;
}

static void scan_finds_what_recovery_must_see(struct test *test)
{
	struct found found = {0};
	struct zerr err = {0};
	struct store_scan scan = {.host = HOST, .after = ""};
	const char *old;

	(void)new_container(test, "host, status", "'node-1', 'Running'");
	(void)new_container(test, "host, status", "'node-1', 'Creating'");
	(void)new_container(test, "host, status, task_state",
			    "'node-1', 'Running', 'container_stopping'");
	(void)new_container(test, "host, status", "'other', 'Creating'");
	old = new_container(test, "host, status", "'node-1', 'Stopped'");
	sql(test,
	    "INSERT INTO container_actions (action, container_uuid, start_time) VALUES "
	    "('stop', '%s', timezone('utc', now()) - interval '16 min')",
	    old);
	CHECK(test,
	      OPS->container_each(test->store, &scan, note, &found, &err) == 0 && found.count == 3);
	CHECK(test, strcmp(found.uuids[0], found.uuids[1]) < 0 &&
			    strcmp(found.uuids[1], found.uuids[2]) < 0);
	scan.after = found.uuids[1];
	found.count = 0;
	CHECK(test,
	      OPS->container_each(test->store, &scan, note, &found, &err) == 0 && found.count == 1);
	scan = (struct store_scan){.host = HOST, .after = "", .all = true};
	found.count = 0;
	CHECK(test,
	      OPS->container_each(test->store, &scan, note, &found, &err) == 0 && found.count == 4);
}

static void actions_and_events_follow_each_other(struct test *test)
{
	const char *uuid = new_container(test, "", "");
	struct store_action action = {.uuid = uuid, .request_id = "req-1", .name = "stop"};
	struct zerr err = {0};

	sql(test,
	    "INSERT INTO container_actions (action, container_uuid, request_id) VALUES "
	    "('stop', '%s', 'req-1'), ('delete', '%s', 'req-1'), ('stop', '%s', 'req-2')",
	    uuid, uuid, uuid);
	CHECK(test,
	      OPS->event_start(test->store, &action, "compute__do_container_stop", &err) == 0);
	CHECK(test,
	      OPS->event_start(test->store, &action, "compute__do_container_stop", &err) == 0);
	CHECK(test,
	      strcmp(sql(test,
			 "SELECT count(*) FROM container_actions_events WHERE finish_time IS NULL"),
		     "1") == 0);
	CHECK(test, OPS->event_finish(test->store, &action, "compute__do_container_stop",
				      "no \xff luck", &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT result || traceback FROM container_actions_events "
				     "WHERE finish_time >= start_time"),
			   "Errorno ? luck") == 0);
	CHECK(test, OPS->action_finish(test->store, &action, true, &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT string_agg(action || request_id || message, ',') FROM "
				     "container_actions "
				     "WHERE finish_time IS NOT NULL"),
			   "stopreq-1Error") == 0);
	action.request_id = "req-2";
	CHECK(test, OPS->action_finish(test->store, &action, false, &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT message IS NULL FROM container_actions WHERE "
				     "request_id = 'req-2' AND "
				     "finish_time IS NOT NULL"),
			   "t") == 0);
}

static void recovered_actions_are_found_without_a_request(struct test *test)
{
	const char *uuid = new_container(test, "", "");
	struct store_action action = {
		.uuid = uuid, .request_id = NULL, .name = "kill", .fallback = true};
	struct zerr err = {0};

	sql(test,
	    "INSERT INTO container_actions (id, action, container_uuid, request_id, finish_time) "
	    "VALUES "
	    "(1, 'kill', '%s', 'a', NULL), (2, 'kill', '%s', 'b', NULL), (3, 'kill', '%s', 'c', "
	    "now())",
	    uuid, uuid, uuid);
	CHECK(test,
	      OPS->event_start(test->store, &action, "compute__do_container_kill", &err) == 0);
	CHECK(test, OPS->action_finish(test->store, &action, false, &err) == 0);
	CHECK(test,
	      strcmp(sql(test,
			 "SELECT string_agg(id::text, ',' ORDER BY id) FROM container_actions "
			 "WHERE finish_time IS NULL"),
		     "1") == 0);
	CHECK(test, strcmp(sql(test, "SELECT action_id || result FROM container_actions_events"),
			   "2Success") == 0);
	action.fallback = false;
	CHECK(test, OPS->action_finish(test->store, &action, false, &err) == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT count(*) FROM container_actions WHERE finish_time IS NULL"),
		     "1") == 0);
}

static void stale_actions_expire(struct test *test)
{
	const char *uuid = new_container(test, "", "");
	struct zerr err = {0};

	sql(test,
	    "INSERT INTO container_actions (id, action, container_uuid, start_time) VALUES "
	    "(11, 'stop', '%s', timezone('utc', now()) - interval '1 hour'), "
	    "(12, 'stop', '%s', timezone('utc', now())), "
	    "(13, 'exec_cmd', '%s', timezone('utc', now()) - interval '1 hour')",
	    uuid, uuid, uuid);
	sql(test, "INSERT INTO container_actions_events (action_id, event) VALUES (11, "
		  "'compute__do_container_stop')");
	CHECK(test, OPS->actions_expire(test->store, uuid, 900, &err) == 1);
	CHECK(test, strcmp(sql(test, "SELECT string_agg(id || message, ',') FROM container_actions "
				     "WHERE finish_time "
				     "IS NOT NULL"),
			   "11Error") == 0);
	CHECK(test, strcmp(sql(test, "SELECT result FROM container_actions_events WHERE "
				     "finish_time IS NOT NULL"),
			   "Error") == 0);
	CHECK(test, OPS->actions_expire(test->store, uuid, 900, &err) == 0);
}

const struct named_test row_tests[] = {
	{"get_reads_every_kind_of_column", get_reads_every_kind_of_column},
	{"a_missing_row_is_not_found", a_missing_row_is_not_found},
	{"save_writes_only_what_changed", save_writes_only_what_changed},
	{"saving_nothing_touches_nothing", saving_nothing_touches_nothing},
	{"task_state_of_another_is_left", task_state_of_another_is_left},
	{"a_guarded_save_waits_for_no_action", a_guarded_save_waits_for_no_action},
	{"json_columns_are_never_null", json_columns_are_never_null},
	{"long_and_broken_texts_are_stored_all_the_same",
	 long_and_broken_texts_are_stored_all_the_same},
	{"destroy_takes_actions_along_and_is_repeatable",
	 destroy_takes_actions_along_and_is_repeatable},
	{"volumes_hold_a_row_back_unless_told_otherwise",
	 volumes_hold_a_row_back_unless_told_otherwise},
	{"scan_finds_what_recovery_must_see", scan_finds_what_recovery_must_see},
	{"actions_and_events_follow_each_other", actions_and_events_follow_each_other},
	{"recovered_actions_are_found_without_a_request",
	 recovered_actions_are_found_without_a_request},
	{"stale_actions_expire", stale_actions_expire},
	{NULL, NULL},
};

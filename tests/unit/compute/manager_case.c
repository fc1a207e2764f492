/* SPDX-License-Identifier: Apache-2.0 */
/* Setting up a case: row, message, intent, and running it. */
#include "manager_case.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/base/json.h"
#include "unpriv/store/column.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define INTENT "0000000000000001-00000000000000000000000000000001"

static void set_column(struct container *row, const char *name, const char *value)
{
	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT; i++)
		if (strcmp(container_columns[i].name, name) == 0) {
			assert_int_equal(container_load(row, (enum container_column)i, value), 0);
			return;
		}
	fail_msg("no column %s", name);
}

/* "name=value name=value" */
static void set_columns(struct container *row, const char *columns)
{
	char text[1024], *rest = text, *pair;

	(void)snprintf(text, sizeof(text), "%s", columns);
	while ((pair = strsep(&rest, " ")) != NULL) {
		char *equals = strchr(pair, '=');

		if (!equals)
			continue;
		*equals = '\0';
		set_column(row, pair, equals + 1);
	}
}

void case_open(struct manager_case *test, const char *columns, enum engine_state engine)
{
	static char host[] = HOST, driver_name[] = "docker";
	static struct store store;
	static struct driver driver;
	struct zerr err = {0};

	*test = (struct manager_case){.world = {.row_exists = true, .engine = engine}};
	zlog_setup("test", ZLOG_ERROR, false);
	store.world = driver.world = &test->world;
	set_columns(&test->world.row, "uuid=" UUID);
	set_columns(&test->world.row, columns);
	test->world.claimed = CONTAINER_HAS(&test->world.row, host);
	test->config = (struct config){.host = host,
				       .default_image_driver = driver_name,
				       .docker_default_timeout = 60,
				       .action_timeout = 900,
				       .strict_recovery = true};
	(void)snprintf(test->folder, sizeof(test->folder), "/tmp/manager-XXXXXX");
	assert_non_null(mkdtemp(test->folder));
	assert_int_equal(intent_log_open(&test->intents, test->folder, &err), 0);
	test->manager = (struct manager){.config = &test->config,
					 .store_ops = &fake_store,
					 .store = &store,
					 .driver_ops = &fake_driver,
					 .driver = &driver,
					 .intents = &test->intents};
}

static void forget_job(struct manager_case *test)
{
	manager_job_clear(&test->job);
	test->job = (struct manager_job){0};
}

void case_close(struct manager_case *test)
{
	char path[128];

	forget_job(test);
	json_putp(&test->args);
	container_clear(&test->world.row);
	(void)intent_remove(&test->intents, INTENT);
	intent_log_close(&test->intents);
	(void)snprintf(path, sizeof(path), "%s/intents", test->folder);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(test->folder), 0);
}

static void run(struct manager_case *test)
{
	forget_job(test);
	test->job.record = &test->record;
	test->job.args = test->args;
	test->job.actor =
		(struct store_actor){.request_id = "req-1", .project_id = "p", .user_id = "u"};
	test->result = manager_run(&test->manager, &test->job);
}

void case_run(struct manager_case *test, enum rpc_method method, const char *arguments)
{
	char text[4096];
	struct zerr err = {0};
	bool call = rpc_method_row(method)->call;

	(void)snprintf(text, sizeof(text),
		       "{\"container\": {\"zun_object.name\": \"Container\", "
		       "\"zun_object.namespace\": \"zun\", "
		       "\"zun_object.version\": \"1.44\", \"zun_object.data\": {\"id\": 1, "
		       "\"uuid\": \"" UUID "\", "
		       "\"status\": \"Deleting\", \"name\": \"web\"}, \"zun_object.changes\": "
		       "[\"status\"]}%s%s}",
		       arguments[0] ? ", " : "", arguments);
	json_putp(&test->args);
	test->args = json_parse(text, strlen(text), 65536, &err);
	if (!test->args)
		fail_msg("%s", err.msg);
	test->record = (struct job_record){.verdict = VERDICT_RUN,
					   .method = method,
					   .call = call,
					   .uuid = UUID,
					   .request_id = "req-1"};
	if (!call) {
		(void)intent_remove(&test->intents, INTENT);
		(void)snprintf(test->record.intent, sizeof(test->record.intent), INTENT);
		assert_int_equal(intent_create(&test->intents, INTENT, "{}", 2), 0);
	}
	run(test);
}

void case_again(struct manager_case *test)
{
	test->world.cut = test->world.steps = 0;
	test->world.dead = false;
	test->record.resumed = true;
	run(test);
}

void case_recover(struct manager_case *test)
{
	forget_job(test);
	test->record = (struct job_record){.uuid = UUID};
	test->job.record = &test->record;
	test->result = manager_recover(&test->manager, &test->job);
}

void case_abandon(struct manager_case *test, enum rpc_method method)
{
	forget_job(test);
	test->record.method = method;
	(void)snprintf(test->record.uuid, sizeof(test->record.uuid), UUID);
	test->job.record = &test->record;
	test->result = manager_abandon(&test->manager, &test->job);
}

void case_expect(struct manager_case *test, const char *log)
{
	if (strcmp(test->world.log, log) != 0)
		fail_msg("expected:\n%sseen:\n%s", log, test->world.log);
	test->world.log[0] = '\0';
}

const char *case_column(struct manager_case *test, enum container_column column)
{
	return container_text(&test->world.row, column);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store against a real PostgreSQL.  Started by tests/real/store/run:
 *     store_real SOCKET_FOLDER CONTROL_SCRIPT [NAME…]
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "store_test.h"
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct store *test_store(struct test *test)
{
	struct zerr err = {0};
	struct store *store = NULL;

	if (store_postgresql.open(&test->config, &store, &err) < 0) {
		printf("FAIL open: %s\n", err.msg);
		exit(1);
	}
	store->patience_ms = 8000;
	store->answer_ms = 3000;
	store->statement_ms = 1000;
	store->lock_ms = 700;
	return store;
}

static void admin_connect(struct test *test)
{
	const char *const keys[] = {"host", "user", "dbname", "options", NULL};
	const char *const values[] = {test->folder, "postgres", "zun",
				      "-c client_min_messages=error", NULL};

	if (test->admin && PQstatus(test->admin) == CONNECTION_OK)
		return;
	PQfinish(test->admin);
	test->admin = PQconnectdbParams(keys, values, 0);
}

const char *sql(struct test *test, const char *format, ...)
{
	static char field[4][8192];
	static unsigned next;
	char text[4096];
	PGresult *result;
	va_list arguments;
	char *out = field[next++ % 4];

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (int tries = 0; tries < 2; tries++) {
		admin_connect(test);
		result = PQexec(test->admin, text);
		if (PQresultStatus(result) == PGRES_TUPLES_OK ||
		    PQresultStatus(result) == PGRES_COMMAND_OK)
			break;
		if (tries == 1 || PQstatus(test->admin) == CONNECTION_OK) {
			printf("  %s: %s", text, PQerrorMessage(test->admin));
			test->failed = true;
			break;
		}
		PQclear(result);
	}
	out[0] = '\0';
	if (PQntuples(result) > 0 && PQnfields(result) > 0)
		(void)snprintf(out, sizeof(field[0]), "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	return out;
}

const char *new_container(struct test *test, const char *columns, const char *values)
{
	static char uuids[64][UUID_TEXT_SIZE];
	static unsigned next;
	char *uuid = uuids[next++ % 64];

	(void)snprintf(uuid, UUID_TEXT_SIZE, "%s", sql(test, "SELECT gen_random_uuid()"));
	sql(test,
	    "INSERT INTO container (uuid, created_at%s%s) VALUES ('%s', "
	    "now()%s%s)",
	    columns[0] ? ", " : "", columns, uuid, values[0] ? ", " : "", values);
	return uuid;
}

void control(struct test *test, const char *word)
{
	char script[512], argument[32];
	char *const argv[] = {script, argument, NULL};
	pid_t pid;
	int status = 0;

	(void)snprintf(script, sizeof(script), "%s", test->control);
	(void)snprintf(argument, sizeof(argument), "%s", word);
	if (posix_spawn(&pid, script, NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) < 0 || status != 0) {
		printf("  control %s: status %d\n", word, status);
		test->failed = true;
	}
}

static bool wanted(int argc, char **argv, const char *name)
{
	for (int i = 3; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc <= 3;
}

static unsigned run_all(struct test *test, const struct named_test *tests, int argc, char **argv)
{
	unsigned failed = 0;

	for (; tests->name; tests++) {
		if (!wanted(argc, argv, tests->name))
			continue;
		uint64_t started = zfd_now_ms();

		test->failed = false;
		sql(test, "TRUNCATE container, container_actions, compute_node, zun_service, "
			  "volume CASCADE");
		test->store = test_store(test);
		tests->run(test);
		store_postgresql.close(test->store);
		printf("%s %s (%llu ms)\n", test->failed ? "FAIL" : "PASS", tests->name,
		       (unsigned long long)(zfd_now_ms() - started));
		failed += test->failed;
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct test test = {0};
	unsigned failed;

	if (argc < 3)
		return 2;
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	zlog_setup("test", ZLOG_WARNING, false);
	test.folder = argv[1];
	test.control = argv[2];
	test.config = (struct config){.db_host = argv[1],
				      .db_name = strdup("zun"),
				      .db_user = strdup("zun"),
				      .db_port = 5432,
				      .db_max_retries = -1,
				      .action_timeout = 900};
	failed = run_all(&test, row_tests, argc, argv) + run_all(&test, node_tests, argc, argv) +
		 run_all(&test, fault_tests, argc, argv) + run_all(&test, tls_tests, argc, argv);
	PQfinish(test.admin);
	free(test.config.db_name);
	free(test.config.db_user);
	return failed ? 1 : 0;
}

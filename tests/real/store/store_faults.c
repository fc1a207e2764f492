/* SPDX-License-Identifier: Apache-2.0 */
/* What a store must live through: known-faults F12. */
#include "common/zfd.h"
#include "store_test.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPS (&store_postgresql)

static int set_status(struct test *test, const char *uuid, const char *status, struct zerr *err)
{
	struct container row = {0};
	int result = OPS->container_get(test->store, uuid, &row, err);

	if (result == 0)
		result = container_set_text(&row, CONTAINER_status, status);
	if (result == 0)
		result = OPS->container_save(test->store, &row, NULL, err);
	container_clear(&row);
	return result;
}

static const char *status_of(struct test *test, const char *uuid)
{
	return sql(test, "SELECT status FROM container WHERE uuid = '%s'", uuid);
}

static void a_session_that_was_ended_is_replaced(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Creating'");
	struct zerr err = {0};

	CHECK(test, set_status(test, uuid, "Created", &err) == 0);
	sql(test, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
		  "'keelson-compute'");
	CHECK(test, set_status(test, uuid, "Running", &err) == 0);
	CHECK(test, strcmp(status_of(test, uuid), "Running") == 0);
}

/* Saves without pause while the server is restarted; every save that was reported must be there. */
static void a_restart_of_the_server_loses_nothing(struct test *test)
{
	const char *uuid = new_container(test, "status, name", "'Creating', '0'");
	uint64_t end = zfd_now_ms() + 4000;
	struct zerr err = {0};
	unsigned done = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)usleep(500000);
		control(test, "restart");
		_exit(test->failed);
	}
	test->store->patience_ms = 20000;
	for (; zfd_now_ms() < end; done++) {
		struct container row = {0};
		char number[16];
		int result = OPS->container_get(test->store, uuid, &row, &err);

		CHECK(test, result == 0 && row.name && strtoul(row.name, NULL, 10) == done);
		(void)snprintf(number, sizeof(number), "%u", done + 1);
		CHECK(test, container_set_text(&row, CONTAINER_name, number) == 0);
		CHECK(test, OPS->container_save(test->store, &row, NULL, &err) == 0);
		container_clear(&row);
		if (test->failed)
			printf("  after %u saves: %s\n", done, err.msg);
		if (test->failed)
			break;
	}
	(void)waitpid(child, NULL, 0);
	CHECK(test, done > 100);
}

static void no_server_is_a_definite_answer(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Creating'");
	uint64_t started = zfd_now_ms();
	struct zerr err = {0};

	control(test, "stop");
	test->store->patience_ms = 1500;
	CHECK(test, set_status(test, uuid, "Created", &err) == -EAGAIN);
	CHECK(test, err.msg[0] && zfd_now_ms() - started < 10000);
	control(test, "start");
	CHECK(test, set_status(test, uuid, "Created", &err) == 0);
}

/* A fail-over leaves us with a standby, or the primary is made read-only: 25006. */
static void a_read_only_server_is_left(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Creating'");
	struct zerr err = {0};
	pid_t child;

	CHECK(test, set_status(test, uuid, "Created", &err) == 0);
	sql(test, "ALTER SYSTEM SET default_transaction_read_only = on");
	sql(test, "SELECT pg_reload_conf(), pg_sleep(0.3)");
	child = fork();
	if (child == 0) {
		test->admin = NULL;
		(void)usleep(1500000);
		sql(test, "ALTER SYSTEM RESET default_transaction_read_only");
		sql(test, "SELECT pg_reload_conf()");
		_exit(0);
	}
	CHECK(test, set_status(test, uuid, "Running", &err) == 0);
	(void)waitpid(child, NULL, 0);
	sql(test, "SELECT pg_sleep(0.3)");
	CHECK(test, strcmp(status_of(test, uuid), "Running") == 0);
}

static void a_held_lock_ends_in_time_and_says_so(struct test *test)
{
	const char *uuid = new_container(test, "status", "'Creating'");
	uint64_t started = zfd_now_ms();
	struct zerr err = {0};

	sql(test, "BEGIN");
	sql(test, "SELECT 1 FROM container WHERE uuid = '%s' FOR UPDATE", uuid);
	test->store->patience_ms = 1000;
	CHECK(test, set_status(test, uuid, "Created", &err) == -EAGAIN);
	CHECK(test, strstr(err.msg, "55P03") != NULL);
	CHECK(test, zfd_now_ms() - started < 4000);
	sql(test, "ROLLBACK");
	CHECK(test, set_status(test, uuid, "Created", &err) == 0);
}

static void a_slow_statement_is_ended_by_the_server(struct test *test)
{
	struct zerr err = {0};

	CHECK(test, pg_connect(test->store, 0, &err) == 0);
	CHECK(test, pg_run_text(test->store, "SELECT pg_sleep(5)", NULL, NULL, &err) == -EAGAIN);
	CHECK(test, test->store->fault == PG_BUSY && strstr(err.msg, "57014") != NULL);
}

static void a_silent_server_is_given_up(struct test *test)
{
	uint64_t started = zfd_now_ms();
	struct zerr err = {0};
	pid_t server;

	CHECK(test, pg_connect(test->store, 0, &err) == 0);
	server = PQbackendPID(test->store->connection);
	CHECK(test, kill(server, SIGSTOP) == 0);
	CHECK(test, pg_run_text(test->store, "SELECT 1", NULL, NULL, &err) == -EAGAIN);
	CHECK(test, test->store->fault == PG_LOST && zfd_now_ms() - started < 5000);
	CHECK(test, kill(server, SIGCONT) == 0);
}

static void bad_data_is_refused_definitely(struct test *test)
{
	struct zerr err = {0};

	CHECK(test, pg_connect(test->store, 0, &err) == 0);
	CHECK(test, pg_run_text(test->store, "SELECT 'x'::integer", NULL, NULL, &err) == -EINVAL);
	CHECK(test, test->store->fault == PG_DEFINITE && strstr(err.msg, "22P02") != NULL);
}

/* ---- a proxy that cuts the connection between COMMIT and its answer ---- */

static int unix_socket(const char *folder, bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/.s.PGSQL.5432", folder);
	if (listening)
		(void)unlink(address.sun_path);
	if (listening ? bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
				listen(fd, 8) < 0
		      : connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		zfd_closep(&fd);
		return -1;
	}
	return fd;
}

/* False when the two ends are to be closed. */
static bool relay(int from, int to, bool cut)
{
	char buffer[65536];
	ssize_t length = read(from, buffer, sizeof(buffer));
	bool commit = length > 0 && memmem(buffer, (size_t)length, "COMMIT", 7) != NULL;

	if (length <= 0 || zfd_write_all(to, buffer, (size_t)length) < 0)
		return false;
	if (commit && cut)
		(void)usleep(300000); /* the server does it; nobody hears of it */
	return !(commit && cut);
}

static void proxy(const char *folder, int listener)
{
	for (unsigned cuts = 2;;) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		int server = unix_socket(folder, false);
		struct pollfd fds[2] = {{.fd = client, .events = POLLIN},
					{.fd = server, .events = POLLIN}};

		while (poll(fds, 2, -1) > 0) {
			if (fds[0].revents && !relay(client, server, cuts > 0)) {
				cuts -= cuts > 0;
				break;
			}
			if (fds[1].revents && !relay(server, client, false))
				break;
		}
		zfd_closep(&client);
		zfd_closep(&server);
	}
}

static pid_t proxy_start(struct test *test, char folder[128])
{
	int listener;
	pid_t child;

	(void)snprintf(folder, 128, "%.90s/proxy", test->folder);
	(void)mkdir(folder, 0755);
	listener = unix_socket(folder, true);
	CHECK(test, listener >= 0);
	child = fork();
	if (child == 0)
		proxy(test->folder, listener);
	zfd_closep(&listener);
	return child;
}

/* Counts the UPDATEs of container. */
static void count_updates(struct test *test)
{
	sql(test, "CREATE TABLE written (n serial)");
	sql(test, "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
		  "$$BEGIN INSERT INTO written DEFAULT VALUES; RETURN NEW; END$$");
	sql(test, "GRANT ALL ON written, written_n_seq TO zun");
	sql(test,
	    "CREATE TRIGGER note AFTER UPDATE ON container FOR EACH ROW EXECUTE FUNCTION note()");
}

static bool updated_once(struct test *test)
{
	bool once = strcmp(sql(test, "SELECT count(*) FROM written"), "1") == 0;

	sql(test, "TRUNCATE written");
	return once;
}

static void proxy_stop(pid_t child)
{
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
}

static void a_commit_without_an_answer_is_looked_up(struct test *test)
{
	const char *uuid = new_container(test, "status, memory", "'Creating', '100'");
	struct store_action action = {.uuid = uuid, .request_id = "r", .name = "create"};
	const struct claim_limits unlimited = {-1, -1, -1};
	struct config config = test->config;
	char folder[128];
	pid_t child = proxy_start(test, folder);
	struct zerr err = {0};

	config.db_host = folder;
	test->store->config = &config;
	sql(test,
	    "INSERT INTO container_actions (action, container_uuid, request_id) VALUES ('create', "
	    "'%s', 'r')",
	    uuid);
	node_row(test);
	count_updates(test);
	/* Two cuts: claim and event_start lose the answer to their COMMIT. */
	CHECK(test, OPS->claim(test->store, HOST, uuid, &unlimited, &err) == 0);
	CHECK(test,
	      OPS->event_start(test->store, &action, "compute__do_container_create", &err) == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT mem_used || ' ' || running_containers FROM compute_node"),
		     "100 1") == 0);
	CHECK(test, strcmp(sql(test, "SELECT count(*) FROM container_actions_events"), "1") == 0);
	CHECK(test, updated_once(test));
	proxy_stop(child);
	child = proxy_start(test, folder);
	/* container_get and the save itself lose theirs. */
	CHECK(test, set_status(test, uuid, "Created", &err) == 0);
	CHECK(test, strcmp(status_of(test, uuid), "Created") == 0 && updated_once(test));
	proxy_stop(child);
	pg_disconnect(test->store);
	test->store->config = &test->config;
	sql(test, "DROP FUNCTION note CASCADE");
	sql(test, "DROP TABLE written");
}

const struct named_test fault_tests[] = {
	{"a_session_that_was_ended_is_replaced", a_session_that_was_ended_is_replaced},
	{"a_restart_of_the_server_loses_nothing", a_restart_of_the_server_loses_nothing},
	{"no_server_is_a_definite_answer", no_server_is_a_definite_answer},
	{"a_read_only_server_is_left", a_read_only_server_is_left},
	{"a_held_lock_ends_in_time_and_says_so", a_held_lock_ends_in_time_and_says_so},
	{"a_slow_statement_is_ended_by_the_server", a_slow_statement_is_ended_by_the_server},
	{"a_silent_server_is_given_up", a_silent_server_is_given_up},
	{"bad_data_is_refused_definitely", bad_data_is_refused_definitely},
	{"a_commit_without_an_answer_is_looked_up", a_commit_without_an_answer_is_looked_up},
	{NULL, NULL},
};

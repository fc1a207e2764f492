/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, usage, heartbeat and the node's row. */
#include "store_test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPS (&store_postgresql)

static const struct claim_limits unlimited = {-1, -1, -1};

void node_row(struct test *test)
{
	sql(test, "INSERT INTO compute_node (uuid, rp_uuid, hostname, mem_total, mem_free, "
		  "mem_available, mem_used, "
		  "total_containers, running_containers, paused_containers, stopped_containers, "
		  "cpus, cpu_used, "
		  "disk_total, disk_used) VALUES ('n1', 'n1', 'node-1', 1000, 1000, 900, 0, 0, 0, "
		  "0, 0, 4, 0, 50, 0)");
}

static const char *usage(struct test *test)
{
	return sql(test, "SELECT mem_used || ' ' || mem_free || ' ' || cpu_used || ' ' || "
			 "disk_used || ' ' || "
			 "running_containers FROM compute_node");
}

static void a_claim_counts_once_and_is_given_back(struct test *test)
{
	const char *uuid = new_container(test, "memory, cpu, disk", "'512', 0.5, 3");
	struct zerr err = {0};

	node_row(test);
	CHECK(test, OPS->claim(test->store, HOST, uuid, &unlimited, &err) == 0);
	CHECK(test, OPS->claim(test->store, HOST, uuid, &unlimited, &err) == 0);
	CHECK(test, strcmp(usage(test), "512 488 0.5 3 1") == 0);
	CHECK(test, strcmp(sql(test, "SELECT host FROM container"), HOST) == 0);
	CHECK(test, OPS->claim(test->store, "other", uuid, &unlimited, &err) == -EBUSY);
	CHECK(test, OPS->release(test->store, "other", uuid, &err) == 0);
	CHECK(test, strcmp(usage(test), "512 488 0.5 3 1") == 0);
	CHECK(test, OPS->release(test->store, HOST, uuid, &err) == 0);
	CHECK(test, OPS->release(test->store, HOST, uuid, &err) == 0);
	CHECK(test, strcmp(usage(test), "0 1000 0 0 0") == 0);
	CHECK(test, strcmp(sql(test, "SELECT host IS NULL FROM container"), "t") == 0);
}

static void host_is_set_even_when_nothing_is_asked(struct test *test)
{
	const char *uuid = new_container(test, "memory", "'0'");
	struct zerr err = {0};

	CHECK(test, OPS->claim(test->store, HOST, uuid, &unlimited, &err) ==
			    0); /* K36; and without a node row */
	CHECK(test, strcmp(sql(test, "SELECT host FROM container"), HOST) == 0);
	CHECK(test, OPS->claim(test->store, HOST, "no-such-uuid", &unlimited, &err) == -ENOENT);
}

static void a_claim_over_the_limit_says_what_is_short(struct test *test)
{
	const char *uuid = new_container(test, "memory, cpu, disk", "'512', 1.5, 3");
	struct claim_limits limits = {.memory_mib = 511, .cpu = 1, .disk_gib = 3};
	struct zerr err = {0};

	node_row(test);
	CHECK(test, OPS->claim(test->store, HOST, uuid, &limits, &err) == -ENOSPC);
	CHECK(test,
	      strcmp(err.msg,
		     "Insufficient compute resources: Free memory 511.00 MB < requested 512 MB; "
		     "Free vcpu 1.00 VCPU < requested 1.5 VCPU.") == 0);
	CHECK(test, strcmp(usage(test), "0 1000 0 0 0") == 0);
	CHECK(test, strcmp(sql(test, "SELECT host IS NULL FROM container"), "t") == 0);
	limits = (struct claim_limits){.memory_mib = 512, .cpu = 1.5, .disk_gib = 3};
	CHECK(test, OPS->claim(test->store, HOST, uuid, &limits, &err) == 0);
}

static void an_amount_that_makes_no_sense_is_refused(struct test *test)
{
	const char *uuid = new_container(test, "memory", "'512m'");
	struct zerr err = {0};

	CHECK(test, OPS->claim(test->store, HOST, uuid, &unlimited, &err) == -EINVAL);
	CHECK(test, strstr(err.msg, "memory") != NULL);
}

static void destroy_gives_the_usage_back(struct test *test)
{
	const char *uuid = new_container(test, "memory, cpu", "'100', 1");
	struct zerr err = {0};

	node_row(test);
	CHECK(test, OPS->claim(test->store, HOST, uuid, &unlimited, &err) == 0);
	CHECK(test, OPS->container_destroy(test->store, uuid, false, &err) == 0);
	CHECK(test, OPS->container_destroy(test->store, uuid, false, &err) == 0);
	CHECK(test, strcmp(usage(test), "0 1000 0 0 0") == 0);
}

/* Claims each uuid over a connection of its own process; the exit status is the number of
 * successes. */
static int claim_in_child(struct test *test, const char *const *uuids, unsigned count,
			  const struct claim_limits *limits)
{
	struct store *store = test_store(test);
	int claimed = 0;

	store->patience_ms = 30000;
	for (unsigned i = 0; i < count; i++) {
		struct zerr err = {0};
		int result = OPS->claim(store, HOST, uuids[i], limits, &err);

		if (result < 0 && result != -ENOSPC)
			printf("  child: %s\n", err.msg);
		claimed += result == 0;
	}
	OPS->close(store);
	return claimed;
}

static int race(struct test *test, const struct claim_limits *limits)
{
	const char *uuids[4][10];
	pid_t children[4];
	int claimed = 0;

	for (unsigned child = 0; child < 4; child++)
		for (unsigned i = 0; i < 10; i++)
			uuids[child][i] = new_container(test, "memory, cpu", "'10', 0.25");
	(void)fflush(stdout);
	for (unsigned child = 0; child < 4; child++) {
		children[child] = fork();
		if (children[child] == 0)
			_exit(claim_in_child(test, uuids[child], 10, limits));
	}
	for (unsigned child = 0; child < 4; child++) {
		int status = 0;

		CHECK(test, waitpid(children[child], &status, 0) > 0 && WIFEXITED(status));
		claimed += WEXITSTATUS(status);
	}
	return claimed;
}

static void racing_claims_never_pass_the_limit(struct test *test)
{
	struct claim_limits limits = {.memory_mib = 175, .cpu = -1, .disk_gib = -1};

	node_row(test);
	CHECK(test, race(test, &limits) == 17);
	CHECK(test, strcmp(usage(test), "170 830 4.25 0 17") == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT count(*) FROM container WHERE host = 'node-1'"), "17") == 0);
}

static void conflicts_are_run_again(struct test *test)
{
	sql(test, "ALTER DATABASE zun SET default_transaction_isolation = 'repeatable read'");
	node_row(test);
	CHECK(test, race(test, &unlimited) >= 36); /* a few may lose five times in a row */
	CHECK(test, strcmp(sql(test, "SELECT count(*) = (SELECT running_containers FROM "
				     "compute_node) FROM container "
				     "WHERE host = 'node-1'"),
			   "t") == 0);
	sql(test, "ALTER DATABASE zun RESET default_transaction_isolation");
}

static void heartbeat_makes_and_moves_the_service_row(struct test *test)
{
	struct zerr err = {0};
	const char *const row =
		"SELECT report_count || availability_zone || disabled || forced_down || "
		"(last_seen_up IS NOT NULL) FROM zun_service WHERE \"binary\" = 'zun-compute'";

	CHECK(test, OPS->heartbeat(test->store, HOST, "nova", true, &err) == 0);
	CHECK(test, strcmp(sql(test, "%s", row), "1novafalsefalsetrue") == 0);
	sql(test, "UPDATE zun_service SET disabled = true, report_count = 41");
	CHECK(test, OPS->heartbeat(test->store, HOST, "az2", false, &err) == 0);
	CHECK(test, strcmp(sql(test, "%s", row), "42novatruefalsetrue") == 0);
	CHECK(test, OPS->heartbeat(test->store, HOST, "az2", true, &err) == 0);
	CHECK(test, strcmp(sql(test, "%s", row), "43az2truefalsetrue") == 0);
	CHECK(test, strcmp(sql(test, "SELECT count(*) FROM zun_service"), "1") == 0);
}

static struct compute_node node_of(void)
{
	static char labels[] = "{}", runtimes[] = "[\"runc\"]", numa[] = "{\"nodes\": []}";

	return (struct compute_node){.hostname = HOST,
				     .architecture = "x86_64",
				     .os_type = "linux",
				     .os = "Debian",
				     .kernel_version = "6.1",
				     .labels = labels,
				     .runtimes = runtimes,
				     .numa_topology = numa,
				     .mem_total = 1000,
				     .mem_available = 800,
				     .cpus = 4,
				     .total_containers = 9,
				     .disk_total = 50};
}

static void the_node_row_is_made_and_its_usage_counted_anew(struct test *test)
{
	struct compute_node node = node_of();
	struct zerr err = {0};

	(void)new_container(test, "host, memory, cpu, disk", "'node-1', '300', 0.5, 2");
	(void)new_container(test, "host, memory, cpu, status", "'node-1', '', 1e-3, 'Error'");
	(void)new_container(test, "host, memory, cpu", "'node-1', '12kg', 'NaN'");
	(void)new_container(test, "host, memory, cpu, container_type", "'node-1', '300', 1, 2");
	(void)new_container(test, "host, memory", "'other', '300'");
	CHECK(test, OPS->compute_node_update(test->store, &node, &err) == 0);
	CHECK(test, strcmp(usage(test), "300 700 0.501 2 3") == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT uuid = rp_uuid AND length(uuid) = 36 FROM compute_node"),
		     "t") == 0);
	CHECK(test, strcmp(sql(test, "SELECT uuid FROM compute_node"), node.uuid) == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT concat_ws(' ', hostname, mem_available, total_containers, "
			       "cpus, architecture, "
			       "os_type, os, kernel_version, labels, runtimes, numa_topology, "
			       "disk_total, "
			       "disk_quota_supported) FROM compute_node"),
		     "node-1 800 9 4 x86_64 linux Debian 6.1 {} [\"runc\"] {\"nodes\": []} 50 f") ==
		      0);
}

static void an_unchanged_node_is_not_written(struct test *test)
{
	struct compute_node node = node_of();
	struct zerr err = {0};

	CHECK(test, OPS->compute_node_update(test->store, &node, &err) == 0);
	CHECK(test, OPS->compute_node_update(test->store, &node, &err) == 0);
	CHECK(test, strcmp(sql(test, "SELECT updated_at IS NULL FROM compute_node"), "t") == 0);
	node.cpus = 8;
	CHECK(test, OPS->compute_node_update(test->store, &node, &err) == 0);
	CHECK(test,
	      strcmp(sql(test, "SELECT (updated_at IS NOT NULL)::text || cpus FROM compute_node"),
		     "true8") == 0);
}

static void two_rows_of_one_node_are_a_conflict(struct test *test)
{
	struct compute_node node = node_of();
	struct zerr err = {0};

	node_row(test);
	sql(test, "INSERT INTO compute_node SELECT * FROM compute_node WHERE false");
	sql(test, "INSERT INTO compute_node (uuid, rp_uuid, hostname, mem_total, mem_free, "
		  "mem_available, mem_used, "
		  "total_containers, running_containers, paused_containers, stopped_containers, "
		  "cpus, cpu_used, "
		  "disk_total, disk_used) VALUES ('n2', 'n2', 'node-1', 0, 0, 0, 0, 0, 0, 0, 0, 4, "
		  "0, 50, 0)");
	CHECK(test, OPS->compute_node_update(test->store, &node, &err) == -EEXIST);
}

const struct named_test node_tests[] = {
	{"a_claim_counts_once_and_is_given_back", a_claim_counts_once_and_is_given_back},
	{"host_is_set_even_when_nothing_is_asked", host_is_set_even_when_nothing_is_asked},
	{"a_claim_over_the_limit_says_what_is_short", a_claim_over_the_limit_says_what_is_short},
	{"an_amount_that_makes_no_sense_is_refused", an_amount_that_makes_no_sense_is_refused},
	{"destroy_gives_the_usage_back", destroy_gives_the_usage_back},
	{"racing_claims_never_pass_the_limit", racing_claims_never_pass_the_limit},
	{"conflicts_are_run_again", conflicts_are_run_again},
	{"heartbeat_makes_and_moves_the_service_row", heartbeat_makes_and_moves_the_service_row},
	{"the_node_row_is_made_and_its_usage_counted_anew",
	 the_node_row_is_made_and_its_usage_counted_anew},
	{"an_unchanged_node_is_not_written", an_unchanged_node_is_not_written},
	{"two_rows_of_one_node_are_a_conflict", two_rows_of_one_node_are_a_conflict},
	{NULL, NULL},
};

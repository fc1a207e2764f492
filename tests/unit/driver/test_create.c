/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as requests for a container. */
#include "common/zfd.h"
#include "tests/unit/driver/fake_helper.h"
#include "unpriv/driver/docker_create.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>

#define UUID_TEXT "7f3c2b8e-7f0e-4b5c-9d57-6a1f3c0f2b11"

static const struct docker_create_options options = {
	.reference = "nginx:latest", .default_runtime = "runc", .api_minor = 41};

static void set(struct container *row, enum container_column column, const char *value)
{
	assert_int_equal(container_set_text(row, column, value), 0);
}

static void assert_zstr(struct zstr text, const char *expected)
{
	if (!zstr_equal(text, expected))
		fail_msg("\"%.*s\" is not \"%s\"", (int)text.length, text.data, expected);
}

/* The contract's full example, as a row. */
static void full_row(struct container *row)
{
	*row = (struct container){.cpu = 0.5, .disk = 10, .interactive = true, .tty = true};
	set(row, CONTAINER_uuid, UUID_TEXT);
	set(row, CONTAINER_image, "nginx");
	set(row, CONTAINER_command, "[\"nginx\", \"-g\", \"daemon off;\"]");
	set(row, CONTAINER_entrypoint, "[\"/e.sh\"]");
	set(row, CONTAINER_environment, "{\"A\": \"1\", \"B\": \"x=y\"}");
	set(row, CONTAINER_labels, "{\"k\": \"v\"}");
	set(row, CONTAINER_workdir, "/w");
	set(row, CONTAINER_hostname, "web");
	set(row, CONTAINER_memory, "512");
	set(row, CONTAINER_restart_policy,
	    "{\"Name\": \"on-failure\", \"MaximumRetryCount\": \"3\"}");
	set(row, CONTAINER_exposed_ports, "{\"80/tcp\": {}, \"53\": {}}");
	set(row, CONTAINER_healthcheck,
	    "{\"test\": \"true\", \"interval\": 5, \"retries\": 3, \"timeout\": 2}");
}

static void test_the_full_example_is_mapped_field_by_field(void **state)
{
	_cleanup_(docker_create_freep) struct docker_create *create = NULL;
	_cleanup_(container_clear) struct container row;
	const struct req_docker_container_create *request;
	struct zerr err;

	(void)state;
	full_row(&row);
	assert_int_equal(docker_create_build(&row, &options, &create, &err), 0);
	request = &create->request;

	assert_zstr(request->image, "nginx:latest");
	assert_int_equal(request->command_count, 3);
	assert_zstr(request->command[2], "daemon off;");
	assert_int_equal(request->entrypoint_count, 1);
	assert_zstr(request->entrypoint[0], "/e.sh");
	assert_int_equal(request->environment_count, 4);
	assert_zstr(request->environment[2], "B");
	assert_zstr(request->environment[3], "x=y");
	assert_int_equal(request->labels_count, 2);
	assert_zstr(request->workdir, "/w");
	assert_zstr(request->hostname, "web");
	assert_zstr(request->runtime, "runc");
	assert_true(request->tty == 1 && request->interactive == 1);
	assert_true(request->auto_remove == 0 && request->privileged == 0);
	assert_true(request->memory_bytes == 536870912 && request->cpu_shares == 512);
	assert_int_equal(request->storage_gib, 10);
	assert_int_equal(request->restart_policy, PROTO_RESTART_ON_FAILURE);
	assert_int_equal(request->restart_retries, 3);
	assert_int_equal(request->exposed_ports_count, 2);
	assert_zstr(request->exposed_ports[1], "53/tcp");
	assert_int_equal(request->healthcheck, 1);
	assert_zstr(request->health_command, "true");
	assert_true(request->health_interval_ns == 5000000000 &&
		    request->health_timeout_ns == 2000000000);
	assert_int_equal(request->health_retries, 3);
}

static void test_an_empty_row_asks_for_nothing_special(void **state)
{
	_cleanup_(docker_create_freep) struct docker_create *create = NULL;
	_cleanup_(container_clear) struct container row = {0};
	struct zerr err;

	(void)state;
	set(&row, CONTAINER_uuid, UUID_TEXT);
	set(&row, CONTAINER_healthcheck, "{}");
	set(&row, CONTAINER_restart_policy, "{}");
	set(&row, CONTAINER_command, "null");
	assert_int_equal(docker_create_build(&row, &options, &create, &err), 0);

	assert_int_equal(create->request.command_count + create->request.labels_count, 0);
	assert_true(create->request.memory_bytes == 0 && create->request.cpu_shares == 0);
	assert_int_equal(create->request.storage_gib, 0);
	assert_int_equal(create->request.restart_policy, PROTO_RESTART_UNSET);
	assert_int_equal(create->request.healthcheck, 0);
	assert_int_equal(create->request.hostname.length, 0);
}

static const struct {
	enum container_column column;
	const char *value;
	bool good;
} texts[] = {
	{CONTAINER_uuid, "nonsense", false},
	{CONTAINER_memory, "0", true},
	{CONTAINER_memory, "", true},
	{CONTAINER_memory, "512m", false},
	{CONTAINER_memory, "-1", false},
	{CONTAINER_memory, "1.5", false},
	{CONTAINER_memory, "8796093022207", true},
	{CONTAINER_memory, "8796093022208", false},
	{CONTAINER_memory, "99999999999999999999", false},
	{CONTAINER_command, "[\"\", \"a b\", \"'\\\"\\\\\", \"x\\ny\", \"\\u00e4\"]", true},
	{CONTAINER_command, "[\"a\\u0000b\"]", false},
	{CONTAINER_command, "[1]", false},
	{CONTAINER_command, "\"sleep 1\"", false},
	{CONTAINER_command, "[\"a\"", false},
	{CONTAINER_environment, "{\"A\": 1, \"B\": true, \"C\": 1.50}", true},
	{CONTAINER_environment, "{\"A\": null}", false},
	{CONTAINER_environment, "{\"A\": {}}", false},
	{CONTAINER_environment, "{\"A=B\": \"1\"}", false},
	{CONTAINER_environment, "{\"\": \"1\"}", false},
	{CONTAINER_environment, "[\"A=1\"]", false},
	{CONTAINER_labels, "{\"io.keelson.uuid\": \"" UUID_TEXT "\"}", false},
	{CONTAINER_labels, "{\"io.keelson.\": \"\"}", false},
	{CONTAINER_labels, "{\"io.keelsonx\": \"\"}", true},
	{CONTAINER_workdir, "rel", false},
	{CONTAINER_workdir, "/a\tb", false},
	{CONTAINER_hostname, "a_b", false},
	{CONTAINER_runtime, "kata", true},
	{CONTAINER_runtime, "/bin/sh", false},
	{CONTAINER_restart_policy, "{\"Name\": \"always\", \"MaximumRetryCount\": \"0\"}", true},
	{CONTAINER_restart_policy, "{\"Name\": \"unless-stopped\", \"MaximumRetryCount\": 0}",
	 true},
	{CONTAINER_restart_policy, "{\"Name\": \"no\"}", true},
	{CONTAINER_restart_policy, "{\"Name\": \"\", \"MaximumRetryCount\": \"\"}", true},
	{CONTAINER_restart_policy, "{\"Name\": \"sometimes\"}", false},
	{CONTAINER_restart_policy, "{\"Name\": \"on-failure\", \"MaximumRetryCount\": \"-1\"}",
	 false},
	{CONTAINER_restart_policy, "{\"Name\": \"on-failure\", \"MaximumRetryCount\": \"x\"}",
	 false},
	{CONTAINER_restart_policy, "{\"Name\": \"on-failure\", \"MaximumRetryCount\": 1e20}",
	 false},
	{CONTAINER_restart_policy, "{\"Name\": 1}", false},
	{CONTAINER_healthcheck, "{\"test\": \"true\", \"interval\": \"5\"}", true},
	{CONTAINER_healthcheck, "{\"interval\": 5}", true},
	{CONTAINER_healthcheck, "{\"test\": \"true\", \"interval\": -5}", false},
	{CONTAINER_healthcheck, "{\"test\": \"true\", \"timeout\": 9223372037}", false},
	{CONTAINER_healthcheck, "{\"test\": 1}", false},
	{CONTAINER_exposed_ports, "{\"80/udp\": null}", true},
	{CONTAINER_exposed_ports, "{\"0/tcp\": {}}", false},
	{CONTAINER_exposed_ports, "{\"80-90/tcp\": {}}", false},
	{CONTAINER_exposed_ports, "{\"80/icmp\": {}}", false},
	{CONTAINER_exposed_ports, "{\"80/tcp and a long tail of letters\": {}}", false},
};

static void test_what_cannot_be_sent_is_refused_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_(docker_create_freep) struct docker_create *create = NULL;
		_cleanup_(container_clear) struct container row;
		struct zerr err = {0};
		int result;

		full_row(&row);
		set(&row, texts[i].column, texts[i].value);
		result = docker_create_build(&row, &options, &create, &err);
		if (result != (texts[i].good ? 0 : -EINVAL))
			fail_msg("%s: %d %s", texts[i].value, result, err.msg);
		if (result < 0 && err.msg[0] == '\0')
			fail_msg("%s: no reason", texts[i].value);
	}
}

static void test_cpus_become_shares_that_the_kernel_takes(void **state)
{
	static const struct {
		double cpu;
		int64_t shares; /* -1: refused */
	} cpus[] = {{0, 0},	{0.5, 512},    {1.5, 1536},    {1e-3, 2},
		    {1e-9, 2},	{256, 262144}, {0.9999, 1023}, {257, -1},
		    {-0.1, -1}, {NAN, -1},     {INFINITY, -1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		_cleanup_(docker_create_freep) struct docker_create *create = NULL;
		_cleanup_(container_clear) struct container row;
		struct zerr err;
		int result;

		full_row(&row);
		row.cpu = cpus[i].cpu;
		result = docker_create_build(&row, &options, &create, &err);
		assert_int_equal(result, cpus[i].shares < 0 ? -EINVAL : 0);
		if (result == 0)
			assert_true(create->request.cpu_shares == cpus[i].shares);
	}
}

static void test_a_runtime_needs_an_engine_that_can_choose(void **state)
{
	const struct docker_create_options old = {
		.reference = "a:1", .default_runtime = "runc", .api_minor = 25};
	_cleanup_(docker_create_freep) struct docker_create *create = NULL;
	_cleanup_(container_clear) struct container row;
	struct zerr err;

	(void)state;
	full_row(&row);
	assert_int_equal(docker_create_build(&row, &old, &create, &err), 0);
	assert_int_equal(create->request.runtime.length, 0);
	docker_create_freep(&create);
	create = NULL;

	set(&row, CONTAINER_runtime, "kata");
	assert_int_equal(docker_create_build(&row, &old, &create, &err), -EINVAL);
}

/* A list of count strings of length bytes as JSON, owned. */
static char *big_list(size_t count, size_t length)
{
	char *text = malloc(count * (length + 3) + 3);
	size_t used = 1;

	assert_non_null(text);
	text[0] = '[';
	for (size_t i = 0; i < count; i++) {
		text[used++] = '"';
		memset(text + used, 'a', length);
		used += length;
		text[used++] = '"';
		text[used++] = ',';
	}
	text[used - 1] = ']';
	text[used] = '\0';
	return text;
}

static void test_large_commands_are_taken_up_to_the_bounds_of_the_table(void **state)
{
	static const struct {
		size_t count, length;
		int result;
	} sizes[] = {{1024, 10, 0},	  {1025, 10, -EINVAL}, {1, 65535, 0},
		     {1, 65536, -EINVAL}, {15, 60000, 0},      {18, 61000, -EINVAL}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		_cleanup_(docker_create_freep) struct docker_create *create = NULL;
		_cleanup_(container_clear) struct container row;
		_cleanup_free_ char *list = big_list(sizes[i].count, sizes[i].length);
		struct zerr err;

		full_row(&row);
		set(&row, CONTAINER_command, list);
		assert_int_equal(docker_create_build(&row, &options, &create, &err),
				 sizes[i].result);
	}
}

static void test_a_leftover_matches_only_when_nothing_differs(void **state)
{
	_cleanup_(docker_container_clear) struct docker_container there = {0};
	_cleanup_(docker_create_freep) struct docker_create *create = NULL;
	_cleanup_(container_clear) struct container row = {.cpu = 0.5, .interactive = true};
	const struct docker_create_options wanted = {.reference = "127.0.0.1:5001/busybox:1.35",
						     .default_runtime = "runc",
						     .api_minor = 41};
	struct zerr err;
	size_t length;
	_cleanup_free_ char *text = fake_data("inspect_created.json", &length);

	(void)state;
	set(&row, CONTAINER_uuid, UUID_TEXT);
	set(&row, CONTAINER_command, "[\"sleep\", \"900\"]");
	set(&row, CONTAINER_environment, "{\"A\": \"1\"}");
	set(&row, CONTAINER_memory, "512");
	assert_int_equal(docker_container_read(text, length, &there, &err), 0);
	assert_int_equal(docker_create_build(&row, &wanted, &create, &err), 0);
	assert_true(docker_create_matches(create, &row, &there));

	create->request.environment[1] = zstr_from("2");
	assert_false(docker_create_matches(create, &row, &there));
	create->request.environment[1] = zstr_from("1");
	create->request.memory_bytes = 1;
	assert_false(docker_create_matches(create, &row, &there));
	create->request.memory_bytes = 536870912;
	set(&row, CONTAINER_command, "[\"sleep\", \"901\"]");
	assert_false(docker_create_matches(create, &row, &there));
	set(&row, CONTAINER_command, "[\"sleep\", \"900\"]");
	set(&row, CONTAINER_entrypoint, "[\"x\"]");
	assert_false(docker_create_matches(create, &row, &there));
	set(&row, CONTAINER_entrypoint, "[]");
	create->request.image = zstr_from("127.0.0.1:5001/busybox:1.36");
	assert_false(docker_create_matches(create, &row, &there));
	create->request.image = zstr_from("127.0.0.1:5001/busybox:1.35");
	assert_true(docker_create_matches(create, &row, &there));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_full_example_is_mapped_field_by_field),
		cmocka_unit_test(test_an_empty_row_asks_for_nothing_special),
		cmocka_unit_test(test_what_cannot_be_sent_is_refused_by_name),
		cmocka_unit_test(test_cpus_become_shares_that_the_kernel_takes),
		cmocka_unit_test(test_a_runtime_needs_an_engine_that_can_choose),
		cmocka_unit_test(test_large_commands_are_taken_up_to_the_bounds_of_the_table),
		cmocka_unit_test(test_a_leftover_matches_only_when_nothing_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

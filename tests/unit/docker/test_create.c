/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of privsep/docker_create.c: the policy's word, and the JSON field by field. */
#include "fake_engine.h"
#include "privsep/docker_create.h"
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GIB	     (UINT64_C(1) << 30)

static struct create_buffer buffer;
static struct site_policy site;
static struct req_docker_container_create create;

static int set_up(void **state)
{
	static const char *const any[] = {"*", NULL};

	(void)state;
	memset(&site, 0, sizeof(site));
	set_list(&site.runtimes, any);
	set_list(&site.registries, any);
	memset(&create, 0, sizeof(create));
	create.api_minor = 41;
	create.wait_ms = 1000;
	memcpy(create.uuid, test_uuid, UUID_SIZE);
	create.image = zstr_from("nginx:latest");
	return 0;
}

static void add(struct zstr *items, size_t *count, const char *text)
{
	items[(*count)++] = zstr_from(text);
}

/* What json-c makes of the writer's text; released by the caller. */
static struct json_object *written(void)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;
	struct zstr text;

	assert_true(docker_create_json(&site, &create, &buffer, &text));
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, text.data, (int)text.length);
	assert_non_null(object);
	assert_int_equal(json_tokener_get_parse_end(tokener), text.length);
	json_tokener_free(tokener);
	return object;
}

static void assert_written(const char *expected)
{
	struct json_object *is = written();
	struct json_object *should = json_tokener_parse(expected);

	assert_non_null(should);
	if (!json_object_equal(is, should))
		fail_msg("%s", json_object_to_json_string(is));
	json_object_put(is);
	json_object_put(should);
}

/*
 * The example of docker-driver.md §2, less what a Neutron network adds (MacAddress,
 * NetworkingConfig, the network's id as mode), more our label.
 */
static void test_recorded_example_is_written_field_by_field(void **state)
{
	(void)state;
	add(create.command, &create.command_count, "nginx");
	add(create.command, &create.command_count, "-g");
	add(create.command, &create.command_count, "daemon off;");
	add(create.entrypoint, &create.entrypoint_count, "/e.sh");
	add(create.environment, &create.environment_count, "A");
	add(create.environment, &create.environment_count, "1");
	add(create.labels, &create.labels_count, "k");
	add(create.labels, &create.labels_count, "v");
	add(create.exposed_ports, &create.exposed_ports_count, "80/tcp");
	create.workdir = zstr_from("/w");
	create.runtime = zstr_from("runc");
	create.tty = create.interactive = create.healthcheck = 1;
	create.memory_bytes = 536870912;
	create.cpu_shares = 512;
	create.storage_gib = 10;
	create.restart_policy = PROTO_RESTART_ON_FAILURE;
	create.restart_retries = 3;
	create.health_command = zstr_from("true");
	create.health_interval_ns = 5000000000;
	create.health_timeout_ns = 2000000000;
	create.health_retries = 3;

	assert_written(
		"{\"AttachStderr\":true,\"AttachStdin\":true,\"AttachStdout\":true,"
		"\"Cmd\":[\"nginx\",\"-g\",\"daemon off;\"],\"Entrypoint\":[\"/e.sh\"],"
		"\"Env\":[\"A=1\"],\"ExposedPorts\":{\"80/tcp\":{}},"
		"\"Healthcheck\":{\"Interval\":5000000000,\"Retries\":3,\"StartPeriod\":null,"
		"\"Test\":[\"CMD-SHELL\",\"true\"],\"Timeout\":2000000000},"
		"\"HostConfig\":{\"Binds\":[],\"CpuShares\":512,\"Memory\":536870912,"
		"\"NetworkMode\":\"none\","
		"\"RestartPolicy\":{\"MaximumRetryCount\":3,\"Name\":\"on-failure\"},"
		"\"Runtime\":\"runc\",\"StorageOpt\":{\"size\":\"10G\"}},"
		"\"Image\":\"nginx:latest\","
		"\"Labels\":{\"k\":\"v\",\"io.keelson.uuid\":\"" TEST_UUID "\"},"
		"\"NetworkDisabled\":false,\"OpenStdin\":true,\"StdinOnce\":true,"
		"\"Tty\":true,\"Volumes\":{},\"WorkingDir\":\"/w\"}");
}

static void test_empty_fields_are_left_out(void **state)
{
	(void)state;
	assert_written("{\"AttachStderr\":true,\"AttachStdin\":false,\"AttachStdout\":true,"
		       "\"HostConfig\":{\"Binds\":[],\"NetworkMode\":\"none\"},"
		       "\"Image\":\"nginx:latest\",\"Labels\":{\"io.keelson.uuid\":\"" TEST_UUID
		       "\"},"
		       "\"NetworkDisabled\":false,\"OpenStdin\":false,\"StdinOnce\":false,"
		       "\"Tty\":false,\"Volumes\":{}}");
}

static void test_policy_adds_its_ceilings_to_a_request_without_limits(void **state)
{
	static const char *const runtimes[] = {"runc", "kata", NULL};

	(void)state;
	site.memory_max_bytes = GIB;
	site.cpu_shares_max = 512;
	site.pids_max = 100;
	site.disk_max_gib = 20;
	site.no_new_privileges = true;
	set_list(&site.runtimes, runtimes);
	create.hostname = zstr_from("web-1");
	create.auto_remove = 1;

	assert_written("{\"AttachStderr\":true,\"AttachStdin\":false,\"AttachStdout\":true,"
		       "\"HostConfig\":{\"Binds\":[],\"NetworkMode\":\"none\",\"Runtime\":\"runc\","
		       "\"Memory\":1073741824,\"CpuShares\":512,\"PidsLimit\":100,"
		       "\"StorageOpt\":{\"size\":\"20G\"},\"AutoRemove\":true,"
		       "\"SecurityOpt\":[\"no-new-privileges\"]},"
		       "\"Hostname\":\"web-1\","
		       "\"Image\":\"nginx:latest\",\"Labels\":{\"io.keelson.uuid\":\"" TEST_UUID
		       "\"},"
		       "\"NetworkDisabled\":false,\"OpenStdin\":false,\"StdinOnce\":false,"
		       "\"Tty\":false,\"Volumes\":{}}");
}

static void test_cpu_ceiling_above_the_engines_default_adds_nothing(void **state)
{
	struct json_object *object, *host;

	(void)state;
	site.cpu_shares_max = 1024;
	object = written();
	assert_true(json_object_object_get_ex(object, "HostConfig", &host));
	assert_false(json_object_object_get_ex(host, "CpuShares", NULL));
	json_object_put(object);
}

static void test_privileged_needs_policy_and_request(void **state)
{
	static const struct {
		bool site, create;
		const char *rule;
		bool written;
	} cases[] = {{false, false, NULL, false},
		     {false, true, "privileged", false},
		     {true, false, NULL, false},
		     {true, true, NULL, true}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct json_object *object, *host, *privileged = NULL;
		const char *rule;

		site.privileged = cases[i].site;
		create.privileged = cases[i].create;
		rule = docker_create_judge(&site, &create);
		assert_true(rule == cases[i].rule || strcmp(rule, cases[i].rule) == 0);
		/* Even a request that was not judged does not get it. */
		object = written();
		assert_true(json_object_object_get_ex(object, "HostConfig", &host));
		assert_int_equal(json_object_object_get_ex(host, "Privileged", &privileged),
				 cases[i].written);
		assert_true(!cases[i].written || json_object_get_boolean(privileged));
		json_object_put(object);
	}
}

static void test_restart_policies_have_their_names(void **state)
{
	static const char *const names[] = {NULL, "no", "always", "on-failure", "unless-stopped"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct json_object *object, *host, *policy = NULL, *name = NULL;

		create.restart_policy = (uint8_t)i;
		object = written();
		assert_true(json_object_object_get_ex(object, "HostConfig", &host));
		(void)json_object_object_get_ex(host, "RestartPolicy", &policy);
		(void)json_object_object_get_ex(policy, "Name", &name);
		if (names[i] == NULL)
			assert_null(policy);
		else
			assert_string_equal(json_object_get_string(name), names[i]);
		json_object_put(object);
	}
}

/* known-faults F25: argv arrives element by element as it was. */
static void test_commands_arrive_as_they_were(void **state)
{
	static const char *const words[] = {
		"",
		" ",
		"a b",
		"\"",
		"'",
		"\\",
		"\\\"",
		"a\nb\tc\r",
		"\x01\x1f\x7f",
		"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8b",
		"</a>&",
		"\\u0041",
		"$(x)",
		"{\"Cmd\":[]}",
	};
	struct json_object *object, *list;

	(void)state;
	for (size_t i = 0; i < COUNT(words); i++)
		add(create.command, &create.command_count, words[i]);
	object = written();
	assert_true(json_object_object_get_ex(object, "Cmd", &list));
	assert_int_equal(json_object_array_length(list), COUNT(words));
	for (size_t i = 0; i < COUNT(words); i++)
		assert_string_equal(json_object_get_string(json_object_array_get_idx(list, i)),
				    words[i]);
	json_object_put(object);
}

static void test_environment_joins_name_and_value(void **state)
{
	static const char *const pairs[] = {"A", "1", "EMPTY", "", "EQ", "x=y=z", "Q", "\"\n"};
	static const char *const joined[] = {"A=1", "EMPTY=", "EQ=x=y=z", "Q=\"\n"};
	struct json_object *object, *list;

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++)
		add(create.environment, &create.environment_count, pairs[i]);
	object = written();
	assert_true(json_object_object_get_ex(object, "Env", &list));
	assert_int_equal(json_object_array_length(list), COUNT(joined));
	for (size_t i = 0; i < COUNT(joined); i++)
		assert_string_equal(json_object_get_string(json_object_array_get_idx(list, i)),
				    joined[i]);
	json_object_put(object);
}

/* The worst that a request of 1 MiB can become still fits; nothing is ever cut off. */
static void test_greatest_request_fits(void **state)
{
	static char bad[65535];
	struct zstr text;

	(void)state;
	memset(bad, 1, sizeof(bad));
	for (size_t i = 0; i < 14; i++)
		create.command[create.command_count++] = (struct zstr){bad, sizeof(bad)};
	create.environment[0] = create.environment[1] = (struct zstr){bad, sizeof(bad)};
	create.environment_count = 2;
	assert_true(docker_create_json(&site, &create, &buffer, &text));
	assert_true(text.length > 16 * 6 * sizeof(bad));
	/* Beyond what a frame can carry: refused as a whole. */
	for (size_t i = 0; i < 4; i++)
		create.command[create.command_count++] = (struct zstr){bad, sizeof(bad)};
	assert_false(docker_create_json(&site, &create, &buffer, &text));
}

static void assert_rule(const char *expected, const char *what, uint64_t value)
{
	const char *rule = docker_create_judge(&site, &create);

	if (expected == NULL ? rule != NULL : rule == NULL || strcmp(rule, expected) != 0)
		fail_msg("%s %lu: %s", what, (unsigned long)value, rule == NULL ? "allowed" : rule);
}

static void test_ceilings_refuse_from_one_above(void **state)
{
	(void)state;
	for (int64_t step = -1; step <= 1; step++) {
		set_up(NULL);
		site.memory_max_bytes = GIB;
		create.memory_bytes = GIB + (uint64_t)step;
		assert_rule(step > 0 ? "memory_max" : NULL, "memory", create.memory_bytes);
		set_up(NULL);
		site.cpu_shares_max = 2048;
		create.cpu_shares = (uint32_t)(2048 + step);
		assert_rule(step > 0 ? "cpu_max" : NULL, "cpu", create.cpu_shares);
		set_up(NULL);
		site.disk_max_gib = 50;
		create.storage_gib = (uint32_t)(50 + step);
		assert_rule(step > 0 ? "disk_max" : NULL, "disk", create.storage_gib);
	}
	set_up(NULL);
	create.memory_bytes = INT64_MAX;
	create.cpu_shares = 262144;
	create.storage_gib = 1048576;
	assert_rule(NULL, "no ceilings", 0);
}

static void test_runtimes_and_registries_are_those_of_the_policy(void **state)
{
	static const char *const runtimes[] = {"runc", "kata", NULL};
	static const char *const registries[] = {"docker.io", "reg.example:5000", NULL};
	static const struct {
		const char *runtime, *image, *rule;
	} cases[] = {
		{"", "nginx", NULL},
		{"runc", "nginx:1", NULL},
		{"kata", "a/b", NULL},
		{"crun", "nginx", "runtimes"},
		{"RUNC", "nginx", "runtimes"},
		{"run", "nginx", "runtimes"},
		{"", "docker.io/library/nginx", NULL},
		{"", "reg.example:5000/a/b:1", NULL},
		{"", "reg.example/a/b:1", "registries"},
		{"", "reg.example:5001/a", "registries"},
		{"", "quay.io/a/b", "registries"},
		{"", "localhost/a", "registries"},
		{"", "docker.io.evil.example/a", "registries"},
		{"",
		 "a@sha256:"
		 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 NULL},
	};

	(void)state;
	set_list(&site.runtimes, runtimes);
	set_list(&site.registries, registries);
	for (size_t i = 0; i < COUNT(cases); i++) {
		create.runtime = zstr_from(cases[i].runtime);
		create.image = zstr_from(cases[i].image);
		assert_rule(cases[i].rule, cases[i].image, i);
	}
}

static void test_runtime_needs_its_api_version(void **state)
{
	(void)state;
	create.runtime = zstr_from("runc");
	create.api_minor = 25;
	assert_rule("runtime_api", "api", 25);
	create.api_minor = 26;
	assert_rule(NULL, "api", 26);
	create.runtime = zstr_from("");
	create.api_minor = 24;
	assert_rule(NULL, "api", 24);
}

static void test_labels_of_keelson_cannot_be_set(void **state)
{
	static const struct {
		const char *key, *rule;
	} cases[] = {
		{"io.keelson.uuid", "label_reserved"},
		{"IO.KEELSON.UUID", "label_reserved"},
		{"io.Keelson.anything", "label_reserved"},
		{"io.keelson.", "label_reserved"},
		{"io.keelson", NULL},
		{"io.keelsonx", NULL},
		{" io.keelson.uuid", NULL},
		{"xio.keelson.uuid", NULL},
		{"k", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		create.labels_count = 0;
		add(create.labels, &create.labels_count, "first");
		add(create.labels, &create.labels_count, "x");
		add(create.labels, &create.labels_count, cases[i].key);
		add(create.labels, &create.labels_count, "y");
		assert_rule(cases[i].rule, cases[i].key, i);
	}
}

static void test_equal_labels_are_refused(void **state)
{
	static const char *const keys[] = {"a", "A", "b", "aa", ""};

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		add(create.labels, &create.labels_count, keys[i]);
		add(create.labels, &create.labels_count, "a");
	}
	assert_rule(NULL, "different labels", 0);
	add(create.labels, &create.labels_count, "aa");
	add(create.labels, &create.labels_count, "other");
	assert_rule("label_duplicate", "equal labels", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_recorded_example_is_written_field_by_field, set_up),
		cmocka_unit_test_setup(test_empty_fields_are_left_out, set_up),
		cmocka_unit_test_setup(test_policy_adds_its_ceilings_to_a_request_without_limits,
				       set_up),
		cmocka_unit_test_setup(test_cpu_ceiling_above_the_engines_default_adds_nothing,
				       set_up),
		cmocka_unit_test_setup(test_privileged_needs_policy_and_request, set_up),
		cmocka_unit_test_setup(test_restart_policies_have_their_names, set_up),
		cmocka_unit_test_setup(test_commands_arrive_as_they_were, set_up),
		cmocka_unit_test_setup(test_environment_joins_name_and_value, set_up),
		cmocka_unit_test_setup(test_greatest_request_fits, set_up),
		cmocka_unit_test_setup(test_ceilings_refuse_from_one_above, set_up),
		cmocka_unit_test_setup(test_runtimes_and_registries_are_those_of_the_policy,
				       set_up),
		cmocka_unit_test_setup(test_runtime_needs_its_api_version, set_up),
		cmocka_unit_test_setup(test_labels_of_keelson_cannot_be_set, set_up),
		cmocka_unit_test_setup(test_equal_labels_are_refused, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the checks of a Container argument, field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "captures.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/rpc/object.h"

#define UUID "18f0a2d7-038c-4629-8a19-8add9ee95b2e"

static const char *folder;

/* Reads a Container (or Capsule) whose one field besides id and uuid is name: value. */
static int read_field(const char *class, const char *name, const char *value,
		      struct rpc_failure *failure)
{
	const char *others = strcmp(name, "id") == 0	 ? "\"uuid\":\"" UUID "\","
			     : strcmp(name, "uuid") == 0 ? "\"id\":1,"
							 : "\"id\":1,\"uuid\":\"" UUID "\",";
	struct container_argument argument;
	struct json_object *object;
	char text[4096];
	int result;

	(void)snprintf(text, sizeof(text),
		       "{\"zun_object.name\":\"%s\",\"zun_object.namespace\":\"zun\","
		       "\"zun_object.version\":\"%s\",\"zun_object.data\":{%s\"%s\":%s}}",
		       class, class[1] == 'o' ? "1.44" : "1.4", others, name, value);
	object = json_tokener_parse(text);
	assert_non_null(object);
	*failure = (struct rpc_failure){0};
	result = container_argument_read(object, &argument, failure);
	json_object_put(object);
	return result;
}

enum {
	INT,
	REAL,
	FLAG,
	TEXT,
	ID,
	STATUS,
	TASK,
	TIME,
	JSON,
	TEXTS,
	INTS,
	MAP,
	OBJECT,
	OBJECTS,
	KINDS
};

static const struct {
	const char *name;
	int kind;
} fields[] = {
	{"id", INT},
	{"container_id", TEXT},
	{"uuid", ID},
	{"name", TEXT},
	{"project_id", TEXT},
	{"user_id", TEXT},
	{"image", TEXT},
	{"cpu", REAL},
	{"cpu_policy", TEXT},
	{"cpuset", OBJECT},
	{"memory", TEXT},
	{"command", TEXTS},
	{"status", STATUS},
	{"status_reason", TEXT},
	{"task_state", TASK},
	{"environment", MAP},
	{"workdir", TEXT},
	{"auto_remove", FLAG},
	{"ports", INTS},
	{"hostname", TEXT},
	{"labels", MAP},
	{"addresses", JSON},
	{"image_pull_policy", TEXT},
	{"host", TEXT},
	{"restart_policy", MAP},
	{"status_detail", TEXT},
	{"interactive", FLAG},
	{"tty", FLAG},
	{"image_driver", TEXT},
	{"websocket_url", TEXT},
	{"websocket_token", TEXT},
	{"security_groups", TEXTS},
	{"runtime", TEXT},
	{"pci_devices", OBJECTS},
	{"disk", INT},
	{"auto_heal", FLAG},
	{"started_at", TIME},
	{"exposed_ports", JSON},
	{"exec_instances", OBJECTS},
	{"privileged", FLAG},
	{"healthcheck", JSON},
	{"registry_id", INT},
	{"registry", OBJECT},
	{"annotations", JSON},
	{"cni_metadata", JSON},
	{"entrypoint", TEXTS},
	{"created_at", TIME},
	{"updated_at", TIME},
};

#define CPUSET "{\"zun_object.name\":\"Cpuset\",\"zun_object.data\":{\"cpuset_cpus\":null}}"

/* clang-format off */
/* Each value, and the kinds that take it: one letter each, in the order of the enum. */
static const struct {
	const char *value, *kinds;
} values[] = {
	/*                          IRFTISTTJTIMOO */
	{"5",                      "irft.........." },
	{"1",                      "irft.........." },
	{"0",                      "irft.........." },
	{"-7",                     "ir.t.........." },
	{"1.5",                    ".r.t.........." },
	{"1e-3",                   ".r.t.........." },
	{"1e999",                  ".............." },
	{"9223372036854775807",    "ir.t.........." },
	{"9223372036854775808",    ".............." },
	{"99999999999999999999999", ".............." },
	{"-99999999999999999999999", ".............." },
	{"true",                   "..f..........." },
	{"false",                  "..f..........." },
	{"\"\"",                   "...t....j....." },
	{"\"5\"",                  "ir.t....j....." },
	{"\"-5\"",                 "ir.t....j....." },
	{"\"-\"",                  "...t.........." },
	{"\"1.5\"",                ".r.t....j....." },
	{"\"0x10\"",               "...t.........." },
	{"\"nan\"",                "...t.........." },
	{"\"9999999999999999999\"", "...t....j....." },
	{"\"x\"",                  "...t.........." },
	{"\"a\\u0000b\"",          ".............." },
	{"\"" UUID "\"",           "...ti........." },
	{"\"Running\"",            "...t.s........" },
	{"\"Sleeping\"",           "...t.........." },
	{"\"container_stopping\"", "...t..t......." },
	{"\"Error Running\"",      "...t.........." },
	{"\"2026-12-01T02:32:43Z\"", "...t...t......" },
	{"\"{\\\"a\\\":1}\"",      "...t....j....." },
	{"\"{\\\"a\\\":1,\\\"a\\\":1}\"", "...t.........." },
	{"\"{\"",                  "...t.........." },
	{"[]",                     "........jti..o" },
	{"[1]",                    "........jti..." },
	{"[\"5\"]",                "........jti..." },
	{"[\"x\"]",                "........jt...." },
	{"[1.5]",                  "........jt...." },
	{"[null]",                 "........j....." },
	{"[[]]",                   "........j....." },
	{"[{}]",                   "........j....." },
	{"[true]",                 "........j....." },
	{"{}",                     "........j..m.." },
	{"{\"a\":\"b\"}",          "........j..m.." },
	{"{\"a\":1,\"b\":true}",   "........j..m.." },
	{"{\"a\":null}",           "........j..m.." },
	{"{\"a\":{}}",             "........j....." },
	{CPUSET,                   "........j...o." },
	{"[" CPUSET "]",           "........j....o" },
};
/* clang-format on */

static void test_every_field_takes_the_values_of_its_type_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++) {
			struct rpc_failure failure;
			bool good = values[j].kinds[fields[i].kind] != '.';
			int result;

			/* a boolean takes 0 and 1 of the numbers only; a map no null */
			if (fields[i].kind == FLAG && strcmp(values[j].value, "5") == 0)
				good = false;
			if (fields[i].kind == MAP && strcmp(values[j].value, "{\"a\":null}") == 0)
				good = false;
			result = read_field("Container", fields[i].name, values[j].value, &failure);
			if (result != (good ? 0 : -EINVAL))
				fail_msg("%s %s %s: %s", fields[i].name, good ? "refuses" : "takes",
					 values[j].value, failure.message);
			if (good)
				continue;
			assert_string_equal(failure.class, "ValueError");
			assert_string_equal(failure.module, "builtins");
			assert_int_equal(failure.code, 0);
			assert_non_null(strstr(failure.message, fields[i].name));
		}
	}
}

static void test_null_is_taken_wherever_the_row_may_be_null(void **state)
{
	struct rpc_failure failure;

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		bool required =
			strcmp(fields[i].name, "id") == 0 || strcmp(fields[i].name, "uuid") == 0;

		assert_int_equal(read_field("Container", fields[i].name, "null", &failure),
				 required ? -EINVAL : 0);
	}
}

static void test_times_are_read_in_the_forms_that_peers_write(void **state)
{
	static const char *const good[] = {
		"2026-12-01T02:32:43Z",	      "2026-12-01T02:32:43",	"2026-12-01 02:32:43",
		"2026-12-01T02:32:43.123456", "2026-12-01T02:32:43.1Z", "2026-12-01T02:32:43+00:00",
		"2026-12-01T02:32:43.5-1130", "2026-12-01T02:32:43+01", "2024-02-29T00:00:00Z",
		"2000-02-29T23:59:59Z",
	};
	static const char *const bad[] = {
		"2026-12-01",
		"2026-12-01T02:32",
		"2026-13-01T02:32:43Z",
		"2026-00-01T02:32:43Z",
		"2026-12-32T02:32:43Z",
		"2023-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"2026-12-01T24:00:00Z",
		"2026-12-01T00:60:00Z",
		"2026-12-01T00:00:60Z",
		"2026-12-01T02:32:43.Z",
		"2026-12-01T02:32:43z",
		"2026-12-01T02:32:43Zx",
		"2026-12-01T02:32:43+1",
		"2026-12-01T02:32:43+24:00",
		"2026-12-01T02:32:43+01:60",
		"2026-12-01T02:32:43+01:6",
		"2026/12/01T02:32:43Z",
		"2026-12-01x02:32:43Z",
		"+026-12-01T02:32:43Z",
		"0000-12-01T02:32:43Z",
		"",
		"now",
	};
	struct rpc_failure failure;
	char value[64];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		(void)snprintf(value, sizeof(value), "\"%s\"", good[i]);
		if (read_field("Container", "started_at", value, &failure) != 0)
			fail_msg("refused: %s", good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		(void)snprintf(value, sizeof(value), "\"%s\"", bad[i]);
		if (read_field("Container", "started_at", value, &failure) == 0)
			fail_msg("taken: %s", bad[i]);
	}
}

static void test_fields_of_a_capsule_belong_to_capsules(void **state)
{
	struct rpc_failure failure;

	(void)state;
	assert_int_equal(read_field("Container", "containers", "5", &failure),
			 0); /* unknown there */
	assert_int_equal(read_field("Capsule", "containers", "5", &failure), -EINVAL);
	assert_string_equal(failure.message,
			    "Field `containers' of Capsule: a list of objects expected");
	assert_int_equal(read_field("Capsule", "init_containers", "[" CPUSET "]", &failure), 0);
}

static void test_every_status_of_the_contract_is_known_and_no_other(void **state)
{
	static const char *const statuses[] = {"Error",	   "Running",	 "Stopped", "Paused",
					       "Unknown",  "Creating",	 "Created", "Deleted",
					       "Deleting", "Rebuilding", "Dead",    "Restarting"};
	static const char *const states[] = {
		"image_pulling",      "container_creating",  "container_starting",
		"container_deleting", "container_stopping",  "container_rebooting",
		"container_pausing",  "container_unpausing", "container_killing",
		"sg_adding",	      "sg_removing",	     "network_attaching",
		"network_detaching",  "container_rebuilding"};
	static const char *const others[] = {
		"",	   " ",
		"running", "Run",
		"Error ",  "sg",
		"x",	   "a_very_long_word_that_no_list_of_ours_can_have_in_it_at_all_xxxxxx"};

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		assert_true(container_status_known(statuses[i]));
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		assert_true(container_task_state_known(states[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(container_status_known(others[i]) ||
			     container_task_state_known(others[i]));
}

static void test_pending_changes_are_noted(void **state)
{
	size_t count;
	struct capture *captures = captures_load(folder, &count);
	unsigned changed = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < captures[i].count; j++) {
			struct json_object *inner = capture_inner(&captures[i].messages[j]),
					   *args = NULL, *container = NULL, *method = NULL;
			struct container_argument argument;
			struct rpc_failure failure;

			if (json_object_object_get_ex(inner, "args", &args) &&
			    json_object_object_get_ex(args, "container", &container) &&
			    container_argument_read(container, &argument, &failure) == 0) {
				bool delete = json_object_object_get_ex(inner, "method", &method) &&
					      strcmp(json_object_get_string(method),
						     "container_delete") == 0;

				assert_int_equal(argument.status_changed,
						 delete &&!argument.capsule);
				assert_false(argument.cpu_policy_changed);
				changed += argument.status_changed;
			}
			json_object_put(inner);
		}
	}
	assert_true(changed >= 2);
	captures_free(captures, count);
}

static void test_changes_of_a_wrong_form_are_refused(void **state)
{
	static const char *const changes[] = {"{}", "\"status\"", "[1]", "[null]", "[[]]"};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct container_argument argument;
		struct rpc_failure failure;
		struct json_object *object;
		char text[512];

		(void)snprintf(
			text, sizeof(text),
			"{\"zun_object.name\":\"Container\",\"zun_object.namespace\":\"zun\","
			"\"zun_object.version\":\"1.44\",\"zun_object.changes\":%s,"
			"\"zun_object.data\":{\"id\":1,\"uuid\":\"" UUID "\"}}",
			changes[i]);
		object = json_tokener_parse(text);
		assert_int_equal(container_argument_read(object, &argument, &failure), -EINVAL);
		assert_string_equal(failure.class, "ValueError");
		assert_string_equal(argument.uuid, UUID);
		json_object_put(object);
	}
}

static void test_a_uuid_is_kept_in_lower_case(void **state)
{
	struct json_object *object = json_tokener_parse(
		"{\"zun_object.name\":\"Capsule\",\"zun_object.namespace\":\"zun\","
		"\"zun_object.version\":\"1.4\",\"zun_object.changes\":[\"status\",\"cpu_policy\","
		"\"x\"],"
		"\"zun_object.data\":{\"uuid\":\"18F0A2D7-038C-4629-8A19-8ADD9EE95B2E\"}}");
	struct container_argument argument;
	struct rpc_failure failure;

	(void)state;
	assert_int_equal(container_argument_read(object, &argument, &failure), 0);
	assert_string_equal(argument.uuid, UUID);
	assert_true(argument.capsule && argument.status_changed && argument.cpu_policy_changed);
	json_object_put(object);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field_takes_the_values_of_its_type_only),
		cmocka_unit_test(test_null_is_taken_wherever_the_row_may_be_null),
		cmocka_unit_test(test_times_are_read_in_the_forms_that_peers_write),
		cmocka_unit_test(test_fields_of_a_capsule_belong_to_capsules),
		cmocka_unit_test(test_every_status_of_the_contract_is_known_and_no_other),
		cmocka_unit_test(test_pending_changes_are_noted),
		cmocka_unit_test(test_changes_of_a_wrong_form_are_refused),
		cmocka_unit_test(test_a_uuid_is_kept_in_lower_case),
	};

	folder = argc > 1 ? argv[1] : "tests/captures";
	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the object that a caller gets back: recorded replies, and rows of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "common/zfd.h"
#include "tests/unit/rpc/captures.h"
#include "unpriv/base/json.h"
#include "unpriv/compute/object.h"
#include "unpriv/store/container.h"

#define UUID "18f0a2d7-038c-4629-8a19-8add9ee95b2e"

static const char *folder;

static void set(struct container *row, enum container_column column, const char *value)
{
	assert_int_equal(container_set_text(row, column, value), 0);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

/* The row that the database would hold for an object, as far as the reply takes from it. */
static void row_of(struct json_object *data, struct container *row)
{
	static const struct {
		const char *name;
		enum container_column column;
	} texts[] = {
		{"container_id", CONTAINER_container_id},
		{"status", CONTAINER_status},
		{"status_reason", CONTAINER_status_reason},
		{"status_detail", CONTAINER_status_detail},
		{"task_state", CONTAINER_task_state},
		{"memory", CONTAINER_memory},
		{"cpu_policy", CONTAINER_cpu_policy},
		{"command", CONTAINER_command},
		{"entrypoint", CONTAINER_entrypoint},
		{"ports", CONTAINER_ports},
		{"security_groups", CONTAINER_security_groups},
		{"hostname", CONTAINER_hostname},
		{"addresses", CONTAINER_addresses},
		{"cni_metadata", CONTAINER_cni_metadata},
		{"host", CONTAINER_host},
		{"image_driver", CONTAINER_image_driver},
		{"websocket_url", CONTAINER_websocket_url},
		{"websocket_token", CONTAINER_websocket_token},
		{"runtime", CONTAINER_runtime},
	};
	char time[64];
	const char *started = json_object_get_string(member(data, "started_at"));

	memset(row, 0, sizeof(*row));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		set(row, texts[i].column, json_object_get_string(member(data, texts[i].name)));
	if (started) {
		(void)snprintf(time, sizeof(time), "%.10s %.8s.123456", started, started + 11);
		set(row, CONTAINER_started_at, time);
	}
	row->cpu = json_object_get_double(member(data, "cpu"));
	row->disk = json_object_get_int64(member(data, "disk"));
	row->set |= CONTAINER_BIT(CONTAINER_cpu) | CONTAINER_BIT(CONTAINER_disk);
}

static void compare(const struct capture *capture)
{
	struct json_object *request = capture_inner(&capture->messages[0]),
			   *answer = capture_inner(&capture->messages[1]), *expected, *got;
	struct container_argument argument;
	struct rpc_failure failure;
	struct container row;

	expected = member(answer, "result");
	assert_int_equal(container_argument_read(member(member(request, "args"), "container"),
						 &argument, &failure),
			 0);
	row_of(member(expected, "zun_object.data"), &row);
	got = container_reply(&argument, &row);
	assert_non_null(got);
	if (!json_object_equal(got, expected))
		fail_msg("%s:\n%s\n%s", capture->name, json_object_to_json_string(got),
			 json_object_to_json_string(expected));
	json_object_put(got);
	json_object_put(request);
	json_object_put(answer);
	container_clear(&row);
}

static void test_replies_are_those_that_were_recorded(void **state)
{
	size_t count, compared = 0;
	struct capture *captures = captures_load(folder, &count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(captures[i].name, "container-show", 14) != 0 &&
		    strcmp(captures[i].name, "container-demo-show") != 0)
			continue;
		compare(&captures[i]);
		compared++;
	}
	assert_true(compared >= 4);
	captures_free(captures, count);
}

/* A reply to a request with only an id, an unknown field and a pending change. */
static struct json_object *reply_to(const struct container *row)
{
	static const char text[] =
		"{\"zun_object.name\":\"Container\",\"zun_object.namespace\":\"zun\","
		"\"zun_object.version\":\"1.50\",\"zun_object.changes\":[\"status\"],"
		"\"zun_object.data\":{\"id\":1,\"uuid\":\"" UUID "\",\"cpu\":1.10,\"new\":[1],"
		"\"command\":[\"a\"]}}";
	_cleanup_(json_putp) struct json_object *object = json_tokener_parse(text);
	struct container_argument argument;
	struct rpc_failure failure;
	struct json_object *reply;

	assert_int_equal(container_argument_read(object, &argument, &failure), 0);
	reply = container_reply(&argument, row);
	assert_non_null(reply);
	/* The request is as it was. */
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), text);
	return reply;
}

static void test_a_reply_keeps_what_is_not_ours(void **state)
{
	struct container row = {0};
	_cleanup_(json_putp) struct json_object *reply = reply_to(&row);
	struct json_object *data = member(reply, "zun_object.data");

	(void)state;
	assert_string_equal(json_object_get_string(member(reply, "zun_object.version")), "1.50");
	assert_false(json_object_object_get_ex(reply, "zun_object.changes", NULL));
	assert_string_equal(json_object_get_string(member(data, "new")), "[ 1 ]");
	assert_string_equal(json_object_get_string(member(data, "cpu")), "1.10");
	assert_null(member(data, "status"));
	/* NULL in the row of a column that is read back as empty */
	assert_string_equal(json_object_get_string(member(data, "command")), "[ ]");
	assert_string_equal(json_object_get_string(member(data, "addresses")), "{}");
}

static void test_values_that_readers_stumble_over_are_not_sent(void **state)
{
	struct container row = {0};
	struct json_object *data;

	(void)state;
	set(&row, CONTAINER_status, "Sleeping");
	set(&row, CONTAINER_task_state, "container_dreaming");
	set(&row, CONTAINER_started_at, "yesterday");
	set(&row, CONTAINER_command, "{\"not\":\"a list\"}");
	set(&row, CONTAINER_ports, "[80,");
	_cleanup_(json_putp) struct json_object *reply = reply_to(&row);
	data = member(reply, "zun_object.data");
	assert_string_equal(json_object_get_string(member(data, "status")), "Unknown");
	assert_null(member(data, "task_state"));
	assert_null(member(data, "started_at"));
	assert_string_equal(json_object_get_string(member(data, "command")), "[ \"a\" ]");
	assert_false(json_object_object_get_ex(data, "ports", NULL));
	container_clear(&row);
}

static void test_what_the_row_says_wins(void **state)
{
	struct container row = {0};
	struct json_object *data;

	(void)state;
	set(&row, CONTAINER_status, "Stopped");
	set(&row, CONTAINER_status_reason, "gr\xc3\xbc\xc3\x9f \"%s\"");
	set(&row, CONTAINER_started_at, "2026-12-01 02:54:47.9");
	set(&row, CONTAINER_ports, "[80, 443]");
	set(&row, CONTAINER_addresses, "{}");
	row.cpu = 0.25;
	row.disk = 7;
	row.set |= CONTAINER_BIT(CONTAINER_cpu) | CONTAINER_BIT(CONTAINER_disk);
	_cleanup_(json_putp) struct json_object *reply = reply_to(&row);
	data = member(reply, "zun_object.data");
	assert_string_equal(json_object_get_string(member(data, "status")), "Stopped");
	assert_string_equal(json_object_get_string(member(data, "status_reason")),
			    "gr\xc3\xbc\xc3\x9f \"%s\"");
	assert_string_equal(json_object_get_string(member(data, "started_at")),
			    "2026-12-01T02:54:47Z");
	assert_string_equal(
		json_object_to_json_string_ext(member(data, "ports"), JSON_C_TO_STRING_PLAIN),
		"[80,443]");
	assert_true(json_object_is_type(member(data, "addresses"), json_type_string));
	assert_string_equal(json_object_get_string(member(data, "addresses")), "{}");
	assert_string_equal(json_object_get_string(member(data, "cpu")), "0.25");
	assert_int_equal(json_object_get_int(member(data, "disk")), 7);
	container_clear(&row);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replies_are_those_that_were_recorded),
		cmocka_unit_test(test_a_reply_keeps_what_is_not_ours),
		cmocka_unit_test(test_values_that_readers_stumble_over_are_not_sent),
		cmocka_unit_test(test_what_the_row_says_wins),
	};

	folder = argc > 1 ? argv[1] : "tests/captures";
	return cmocka_run_group_tests_name("compute: object", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of messages on their way through an intent file, and of the method table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "captures.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/rpc/object.h"

#define UUID "18f0a2d7-038c-4629-8a19-8add9ee95b2e"

static const char *folder;

static void assert_same_text(const char *a, const char *b)
{
	assert_string_equal(a ? a : "(none)", b ? b : "(none)");
}

static void assert_same(const struct rpc_message *message, const struct rpc_message *read,
			const struct job_record *record, const struct job_record *read_record)
{
	assert_string_equal(read_record->unique_id, record->unique_id);
	assert_string_equal(read_record->msg_id, record->msg_id);
	assert_string_equal(read_record->reply_queue, record->reply_queue);
	assert_string_equal(read_record->uuid, record->uuid);
	assert_string_equal(read_record->request_id, record->request_id);
	assert_string_equal(read_record->reason, record->reason);
	assert_int_equal(read_record->method, record->method);
	assert_int_equal(read_record->call, record->call);
	assert_int_equal(read_record->exclusive, record->exclusive);
	assert_int_equal(read_record->verdict, VERDICT_RUN);
	assert_true(read_record->resumed);
	assert_same_text(read->context.request_id, message->context.request_id);
	assert_same_text(read->context.project_id, message->context.project_id);
	assert_same_text(read->context.user_id, message->context.user_id);
	assert_same_text(read->context.timestamp, message->context.timestamp);
	assert_int_equal(read->context.is_admin, message->context.is_admin);
	assert_int_equal(read->context.all_projects, message->context.all_projects);
}

/* Every argument but the container is the same; of that, what the agent takes from a message. */
static void assert_same_args(const struct rpc_message *message, const struct rpc_message *read)
{
	struct container_argument before, after;
	struct json_object *value, *other = NULL;
	struct rpc_failure failure;

	assert_int_equal(json_object_object_length(read->args),
			 json_object_object_length(message->args));
	json_object_object_foreach(message->args, name, argument)
	{
		assert_true(json_object_object_get_ex(read->args, name, &other));
		/* of volumes the secrets are gone: see below */
		if (strcmp(name, "container") != 0 && strcmp(name, "requested_volumes") != 0)
			assert_true(json_object_equal(argument, other));
	}
	if (!json_object_object_get_ex(message->args, "container", &value) ||
	    container_argument_read(value, &before, &failure) < 0)
		return;
	assert_true(json_object_object_get_ex(read->args, "container", &value));
	assert_int_equal(container_argument_read(value, &after, &failure), 0);
	assert_string_equal(after.uuid, before.uuid);
	assert_int_equal(after.capsule, before.capsule);
	assert_int_equal(after.status_changed, before.status_changed);
	assert_int_equal(after.cpu_policy_changed, before.cpu_policy_changed);
}

static void round_trip(const char *body, size_t length, const char *content_type)
{
	static const char *const never[] = {"gAAAAA",	  "auth_token", "password", "trust_id",
					    "trace_info", "catalog",	"\n"};
	struct job_record record = {0}, read_record = {.tries = 1};
	struct rpc_message message, read;
	struct rpc_failure failure;
	_cleanup_free_ char *line = NULL;
	struct zerr err = {0};

	rpc_classify(body, length, content_type, &record, &message, &failure);
	if (record.verdict != VERDICT_RUN)
		return;
	line = rpc_message_to_intent(&message, &record);
	assert_non_null(line);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strstr(line, never[i]))
			fail_msg("%s in %s", never[i], line);
	if (rpc_message_from_intent(line, strlen(line), &read_record, &read, &err) < 0)
		fail_msg("%s: %s", err.msg, line);
	assert_same(&message, &read, &record, &read_record);
	assert_same_args(&message, &read);
	assert_int_equal(read_record.tries, 1);
	rpc_message_clear(&message);
	rpc_message_clear(&read);
}

static void test_every_capture_survives_an_intent_file(void **state)
{
	size_t count;
	struct capture *captures = captures_load(folder, &count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < captures[i].count; j++)
			if (captures[i].messages[j].request)
				round_trip(captures[i].messages[j].body,
					   captures[i].messages[j].length,
					   captures[i].messages[j].content_type);
	captures_free(captures, count);
}

static void test_no_secret_gets_into_an_intent(void **state)
{
	static const char body[] =
		"{\"method\":\"container_create\",\"_unique_id\":\"u\",\"_timeout\":null,"
		"\"_context_auth_token\":\"S3CRET\",\"_context_auth_token_info\":{\"token\":"
		"\"S3CRET\"},"
		"\"_context_password\":\"S3CRET\",\"_context_trust_id\":\"S3CRET\","
		"\"_context_trace_info\":{\"hmac_key\":\"S3CRET\"},\"_context_service_catalog\":["
		"\"S3CRET\"],"
		"\"_context_new_credential\":\"S3CRET\",\"unknown\":\"S3CRET\",\"_context_user_"
		"id\":\"u1\","
		"\"args\":{\"limits\":{\"cpu\":1},\"run\":true,\"requested_networks\":[{"
		"\"network\":\"n\"}],"
		"\"requested_volumes\":{\"" UUID "\":[{\"zun_object.name\":\"VolumeMapping\","
		"\"zun_object.data\":{\"volume_id\":7,\"contents\":\"S3CRET\",\"connection_info\":"
		"\"S3CRET\"}},5]},"
		"\"container\":{\"zun_object.name\":\"Container\",\"zun_object.namespace\":\"zun\","
		"\"zun_object.version\":\"1.44\",\"zun_object.changes\":[\"cpu_policy\"],\"zun_"
		"object.data\":{"
		"\"id\":1,\"uuid\":\"" UUID
		"\",\"cpu_policy\":\"dedicated\",\"environment\":{\"KEY\":\"S3CRET\"},"
		"\"websocket_token\":\"S3CRET\",\"registry\":{\"zun_object.name\":\"Registry\","
		"\"zun_object.data\":{\"password\":\"S3CRET\"}}}}}}";
	struct job_record record = {0};
	struct rpc_message message;
	struct rpc_failure failure;
	_cleanup_free_ char *line = NULL;

	(void)state;
	rpc_classify(body, strlen(body), "application/json", &record, &message, &failure);
	assert_int_equal(record.verdict, VERDICT_RUN);
	assert_string_equal(record.reason, "");
	line = rpc_message_to_intent(&message, &record);
	assert_non_null(line);
	assert_null(strstr(line, "S3CRET"));
	assert_non_null(strstr(line, "\"volume_id\":7"));
	assert_non_null(strstr(line, "\"cpu_policy\":\"dedicated\""));
	assert_non_null(strstr(line, "\"_context_user_id\":\"u1\""));
	rpc_message_clear(&message);
}

static void test_a_line_that_is_no_intent_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"{}",
		"[]",
		"null",
		"5",
		"{\"intent\":1}",
		"{\"intent\":2,\"record\":{},\"message\":{}}",
		"{\"intent\":1,\"record\":{},\"message\":{\"args\":{}}}",
		"{\"intent\":1,\"record\":{\"method\":\"nope\"},\"message\":{\"args\":{}}}",
		"{\"intent\":1,\"record\":{\"method\":\"container_start\"},\"message\":{}}",
		"{\"intent\":1,\"record\":{\"method\":\"container_start\"},\"message\":{\"args\":[]"
		"}}",
		"{\"intent\":1,\"record\":{\"method\":\"container_start\"}}",
		"{\"intent\":1,\"record\":{\"method\":\"container_start\",\"uuid\":\"x\"},"
		"\"message\":{\"args\":{}}}",
		"{\"intent\":1,\"record\":{\"method\":\"container_start\",\"call\":\"yes\"},"
		"\"message\":{\"args\":{}}}",
		"{\"intent\":1,\"record\":{\"method\":\"container_start\",\"unique_id\":\"a\\nb\"},"
		"\"message\":{\"args\":{}}}",
		"{\"intent\":1,\"record\":{\"method\":\"container_start\"},\"message\":{\"args\":{}"
		"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct job_record record = {.tries = 3}, before = record;
		struct rpc_message message;
		struct zerr err = {0};

		assert_true(rpc_message_from_intent(lines[i], strlen(lines[i]), &record, &message,
						    &err) < 0);
		assert_memory_equal(&record, &before, sizeof(record));
		assert_null(message.inner);
		assert_true(err.code < 0 && err.msg[0]);
	}
}

static void test_the_method_table_is_whole(void **state)
{
	(void)state;
	assert_null(rpc_method_row(RPC_NONE));
	assert_null(rpc_method_row(RPC_METHOD_COUNT));
	assert_null(rpc_method_find(""));
	for (unsigned i = RPC_NONE + 1; i < RPC_METHOD_COUNT; i++) {
		const struct rpc_method_row *row = rpc_method_row((enum rpc_method)i);
		unsigned count = 0;

		assert_non_null(row);
		assert_int_equal(row->method, i);
		assert_ptr_equal(rpc_method_find(row->name), row);
		while (row->arguments[count])
			count++;
		assert_true(row->required >= 1 && row->required <= count);
		/* container_rebuilding, the longest, fills the column of 20 */
		assert_true(!row->task_state || container_task_state_known(row->task_state));
		assert_int_equal(row->call, i == RPC_CONTAINER_SHOW);
		assert_int_equal(row->locked, i != RPC_CONTAINER_SHOW);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_capture_survives_an_intent_file),
		cmocka_unit_test(test_no_secret_gets_into_an_intent),
		cmocka_unit_test(test_a_line_that_is_no_intent_is_refused),
		cmocka_unit_test(test_the_method_table_is_whole),
	};

	folder = argc > 1 ? argv[1] : "tests/captures";
	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}

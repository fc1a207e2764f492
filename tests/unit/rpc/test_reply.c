/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of replies, failures and the envelope around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "common/text.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/rpc/envelope.h"

#define MAX_BYTES 100000

static const struct job_record record = {.call = true, .msg_id = "m\"1"};

/* The inner object as a client reads it. */
static struct json_object *unwrap(const char *body, size_t length)
{
	_cleanup_(json_putp) struct json_object *outer = json_parse(body, length, 1 << 24, NULL);
	struct json_object *text, *version;

	for (size_t i = 0; i < length; i++)
		assert_true(body[i] >= 0x20 && body[i] < 0x7f);
	assert_true(json_object_object_get_ex(outer, "oslo.version", &version));
	assert_string_equal(json_object_get_string(version), "2.0");
	assert_true(json_object_object_get_ex(outer, "oslo.message", &text));
	return json_parse(json_object_get_string(text), (size_t)json_object_get_string_len(text),
			  1 << 24, NULL);
}

static struct json_object *reply(struct json_object *result, const struct rpc_failure *failure,
				 size_t max_bytes)
{
	_cleanup_free_ char *inner = rpc_reply(&record, result, failure, max_bytes), *body = NULL;
	struct json_object *read;
	size_t length = 0;

	assert_non_null(inner);
	body = rpc_wrap(inner, strlen(inner), "0123456789abcdef0123456789abcdef", &length);
	assert_non_null(body);
	assert_int_equal(length, strlen(body));
	read = unwrap(body, length);
	assert_non_null(read);
	return read;
}

static void assert_json(struct json_object *object, const char *expected)
{
	assert_string_equal(
		json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							       JSON_C_TO_STRING_NOSLASHESCAPE),
		expected);
}

static struct json_object *failure_of(struct json_object *inner)
{
	struct json_object *text;

	assert_true(json_object_object_get_ex(inner, "failure", &text));
	return json_parse(json_object_get_string(text), strlen(json_object_get_string(text)),
			  1 << 20, NULL);
}

static void test_a_result_goes_out_as_the_wire_has_it(void **state)
{
	_cleanup_(json_putp) struct json_object *result =
		json_tokener_parse("{\"a\":[1,2.50,null,true,\"x\"]}");
	_cleanup_(json_putp) struct json_object *inner = reply(result, NULL, MAX_BYTES);

	(void)state;
	assert_json(inner,
		    "{\"result\":{\"a\":[1,2.50,null,true,\"x\"]},\"failure\":null,\"ending\":true,"
		    "\"_msg_id\":\"m\\\"1\",\"_unique_id\":\"0123456789abcdef0123456789abcdef\"}");
}

static void test_no_result_is_null(void **state)
{
	_cleanup_(json_putp) struct json_object *inner = reply(NULL, NULL, MAX_BYTES);

	(void)state;
	assert_json(inner,
		    "{\"result\":null,\"failure\":null,\"ending\":true,\"_msg_id\":\"m\\\"1\","
		    "\"_unique_id\":\"0123456789abcdef0123456789abcdef\"}");
}

static void test_a_heartbeat_does_not_end_the_call(void **state)
{
	_cleanup_free_ char *inner = rpc_reply_heartbeat("m");

	(void)state;
	assert_string_equal(inner, "{\"result\": null, \"failure\": null, \"ending\": false, "
				   "\"_msg_id\": \"m\"");
}

static void test_every_character_comes_back(void **state)
{
	static const char text[] = "\"\\/\b\f\n\r\t\001\037\177 gr\xc3\xbc\xc3\x9f \xe2\x82\xac "
				   "\xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf end";
	_cleanup_(json_putp) struct json_object *result = json_object_new_string(text);
	_cleanup_(json_putp) struct json_object *inner = reply(result, NULL, MAX_BYTES);
	struct json_object *found;

	(void)state;
	assert_true(json_object_object_get_ex(inner, "result", &found));
	assert_string_equal(json_object_get_string(found), text);
}

static void test_bytes_that_are_no_utf8_are_answered_all_the_same(void **state)
{
	static const char text[] = "ok \xff\xfe \xc3( \xed\xa0\x80 \xe2\x82";
	_cleanup_(json_putp) struct json_object *result = json_object_new_string(text);
	_cleanup_(json_putp) struct json_object *inner = reply(result, NULL, MAX_BYTES);
	struct json_object *found;

	(void)state;
	assert_true(json_object_object_get_ex(inner, "result", &found));
	assert_string_equal(json_object_get_string(found),
			    "ok \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd( "
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd");
}

static void test_a_result_that_json_cannot_hold_becomes_a_failure(void **state)
{
	_cleanup_(json_putp) struct json_object *nan = json_object_new_double((double)NAN);
	_cleanup_(json_putp) struct json_object *inner = reply(nan, NULL, MAX_BYTES);
	_cleanup_(json_putp) struct json_object *failure = failure_of(inner);
	struct json_object *deep = json_object_new_array(), *found;

	(void)state;
	assert_true(json_object_object_get_ex(failure, "class", &found));
	assert_string_equal(json_object_get_string(found), "ZunException");
	for (unsigned i = 0; i < 40; i++) {
		struct json_object *around = json_object_new_array();

		json_object_array_add(around, deep);
		deep = around;
	}
	_cleanup_(json_putp) struct json_object *other = reply(deep, NULL, MAX_BYTES);
	json_object_put(deep);
	assert_true(json_object_object_get_ex(other, "result", &found));
	assert_null(found);
}

static void test_a_reply_over_the_limit_names_the_limit(void **state)
{
	char text[1001];
	size_t length = 0, least = 0;

	(void)state;
	memset(text, '"', 1000); /* the worst kind: each takes four bytes in the end */
	text[1000] = '\0';
	_cleanup_(json_putp) struct json_object *result = json_object_new_string(text);
	for (size_t max_bytes = 1; least == 0; max_bytes += 1) {
		_cleanup_free_ char *inner = rpc_reply(&record, result, NULL, max_bytes),
				    *body = NULL;

		assert_non_null(inner);
		if (strstr(inner, "\"failure\": null"))
			least = max_bytes;
		else
			assert_non_null(strstr(inner, "max_reply_bytes"));
		body = rpc_wrap(inner, strlen(inner), "0123456789abcdef0123456789abcdef", &length);
		/* What is let through fits for sure, and not much room is given away. */
		if (least != 0)
			assert_true(length <= max_bytes && max_bytes - length < 256);
	}
	_cleanup_(json_putp) struct json_object *inner = reply(result, NULL, least - 1);
	_cleanup_(json_putp) struct json_object *failure = failure_of(inner);
	struct json_object *found;
	assert_true(json_object_object_get_ex(failure, "class", &found));
	assert_string_equal(json_object_get_string(found), "Invalid");
}

static void test_failures_have_the_form_that_zun_rebuilds(void **state)
{
	struct rpc_failure failure = {0};

	(void)state;
	rpc_fail(&failure, "Conflict", "Timeout on executing command: %s", "ls");
	_cleanup_(json_putp) struct json_object *inner = reply(NULL, &failure, MAX_BYTES);
	_cleanup_(json_putp) struct json_object *read = failure_of(inner);
	assert_json(read,
		    "{\"class\":\"Conflict\",\"module\":\"zun.common.exception\","
		    "\"message\":\"Timeout on executing command: ls\",\"tb\":[],"
		    "\"args\":[\"Timeout on executing command: ls\"],\"kwargs\":{\"code\":409}}");
}

static void test_percent_signs_are_doubled_for_zun_only(void **state)
{
	struct rpc_failure failure = {0};

	(void)state;
	rpc_fail(&failure, "DockerError", "%s", "http%3A%2F 100% %(x)s %");
	_cleanup_(json_putp) struct json_object *inner = reply(NULL, &failure, MAX_BYTES);
	_cleanup_(json_putp) struct json_object *read = failure_of(inner);
	assert_json(read, "{\"class\":\"DockerError\",\"module\":\"zun.common.exception\","
			  "\"message\":\"http%3A%2F 100% %(x)s %\",\"tb\":[],"
			  "\"args\":[\"http%%3A%%2F 100%% %%(x)s %%\"],\"kwargs\":{\"code\":500}}");
	rpc_fail_in(&failure, "builtins", "ValueError", "%s", "100%");
	_cleanup_(json_putp) struct json_object *other = reply(NULL, &failure, MAX_BYTES);
	_cleanup_(json_putp) struct json_object *value = failure_of(other);
	assert_json(value, "{\"class\":\"ValueError\",\"module\":\"builtins\",\"message\":\"100%\","
			   "\"tb\":[],\"args\":[\"100%\"],\"kwargs\":{}}");
}

static void test_each_class_has_its_code(void **state)
{
	static const struct {
		const char *class;
		int code;
	} cases[] = {
		{"Invalid", 400},
		{"ImageNotFound", 400},
		{"NotAuthorized", 403},
		{"ContainerNotFound", 404},
		{"VolumeMappingNotFound", 404},
		{"Conflict", 409},
		{"InvalidStateException", 409},
		{"ZunException", 500},
		{"DockerError", 500},
		{"ResourcesUnavailable", 500},
		{"ObjectActionError", 500},
		{"NotFound", 500},
		{"", 500},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rpc_failure failure = {0};

		rpc_fail(&failure, cases[i].class, "x");
		assert_int_equal(failure.code, cases[i].code);
		assert_string_equal(failure.module, "zun.common.exception");
	}
}

static void test_long_texts_are_cut_between_characters(void **state)
{
	char text[2048] = "";
	struct rpc_failure failure = {0};

	(void)state;
	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'x', shift);
		for (size_t at = shift; at + 3 < sizeof(text); at += 3)
			memcpy(text + at, "\xe2\x82\xac", 4);
		rpc_fail(&failure, "Invalid", "%s", text);
		assert_true(strlen(failure.message) > 1018);
		assert_true(text_utf8_valid(zstr_from(failure.message)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_result_goes_out_as_the_wire_has_it),
		cmocka_unit_test(test_no_result_is_null),
		cmocka_unit_test(test_a_heartbeat_does_not_end_the_call),
		cmocka_unit_test(test_every_character_comes_back),
		cmocka_unit_test(test_bytes_that_are_no_utf8_are_answered_all_the_same),
		cmocka_unit_test(test_a_result_that_json_cannot_hold_becomes_a_failure),
		cmocka_unit_test(test_a_reply_over_the_limit_names_the_limit),
		cmocka_unit_test(test_failures_have_the_form_that_zun_rebuilds),
		cmocka_unit_test(test_percent_signs_are_doubled_for_zun_only),
		cmocka_unit_test(test_each_class_has_its_code),
		cmocka_unit_test(test_long_texts_are_cut_between_characters),
	};

	return cmocka_run_group_tests_name("reply", tests, NULL, NULL);
}

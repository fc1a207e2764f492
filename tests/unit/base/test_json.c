/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the JSON pre-scan, the parser behind it, the getters and the picker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/zfd.h"
#include "unpriv/base/json.h"

static int scan(const char *text, unsigned depth)
{
	return json_prescan(text, strlen(text), 1 << 20, depth, NULL);
}

static void test_prescan_accepts_what_rfc_8259_accepts(void **state)
{
	static const char *const good[] = {
		"{}",
		"[]",
		"0",
		"-0",
		"-0.5e-7",
		"1E+3",
		"\"\"",
		"true",
		"null",
		" [ 1 , 2 ]\r\n\t",
		"{\"a\":{\"a\":{\"a\":[]}}}",
		"{\"a\":1,\"b\":1,\"A\":1,\"\":1}",
		"[{\"a\":1},{\"a\":2}]",
		"\"\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
		"\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"",
		"\"\\u0000\"",
		"1234567890123456789012345",
		"{\"a\\\\\":1,\"a\":2}",
		"\"\x7f\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (scan(good[i], 32) != 0)
			fail_msg("refused: %s", good[i]);
}

static void test_prescan_refuses_everything_else(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"{",
		"[",
		"}",
		"]",
		"[}",
		"{]",
		"[1,]",
		"[,1]",
		"[1 2]",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,}",
		"{1:2}",
		"{a:1}",
		"{'a':1}",
		"[1]]",
		"[] []",
		"1 2",
		"01",
		"-",
		"+1",
		".5",
		"1.",
		"1e",
		"1e+",
		"0x10",
		"NaN",
		"Infinity",
		"-Infinity",
		"nul",
		"True",
		"nan",
		"tru",
		"\"",
		"\"\\",
		"\"\\u",
		"\"\\u12",
		"\"\\x41\"",
		"\"\\u12g4\"",
		"\"a\nb\"",
		"\"a\tb\"",
		"\"\\ud800\"",
		"\"\\udc00\"",
		"\"\\ud800\\u0041\"",
		"\"\\ud800x\"",
		"\"\\ude00\\ud83d\"",
		"\"\xff\"",
		"\"\xc3\"",
		"\"\xc0\xaf\"",
		"\"\xed\xa0\x80\"",
		"\"\xf5\x80\x80\x80\"",
		"/* */ 1",
		"1 // x",
		"[1] \xef\xbb\xbf",
		"\xef\xbb\xbf[1]",
		"#",
		"{\"a\":1,\"a\":2}",
		"{\"a\":1,\"\\u0061\":2}",
		"{\"\\n\":1,\"\\u000A\":2}",
		"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}",
		"{\"/\":1,\"\\/\":2}",
		"{\"\":1,\"\":2}",
		"[{\"x\":{\"b\":1,\"c\":2,\"b\":3}}]",
		"{\"a\\u0000b\":1}",
		"{\"a\\u0000\":1}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (scan(bad[i], 32) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(json_prescan("[\0]", 3, 100, 32, NULL), -EBADMSG);
}

static void test_prescan_counts_depth_exactly(void **state)
{
	char text[256];

	(void)state;
	for (unsigned depth = 1; depth <= 64; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		text[2 * depth] = '\0';
		assert_int_equal(scan(text, depth), 0);
		assert_int_equal(scan(text, depth - 1), -EBADMSG);
	}
	assert_int_equal(scan("1", 0), 0);
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	text[130] = '\0';
	assert_int_equal(scan(text, 1000), -EBADMSG); /* asked for more than there are frames */
}

static void test_prescan_of_ten_thousand_levels_ends_with_an_error(void **state)
{
	static char text[20001];

	(void)state;
	memset(text, '[', 10000);
	memset(text + 10000, ']', 10000);
	assert_int_equal(scan(text, JSON_DEPTH_MAX), -EBADMSG);
}

static void test_prescan_refuses_more_than_the_limit(void **state)
{
	struct zerr err = {0};

	(void)state;
	assert_int_equal(json_prescan("[1,2]", 5, 5, 32, &err), 0);
	assert_int_equal(json_prescan("[1,2]", 5, 4, 32, &err), -EFBIG);
	assert_non_null(strstr(err.msg, "limit of 4"));
}

static void test_prescan_says_where_and_what(void **state)
{
	struct zerr err = {0};

	(void)state;
	assert_int_equal(json_prescan("{\"ab\":1, \"ab\":2}", 16, 100, 32, &err), -EBADMSG);
	assert_string_equal(err.msg, "offset 9: duplicate key \"ab\"");
	assert_int_equal(json_prescan("[1,nul]", 7, 100, 32, &err), -EBADMSG);
	assert_string_equal(err.msg, "offset 3: value expected");
	assert_int_equal(json_prescan("{\"\xc3\xa4\":1,\"\xc3\xa4\":2}", 15, 100, 32, &err),
			 -EBADMSG);
	assert_string_equal(err.msg, "offset 8: duplicate key"); /* nothing odd in a message */
}

/* {"k0":0,"k1":0,…} with count keys, the last one repeated if twice. */
static char *many_keys(size_t count, bool twice)
{
	char *text = malloc(count * 20 + 32);
	size_t used = 0;

	assert_non_null(text);
	text[used++] = '{';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, 32, "\"k%zu\":0,", i);
	used += (size_t)snprintf(text + used, 32, "\"%s\":0}", twice ? "k7" : "last");
	text[used] = '\0';
	return text;
}

static void test_prescan_finds_one_duplicate_among_two_hundred_thousand_keys(void **state)
{
	_cleanup_free_ char *clean = many_keys(200000, false), *dirty = many_keys(200000, true);
	uint64_t start = zfd_now_ms();

	(void)state;
	assert_int_equal(json_prescan(clean, strlen(clean), 1 << 24, 32, NULL), 0);
	assert_int_equal(json_prescan(dirty, strlen(dirty), 1 << 24, 32, NULL), -EBADMSG);
	assert_true(zfd_now_ms() - start < 5000); /* n log n: some 0.1 s; n² would take minutes */
}

static void test_every_prefix_of_a_text_is_refused(void **state)
{
	static const char text[] =
		"{\"a\":[1,-2.5e3,true,null,{\"b\":\"\\u00e9\\ud83d\\ude00\\n\"}],\"c\":{}}";

	(void)state;
	assert_int_equal(scan(text, 32), 0);
	for (size_t length = 0; length < strlen(text); length++) {
		char *cut = strndup(text, length);

		assert_non_null(cut);
		if (json_prescan(cut, length, 1000, 32, NULL) != -EBADMSG)
			fail_msg("taken: %s", cut);
		free(cut);
	}
}

static struct json_object *parse(const char *text)
{
	return json_parse(text, strlen(text), 1 << 20, NULL);
}

static void test_parse_keeps_what_was_sent(void **state)
{
	static const char text[] = "{\"a\":1.50,\"b\":[1e3,-7],\"c\":\"\\u0000x\",\"d\":null}";
	_cleanup_(json_putp) struct json_object *object = parse(text);
	_cleanup_(json_putp) struct json_object *number = parse(" 42 "), *word = parse("true");

	(void)state;
	assert_non_null(object);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN), text);
	assert_int_equal(json_object_get_int64(number), 42);
	assert_true(json_object_get_boolean(word));
}

static void test_parse_refuses_null_and_bad_text_with_a_reason(void **state)
{
	struct zerr err = {0};

	(void)state;
	assert_null(json_parse("null", 4, 100, &err));
	assert_int_equal(err.code, -EBADMSG);
	assert_null(json_parse("{\"a\":1,\"a\":1}", 13, 100, &err));
	assert_non_null(strstr(err.msg, "duplicate"));
	assert_null(json_parse("", 0, 100, &err));
}

static void test_parse_takes_the_depth_that_the_prescan_takes(void **state)
{
	char text[2 * JSON_DEPTH_MAX + 2];

	(void)state;
	memset(text, '[', JSON_DEPTH_MAX);
	text[JSON_DEPTH_MAX] = '1';
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX);
	text[2 * JSON_DEPTH_MAX + 1] = '\0';
	_cleanup_(json_putp) struct json_object *object = parse(text);
	assert_non_null(object);
}

static void test_getters_take_their_type_only(void **state)
{
	_cleanup_(json_putp) struct json_object *object =
		parse("{\"s\":\"x\",\"i\":7,\"d\":1.5,\"b\":true,\"o\":{},\"a\":[],\"n\":null,"
		      "\"z\":\"a\\u0000b\"}");
	static const char *const keys[] = {"s", "i", "d", "b", "o", "a", "z"};
	/* string int double bool object array: which of the keys each takes */
	static const char *const takes[] = {"s", "i", "id", "b", "o", "a"};
	struct json_object *value;
	struct zerr err = {0};
	const char *text;
	int64_t integer;
	double number;
	bool flag;

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int results[] = {
			json_get_string(object, keys[i], &text, &err),
			json_get_int(object, keys[i], 0, 10, &integer, &err),
			json_get_double(object, keys[i], &number, &err),
			json_get_bool(object, keys[i], &flag, &err),
			json_get_object(object, keys[i], &value, &err),
			json_get_array(object, keys[i], &value, &err),
		};

		for (size_t j = 0; j < 6; j++)
			assert_int_equal(results[j], strchr(takes[j], keys[i][0]) ? 0 : -EINVAL);
	}
	assert_int_equal(json_get_string(object, "i", &text, &err), -EINVAL);
	assert_string_equal(err.msg, "member \"i\": string expected");
}

static void test_getters_leave_the_default_for_missing_and_null(void **state)
{
	_cleanup_(json_putp) struct json_object *object = parse("{\"n\":null}");
	static const char *const keys[] = {"n", "missing"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *text = "old";
		struct json_object *value = object;
		int64_t integer = 5;
		double number = 2.5;
		bool flag = true;

		assert_int_equal(json_get_string(object, keys[i], &text, NULL), 0);
		assert_int_equal(json_get_int(object, keys[i], 0, 1, &integer, NULL), 0);
		assert_int_equal(json_get_double(object, keys[i], &number, NULL), 0);
		assert_int_equal(json_get_bool(object, keys[i], &flag, NULL), 0);
		assert_int_equal(json_get_object(object, keys[i], &value, NULL), 0);
		assert_null(text);
		assert_null(value);
		assert_true(integer == 5 && number == 2.5 && flag);
	}
	assert_int_equal(json_get_string(NULL, "a", &(const char *){NULL}, NULL), 0);
}

static void test_integers_beyond_64_bits_are_refused(void **state)
{
	_cleanup_(json_putp) struct json_object *object =
		parse("{\"a\":9223372036854775807,\"b\":9223372036854775808,"
		      "\"c\":99999999999999999999999999,\"d\":-9999999999999999999999,\"e\":-5,"
		      "\"f\":1e400}");
	struct zerr err = {0};
	int64_t value = 0;
	double number = 0;

	(void)state;
	assert_int_equal(json_get_int(object, "a", INT64_MIN, INT64_MAX, &value, &err), 0);
	assert_true(value == INT64_MAX);
	for (const char *key = "bcd"; *key; key++) {
		char name[2] = {*key, '\0'};

		assert_int_equal(json_get_int(object, name, INT64_MIN, INT64_MAX, &value, &err),
				 -EINVAL);
		assert_non_null(strstr(err.msg, "64 bits"));
	}
	assert_int_equal(json_get_int(object, "e", 0, 10, &value, &err), -EINVAL);
	assert_string_equal(err.msg, "member \"e\": integer from 0 to 10 expected");
	assert_int_equal(json_get_double(object, "f", &number, &err), -EINVAL);
}

static void assert_picked(const char *text, const char *id, const char *uuid)
{
	struct json_pick picks[] = {{.path = {"_msg_id"}},
				    {.path = {"args", "container", "data", "uuid"}}};

	json_pick(text, strlen(text), picks, 2);
	if (!zstr_equal(picks[0].value, id) || !zstr_equal(picks[1].value, uuid))
		fail_msg("%s: picked '%.*s' and '%.*s'", text, (int)picks[0].value.length,
			 picks[0].value.data, (int)picks[1].value.length, picks[1].value.data);
}

static void test_pick_reads_on_where_the_prescan_gave_up(void **state)
{
	static char deep[4096];
	size_t used = (size_t)snprintf(deep, sizeof(deep), "{\"args\":{\"x\":");

	(void)state;
	memset(deep + used, '[', 1000);
	memset(deep + used + 1000, ']', 1000);
	(void)snprintf(deep + used + 2000, 200,
		       ",\"container\":{\"data\":{\"uuid\":\"U\"}}},\"_msg_id\":\"M\"}");
	assert_picked(deep, "M", "U");
	assert_picked("{\"_msg_id\":\"M\",\"a\":1,\"a\":2}", "M", "");
	assert_picked("{\"a\":NaN,\"_msg_id\":\"M\"}", "M", "");
	assert_picked("{\"a\":\"\xff\",\"_msg_id\":\"M\"", "M", "");
	assert_picked("{\"_msg_id\":\"M\",\"args\":{\"container\":{\"data\":{\"uuid\":\"U\"", "M",
		      "U");
}

static void test_pick_takes_nothing_that_is_not_sure(void **state)
{
	(void)state;
	assert_picked("{\"_msg_id\":\"M\",\"_msg_id\":\"N\"}", "", "");
	assert_picked("{\"_msg_id\":\"M\",\"_msg_id\":\"M\"}", "M", "");
	assert_picked("{\"_msg_id\":\"M\",\"_msg_id\":{}}", "", "");
	assert_picked("{\"_msg_id\":[\"M\"]}", "", "");
	assert_picked("{\"_msg_id\":\"M\",\"_msg_id\":5}", "", "");
	assert_picked("{\"_msg_id\":true,\"_msg_id\":\"M\"}", "", "");
	assert_picked("{\"_msg_id\":null,\"_msg_id\":\"M\"}", "M", "");
	assert_picked("{\"_msg_id\":{\"_msg_id\":\"M\"}}", "", "");
	assert_picked("{\"x\":{\"_msg_id\":\"M\"}}", "", "");
	assert_picked("[{\"_msg_id\":\"M\"}]", "", "");
	assert_picked("{\"_msg_id\":\"a\\nb\"}", "", "");
	assert_picked("{\"_msg_id\":\"\xc3\xa4\"}", "", "");
	assert_picked("{\"_msg\\u005fid\":\"M\"}", "", "");
	assert_picked("{\"args\":[{\"container\":{\"data\":{\"uuid\":\"U\"}}}]}", "", "");
	assert_picked("{\"args\":{\"container\":{\"data\":{\"x\":{\"uuid\":\"U\"}}}}}", "", "");
	assert_picked("{\"args\":{\"container\":{\"data\":{}},\"data\":{\"uuid\":\"U\"}}}", "", "");
	assert_picked("}{\"_msg_id\":\"M\"}", "", "");
	assert_picked("\"_msg_id\":\"M\"", "", "");
	assert_picked("", "", "");
	{
		struct json_pick pick = {.path = {"a"}};

		json_pick("{\"a\":\0\"x\"}", 10, &pick, 1);
		assert_true(pick.spoilt && pick.value.length == 0);
	}
	assert_picked("{\"_msg_id\":\"\\", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prescan_accepts_what_rfc_8259_accepts),
		cmocka_unit_test(test_prescan_refuses_everything_else),
		cmocka_unit_test(test_prescan_counts_depth_exactly),
		cmocka_unit_test(test_prescan_of_ten_thousand_levels_ends_with_an_error),
		cmocka_unit_test(test_prescan_refuses_more_than_the_limit),
		cmocka_unit_test(test_prescan_says_where_and_what),
		cmocka_unit_test(test_prescan_finds_one_duplicate_among_two_hundred_thousand_keys),
		cmocka_unit_test(test_every_prefix_of_a_text_is_refused),
		cmocka_unit_test(test_parse_keeps_what_was_sent),
		cmocka_unit_test(test_parse_refuses_null_and_bad_text_with_a_reason),
		cmocka_unit_test(test_parse_takes_the_depth_that_the_prescan_takes),
		cmocka_unit_test(test_getters_take_their_type_only),
		cmocka_unit_test(test_getters_leave_the_default_for_missing_and_null),
		cmocka_unit_test(test_integers_beyond_64_bits_are_refused),
		cmocka_unit_test(test_pick_reads_on_where_the_prescan_gave_up),
		cmocka_unit_test(test_pick_takes_nothing_that_is_not_sure),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

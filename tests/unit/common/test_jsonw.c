/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/jsonw.c. */
#include "common/jsonw.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define TEXT(literal) ((struct zstr){.data = (literal), .length = sizeof(literal) - 1})

static void expect(const struct jsonw *json, const char *expected)
{
	assert_true(jsonw_done(json));
	assert_int_equal(json->used, strlen(expected));
	assert_memory_equal(json->data, expected, json->used);
}

static void test_jsonw_places_commas_at_every_level(void **state)
{
	char data[256];
	struct jsonw json;

	(void)state;
	jsonw_init(&json, data, sizeof(data));
	jsonw_object(&json);
	jsonw_key(&json, "a");
	jsonw_u64(&json, 1);
	jsonw_key(&json, "list");
	jsonw_array(&json);
	jsonw_cstr(&json, "x");
	jsonw_null(&json);
	jsonw_bool(&json, true);
	jsonw_bool(&json, false);
	jsonw_array(&json);
	jsonw_end_array(&json);
	jsonw_object(&json);
	jsonw_end_object(&json);
	jsonw_end_array(&json);
	jsonw_key_str(&json, TEXT("o\"k"));
	jsonw_object(&json);
	jsonw_key(&json, "n");
	jsonw_u64(&json, 5);
	jsonw_end_object(&json);
	jsonw_end_object(&json);

	expect(&json, "{\"a\":1,\"list\":[\"x\",null,true,false,[],{}],\"o\\\"k\":{\"n\":5}}");
}

static void test_jsonw_writes_the_extreme_numbers(void **state)
{
	char data[128];
	struct jsonw json;

	(void)state;
	jsonw_init(&json, data, sizeof(data));
	jsonw_array(&json);
	jsonw_u64(&json, 0);
	jsonw_u64(&json, UINT64_MAX);
	jsonw_end_array(&json);

	expect(&json, "[0,18446744073709551615]");
}

static void test_jsonw_takes_a_single_scalar(void **state)
{
	char data[16];
	struct jsonw json;

	(void)state;
	jsonw_init(&json, data, sizeof(data));
	assert_false(jsonw_done(&json));
	jsonw_cstr(&json, "a");
	expect(&json, "\"a\"");
	jsonw_cstr(&json, "b");
	assert_false(jsonw_done(&json));
}

static void test_jsonw_escapes_what_is_not_plain(void **state)
{
	static const struct {
		const char *name;
		struct zstr value;
		const char *expected;
	} cases[] = {
		{"plain", {"abc~ ", 5}, "abc~ "},
		{"empty", {NULL, 0}, ""},
		{"quote and backslash", {"a\"b\\c/", 6}, "a\\\"b\\\\c/"},
		{"named controls", {"\b\f\n\r\t", 5}, "\\b\\f\\n\\r\\t"},
		{"other controls", {"\x01\x1f\x1b[0m", 6}, "\\u0001\\u001f\\u001b[0m"},
		{"NUL inside", {"a\0b", 3}, "a\\u0000b"},
		{"DEL and C1",
		 {"\x7f\xc2\x80\xc2\x9f\xc2\xa0", 7},
		 "\\u007f\\u0080\\u009f\xc2\xa0"},
		{"line separators", {"\xe2\x80\xa8\xe2\x80\xa9", 6}, "\\u2028\\u2029"},
		{"direction marks",
		 {"\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", 12},
		 "\\u200e\\u202e\\u2066\\u2069"},
		{"two, three, four bytes",
		 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb3", 9},
		 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb3"},
		{"stray continuation", {"a\x80z", 3}, "a\xef\xbf\xbdz"},
		{"cut at the end", {"a\xe2\x82", 3}, "a\xef\xbf\xbd\xef\xbf\xbd"},
		{"overlong slash", {"\xc0\xaf", 2}, "\xef\xbf\xbd\xef\xbf\xbd"},
		{"surrogate", {"\xed\xa0\x80", 3}, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"beyond Unicode",
		 {"\xf4\x90\x80\x80", 4},
		 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"never in UTF-8", {"\xff\xfe", 2}, "\xef\xbf\xbd\xef\xbf\xbd"},
	};
	char data[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t used = 0;

		print_message("case: %s\n", cases[i].name);
		assert_true(jsonw_escape(cases[i].value, data, sizeof(data), &used));
		assert_int_equal(used, strlen(cases[i].expected));
		assert_memory_equal(data, cases[i].expected, used);
	}
}

static void test_jsonw_escape_stops_at_a_whole_character(void **state)
{
	char data[8] = "12345678";
	size_t used = 1;

	(void)state;
	assert_false(jsonw_escape(TEXT("a\n\n\xe2\x82\xac"), data, 7, &used));
	assert_int_equal(used, 6);
	assert_memory_equal(data, "1a\\n\\n78", 8);
	used = 8;
	assert_false(jsonw_escape(TEXT("a"), data, 8, &used));
	assert_true(jsonw_escape(TEXT(""), data, 8, &used));
}

/* Whatever the size, it is whole or failed, and nothing is written beyond it. */
static void test_jsonw_fails_at_every_size_that_is_too_small(void **state)
{
	static const char whole[] = "{\"k\":[\"v\\n\",12,3,true,null]}";
	char data[64];

	(void)state;
	for (size_t size = 0; size <= sizeof(whole); size++) {
		struct jsonw json;

		memset(data, '#', sizeof(data));
		jsonw_init(&json, data, size);
		jsonw_object(&json);
		jsonw_key(&json, "k");
		jsonw_array(&json);
		jsonw_cstr(&json, "v\n");
		jsonw_u64(&json, 12);
		jsonw_u64(&json, 3);
		jsonw_bool(&json, true);
		jsonw_null(&json);
		jsonw_end_array(&json);
		jsonw_end_object(&json);
		assert_int_equal(jsonw_done(&json), size >= sizeof(whole) - 1);
		assert_true(json.used <= size);
		assert_int_equal(data[size], '#');
	}
}

static void nest(struct jsonw *json, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		jsonw_array(json);
	for (size_t i = 0; i < depth; i++)
		jsonw_end_array(json);
}

static void test_jsonw_nests_to_its_depth_and_no_deeper(void **state)
{
	char data[128];
	struct jsonw json;

	(void)state;
	jsonw_init(&json, data, sizeof(data));
	nest(&json, JSONW_DEPTH_MAX);
	assert_true(jsonw_done(&json));
	jsonw_init(&json, data, sizeof(data));
	nest(&json, JSONW_DEPTH_MAX + 1);
	assert_false(jsonw_done(&json));
}

static void value_without_key(struct jsonw *json)
{
	jsonw_object(json);
	jsonw_u64(json, 1);
	jsonw_end_object(json);
}

static void key_without_value(struct jsonw *json)
{
	jsonw_object(json);
	jsonw_key(json, "a");
	jsonw_end_object(json);
}

static void key_after_key(struct jsonw *json)
{
	jsonw_object(json);
	jsonw_key(json, "a");
	jsonw_key(json, "b");
	jsonw_u64(json, 1);
	jsonw_end_object(json);
}

static void key_in_array(struct jsonw *json)
{
	jsonw_array(json);
	jsonw_key(json, "a");
	jsonw_u64(json, 1);
	jsonw_end_array(json);
}

static void key_at_the_top(struct jsonw *json)
{
	jsonw_key(json, "a");
	jsonw_u64(json, 1);
}

static void wrong_close(struct jsonw *json)
{
	jsonw_object(json);
	jsonw_end_array(json);
}

static void close_too_much(struct jsonw *json)
{
	jsonw_array(json);
	jsonw_end_array(json);
	jsonw_end_array(json);
}

static void left_open(struct jsonw *json)
{
	jsonw_array(json);
}

static void two_values(struct jsonw *json)
{
	jsonw_object(json);
	jsonw_end_object(json);
	jsonw_object(json);
	jsonw_end_object(json);
}

static void test_jsonw_refuses_wrong_nesting(void **state)
{
	static const struct {
		const char *name;
		void (*write)(struct jsonw *json);
	} cases[] = {
		{"value without key", value_without_key},
		{"key without value", key_without_value},
		{"key after key", key_after_key},
		{"key in array", key_in_array},
		{"key at the top", key_at_the_top},
		{"wrong close", wrong_close},
		{"close too much", close_too_much},
		{"left open", left_open},
		{"two values", two_values},
	};
	char data[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jsonw json;

		print_message("case: %s\n", cases[i].name);
		jsonw_init(&json, data, sizeof(data));
		cases[i].write(&json);
		assert_false(jsonw_done(&json));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jsonw_places_commas_at_every_level),
		cmocka_unit_test(test_jsonw_writes_the_extreme_numbers),
		cmocka_unit_test(test_jsonw_takes_a_single_scalar),
		cmocka_unit_test(test_jsonw_escapes_what_is_not_plain),
		cmocka_unit_test(test_jsonw_escape_stops_at_a_whole_character),
		cmocka_unit_test(test_jsonw_fails_at_every_size_that_is_too_small),
		cmocka_unit_test(test_jsonw_nests_to_its_depth_and_no_deeper),
		cmocka_unit_test(test_jsonw_refuses_wrong_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

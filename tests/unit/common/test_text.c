/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/text.c. */
#include "common/text.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(literal)                                                                              \
	{                                                                                          \
		.data = (literal), .length = sizeof(literal) - 1                                   \
	}

struct class_case {
	enum text_class class;
	bool valid;
	struct zstr text;
};

static void check(const struct class_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		print_message("case: %s %s '%.*s'\n", text_class_name(cases[i].class),
			      cases[i].valid ? "takes" : "refuses", (int)cases[i].text.length,
			      cases[i].text.data);
		assert_int_equal(text_valid(cases[i].class, cases[i].text), cases[i].valid);
	}
}

static void test_text_takes_and_refuses_by_class(void **state)
{
	static const struct class_case cases[] = {
		{TEXT_TOKEN, true, TEXT("")},
		{TEXT_TOKEN, true, TEXT("req-0aZ9._:@/+=-")},
		{TEXT_TOKEN, false, TEXT("a b")},
		{TEXT_TOKEN, false, TEXT("a\0")},
		{TEXT_TOKEN, false, TEXT("\xc3\xa9")},
		{TEXT_TOKEN, false, TEXT("a\n")},
		{TEXT_UTF8, true, TEXT("")},
		{TEXT_UTF8, true, TEXT("tab\t\x7f \xc3\xa9=")},
		{TEXT_UTF8, false, TEXT("a\0b")},
		{TEXT_UTF8, false, TEXT("\xff")},
		{TEXT_ENV_KEY, true, TEXT("PATH")},
		{TEXT_ENV_KEY, true, TEXT("a b\n\x7f\xc3\xa9")},
		{TEXT_ENV_KEY, false, TEXT("")},
		{TEXT_ENV_KEY, false, TEXT("A=B")},
		{TEXT_ENV_KEY, false, TEXT("A\0")},
		{TEXT_ENV_KEY, false, TEXT("\xc3")},
		{TEXT_LABEL_KEY, true, TEXT("io.example/a=b \xc3\xa9")},
		{TEXT_LABEL_KEY, false, TEXT("")},
		{TEXT_LABEL_KEY, false, TEXT("a\tb")},
		{TEXT_LABEL_KEY, false, TEXT("a\x7f")},
		{TEXT_LABEL_KEY, false, TEXT("a\0")},
		{TEXT_LABEL_KEY, false, TEXT("a\x80")},
		{TEXT_IMAGE, true, TEXT("busybox:1")},
		{TEXT_IMAGE, false, TEXT("Busybox")},
		{TEXT_IMAGE, false, TEXT("")},
		{TEXT_HOSTNAME, true, TEXT("")},
		{TEXT_HOSTNAME, true, TEXT("a")},
		{TEXT_HOSTNAME, true, TEXT("web-1.Example.org")},
		{TEXT_HOSTNAME, false, TEXT("-a")},
		{TEXT_HOSTNAME, false, TEXT("a-")},
		{TEXT_HOSTNAME, false, TEXT("a.")},
		{TEXT_HOSTNAME, false, TEXT("a_b")},
		{TEXT_HOSTNAME, false, TEXT(".")},
		{TEXT_ABS_PATH, true, TEXT("")},
		{TEXT_ABS_PATH, true, TEXT("/")},
		{TEXT_ABS_PATH, true, TEXT("/srv/a b/\xc3\xa9")},
		{TEXT_ABS_PATH, false, TEXT("srv")},
		{TEXT_ABS_PATH, false, TEXT("/a\n")},
		{TEXT_ABS_PATH, false, TEXT("/a\0b")},
		{TEXT_ABS_PATH, false, TEXT("/\xc3")},
		{TEXT_NAME, true, TEXT("")},
		{TEXT_NAME, true, TEXT("io.containerd.runc_v2-x")},
		{TEXT_NAME, true, TEXT("9")},
		{TEXT_NAME, false, TEXT(".hidden")},
		{TEXT_NAME, false, TEXT("a/b")},
		{TEXT_PORT, true, TEXT("1/tcp")},
		{TEXT_PORT, true, TEXT("65535/udp")},
		{TEXT_PORT, true, TEXT("8080/sctp")},
		{TEXT_PORT, false, TEXT("")},
		{TEXT_PORT, false, TEXT("0/tcp")},
		{TEXT_PORT, false, TEXT("080/tcp")},
		{TEXT_PORT, false, TEXT("65536/tcp")},
		{TEXT_PORT, false, TEXT("100000/tcp")},
		{TEXT_PORT, false, TEXT("4294967376/tcp")},
		{TEXT_PORT, false, TEXT("80")},
		{TEXT_PORT, false, TEXT("80/")},
		{TEXT_PORT, false, TEXT("80/TCP")},
		{TEXT_PORT, false, TEXT("80/tcp ")},
		{TEXT_PORT, false, TEXT("/tcp")},
		{TEXT_PORT, false, TEXT("-1/tcp")},
		{TEXT_PRINTABLE, true, TEXT("")},
		{TEXT_PRINTABLE, true, TEXT(" !\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~")},
		{TEXT_PRINTABLE, false, TEXT("a\n")},
		{TEXT_PRINTABLE, false, TEXT("\x7f")},
		{TEXT_PRINTABLE, false, TEXT("\xc3\xa9")},
		{TEXT_PRINTABLE, false, TEXT("a\0")},
		{TEXT_CLASS_COUNT, false, TEXT("a")},
	};

	(void)state;
	check(cases, COUNT(cases));
}

/* Each class that is a set of bytes, against the set that its comment names, byte by byte. */
static void test_text_classes_hold_exactly_their_bytes(void **state)
{
	static const char alnum[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	(void)state;
	for (int value = 0; value < 256; value++) {
		char pair[2] = {'a', (char)value};
		struct zstr text = {.data = pair, .length = 2};
		bool is_alnum = value > 0 && strchr(alnum, value);
		bool is_ascii = value > 0 && value < 0x80;
		bool is_printable = value >= ' ' && value < 0x7f;

		assert_int_equal(text_valid(TEXT_PRINTABLE, text), is_printable);
		assert_int_equal(text_valid(TEXT_NAME, text),
				 is_alnum || (is_ascii && strchr("_.-", value)));
		assert_int_equal(text_valid(TEXT_TOKEN, text),
				 is_alnum || (is_ascii && strchr("._:@/+=-", value)));
		assert_int_equal(text_valid(TEXT_HOSTNAME, text), is_alnum);
		assert_int_equal(text_valid(TEXT_UTF8, text), is_ascii);
		assert_int_equal(text_valid(TEXT_LABEL_KEY, text), is_printable);
		assert_int_equal(text_valid(TEXT_ENV_KEY, text), is_ascii && value != '=');
	}
}

static void test_text_class_names_are_there(void **state)
{
	(void)state;
	for (int class = 0; class < TEXT_CLASS_COUNT; class ++)
		assert_true(strlen(text_class_name((enum text_class) class)) > 1);
	assert_string_equal(text_class_name(TEXT_CLASS_COUNT), "?");
}

static void test_text_utf8_is_that_of_rfc_3629(void **state)
{
	static const struct {
		struct zstr text;
		size_t length; /* of the first character, 0 = invalid */
		uint32_t code;
	} cases[] = {
		{TEXT("\0"), 1, 0},
		{TEXT("\x7f"), 1, 0x7f},
		{TEXT("\xc2\x80"), 2, 0x80},
		{TEXT("\xdf\xbf"), 2, 0x7ff},
		{TEXT("\xe0\xa0\x80"), 3, 0x800},
		{TEXT("\xed\x9f\xbf"), 3, 0xd7ff},
		{TEXT("\xee\x80\x80"), 3, 0xe000},
		{TEXT("\xef\xbf\xbf"), 3, 0xffff},
		{TEXT("\xf0\x90\x80\x80"), 4, 0x10000},
		{TEXT("\xf4\x8f\xbf\xbf"), 4, 0x10ffff},
		{TEXT(""), 0, 0},
		{TEXT("\x80"), 0, 0},
		{TEXT("\xbf"), 0, 0},
		{TEXT("\xc0\x80"), 0, 0},
		{TEXT("\xc1\xbf"), 0, 0},
		{TEXT("\xc2"), 0, 0},
		{TEXT("\xc2\x41"), 0, 0},
		{TEXT("\xe0\x9f\xbf"), 0, 0},
		{TEXT("\xe2\x82"), 0, 0},
		{TEXT("\xe2\x28\xa1"), 0, 0},
		{TEXT("\xed\xa0\x80"), 0, 0},
		{TEXT("\xed\xbf\xbf"), 0, 0},
		{TEXT("\xf0\x8f\xbf\xbf"), 0, 0},
		{TEXT("\xf0\x90\x80"), 0, 0},
		{TEXT("\xf4\x90\x80\x80"), 0, 0},
		{TEXT("\xf5\x80\x80\x80"), 0, 0},
		{TEXT("\xf8\x88\x80\x80\x80"), 0, 0},
		{TEXT("\xfe"), 0, 0},
		{TEXT("\xff"), 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint32_t code = 0;

		print_message("case: %zu\n", i);
		assert_int_equal(text_utf8_next(cases[i].text, 0, &code), cases[i].length);
		assert_int_equal(code, cases[i].code);
		if (cases[i].text.length > 0)
			assert_int_equal(text_utf8_valid(cases[i].text), cases[i].length > 0);
	}
	assert_true(text_utf8_valid((struct zstr){0}));
	assert_false(text_utf8_valid((struct zstr)TEXT("good then \xe2\x82")));
}

static void test_text_span_counts_from_a_position(void **state)
{
	struct zstr text = TEXT("ab12\0b");

	(void)state;
	assert_int_equal(text_span(text, 0, TEXT_LOWER), 2);
	assert_int_equal(text_span(text, 2, TEXT_DIGITS), 2);
	assert_int_equal(text_span(text, 4, TEXT_ALNUM), 0);
	assert_int_equal(text_span(text, 5, TEXT_ALNUM), 1);
	assert_int_equal(text_span(text, 6, TEXT_ALNUM), 0);
}

static void test_uuid_goes_there_and_back(void **state)
{
	uint8_t uuid[UUID_SIZE];
	char text[UUID_TEXT_SIZE];

	(void)state;
	assert_int_equal(
		uuid_parse((struct zstr)TEXT("01234567-89AB-cdef-FEDC-ba9876543210"), uuid), 0);
	assert_memory_equal(uuid,
			    "\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10",
			    UUID_SIZE);
	uuid_format(uuid, text);
	assert_string_equal(text, "01234567-89ab-cdef-fedc-ba9876543210");
}

static void test_uuid_refuses_other_forms_and_leaves_the_output(void **state)
{
	static const struct zstr cases[] = {
		TEXT(""),
		TEXT("01234567-89ab-cdef-fedc-ba987654321"),
		TEXT("01234567-89ab-cdef-fedc-ba98765432100"),
		TEXT("0123456789abcdeffedcba9876543210"),
		TEXT("0123456789abcdeffedcba9876543210----"),
		TEXT("01234567_89ab-cdef-fedc-ba9876543210"),
		TEXT("01234567-89ab-cdef-fedc-ba987654321g"),
		TEXT("01234567-89ab-cdef-fedc-ba987654321\0"),
		TEXT("\00123456-89ab-cdef-fedc-ba9876543210"),
		TEXT("{1234567-89ab-cdef-fedc-ba987654321}"),
		TEXT("01234567-89ab-cdef-fedcb-a9876543210"),
		TEXT(" 1234567-89ab-cdef-fedc-ba9876543210"),
	};
	uint8_t uuid[UUID_SIZE], before[UUID_SIZE];

	(void)state;
	memset(uuid, 0x5a, sizeof(uuid));
	memset(before, 0x5a, sizeof(before));
	for (size_t i = 0; i < COUNT(cases); i++) {
		print_message("case: '%.*s'\n", (int)cases[i].length, cases[i].data);
		assert_int_equal(uuid_parse(cases[i], uuid), -EINVAL);
		assert_memory_equal(uuid, before, UUID_SIZE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_takes_and_refuses_by_class),
		cmocka_unit_test(test_text_classes_hold_exactly_their_bytes),
		cmocka_unit_test(test_text_class_names_are_there),
		cmocka_unit_test(test_text_utf8_is_that_of_rfc_3629),
		cmocka_unit_test(test_text_span_counts_from_a_position),
		cmocka_unit_test(test_uuid_goes_there_and_back),
		cmocka_unit_test(test_uuid_refuses_other_forms_and_leaves_the_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

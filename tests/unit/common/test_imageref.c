/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/imageref.c: the table of known-faults F24, and the edges of the grammar. */
#include "common/imageref.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HEX16	     "0123456789abcdef"
#define HEX32	     HEX16 HEX16
#define HEX64	     HEX32 HEX32

static void test_imageref_splits_what_the_engine_takes(void **state)
{
	static const struct {
		const char *text, *repository, *domain, *tag, *digest;
	} cases[] = {
		{"a", "a", "docker.io", "", ""},
		{"a:1", "a", "docker.io", "1", ""},
		{"reg:5000/a/b", "reg:5000/a/b", "reg:5000", "", ""},
		{"reg:5000/a/b:1", "reg:5000/a/b", "reg:5000", "1", ""},
		{"a@sha256:" HEX64, "a", "docker.io", "", "sha256:" HEX64},
		{"a:1@sha256:" HEX64, "a", "docker.io", "1", "sha256:" HEX64},
		{"a@sha384:" HEX64 HEX32, "a", "docker.io", "", "sha384:" HEX64 HEX32},
		{"a@sha512:" HEX64 HEX64, "a", "docker.io", "", "sha512:" HEX64 HEX64},
		{"library/busybox", "library/busybox", "docker.io", "", ""},
		{"docker.io/library/busybox", "docker.io/library/busybox", "docker.io", "", ""},
		{"index.docker.io/library/busybox", "index.docker.io/library/busybox", "docker.io",
		 "", ""},
		{"localhost/a", "localhost/a", "localhost", "", ""},
		{"localhost:5000/a:v1.2-rc_3", "localhost:5000/a", "localhost:5000", "v1.2-rc_3",
		 ""},
		{"localhost", "localhost", "docker.io", "", ""},
		{"localhost:5000", "localhost", "docker.io", "5000", ""},
		{"Reg-1.Example.ORG:1/a", "Reg-1.Example.ORG:1/a", "Reg-1.Example.ORG:1", "", ""},
		{"reg/a", "reg/a", "docker.io", "", ""},
		{"a.b/c", "a.b/c", "a.b", "", ""},
		{"10.0.0.1/a/b/c/d", "10.0.0.1/a/b/c/d", "10.0.0.1", "", ""},
		{"a_b/c__d/e.f/g-h/i---j", "a_b/c__d/e.f/g-h/i---j", "docker.io", "", ""},
		{"a:_x", "a", "docker.io", "_x", ""},
		{"0", "0", "docker.io", "", ""},
		{"sha256:latest", "sha256", "docker.io", "latest", ""},
		{"b/sha256:" HEX64, "b/sha256", "docker.io", HEX64, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct imageref image;

		print_message("case: %s\n", cases[i].text);
		assert_int_equal(imageref_parse(zstr_from(cases[i].text), &image), 0);
		assert_true(zstr_equal(image.repository, cases[i].repository));
		assert_true(zstr_equal(image.domain, cases[i].domain));
		assert_true(zstr_equal(image.tag, cases[i].tag));
		assert_true(zstr_equal(image.digest, cases[i].digest));
	}
}

static void test_imageref_refuses_what_the_engine_refuses(void **state)
{
	static const char *const cases[] = {
		"",
		"A",
		"a:",
		":1",
		"a b",
		" a",
		"a\n",
		"a/",
		"/a",
		"a//b",
		"a:1:2",
		"a:-1",
		"a:.1",
		"a:1/b:2/c",
		"a:x y",
		"a:\xc3\xa9",
		"\xc3\xa9",
		"a-",
		"-a",
		"a._b",
		"a..b",
		"a___b",
		"a_-b",
		"a-_b",
		"a/-b",
		"a-/b",
		"Foo/bar",
		"reg.x/A",
		"reg.x/",
		"reg.x:/a",
		"reg.x:5000x/a",
		"reg.x:50:00/a",
		"reg..x/a",
		".reg/a",
		"reg./a",
		"-reg.x/a",
		"reg-.x/a",
		"reg.-x/a",
		"reg.x-/a",
		"reg_a.x/a",
		":5000/a",
		"localhost:/a",
		"[::1]:5000/a",
		"http://reg.x/a",
		"a@",
		"@sha256:" HEX64,
		"a@sha256",
		"a@sha256:",
		"a@sha256:" HEX32,
		"a@sha256:" HEX64 "0",
		"a@sha256:" HEX32 HEX16 "0123456789abcdeF",
		"a@sha256:" HEX32 HEX16 "0123456789abcdeg",
		"a@sha256:" HEX64 "@sha256:" HEX64,
		"a@SHA256:" HEX64,
		"a@md5:" HEX32,
		"a@:" HEX64,
		"a@sha512:" HEX64,
		"a:@sha256:" HEX64,
		"a@1",
		/* names of an image by its id */
		HEX64,
		"sha256:" HEX64,
		"sha512:" HEX64 HEX64,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct imageref image;

		print_message("case: %s\n", cases[i]);
		assert_int_equal(imageref_parse(zstr_from(cases[i]), &image), -EINVAL);
	}
}

static void test_imageref_refuses_a_nul_inside(void **state)
{
	static const char text[] = "a\0b", tag[] = "a:1\0", domain[] = "r.x\0/a";
	struct imageref image;

	(void)state;
	assert_int_equal(imageref_parse((struct zstr){.data = text, .length = 3}, &image), -EINVAL);
	assert_int_equal(imageref_parse((struct zstr){.data = tag, .length = 4}, &image), -EINVAL);
	assert_int_equal(imageref_parse((struct zstr){.data = domain, .length = 6}, &image),
			 -EINVAL);
	assert_int_equal(imageref_parse((struct zstr){0}, &image), -EINVAL);
}

static void test_imageref_keeps_the_engines_lengths(void **state)
{
	static const struct {
		const char *name;
		size_t repository, tag;
		bool digest;
		int result;
	} cases[] = {
		{"the longest repository", 255, 0, false, 0},
		{"one more", 256, 0, false, -EINVAL},
		{"300 characters", 300, 0, false, -EINVAL},
		{"the longest tag", 1, 128, false, 0},
		{"one more in the tag", 1, 129, false, -EINVAL},
		{"all at their longest", 255, 128, true, 0},
		{"a text beyond every bound", 2000, 0, false, -EINVAL},
	};
	char text[2100];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct imageref image;
		size_t length = cases[i].repository;

		print_message("case: %s\n", cases[i].name);
		memset(text, 'x', sizeof(text));
		if (cases[i].tag > 0) {
			text[length] = ':';
			length += 1 + cases[i].tag;
		}
		if (cases[i].digest) {
			memcpy(text + length, "@sha256:" HEX64, 72);
			length += 72;
		}
		assert_int_equal(
			imageref_parse((struct zstr){.data = text, .length = length}, &image),
			cases[i].result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_imageref_splits_what_the_engine_takes),
		cmocka_unit_test(test_imageref_refuses_what_the_engine_refuses),
		cmocka_unit_test(test_imageref_refuses_a_nul_inside),
		cmocka_unit_test(test_imageref_keeps_the_engines_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

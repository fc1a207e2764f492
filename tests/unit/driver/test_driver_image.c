/* SPDX-License-Identifier: Apache-2.0 */
/* Image policies and pulls against a scripted helper. */
#include "common/zfd.h"
#include "tests/unit/driver/driver_case.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define NAME   "127.0.0.1:5001/busybox"
#define DIGEST "sha256:bdc9590158b3581be5b51cb4a499088b0a06da0599142d2ba50c216cd46a5b97"
#define OTHER  "sha256:adc9590158b3581be5b51cb4a499088b0a06da0599142d2ba50c216cd46a5b97"

#define THERE  STEP_BODY(image_inspect, 200, "{\"RepoDigests\":[\"" NAME "@" DIGEST "\"]}")
#define ABSENT STEP_BODY(image_inspect, 404, "{\"message\":\"No such image\"}")
#define PULLED STEP_BODY(image_pull, 200, "{\"status\":\"a\"}\r\n{\"status\":\"b\"}\r\n")

static const struct {
	const char *name, *policy, *image;
	struct fake_step steps[4]; /* after the version */
	int result;
	const char *class, *text;
} cases[] = {
	{"no policy is always", NULL, NAME ":1.35", {PULLED, THERE}, 0, NULL, NULL},
	{"empty policy is always", "", NAME ":1.35", {PULLED, THERE}, 0, NULL, NULL},
	{"always pulls what is there", "always", NAME ":1.35", {PULLED, THERE}, 0, NULL, NULL},
	{"ifnotpresent, there", "ifnotpresent", NAME ":1.35", {THERE}, 0, NULL, NULL},
	{"ifnotpresent, absent",
	 "ifnotpresent",
	 NAME ":1.35",
	 {ABSENT, PULLED, THERE},
	 0,
	 NULL,
	 NULL},
	{"never, there", "never", NAME ":1.35", {THERE}, 0, NULL, NULL},
	{"never, absent", "never", NAME ":1.35", {ABSENT}, -ENOENT, "ImageNotFound", NAME ":1.35"},
	{"always, unknown to the registry",
	 "always",
	 NAME ":9",
	 {STEP_BODY(image_pull, 404, "{\"message\":\"manifest unknown\"}")},
	 -ENOENT,
	 "ImageNotFound",
	 NAME ":9"},
	{"always, registry not reached",
	 "always",
	 NAME ":9",
	 {STEP_BODY(image_pull, 500, "{\"message\":\"dial tcp\"}")},
	 -EIO,
	 "ZunException",
	 "Error on pulling image: " NAME ":9"},
	{"error in the stream",
	 "always",
	 NAME ":9",
	 {STEP_BODY(image_pull, 200, "{\"status\":\"a\"}\r\n{\"error\":\"no space left\"}\r\n")},
	 -EIO,
	 "ZunException",
	 "Error on pulling image: " NAME ":9"},
	{"not found in the stream",
	 "always",
	 NAME ":9",
	 {STEP_BODY(image_pull, 200, "{\"errorDetail\":{\"code\":404,\"message\":\"x\"}}\r\n")},
	 -ENOENT,
	 "ImageNotFound",
	 NAME ":9"},
	{"\"not found\" in a text decides nothing",
	 "always",
	 NAME ":9",
	 {STEP_BODY(image_pull, 200, "{\"error\":\"404 not found\"}\r\n")},
	 -EIO,
	 "ZunException",
	 "Error on pulling image"},
	{"stream cut off",
	 "always",
	 NAME ":9",
	 {{.number = PRIV_docker_image_pull,
	   .http_status = 200,
	   .body = "{\"status\":\"a\"}\r\n",
	   .chunked = true,
	   .cut = 5}},
	 -EIO,
	 "ZunException",
	 "Error on pulling image"},
	{"stream that is none",
	 "always",
	 NAME ":9",
	 {STEP_BODY(image_pull, 200, "<html>\n")},
	 -EIO,
	 "ZunException",
	 "Error on pulling image"},
	{"registry silent",
	 "always",
	 NAME ":9",
	 {STEP_REFUSED(image_pull, PROTO_ENGINE_TIMEOUT, "silent")},
	 -EIO,
	 "ZunException",
	 "Error on pulling image"},
	{"engine away",
	 "always",
	 NAME ":9",
	 {STEP_REFUSED(image_pull, PROTO_NO_ENGINE, "x")},
	 -EAGAIN,
	 "DockerError",
	 "reached"},
	{"registry refused by policy",
	 "always",
	 NAME ":9",
	 {STEP_REFUSED(image_pull, PROTO_DENIED, "registries")},
	 -EACCES,
	 "NotAuthorized",
	 "registries"},
	{"absent after the pull",
	 "always",
	 NAME ":1.35",
	 {PULLED, ABSENT},
	 -EIO,
	 "ZunException",
	 "Error on pulling image"},
	{"digest kept", "always", NAME "@" DIGEST, {PULLED, THERE}, 0, NULL, NULL},
	{"digest stands above the tag",
	 "always",
	 NAME ":1@" DIGEST,
	 {PULLED, THERE},
	 0,
	 NULL,
	 NULL},
	{"another digest",
	 "always",
	 NAME "@" OTHER,
	 {PULLED, THERE},
	 -EIO,
	 "ZunException",
	 "digest"},
	{"another digest, present",
	 "never",
	 NAME "@" OTHER,
	 {THERE},
	 -EIO,
	 "ZunException",
	 "digest"},
	{"engine broken on inspect",
	 "never",
	 NAME ":1",
	 {STEP_BODY(image_inspect, 500, "{\"message\":\"x\"}")},
	 -EIO,
	 "DockerError",
	 "x"},
};

static void test_every_policy_and_outcome_of_a_pull(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fake_step steps[6] = {STEP_VERSION};
		struct driver_case test;
		int result;

		memcpy(steps + 1, cases[i].steps, sizeof(cases[i].steps));
		case_open(&test, steps);
		case_set(&test, CONTAINER_image, cases[i].image);
		case_set(&test, CONTAINER_image_pull_policy, cases[i].policy);
		result = driver_docker.image_ready(test.driver, &test.row, &test.failure);
		if (result != cases[i].result)
			fail_msg("%s: %d %s", cases[i].name, result, test.failure.message);
		if (result == 0)
			assert_null(test.failure.class);
		else
			case_failed(&test, cases[i].class, cases[i].text);
		case_close(&test);
	}
}

static void test_the_engine_is_asked_for_a_tag_or_a_digest_always(void **state)
{
	static const struct {
		const char *image, *asked;
	} names[] = {
		{"busybox", "busybox:latest"},
		{NAME ":1.35", NAME ":1.35"},
		{NAME ":1@" DIGEST, NAME "@" DIGEST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		static const struct fake_step steps[] = {STEP_VERSION, PULLED, THERE, STEP_END};
		struct driver_case test;

		case_open(&test, steps);
		case_set(&test, CONTAINER_image, names[i].image);
		assert_int_equal(driver_docker.image_ready(test.driver, &test.row, &test.failure),
				 0);
		assert_string_equal(test.helper.log->asked[1].image, names[i].asked);
		assert_string_equal(test.helper.log->asked[2].image, names[i].asked);
		case_close(&test);
	}
}

static void test_bad_names_and_policies_do_not_reach_the_engine(void **state)
{
	static const struct {
		enum container_column column;
		const char *value;
	} bad[] = {
		{CONTAINER_image, "A"},
		{CONTAINER_image, "a:"},
		{CONTAINER_image, ":1"},
		{CONTAINER_image, "a b"},
		{CONTAINER_image, NULL},
		{CONTAINER_image_pull_policy, "sometimes"},
		{CONTAINER_image_driver, "glance"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		static const struct fake_step steps[] = {STEP_END};
		struct driver_case test;

		case_open(&test, steps);
		case_set(&test, bad[i].column, bad[i].value);
		assert_int_equal(driver_docker.image_ready(test.driver, &test.row, &test.failure),
				 -EINVAL);
		case_failed(&test, "Invalid", "");
		case_close(&test);
	}
}

static void test_a_recorded_pull_is_followed_through_the_pipe(void **state)
{
	_cleanup_free_ char *stream = fake_data("pull_ok.ndjson", NULL);
	_cleanup_free_ char *image = fake_data("image.json", NULL);
	const struct fake_step steps[] = {STEP_VERSION,
					  {.number = PRIV_docker_image_pull,
					   .http_status = 200,
					   .body = stream,
					   .chunked = true,
					   .inline_bytes = 50},
					  STEP_BODY(image_inspect, 200, image),
					  STEP_END};
	struct driver_case test;

	(void)state;
	case_open(&test, steps);
	assert_int_equal(driver_docker.image_ready(test.driver, &test.row, &test.failure), 0);
	case_close(&test);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_policy_and_outcome_of_a_pull),
		cmocka_unit_test(test_the_engine_is_asked_for_a_tag_or_a_digest_always),
		cmocka_unit_test(test_bad_names_and_policies_do_not_reach_the_engine),
		cmocka_unit_test(test_a_recorded_pull_is_followed_through_the_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

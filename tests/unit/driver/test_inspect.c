/* SPDX-License-Identifier: Apache-2.0 */
/* Inspect answers: recorded ones of a real engine, and broken ones. */
#include "common/zfd.h"
#include "tests/unit/driver/fake_helper.h"
#include "unpriv/driver/docker_inspect.h"
#include "unpriv/image/image_name.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define ID     "0724377d3a270381dab48bf8ce38a6776b65929b9e5f648b27f7797954c62e2b"
#define DIGEST "sha256:bdc9590158b3581be5b51cb4a499088b0a06da0599142d2ba50c216cd46a5b97"
#define OTHER  "sha256:adc9590158b3581be5b51cb4a499088b0a06da0599142d2ba50c216cd46a5b97"

static void read_recorded(const char *name, struct docker_container *container)
{
	struct zerr err = {0};
	size_t length;
	_cleanup_free_ char *text = fake_data(name, &length);

	if (docker_container_read(text, length, container, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
}

static void test_a_recorded_running_container_is_read(void **state)
{
	_cleanup_(docker_container_clear) struct docker_container container = {0};

	(void)state;
	read_recorded("inspect_running.json", &container);

	assert_string_equal(container.id, ID);
	assert_true(container.state.present && container.state.running);
	assert_false(container.state.paused || container.state.dead || container.state.error);
	assert_string_equal(container.state.status, "running");
	assert_string_equal(container.state.finished_at, "0001-01-01T00:00:00Z");
	assert_string_equal(container.hostname, "web");
	assert_string_equal(container.image, "127.0.0.1:5001/busybox:1.35");
	assert_string_equal(container.label_uuid, "7f3c2b8e-7f0e-4b5c-9d57-6a1f3c0f2b11");
	assert_string_equal(container.command, "[\"sleep\",\"900\"]");
	assert_null(container.entrypoint);
	assert_int_equal(container.port_count, 2);
	assert_int_equal(container.ports[0] + container.ports[1], 80 + 53);
	assert_string_equal(container.runtime, "runc");
	assert_true(container.memory == 536870912 && container.cpu_shares == 512);
	assert_true(container.interactive && !container.tty);
}

static void test_the_other_recorded_states_are_read(void **state)
{
	static const struct {
		const char *name, *status;
		bool running, paused, error;
		int64_t exit_code;
	} recorded[] = {
		{"inspect_created.json", "created", false, false, false, 0},
		{"inspect_paused.json", "paused", true, true, false, 0},
		{"inspect_exited.json", "exited", false, false, false, 137},
		{"inspect_failed_start.json", "created", false, false, true, 127},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
		_cleanup_(docker_container_clear) struct docker_container container = {0};

		read_recorded(recorded[i].name, &container);
		assert_string_equal(container.state.status, recorded[i].status);
		assert_true(container.state.running == recorded[i].running);
		assert_true(container.state.paused == recorded[i].paused);
		assert_true(container.state.error == recorded[i].error);
		assert_true(container.state.exit_code == recorded[i].exit_code);
	}
}

static const struct {
	const char *name, *text;
	bool good;
} bodies[] = {
	{"only an id", "{\"Id\":\"" ID "\"}", true},
	{"members that are null",
	 "{\"Id\":\"" ID "\",\"State\":null,\"Config\":null,\"HostConfig\":null}", true},
	{"empty members", "{\"Id\":\"" ID "\",\"State\":{},\"Config\":{},\"HostConfig\":{}}", true},
	{"unknown members", "{\"Id\":\"" ID "\",\"New\":[1],\"State\":{\"Newer\":{}}}", true},
	{"null lists",
	 "{\"Id\":\"" ID "\",\"Config\":{\"Cmd\":null,\"Labels\":null,\"ExposedPorts\":null}}",
	 true},
	{"no id", "{}", false},
	{"short id", "{\"Id\":\"abc\"}", false},
	{"id that is none",
	 "{\"Id\":\"/724377d3a270381dab48bf8ce38a6776b65929b9e5f648b27f7797954c62e2b\"}", false},
	{"not an object", "[]", false},
	{"not JSON", "<html>", false},
	{"nothing", "", false},
	{"state that is a string", "{\"Id\":\"" ID "\",\"State\":\"running\"}", false},
	{"flag that is a string", "{\"Id\":\"" ID "\",\"State\":{\"Running\":\"yes\"}}", false},
	{"exit code beyond 32 bits", "{\"Id\":\"" ID "\",\"State\":{\"ExitCode\":99999999999}}",
	 false},
	{"command that is a string", "{\"Id\":\"" ID "\",\"Config\":{\"Cmd\":\"sh\"}}", false},
	{"command with a number", "{\"Id\":\"" ID "\",\"Config\":{\"Cmd\":[1]}}", false},
	{"port that is none", "{\"Id\":\"" ID "\",\"Config\":{\"ExposedPorts\":{\"x/tcp\":{}}}}",
	 false},
	{"port beyond 16 bits",
	 "{\"Id\":\"" ID "\",\"Config\":{\"ExposedPorts\":{\"65536/tcp\":{}}}}", false},
	{"label that is a number",
	 "{\"Id\":\"" ID "\",\"Config\":{\"Labels\":{\"io.keelson.uuid\":1}}}", false},
	{"duplicate members", "{\"Id\":\"" ID "\",\"Id\":\"" ID "\"}", false},
	{"time of any length", "{\"Id\":\"" ID "\",\"State\":{\"StartedAt\":\"" ID ID "\"}}",
	 false},
};

static void test_inspect_bodies_are_taken_or_refused_as_a_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct docker_container container = {0};
		struct zerr err = {0};
		int result = docker_container_read(bodies[i].text, strlen(bodies[i].text),
						   &container, &err);

		if (result != (bodies[i].good ? 0 : -EBADMSG))
			fail_msg("%s: %d %s", bodies[i].name, result, err.msg);
		if (result < 0)
			assert_string_equal(container.id, "");
		docker_container_clear(&container);
	}
}

static void test_a_recorded_image_gives_its_command_and_digest(void **state)
{
	_cleanup_(docker_image_clear) struct docker_image image = {0};
	struct zerr err;
	size_t length;
	_cleanup_free_ char *text = fake_data("image.json", &length);

	(void)state;
	assert_int_equal(docker_image_read(text, length, &image, &err), 0);
	assert_string_equal(image.command, "[\"sh\"]");
	assert_null(image.entrypoint);
	assert_true(docker_image_has_digest(&image, "127.0.0.1:5001/busybox", DIGEST));
	assert_false(docker_image_has_digest(&image, "127.0.0.1:5001/busybox", OTHER));
	assert_false(docker_image_has_digest(&image, "127.0.0.1:5001/other", DIGEST));
}

static void test_an_image_without_digests_has_none(void **state)
{
	static const char *const texts[] = {"{}", "{\"RepoDigests\":null}", "{\"RepoDigests\":[]}",
					    "{\"RepoDigests\":[\"x\"],\"Config\":null}"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_cleanup_(docker_image_clear) struct docker_image image = {0};
		struct zerr err;

		assert_int_equal(docker_image_read(texts[i], strlen(texts[i]), &image, &err), 0);
		assert_false(docker_image_has_digest(&image, "x", DIGEST));
	}
}

static void test_the_default_registry_is_left_out_of_repositories(void **state)
{
	(void)state;
	assert_true(image_name_is_digest_of("nginx@" DIGEST, "nginx", DIGEST));
	assert_true(image_name_is_digest_of("nginx@" DIGEST, "docker.io/library/nginx", DIGEST));
	assert_true(image_name_is_digest_of("nginx@" DIGEST, "library/nginx", DIGEST));
	assert_true(image_name_is_digest_of("a/b@" DIGEST, "docker.io/a/b", DIGEST));
	assert_false(image_name_is_digest_of("nginx@" DIGEST, "other.io/library/nginx", DIGEST));
	assert_false(image_name_is_digest_of("nginx@" OTHER, "nginx", DIGEST));
	assert_false(image_name_is_digest_of("nginx", "nginx", DIGEST));
}

static void test_image_names_get_a_tag_or_keep_their_digest(void **state)
{
	static const struct {
		const char *text, *reference; /* NULL: refused */
	} names[] = {
		{"a", "a:latest"},
		{"a:1", "a:1"},
		{"reg:5000/a/b", "reg:5000/a/b:latest"},
		{"reg:5000/a/b:1", "reg:5000/a/b:1"},
		{"a@" DIGEST, "a@" DIGEST},
		{"a:1@" DIGEST, "a@" DIGEST},
		{"127.0.0.1:5001/busybox:1.35", "127.0.0.1:5001/busybox:1.35"},
		{"A", NULL},
		{"a:", NULL},
		{":1", NULL},
		{"a b", NULL},
		{"a@sha256:12", NULL},
		{"", NULL},
		{NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct image_name name;
		int result = image_name_read(names[i].text, &name);

		if (names[i].reference == NULL)
			assert_int_equal(result, -EINVAL);
		else
			assert_string_equal(result == 0 ? name.reference : "refused",
					    names[i].reference);
	}
}

static void test_the_id_of_a_created_container_is_read(void **state)
{
	char id[DOCKER_ID_SIZE];
	struct zerr err;
	size_t length;
	_cleanup_free_ char *text = fake_data("create.json", &length);

	(void)state;
	assert_int_equal(docker_created_id(text, length, id, &err), 0);
	assert_int_equal(strlen(id), 64);
	assert_int_equal(docker_created_id("{}", 2, id, &err), -EBADMSG);
	assert_int_equal(docker_created_id("{\"Id\":\"\"}", 9, id, &err), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_recorded_running_container_is_read),
		cmocka_unit_test(test_the_other_recorded_states_are_read),
		cmocka_unit_test(test_inspect_bodies_are_taken_or_refused_as_a_whole),
		cmocka_unit_test(test_a_recorded_image_gives_its_command_and_digest),
		cmocka_unit_test(test_an_image_without_digests_has_none),
		cmocka_unit_test(test_the_default_registry_is_left_out_of_repositories),
		cmocka_unit_test(test_image_names_get_a_tag_or_keep_their_digest),
		cmocka_unit_test(test_the_id_of_a_created_container_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

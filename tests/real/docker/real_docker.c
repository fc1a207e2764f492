/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The docker helper, as it is, against a real engine: every row, what the engine
 * makes of each field, whose containers are touched, what the ceilings become.
 */
#include "common/zfd.h"
#include "stack.h"
#include "fake_engine.h"
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#define API	   41
#define WAIT_MS	   60000
#define BODY_MAX   (4 * 1024 * 1024)
#define MEMORY_MAX (UINT64_C(64) << 20)
#define OTHER_UUID "11111111-2222-4333-8444-555555555555"
#define TARGET	   .api_minor = API, .wait_ms = WAIT_MS

static const char *socket_path;
static struct stack stack;
static char body[BODY_MAX];
static size_t body_length;
static struct ans_docker_engine_info answer;
static int last;

/* Joins the answer's body, de-chunked, in body. */
static void collect(int pipe_end)
{
	static char raw[BODY_MAX];
	size_t used = answer.body.length;
	ssize_t n;

	memcpy(raw, answer.body.data, used);
	while (pipe_end >= 0 && (n = read(pipe_end, raw + used, sizeof(raw) - 1 - used)) > 0)
		used += (size_t)n;
	raw[used] = '\0';
	body_length = 0;
	if (answer.framing != PROTO_BODY_CHUNKED) {
		memcpy(body, raw, used);
		body_length = used;
	} else {
		char *at = raw;
		size_t size;

		while ((size = strtoul(at, &at, 16)) > 0) {
			memcpy(body + body_length, at + 2, size);
			body_length += size;
			at += size + 4;
		}
	}
	body[body_length] = '\0';
}

/* Calls a row; the engine's status, or 0 when the helper refused (then last says why). */
static unsigned call(uint16_t number, const void *request)
{
	_cleanup_fd_ int pipe_end = -1;

	memset(&answer, 0, sizeof(answer));
	body_length = 0;
	body[0] = '\0';
	last = priv_call(&stack.channel, number, request, &answer, &pipe_end, &stack.err);
	if (last < 0)
		fail_msg("%d %s", last, stack.err.msg);
	if (last == PROTO_OK)
		collect(pipe_end);
	return answer.http_status;
}

static void assert_http(unsigned expected, unsigned status)
{
	if (status != expected)
		fail_msg("%u instead of %u: %s %.300s", status, expected,
			 last > 0 ? stack.err.msg : "", body);
}

/* What the engine's answer has at a path "a/b"; borrowed from a tree that lives until the next
 * call. */
static struct json_object *at(const char *path)
{
	static struct json_object *tree;
	struct json_object *node;
	char copy[128], *name, *rest = copy;

	if (tree != NULL)
		json_object_put(tree);
	tree = json_tokener_parse(body);
	node = tree;
	(void)snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/")) != NULL && *name != '\0')
		if (!json_object_object_get_ex(node, name, &node))
			return NULL;
	return node;
}

static void assert_at(const char *path, const char *expected)
{
	struct json_object *node = at(path);
	const char *text = json_object_to_json_string_ext(
		node, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (strcmp(text, expected) != 0)
		fail_msg("%s is %s, not %s", path, text, expected);
}

static unsigned inspect(void)
{
	struct req_docker_container_inspect request = {TARGET};

	memcpy(request.uuid, test_uuid, UUID_SIZE);
	return call(PRIV_docker_container_inspect, &request);
}

static struct req_docker_container_create *new_create(void)
{
	static struct req_docker_container_create create;

	memset(&create, 0, sizeof(create));
	create.api_minor = API;
	create.wait_ms = WAIT_MS;
	memcpy(create.uuid, test_uuid, UUID_SIZE);
	create.image = zstr_from("busybox:latest");
	create.command[create.command_count++] = zstr_from("sleep");
	create.command[create.command_count++] = zstr_from("1000");
	create.runtime = zstr_from("runc");
	return &create;
}

static unsigned act(uint16_t number)
{
	struct req_docker_container_start request = {TARGET};

	memcpy(request.uuid, test_uuid, UUID_SIZE);
	return call(number, &request);
}

static unsigned stop(uint32_t grace_s)
{
	struct req_docker_container_stop request = {TARGET, .has_grace = 1, .grace_s = grace_s};

	memcpy(request.uuid, test_uuid, UUID_SIZE);
	return call(PRIV_docker_container_stop, &request);
}

static unsigned delete (uint8_t force)
{
	struct req_docker_container_delete request = {TARGET, .force = force};

	memcpy(request.uuid, test_uuid, UUID_SIZE);
	return call(PRIV_docker_container_delete, &request);
}

/* What somebody else with the engine's socket does: sends text as it is; the status. */
static unsigned by_hand(const char *method_and_path, const char *json)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[2048], reply[4096] = "";
	size_t used = 0;
	ssize_t n;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	n = snprintf(
		text, sizeof(text),
		"%s HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Type: application/json\r\n"
		"Content-Length: %zu\r\n\r\n%s",
		method_and_path, strlen(json), json);
	assert_int_equal(zfd_write_all(fd, text, (size_t)n), 0);
	while (used < sizeof(reply) - 1 &&
	       (n = read(fd, reply + used, sizeof(reply) - 1 - used)) > 0)
		used += (size_t)n;
	return (unsigned)strtoul(reply + 9, NULL, 10);
}

static int set_up(void **state)
{
	static const char *const runtimes[] = {"runc", NULL};
	static const char *const registries[] = {"docker.io", "127.0.0.1:9", NULL};

	(void)state;
	stack_prepare(&stack, socket_path);
	set_list(&stack.site.runtimes, runtimes);
	set_list(&stack.site.registries, registries);
	stack.site.memory_max_bytes = MEMORY_MAX;
	stack.site.pids_max = 77;
	stack.site.cpu_shares_max = 512;
	stack_run(&stack);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)by_hand("DELETE /containers/zun-" TEST_UUID "?force=1", "");
	return stack_finish(&stack) == HELPER_EXIT_OK ? 0 : -1;
}

static void test_engine_tells_version_and_info(void **state)
{
	struct req_docker_engine_version version = {.wait_ms = WAIT_MS};
	struct req_docker_engine_info info = {TARGET};

	(void)state;
	assert_http(200, call(PRIV_docker_engine_version, &version));
	printf("# engine %s", json_object_get_string(at("Version")));
	printf(", API %s", json_object_get_string(at("ApiVersion")));
	printf(", at least %s\n", json_object_get_string(at("MinAPIVersion")));
	assert_http(200, call(PRIV_docker_engine_info, &info));
	assert_non_null(at("ServerVersion"));
	/* F14: an API version that the engine does not have comes back in its own words. */
	info.api_minor = 51;
	assert_http(400, call(PRIV_docker_engine_info, &info));
	assert_non_null(strstr(body, "1.51"));
}

static void test_image_is_inspected_by_all_its_names(void **state)
{
	static const char *const names[] = {"busybox", "busybox:latest",
					    "docker.io/library/busybox:latest"};
	struct req_docker_image_inspect request = {TARGET};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		request.image = zstr_from(names[i]);
		assert_http(200, call(PRIV_docker_image_inspect, &request));
		assert_non_null(at("Id"));
	}
	request.image = zstr_from("127.0.0.1:5000/a/b:1");
	assert_http(404, call(PRIV_docker_image_inspect, &request));
	request.image = zstr_from(
		"a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	assert_http(404, call(PRIV_docker_image_inspect, &request));
}

static void test_pull_from_a_registry_that_is_not_there_fails(void **state)
{
	struct req_docker_image_pull request = {TARGET, .image = zstr_from("127.0.0.1:9/none:1")};

	(void)state;
	(void)call(PRIV_docker_image_pull, &request);
	printf("# pull: %u %.150s\n", answer.http_status, body);
	assert_int_equal(last, PROTO_OK);
	assert_true(answer.http_status >= 400 || strstr(body, "\"error\"") != NULL);
	request.image = zstr_from("evil.example/none:1");
	assert_int_equal(call(PRIV_docker_image_pull, &request), 0);
	assert_int_equal(last, PROTO_DENIED);
	assert_non_null(strstr(stack.err.msg, "registries"));
}

static void test_life_of_a_container(void **state)
{
	struct req_docker_container_kill kill = {TARGET, .signal = 9};
	struct req_docker_container_restart restart = {TARGET, .grace_s = 1};
	uint64_t before;

	(void)state;
	memcpy(kill.uuid, test_uuid, UUID_SIZE);
	memcpy(restart.uuid, test_uuid, UUID_SIZE);
	assert_http(404, inspect());
	assert_http(404, act(PRIV_docker_container_start));
	assert_http(404, delete (0));
	assert_http(201, call(PRIV_docker_container_create, new_create()));
	assert_http(409, call(PRIV_docker_container_create, new_create()));
	assert_http(200, inspect());
	assert_at("Name", "\"/zun-" TEST_UUID "\"");
	assert_at("State/Status", "\"created\"");
	assert_http(409, call(PRIV_docker_container_kill, &kill));
	assert_http(204, act(PRIV_docker_container_start));
	assert_http(304, act(PRIV_docker_container_start));
	assert_http(200, inspect());
	assert_at("State/Status", "\"running\"");
	assert_http(204, act(PRIV_docker_container_pause));
	assert_http(409, act(PRIV_docker_container_pause));
	assert_http(204, act(PRIV_docker_container_unpause));
	assert_http(500, act(PRIV_docker_container_unpause));
	before = zfd_now_ms();
	assert_http(204, call(PRIV_docker_container_restart, &restart));
	assert_true(zfd_now_ms() - before >= 900);
	assert_http(409, delete (0));
	assert_http(204, call(PRIV_docker_container_kill, &kill));
	for (unsigned i = 0; i < 50; i++) {
		assert_http(200, inspect());
		if (strcmp(json_object_get_string(at("State/Status")), "exited") == 0)
			break;
		(void)usleep(100000);
	}
	assert_at("State/ExitCode", "137");
	assert_http(204, act(PRIV_docker_container_start));
	before = zfd_now_ms();
	assert_http(204, stop(2));
	assert_true(zfd_now_ms() - before >= 1900 && zfd_now_ms() - before < 20000);
	assert_http(304, stop(2));
	assert_http(204, delete (0));
	assert_http(404, inspect());
	assert_http(404, stop(0));
}

static void test_fields_arrive_at_the_engine(void **state)
{
	struct req_docker_container_create *create = new_create();

	(void)state;
	create->command_count = 0;
	create->command[create->command_count++] = zstr_from("-c");
	create->command[create->command_count++] = zstr_from("echo \"a b\" '\\' \xc3\xa9\n\t");
	create->command[create->command_count++] = zstr_from("");
	create->entrypoint[create->entrypoint_count++] = zstr_from("sh");
	create->environment[create->environment_count++] = zstr_from("A");
	create->environment[create->environment_count++] = zstr_from("1=\"2\"");
	create->labels[create->labels_count++] = zstr_from("k");
	create->labels[create->labels_count++] = zstr_from("v");
	create->exposed_ports[create->exposed_ports_count++] = zstr_from("80/tcp");
	create->exposed_ports[create->exposed_ports_count++] = zstr_from("53/udp");
	create->workdir = zstr_from("/tmp");
	create->hostname = zstr_from("web-1");
	create->tty = create->interactive = create->healthcheck = 1;
	create->memory_bytes = UINT64_C(32) << 20;
	create->cpu_shares = 256;
	create->restart_policy = PROTO_RESTART_ON_FAILURE;
	create->restart_retries = 3;
	create->health_command = zstr_from("true");
	create->health_interval_ns = 5000000000;
	create->health_timeout_ns = 2000000000;
	create->health_retries = 3;
	assert_http(201, call(PRIV_docker_container_create, create));
	assert_http(200, inspect());
	assert_at("Config/Cmd", "[\"-c\",\"echo \\\"a b\\\" '\\\\' \xc3\xa9\\n\\t\",\"\"]");
	assert_at("Config/Entrypoint", "[\"sh\"]");
	assert_at("Config/Env", "[\"A=1=\\\"2\\\"\",\"PATH=/bin\"]");
	assert_at("Config/Labels", "{\"io.keelson.uuid\":\"" TEST_UUID "\",\"k\":\"v\"}");
	assert_at("Config/ExposedPorts", "{\"53/udp\":{},\"80/tcp\":{}}");
	assert_at("Config/WorkingDir", "\"/tmp\"");
	assert_at("Config/Hostname", "\"web-1\"");
	assert_at("Config/Tty", "true");
	assert_at("Config/OpenStdin", "true");
	assert_at("Config/StdinOnce", "true");
	assert_at("Config/Healthcheck", "{\"Test\":[\"CMD-SHELL\",\"true\"],\"Interval\":"
					"5000000000,\"Timeout\":2000000000,\"Retries\":3}");
	assert_at("HostConfig/Memory", "33554432");
	assert_at("HostConfig/CpuShares", "256");
	assert_at("HostConfig/PidsLimit", "77");
	assert_at("HostConfig/NetworkMode", "\"none\"");
	assert_at("HostConfig/Runtime", "\"runc\"");
	assert_at("HostConfig/RestartPolicy", "{\"Name\":\"on-failure\",\"MaximumRetryCount\":3}");
	assert_at("HostConfig/Privileged", "false");
	assert_http(204, delete (1));
}

static void test_ceilings_bind_what_names_no_limit(void **state)
{
	struct req_docker_container_create *create = new_create();

	(void)state;
	create->runtime = zstr_from("");
	create->auto_remove = 1;
	assert_http(201, call(PRIV_docker_container_create, create));
	assert_http(200, inspect());
	assert_at("HostConfig/Memory", "67108864");
	assert_at("HostConfig/CpuShares", "512");
	assert_at("HostConfig/PidsLimit", "77");
	assert_at("HostConfig/Runtime", "\"runc\"");
	assert_at("HostConfig/AutoRemove", "true");
	assert_http(204, delete (1));
	create = new_create();
	create->memory_bytes = MEMORY_MAX + 1;
	assert_int_equal(call(PRIV_docker_container_create, create), 0);
	assert_int_equal(last, PROTO_DENIED);
	create = new_create();
	create->privileged = 1;
	assert_int_equal(call(PRIV_docker_container_create, create), 0);
	assert_int_equal(last, PROTO_DENIED);
	assert_http(404, inspect());
}

/* Near the table's limit: the request travels in a memfd, the answer to inspect through a pipe. */
static void test_great_request_and_great_answer(void **state)
{
	static char value[60001];
	struct req_docker_container_create *create = new_create();
	char names[16][8];

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	for (unsigned i = 0; i < 16; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "k%u", i);
		create->labels[create->labels_count++] = zstr_from(names[i]);
		create->labels[create->labels_count++] = zstr_from(value);
	}
	assert_http(201, call(PRIV_docker_container_create, create));
	assert_http(200, inspect());
	assert_int_equal(answer.body_continues, 1);
	assert_true(body_length > 16 * 60000);
	for (unsigned i = 0; i < 16; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "Config/Labels/k%u", i);
		assert_string_equal(json_object_get_string(at(path)), value);
	}
	assert_http(204, delete (1));
}

static void test_containers_of_others_are_left_alone(void **state)
{
	static const uint16_t rows[] = {
		PRIV_docker_container_inspect, PRIV_docker_container_start,
		PRIV_docker_container_stop,    PRIV_docker_container_kill,
		PRIV_docker_container_restart, PRIV_docker_container_pause,
		PRIV_docker_container_unpause, PRIV_docker_container_delete,
	};
	static const char *const foreign[] = {
		"{\"Image\":\"busybox\",\"Cmd\":[\"sleep\",\"1000\"]}",
		"{\"Image\":\"busybox\",\"Labels\":{\"io.keelson.uuid\":\"" OTHER_UUID "\"}}",
		"{\"Image\":\"busybox\",\"Labels\":{\"io.keelson.uuid\":\"\"}}",
		"{\"Image\":\"busybox\",\"Labels\":{\"io.keelson.uuid\":\"" TEST_UUID "x\"}}",
	};
	/* Longest of the messages above; all begin alike. */
	union {
		struct req_docker_container_inspect inspect;
		struct req_docker_container_start start;
		struct req_docker_container_stop stop;
		struct req_docker_container_kill kill;
		struct req_docker_container_restart restart;
		struct req_docker_container_delete delete;
	} request;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(by_hand("POST /containers/create?name=zun-" TEST_UUID, foreign[i]),
				 201);
		for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
			memset(&request, 0, sizeof(request));
			if (row == 0) {
				request.inspect = (struct req_docker_container_inspect){TARGET};
				memcpy(request.inspect.uuid, test_uuid, UUID_SIZE);
			} else {
				request.start = (struct req_docker_container_start){TARGET};
				memcpy(request.start.uuid, test_uuid, UUID_SIZE);
			}
			assert_int_equal(call(rows[row], &request), 0);
			assert_int_equal(last, PROTO_NOT_OURS);
		}
		assert_http(409, call(PRIV_docker_container_create, new_create()));
		assert_int_equal(by_hand("DELETE /containers/zun-" TEST_UUID "?force=1", ""), 204);
		assert_http(404, inspect());
	}
}

/* A name that only contains ours, and ours that is another one's. */
static void test_names_are_compared_as_a_whole(void **state)
{
	struct req_docker_container_list list = {TARGET};

	(void)state;
	assert_int_equal(
		by_hand("POST /containers/create?name=a-zun-" TEST_UUID,
			"{\"Image\":\"busybox\",\"Labels\":{\"io.keelson.uuid\":\"" TEST_UUID
			"\"}}"),
		201);
	assert_int_equal(
		by_hand("POST /containers/create?name=zun-" TEST_UUID "-b",
			"{\"Image\":\"busybox\",\"Labels\":{\"io.keelson.uuid\":\"" TEST_UUID
			"\"}}"),
		201);
	assert_int_equal(by_hand("POST /containers/create?name=zun-api", "{\"Image\":\"busybox\"}"),
			 201);
	assert_http(404, inspect());
	assert_http(200, call(PRIV_docker_container_list, &list));
	assert_string_equal(body, "[]\n");
	assert_http(201, call(PRIV_docker_container_create, new_create()));
	assert_http(200, call(PRIV_docker_container_list, &list));
	assert_int_equal(json_object_array_length(at("")), 1);
	assert_http(204, delete (1));
	assert_int_equal(by_hand("DELETE /containers/a-zun-" TEST_UUID, ""), 204);
	assert_int_equal(by_hand("DELETE /containers/zun-" TEST_UUID "-b", ""), 204);
	assert_int_equal(by_hand("DELETE /containers/zun-api", ""), 204);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_engine_tells_version_and_info, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_image_is_inspected_by_all_its_names, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_pull_from_a_registry_that_is_not_there_fails,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_life_of_a_container, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fields_arrive_at_the_engine, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_ceilings_bind_what_names_no_limit, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_great_request_and_great_answer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_containers_of_others_are_left_alone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_names_are_compared_as_a_whole, set_up,
						tear_down),
	};

	if (argc != 2)
		return 2;
	socket_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

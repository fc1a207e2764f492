/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of privsep/docker.c: the exact bytes of each row's request, and whose a container is.
 */
#include "common/imageref.h"
#include "fake_engine.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FIELDS                                                                                     \
	" HTTP/1.1\r\nHost: docker\r\nUser-Agent: keelson\r\nConnection: close\r\n"                \
	"Content-Length: 0\r\n\r\n"
#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define NO_CONTENT    "HTTP/1.1 204 No Content\r\n\r\n"
#define EMPTY_LIST    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[]\n"
#define EMPTY_CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[]\n\r\n0\r\n\r\n"
#define FULL_LIST                                                                                  \
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: "                                                   \
	"chunked\r\n\r\n9\r\n[{\"Id\":1}\r\n2\r\n]\n\r\n0\r\n\r\n"
#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nContent-Length: 16\r\n\r\n{\"message\":\"no\"}"
#define TOO_OLD	  "HTTP/1.1 400 Bad Request\r\nContent-Length: 17\r\n\r\n{\"message\":\"old\"}"

/* {"name":["^/zun-UUID$"],"label":["io.keelson.uuid=UUID"]} */
#define BY_NAME	  "%7B%22name%22%3A%5B%22%5E%2Fzun-" TEST_UUID "%24%22%5D"
#define BY_LABEL  BY_NAME "%2C%22label%22%3A%5B%22io.keelson.uuid%3D" TEST_UUID "%22%5D%7D"
#define ASK_LABEL "GET /v1.41/containers/json?all=1&filters=" BY_LABEL FIELDS
#define ASK_NAME  "GET /v1.41/containers/json?all=1&filters=" BY_NAME "%7D" FIELDS

static struct fake_engine engine;
static struct bench bench;

static struct docker_owned *owned(void)
{
	return &((struct docker_shared *)bench.helper.shared)->owned;
}

static void start(const struct fake_step *steps, size_t count)
{
	fake_start(&engine, steps, count);
	bench_open(&bench, engine.path);
}

static void stop(void)
{
	bench_close(&bench);
	fake_stop(&engine);
}

static void assert_answer(unsigned http, enum proto_framing framing, const char *body)
{
	assert_int_equal(bench.result.status, PROTO_OK);
	assert_int_equal(bench.answer.http_status, http);
	assert_int_equal(bench.answer.framing, framing);
	assert_int_equal(bench.answer.body.length, strlen(body));
	assert_memory_equal(bench.answer.body.data, body, strlen(body));
	assert_int_equal(bench.answer.body_continues, 0);
	assert_int_equal(bench.result.fd, -1);
	assert_null(bench.result.after);
}

static void test_noop_gives_back_what_it_got(void **state)
{
	struct req_docker_noop request = {.payload = zstr_from("abc")};

	(void)state;
	bench_open(&bench, "/nowhere/docker.sock");
	bench_call(&bench, PRIV_docker_noop, &request);
	assert_int_equal(bench.result.status, PROTO_OK);
	assert_true(zstr_equal(((struct ans_docker_noop *)(void *)&bench.answer)->payload, "abc"));
	bench_close(&bench);
}

/* Rows that ask the engine once. */
static void test_each_plain_row_writes_its_request(void **state)
{
	static const struct fake_step step = {.answer = NO_CONTENT};
	static const struct req_docker_engine_version version = {.wait_ms = 1000};
	static const struct req_docker_engine_info info = {.wait_ms = 1000, .api_minor = 24};
	static const struct req_docker_container_list list = {.wait_ms = 1000, .api_minor = 51};
	static const struct {
		uint16_t number;
		const void *request;
		const char *bytes;
	} rows[] = {
		{PRIV_docker_engine_version, &version, "GET /version" FIELDS},
		{PRIV_docker_engine_info, &info, "GET /v1.24/info" FIELDS},
		{PRIV_docker_container_list, &list,
		 "GET /v1.51/containers/json?limit=-1&all=1&size=0&trunc_cmd=0&filters="
		 "%7B%22name%22%3A%5B%22%5E%2Fzun-%5B0-9a-f%5D%7B8%7D%28-%5B0-9a-f%5D%7B4%7D%29%"
		 "7B3%7D"
		 "-%5B0-9a-f%5D%7B12%7D%24%22%5D%7D" FIELDS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&step, 1);
		bench_call(&bench, rows[i].number, rows[i].request);
		assert_answer(204, PROTO_BODY_NONE, "");
		assert_string_equal(fake_request(&engine, 0), rows[i].bytes);
		stop();
	}
}

/* Rows about a container: asked for at once when it is known to be ours. */
static void test_each_container_row_writes_its_request(void **state)
{
	static const struct fake_step step = {.answer = NO_CONTENT};
#define SIMPLE                                                                                     \
	.uuid = {0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x4a, 0x6b,                                   \
		 0x8c, 0x7d, 0x9e, 0x0f, 0x1a, 0x2b, 0x3c, 0x4d},                                  \
	.api_minor = 41, .wait_ms = 1000
	static const struct req_docker_container_inspect inspect = {SIMPLE};
	static const struct req_docker_container_start begin = {SIMPLE};
	static const struct req_docker_container_stop end = {SIMPLE, .grace_s = 7};
	static const struct req_docker_container_stop end_in = {SIMPLE, .grace_s = 7,
								.has_grace = 1};
	static const struct req_docker_container_stop end_now = {SIMPLE, .has_grace = 1};
	static const struct req_docker_container_restart again = {SIMPLE, .grace_s = 86400};
	static const struct req_docker_container_kill kill = {SIMPLE};
	static const struct req_docker_container_kill kill_by = {SIMPLE, .signal = 64};
	static const struct req_docker_container_pause pause = {SIMPLE};
	static const struct req_docker_container_unpause unpause = {SIMPLE};
	static const struct req_docker_container_delete delete = {SIMPLE};
	static const struct req_docker_container_delete force = {SIMPLE, .force = 1};
#define AT " /v1.41/containers/zun-" TEST_UUID
	static const struct {
		uint16_t number;
		const void *request;
		const char *bytes;
	} rows[] = {
		{PRIV_docker_container_inspect, &inspect, "GET" AT "/json" FIELDS},
		{PRIV_docker_container_start, &begin, "POST" AT "/start" FIELDS},
		{PRIV_docker_container_stop, &end, "POST" AT "/stop" FIELDS},
		{PRIV_docker_container_stop, &end_in, "POST" AT "/stop?t=7" FIELDS},
		{PRIV_docker_container_stop, &end_now, "POST" AT "/stop?t=0" FIELDS},
		{PRIV_docker_container_restart, &again, "POST" AT "/restart?t=86400" FIELDS},
		{PRIV_docker_container_kill, &kill, "POST" AT "/kill" FIELDS},
		{PRIV_docker_container_kill, &kill_by, "POST" AT "/kill?signal=64" FIELDS},
		{PRIV_docker_container_pause, &pause, "POST" AT "/pause" FIELDS},
		{PRIV_docker_container_unpause, &unpause, "POST" AT "/unpause" FIELDS},
		{PRIV_docker_container_delete, &delete,
		 "DELETE" AT "?v=False&link=False&force=False" FIELDS},
		{PRIV_docker_container_delete, &force,
		 "DELETE" AT "?v=False&link=False&force=True" FIELDS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(&step, 1);
		(void)docker_owned(owned(), OWNED_ADD, test_uuid);
		bench_call(&bench, rows[i].number, rows[i].request);
		assert_answer(204, PROTO_BODY_NONE, "");
		assert_string_equal(fake_request(&engine, 0), rows[i].bytes);
		stop();
	}
}

static void test_create_sends_name_and_json_and_remembers_it(void **state)
{
	static const struct fake_step step = {
		.answer = "HTTP/1.1 201 Created\r\nContent-Length: 11\r\n\r\n{\"Id\":\"ab\"}"};
	static struct req_docker_container_create create;
	const char *head =
		"POST /v1.41/containers/create?name=zun-" TEST_UUID
		" HTTP/1.1\r\nHost: docker\r\nUser-Agent: keelson\r\nConnection: close\r\n"
		"Content-Type: application/json\r\nContent-Length: ";
	const char *request, *body;

	(void)state;
	memcpy(create.uuid, test_uuid, UUID_SIZE);
	create.api_minor = 41;
	create.wait_ms = 1000;
	create.image = zstr_from("busybox");
	start(&step, 1);
	bench_call(&bench, PRIV_docker_container_create, &create);
	assert_answer(201, PROTO_BODY_LENGTH, "{\"Id\":\"ab\"}");
	request = fake_request(&engine, 0);
	assert_memory_equal(request, head, strlen(head));
	body = strstr(request, "\r\n\r\n") + 4;
	assert_int_equal(strtoul(request + strlen(head), NULL, 10), strlen(body));
	assert_memory_equal(body, "{\"Image\":\"busybox\",", 19);
	assert_string_equal(body + strlen(body) - 2, "}}");
	assert_true(docker_owned(owned(), OWNED_CHECK, test_uuid));
	stop();
}

static void test_create_that_failed_is_not_remembered(void **state)
{
	static const struct fake_step step = {
		.answer = "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n"};
	static struct req_docker_container_create create;

	(void)state;
	memcpy(create.uuid, test_uuid, UUID_SIZE);
	create.api_minor = 41;
	create.wait_ms = 1000;
	create.image = zstr_from("busybox");
	start(&step, 1);
	bench_call(&bench, PRIV_docker_container_create, &create);
	assert_answer(409, PROTO_BODY_LENGTH, "");
	assert_false(docker_owned(owned(), OWNED_CHECK, test_uuid));
	stop();
}

/* docker-driver.md K31: a digest is kept. */
static void test_image_rows_escape_the_reference(void **state)
{
	static const struct fake_step step = {.answer = NO_CONTENT};
	static const struct {
		const char *image, *path, *query;
	} cases[] = {
		{"nginx", "nginx", "nginx&tag=latest"},
		{"nginx:1.2_3-x", "nginx:1.2_3-x", "nginx&tag=1.2_3-x"},
		{"reg.example:5000/a/b", "reg.example:5000/a/b",
		 "reg.example%3A5000%2Fa%2Fb&tag=latest"},
		{"reg.example:5000/a/b:1", "reg.example:5000/a/b:1",
		 "reg.example%3A5000%2Fa%2Fb&tag=1"},
		{"nginx@" DIGEST, "nginx@" DIGEST,
		 "nginx%40sha256%3A"
		 "0123456789abcdef0123456789abcdef"
		 "0123456789abcdef0123456789abcdef"},
		{"a/nginx:1@" DIGEST, "a/nginx:1@" DIGEST,
		 "a%2Fnginx%40sha256%3A0123456789abcdef0123456789abcdef"
		 "0123456789abcdef0123456789abcdef"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct req_docker_image_inspect inspect = {
			.api_minor = 41, .wait_ms = 1000, .image = zstr_from(cases[i].image)};
		struct req_docker_image_pull pull = {
			.api_minor = 41, .wait_ms = 1000, .image = zstr_from(cases[i].image)};
		char expected[1024];

		start(&step, 1);
		bench_call(&bench, PRIV_docker_image_inspect, &inspect);
		(void)snprintf(expected, sizeof(expected), "GET /v1.41/images/%s/json" FIELDS,
			       cases[i].path);
		assert_string_equal(fake_request(&engine, 0), expected);
		stop();
		start(&step, 1);
		bench_call(&bench, PRIV_docker_image_pull, &pull);
		(void)snprintf(expected, sizeof(expected),
			       "POST /v1.41/images/create?fromImage=%s" FIELDS, cases[i].query);
		assert_string_equal(fake_request(&engine, 0), expected);
		stop();
	}
}

/* SECURITY-BAR F5, from the broker's side: no such text gets past the decoder, as image or as
 * anything. */
static void test_no_reference_can_change_the_request(void **state)
{
	static const char *const bad[] = {
		"a HTTP/1.1\r\nX: y",
		"a\r\n\r\nPOST /containers/create",
		"a\nb",
		"a b",
		"a%2f..%2fcontainers",
		"../containers/json",
		"a/../b",
		"a//b",
		"/a",
		"a/",
		"a?tag=x",
		"a&fromImage=b",
		"a#b",
		"a\tb",
		"a\x7f",
		"A",
		"a:",
		":1",
		"a@",
		"a@sha256:",
		"a@sha256:zz",
		"a:1:2",
		"a%00",
		"%2e%2e",
		"..",
		".",
		"a/./b",
		"a\\b",
		"a\"b",
		"a'b",
		"a;b",
		"a|b",
		"a=b",
		"a+b",
		"a,b",
		"a(b)",
		"\xc3\xa9",
		("a\xc2\xa0"
		 "b"),
		"",
		"-a",
		"http://a/b",
		"a/b:c/d:e",
	};

	(void)state;
	assert_true(COUNT(bad) >= 40);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (text_valid(TEXT_IMAGE, zstr_from(bad[i])))
			fail_msg("taken as an image: %s", bad[i]);
}

static const struct req_docker_container_start begin = {SIMPLE};

static void test_container_with_our_label_is_asked_about_once(void **state)
{
	static const struct fake_step steps[] = {
		{.answer = FULL_LIST}, {.answer = NO_CONTENT}, {.answer = NO_CONTENT}};

	(void)state;
	start(steps, 3);
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(204, PROTO_BODY_NONE, "");
	assert_string_equal(fake_request(&engine, 0), ASK_LABEL);
	assert_string_equal(fake_request(&engine, 1), "POST" AT "/start" FIELDS);
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(204, PROTO_BODY_NONE, "");
	assert_string_equal(fake_request(&engine, 2), "POST" AT "/start" FIELDS);
	stop();
}

static void test_container_without_our_label_is_not_touched(void **state)
{
	static const struct fake_step steps[] = {{.answer = EMPTY_LIST}, {.answer = FULL_LIST}};

	(void)state;
	start(steps, 2);
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_int_equal(bench.result.status, PROTO_NOT_OURS);
	assert_string_equal(bench.result.rule, "not_ours");
	assert_string_equal(fake_request(&engine, 0), ASK_LABEL);
	assert_string_equal(fake_request(&engine, 1), ASK_NAME);
	assert_int_equal(engine.record->count, 2);
	assert_false(docker_owned(owned(), OWNED_CHECK, test_uuid));
	stop();
}

static void test_no_row_touches_a_container_of_others(void **state)
{
	static const struct fake_step steps[] = {{.answer = EMPTY_LIST}, {.answer = FULL_LIST}};
	static const struct req_docker_container_inspect inspect = {SIMPLE};
	static const struct req_docker_container_stop end = {SIMPLE};
	static const struct req_docker_container_restart again = {SIMPLE};
	static const struct req_docker_container_kill kill = {SIMPLE};
	static const struct req_docker_container_pause pause = {SIMPLE};
	static const struct req_docker_container_unpause unpause = {SIMPLE};
	static const struct req_docker_container_delete delete = {SIMPLE, .force = 1};
	static const struct {
		uint16_t number;
		const void *request;
	} rows[] = {
		{PRIV_docker_container_inspect, &inspect},
		{PRIV_docker_container_stop, &end},
		{PRIV_docker_container_restart, &again},
		{PRIV_docker_container_kill, &kill},
		{PRIV_docker_container_pause, &pause},
		{PRIV_docker_container_unpause, &unpause},
		{PRIV_docker_container_delete, &delete},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		start(steps, 2);
		bench_call(&bench, rows[i].number, rows[i].request);
		assert_int_equal(bench.result.status, PROTO_NOT_OURS);
		assert_int_equal(engine.record->count, 2);
		stop();
	}
}

static void test_container_that_does_not_exist_gets_the_engines_404(void **state)
{
	static const struct fake_step steps[] = {
		{.answer = EMPTY_LIST}, {.answer = EMPTY_CHUNKED}, {.answer = NOT_FOUND}};

	(void)state;
	start(steps, 3);
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(404, PROTO_BODY_LENGTH, "{\"message\":\"no\"}");
	assert_false(docker_owned(owned(), OWNED_CHECK, test_uuid));
	stop();
}

static void test_unlabelled_container_is_adopted_when_the_policy_says_so(void **state)
{
	static const struct fake_step steps[] = {{.answer = FULL_LIST}, {.answer = NO_CONTENT}};

	(void)state;
	start(steps, 2);
	bench.site.adopt_unlabelled = true;
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(204, PROTO_BODY_NONE, "");
	assert_string_equal(fake_request(&engine, 0), ASK_NAME);
	assert_true(docker_owned(owned(), OWNED_CHECK, test_uuid));
	stop();
}

static void test_missing_container_gets_its_404_with_adoption_too(void **state)
{
	static const struct fake_step steps[] = {{.answer = EMPTY_LIST}, {.answer = NOT_FOUND}};

	(void)state;
	start(steps, 2);
	bench.site.adopt_unlabelled = true;
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(404, PROTO_BODY_LENGTH, "{\"message\":\"no\"}");
	stop();
}

static void test_container_that_is_gone_is_forgotten(void **state)
{
	static const struct req_docker_container_delete delete = {SIMPLE};
	static const struct fake_step gone = {.answer = NOT_FOUND};
	static const struct fake_step removed = {.answer = NO_CONTENT};

	(void)state;
	start(&gone, 1);
	(void)docker_owned(owned(), OWNED_ADD, test_uuid);
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(404, PROTO_BODY_LENGTH, "{\"message\":\"no\"}");
	assert_false(docker_owned(owned(), OWNED_CHECK, test_uuid));
	stop();
	start(&removed, 1);
	(void)docker_owned(owned(), OWNED_ADD, test_uuid);
	bench_call(&bench, PRIV_docker_container_delete, &delete);
	assert_answer(204, PROTO_BODY_NONE, "");
	assert_false(docker_owned(owned(), OWNED_CHECK, test_uuid));
	stop();
}

/* known-faults F14: the broker must see why, to speak another version. */
static void test_engines_refusal_of_the_question_is_the_answer(void **state)
{
	static const struct fake_step old = {.answer = TOO_OLD};
	static const struct fake_step broken = {
		.answer = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1\r\n\r\nx"};

	(void)state;
	start(&old, 1);
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(400, PROTO_BODY_LENGTH, "{\"message\":\"old\"}");
	assert_int_equal(engine.record->count, 1);
	stop();
	start(&broken, 1);
	bench_call(&bench, PRIV_docker_container_start, &begin);
	assert_answer(500, PROTO_BODY_LENGTH, "x");
	stop();
}

/* Nothing is done for a container when the engine's list makes no sense. */
static void test_list_that_makes_no_sense_allows_nothing(void **state)
{
	static const char *const lists[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n[",
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull",
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\"[{\"",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n[{}]",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx[{}]\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\n[{}]\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1]",
		"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n           [{}]",
		"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n[{}]",
		"HTTP/1.1 301 Moved\r\nContent-Length: 2\r\n\r\n[]",
		"HTTP/1.1 204 No Content\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lists); i++) {
		struct fake_step step = {.answer = lists[i]};

		start(&step, 1);
		bench_call(&bench, PRIV_docker_container_start, &begin);
		assert_int_equal(bench.result.status, PROTO_ENGINE_BROKEN);
		assert_string_equal(bench.result.rule, "engine_answer");
		assert_int_equal(engine.record->count, 1);
		stop();
	}
}

static void test_judge_speaks_for_create_and_pull_only(void **state)
{
	static const char *const none[] = {"nowhere.example", NULL};
	struct req_docker_image_pull pull = {.image = zstr_from("a"), .api_minor = 41};
	struct req_docker_image_inspect inspect = {.image = zstr_from("a"), .api_minor = 41};
	static struct req_docker_container_create create;
	struct helper *helper = &bench.helper;

	(void)state;
	create.image = zstr_from("a");
	bench_open(&bench, "/nowhere");
	set_list(&bench.site.registries, none);
	assert_string_equal(docker_domain.judge(helper,
						proto_find(PROTO_DOCKER, PRIV_docker_image_pull),
						&pull),
			    "registries");
	assert_string_equal(
		docker_domain.judge(helper, proto_find(PROTO_DOCKER, PRIV_docker_container_create),
				    &create),
		"registries");
	assert_null(docker_domain.judge(helper, proto_find(PROTO_DOCKER, PRIV_docker_image_inspect),
					&inspect));
	assert_null(docker_domain.judge(
		helper, proto_find(PROTO_DOCKER, PRIV_docker_container_start), &begin));
	bench_close(&bench);
}

static void test_subject_is_the_container_or_the_image(void **state)
{
	static char longest[IMAGEREF_MAX + 1];
	struct req_docker_image_pull pull = {.image = {longest, IMAGEREF_MAX}};
	static struct req_docker_container_create create;
	struct req_docker_noop noop = {0};
	static struct audit_entry entry;

	(void)state;
	memset(longest, 'a', IMAGEREF_MAX);
	create.image = zstr_from("a");
	memcpy(create.uuid, test_uuid, UUID_SIZE);
	docker_domain.subject(proto_find(PROTO_DOCKER, PRIV_docker_container_create), &create,
			      &entry);
	assert_string_equal(entry.object_type, "container");
	assert_string_equal(entry.object_id, TEST_UUID);
	memset(&entry, 0, sizeof(entry));
	docker_domain.subject(proto_find(PROTO_DOCKER, PRIV_docker_image_pull), &pull, &entry);
	assert_string_equal(entry.object_type, "image");
	assert_string_equal(entry.object_id, longest);
	memset(&entry, 0, sizeof(entry));
	docker_domain.subject(proto_find(PROTO_DOCKER, PRIV_docker_noop), &noop, &entry);
	assert_null(entry.object_type);
	assert_string_equal(entry.object_id, "");
}

/* docker.c fills all of them through one type. */
static void test_rows_that_ask_the_engine_have_one_answer(void **state)
{
	const struct proto_row *first = proto_find(PROTO_DOCKER, PRIV_docker_engine_info);

	(void)state;
	for (size_t i = 0; i < proto_row_count; i++) {
		const struct proto_row *row = proto_row_at(i);

		if (row->number <= PRIV_docker_noop)
			continue;
		assert_int_equal(row->answer_size, first->answer_size);
		assert_int_equal(row->answer_field_count, first->answer_field_count);
		for (size_t f = 0; f < row->answer_field_count; f++) {
			assert_string_equal(row->answer_fields[f].name,
					    first->answer_fields[f].name);
			assert_int_equal(row->answer_fields[f].offset,
					 first->answer_fields[f].offset);
			assert_int_equal(row->answer_fields[f].type, first->answer_fields[f].type);
		}
	}
}

static void test_owned_table_forgets_but_never_invents(void **state)
{
	static const uint8_t nil[UUID_SIZE] = {0};
	static uint8_t uuids[3 * OWNED_SLOTS][UUID_SIZE];
	unsigned kept = 0;
	uint8_t other[UUID_SIZE];

	(void)state;
	bench_open(&bench, "/nowhere");
	assert_false(docker_owned(owned(), OWNED_CHECK, nil));
	assert_false(docker_owned(owned(), OWNED_ADD, nil));
	assert_true(docker_owned(owned(), OWNED_CHECK, nil));
	assert_true(docker_owned(owned(), OWNED_DROP, nil));
	assert_false(docker_owned(owned(), OWNED_DROP, nil));
	for (unsigned i = 0; i < COUNT(uuids); i++) {
		memcpy(uuids[i], &i, sizeof(i));
		(void)docker_owned(owned(), OWNED_ADD, uuids[i]);
		assert_true(docker_owned(owned(), OWNED_CHECK, uuids[i]));
	}
	for (unsigned i = 0; i < COUNT(uuids); i++) {
		kept += docker_owned(owned(), OWNED_CHECK, uuids[i]);
		memcpy(other, uuids[i], UUID_SIZE);
		other[15] ^= 1;
		assert_false(docker_owned(owned(), OWNED_CHECK, other));
	}
	assert_true(kept > 0 && kept <= OWNED_SLOTS);
	bench_close(&bench);
}

/* A server was killed while it held the lock: everybody asks the engine, nobody hangs. */
static void test_owned_table_with_a_dead_lock_knows_nothing(void **state)
{
	(void)state;
	bench_open(&bench, "/nowhere");
	(void)docker_owned(owned(), OWNED_ADD, test_uuid);
	atomic_flag_test_and_set(&owned()->busy);
	assert_false(docker_owned(owned(), OWNED_CHECK, test_uuid));
	assert_false(docker_owned(owned(), OWNED_DROP, test_uuid));
	bench_close(&bench);
}

static void test_shared_pages_take_only_a_path_that_fits(void **state)
{
	char path[DOCKER_SOCKET_PATH_MAX + 1];
	struct docker_shared *shared;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[DOCKER_SOCKET_PATH_MAX] = '\0';
	assert_null(docker_shared_new(path));
	path[DOCKER_SOCKET_PATH_MAX - 1] = '\0';
	shared = docker_shared_new(path);
	assert_non_null(shared);
	assert_string_equal(shared->socket_path, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noop_gives_back_what_it_got),
		cmocka_unit_test(test_each_plain_row_writes_its_request),
		cmocka_unit_test(test_each_container_row_writes_its_request),
		cmocka_unit_test(test_create_sends_name_and_json_and_remembers_it),
		cmocka_unit_test(test_create_that_failed_is_not_remembered),
		cmocka_unit_test(test_image_rows_escape_the_reference),
		cmocka_unit_test(test_no_reference_can_change_the_request),
		cmocka_unit_test(test_container_with_our_label_is_asked_about_once),
		cmocka_unit_test(test_container_without_our_label_is_not_touched),
		cmocka_unit_test(test_no_row_touches_a_container_of_others),
		cmocka_unit_test(test_container_that_does_not_exist_gets_the_engines_404),
		cmocka_unit_test(test_unlabelled_container_is_adopted_when_the_policy_says_so),
		cmocka_unit_test(test_missing_container_gets_its_404_with_adoption_too),
		cmocka_unit_test(test_container_that_is_gone_is_forgotten),
		cmocka_unit_test(test_engines_refusal_of_the_question_is_the_answer),
		cmocka_unit_test(test_list_that_makes_no_sense_allows_nothing),
		cmocka_unit_test(test_judge_speaks_for_create_and_pull_only),
		cmocka_unit_test(test_subject_is_the_container_or_the_image),
		cmocka_unit_test(test_rows_that_ask_the_engine_have_one_answer),
		cmocka_unit_test(test_owned_table_forgets_but_never_invents),
		cmocka_unit_test(test_owned_table_with_a_dead_lock_knows_nothing),
		cmocka_unit_test(test_shared_pages_take_only_a_path_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

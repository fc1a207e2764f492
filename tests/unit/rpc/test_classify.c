/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what becomes of a message: recorded ones, and bad ones of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "captures.h"
#include "common/zfd.h"
#include "unpriv/rpc/envelope.h"

#define JSON_TYPE "application/json"
#define UUID	  "18f0a2d7-038c-4629-8a19-8add9ee95b2e"
#define OBJECT(version, fields)                                                                    \
	"{\"zun_object.name\":\"Container\",\"zun_object.namespace\":\"zun\","                     \
	"\"zun_object.version\":\"" version "\",\"zun_object.data\":{" fields "}}"
#define CONTAINER OBJECT("1.44", "\"id\":1,\"uuid\":\"" UUID "\"")
#define ARGS	  "\"args\":{\"container\":" CONTAINER "}"
#define IDS	  "\"_msg_id\":\"m1\",\"_reply_q\":\"reply_1\",\"_unique_id\":\"u1\""
#define SHOW	  "\"method\":\"container_show\""
#define START	  "\"method\":\"container_start\""

static const char *folder;

struct outcome {
	struct job_record record;
	struct rpc_message message;
	struct rpc_failure failure;
};

static void classify_body(const char *body, size_t length, struct outcome *outcome)
{
	/* A copy of exactly that length: reading past its end is seen by the sanitizer. */
	char *copy = malloc(length > 0 ? length : 1);

	assert_non_null(copy);
	memcpy(copy, body, length);
	memset(outcome, 0xff, sizeof(*outcome));
	rpc_classify(copy, length, JSON_TYPE, &outcome->record, &outcome->message,
		     &outcome->failure);
	free(copy);
	assert_true(outcome->record.verdict >= VERDICT_RUN &&
		    outcome->record.verdict <= VERDICT_DROP);
	assert_true((outcome->record.verdict == VERDICT_RUN) == (outcome->message.inner != NULL));
	assert_true((outcome->record.verdict == VERDICT_ANSWERED) ==
		    (outcome->failure.class != NULL));
	if (outcome->record.verdict != VERDICT_RUN)
		assert_true(outcome->record.reason[0] != '\0');
	else
		assert_true(json_object_is_type(outcome->message.args, json_type_object));
}

/* Classifies inner in an envelope. */
static void classify(const char *inner, struct outcome *outcome)
{
	_cleanup_free_ char *body = capture_envelope(inner, strlen(inner));

	classify_body(body, strlen(body), outcome);
}

static void assert_verdict(const char *inner, enum job_verdict verdict)
{
	struct outcome outcome;

	classify(inner, &outcome);
	if (outcome.record.verdict != verdict)
		fail_msg("verdict %d (%s) for %s", (int)outcome.record.verdict,
			 outcome.record.reason, inner);
	rpc_message_clear(&outcome.message);
}

static void assert_failure(const char *inner, const char *class, const char *module,
			   const char *message)
{
	struct outcome outcome;

	classify(inner, &outcome);
	if (outcome.record.verdict != VERDICT_ANSWERED ||
	    strcmp(outcome.failure.class, class) != 0 ||
	    strcmp(outcome.failure.module, module) != 0 ||
	    (message && strcmp(outcome.failure.message, message) != 0))
		fail_msg("verdict %d, %s of %s: %s\nfor %s", (int)outcome.record.verdict,
			 outcome.failure.class ? outcome.failure.class : "nothing",
			 outcome.failure.module ? outcome.failure.module : "nothing",
			 outcome.failure.message, inner);
	rpc_message_clear(&outcome.message);
}

static const char *string_of(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(object, key, &value) && value
		       ? json_object_get_string(value)
		       : "";
}

static struct json_object *at(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

/* The reply that was recorded must be the one that we would give. */
static void compare_failure(const struct capture *capture, struct json_object *reply,
			    const struct outcome *outcome)
{
	struct json_object *failure = json_tokener_parse(string_of(reply, "failure"));

	assert_non_null(failure);
	if (outcome->record.verdict != VERDICT_ANSWERED ||
	    strcmp(outcome->failure.class, string_of(failure, "class")) != 0 ||
	    strcmp(outcome->failure.module, string_of(failure, "module")) != 0 ||
	    strcmp(outcome->failure.message, string_of(failure, "message")) != 0)
		fail_msg("%s: verdict %d, %s: %s", capture->name, (int)outcome->record.verdict,
			 outcome->failure.class, outcome->failure.message);
	json_object_put(failure);
}

static void compare_ids(struct json_object *inner, const struct job_record *record)
{
	struct json_object *container = at(at(inner, "args"), "container");

	assert_string_equal(record->unique_id, string_of(inner, "_unique_id"));
	assert_string_equal(record->msg_id, string_of(inner, "_msg_id"));
	assert_string_equal(record->reply_queue, string_of(inner, "_reply_q"));
	assert_string_equal(record->request_id, string_of(inner, "_context_request_id"));
	assert_int_equal(record->call, at(inner, "_msg_id") != NULL);
	assert_string_equal(record->uuid, string_of(at(container, "zun_object.data"), "uuid"));
}

static void compare_request(const struct capture *capture, size_t index)
{
	static const char *const rejected[] = {"raw-not-json", "raw-envelope-version-3",
					       "raw-no-content-type"};
	const struct capture_message *message = &capture->messages[index];
	const struct capture_message *next =
		index + 1 < capture->count ? &capture->messages[index + 1] : NULL;
	struct json_object *inner = capture_inner(message), *reply = NULL;
	struct outcome outcome;

	rpc_classify(message->body, message->length, message->content_type, &outcome.record,
		     &outcome.message, &outcome.failure);
	if (next && !next->request)
		reply = capture_inner(next);
	for (size_t i = 0; i < 3; i++) {
		if (strcmp(capture->name, rejected[i]) == 0) {
			assert_int_equal(outcome.record.verdict, VERDICT_REJECT);
			goto done;
		}
	}
	if (at(reply, "failure")) {
		compare_failure(capture, reply, &outcome);
	} else if (!rpc_method_find(string_of(inner, "method"))) {
		assert_int_equal(outcome.record.verdict, VERDICT_ANSWERED);
		assert_string_equal(outcome.failure.class, "NoSuchMethod");
	} else {
		if (outcome.record.verdict != VERDICT_RUN || outcome.record.reason[0])
			fail_msg("%s: %s", capture->name, outcome.record.reason);
		compare_ids(inner, &outcome.record);
		assert_string_equal(rpc_method_row(outcome.record.method)->name,
				    string_of(inner, "method"));
		assert_int_equal(outcome.record.exclusive,
				 rpc_method_row(outcome.record.method)->locked);
	}
done:
	rpc_message_clear(&outcome.message);
	json_object_put(inner);
	json_object_put(reply);
}

static void test_every_capture_is_classified_as_recorded(void **state)
{
	size_t count, requests = 0;
	struct capture *captures = captures_load(folder, &count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < captures[i].count; j++) {
			if (!captures[i].messages[j].request)
				continue;
			compare_request(&captures[i], j);
			requests++;
		}
	}
	assert_true(requests >= 60);
	captures_free(captures, count);
}

static void test_a_message_says_who_asked(void **state)
{
	struct outcome outcome;

	(void)state;
	classify(
		"{" SHOW "," ARGS "," IDS ",\"_timeout\":30,\"_context_request_id\":\"req-1\","
		"\"_context_project_id\":\"p\",\"_context_user_id\":\"u\",\"_context_is_admin\":"
		"true,"
		"\"_context_timestamp\":\"2026-12-01T02:54:47.911453\",\"_context_all_projects\":1,"
		"\"_context_roles\":7}",
		&outcome);
	assert_int_equal(outcome.record.verdict, VERDICT_RUN);
	assert_int_equal(outcome.record.method, RPC_CONTAINER_SHOW);
	assert_int_equal(outcome.record.monitor_s, 30);
	assert_string_equal(outcome.message.context.request_id, "req-1");
	assert_string_equal(outcome.message.context.project_id, "p");
	assert_string_equal(outcome.message.context.user_id, "u");
	assert_string_equal(outcome.message.context.timestamp, "2026-12-01T02:54:47.911453");
	assert_true(outcome.message.context.is_admin);
	assert_false(outcome.message.context.all_projects); /* of a wrong type: not there */
	rpc_message_clear(&outcome.message);
}

static void test_classify_leaves_the_rest_of_the_record_alone(void **state)
{
	struct outcome outcome = {
		.record = {.tries = 1, .resumed = true, .intent = "0000000000000001"}};
	_cleanup_free_ char *body =
		capture_envelope("{" START "," ARGS "}", strlen("{" START "," ARGS "}"));

	(void)state;
	rpc_classify(body, strlen(body), JSON_TYPE, &outcome.record, &outcome.message,
		     &outcome.failure);
	assert_int_equal(outcome.record.tries, 1);
	assert_true(outcome.record.resumed && outcome.record.exclusive && !outcome.record.call);
	assert_string_equal(outcome.record.intent, "0000000000000001");
	rpc_message_clear(&outcome.message);
}

static void test_what_is_no_envelope_is_rejected(void **state)
{
	static const char *const bodies[] = {
		"",
		" ",
		"null",
		"1",
		"\"x\"",
		"[]",
		"true",
		"{",
		"nonsense",
		"{\"a\":1}}",
		"{\"oslo.version\":\"2.0\",\"oslo.message\":{}}",
		"{\"oslo.version\":\"2.0\",\"oslo.message\":null}",
		"{\"oslo.version\":\"2.0\",\"oslo.message\":\"\"}",
		"{\"oslo.version\":\"2.0\",\"oslo.message\":\"[]\"}",
		"{\"oslo.version\":\"2.0\",\"oslo.message\":\"null\"}",
		"{\"oslo.version\":\"2.0\",\"oslo.message\":\"{} {}\"}",
		"{\"oslo.version\":\"2.1\",\"oslo.message\":\"{}\"}",
		"{\"oslo.version\":\"1.0\",\"oslo.message\":\"{}\"}",
		"{\"oslo.version\":\"2\",\"oslo.message\":\"{}\"}",
		"{\"oslo.version\":2.0,\"oslo.message\":\"{}\"}",
		"{\"oslo.version\":null,\"oslo.message\":\"{}\"}",
		"{\"oslo.version\":\"2.0\",\"oslo.version\":\"2.0\",\"oslo.message\":\"{}\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct outcome outcome;

		classify_body(bodies[i], strlen(bodies[i]), &outcome);
		if (outcome.record.verdict != VERDICT_REJECT)
			fail_msg("verdict %d for %s", (int)outcome.record.verdict, bodies[i]);
	}
}

static void test_only_the_exact_content_type_is_read(void **state)
{
	static const char *const types[] = {"", "text/plain", "application/json; charset=utf-8",
					    "application/JSON", "application/data"};
	static const char body[] = "{" START "," ARGS "}";

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct outcome outcome;

		rpc_classify(body, strlen(body), types[i], &outcome.record, &outcome.message,
			     &outcome.failure);
		assert_int_equal(outcome.record.verdict, VERDICT_REJECT);
	}
}

static void test_a_call_that_nobody_can_be_answered_is_dropped(void **state)
{
	(void)state;
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":\"m\"}", VERDICT_DROP);
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":\"m\",\"_reply_q\":null}", VERDICT_DROP);
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":\"m\",\"_reply_q\":\"\"}", VERDICT_DROP);
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":\"m\",\"_reply_q\":5}", VERDICT_DROP);
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":7,\"_reply_q\":\"q\"}", VERDICT_DROP);
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":\"a\\nb\",\"_reply_q\":\"q\"}",
		       VERDICT_DROP);
	/* No id at all is what makes a cast. */
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":null}", VERDICT_RUN);
	assert_verdict("{" SHOW "," ARGS ",\"_msg_id\":\"\",\"_reply_q\":\"q\"}", VERDICT_RUN);
}

static void test_versions_and_namespaces_other_than_ours_are_refused(void **state)
{
	static const char module[] = "oslo_messaging.rpc.dispatcher";
	static const char *const cases[][2] = {
		{"\"version\":\"1.1\"", "1.1"}, {"\"version\":\"2.0\"", "2.0"},
		{"\"version\":\"1\"", "1"},	{"\"version\":null", "None"},
		{"\"version\":1.0", "1.0"},	{"\"namespace\":\"x\"", "1.0"},
		{"\"namespace\":\"\"", "1.0"},	{"\"namespace\":{},\"version\":\"3.0\"", "3.0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char inner[1024], message[256];

		(void)snprintf(inner, sizeof(inner), "{" SHOW "," ARGS "," IDS ",%s}", cases[i][0]);
		(void)snprintf(message, sizeof(message),
			       "Endpoint does not support RPC version %s. Attempted method: "
			       "container_show",
			       cases[i][1]);
		assert_failure(inner, "UnsupportedVersion", module, message);
	}
	assert_verdict("{" SHOW "," ARGS "," IDS ",\"version\":\"1.0\",\"namespace\":null}",
		       VERDICT_RUN);
	assert_failure("{\"method\":\"nope\"," IDS ",\"version\":\"9.9\"}", "UnsupportedVersion",
		       module, "Endpoint does not support RPC version 9.9. Attempted method: nope");
	/* A cast: nobody to tell, nothing to do. */
	assert_verdict("{" START "," ARGS ",\"version\":\"9.9\"}", VERDICT_ANSWERED);
}

static void test_only_methods_of_the_table_are_served(void **state)
{
	static const char *const names[] = {"_get_driver",
					    "__init__",
					    "init_containers",
					    "inventory_host",
					    "sync_container_state",
					    "capsule_create",
					    "echo",
					    "",
					    "container_show ",
					    "Container_show",
					    "%s%n"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char inner[1024], message[256];

		(void)snprintf(inner, sizeof(inner), "{\"method\":\"%s\"," ARGS "," IDS "}",
			       names[i]);
		(void)snprintf(message, sizeof(message), "Endpoint does not support RPC method %s",
			       names[i]);
		assert_failure(inner, "NoSuchMethod", "oslo_messaging.rpc.dispatcher", message);
	}
	assert_failure("{" ARGS "," IDS "}", "TypeError", "builtins",
		       "attribute name must be string, not 'NoneType'");
	assert_failure("{\"method\":null," IDS "}", "TypeError", "builtins", NULL);
	assert_failure("{\"method\":5," IDS "}", "TypeError", "builtins", NULL);
	assert_failure("{\"method\":[]," IDS "}", "TypeError", "builtins", NULL);
	assert_failure("{\"method\":\"container_show\\u0000x\"," ARGS "," IDS "}", "TypeError",
		       "builtins", NULL);
}

static void test_arguments_must_be_all_and_no_others(void **state)
{
	static const char zun[] = "zun.common.exception";

	(void)state;
	assert_failure("{" SHOW ",\"args\":{}," IDS "}", "ZunException", zun,
		       "Unexpected error: Manager.container_show() missing 1 required positional "
		       "argument: 'container'");
	assert_failure("{" SHOW "," IDS "}", "ZunException", zun, NULL);
	assert_failure(
		"{" SHOW ",\"args\":{\"container\":" CONTAINER ",\"force\":true}," IDS "}",
		"ZunException", zun,
		"Unexpected error: Manager.container_show() got an unexpected keyword argument "
		"'force'");
	assert_failure("{\"method\":\"container_create\",\"args\":{\"container\":" CONTAINER
		       ",\"run\":true}," IDS "}",
		       "ZunException", zun,
		       "Unexpected error: Manager.container_create() missing 3 required positional "
		       "arguments: 'limits', 'requested_networks', 'requested_volumes'");
	assert_failure("{" SHOW ",\"args\":null," IDS "}", "AttributeError", "builtins", NULL);
	assert_failure("{" SHOW ",\"args\":[]," IDS "}", "AttributeError", "builtins", NULL);
	assert_failure("{" SHOW ",\"args\":\"x\"," IDS "}", "AttributeError", "builtins", NULL);
}

static void test_plain_arguments_have_their_types(void **state)
{
	static const struct {
		const char *method, *arguments;
		bool good;
	} cases[] = {
		{"container_delete", "", true},
		{"container_delete", ",\"force\":true", true},
		{"container_delete", ",\"force\":\"true\"", false},
		{"container_delete", ",\"force\":null", false},
		{"container_stop", ",\"timeout\":null", true},
		{"container_stop", ",\"timeout\":\"10\"", true},
		{"container_stop", ",\"timeout\":\"\"", true},
		{"container_stop", ",\"timeout\":0", true},
		{"container_stop", ",\"timeout\":-1", true},
		{"container_stop", ",\"timeout\":-2", false},
		{"container_stop", ",\"timeout\":86401", false},
		{"container_stop", ",\"timeout\":99999999999999999999", false},
		{"container_stop", ",\"timeout\":\"soon\"", false},
		{"container_stop", ",\"timeout\":\"-\"", false},
		{"container_stop", ",\"timeout\":\"1234567\"", false},
		{"container_stop", ",\"timeout\":1.5", false},
		{"container_stop", ",\"timeout\":[]", false},
		{"container_stop", ",\"timeout\":true", false},
		{"container_reboot", ",\"timeout\":\"1\"", true},
		{"container_kill", ",\"signal\":null", true},
		{"container_kill", ",\"signal\":\"None\"", true},
		{"container_kill", ",\"signal\":\"SIGTERM\"", true},
		{"container_kill", ",\"signal\":9", true},
		{"container_kill", ",\"signal\":{}", false},
		{"container_kill", ",\"signal\":\"a\\nb\"", false},
		{"container_kill", ",\"signal\":\"012345678901234567890123456789012\"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char inner[1024];

		(void)snprintf(inner, sizeof(inner),
			       "{\"method\":\"%s\",\"args\":{\"container\":" CONTAINER "%s}," IDS
			       "}",
			       cases[i].method, cases[i].arguments);
		if (cases[i].good)
			assert_verdict(inner, VERDICT_RUN);
		else
			assert_failure(inner, "ZunException", "zun.common.exception", NULL);
	}
}

static void assert_container(const char *container, const char *class, const char *module,
			     const char *message)
{
	char inner[2048];

	(void)snprintf(inner, sizeof(inner), "{" SHOW ",\"args\":{\"container\":%s}," IDS "}",
		       container);
	assert_failure(inner, class, module, message);
}

static void test_a_container_that_is_none_is_refused_by_the_right_class(void **state)
{
	static const char zun[] = "zun.common.exception",
			  objects[] = "oslo_versionedobjects.exception";

	(void)state;
	assert_container("\"x\"", "ZunException", zun,
			 "Unexpected error: 'str' object has no attribute 'uuid'");
	assert_container("null", "ZunException", zun,
			 "Unexpected error: 'NoneType' object has no attribute 'uuid'");
	assert_container("5", "ZunException", zun,
			 "Unexpected error: 'int' object has no attribute 'uuid'");
	assert_container("{\"uuid\":\"" UUID "\"}", "ZunException", zun,
			 "Unexpected error: 'dict' object has no attribute 'uuid'");
	assert_container(OBJECT("9.9", "\"id\":1,\"uuid\":\"" UUID "\""),
			 "IncompatibleObjectVersion", objects,
			 "Version 9.9 of Container is not supported, supported version is 1.44");
	assert_container(OBJECT("0.9", "\"id\":1,\"uuid\":\"" UUID "\""),
			 "IncompatibleObjectVersion", objects, NULL);
	assert_container(OBJECT("", "\"uuid\":\"" UUID "\""), "IncompatibleObjectVersion", objects,
			 NULL);
	assert_container(OBJECT("1", "\"uuid\":\"" UUID "\""), "IncompatibleObjectVersion", objects,
			 NULL);
	assert_container(OBJECT("1.", "\"uuid\":\"" UUID "\""), "IncompatibleObjectVersion",
			 objects, NULL);
	assert_container(OBJECT("1.x", "\"uuid\":\"" UUID "\""), "IncompatibleObjectVersion",
			 objects, NULL);
	assert_container(
		OBJECT("1.44", "\"id\":1"), "ObjectActionError", zun,
		"Object action obj_load_attr failed because: attribute uuid not lazy-loadable");
	assert_container(OBJECT("1.44", "\"uuid\":null"), "ValueError", "builtins", NULL);
	assert_container(OBJECT("1.44", "\"uuid\":\"../../etc\""), "ValueError", "builtins", NULL);
	assert_container("{\"zun_object.name\":\"Nonsense\",\"zun_object.namespace\":\"zun\","
			 "\"zun_object.version\":\"1.0\",\"zun_object.data\":{}}",
			 "UnsupportedObjectError", objects, "Unsupported object type Nonsense");
	assert_container("{\"zun_object.name\":\"Image\",\"zun_object.namespace\":\"zun\","
			 "\"zun_object.version\":\"1.2\",\"zun_object.data\":{}}",
			 "ZunException", zun, "Unexpected container type: Image");
	assert_container("{\"zun_object.name\":\"Container\",\"zun_object.namespace\":\"nova\","
			 "\"zun_object.version\":\"1.44\",\"zun_object.data\":{}}",
			 "UnsupportedObjectError", objects,
			 "Unsupported object type nova.Container");
	assert_container("{\"zun_object.name\":\"Container\",\"zun_object.namespace\":\"zun\","
			 "\"zun_object.version\":\"1.44\"}",
			 "KeyError", "builtins", NULL);
	assert_container("{\"zun_object.name\":\"Container\",\"zun_object.namespace\":\"zun\","
			 "\"zun_object.data\":{}}",
			 "KeyError", "builtins", NULL);
	assert_container("{\"zun_object.name\":[],\"zun_object.namespace\":\"zun\","
			 "\"zun_object.version\":\"1.44\",\"zun_object.data\":{}}",
			 "ValueError", "builtins", NULL);
}

static void test_other_minor_versions_and_unknown_fields_are_taken(void **state)
{
	(void)state;
	assert_verdict("{" SHOW ",\"args\":{\"container\":" OBJECT(
			       "1.3", "\"id\":1,\"uuid\":\"" UUID "\"") "}," IDS "}",
		       VERDICT_RUN);
	assert_verdict("{" SHOW ",\"args\":{\"container\":" OBJECT(
			       "1.99", "\"id\":1,\"uuid\":\"" UUID
				       "\",\"new\":{\"a\":[1]},\"containers\":5") "}," IDS "}",
		       VERDICT_RUN);
}

static void test_a_cast_whose_container_can_be_named_runs_with_a_reason(void **state)
{
	static const char *const inners[] = {
		"{" START
		",\"args\":{\"container\":" OBJECT("9.9", "\"id\":1,\"uuid\":\"" UUID "\"") "}}",
		"{" START
		",\"args\":{\"container\":" OBJECT("1.44", "\"id\":[],\"uuid\":\"" UUID "\"") "}}",
		"{" START ",\"args\":{\"container\":" CONTAINER ",\"surplus\":1}}",
		"{\"method\":\"container_stop\",\"args\":{\"container\":" CONTAINER "}}",
		"{\"method\":\"container_stop\",\"args\":{\"container\":" CONTAINER
		",\"timeout\":[]}}",
		/* and those that are no acceptable JSON */
		"{" START "," ARGS ",\"a\":1,\"a\":2}",
		"{" START "," ARGS ",\"a\":NaN}",
		"{" START "," ARGS
		",\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
		"{" START "," ARGS ",\"a\":\"\\ud800\"}",
		"{" START "," ARGS ",\"_context_user",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(inners) / sizeof(inners[0]); i++) {
		struct outcome outcome;

		classify(inners[i], &outcome);
		if (outcome.record.verdict != VERDICT_RUN || !outcome.record.reason[0] ||
		    strcmp(outcome.record.uuid, UUID) != 0 || !outcome.record.exclusive ||
		    outcome.record.call)
			fail_msg("verdict %d, reason '%s' for %s", (int)outcome.record.verdict,
				 outcome.record.reason, inners[i]);
		rpc_message_clear(&outcome.message);
	}
	/* None to name: acknowledged and logged. */
	assert_verdict("{" START ",\"args\":{\"container\":\"x\"}}", VERDICT_ANSWERED);
	assert_verdict("{" START ",\"args\":{}}", VERDICT_ANSWERED);
	assert_verdict("{\"method\":\"nope\"," ARGS "}", VERDICT_ANSWERED);
}

static void test_a_call_that_is_no_acceptable_json_is_answered(void **state)
{
	static char deep[25000];
	size_t used;

	(void)state;
	assert_failure("{" SHOW "," ARGS "," IDS ",\"a\":1,\"a\":2}", "ValueError", "builtins",
		       NULL);
	assert_failure("{" SHOW "," ARGS "," IDS ",\"a\":NaN}", "ValueError", "builtins", NULL);
	assert_failure("{" SHOW "," ARGS "," IDS ",\"a\":01}", "ValueError", "builtins", NULL);
	assert_failure("{" SHOW "," ARGS "," IDS ",", "ValueError", "builtins", NULL);
	assert_failure("{\"method\":\"nope\"," IDS ",\"a\":nan}", "ValueError", "builtins", NULL);
	/* deep inside, before the ids */
	used = (size_t)snprintf(deep, sizeof(deep), "{" SHOW ",\"args\":{\"container\":");
	memset(deep + used, '[', 10000);
	memset(deep + used + 10000, ']', 10000);
	(void)snprintf(deep + used + 20000, sizeof(deep) - used - 20000, "}," IDS "}");
	assert_failure(deep, "ValueError", "builtins", NULL);
	/* a call whose ids cannot be trusted is not taken for a cast */
	assert_verdict("{" START "," ARGS
		       ",\"_msg_id\":\"a\",\"_msg_id\":\"b\",\"_reply_q\":\"q\"}",
		       VERDICT_REJECT);
	assert_verdict("{" START "," ARGS ",\"_msg_id\":5,\"a\":1,\"a\":1}", VERDICT_REJECT);
}

static void test_a_body_that_is_no_json_gets_no_reply(void **state)
{
	static const char *const ends[] = {",\"a\":\"\xff\"}", ",\"a\":1,\"a\":1}", ",\"a\":nan}"};
	struct outcome outcome;
	char inner[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		/* of the old form, where the body is the message itself */
		(void)snprintf(inner, sizeof(inner), "{" SHOW "," ARGS "," IDS "%s", ends[i]);
		classify_body(inner, strlen(inner), &outcome);
		assert_int_equal(outcome.record.verdict, VERDICT_REJECT);
		/* a cast may still end on its row */
		(void)snprintf(inner, sizeof(inner), "{" START "," ARGS "%s", ends[i]);
		classify_body(inner, strlen(inner), &outcome);
		assert_int_equal(outcome.record.verdict, VERDICT_RUN);
		assert_string_equal(outcome.record.uuid, UUID);
		assert_true(outcome.record.reason[0] != '\0');
		rpc_message_clear(&outcome.message);
	}
}

static void test_non_utf8_in_an_envelope_ends_definitely(void **state)
{
	static const char call[] = "{" SHOW "," ARGS "," IDS ",\"a\":\"\xff\"}";
	static const char cast[] = "{" START "," ARGS ",\"a\":\"\xff\"}";
	_cleanup_free_ char *call_body = capture_envelope(call, strlen(call));
	_cleanup_free_ char *cast_body = capture_envelope(cast, strlen(cast));
	struct outcome outcome;

	(void)state;
	classify_body(call_body, strlen(call_body), &outcome);
	assert_int_equal(outcome.record.verdict, VERDICT_REJECT);
	classify_body(cast_body, strlen(cast_body), &outcome);
	assert_int_equal(outcome.record.verdict, VERDICT_RUN);
	assert_non_null(strstr(outcome.record.reason, ": not UTF-8"));
	assert_string_equal(outcome.record.uuid, UUID);
	rpc_message_clear(&outcome.message);
}

static void test_a_body_over_the_limit_is_rejected(void **state)
{
	size_t length = RPC_BODY_MAX + 1;
	char *body = malloc(length);
	struct outcome outcome;

	(void)state;
	assert_non_null(body);
	memset(body, ' ', length);
	memcpy(body, "{}", 2);
	rpc_classify(body, length, JSON_TYPE, &outcome.record, &outcome.message, &outcome.failure);
	free(body);
	assert_int_equal(outcome.record.verdict, VERDICT_REJECT);
	assert_non_null(strstr(outcome.record.reason, "limit"));
}

static void test_reasons_are_plain_and_short(void **state)
{
	struct outcome outcome;

	(void)state;
	classify("{" START ",\"args\":{\"container\":" CONTAINER
		 ",\"\\u00e4\\u20ac\\ud83d\\ude00\\n\\u001b[31m "
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		 "xxxxxxxxxxxxxx"
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\":1}}",
		 &outcome);
	assert_int_equal(outcome.record.verdict, VERDICT_RUN);
	assert_non_null(strstr(outcome.record.reason, "argument '?????[31m x"));
	assert_true(text_valid(TEXT_PRINTABLE, zstr_from(outcome.record.reason)));
	rpc_message_clear(&outcome.message);
}

static void test_monitoring_is_taken_as_upstream_takes_it(void **state)
{
	static const struct {
		const char *value;
		uint32_t expected;
	} cases[] = {{"null", 0},
		     {"0", 0},
		     {"1", 0},
		     {"1.9", 0},
		     {"2", 2},
		     {"3.7", 3},
		     {"\"5\"", 5},
		     {"-4", 0},
		     {"true", 0},
		     {"\"x\"", 0},
		     {"[]", 0},
		     {"1e300", 86400},
		     {"99999999999999999999", 86400},
		     {"\"99999999999999999999\"", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome outcome;
		char inner[1024];

		(void)snprintf(inner, sizeof(inner), "{" SHOW "," ARGS "," IDS ",\"_timeout\":%s}",
			       cases[i].value);
		classify(inner, &outcome);
		assert_int_equal(outcome.record.verdict, VERDICT_RUN);
		assert_int_equal(outcome.record.monitor_s, cases[i].expected);
		rpc_message_clear(&outcome.message);
	}
}

/* A real body of a call and of a cast. */
static const struct capture_message *sample(const struct capture *captures, size_t count,
					    const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(captures[i].name, name) == 0)
			return &captures[i].messages[0];
	fail_msg("no capture %s", name);
	return NULL;
}

static size_t cut_everywhere(const struct capture_message *message)
{
	size_t ended = 0;

	for (size_t length = 0; length < message->length; length++) {
		struct outcome outcome;

		classify_body(message->body, length, &outcome);
		if (outcome.record.verdict == VERDICT_RUN) {
			assert_true(outcome.record.reason[0] != '\0');
			ended++;
		} else {
			assert_int_equal(outcome.record.verdict, VERDICT_REJECT);
		}
		rpc_message_clear(&outcome.message);
	}
	return ended;
}

static void test_a_body_cut_at_any_byte_never_runs_as_if_whole(void **state)
{
	size_t count;
	struct capture *captures = captures_load(folder, &count);
	const struct capture_message *cast = sample(captures, count, "container-start-created");

	(void)state;
	/* The uuid comes early: most of these casts get a definite end. */
	assert_true(cut_everywhere(cast) > cast->length / 2);
	assert_int_equal(cut_everywhere(sample(captures, count, "container-show-running")), 0);
	captures_free(captures, count);
}

static void test_an_inner_text_cut_at_any_byte_never_runs_as_if_whole(void **state)
{
	static const char *const names[] = {"container-start-created", "container-show-running"};
	size_t count;
	struct capture *captures = captures_load(folder, &count);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct json_object *inner = capture_inner(sample(captures, count, names[i]));
		const char *text = json_object_to_json_string_ext(inner, JSON_C_TO_STRING_PLAIN);
		size_t whole = strlen(text);

		for (size_t length = 0; length < whole; length++) {
			_cleanup_free_ char *body = capture_envelope(text, length);
			struct outcome outcome;

			classify_body(body, strlen(body), &outcome);
			if (outcome.record.verdict == VERDICT_RUN)
				assert_true(outcome.record.reason[0] != '\0');
			/* A call is never taken for a cast once its id was seen. */
			if (outcome.record.msg_id[0])
				assert_true(outcome.record.verdict != VERDICT_RUN);
			rpc_message_clear(&outcome.message);
		}
		json_object_put(inner);
	}
	captures_free(captures, count);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_capture_is_classified_as_recorded),
		cmocka_unit_test(test_a_message_says_who_asked),
		cmocka_unit_test(test_classify_leaves_the_rest_of_the_record_alone),
		cmocka_unit_test(test_what_is_no_envelope_is_rejected),
		cmocka_unit_test(test_only_the_exact_content_type_is_read),
		cmocka_unit_test(test_a_call_that_nobody_can_be_answered_is_dropped),
		cmocka_unit_test(test_versions_and_namespaces_other_than_ours_are_refused),
		cmocka_unit_test(test_only_methods_of_the_table_are_served),
		cmocka_unit_test(test_arguments_must_be_all_and_no_others),
		cmocka_unit_test(test_plain_arguments_have_their_types),
		cmocka_unit_test(test_a_container_that_is_none_is_refused_by_the_right_class),
		cmocka_unit_test(test_other_minor_versions_and_unknown_fields_are_taken),
		cmocka_unit_test(test_a_cast_whose_container_can_be_named_runs_with_a_reason),
		cmocka_unit_test(test_a_call_that_is_no_acceptable_json_is_answered),
		cmocka_unit_test(test_a_body_that_is_no_json_gets_no_reply),
		cmocka_unit_test(test_non_utf8_in_an_envelope_ends_definitely),
		cmocka_unit_test(test_a_body_over_the_limit_is_rejected),
		cmocka_unit_test(test_reasons_are_plain_and_short),
		cmocka_unit_test(test_monitoring_is_taken_as_upstream_takes_it),
		cmocka_unit_test(test_a_body_cut_at_any_byte_never_runs_as_if_whole),
		cmocka_unit_test(test_an_inner_text_cut_at_any_byte_never_runs_as_if_whole),
	};

	folder = argc > 1 ? argv[1] : "tests/captures";
	return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}

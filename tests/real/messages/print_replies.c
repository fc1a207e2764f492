/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints replies as the agent publishes them, one a line: a name, a blank, the
 * body.  Read by envelope_peer.py, which gives them to oslo.messaging.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/zfd.h"
#include "unpriv/rpc/envelope.h"

#define MAX_BYTES 4000

static const struct job_record record = {.call = true,
					 .msg_id = "00000000000000000000000000000001"};

static void print(const char *name, char *inner)
{
	_cleanup_free_ char *text = inner, *body = NULL;
	size_t length = 0;

	if (text)
		body = rpc_wrap(text, strlen(text), "0123456789abcdef0123456789abcdef", &length);
	if (!body)
		exit(1);
	(void)printf("%s %s\n", name, body); /* the reader notices a line that is missing */
}

static void print_result(const char *name, const char *json)
{
	struct json_object *result = json_tokener_parse(json);

	print(name, rpc_reply(&record, result, NULL, MAX_BYTES));
	(void)json_object_put(result); /* the only reference */
}

static void print_failure(const char *name, const char *class, const char *message)
{
	struct rpc_failure failure = {0};

	rpc_fail(&failure, class, "%s", message);
	print(name, rpc_reply(&record, NULL, &failure, MAX_BYTES));
}

static void print_other(const char *name, const char *module, const char *class,
			const char *message)
{
	struct rpc_failure failure = {0};

	rpc_fail_in(&failure, module, class, "%s", message);
	print(name, rpc_reply(&record, NULL, &failure, MAX_BYTES));
}

int main(void)
{
	struct json_object *bytes = json_object_new_string("a \xff b");
	char longer[8001];

	print_result("null", "null");
	print_result("object", "{\"a\": [1, 2.5, null, true, \"x\\\"\\\\\\/\\n\"], \"b\": {}}");
	print_result("unicode", "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80 \\u0000 \x7f\"");
	print("bytes", rpc_reply(&record, bytes, NULL, MAX_BYTES));
	(void)json_object_put(bytes);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	bytes = json_object_new_string(longer);
	print("too-large", rpc_reply(&record, bytes, NULL, MAX_BYTES));
	(void)json_object_put(bytes);
	print("heartbeat", rpc_reply_heartbeat(record.msg_id));
	print_failure("conflict", "Conflict", "Timeout on executing command: ls");
	print_failure("percent", "DockerError",
		      "Docker internal error: no such path /a%2Fb%3A 100% %(x)s %s %.");
	print_failure("quotes", "Invalid",
		      "\"a\" \\ 'b'\n\t\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
	print_failure("not-found", "ContainerNotFound", "Container x could not be found.");
	print_failure("broken", "ZunException", "Unexpected error: \xff\xfe");
	print_other("value-error", "builtins", "ValueError", "Field `cpu' of Container: 100%");
	print_other("key-error", "builtins", "KeyError", "'zun_object.data'");
	print_other("type-error", "builtins", "TypeError", "attribute name must be string");
	print_other("no-such-method", "oslo_messaging.rpc.dispatcher", "NoSuchMethod",
		    "Endpoint does not support RPC method x%");
	print_other("object-version", "oslo_versionedobjects.exception",
		    "IncompatibleObjectVersion",
		    "Version 9.9 of Container is not supported, supported version is 1.44");
	return 0;
}

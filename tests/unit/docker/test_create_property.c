/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SECURITY-BAR F3 and F4: 10^5 random create requests through encoder, decoder,
 * judge and writer.  Whatever the broker sends, the JSON as an engine reads it
 * names nothing but the members below, once each, within the policy's ceilings.
 */
#include "fake_engine.h"
#include "go_json.h"
#include "privsep/docker_create.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROUNDS	     100000U
#define MEMORY_MAX   (UINT64_C(4) << 30)
#define SHARES_MAX   4096U
#define PIDS_MAX     512U
#define DISK_MAX     100U

/* Members that may stand at the top and in HostConfig, in lower case. */
static const char *const top_members[] = {
	"image",	"cmd",
	"entrypoint",	"env",
	"labels",	"workingdir",
	"hostname",	"tty",
	"openstdin",	"attachstdin",
	"stdinonce",	"attachstdout",
	"attachstderr", "networkdisabled",
	"volumes",	"exposedports",
	"healthcheck",	"hostconfig",
};
static const char *const host_members[] = {
	"binds",     "networkmode", "runtime",	     "memory",	   "cpushares",
	"pidslimit", "storageopt",  "restartpolicy", "autoremove", "securityopt",
};

/* Pieces of text that would hurt in a writer or reader that trusts them. */
static const char *const pieces[] = {
	"",
	"a",
	"\"",
	"\\",
	"\\\"",
	"\",\"HostConfig\":{\"Privileged\":true},\"x\":\"",
	"\"}],\"Privileged\":true,\"y\":[{\"",
	"HostConfig",
	"hostconfig",
	"privileged",
	"\\u0022,\\u0022Privileged\\u0022:true",
	"\n",
	"\r\n\r\n",
	"\t",
	"\x01",
	"\x1f",
	"\x7f",
	"{",
	"}",
	"[",
	"]",
	":",
	",",
	"/",
	"..",
	"%00",
	"%22",
	"null",
	"true",
	"0",
	"Ho\xc5\xbftConfig",
	"\xe2\x84\xaa",
	"\xc3\xa9",
	"\xe2\x80\xa8",
	"\xf0\x9f\x90\x8b",
	"\xef\xbf\xbf",
	"io.keelson.uuid",
	"IO.KEELSON.x",
	"io.keelson.",
	"k",
	"=",
};
/* Mostly lawful ones, so that most requests reach the writer. */
static const char *const images[] = {"busybox",
				     "b/c",
				     "d:1",
				     "quay.io/e",
				     "localhost:5000/f:g",
				     "a",
				     "nginx:1.2",
				     "docker.io/library/x",
				     "localhost:5000/a/b:c",
				     "evil.example/x",
				     "quay.io/x/y:z"};
static const char *const runtimes[] = {"",     "runc", "kata", "",	 "runc",
				       "kata", "evil", "Runc", "a.b_c-d"};
static const char *const paths[] = {"", "/", "/w", "/../x", "/a\"b"};
static const char *const ports[] = {"80/tcp", "53/udp", "1/sctp", "65535/tcp"};

static const char *const plain_keys[] = {"hostconfig", "\"", "Privileged", "privileged"};

static struct create_buffer buffer;
static struct site_policy site;
static struct req_docker_container_create create, decoded;
static struct go_document document;
static uint8_t frame[PROTO_PAYLOAD_MAX];
static char texts[64][512];
static size_t texts_used;
static uint64_t seed;

static uint64_t number(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

#define ONE_OF(list) zstr_from((list)[number(COUNT(list))])

/* Some pieces after each other. */
static struct zstr text(bool key)
{
	char *out = texts[texts_used++ % COUNT(texts)];
	size_t used = 0;
	for (size_t n = number(4) + key; n > 0; n--) {
		const char *piece = pieces[number(COUNT(pieces))];
		memcpy(out + used, piece, strlen(piece));
		used += strlen(piece);
	}
	if (key && used == 0)
		out[used++] = 'k';
	return (struct zstr){out, used};
}

static void texts_into(struct zstr *items, size_t *count, size_t most, size_t step)
{
	*count = number(most + 1) * step;
	for (size_t i = 0; i < *count; i++)
		items[i] = text(step == 2 && i % 2 == 0);
	/* What the encoder would not even send (a control byte, a '=') is replaced, but not always.
	 */
	for (size_t i = 0; step == 2 && i < *count; i += 2)
		if (number(40) > 0 && !(text_valid(TEXT_LABEL_KEY, items[i]) &&
					text_valid(TEXT_ENV_KEY, items[i]) && number(8) > 0))
			items[i] = zstr_from(plain_keys[i / 2]);
}

static void make(void)
{
	static const uint64_t memories[] = {
		0, 1, MEMORY_MAX, 0, 4096, MEMORY_MAX - 1, MEMORY_MAX + 1, INT64_MAX};
	texts_used = 0;
	create.api_minor = (uint8_t)(24 + number(28));
	create.wait_ms = 1000;
	for (size_t i = 0; i < UUID_SIZE; i++)
		create.uuid[i] = (uint8_t)number(256);
	create.image = ONE_OF(images);
	create.runtime = ONE_OF(runtimes);
	create.workdir = ONE_OF(paths);
	create.hostname = zstr_from(number(2) ? "web-1" : "");
	create.health_command = text(false);
	texts_into(create.command, &create.command_count, 6, 1);
	texts_into(create.entrypoint, &create.entrypoint_count, 3, 1);
	texts_into(create.environment, &create.environment_count, 4, 2);
	texts_into(create.labels, &create.labels_count, 4, 2);
	create.exposed_ports_count = number(3);
	for (size_t i = 0; i < create.exposed_ports_count; i++)
		create.exposed_ports[i] = zstr_from(ports[i]);
	create.tty = (uint8_t)number(2);
	create.interactive = (uint8_t)number(2);
	create.auto_remove = (uint8_t)number(2);
	create.privileged = number(16) == 0;
	create.memory_bytes = memories[number(COUNT(memories))];
	create.cpu_shares = (uint32_t)number(SHARES_MAX + SHARES_MAX / 8);
	create.storage_gib = (uint32_t)number(DISK_MAX + DISK_MAX / 8);
	create.restart_policy = (uint8_t)number(5);
	create.restart_retries = (uint32_t)number(INT32_MAX);
	create.healthcheck = (uint8_t)number(2);
	create.health_interval_ns = number(INT64_MAX);
	create.health_timeout_ns = number(INT64_MAX);
	create.health_retries = (uint32_t)number(INT32_MAX);
}

static void assert_only(const struct go_node *object, const char *const *names, size_t count)
{
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		size_t times = go_count(&document, object, names[i]);
		if (times > 1)
			fail_msg("%s stands %zu times", names[i], times);
		known += times;
	}
	if (known != object->children)
		fail_msg("%s has a member that nobody wrote", object->name);
}

static void assert_between(const struct go_node *object, const char *name, uint64_t least,
			   uint64_t greatest)
{
	const struct go_node *node = go_member(&document, object, name);
	uint64_t value;
	assert_non_null(node);
	assert_int_equal(node->kind, GO_NUMBER);
	value = strtoull(node->text, NULL, 10);
	if (value < least || value > greatest)
		fail_msg("%s is %s", name, node->text);
}

static void assert_text(const struct go_node *object, const char *name, const char *expected)
{
	const struct go_node *node = go_member(&document, object, name);
	assert_non_null(node);
	assert_string_equal(node->text, expected);
}

static void check_json(const struct zstr *json)
{
	const struct go_node *root = &document.nodes[0];
	const struct go_node *host, *disk, *runtime, *labels;
	char uuid[UUID_TEXT_SIZE];
	char *end;
	assert_int_equal(go_parse(json->data, json->length, &document), 0);
	assert_int_equal(root->kind, GO_OBJECT);
	assert_only(root, top_members, COUNT(top_members));
	host = go_member(&document, root, "hostconfig");
	assert_non_null(host);
	assert_int_equal(host->kind, GO_OBJECT);
	assert_only(host, host_members, COUNT(host_members));
	assert_int_equal(go_member(&document, host, "binds")->children, 0);
	assert_int_equal(go_member(&document, root, "volumes")->children, 0);
	assert_text(host, "networkmode", "none");
	assert_between(host, "memory", 1, MEMORY_MAX);
	assert_between(host, "pidslimit", PIDS_MAX, PIDS_MAX);
	if (go_member(&document, host, "cpushares") != NULL)
		assert_between(host, "cpushares", 1, SHARES_MAX);
	disk = go_member(&document, host, "storageopt");
	assert_non_null(disk);
	assert_int_equal(disk->children, 1);
	assert_true(strtoull(go_member(&document, disk, "size")->text, &end, 10) <= DISK_MAX);
	assert_string_equal(end, "G");
	runtime = go_member(&document, host, "runtime");
	assert_non_null(runtime);
	assert_true(strcmp(runtime->text, "runc") == 0 || strcmp(runtime->text, "kata") == 0);
	assert_int_equal(go_member(&document, host, "securityopt")->children, 1);
	labels = go_member(&document, root, "labels");
	assert_int_equal(labels->children, 1 + decoded.labels_count / 2);
	assert_int_equal(go_count(&document, labels, "io.keelson.uuid"), 1);
	uuid_format(create.uuid, uuid);
	assert_text(labels, "io.keelson.uuid", uuid);
}

static void test_no_request_gets_more_than_the_policy_gives(void **state)
{
	static const char *const allowed_runtimes[] = {"runc", "kata", NULL};
	static const char *const registries[] = {"docker.io", "localhost:5000", "quay.io", NULL};
	const struct proto_row *row = proto_find(PROTO_DOCKER, PRIV_docker_container_create);
	unsigned written = 0, refused = 0, unsent = 0;
	(void)state;
	set_list(&site.runtimes, allowed_runtimes);
	set_list(&site.registries, registries);
	site.memory_max_bytes = MEMORY_MAX;
	site.cpu_shares_max = SHARES_MAX;
	site.pids_max = PIDS_MAX;
	site.disk_max_gib = DISK_MAX;
	site.no_new_privileges = true;
	for (unsigned i = 1; written + refused < ROUNDS; i++) {
		struct zwriter writer;
		struct zstr json;
		const char *bad;
		seed = i * UINT64_C(0x9e3779b97f4a7c15);
		make();
		zwriter_init(&writer, frame, sizeof(frame));
		proto_encode(row->fields, row->field_count, &create, &writer);
		if (writer.failed) { /* the broker's own encoder refuses it */
			unsent++;
			continue;
		}
		assert_int_equal(proto_decode(row->fields, row->field_count, frame, writer.used,
					      &decoded, &bad),
				 0);
		if (docker_create_judge(&site, &decoded) != NULL) {
			refused++;
			continue;
		}
		assert_true(docker_create_json(&site, &decoded, &buffer, &json));
		check_json(&json);
		written++;
	}
	/* The generator must reach both ends. */
	assert_true(written > ROUNDS / 8);
	assert_true(refused > ROUNDS / 20);
	printf("%u written, %u refused, %u not encodable\n", written, refused, unsent);
}

/* The reader above is worth something only if it sees what Go sees. */
static void test_reader_follows_go(void **state)
{
	static const char text_of_all[] = "{\"Ho\xc5\xbftConfig\":{\"Privileged\":false,"
					  "\"privile\\u0047ed\":true},\"x\":[1,{\"y\":null}]}";
	const struct go_node *host;
	(void)state;
	assert_int_equal(go_parse(text_of_all, sizeof(text_of_all) - 1, &document), 0);
	host = go_member(&document, &document.nodes[0], "hostconfig");
	assert_non_null(host);
	assert_int_equal(go_count(&document, host, "privileged"), 2);
	assert_string_equal(go_member(&document, host, "privileged")->text, "true");
	assert_int_equal(go_parse("{}{}", 4, &document), -1);
	assert_int_equal(go_parse("{\"a\":1", 6, &document), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_follows_go),
		cmocka_unit_test(test_no_request_gets_more_than_the_policy_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A property: whatever happens to a recorded message on its way, it ends in one
 * verdict, and what is then done with it holds together.  Arguments: folder of
 * captures, number of mutated messages, seed (0: from the clock, printed).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "captures.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/rpc/envelope.h"

static const char *folder = "tests/captures";
static uint64_t rounds = 2000, seed = 1;

/* splitmix64 */
static uint64_t next_random(void)
{
	uint64_t value = (seed += UINT64_C(0x9e3779b97f4a7c15));

	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

static size_t below(size_t limit)
{
	return limit == 0 ? 0 : (size_t)(next_random() % limit);
}

static void splice(char **text, size_t *length, size_t at, size_t cut, const char *in,
		   size_t in_length)
{
	char *fresh = malloc(*length - cut + in_length + 1);

	assert_non_null(fresh);
	memcpy(fresh, *text, at);
	memcpy(fresh + at, in, in_length);
	memcpy(fresh + at + in_length, *text + at + cut, *length - at - cut);
	*length = *length - cut + in_length;
	fresh[*length] = '\0';
	free(*text);
	*text = fresh;
}

/* One change of a kind that peers, networks and attackers make. */
static void mutate(char **text, size_t *length)
{
	static const char *const pieces[] = {
		"{",
		"}",
		"[",
		"]",
		",",
		":",
		"\"",
		"\\",
		"\\\"",
		"\\\\\\\"",
		"null",
		"true",
		"NaN",
		"-",
		"0",
		"1e999",
		"99999999999999999999",
		"\xff",
		"\xc3",
		"\\ud800",
		"\\u0000",
		"\\u0022",
		"\n",
		"[[[[",
		"{\"a\":",
		"\"uuid\"",
		"\"zun_object.name\"",
		"\"_msg_id\":\"x\",",
		"\"_msg_id\":null,",
		"2.0",
		"\"args\"",
		"container_",
		"\"\"",
		"%",
		"-99999999999999999999",
	};
	size_t at = below(*length + 1), rest = *length - at, cut = below(rest < 40 ? rest + 1 : 40);
	const char *piece = pieces[below(sizeof(pieces) / sizeof(pieces[0]))];
	char byte = (char)next_random();
	size_t from;

	switch (below(6)) {
	case 0:
		if (rest > 0)
			(*text)[at] = byte;
		break;
	case 1:
		splice(text, length, at, cut, "", 0);
		break;
	case 2:
		splice(text, length, at, 0, piece, strlen(piece));
		break;
	case 3:
		splice(text, length, at, cut, piece, strlen(piece));
		break;
	case 4: /* a part twice */
		from = below(at + 1);
		splice(text, length, at, 0, *text + from, below(at - from + 1));
		break;
	default: /* cut off, now and then */
		if (below(8) == 0)
			splice(text, length, at, rest, "", 0);
		break;
	}
}

static void check_run(const struct job_record *record, const struct rpc_message *message)
{
	struct job_record read_record = {0};
	struct rpc_message read;
	struct zerr err = {0};
	_cleanup_free_ char *line = NULL;

	assert_non_null(rpc_method_row(record->method));
	assert_true(json_object_is_type(message->args, json_type_object));
	/* A reason is for casts only, and without a container there is nothing to do. */
	assert_true(record->uuid[0] != '\0');
	assert_true(!record->call || !record->reason[0]);
	assert_true(!record->call || (record->msg_id[0] && record->reply_queue[0]));
	line = rpc_message_to_intent(message, record);
	assert_non_null(line);
	if (rpc_message_from_intent(line, strlen(line), &read_record, &read, &err) < 0)
		fail_msg("%s: %s", err.msg, line);
	assert_string_equal(read_record.uuid, record->uuid);
	rpc_message_clear(&read);
}

static void check_answer(const struct job_record *record, const struct rpc_failure *failure)
{
	_cleanup_free_ char *inner = rpc_reply(record, NULL, failure, 1 << 20), *body = NULL;
	_cleanup_(json_putp) struct json_object *read = NULL;
	size_t length = 0;

	assert_non_null(failure->class);
	assert_non_null(failure->module);
	assert_non_null(inner);
	body = rpc_wrap(inner, strlen(inner), "u", &length);
	assert_non_null(body);
	read = json_parse(body, length, 1 << 20, NULL);
	assert_non_null(read);
}

static void check_packet(const struct job_record *record)
{
	struct job_result result = {.id = 1, .record = *record}, read;
	uint8_t data[JOB_PACKET_MAX];
	struct zwriter writer;

	zwriter_init(&writer, data, sizeof(data));
	job_put_result(&writer, &result);
	assert_false(writer.failed);
	assert_int_equal(job_get_result(data, writer.used, &read), 0);
}

static enum job_verdict check(const char *body, size_t length)
{
	struct job_record record = {0};
	struct rpc_message message;
	struct rpc_failure failure;

	rpc_classify(body, length, "application/json", &record, &message, &failure);
	switch (record.verdict) {
	case VERDICT_RUN:
		check_run(&record, &message);
		break;
	case VERDICT_ANSWERED:
		check_answer(&record, &failure);
		break;
	case VERDICT_REJECT:
	case VERDICT_DROP:
		assert_null(message.inner);
		assert_true(record.reason[0] != '\0');
		break;
	default:
		fail_msg("verdict %d", (int)record.verdict);
	}
	check_packet(&record);
	rpc_message_clear(&message);
	return record.verdict;
}

static enum job_verdict one_round(const struct capture *captures, size_t count)
{
	const struct capture *capture = &captures[below(count)];
	const struct capture_message *message = &capture->messages[below(capture->count)];
	bool inside = below(2) == 0;
	_cleanup_free_ char *body = NULL;
	char *text;
	size_t length, changes = 1 + below(4);
	enum job_verdict verdict;

	if (inside) { /* mutate the inner text, so that the envelope stays whole */
		struct json_object *inner = capture_inner(message);

		text = strdup(json_object_to_json_string_ext(inner, JSON_C_TO_STRING_PLAIN));
		json_object_put(inner);
	} else {
		text = strdup(message->body);
	}
	assert_non_null(text);
	length = strlen(text);
	while (changes-- > 0)
		mutate(&text, &length);
	if (inside) {
		body = capture_envelope(text, length);
		verdict = check(body, strlen(body));
	} else {
		/* exactly as long as it is, so that the sanitizer sees a byte too many */
		body = malloc(length > 0 ? length : 1);
		assert_non_null(body);
		memcpy(body, text, length);
		verdict = check(body, length);
	}
	free(text);
	return verdict;
}

static void test_every_mutated_message_ends_in_one_verdict(void **state)
{
	size_t count;
	struct capture *captures = captures_load(folder, &count);
	uint64_t verdicts[VERDICT_DROP + 1] = {0}, start = seed;

	(void)state;
	if (seed == 0)
		seed = start = zfd_now_ms();
	print_message("seed %llu\n", (unsigned long long)start);
	for (uint64_t i = 0; i < rounds; i++)
		verdicts[one_round(captures, count)]++;
	print_message("run %llu, reject %llu, answered %llu, drop %llu\n",
		      (unsigned long long)verdicts[VERDICT_RUN],
		      (unsigned long long)verdicts[VERDICT_REJECT],
		      (unsigned long long)verdicts[VERDICT_ANSWERED],
		      (unsigned long long)verdicts[VERDICT_DROP]);
	captures_free(captures, count);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_mutated_message_ends_in_one_verdict),
	};

	if (argc > 1)
		folder = argv[1];
	if (argc > 2)
		assert_int_equal(zfd_parse_u64(argv[2], UINT64_MAX, &rounds), 0);
	if (argc > 3)
		assert_int_equal(zfd_parse_u64(argv[3], UINT64_MAX, &seed), 0);
	return cmocka_run_group_tests_name("mutation", tests, NULL, NULL);
}

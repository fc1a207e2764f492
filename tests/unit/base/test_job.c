/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the packets between dispatcher and workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unpriv/base/job.h"

#define UUID_A "18f0a2d7-038c-4629-8a19-8add9ee95b2e"

static const struct job_record sample = {
	.verdict = VERDICT_RUN,
	.method = RPC_CONTAINER_KILL,
	.call = true,
	.exclusive = true,
	.resumed = true,
	.monitor_s = 70000,
	.tries = 2,
	.unique_id = "1560271e8a544420a8ece32f3726754d",
	.msg_id = "m",
	.reply_queue = "reply_1",
	.uuid = UUID_A,
	.request_id = "req-1",
	.intent = "0000000000000001-1560271e8a544420a8ece32f3726754d",
	.reason = "because",
};

static size_t pack_request(uint8_t *data, const struct job_request *request)
{
	struct zwriter writer;

	zwriter_init(&writer, data, JOB_PACKET_MAX);
	job_put_request(&writer, request);
	assert_false(writer.failed);
	return writer.used;
}

static size_t pack_result(uint8_t *data, const struct job_result *result)
{
	struct zwriter writer;

	zwriter_init(&writer, data, JOB_PACKET_MAX);
	job_put_result(&writer, result);
	assert_false(writer.failed);
	return writer.used;
}

static void test_a_request_comes_back_as_it_was(void **state)
{
	struct job_request request = {
		.id = 7, .kind = JOB_RUN, .content_type = "application/json", .record = sample};
	struct job_request read;
	uint8_t data[JOB_PACKET_MAX], again[JOB_PACKET_MAX];
	size_t length = pack_request(data, &request);

	(void)state;
	assert_int_equal(job_get_request(data, length, &read), 0);
	assert_int_equal(pack_request(again, &read), length);
	assert_memory_equal(data, again, length);
	assert_int_equal(read.kind, JOB_RUN);
	assert_string_equal(read.content_type, "application/json");
	assert_string_equal(read.record.uuid, UUID_A);
	assert_string_equal(read.record.reason, "because");
	assert_true(read.record.call && read.record.exclusive && read.record.resumed);
	assert_int_equal(read.record.monitor_s, 70000);
}

static void test_the_largest_result_fits_a_packet(void **state)
{
	struct job_result result = {
		.id = 1, .status = -5, .record = sample, .outcome_stored = true};
	struct job_result read;
	uint8_t data[JOB_PACKET_MAX];
	size_t length;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		(void)snprintf(result.uuids + 36 * i, 37, "%s", UUID_A);
	memset(result.record.unique_id, 'a', JOB_ID_MAX);
	memset(result.record.msg_id, 'b', JOB_ID_MAX);
	memset(result.record.reply_queue, 'c', JOB_ID_MAX);
	memset(result.record.request_id, 'd', sizeof(result.record.request_id) - 1);
	memset(result.record.reason, 'e', sizeof(result.record.reason) - 1);
	result.more = true;
	length = pack_result(data, &result);
	assert_int_equal(job_get_result(data, length, &read), 0);
	assert_string_equal(read.uuids, result.uuids);
	assert_int_equal(read.status, -5);
	assert_true(read.more && read.outcome_stored);
}

static void test_no_prefix_and_no_surplus_is_taken(void **state)
{
	struct job_request request = {.id = 7, .kind = JOB_CLASSIFY, .record = sample},
			   read_request;
	struct job_result result = {.id = 7, .record = sample, .uuids = UUID_A}, read_result;
	uint8_t data[JOB_PACKET_MAX + 1];
	size_t length = pack_request(data, &request);

	(void)state;
	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(job_get_request(data, cut, &read_request), -EBADMSG);
	data[length] = 0;
	assert_int_equal(job_get_request(data, length + 1, &read_request), -EBADMSG);
	length = pack_result(data, &result);
	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(job_get_result(data, cut, &read_result), -EBADMSG);
}

static void assert_refused(const struct job_record *record)
{
	struct job_result result = {.record = *record}, read = {.id = 99};
	uint8_t data[JOB_PACKET_MAX];
	size_t length = pack_result(data, &result);

	assert_int_equal(job_get_result(data, length, &read), -EBADMSG);
	assert_int_equal(read.id, 99); /* untouched */
}

static void test_what_a_taken_over_worker_might_send_is_refused(void **state)
{
	struct job_record record;

	(void)state;
#define WITH(...)                                                                                  \
	do {                                                                                       \
		record = sample;                                                                   \
		__VA_ARGS__;                                                                       \
		assert_refused(&record);                                                           \
	} while (0)
	WITH(record.verdict = (enum job_verdict)5);
	WITH(record.method = RPC_METHOD_COUNT);
	WITH((void)snprintf(record.uuid, sizeof(record.uuid), "not a uuid"));
	WITH(record.intent[0] = '/');
	WITH(record.intent[0] = '.');
	WITH(record.intent[3] = '/');
	WITH(record.reason[2] = '\n');
	WITH(record.reason[2] = (char)0xff);
	WITH(record.reply_queue[0] = '\033');
	WITH(record.unique_id[0] = '\177');
#undef WITH
}

static void test_results_with_a_wrong_tail_are_refused(void **state)
{
	struct job_result result = {.record = sample, .uuids = "18f0a2d7"}, read;
	uint8_t data[JOB_PACKET_MAX];

	(void)state;
	assert_int_equal(job_get_result(data, pack_result(data, &result), &read), -EBADMSG);
	(void)snprintf(result.uuids, sizeof(result.uuids), "%s",
		       "18f0a2d7-038c-4629-8a19-8add9ee95b2g");
	assert_int_equal(job_get_result(data, pack_result(data, &result), &read), -EBADMSG);
	(void)snprintf(result.uuids, sizeof(result.uuids), "%s%s", UUID_A, UUID_A);
	assert_int_equal(job_get_result(data, pack_result(data, &result), &read), 0);
	result.status = 1;
	assert_int_equal(job_get_result(data, pack_result(data, &result), &read), -EBADMSG);
}

static void test_flags_are_nought_or_one(void **state)
{
	struct job_request request = {.id = 7, .kind = JOB_RUN, .record = sample}, read;
	uint8_t data[JOB_PACKET_MAX];
	size_t length = pack_request(data, &request);

	(void)state;
	/* id, kind, empty content type, verdict, method: then call */
	assert_int_equal(data[9], 1);
	data[9] = 2;
	assert_int_equal(job_get_request(data, length, &read), -EBADMSG);
	data[9] = 1;
	data[4] = 0; /* kind */
	assert_int_equal(job_get_request(data, length, &read), -EBADMSG);
	data[4] = JOB_INVENTORY + 1;
	assert_int_equal(job_get_request(data, length, &read), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_comes_back_as_it_was),
		cmocka_unit_test(test_the_largest_result_fits_a_packet),
		cmocka_unit_test(test_no_prefix_and_no_surplus_is_taken),
		cmocka_unit_test(test_what_a_taken_over_worker_might_send_is_refused),
		cmocka_unit_test(test_results_with_a_wrong_tail_are_refused),
		cmocka_unit_test(test_flags_are_nought_or_one),
	};

	return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}

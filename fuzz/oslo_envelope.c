/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message from the bus: classified; what is to run goes through its intent
 * file and back, what is answered goes out as a reply that can be read.
 */
#include "unpriv/rpc/envelope.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "unpriv/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void run(const struct rpc_message *message, const struct job_record *record)
{
	char *line = rpc_message_to_intent(message, record);
	struct job_record read_record = {0};
	struct rpc_message read;

	check(line && !strchr(line, '\n'));
	check(rpc_message_from_intent(line, strlen(line), &read_record, &read, NULL) == 0);
	check(strcmp(read_record.uuid, record->uuid) == 0 && read_record.method == record->method);
	check(!record->reason[0] || (!record->call && record->uuid[0]));
	rpc_message_clear(&read);
	free(line);
}

static void answer(const struct rpc_failure *failure, const struct job_record *record)
{
	char *inner = rpc_reply(record, NULL, failure, 1 << 20), *body;
	size_t length = 0;
	struct json_object *read;

	check(inner && failure->class && failure->module);
	body = rpc_wrap(inner, strlen(inner), "u", &length);
	check(body);
	read = json_parse(body, length, 1 << 20, NULL);
	check(read);
	(void)json_object_put(read); /* the only reference */
	free(inner);
	free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_record record = {0};
	struct rpc_message message;
	struct rpc_failure failure;

	rpc_classify((const char *)data, size, "application/json", &record, &message, &failure);
	check(record.verdict >= VERDICT_RUN && record.verdict <= VERDICT_DROP);
	if (record.verdict == VERDICT_RUN)
		run(&message, &record);
	else
		check(!message.inner && record.reason[0]);
	if (record.verdict == VERDICT_ANSWERED)
		answer(&failure, &record);
	rpc_message_clear(&message);
	return 0;
}

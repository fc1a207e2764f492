/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets between dispatcher and workers.  A worker parses what comes from
 * outside, so the dispatcher takes nothing from a result unchecked; the other
 * way round costs nothing.  No privilege, no allocation.
 */
#include "unpriv/base/job.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

static void put_record(struct zwriter *writer, const struct job_record *record)
{
	zput_u8(writer, (uint8_t)record->verdict);
	zput_u8(writer, (uint8_t)record->method);
	zput_u8(writer, record->call);
	zput_u8(writer, record->exclusive);
	zput_u8(writer, record->resumed);
	zput_u32(writer, record->monitor_s);
	zput_u8(writer, record->tries);
	zput_cstr(writer, record->unique_id);
	zput_cstr(writer, record->msg_id);
	zput_cstr(writer, record->reply_queue);
	zput_cstr(writer, record->uuid);
	zput_cstr(writer, record->request_id);
	zput_cstr(writer, record->intent);
	zput_cstr(writer, record->reason);
}

static bool get_bool(struct zreader *reader)
{
	uint8_t value = zget_u8(reader);

	if (value > 1)
		reader->failed = true;
	return value == 1;
}

/* Copies a string of printable ASCII; anything else fails the reader. */
static void get_text(struct zreader *reader, char *out, size_t size)
{
	zget_cstr(reader, out, size);
	if (!text_valid(TEXT_PRINTABLE, zstr_from(out)))
		reader->failed = true;
}

static bool uuid_or_empty(const char *text)
{
	uint8_t uuid[UUID_SIZE];

	return text[0] == '\0' || uuid_parse(zstr_from(text), uuid) == 0;
}

static void get_record(struct zreader *reader, struct job_record *record)
{
	uint8_t verdict = zget_u8(reader), method = zget_u8(reader);

	/* A request carries a record before it has a verdict: 0. */
	if (verdict > VERDICT_DROP || method >= RPC_METHOD_COUNT)
		reader->failed = true;
	record->verdict = (enum job_verdict)verdict;
	record->method = (enum rpc_method)method;
	record->call = get_bool(reader);
	record->exclusive = get_bool(reader);
	record->resumed = get_bool(reader);
	record->monitor_s = zget_u32(reader);
	record->tries = zget_u8(reader);
	get_text(reader, record->unique_id, sizeof(record->unique_id));
	get_text(reader, record->msg_id, sizeof(record->msg_id));
	get_text(reader, record->reply_queue, sizeof(record->reply_queue));
	get_text(reader, record->uuid, sizeof(record->uuid));
	get_text(reader, record->request_id, sizeof(record->request_id));
	get_text(reader, record->intent, sizeof(record->intent));
	get_text(reader, record->reason, sizeof(record->reason));
	/* The one that becomes a file's name: never a path. */
	if (!uuid_or_empty(record->uuid) || strchr(record->intent, '/') || record->intent[0] == '.')
		reader->failed = true;
}

void job_put_request(struct zwriter *writer, const struct job_request *request)
{
	zput_u32(writer, request->id);
	zput_u8(writer, (uint8_t)request->kind);
	zput_cstr(writer, request->content_type);
	put_record(writer, &request->record);
}

int job_get_request(const void *data, size_t length, struct job_request *request)
{
	struct job_request read = {0};
	struct zreader reader;
	uint8_t kind;

	zreader_init(&reader, data, length);
	read.id = zget_u32(&reader);
	kind = zget_u8(&reader);
	if (kind < JOB_CLASSIFY || kind > JOB_INVENTORY)
		return -EBADMSG;
	read.kind = (enum job_kind)kind;
	zget_cstr(&reader, read.content_type, sizeof(read.content_type));
	get_record(&reader, &read.record);
	if (!zreader_end(&reader))
		return -EBADMSG;
	*request = read;
	return 0;
}

void job_put_result(struct zwriter *writer, const struct job_result *result)
{
	zput_u32(writer, result->id);
	zput_u32(writer, (uint32_t)result->status);
	put_record(writer, &result->record);
	zput_u8(writer, result->outcome_stored);
	zput_u8(writer, result->more);
	zput_cstr(writer, result->uuids);
}

/* Whole uuids, one behind the other. */
static bool uuids_valid(const char *uuids)
{
	size_t length = strlen(uuids);
	uint8_t uuid[UUID_SIZE];

	if (length % (UUID_TEXT_SIZE - 1) != 0)
		return false;
	for (size_t at = 0; at < length; at += UUID_TEXT_SIZE - 1)
		if (uuid_parse((struct zstr){uuids + at, UUID_TEXT_SIZE - 1}, uuid) < 0)
			return false;
	return true;
}

int job_get_result(const void *data, size_t length, struct job_result *result)
{
	struct job_result read = {0};
	struct zreader reader;

	zreader_init(&reader, data, length);
	read.id = zget_u32(&reader);
	read.status = (int32_t)zget_u32(&reader);
	get_record(&reader, &read.record);
	read.outcome_stored = get_bool(&reader);
	read.more = get_bool(&reader);
	zget_cstr(&reader, read.uuids, sizeof(read.uuids));
	if (!zreader_end(&reader) || read.status > 0 || !uuids_valid(read.uuids))
		return -EBADMSG;
	*result = read;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a request's audit record from the request table, the same way for every
 * row, so that no handler can forget a field or record a secret.  Runs in the
 * helpers; needs no privilege beyond the open audit file.
 */
#include "privsep/helper_record.h"

#include "common/zlog.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t now_us(void)
{
	struct timespec now = {0};
	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: the clock always exists */
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static struct zstr string_of(const struct proto_field *field, const void *request)
{
	struct zstr value = {NULL, 0};
	if (field != NULL)
		memcpy(&value, (const char *)request + field->offset, sizeof(value));
	return value;
}

/*
 * Free text (commands, environment, labels) may hold secrets: only its size is
 * recorded.  What is zero or empty is left out.
 */
static void put_argument(struct jsonw *json, const struct proto_field *field, const void *request)
{
	struct zstr string = {NULL, 0};
	size_t count = 0; /* of a list, or bytes of a string */
	if (field->type == PROTO_F_STR || field->type == PROTO_F_BYTES)
		string = string_of(field, request);
	if (field->type == PROTO_F_LIST || field->type == PROTO_F_PAIRS)
		memcpy(&count, (const char *)request + field->count_offset, sizeof(count));
	else
		count = string.length;
	bool text = field->type == PROTO_F_STR && field->class != TEXT_UTF8;
	uint64_t number = count + proto_integer(field, request); /* one of them is 0 */
	if (number == 0)
		return;
	jsonw_key(json, field->name);
	if (text)
		jsonw_str(json, string);
	else
		jsonw_u64(json, number);
}

void helper_record_begin(struct helper_record *record)
{
	/* These have places of their own in the record; a uuid is the object. */
	static const char *const actor[] = {"request_id", "project_id", "user_id"};
	const struct proto_row *row = record->row;
	struct audit_entry *entry = &record->entry;
	struct zstr *const to[] = {&entry->request_id, &entry->project_id, &entry->user_id};
	size_t next = 0;
	struct jsonw json;
	*entry = (struct audit_entry){.operation = record->operation, .object_type = ""};
	record->started_us = now_us();
	(void)snprintf(record->operation, sizeof(record->operation), "%s.%s",
		       record->helper->domain->name, row->name);
	jsonw_init(&json, entry->args, sizeof(entry->args) - 1);
	jsonw_object(&json);
	for (size_t i = 0; i < row->field_count; i++) {
		const struct proto_field *field = &row->fields[i];
		if (next < 3 && strcmp(field->name, actor[next]) == 0)
			*to[next++] = string_of(field, record->request);
		else
			put_argument(&json, field, record->request);
	}
	jsonw_end_object(&json);
	entry->args[jsonw_done(&json) ? json.used : 0] = '\0';
	if (record->helper->domain->subject != NULL)
		record->helper->domain->subject(row, record->request, entry);
}

int helper_record_write(struct helper_record *record, const char *decision, const char *rule,
			int error)
{
	struct audit_entry *entry = &record->entry;
	entry->decision = decision;
	entry->rule = rule;
	entry->error = error;
	/* The first record stands before the effect: it has no duration yet. */
	entry->duration_us = strcmp(decision, "allow") == 0 ? 0 : now_us() - record->started_us;
	int r = audit_write(record->helper->audit, entry);
	if (r < 0)
		zlog_error("%s: audit record not written: %s", entry->operation, strerror(-r));
	return r;
}

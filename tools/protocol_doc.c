/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints docs/protocol.md from the request table.  Runs at build time only; a
 * test compares its output with the committed file.
 */
#include "privsep/helper.h"
#include "privsep/proto.h"

#include <inttypes.h>
#include <stdio.h>

static const char introduction[] =
	"# The protocol between a broker and a helper\n"
	"\n"
	"Made by `tools/protocol_doc.c` from `privsep/requests.def`; do not edit: build the target\n"
	"`protocol.md` and copy it here. `docs/architecture.md` says which processes speak it.\n"
	"\n"
	"A channel is a `SOCK_SEQPACKET` socketpair; a frame is one packet: a header of 20 bytes and a\n"
	"payload. Integers are little-endian. One request is answered by one frame; then comes the next.\n"
	"The first request on a channel is `hello`. Every sender of a channel is one process of the\n"
	"broker's user (`SCM_CREDENTIALS` of each packet).\n"
	"\n"
	"| header field | type | |\n"
	"|---|---|---|\n"
	"| magic | u32 | `KLSN` |\n"
	"| version | u16 | %d |\n"
	"| domain | u8 | 1 = docker |\n"
	"| descriptors | u8 | how many come with the packet |\n"
	"| type | u16 | the request's number; of its answer: that number + 1 |\n"
	"| status | u16 | 0 in requests; in answers: see below |\n"
	"| sequence | u32 | 1, 2, 3 … of the channel; an answer repeats its request's |\n"
	"| length | u32 | bytes of the payload, at most %d |\n"
	"\n"
	"The payload is the row's fields in their order. `string`: u16 length and bytes without NUL, of a\n"
	"class (`common/text.h`). `bytes`: u32 length and any bytes. `list`: u16 count and so many strings.\n"
	"`pairs`: u16 count of pairs and twice so many strings, key and value. `uuid`: 16 bytes.\n"
	"A request whose payload passes %d bytes travels with length 0 in one sealed memfd of at most\n"
	"%d bytes, where the row says *large*; no other request carries a descriptor.\n"
	"\n"
	"## Answers that are not 0\n"
	"\n"
	"Their payload is one string (printable, at most %d bytes): the rule or the reason.\n"
	"\n"
	"| status | |\n"
	"|---|---|\n";

static const char *const statuses[PROTO_STATUS_COUNT] = {
	[PROTO_OK] = "done: the payload is the row's answer",
	[PROTO_DENIED] = "the site policy says no",
	[PROTO_NOT_OURS] = "the object is not one that Keelson made",
	[PROTO_NO_ENGINE] = "the engine's socket cannot be reached",
	[PROTO_ENGINE_TIMEOUT] = "the engine stayed silent for `wait_ms`",
	[PROTO_ENGINE_BROKEN] = "the engine's answer has no head that makes sense, or ended in it",
	[PROTO_NO_AUDIT] = "the audit record could not be written: nothing was done",
	[PROTO_LIMIT] = "a resource of the helper is exhausted",
};

static const struct {
	enum helper_exit status;
	const char *meaning;
} exits[] = {
	{HELPER_EXIT_OK, "the channel's end, or SIGTERM"},
	{HELPER_EXIT_SANDBOX, "could not confine itself"},
	{HELPER_EXIT_FRAME, "packet too short or too long; magic, version, domain, status, length or sequence wrong"},
	{HELPER_EXIT_TYPE, "unknown request, or an answer"},
	{HELPER_EXIT_STATE, "not legal in this phase, or *once* used twice"},
	{HELPER_EXIT_FDS, "wrong number or kind of descriptors"},
	{HELPER_EXIT_FIELD, "a field out of its bound or class, bytes left over, another build"},
	{HELPER_EXIT_PEER, "another process or user on the channel"},
	{HELPER_EXIT_IO, "the channel failed, answers stay unread, or an answer cannot be encoded"},
	{HELPER_EXIT_SERVER, "a server of the domain was killed"},
};

static void print_type(const struct proto_field *field)
{
	switch (field->type) {
	case PROTO_F_U8:
	case PROTO_F_U16:
	case PROTO_F_U32:
	case PROTO_F_U64:
		printf("u%d | %" PRIu64 " to %" PRIu64, 8 * (int)field->type, field->least, field->greatest);
		break;
	case PROTO_F_UUID:
		printf("uuid | ");
		break;
	case PROTO_F_STR:
		printf("string | %s, at most %zu bytes", text_class_name(field->class), field->max);
		break;
	case PROTO_F_BYTES:
		printf("bytes | at most %zu", field->max);
		break;
	case PROTO_F_LIST:
		printf("list | at most %zu of %s, each at most %zu bytes", field->items,
		       text_class_name(field->class), field->max);
		break;
	case PROTO_F_PAIRS:
		printf("pairs | at most %zu of %s and %s, each at most %zu bytes", field->items / 2,
		       text_class_name(field->class), text_class_name(field->value_class), field->max);
		break;
	}
}

static void print_fields(const char *title, const struct proto_field *fields, size_t count)
{
	if (count == 0) {
		printf("%s: no fields.\n\n", title);
		return;
	}
	printf("| %s | type | bounds |\n|---|---|---|\n", title);
	for (size_t i = 0; i < count; i++) {
		printf("| %s | ", fields[i].name);
		print_type(&fields[i]);
		printf(" |\n");
	}
	printf("\n");
}

static const char *phase_of(const struct proto_row *row)
{
	if (row->phases == PROTO_NEW)
		return "before `hello`";
	return row->phases == PROTO_FIRST ? "after `hello`, on the domain's first channel only" : "after `hello`";
}

static void print_row(const struct proto_row *row)
{
	printf("### %u `docker.%s`\n\n", row->number, row->name);
	printf("Legal %s%s; %s%s; the answer carries %s.\n\n", phase_of(row), row->once ? ", once" : "",
	       row->audit ? "one audit record before the effect" : "no audit record unless refused",
	       row->large ? "; large" : "", row->fds_out > 0 ? "at most one descriptor" : "no descriptor");
	print_fields("request", row->fields, row->field_count);
	print_fields("answer", row->answer_fields, row->answer_field_count);
}

int main(void)
{
	printf(introduction, PROTO_VERSION, PROTO_PAYLOAD_MAX, PROTO_PAYLOAD_MAX, PROTO_LARGE_MAX,
	       PROTO_RULE_MAX);
	for (size_t i = 0; i < PROTO_STATUS_COUNT; i++)
		printf("| %zu | %s |\n", i, statuses[i]);
	printf("\n## How a helper ends\n\nWhat makes no sense is not answered: the helper exits, and the "
	       "service with it.\n\n| exit status | |\n|---|---|\n");
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
		printf("| %d | %s |\n", (int)exits[i].status, exits[i].meaning);
	printf("\n## Requests\n\n");
	for (size_t i = 0; i < proto_row_count; i++)
		print_row(proto_row_at(i));
	return ferror(stdout) != 0;
}

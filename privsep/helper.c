/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of every helper: takes one request at a time from a channel, checks
 * it against the table, has it judged and recorded, lets the domain do it, and
 * answers.  Runs in the launcher's children, inside the domain's sandbox.
 *
 * Caller may be hostile: it may send any bytes and descriptors.  What a handler
 * sees is a decoded message whose every field keeps its bound and class, in a
 * phase where the table allows it, from one process of the broker's user.  The
 * first surprise ends the process.  All memory for a request is fixed.
 */
#include "privsep/helper_internal.h"

#include "common/zfd.h"
#include "common/zlog.h"
#include "privsep/helper_record.h"
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long an answer may stay unread before the peer counts as dead. */
#define ANSWER_WAIT_MS 10000U
#define RULE_SIZE      16 /* "http 404" */

union any_request {
#define REQUEST(domain, name, ...) struct req_##domain##_##name domain##_##name;
#include "requests.def"
};
union any_answer {
#define ANSWER(domain, name) struct ans_##domain##_##name domain##_##name;
#include "requests.def"
};

/* The memory of one request; a page of it costs nothing until a request needs it. */
static struct {
	uint8_t frame[PROTO_FRAME_MAX];
	uint8_t large[PROTO_LARGE_MAX];
	uint8_t answer_frame[PROTO_FRAME_MAX];
	union any_request request; /* its strings are in frame or large */
	union any_answer answer;
	struct helper_record record;
} memory;

void helper_surprise(const struct helper *helper, enum helper_exit status, const char *what)
{
	zlog_error("helper %s stops, status %d, request %u of its channel: %s",
		   helper->domain->name, (int)status, helper->sequence, what);
	_exit((int)status);
}

/* False when SIGTERM came. */
static bool take_signal(struct helper *helper)
{
	struct signalfd_siginfo signal;
	if (ZFD_RETRY(read(helper->signals, &signal, sizeof(signal))) != sizeof(signal))
		helper_surprise(helper, HELPER_EXIT_IO, "signals");
	if (signal.ssi_signo == SIGCHLD)
		helper_reap(helper);
	return signal.ssi_signo != SIGTERM;
}

/* True when a packet or the end of the channel is there, false when SIGTERM came. */
static bool wait_packet(struct helper *helper)
{
	struct pollfd entries[] = {{.fd = helper->channel, .events = POLLIN},
				   {.fd = helper->signals, .events = POLLIN}};
	do {
		if (ZFD_RETRY(ppoll(entries, 2, NULL, NULL)) < 0)
			helper_surprise(helper, HELPER_EXIT_IO, strerror(errno));
		if (entries[1].revents != 0 && !take_signal(helper))
			return false;
	} while (entries[0].revents == 0);
	return true;
}

/* False at the end of the channel. */
static bool receive(struct helper *helper, struct zfd_packet *packet)
{
	int r = wait_packet(helper) ? zfd_receive(helper->channel, packet, MSG_DONTWAIT) : 0;
	if (r == 0 || r == -ECONNRESET) /* reset: the peer left our answers unread */
		return false;
	if (r == -ETOOMANYREFS)
		helper_surprise(helper, HELPER_EXIT_FDS, "surplus descriptors");
	if (r == -EMSGSIZE)
		helper_surprise(helper, HELPER_EXIT_FRAME, "packet too long");
	if (r < 0)
		helper_surprise(helper, HELPER_EXIT_IO, strerror(-r));
	if (helper->peer_pid == 0)
		helper->peer_pid = packet->peer_pid;
	if (packet->peer_uid != helper->site->broker_uid || packet->peer_pid <= 0 ||
	    packet->peer_pid != helper->peer_pid)
		helper_surprise(helper, HELPER_EXIT_PEER, "another sender");
	return true;
}

static void check_header(struct helper *helper, const struct zfd_packet *packet,
			 struct proto_header *header)
{
	struct zreader reader;
	zreader_init(&reader, packet->data, packet->length);
	proto_get_header(&reader, header);
	if (reader.failed || header->magic != PROTO_MAGIC || header->version != PROTO_VERSION ||
	    header->domain != helper->domain->domain || header->status != 0 ||
	    header->length != reader.left)
		helper_surprise(helper, HELPER_EXIT_FRAME, "header");
	helper->sequence++;
	if (header->sequence != helper->sequence)
		helper_surprise(helper, HELPER_EXIT_FRAME, "sequence");
}

/* The row, known to be legal now and marked as used. */
static const struct proto_row *check_row(struct helper *helper, uint16_t type)
{
	const struct proto_row *row = proto_find(helper->domain->domain, type);
	if (row == NULL)
		helper_surprise(helper, HELPER_EXIT_TYPE, "unknown request");
	uint64_t *used = &helper->used[row->index / 64];
	uint64_t bit = UINT64_C(1) << row->index % 64;
	if ((row->phases & helper->phase) == 0 || (row->once && (*used & bit) != 0))
		helper_surprise(helper, HELPER_EXIT_STATE, row->name);
	*used |= bit;
	return row;
}

/* Copies the payload that came in a memfd; its length. */
static size_t take_large(struct helper *helper, int fd)
{
	ssize_t size = zfd_check_sealed(fd, PROTO_LARGE_MAX);
	if (size <= PROTO_PAYLOAD_MAX)
		helper_surprise(helper, HELPER_EXIT_FDS, "not a sealed memfd of a lawful size");
	if (ZFD_RETRY(pread(fd, memory.large, (size_t)size, 0)) != size)
		helper_surprise(helper, HELPER_EXIT_FDS, "memfd unreadable");
	return (size_t)size;
}

/* Descriptors and fields: fills memory.request. */
static void decode(struct helper *helper, const struct proto_row *row, struct zfd_packet *packet,
		   const struct proto_header *header)
{
	const uint8_t *payload = packet->data + PROTO_HEADER_SIZE;
	size_t length = header->length;
	const char *bad;
	bool large = row->large && length == 0 && packet->fd_count == 1;
	if (header->descriptors != packet->fd_count || (packet->fd_count > 0 && !large))
		helper_surprise(helper, HELPER_EXIT_FDS, row->name);
	if (large) {
		payload = memory.large;
		length = take_large(helper, packet->fds[0]);
		zfd_packet_close(packet);
	}
	if (length > row->request_max ||
	    proto_decode(row->fields, row->field_count, payload, length, &memory.request, &bad) < 0)
		helper_surprise(helper, HELPER_EXIT_FIELD, row->name);
}

/* Broker and helper of different builds refuse each other. */
static void hello(struct helper *helper)
{
	const struct req_docker_hello *request = &memory.request.docker_hello;
	struct ans_docker_hello *answer = &memory.answer.docker_hello;
	if (request->version != PROTO_VERSION ||
	    request->build_id.length != sizeof(proto_build_id) ||
	    memcmp(request->build_id.data, proto_build_id, sizeof(proto_build_id)) != 0)
		helper_surprise(helper, HELPER_EXIT_FIELD, "hello of another build");
	answer->version = PROTO_VERSION;
	answer->build_id = (struct zstr){(const char *)proto_build_id, sizeof(proto_build_id)};
	helper->phase = PROTO_READY | (helper->first ? PROTO_FIRST : 0U);
}

/* Why the effect did not come about, or NULL: the helper's own reason or the engine's status. */
static const char *failure(const struct proto_row *row, const struct helper_result *result,
			   char rule[RULE_SIZE])
{
	if (result->status != PROTO_OK)
		return result->rule;
	uint64_t http = proto_integer(
		proto_field_find(row->answer_fields, row->answer_field_count, "http_status"),
		&memory.answer);
	if (http < 400)
		return NULL;
	(void)snprintf(rule, RULE_SIZE, "http %u", (unsigned)http);
	return rule;
}

/* One record before the effect, a second only if it fails; refusals are recorded for every row. */
static void judged(struct helper *helper, const struct proto_row *row, struct helper_result *result)
{
	const struct helper_domain *domain = helper->domain;
	struct helper_record *record = &memory.record;
	char text[RULE_SIZE];
	const char *rule = domain->judge ? domain->judge(helper, row, &memory.request) : NULL;
	record->helper = helper;
	record->row = row;
	record->request = &memory.request;
	if (rule != NULL) {
		helper_record_begin(record);
		(void)helper_record_write(record, "deny", rule, 0); /* refused in any case */
		*result = (struct helper_result){.status = PROTO_DENIED, .rule = rule, .fd = -1};
		return;
	}
	if (row->audit) {
		helper_record_begin(record);
		if (helper_record_write(record, "allow", "", 0) < 0) {
			result->status = PROTO_NO_AUDIT;
			result->rule = "audit";
			return;
		}
	}
	domain->handlers[row->index - proto_find(domain->domain, PROTO_HELLO)->index](
		helper, &memory.request, &memory.answer, result);
	bool refused = result->status == PROTO_DENIED || result->status == PROTO_NOT_OURS;
	rule = failure(row, result, text);
	if (rule == NULL || !(row->audit || refused))
		return;
	if (!row->audit)
		helper_record_begin(record);
	(void)helper_record_write(record, refused ? "deny" : "error", rule, 0); /* logged there */
}

static size_t encode_answer(const struct helper *helper, const struct proto_row *row,
			    const struct helper_result *result)
{
	uint8_t *payload = memory.answer_frame + PROTO_HEADER_SIZE;
	struct zwriter writer, head;
	zwriter_init(&writer, payload, PROTO_PAYLOAD_MAX);
	if (result->status == PROTO_OK) {
		proto_encode(row->answer_fields, row->answer_field_count, &memory.answer, &writer);
	} else {
		struct zstr rule = zstr_from(result->rule);
		if (rule.length > PROTO_RULE_MAX)
			rule.length = PROTO_RULE_MAX;
		zput_str(&writer, rule);
	}
	size_t fds = result->fd >= 0;
	if (writer.failed || fds > (result->status == PROTO_OK ? row->fds_out : 0))
		helper_surprise(helper, HELPER_EXIT_IO, "the answer breaks the table");
	struct proto_header header = {.magic = PROTO_MAGIC,
				      .version = PROTO_VERSION,
				      .domain = (uint8_t)row->domain,
				      .descriptors = (uint8_t)fds,
				      .type = (uint16_t)(row->number + 1),
				      .status = (uint16_t)result->status,
				      .sequence = helper->sequence,
				      .length = (uint32_t)writer.used};
	zwriter_init(&head, memory.answer_frame, PROTO_HEADER_SIZE);
	proto_put_header(&head, &header);
	return PROTO_HEADER_SIZE + writer.used;
}

/* False when the peer is gone.  A peer that is there but does not read ends the process. */
static bool send_answer(struct helper *helper, const struct proto_row *row,
			struct helper_result *result)
{
	_cleanup_fd_ int fd = result->fd;
	size_t length = encode_answer(helper, row, result);
	uint64_t deadline = zfd_now_ms() + ANSWER_WAIT_MS;
	int r;
	do {
		r = zfd_send(helper->channel, memory.answer_frame, length, &fd, fd >= 0,
			     MSG_DONTWAIT);
		if (r == -EAGAIN && zfd_wait(helper->channel, POLLOUT, deadline) < 0)
			helper_surprise(helper, HELPER_EXIT_IO, "answers are not read");
	} while (r == -EAGAIN);
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		helper_surprise(helper, HELPER_EXIT_IO, strerror(-r));
	return r == 0;
}

static bool serve_one(struct helper *helper, struct zfd_packet *packet)
{
	struct helper_result result = {.status = PROTO_OK, .rule = "", .fd = -1};
	struct proto_header header;
	check_header(helper, packet, &header);
	const struct proto_row *row = check_row(helper, header.type);
	decode(helper, row, packet, &header);
	helper->wait_ms = (uint32_t)proto_integer(
		proto_field_find(row->fields, row->field_count, "wait_ms"), &memory.request);
	memset(&memory.answer, 0, row->answer_size);
	if (row->number == PROTO_HELLO)
		hello(helper);
	else if (row->number == PROTO_OPEN_CHANNEL)
		helper_open_channel(helper, &result);
	else
		judged(helper, row, &result);
	if (!send_answer(helper, row, &result))
		return false;
	if (result.after != NULL)
		result.after(helper);
	return true;
}

int helper_serve(struct helper *helper)
{
	struct zfd_packet packet = {.data = memory.frame, .size = sizeof(memory.frame)};
	helper->phase = PROTO_NEW;
	helper->sequence = 0;
	helper->peer_pid = 0;
	helper->pipe_write = -1;
	helper->engine = -1;
	memset(helper->used, 0, sizeof(helper->used));
	while (receive(helper, &packet) && serve_one(helper, &packet))
		;
	helper_wait_servers(helper);
	return 0;
}

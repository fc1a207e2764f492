/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of an engine's HTTP/1.1 answer head.  Runs in the servers of the
 * docker domain, which hold the engine's socket and no other privilege.
 *
 * It takes what an engine writes and nothing that two readers could understand
 * differently (SECURITY-BAR F5): one length or one coding, CR LF, no folded lines.
 */
#include "privsep/docker_head.h"
#include "common/text.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

#define VERSION	       "HTTP/1.1 "
#define VERSION_LENGTH (sizeof(VERSION) - 1)
/* Content-Length: no answer has 10^18 bytes, and no sum of a few such numbers wraps. */
#define LENGTH_DIGITS_MAX 18

static bool is_text(char c)
{
	return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

/* Takes one line, without its CR LF, off the beginning of *in.  1, 0 when its end is not there yet,
 * -EBADMSG. */
static int next_line(struct zstr *in, struct zstr *line)
{
	size_t end = 0;

	while (end < in->length && is_text(in->data[end]))
		end++;
	if ((end < in->length && in->data[end] != '\r') ||
	    (end + 1 < in->length && in->data[end + 1] != '\n'))
		return -EBADMSG;
	if (end + 1 >= in->length)
		return 0;
	*line = (struct zstr){in->data, end};
	*in = (struct zstr){in->data + end + 2, in->length - end - 2};
	return 1;
}

/* All of text as a decimal number.  1 or -EBADMSG. */
static int parse_number(struct zstr text, uint64_t *number)
{
	if (text.length == 0 || text.length > LENGTH_DIGITS_MAX ||
	    text_span(text, 0, TEXT_DIGITS) != text.length)
		return -EBADMSG;
	for (size_t i = 0; i < text.length; i++)
		*number = *number * 10 + (uint64_t)(text.data[i] - '0');
	return 1;
}

static bool is_named(struct zstr text, const char *name)
{
	return text.length == strlen(name) && strncasecmp(text.data, name, text.length) == 0;
}

/* Takes from a field what it says of the body.  1 or -EBADMSG. */
static int parse_field(struct zstr line, struct docker_head *head)
{
	struct zstr name = {line.data, text_span(line, 0, TEXT_ALNUM "!#$%&'*+-.^_`|~")};
	size_t value = name.length + 1;

	/* No blank before the colon, none before the name: that would be a folded line. */
	if (name.length == 0 || name.length == line.length || line.data[name.length] != ':')
		return -EBADMSG;
	value += text_span(line, value, " \t");
	line = (struct zstr){line.data + value, line.length - value};
	bool length = is_named(name, "Content-Length");
	if (!length && !is_named(name, "Transfer-Encoding"))
		return 1;
	/* A second statement of the size, equal or not, is one too many. */
	if (head->framing != PROTO_BODY_CLOSE)
		return -EBADMSG;
	head->framing = length ? PROTO_BODY_LENGTH : PROTO_BODY_CHUNKED;
	if (length)
		return parse_number(line, &head->content_length);
	return is_named(line, "chunked") ? 1 : -EBADMSG;
}

/* One status line and its fields up to the empty line.  1, 0 or -EBADMSG. */
static int parse_block(struct zstr *in, struct docker_head *head)
{
	size_t known = in->length < VERSION_LENGTH ? in->length : VERSION_LENGTH;
	struct zstr line;
	uint64_t status = 0;

	*head = (struct docker_head){.framing = PROTO_BODY_CLOSE};
	/* A peer that speaks something else is refused at once, not when its line ends. */
	if (memcmp(in->data, VERSION, known) != 0)
		return -EBADMSG;
	int r = next_line(in, &line);
	if (r <= 0)
		return r;
	if (line.length < VERSION_LENGTH + 4 || line.data[VERSION_LENGTH + 3] != ' ')
		return -EBADMSG;
	r = parse_number((struct zstr){line.data + VERSION_LENGTH, 3}, &status);
	head->status = (uint16_t)status;
	while (r > 0) {
		r = next_line(in, &line);
		if (r <= 0 || line.length == 0)
			break;
		r = parse_field(line, head);
	}
	return r;
}

/* Interim answers that may come unasked, and have no body; 101 was not asked for. */
static bool is_interim(const struct docker_head *head)
{
	return (head->status == 100 || head->status == 102 || head->status == 103) &&
	       head->framing == PROTO_BODY_CLOSE;
}

/* What a final answer may be.  1 or -EBADMSG. */
static int check_final(struct docker_head *head)
{
	if (head->status < 200 || head->status > 599)
		return -EBADMSG;
	if (head->status != 204 && head->status != 304)
		return 1;
	/* 204 has no body and may announce none; 304 may state what the whole answer would have. */
	if (head->status == 204 &&
	    (head->framing == PROTO_BODY_CHUNKED || head->content_length > 0))
		return -EBADMSG;
	head->framing = PROTO_BODY_NONE;
	head->content_length = 0;
	return 1;
}

int docker_head_parse(const char *data, size_t length, struct docker_head *head)
{
	struct zstr in = {data, length < DOCKER_HEAD_MAX ? length : DOCKER_HEAD_MAX};
	size_t whole = in.length;
	int r;

	do
		r = parse_block(&in, head);
	while (r > 0 && is_interim(head));
	if (r == 0 && whole == DOCKER_HEAD_MAX)
		return -EBADMSG;
	if (r <= 0)
		return r;
	head->length = whole - in.length;
	return check_final(head);
}

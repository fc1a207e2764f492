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

struct fields {
	bool have_length;
	bool chunked;
	uint64_t content_length;
};

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

/* All of text as a decimal number.  0 or -EBADMSG. */
static int parse_number(struct zstr text, uint64_t *number)
{
	*number = 0;
	if (text.length == 0 || text.length > LENGTH_DIGITS_MAX ||
	    text_span(text, 0, TEXT_DIGITS) != text.length)
		return -EBADMSG;
	for (size_t i = 0; i < text.length; i++)
		*number = *number * 10 + (uint64_t)(text.data[i] - '0');
	return 0;
}

static bool is_named(struct zstr text, const char *name)
{
	return text.length == strlen(name) && strncasecmp(text.data, name, text.length) == 0;
}

/* Without the blanks around it. */
static struct zstr trim(struct zstr text)
{
	size_t blanks = text_span(text, 0, " \t");

	text = (struct zstr){text.data + blanks, text.length - blanks};
	while (text.length > 0 && text_span(text, text.length - 1, " \t") > 0)
		text.length--;
	return text;
}

static int parse_field(struct zstr line, struct fields *fields)
{
	/* No blank before the colon, none before the name: that would be a folded line. */
	struct zstr name = {line.data, text_span(line, 0, TEXT_ALNUM "!#$%&'*+-.^_`|~")};
	struct zstr value = {line.data + name.length + 1, line.length - name.length - 1};

	if (name.length == 0 || name.length == line.length || line.data[name.length] != ':')
		return -EBADMSG;
	value = trim(value);
	bool length = is_named(name, "Content-Length");
	bool coding = is_named(name, "Transfer-Encoding");

	/* A second statement of the size, equal or not, is one too many. */
	if ((length || coding) && (fields->have_length || fields->chunked))
		return -EBADMSG;
	fields->have_length |= length;
	fields->chunked |= coding;
	if (length)
		return parse_number(value, &fields->content_length);
	return coding && !is_named(value, "chunked") ? -EBADMSG : 0;
}

/* One status line and its fields up to the empty line.  1, 0 or -EBADMSG. */
static int parse_block(struct zstr *in, uint64_t *status, struct fields *fields)
{
	size_t known = in->length < VERSION_LENGTH ? in->length : VERSION_LENGTH;
	struct zstr line;
	int r;

	/* A peer that speaks something else is refused at once, not when its line ends. */
	if (memcmp(in->data, VERSION, known) != 0)
		return -EBADMSG;
	*fields = (struct fields){0};
	r = next_line(in, &line);
	if (r <= 0)
		return r;
	if (line.length < VERSION_LENGTH + 4 || line.data[VERSION_LENGTH + 3] != ' ' ||
	    parse_number((struct zstr){line.data + VERSION_LENGTH, 3}, status) < 0)
		return -EBADMSG;
	for (;;) {
		r = next_line(in, &line);
		if (r <= 0 || line.length == 0)
			return r;
		r = parse_field(line, fields);
		if (r < 0)
			return r;
	}
}

/* Interim answers that may come unasked, and have no body; 101 was not asked for. */
static bool is_interim(uint64_t status, const struct fields *fields)
{
	return (status == 100 || status == 102 || status == 103) && !fields->chunked &&
	       !fields->have_length;
}

/* 1, or -EBADMSG for a status or a body that a final answer cannot have. */
static int fill_head(uint64_t status, const struct fields *fields, struct docker_head *head)
{
	/* 204 has no body and may not announce one; 304 may state what the whole answer would have.
	 */
	bool bodiless = status == 204 || status == 304;

	if (status < 200 || status > 599 ||
	    (status == 204 && (fields->chunked || fields->content_length > 0)))
		return -EBADMSG;
	head->status = (uint16_t)status;
	head->framing = bodiless	      ? PROTO_BODY_NONE
			: fields->chunked     ? PROTO_BODY_CHUNKED
			: fields->have_length ? PROTO_BODY_LENGTH
					      : PROTO_BODY_CLOSE;
	head->content_length = bodiless ? 0 : fields->content_length;
	return 1;
}

int docker_head_parse(const char *data, size_t length, struct docker_head *head)
{
	size_t whole = length < DOCKER_HEAD_MAX ? length : DOCKER_HEAD_MAX;
	struct zstr in = {data, whole};
	struct fields fields;
	uint64_t status = 0;
	int r;

	do {
		r = parse_block(&in, &status, &fields);
		if (r == 0 && whole == DOCKER_HEAD_MAX)
			return -EBADMSG;
		if (r <= 0)
			return r;
	} while (is_interim(status, &fields));
	head->length = whole - in.length;
	return fill_head(status, &fields, head);
}

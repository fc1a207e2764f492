/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes privsep/docker_head.c, the only parser of engine bytes on the trusted
 * side.  The verdict on a text must be the one on its beginnings: "more" until
 * it is whole, and never another one for more bytes; and what was taken must hold
 * the rules that a second reader could break (SECURITY-BAR F5).
 */
#include "privsep/docker_head.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

/* A copy of its own size lets the sanitizer see every byte read beyond the end. */
static int parse(const uint8_t *data, size_t size, struct docker_head *head)
{
	char *copy = malloc(size + 1);
	int r;

	check(copy != NULL);
	memcpy(copy, data, size);
	memset(head, 0, sizeof(*head));
	r = docker_head_parse(copy, size, head);
	free(copy);
	check(r == 0 || r == 1 || r == -EBADMSG);
	return r;
}

static void check_head(const uint8_t *data, size_t size, const struct docker_head *head)
{
	check(head->length >= 4 && head->length <= size && head->length <= DOCKER_HEAD_MAX);
	check(memcmp(data + head->length - 4, "\r\n\r\n", 4) == 0);
	check(memcmp(data, "HTTP/1.1 ", 9) == 0);
	check(head->status >= 200 && head->status <= 599);
	check(head->framing == PROTO_BODY_LENGTH || head->content_length == 0);
	check((head->framing == PROTO_BODY_NONE) == (head->status == 204 || head->status == 304));
}

/* Lines end with CR LF only, none is folded, no control byte that a reader could stop at. */
static void check_lines(const uint8_t *data, size_t length)
{
	for (size_t i = 1; i < length; i++) {
		check(data[i] != '\0' && data[i] != 0x7f);
		check((data[i] == '\n') == (data[i - 1] == '\r'));
		check(data[i - 1] != '\n' || (data[i] != ' ' && data[i] != '\t'));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct docker_head whole, part;
	int verdict = parse(data, size, &whole);
	/* Two places to cut: one that depends on the text, and the last byte of the head. */
	size_t cuts[] = {size > 0 ? data[size - 1] * size / 256 : 0,
			 verdict == 1 ? whole.length - 1 : size / 2};

	if (verdict == 1) {
		check_head(data, size, &whole);
		check_lines(data, whole.length);
		check(parse(data, whole.length, &part) == 1);
		check(memcmp(&part, &whole, sizeof(part)) == 0);
	}
	for (size_t i = 0; i < 2; i++) {
		int r = parse(data, cuts[i], &part);

		if (verdict == 1)
			check(r == (cuts[i] >= whole.length));
		else
			check(r == 0 || (r == -EBADMSG && verdict == -EBADMSG));
	}
	return 0;
}

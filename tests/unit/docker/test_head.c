/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of privsep/docker_head.c: what is a head, and 40 ways to smuggle that are none. */
#include "privsep/docker_head.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define OK_LINE "HTTP/1.1 200 OK\r\n"

struct good {
	const char *name, *text;
	uint16_t status;
	enum proto_framing framing;
	uint64_t length;
};

static const struct good good[] = {
	{"length", OK_LINE "Content-Length: 5\r\n\r\n", 200, PROTO_BODY_LENGTH, 5},
	{"length zero", OK_LINE "Content-Length: 0\r\n\r\n", 200, PROTO_BODY_LENGTH, 0},
	{"length in small letters", OK_LINE "content-length:7\r\n\r\n", 200, PROTO_BODY_LENGTH, 7},
	{"length with zeros", OK_LINE "Content-Length: 0007\r\n\r\n", 200, PROTO_BODY_LENGTH, 7},
	{"length with blanks", OK_LINE "Content-Length: \t 9\r\n\r\n", 200, PROTO_BODY_LENGTH, 9},
	{"greatest length", OK_LINE "Content-Length: 999999999999999999\r\n\r\n", 200,
	 PROTO_BODY_LENGTH, 999999999999999999},
	{"chunked", OK_LINE "Transfer-Encoding: chunked\r\n\r\n", 200, PROTO_BODY_CHUNKED, 0},
	{"chunked in capitals", OK_LINE "TRANSFER-ENCODING: CHUNKED\r\n\r\n", 200,
	 PROTO_BODY_CHUNKED, 0},
	{"until the end", OK_LINE "\r\n", 200, PROTO_BODY_CLOSE, 0},
	{"no reason", "HTTP/1.1 201 \r\n\r\n", 201, PROTO_BODY_CLOSE, 0},
	{"reason with other bytes", "HTTP/1.1 500 \xc3\xa9\xff\r\n\r\n", 500, PROTO_BODY_CLOSE, 0},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, PROTO_BODY_NONE, 0},
	{"no content, said twice", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204,
	 PROTO_BODY_NONE, 0},
	{"not modified", "HTTP/1.1 304 Not Modified\r\n\r\n", 304, PROTO_BODY_NONE, 0},
	{"not modified with a length", "HTTP/1.1 304 N\r\nContent-Length: 7\r\n\r\n", 304,
	 PROTO_BODY_NONE, 0},
	{"not found", "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n", 404, PROTO_BODY_LENGTH,
	 2},
	{"greatest status", "HTTP/1.1 599 x\r\n\r\n", 599, PROTO_BODY_CLOSE, 0},
	{"other fields",
	 OK_LINE "Api-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\nX-Empty:\r\n"
		 "Content-Length: 3\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\n\r\n",
	 200, PROTO_BODY_LENGTH, 3},
	{"continue first", "HTTP/1.1 100 Continue\r\n\r\n" OK_LINE "Content-Length: 1\r\n\r\n", 200,
	 PROTO_BODY_LENGTH, 1},
	{"processing and hints first",
	 "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" OK_LINE
	 "\r\n",
	 200, PROTO_BODY_CLOSE, 0},
};

/* Refused: read differently by two readers, or no HTTP/1.1. */
static const char *const smuggling[] = {
	OK_LINE "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
	OK_LINE "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
	OK_LINE "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
	OK_LINE "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
	OK_LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	OK_LINE "Transfer-Encoding: identity\r\n\r\n",
	OK_LINE "Transfer-Encoding: gzip, chunked\r\n\r\n",
	OK_LINE "Transfer-Encoding: chunked, identity\r\n\r\n",
	OK_LINE "Transfer-Encoding: xchunked\r\n\r\n",
	OK_LINE "Transfer-Encoding: \x0b"
		"chunked\r\n\r\n",
	OK_LINE "Transfer-Encoding: \"chunked\"\r\n\r\n",
	OK_LINE "Transfer-Encoding:\r\n\r\n",
	OK_LINE "Transfer-Encoding : chunked\r\n\r\n",
	OK_LINE "Transfer-Encoding\t: chunked\r\n\r\n",
	OK_LINE " Transfer-Encoding: chunked\r\n\r\n",
	OK_LINE "X: y\r\n Transfer-Encoding: chunked\r\n\r\n",
	OK_LINE "X: y\r\n\tfolded\r\n\r\n",
	OK_LINE "Transfer-Encoding:\r\n chunked\r\n\r\n",
	OK_LINE "Content-Length: 5, 5\r\n\r\n",
	OK_LINE "Content-Length: +5\r\n\r\n",
	OK_LINE "Content-Length: -1\r\n\r\n",
	OK_LINE "Content-Length: 0x10\r\n\r\n",
	OK_LINE "Content-Length: 5 5\r\n\r\n",
	OK_LINE "Content-Length: 5 \r\n\r\n",
	OK_LINE "Transfer-Encoding: chunked\t\r\n\r\n",
	OK_LINE "Content-Length: \r\n\r\n",
	OK_LINE "Content-Length: 1000000000000000000\r\n\r\n",
	OK_LINE "Content-Length: 18446744073709551621\r\n\r\n",
	OK_LINE "Content-Length : 5\r\n\r\n",
	OK_LINE "Content-Length\r\n\r\n",
	OK_LINE ": 5\r\n\r\n",
	OK_LINE "Content Length: 5\r\n\r\n",
	OK_LINE "X: a\nContent-Length: 5\r\n\r\n",
	OK_LINE "X: a\rContent-Length: 5\r\n\r\n",
	OK_LINE "X: a\r\r\nContent-Length: 5\r\n\r\n",
	OK_LINE "X: a\x01\r\n\r\n",
	OK_LINE "X: a\x7f\r\n\r\n",
	"HTTP/1.1 200 OK\nContent-Length: 5\n\n",
	OK_LINE "\n",
	"\r\nHTTP/1.1 200 OK\r\n\r\n",
	"HTTP/1.0 200 OK\r\n\r\n",
	"HTTP/1.2 200 OK\r\n\r\n",
	"HTTP/2 200\r\n\r\n",
	"http/1.1 200 OK\r\n\r\n",
	"HTTP/1.1  200 OK\r\n\r\n",
	"HTTP/1.1\t200 OK\r\n\r\n",
	"HTTP/1.1 200\r\n\r\n",
	"HTTP/1.1 20 OK\r\n\r\n",
	"HTTP/1.1 2000 OK\r\n\r\n",
	"HTTP/1.1 2x0 OK\r\n\r\n",
	"HTTP/1.1 -20 OK\r\n\r\n",
	"HTTP/1.1 099 OK\r\n\r\n",
	"HTTP/1.1 600 OK\r\n\r\n",
	"HTTP/1.1 101 Switching Protocols\r\n\r\n",
	"HTTP/1.1 104 x\r\n\r\n",
	"HTTP/1.1 199 x\r\n\r\n",
	"HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\nOK",
	"HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.1 100 Continue\r\n\r\nGET / HTTP/1.1\r\n\r\n",
	"HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\n",
	"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
	"POST /containers/create HTTP/1.1\r\n\r\n",
	"{\"message\":\"no\"}",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_head_of_an_engine_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct docker_head head = {0};
		int r = docker_head_parse(good[i].text, strlen(good[i].text), &head);

		if (r != 1 || head.status != good[i].status || head.framing != good[i].framing ||
		    head.content_length != good[i].length || head.length != strlen(good[i].text))
			fail_msg("%s: %d, status %u, framing %d, length %lu", good[i].name, r,
				 head.status, (int)head.framing,
				 (unsigned long)head.content_length);
	}
}

/* Whole in one piece, and byte by byte: the verdict comes once and stays. */
static void test_head_may_come_in_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		size_t length = strlen(good[i].text);

		for (size_t part = 0; part < length; part++) {
			struct docker_head head;
			char *copy = malloc(part +
					    1); /* its own size, so that a sanitizer sees its end */

			assert_non_null(copy);
			memcpy(copy, good[i].text, part);
			if (docker_head_parse(copy, part, &head) != 0)
				fail_msg("%s: verdict after %zu of %zu bytes", good[i].name, part,
					 length);
			free(copy);
		}
	}
}

static void test_body_does_not_belong_to_the_head(void **state)
{
	static const char text[] =
		OK_LINE "Content-Length: 5\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n";
	struct docker_head head;

	(void)state;
	assert_int_equal(docker_head_parse(text, sizeof(text) - 1, &head), 1);
	assert_int_equal(head.status, 200);
	assert_int_equal(head.length, strlen(OK_LINE "Content-Length: 5\r\n\r\n"));
}

static void test_head_refuses_every_smuggling_string(void **state)
{
	(void)state;
	assert_true(COUNT(smuggling) >= 40);
	for (size_t i = 0; i < COUNT(smuggling); i++) {
		bool refused = false;

		for (size_t part = 0; part <= strlen(smuggling[i]); part++) {
			struct docker_head head;
			int r = docker_head_parse(smuggling[i], part, &head);

			if (r > 0 || (refused && r != -EBADMSG))
				fail_msg("number %zu taken at byte %zu: %s", i, part, smuggling[i]);
			refused = r == -EBADMSG;
		}
		if (!refused)
			fail_msg("number %zu not refused: %s", i, smuggling[i]);
	}
}

static void test_head_refuses_a_nul_anywhere(void **state)
{
	static const char text[] = OK_LINE "Server: x\r\nContent-Length: 5\r\n\r\n";

	(void)state;
	for (size_t at = 0; at < sizeof(text) - 1; at++) {
		struct docker_head head;
		char copy[sizeof(text)];

		memcpy(copy, text, sizeof(text));
		copy[at] = '\0';
		if (docker_head_parse(copy, sizeof(text) - 1, &head) != -EBADMSG)
			fail_msg("NUL at %zu", at);
	}
}

static void test_head_ends_at_its_limit(void **state)
{
	static char text[DOCKER_HEAD_MAX + 8];
	struct docker_head head;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, OK_LINE "X: ", sizeof(OK_LINE "X: ") - 1);
	/* One byte short of the limit it may still end in time, then not. */
	assert_int_equal(docker_head_parse(text, DOCKER_HEAD_MAX - 1, &head), 0);
	assert_int_equal(docker_head_parse(text, DOCKER_HEAD_MAX, &head), -EBADMSG);
	memcpy(text + DOCKER_HEAD_MAX - 4, "\r\n\r\n", 4);
	assert_int_equal(docker_head_parse(text, DOCKER_HEAD_MAX, &head), 1);
	assert_int_equal(head.length, DOCKER_HEAD_MAX);
	memset(text + DOCKER_HEAD_MAX - 4, 'a', 4);
	memcpy(text + DOCKER_HEAD_MAX - 3, "\r\n\r\n", 4);
	assert_int_equal(docker_head_parse(text, DOCKER_HEAD_MAX + 1, &head), -EBADMSG);
}

static void test_interim_answers_count_towards_the_limit(void **state)
{
	static char text[DOCKER_HEAD_MAX + 64];
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct docker_head head;
	size_t used = 0;

	(void)state;
	while (used + sizeof(interim) - 1 <= DOCKER_HEAD_MAX) {
		memcpy(text + used, interim, sizeof(interim) - 1);
		used += sizeof(interim) - 1;
	}
	assert_int_equal(docker_head_parse(text, used, &head), 0);
	memcpy(text + used, OK_LINE "\r\n", sizeof(OK_LINE "\r\n") - 1);
	assert_int_equal(docker_head_parse(text, used + sizeof(OK_LINE "\r\n") - 1, &head),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head_of_an_engine_is_read),
		cmocka_unit_test(test_head_may_come_in_pieces),
		cmocka_unit_test(test_body_does_not_belong_to_the_head),
		cmocka_unit_test(test_head_refuses_every_smuggling_string),
		cmocka_unit_test(test_head_refuses_a_nul_anywhere),
		cmocka_unit_test(test_head_ends_at_its_limit),
		cmocka_unit_test(test_interim_answers_count_towards_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

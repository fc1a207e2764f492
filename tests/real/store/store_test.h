/* SPDX-License-Identifier: Apache-2.0 */
/* What the real tests of the store share: an administrator's connection, rows, and PASS/FAIL lines.
 */
#pragma once
#include "unpriv/store/postgresql.h"
#include <stdbool.h>
#include <stdio.h>

#define HOST "node-1"

struct test {
	const char *folder;  /* of the server's socket */
	const char *control; /* script: restart, stop, start */
	struct config config;
	struct store *store;
	PGconn *admin;
	bool failed;
};

#define CHECK(test, condition)                                                                     \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			(test)->failed = true;                                                     \
			printf("  %s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
		}                                                                                  \
	} while (0)

typedef void test_function(struct test *test);

/* A connection of the store to the same server, with short deadlines; owned. */
struct store *test_store(struct test *test);
/* SQL as administrator; printf-like.  The first field of the first row in a static buffer, "" when
 * none. */
const char *sql(struct test *test, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A compute_node row for HOST with nothing used. */
void node_row(struct test *test);
/* Inserts a container row and returns its uuid (static buffer, a new one for each call up to 64).
 */
const char *new_container(struct test *test, const char *columns, const char *values);
/* Runs $control with the word, waits for its end. */
void control(struct test *test, const char *word);

struct named_test {
	const char *name;
	test_function *run;
};
extern const struct named_test row_tests[], node_tests[], fault_tests[], tls_tests[];

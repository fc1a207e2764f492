/* SPDX-License-Identifier: Apache-2.0 */
/* TCP, TLS that is not to be trusted, passwords, several hosts. */
#include "common/zfd.h"
#include "store_test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPS (&store_postgresql)

static int try_config(struct test *test, struct config *config, struct zerr *err)
{
	struct store *store = NULL;
	struct container row;
	int result = OPS->open(config, &store, err);

	if (result < 0)
		return result;
	store->patience_ms = 0;
	result = OPS->container_get(store, "no-such-uuid", &row, err);
	CHECK(test, result != 0 || row.uuid == NULL);
	OPS->close(store);
	return result;
}

static struct config tls_config(struct test *test, char *host, char *options)
{
	struct config config = test->config;

	config.db_host = host;
	config.db_port = 5433;
	config.db_options = options;
	config.db_password = (struct secret){0};
	CHECK(test, secret_set(&config.db_password, "correct horse", 13) == 0);
	return config;
}

static void tls_verifies_authority_and_name(struct test *test)
{
	char good[300], wrong[300], missing[] = "sslmode=verify-full", plain[] = "sslmode=disable";
	char name[] = "localhost", address[] = "127.0.0.1";
	struct zerr err = {0};
	struct config config;

	(void)snprintf(good, sizeof(good), "sslmode='verify-full' sslrootcert='%.200s/ca.pem'",
		       test->folder);
	(void)snprintf(wrong, sizeof(wrong), "sslmode='verify-full' sslrootcert='%.200s/other.pem'",
		       test->folder);
	config = tls_config(test, name, good);
	CHECK(test, try_config(test, &config, &err) == -ENOENT);
	CHECK(test, strstr(err.msg, "has no row") != NULL);
	config.db_options = wrong;
	CHECK(test,
	      try_config(test, &config, &err) == -EAGAIN && strstr(err.msg, "certificate") != NULL);
	config.db_options = missing; /* the system's authorities, not none */
	CHECK(test, try_config(test, &config, &err) == -EAGAIN);
	config.db_options = plain;
	CHECK(test,
	      try_config(test, &config, &err) == -EAGAIN && strstr(err.msg, "pg_hba") != NULL);
	config.db_options = good;
	config.db_host = address; /* the certificate names localhost only */
	CHECK(test,
	      try_config(test, &config, &err) == -EAGAIN && strstr(err.msg, "127.0.0.1") != NULL);
	secret_clear(&config.db_password);
}

static void a_wrong_password_is_not_told(struct test *test)
{
	char name[] = "localhost";
	struct config config = tls_config(test, name, NULL);
	struct zerr err = {0};

	CHECK(test, secret_set(&config.db_password, "zun\"; password", 14) == 0);
	CHECK(test, try_config(test, &config, &err) == -EAGAIN);
	CHECK(test, strstr(err.msg, "zun\"; password") == NULL && err.msg[0]);
	CHECK(test,
	      secret_set(&config.db_password, "zun", 3) == 0); /* is part of libpq's own text */
	CHECK(test, try_config(test, &config, &err) == -EAGAIN);
	CHECK(test, strstr(err.msg, "withheld") != NULL);
	secret_clear(&config.db_password);
}

static void the_next_host_is_tried(struct test *test)
{
	char hosts[] = "localhost:1,[::1]:2,localhost:5433";
	struct config config = tls_config(test, hosts, NULL);
	struct zerr err = {0};

	CHECK(test, try_config(test, &config, &err) == -ENOENT);
	secret_clear(&config.db_password);
}

static void a_server_that_never_answers_costs_five_seconds(struct test *test)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(5499),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_fd_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char host[] = "127.0.0.1:5499", hosts[] = "127.0.0.1:5499,localhost:5433";
	struct config config = tls_config(test, host, NULL);
	uint64_t started = zfd_now_ms();
	struct zerr err = {0};

	CHECK(test, bind(listener, (const struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(test, listen(listener, 8) == 0);
	CHECK(test, try_config(test, &config, &err) == -EAGAIN);
	CHECK(test, zfd_now_ms() - started < 7000);
	config.db_host = hosts;
	started = zfd_now_ms();
	CHECK(test, try_config(test, &config, &err) == -ENOENT);
	CHECK(test, zfd_now_ms() - started < 7000);
	secret_clear(&config.db_password);
}

static void options_that_make_no_sense_are_an_error(struct test *test)
{
	char options[] = "sslmode", host[] = "localhost";
	struct config config = tls_config(test, host, options);
	struct zerr err = {0};

	CHECK(test, try_config(test, &config, &err) == -EINVAL);
	secret_clear(&config.db_password);
}

const struct named_test tls_tests[] = {
	{"tls_verifies_authority_and_name", tls_verifies_authority_and_name},
	{"a_wrong_password_is_not_told", a_wrong_password_is_not_told},
	{"the_next_host_is_tried", the_next_host_is_tried},
	{"a_server_that_never_answers_costs_five_seconds",
	 a_server_that_never_answers_costs_five_seconds},
	{"options_that_make_no_sense_are_an_error", options_that_make_no_sense_are_an_error},
	{NULL, NULL},
};

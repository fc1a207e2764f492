/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [database] connection: an SQLAlchemy URL of PostgreSQL, made into the members
 * that libpq's parameters come from.  Holds a password.
 */
#include "common/text.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/zfd.h"
#include "unpriv/base/config_options.h"
#include "unpriv/base/config_url.h"

/* What a URL's query may say: libpq's parameters (PostgreSQL 15) without those that the URL itself
 * or the store sets, and without passwords and service files. */
static const char *const allowed[] = {"application_name",
				      "channel_binding",
				      "client_encoding",
				      "connect_timeout",
				      "fallback_application_name",
				      "gssencmode",
				      "hostaddr",
				      "keepalives",
				      "keepalives_count",
				      "keepalives_idle",
				      "keepalives_interval",
				      "krbsrvname",
				      "requirepeer",
				      "sslcert",
				      "sslcompression",
				      "sslcrl",
				      "sslcrldir",
				      "sslkey",
				      "sslmode",
				      "sslrootcert",
				      "sslsni",
				      "ssl_max_protocol_version",
				      "ssl_min_protocol_version",
				      "target_session_attrs",
				      "tcp_user_timeout"};

struct filling {
	struct config *config;
	struct option_expected *expected;
	bool hosts; /* they stand in the query */
};

static bool is_allowed(const char *key)
{
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (strcmp(allowed[i], key) == 0)
			return true;
	return false;
}

static int replace(char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* Appends key='value' to the pairs, quoted as libpq reads it back. */
static int add_pair(char **options, const char *key, const char *value)
{
	char quoted[2 * URL_PART_MAX];
	size_t used = 0;
	char *pairs;

	for (; *value && used + 2 < sizeof(quoted); value++) {
		if (*value == '\'' || *value == '\\')
			quoted[used++] = '\\';
		quoted[used++] = *value;
	}
	quoted[used] = '\0';
	if (asprintf(&pairs, "%s%s%s='%s'", *options ? *options : "", *options ? " " : "", key,
		     quoted) < 0)
		return -ENOMEM;
	free(*options);
	*options = pairs;
	return 0;
}

/* The way to name a socket's folder, postgresql://user:password@/zun?host=/run/postgresql, and
 * several servers: ?host=db1:5432&host=db2:5432 (known-faults F12), kept as a list with commas. */
static int take_host(struct filling *filling, const char *value)
{
	struct config *config = filling->config;
	_cleanup_free_ char *joined = NULL;

	if (config->db_host && !filling->hosts)
		return config_expect(filling->expected, "hosts expected before the name of the "
							"database or in the query, not both");
	filling->hosts = true;
	if (!config->db_host)
		return replace(&config->db_host, value);
	if (asprintf(&joined, "%s,%s", config->db_host, value) < 0)
		return -ENOMEM;
	return replace(&config->db_host, joined);
}

static int take_pair(void *context, const char *key, const char *value)
{
	struct filling *filling = context;
	struct config *config = filling->config;
	uint64_t port = 0;

	if (strcmp(key, "host") == 0)
		return take_host(filling, value);
	if (strcmp(key, "port") == 0) {
		if (zfd_parse_u64(value, 65535, &port) < 0 || port == 0)
			return config_expect(filling->expected, "a port from 1 to 65535 expected");
		config->db_port = (uint16_t)port;
		return 0;
	}
	if (!is_allowed(key))
		return config_expect(filling->expected,
				     "its query names a parameter that is not allowed there");
	return add_pair(&config->db_options, key, value);
}

static int check_dialect(struct url url, struct option_expected *expected)
{
	struct zstr dialect = url_until(url.scheme, "+");

	if (!url.ok)
		return config_expect(expected,
				     "postgresql://user:password@host:port/name expected");
	if (zstr_equal(dialect, "mysql") || zstr_equal(dialect, "mariadb") ||
	    zstr_equal(dialect, "sqlite"))
		return config_expect(expected, "postgresql:// expected: this build has PostgreSQL "
					       "only");
	if (!zstr_equal(dialect, "postgresql") && !zstr_equal(dialect, "postgres"))
		return config_expect(expected, "postgresql:// expected");
	return 0;
}

static void forget(struct config *config)
{
	free(config->db_host);
	free(config->db_name);
	free(config->db_user);
	free(config->db_options);
	config->db_host = config->db_name = config->db_user = config->db_options = NULL;
	config->db_port = 5432;
	secret_clear(&config->db_password);
}

static int fill(struct url url, struct config *config, struct option_expected *expected)
{
	char user[URL_PART_MAX] = "", host[256] = "", name[URL_PART_MAX] = "";
	struct zstr place;
	int result = check_dialect(url, expected);

	if (result < 0)
		return result;
	forget(config);
	if (!url_login(url.authority, user, sizeof(user), &config->db_password, &place))
		return config_expect(expected, "user and password of at most %d bytes expected",
				     URL_PART_MAX - 1);
	if (!url_host(place, host, sizeof(host), &config->db_port))
		return config_expect(expected, "host, host:port or [address]:port expected");
	if (!url_decode(url.path, false, name, sizeof(name)) || name[0] == '\0')
		return config_expect(expected, "the name of a database expected after the host");
	if (host[0])
		result = replace(&config->db_host, host);
	if (result == 0 && user[0])
		result = replace(&config->db_user, user);
	return result < 0 ? result : replace(&config->db_name, name);
}

int config_connection(const char *text, struct config *config, struct option_expected *expected)
{
	struct filling filling = {config, expected, false};
	char *joined = strdup(text);
	int result;

	if (!joined)
		return -ENOMEM;
	url_join_lines(joined);
	result = fill(url_take_apart(joined, URL_DATABASE), config, expected);
	ini_wipe(joined);
	if (result < 0)
		return result;
	(void)config_expect(expected, "its query has a parameter that is too long"); /* if it has */
	return config_query(text, URL_DATABASE, take_pair, &filling);
}

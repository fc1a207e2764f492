/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connecting to PostgreSQL (known-faults F12): what is asked of libpq, which of
 * its own error texts are passed on, and when it is tried again.
 * Runs in workers; no privilege.  The password never leaves struct secret but
 * for libpq's own copy.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/store/postgresql.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PARAMETERS_MAX 40
#define OPTIONS_MAX    256
#define PAUSE_MAX_MS   10000

/* Text forms that do not depend on the server's configuration. */
#define SESSION_FORMS "-c datestyle=ISO -c timezone=UTC -c extra_float_digits=1"

struct parameters {
	const char *keyword[PARAMETERS_MAX + 1], *value[PARAMETERS_MAX + 1];
	size_t count;
};

static void parameter_set(struct parameters *parameters, const char *keyword, const char *value)
{
	size_t at = 0;

	while (at < parameters->count && strcmp(parameters->keyword[at], keyword) != 0)
		at++;
	if (!value || at == PARAMETERS_MAX)
		return;
	if (at == parameters->count)
		parameters->count++;
	parameters->keyword[at] = keyword;
	parameters->value[at] = value;
}

static const char *parameter_get(const struct parameters *parameters, const char *keyword)
{
	for (size_t i = 0; i < parameters->count; i++)
		if (strcmp(parameters->keyword[i], keyword) == 0)
			return parameters->value[i];
	return NULL;
}

/* What the query of [database]/connection may say.  Not: service, passfile, krb*, gss*
 * …: each would read files of its own or take the identity from elsewhere. */
static bool option_allowed(const char *keyword)
{
	static const char *const allowed[] = {"host",
					      "hostaddr",
					      "port",
					      "sslmode",
					      "sslrootcert",
					      "sslcert",
					      "sslkey",
					      "sslcrl",
					      "sslcrldir",
					      "sslsni",
					      "ssl_min_protocol_version",
					      "ssl_max_protocol_version",
					      "channel_binding",
					      "target_session_attrs",
					      "connect_timeout",
					      "keepalives",
					      "keepalives_idle",
					      "keepalives_interval",
					      "keepalives_count",
					      "tcp_user_timeout",
					      "application_name",
					      "options"};

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (strcmp(allowed[i], keyword) == 0)
			return true;
	return false;
}

static void options_free(PQconninfoOption **options)
{
	PQconninfoFree(*options);
}

static int options_read(const char *text, PQconninfoOption **options, struct zerr *err)
{
	char *message = NULL;

	*options = PQconninfoParse(text ? text : "", &message);
	PQfreemem(message); /* it may quote the text: not passed on */
	if (!*options)
		return zerr_set(err, -EINVAL, "[database] connection: its options cannot be read");
	return 0;
}

/* libpq's defaults come from PG… variables and files in $HOME: neither is wanted. */
static void environment_clear(void)
{
	static const char *const names[] = {
		"PGSERVICE",	 "PGSERVICEFILE", "PGPASSFILE",	  "PGPASSWORD", "PGOPTIONS",
		"PGREQUIREPEER", "PGHOSTADDR",	  "PGSSLCERT",	  "PGSSLKEY",	"PGSSLCRL",
		"PGSSLCRLDIR",	 "PGSSLROOTCERT", "PGKRBSRVNAME", "PGGSSLIB",	"PGCHANNELBINDING",
		"PGSSLMODE",	 "PGHOST",	  "PGPORT"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unsetenv(names[i]);	 /* fails for a malformed name only */
	(void)setenv("HOME", "/nonexistent", 1); /* without memory connecting fails as well */
}

/* libpq's two parallel lists, from "name", "name:port", "[v6]:port", "/folder", separated by
 * commas. */
struct hosts {
	char names[1024], ports[128];
};

/* Takes ":port" off the end of host.  A bare IPv6 address has colons, but none before a port. */
static struct zstr port_take(struct zstr *host)
{
	const char *colon = memrchr(host->data, ':', host->length);
	struct zstr port = {0};
	bool lone;

	if (!colon || host->data[0] == '/')
		return port;
	lone = memchr(host->data, ':', host->length) == colon;
	if (lone || (host->data[0] == '[' && colon[-1] == ']')) {
		port.length = (size_t)(host->data + host->length - colon) - 1;
		port.data = colon + 1;
		host->length = (size_t)(colon - host->data);
	}
	return port;
}

static void host_add(struct hosts *hosts, struct zstr host, struct zstr default_port)
{
	size_t names = strlen(hosts->names), ports = strlen(hosts->ports);
	struct zstr port = port_take(&host);

	if (host.length > 1 && host.data[0] == '[' && host.data[host.length - 1] == ']') {
		host.data++;
		host.length -= 2;
	}
	if (port.length == 0)
		port = default_port;
	(void)snprintf(hosts->names + names, sizeof(hosts->names) - names, "%s%.*s",
		       names ? "," : "", (int)host.length, host.data);
	(void)snprintf(hosts->ports + ports, sizeof(hosts->ports) - ports, "%s%.*s",
		       ports ? "," : "", (int)port.length, port.data);
}

/* A list that is too long is cut, and libpq says that the two do not match. */
static void hosts_read(const char *list, unsigned default_port, struct hosts *hosts)
{
	char port[12];

	*hosts = (struct hosts){0};
	(void)snprintf(port, sizeof(port), "%u", default_port);
	for (;;) {
		size_t length = strcspn(list, ",");

		host_add(hosts, (struct zstr){list, length}, zstr_from(port));
		if (!list[length])
			return;
		list += length + 1;
	}
}

static void parameters_default(struct parameters *parameters, const struct config *config,
			       struct hosts *hosts)
{
	hosts_read(config->db_host ? config->db_host : "", config->db_port ? config->db_port : 5432,
		   hosts);
	if (hosts->names[0])
		parameter_set(parameters, "host", hosts->names);
	parameter_set(parameters, "port", hosts->ports);
	parameter_set(parameters, "dbname", config->db_name);
	parameter_set(parameters, "user", config->db_user);
	if (secret_text(&config->db_password)[0])
		parameter_set(parameters, "password", secret_text(&config->db_password));
	parameter_set(parameters, "application_name", "keelson-compute");
	parameter_set(parameters, "client_encoding", "UTF8");
	parameter_set(parameters, "connect_timeout", "5");
	parameter_set(parameters, "tcp_user_timeout", "15000");
	parameter_set(parameters, "keepalives_idle", "10");
	parameter_set(parameters, "keepalives_interval", "5");
	parameter_set(parameters, "keepalives_count", "3");
	parameter_set(parameters, "target_session_attrs", "read-write");
	parameter_set(parameters, "sslmode", "prefer");
	parameter_set(parameters, "gssencmode", "disable");
	parameter_set(parameters, "passfile", "/nonexistent/pgpass");
}

/* verify-* without a file of authorities means those of the system, not ~/.postgresql. */
static void parameters_verify(struct parameters *parameters)
{
	const char *mode = parameter_get(parameters, "sslmode");

	if (mode && strncmp(mode, "verify-", 7) == 0 && !parameter_get(parameters, "sslrootcert"))
		parameter_set(parameters, "sslrootcert", "/etc/ssl/certs/ca-certificates.crt");
}

/* The session's own settings: deadlines on the server's side as well. */
static void session_options(const struct store *store, char out[OPTIONS_MAX])
{
	(void)snprintf(out, OPTIONS_MAX,
		       "-c statement_timeout=%u -c lock_timeout=%u "
		       "-c idle_in_transaction_session_timeout=60000 " SESSION_FORMS,
		       store->statement_ms, store->lock_ms); /* fits: two numbers */
}

static int connect_once(struct store *store, struct zerr *err)
{
	_cleanup_(options_free) PQconninfoOption *options = NULL;
	struct parameters parameters = {0};
	struct hosts hosts;
	char session[OPTIONS_MAX];
	int result = options_read(store->config->db_options, &options, err);

	if (result < 0)
		return result;
	environment_clear();
	parameters_default(&parameters, store->config, &hosts);
	for (const PQconninfoOption *option = options; option->keyword; option++)
		if (option->val && option_allowed(option->keyword))
			parameter_set(&parameters, option->keyword, option->val);
	parameters_verify(&parameters);
	session_options(store, session);
	parameter_set(&parameters, "options", session);

	store->prepared = 0;
	store->connection = PQconnectdbParams(parameters.keyword, parameters.value, 0);
	if (!store->connection)
		return zerr_set(err, -ENOMEM, "database: no memory");
	if (PQstatus(store->connection) != CONNECTION_OK)
		return pg_connection_error(store, err);
	return 0;
}

static void notice_ignore(void *context, const char *message)
{
	(void)context;
	(void)message; /* the default writes it to stderr, past the log's rules */
}

static bool give_up(const struct config *config, int64_t tries, uint64_t deadline_ms)
{
	return zfd_now_ms() >= deadline_ms ||
	       (config->db_max_retries >= 0 && tries >= config->db_max_retries);
}

static int connect_patiently(struct store *store, uint64_t deadline_ms, struct zerr *err)
{
	int64_t interval_s = store->config->db_retry_interval;
	uint64_t pause_ms = interval_s > 0 ? (uint64_t)interval_s * 1000 : 100;

	for (int64_t tries = 0;; tries++) {
		int result;

		pg_disconnect(store);
		result = connect_once(store, err);
		if (result == 0 || result == -EINVAL)
			return result;
		if (give_up(store->config, tries, deadline_ms))
			return -EAGAIN;
		if (tries == 0)
			/* The caller may wait for a minute before it can say so. */
			zlog_warning("%s: trying again", err ? err->msg : "database");
		pg_pause(pause_ms, deadline_ms);
		pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
	}
}

int pg_connect(struct store *store, uint64_t deadline_ms, struct zerr *err)
{
	int result;

	if (store->connection && PQstatus(store->connection) == CONNECTION_OK)
		return 0;
	result = connect_patiently(store, deadline_ms, err);
	if (result < 0)
		return result;
	(void)PQsetNoticeProcessor(store->connection, notice_ignore,
				   NULL); /* returns the old one */
	if (PQsetnonblocking(store->connection, 1) == 0)
		return 0;
	pg_disconnect(store);
	return zerr_set(err, -EAGAIN, "database: the connection cannot be made non-blocking");
}

void pg_disconnect(struct store *store)
{
	PQfinish(store->connection);
	store->connection = NULL;
	store->prepared = 0;
}

/* The last line that says something: with several hosts libpq writes one for each, and hints that
 * begin with a tab below them. */
static struct zstr last_line(const char *text)
{
	struct zstr line = {0};

	while (*text) {
		size_t length = strcspn(text, "\n");

		if (length > 0 && text[0] != '\t')
			line = (struct zstr){text, length};
		text += length + (text[length] == '\n');
	}
	return line;
}

int pg_connection_error(const struct store *store, struct zerr *err)
{
	const char *text = PQerrorMessage(store->connection);
	const char *password = secret_text(&store->config->db_password);
	struct zstr line = last_line(text);
	char clean[ZERR_MSG_MAX];
	size_t length = line.length < sizeof(clean) - 1 ? line.length : sizeof(clean) - 1;

	/* libpq names host, user and database, never the password; a server might repeat it. */
	if (password[0] && strstr(text, password))
		return zerr_set(err, -EAGAIN, "database: connection failed (its text is withheld)");
	for (size_t i = 0; i < length; i++)
		clean[i] = (char)((unsigned char)line.data[i] < ' ' ? ' ' : line.data[i]);
	clean[length] = '\0';
	return zerr_set(err, -EAGAIN, "database: %s", length ? clean : "connection lost");
}

void pg_pause(uint64_t limit_ms, uint64_t deadline_ms)
{
	uint64_t now = zfd_now_ms();
	uint64_t left = deadline_ms > now ? deadline_ms - now : 0;
	/* Half of it fixed, half by chance: many workers lose the server at the same moment. */
	struct timespec time = {0};
	uint64_t wait;

	(void)clock_gettime(CLOCK_MONOTONIC, &time); /* its nanoseconds are chance enough */
	wait = limit_ms / 2 + (uint64_t)time.tv_nsec % (limit_ms / 2 + 1);
	if (wait > left)
		wait = left;
	time = (struct timespec){.tv_sec = (time_t)(wait / 1000),
				 .tv_nsec = (long)(wait % 1000) * 1000000};
	(void)nanosleep(&time, NULL); /* a shorter pause does no harm */
}

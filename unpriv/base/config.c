/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the lines of zun.conf to struct config: every option of the table looked
 * up, its references replaced, its type checked; what nobody knows warned about
 * once.  Runs at the start of each process without a privilege that needs it.
 */
#include "unpriv/base/config.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/base/config_files.h"
#include "unpriv/base/config_options.h"
#include "unpriv/base/config_url.h"

#define RABBIT	     "oslo_messaging_rabbit"
#define WARNINGS_MAX 50 /* a file of another program gives no flood */

static int no_memory(int code, struct zerr *err)
{
	return zerr_set(err, code, "no memory for the configuration");
}

struct warned {
	const char *group, *key; /* key NULL: the whole group */
	unsigned count;
};

/* Has this been said?  Remembers it when not. */
static bool said(struct warned *list, unsigned *count, const char *group, const char *key)
{
	for (unsigned i = 0; i < *count; i++)
		if (strcmp(list[i].group, group) == 0 &&
		    (!list[i].key || (key && strcmp(list[i].key, key) == 0)))
			return true;
	list[(*count)++] = (struct warned){.group = group, .key = key};
	return false;
}

static bool group_known(const char *group)
{
	if (config_group_known(group))
		return true;
	for (size_t i = 0; i < config_option_count; i++)
		if (strcmp(config_options[i].group, group) == 0)
			return true;
	return false;
}

static void warn_unknown(const struct ini *ini)
{
	struct warned list[WARNINGS_MAX];
	unsigned count = 0;

	for (size_t i = 0; i < ini->count && count < WARNINGS_MAX; i++) {
		const struct ini_entry *entry = &ini->entries[i];
		const char *file = ini->sources[entry->source].name;
		bool known = group_known(entry->group);

		if (config_option(entry->group, entry->key) ||
		    config_ignored(entry->group, entry->key) ||
		    said(list, &count, entry->group, known ? entry->key : NULL))
			continue;
		if (known)
			zlog_warning("%s:%u: [%s] %s: unknown option, ignored", file, entry->line,
				     entry->group, entry->key);
		else
			zlog_warning("%s:%u: [%s]: unknown group, ignored", file, entry->line,
				     entry->group);
	}
	if (count == WARNINGS_MAX)
		zlog_warning("more unknown options are not listed");
}

static void warn_readable(const struct ini *ini)
{
	bool warned[INI_SOURCES_MAX] = {false};

	for (size_t i = 0; i < ini->count; i++) {
		const struct ini_entry *entry = &ini->entries[i];
		const struct ini_source *source = &ini->sources[entry->source];

		if (!source->others_may_read || warned[entry->source] ||
		    !config_is_secret(entry->group, entry->key))
			continue;
		warned[entry->source] = true;
		zlog_warning("%s: holds secrets and every user may read it", source->name);
	}
}

/* Appends [database] connection_parameters to connection, as oslo.db does. */
static int add_parameters(struct option_resolver *resolver, char **text, struct zerr *err)
{
	const struct option *option = config_option("database", "connection_parameters");
	struct option_origin origin;
	char *parameters = NULL, *both = NULL;
	int result = config_text(resolver, option, &parameters, &origin, err);

	if (result == 0 && parameters && parameters[0]) {
		if (asprintf(&both, "%s%c%s", *text, strchr(*text, '?') ? '&' : '?', parameters) <
		    0) {
			result = no_memory(-ENOMEM, err);
		} else {
			ini_wipe(*text);
			*text = both;
		}
	}
	ini_wipe(parameters);
	return result;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\n")] == '\0';
}

/* Fills the member from *text, which may be completed on the way. */
static int take_text(struct option_resolver *resolver, const struct option *option, char **text,
		     struct config *config, struct option_expected *expected)
{
	bool number = option->type == OPTION_INTEGER || option->type == OPTION_FLOAT;
	int result;

	/* oslo.config takes an empty number for "not set". */
	if (number && is_blank(*text))
		return option->initial ? config_convert(option, option->initial, config, expected)
				       : 0;
	if (option->type == OPTION_CONNECTION) {
		result = add_parameters(resolver, text, NULL);
		if (result < 0)
			return config_expect(expected, "connection_parameters cannot be read");
	}
	return config_convert(option, *text, config, expected);
}

static int apply(struct option_resolver *resolver, const struct option *option,
		 struct config *config, struct zerr *err)
{
	struct option_expected expected = {""};
	struct option_origin origin;
	char *text;
	int result = config_text(resolver, option, &text, &origin, err);

	if (result < 0 || !text)
		return result;
	result = take_text(resolver, option, &text, config, &expected);
	ini_wipe(text);
	if (result < 0 && expected.text[0])
		return config_fail(option, &origin, expected.text, err);
	if (result < 0)
		return no_memory(result, err);
	if (strcmp(option->name, "ssl_enforce_hostname_verification") == 0)
		config->rabbit_ssl_verify_name_set = origin.source || origin.variable[0];
	return 0;
}

struct overriding {
	struct config *config;
	const struct option_origin *origin;
	struct zerr *err;
};

/* Options of the bus may stand in the query of transport_url; they win. */
static int override(void *context, const char *key, const char *value)
{
	struct overriding *overriding = context;
	const struct option *option = config_option(RABBIT, key);
	struct option_expected expected = {""};
	int result;

	if (!option) {
		if (!config_ignored(RABBIT, key))
			zlog_warning("[DEFAULT] transport_url: unknown option %s in its query, "
				     "ignored",
				     key);
		return 0;
	}
	result = config_convert(option, value, overriding->config, &expected);
	if (result < 0)
		return config_fail(option, overriding->origin, expected.text, overriding->err);
	if (strcmp(option->name, "ssl_enforce_hostname_verification") == 0)
		overriding->config->rabbit_ssl_verify_name_set = true;
	return 0;
}

static int apply_query(struct option_resolver *resolver, struct config *config, struct zerr *err)
{
	const struct option *option = config_option("DEFAULT", "transport_url");
	struct option_origin origin;
	struct overriding overriding = {config, &origin, err};
	char *text;
	int result = config_text(resolver, option, &text, &origin, err);

	if (result < 0 || !text)
		return result;
	result = config_query(text, URL_TRANSPORT, override, &overriding);
	ini_wipe(text);
	if (result < 0 && (!err || err->code == 0))
		return config_fail(option, &origin, "its query has an option that is too long",
				   err);
	return result;
}

static int check_queues(struct option_resolver *resolver, const struct config *config,
			struct zerr *err)
{
	const struct option *option = config_option(RABBIT, "rabbit_ha_queues");
	struct option_origin origin;
	char *text;

	if (!config->rabbit_ha_queues || !config->rabbit_quorum)
		return 0;
	if (config_text(resolver, option, &text, &origin, err) == 0)
		ini_wipe(text);
	return config_fail(option, &origin, "not together with rabbit_quorum_queue", err);
}

static void settle(struct config *config, const struct ini *ini)
{
	const struct ini_entry *compression = ini_find(ini, RABBIT, "kombu_compression", NULL);
	int64_t *most = &config->executor_thread_pool_size;

	if (*most > CONFIG_WORKERS_MAX)
		*most = CONFIG_WORKERS_MAX;
	if (*most < 2)
		*most = 2;
	if (config->workers_min > *most)
		config->workers_min = *most;
	if (compression && compression->value[0])
		zlog_warning("%s:%u: [" RABBIT "] kombu_compression: not supported, compressed "
			     "messages are rejected",
			     ini->sources[compression->source].name, compression->line);
	/*
	 * The contract refuses to start with the published default key.  Nothing in this release
	 * decrypts with the key, so a node that runs today goes on running, and is told; the first
	 * code that uses the key has to refuse instead.
	 */
	if (!config->allow_default_key &&
	    strcmp(secret_text(&config->auth_encryption_key), CONFIG_DEFAULT_KEY) == 0)
		zlog_warning("[DEFAULT] auth_encryption_key: still the default that everybody "
			     "knows");
	else if (config->auth_encryption_key.length != strlen(CONFIG_DEFAULT_KEY))
		zlog_warning("[DEFAULT] auth_encryption_key: %zu characters expected",
			     strlen(CONFIG_DEFAULT_KEY));
}

static int fill(const struct ini *ini, bool environment, struct config *config, struct zerr *err)
{
	struct option_resolver resolver = {.ini = ini, .environment = environment};
	int result = 0;

	config->db_port = 5432;
	warn_unknown(ini);
	warn_readable(ini);
	for (size_t i = 0; i < config_option_count && result == 0; i++)
		result = apply(&resolver, &config_options[i], config, err);
	if (result == 0)
		result = apply_query(&resolver, config, err);
	if (result == 0)
		result = check_queues(&resolver, config, err);
	if (result == 0)
		settle(config, ini);
	return result;
}

int config_load(const struct config_source *source, struct config *config, struct zerr *err)
{
	struct zerr own = {0};
	struct ini *ini = calloc(1, sizeof(*ini));
	int result;

	if (!err)
		err = &own;
	err->code = 0;
	if (!ini)
		return no_memory(-ENOMEM, err);
	result = config_read_files(source, ini, err);
	if (result == 0)
		result = fill(ini, true, config, err);
	ini_clear(ini);
	free(ini);
	return result;
}

int config_parse(const char *name, const char *text, size_t length, struct config *config,
		 struct zerr *err)
{
	struct zerr own = {0};
	struct ini *ini = calloc(1, sizeof(*ini));
	int result;

	if (!err)
		err = &own;
	err->code = 0;
	if (!ini)
		return no_memory(-ENOMEM, err);
	result = ini_read(ini, name, text, length, err);
	if (result == 0)
		result = fill(ini, false, config, err);
	ini_clear(ini);
	free(ini);
	return result;
}

static void free_member(const struct option *option, struct config *config)
{
	char *at = (char *)config + option->member;

	if (option->type == OPTION_SECRET) {
		secret_clear((struct secret *)(void *)at);
	} else if (option->type == OPTION_LIST) {
		char **list = *(char ***)(void *)at;

		for (size_t i = 0; list && list[i]; i++)
			free(list[i]);
		free(list);
	} else if (option->type == OPTION_STRING || option->type == OPTION_HOST ||
		   option->type == OPTION_NAME || option->type == OPTION_CHOICE ||
		   option->type == OPTION_DRIVER || option->type == OPTION_SOCKET) {
		free(*(char **)(void *)at);
	}
}

void config_free(struct config *config)
{
	for (size_t i = 0; i < config_option_count; i++)
		if (config_options[i].type != OPTION_TRANSPORT &&
		    config_options[i].type != OPTION_CONNECTION &&
		    config_options[i].member != OPTION_NOWHERE)
			free_member(&config_options[i], config);
	for (unsigned i = 0; i < config->rabbit_count; i++)
		secret_clear(&config->rabbit[i].password);
	free(config->rabbit_vhost);
	free(config->db_host);
	free(config->db_name);
	free(config->db_user);
	free(config->db_options);
	secret_clear(&config->db_password);
	memset(config, 0, sizeof(*config));
}

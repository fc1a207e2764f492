/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths and ports of dispatcher, publisher and workers.  Runs before the
 * sandbox is closed, without a privilege.
 */
#include "unpriv/compute/rules.h"
#include "common/zbuf.h"
#include "common/zfd.h"
#include <stdio.h>
#include <string.h>

#define DNS_PORT 53 /* answers that do not fit into a datagram */

static void add_path(struct rules *rules, const char *path, bool writable)
{
	if (!path || path[0] == '\0' || rules->path_count == RULES_PATHS_MAX)
		return;
	rules->paths[rules->path_count++] = (struct sandbox_path){path, writable};
}

static void add_port(struct rules *rules, uint16_t port)
{
	for (size_t i = 0; i < rules->port_count; i++)
		if (rules->ports[i] == port)
			return;
	if (port != 0 && rules->port_count < RULES_PORTS_MAX)
		rules->ports[rules->port_count++] = port;
}

/* The port of the URL, and those that single hosts of a list name: "db1:5433,[::1]:5434". */
static void add_database_ports(struct rules *rules, const struct config *config)
{
	const char *list = config->db_host ? config->db_host : "";

	add_port(rules, config->db_port ? config->db_port : 5432);
	while (*list) {
		size_t length = strcspn(list, ",");
		const char *colon = memrchr(list, ':', length);
		char port[8];
		uint64_t number = 0;

		/* A bare IPv6 address has colons, but no port. */
		if (colon && (*list == '[' || memchr(list, ':', length) == colon) &&
		    zstr_copy((struct zstr){colon + 1, (size_t)(list + length - colon) - 1}, port,
			      sizeof(port)) == 0 &&
		    zfd_parse_u64(port, 65535, &number) == 0)
			add_port(rules, (uint16_t)number);
		list += length + (list[length] == ',');
	}
}

/* Names and certificates: all three look hosts up and check peers. */
static void add_common(struct rules *rules)
{
	static const struct sandbox_path common[] = {SANDBOX_RESOLVER_PATHS, SANDBOX_CA_PATHS};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		add_path(rules, common[i].path, common[i].writable);
	add_port(rules, DNS_PORT);
}

static void add_bus(struct rules *rules, const struct config *config)
{
	add_path(rules, config->rabbit_ssl_ca_file, false);
	add_path(rules, config->rabbit_ssl_cert_file, false);
	add_path(rules, config->rabbit_ssl_key_file, false);
	for (unsigned i = 0; i < config->rabbit_count; i++)
		add_port(rules, config->rabbit[i].port);
}

/* The value of one libpq pair, key='value' with backslashes before quotes and backslashes. */
static bool find_pair(const char *pairs, const char *key, char *out, size_t size)
{
	size_t length = strlen(key), used = 0;
	const char *at;

	for (at = pairs; at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
		if (strncmp(at, key, length) == 0 && strncmp(at + length, "='", 2) == 0)
			break;
	if (!at)
		return false;
	for (at += length + 2; *at && *at != '\''; at++) {
		if (*at == '\\' && at[1])
			at++;
		if (used + 1 == size)
			return false;
		out[used++] = *at;
	}
	out[used] = '\0';
	return out[0] == '/';
}

static void add_store(struct rules *rules, const struct config *config)
{
	static const char *const keys[] = {"sslrootcert", "sslcert", "sslkey", "sslcrl"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (config->db_options &&
		    find_pair(config->db_options, keys[i], rules->database_files[i],
			      sizeof(rules->database_files[i])))
			add_path(rules, rules->database_files[i], false);
	add_database_ports(rules, config);
}

/* What the inventory is made of. */
static void add_node(struct rules *rules)
{
	add_path(rules, "/proc/meminfo", false);
	add_path(rules, "/sys/devices/system/node", false);
	add_path(rules, "/sys/devices/system/cpu", false);
}

static void finish(struct rules *rules, const struct rules_source *source)
{
	rules->paths[rules->path_count] = (struct sandbox_path){NULL, false};
	rules->ports[rules->port_count] = 0;
	rules->confine = (struct sandbox_confine){.paths = rules->paths,
						  .connect_ports = rules->ports,
						  .landlock_min_abi = source->landlock_min_abi,
						  .board = source->board};
}

void rules_dispatcher(struct rules *rules, const struct rules_source *source)
{
	memset(rules, 0, sizeof(*rules));
	add_common(rules);
	add_path(rules, source->state_directory, true);
	/* The configuration is read again on SIGHUP. */
	add_path(rules, "/etc/zun", false);
	for (const char *const *path = source->config_paths; path && *path; path++)
		add_path(rules, *path, false);
	add_bus(rules, source->config);
	add_store(rules, source->config);
	/* A worker's own folder in /proc can only be named from within: see rules_worker. */
	add_path(rules, "/proc", false);
	add_node(rules);
	finish(rules, source);
}

void rules_publisher(struct rules *rules, const struct rules_source *source)
{
	memset(rules, 0, sizeof(*rules));
	add_common(rules);
	add_bus(rules, source->config);
	finish(rules, source);
}

void rules_worker(struct rules *rules, const struct rules_source *source)
{
	memset(rules, 0, sizeof(*rules));
	add_common(rules);
	add_path(rules, source->state_directory, true);
	add_store(rules, source->config);
	add_path(rules, "/proc/self/mountinfo", false);
	add_node(rules);
	finish(rules, source);
}

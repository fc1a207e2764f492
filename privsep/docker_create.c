/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A create request: judged by the site policy, then written as the engine's
 * JSON, member by member (docker-driver.md §2).  Runs in the servers of the
 * docker domain.  No text of the caller is ever taken as JSON (SECURITY-BAR F4),
 * and a member that is not written here cannot be asked for (F3).
 */
#include "privsep/docker_create.h"
#include "common/imageref.h"
#include "common/jsonw.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Shares of a container that names none, as the engine has it: 1 cpu. */
#define CPU_SHARES_DEFAULT 1024U
/* The first API whose create takes a runtime from the caller (docker-driver.md §2). */
#define RUNTIME_API_MINOR 26

static const char *const restart_names[] = {
	[PROTO_RESTART_NO] = "no",
	[PROTO_RESTART_ALWAYS] = "always",
	[PROTO_RESTART_ON_FAILURE] = "on-failure",
	[PROTO_RESTART_UNLESS_STOPPED] = "unless-stopped",
};

static const char *judge_labels(const struct req_docker_container_create *create)
{
	size_t prefix = sizeof(KEELSON_LABEL_PREFIX) - 1;

	for (size_t i = 0; i < create->labels_count; i += 2) {
		struct zstr key = create->labels[i];

		if (key.length >= prefix &&
		    strncasecmp(key.data, KEELSON_LABEL_PREFIX, prefix) == 0)
			return "label_reserved";
		/* An engine takes the last of two equal names: which one counts is not left to it.
		 */
		for (size_t j = 0; j < i; j += 2) {
			if (key.length == create->labels[j].length &&
			    memcmp(key.data, create->labels[j].data, key.length) == 0)
				return "label_duplicate";
		}
	}
	return NULL;
}

static bool above(uint64_t value, uint64_t ceiling)
{
	return ceiling != 0 && value > ceiling;
}

const char *docker_image_judge(const struct site_policy *site, struct zstr image)
{
	struct imageref reference;

	if (imageref_parse(image, &reference) < 0 ||
	    !site_list_has(&site->registries, reference.domain))
		return "registries";
	return NULL;
}

const char *docker_create_judge(const struct site_policy *site,
				const struct req_docker_container_create *create)
{
	if (create->privileged && !site->privileged)
		return "privileged";
	if (above(create->memory_bytes, site->memory_max_bytes))
		return "memory_max";
	if (above(create->cpu_shares, site->cpu_shares_max))
		return "cpu_max";
	if (above(create->storage_gib, site->disk_max_gib))
		return "disk_max";
	if (create->runtime.length > 0 && create->api_minor < RUNTIME_API_MINOR)
		return "runtime_api";
	if (create->runtime.length > 0 && !site_list_has(&site->runtimes, create->runtime))
		return "runtimes";
	if (docker_image_judge(site, create->image) != NULL)
		return "registries";
	return judge_labels(create);
}

static void write_list(struct jsonw *json, const char *key, const struct zstr *items, size_t count)
{
	jsonw_key(json, key);
	jsonw_array(json);
	for (size_t i = 0; i < count; i++)
		jsonw_str(json, items[i]);
	jsonw_end_array(json);
}

static void write_text(struct jsonw *json, const char *key, struct zstr value)
{
	if (value.length == 0)
		return;
	jsonw_key(json, key);
	jsonw_str(json, value);
}

static void write_bool(struct jsonw *json, const char *key, bool value)
{
	jsonw_key(json, key);
	jsonw_bool(json, value);
}

static void write_number(struct jsonw *json, const char *key, uint64_t value)
{
	jsonw_key(json, key);
	jsonw_u64(json, value);
}

/* An object whose members are names without content: {"80/tcp":{}}. */
static void write_set(struct jsonw *json, const char *key, const struct zstr *items, size_t count)
{
	jsonw_key(json, key);
	jsonw_object(json);
	for (size_t i = 0; i < count; i++) {
		jsonw_key_str(json, items[i]);
		jsonw_object(json);
		jsonw_end_object(json);
	}
	jsonw_end_object(json);
}

static void write_environment(struct jsonw *json, const struct req_docker_container_create *create,
			      char *pair)
{
	jsonw_key(json, "Env");
	jsonw_array(json);
	for (size_t i = 0; i < create->environment_count; i += 2) {
		struct zwriter text;

		zwriter_init(&text, pair, CREATE_PAIR_MAX);
		zput_bytes(&text, create->environment[i].data, create->environment[i].length);
		zput_bytes(&text, "=", 1);
		zput_bytes(&text, create->environment[i + 1].data,
			   create->environment[i + 1].length);
		jsonw_str(json, (struct zstr){pair, text.used});
	}
	jsonw_end_array(json);
}

static void write_labels(struct jsonw *json, const struct req_docker_container_create *create)
{
	char uuid[UUID_TEXT_SIZE];

	uuid_format(create->uuid, uuid);
	jsonw_key(json, "Labels");
	jsonw_object(json);
	write_text(json, KEELSON_LABEL_UUID, zstr_from(uuid));
	for (size_t i = 0; i < create->labels_count; i += 2) {
		jsonw_key_str(json, create->labels[i]);
		jsonw_str(json, create->labels[i + 1]);
	}
	jsonw_end_object(json);
}

static void write_health(struct jsonw *json, const struct req_docker_container_create *create)
{
	struct zstr test[] = {zstr_from("CMD-SHELL"), create->health_command};

	jsonw_key(json, "Healthcheck");
	jsonw_object(json);
	write_list(json, "Test", test, 2);
	write_number(json, "Interval", create->health_interval_ns);
	write_number(json, "Timeout", create->health_timeout_ns);
	write_number(json, "Retries", create->health_retries);
	jsonw_key(json, "StartPeriod");
	jsonw_null(json);
	jsonw_end_object(json);
}

/* What a request does not name is unlimited for the engine: then the ceiling is asked for. */
static void write_limits(struct jsonw *json, const struct site_policy *site,
			 const struct req_docker_container_create *create)
{
	uint64_t memory = create->memory_bytes ? create->memory_bytes : site->memory_max_bytes;
	uint64_t gib = create->storage_gib ? create->storage_gib : site->disk_max_gib;
	uint64_t shares = create->cpu_shares;
	char size[24];

	if (shares == 0 && above(CPU_SHARES_DEFAULT, site->cpu_shares_max))
		shares = site->cpu_shares_max;
	if (memory != 0)
		write_number(json, "Memory", memory);
	if (shares != 0)
		write_number(json, "CpuShares", shares);
	if (site->pids_max != 0)
		write_number(json, "PidsLimit", site->pids_max);
	if (gib == 0)
		return;
	(void)snprintf(size, sizeof(size), "%" PRIu64 "G", gib); /* 20 digits at most */
	jsonw_key(json, "StorageOpt");
	jsonw_object(json);
	write_text(json, "size", zstr_from(size));
	jsonw_end_object(json);
}

static void write_host_config(struct jsonw *json, const struct site_policy *site,
			      const struct req_docker_container_create *create)
{
	struct zstr no_new_privileges = zstr_from("no-new-privileges");
	struct zstr runtime = create->runtime;

	/* Not whatever the engine has as its default: that need not be on the list. */
	if (runtime.length == 0 && !site->runtimes.any && site->runtimes.count > 0)
		runtime = zstr_from(site->runtimes.items[0]);
	jsonw_key(json, "HostConfig");
	jsonw_object(json);
	write_list(json, "Binds", NULL, 0);
	write_text(json, "NetworkMode", zstr_from("none"));
	write_text(json, "Runtime", runtime);
	write_limits(json, site, create);
	if (create->restart_policy != PROTO_RESTART_UNSET) {
		jsonw_key(json, "RestartPolicy");
		jsonw_object(json);
		write_text(json, "Name", zstr_from(restart_names[create->restart_policy]));
		write_number(json, "MaximumRetryCount", create->restart_retries);
		jsonw_end_object(json);
	}
	if (create->auto_remove)
		write_bool(json, "AutoRemove", true);
	/* The policy is asked again here, so that no order of calls can leave it out. */
	if (create->privileged && site->privileged)
		write_bool(json, "Privileged", true);
	if (site->no_new_privileges)
		write_list(json, "SecurityOpt", &no_new_privileges, 1);
	jsonw_end_object(json);
}

int docker_create_json(const struct site_policy *site,
		       const struct req_docker_container_create *create,
		       struct create_buffer *buffer, struct zstr *text)
{
	struct jsonw json;

	jsonw_init(&json, buffer->json, sizeof(buffer->json));
	jsonw_object(&json);
	write_text(&json, "Image", create->image);
	/* An empty list would take the image's own away (docker-driver.md §2). */
	if (create->command_count > 0)
		write_list(&json, "Cmd", create->command, create->command_count);
	if (create->entrypoint_count > 0)
		write_list(&json, "Entrypoint", create->entrypoint, create->entrypoint_count);
	if (create->environment_count > 0)
		write_environment(&json, create, buffer->pair);
	write_labels(&json, create);
	write_text(&json, "WorkingDir", create->workdir);
	write_text(&json, "Hostname", create->hostname);
	write_bool(&json, "Tty", create->tty);
	write_bool(&json, "OpenStdin", create->interactive);
	write_bool(&json, "AttachStdin", create->interactive);
	write_bool(&json, "StdinOnce", create->interactive);
	write_bool(&json, "AttachStdout", true);
	write_bool(&json, "AttachStderr", true);
	write_bool(&json, "NetworkDisabled", false);
	write_set(&json, "Volumes", NULL, 0);
	if (create->exposed_ports_count > 0)
		write_set(&json, "ExposedPorts", create->exposed_ports,
			  create->exposed_ports_count);
	if (create->healthcheck)
		write_health(&json, create);
	write_host_config(&json, site, create);
	jsonw_end_object(&json);
	if (!jsonw_done(&json))
		return -EMSGSIZE;
	*text = (struct zstr){json.data, json.used};
	return 0;
}

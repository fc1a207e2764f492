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

/* A member of an object, of one of jsonw's types; a member that is an object or a list, opened. */
#define PUT(key, type, value) (jsonw_key(json, key), jsonw_##type(json, value))
#define OPEN(key, type)	      (jsonw_key(json, key), jsonw_##type(json))

static void put_list(struct jsonw *json, const char *key, const struct zstr *items, size_t count)
{
	OPEN(key, array);
	for (size_t i = 0; i < count; i++)
		jsonw_str(json, items[i]);
	jsonw_end_array(json);
}

static void put_text(struct jsonw *json, const char *key, struct zstr value)
{
	if (value.length > 0)
		PUT(key, str, value);
}

/* An object whose members are names without content: {"80/tcp":{}}. */
static void put_set(struct jsonw *json, const char *key, const struct zstr *items, size_t count)
{
	OPEN(key, object);
	for (size_t i = 0; i < count; i++) {
		jsonw_key_str(json, items[i]);
		jsonw_object(json);
		jsonw_end_object(json);
	}
	jsonw_end_object(json);
}

static void put_environment(struct jsonw *json, const struct req_docker_container_create *create,
			    char *pair)
{
	const struct zstr *text = create->environment;
	struct zwriter writer;

	OPEN("Env", array);
	for (size_t i = 0; i < create->environment_count; i += 2) {
		zwriter_init(&writer, pair, CREATE_PAIR_MAX);
		zput_bytes(&writer, text[i].data, text[i].length);
		zput_bytes(&writer, "=", 1);
		zput_bytes(&writer, text[i + 1].data, text[i + 1].length);
		jsonw_str(json, (struct zstr){pair, writer.used});
	}
	jsonw_end_array(json);
}

static void put_labels(struct jsonw *json, const struct req_docker_container_create *create)
{
	char uuid[UUID_TEXT_SIZE];

	uuid_format(create->uuid, uuid);
	OPEN("Labels", object);
	PUT(KEELSON_LABEL_UUID, cstr, uuid);
	for (size_t i = 0; i < create->labels_count; i += 2) {
		jsonw_key_str(json, create->labels[i]);
		jsonw_str(json, create->labels[i + 1]);
	}
	jsonw_end_object(json);
}

static void put_health(struct jsonw *json, const struct req_docker_container_create *create)
{
	struct zstr test[] = {zstr_from("CMD-SHELL"), create->health_command};

	OPEN("Healthcheck", object);
	put_list(json, "Test", test, 2);
	PUT("Interval", u64, create->health_interval_ns);
	PUT("Timeout", u64, create->health_timeout_ns);
	PUT("Retries", u64, create->health_retries);
	OPEN("StartPeriod", null);
	jsonw_end_object(json);
}

/* What a request does not name is unlimited for the engine: then the ceiling is asked for. */
static void put_limits(struct jsonw *json, const struct site_policy *site,
		       const struct req_docker_container_create *create)
{
	uint64_t memory = create->memory_bytes ? create->memory_bytes : site->memory_max_bytes;
	uint64_t gib = create->storage_gib ? create->storage_gib : site->disk_max_gib;
	uint64_t shares = create->cpu_shares;
	char size[24];

	if (shares == 0 && above(CPU_SHARES_DEFAULT, site->cpu_shares_max))
		shares = site->cpu_shares_max;
	if (memory != 0)
		PUT("Memory", u64, memory);
	if (shares != 0)
		PUT("CpuShares", u64, shares);
	if (site->pids_max != 0)
		PUT("PidsLimit", u64, site->pids_max);
	if (gib == 0)
		return;
	(void)snprintf(size, sizeof(size), "%" PRIu64 "G", gib); /* 20 digits at most */
	OPEN("StorageOpt", object);
	PUT("size", cstr, size);
	jsonw_end_object(json);
}

static void put_host_config(struct jsonw *json, const struct site_policy *site,
			    const struct req_docker_container_create *create)
{
	struct zstr no_new_privileges = zstr_from("no-new-privileges");
	struct zstr runtime = create->runtime;

	/* Not whatever the engine has as its default: that need not be on the list. */
	if (runtime.length == 0 && !site->runtimes.any && site->runtimes.count > 0)
		runtime = zstr_from(site->runtimes.items[0]);
	OPEN("HostConfig", object);
	put_list(json, "Binds", NULL, 0);
	PUT("NetworkMode", cstr, "none");
	put_text(json, "Runtime", runtime);
	put_limits(json, site, create);
	if (create->restart_policy != PROTO_RESTART_UNSET) {
		OPEN("RestartPolicy", object);
		PUT("Name", cstr, restart_names[create->restart_policy]);
		PUT("MaximumRetryCount", u64, create->restart_retries);
		jsonw_end_object(json);
	}
	if (create->auto_remove)
		PUT("AutoRemove", bool, true);
	/* The policy is asked again here, so that no order of calls can leave it out. */
	if (create->privileged && site->privileged)
		PUT("Privileged", bool, true);
	if (site->no_new_privileges)
		put_list(json, "SecurityOpt", &no_new_privileges, 1);
	jsonw_end_object(json);
}

bool docker_create_json(const struct site_policy *site,
			const struct req_docker_container_create *create,
			struct create_buffer *buffer, struct zstr *text)
{
	struct jsonw writer, *json = &writer;

	jsonw_init(json, buffer->json, sizeof(buffer->json));
	jsonw_object(json);
	PUT("Image", str, create->image);
	/* An empty list would take the image's own away (docker-driver.md §2). */
	if (create->command_count > 0)
		put_list(json, "Cmd", create->command, create->command_count);
	if (create->entrypoint_count > 0)
		put_list(json, "Entrypoint", create->entrypoint, create->entrypoint_count);
	if (create->environment_count > 0)
		put_environment(json, create, buffer->pair);
	put_labels(json, create);
	put_text(json, "WorkingDir", create->workdir);
	put_text(json, "Hostname", create->hostname);
	PUT("Tty", bool, create->tty);
	PUT("OpenStdin", bool, create->interactive);
	PUT("AttachStdin", bool, create->interactive);
	PUT("StdinOnce", bool, create->interactive);
	PUT("AttachStdout", bool, true);
	PUT("AttachStderr", bool, true);
	PUT("NetworkDisabled", bool, false);
	put_set(json, "Volumes", NULL, 0);
	if (create->exposed_ports_count > 0)
		put_set(json, "ExposedPorts", create->exposed_ports, create->exposed_ports_count);
	if (create->healthcheck)
		put_health(json, create);
	put_host_config(json, site, create);
	jsonw_end_object(json);
	*text = (struct zstr){json->data, json->used};
	return jsonw_done(json);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a row into the typed request from which the helper writes the engine's
 * create, and compares it with a container that is there already.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/docker_create.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/driver/docker_fields.h"
#include "unpriv/driver/docker_state.h"
#include "unpriv/store/amount.h"

#define NS_PER_S	  INT64_C(1000000000)
#define RUNTIME_API_MINOR 26 /* HostConfig.Runtime came with API 1.26 */
#define SHARES_PER_CPU	  1024
#define SHARES_MIN	  2 /* the least weight that the kernel takes */

/* "80/tcp", or "80" for tcp. */
static int put_ports(struct builder *builder)
{
	_cleanup_(json_putp) struct json_object *map = NULL;
	int result = builder_json(builder, CONTAINER_exposed_ports, "exposed_ports",
				  json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	json_object_object_foreach(map, key, unused)
	{
		char port[24];
		int length = snprintf(port, sizeof(port), "%s%s", key,
				      strchr(key, '/') == NULL ? "/tcp" : "");

		(void)unused;
		if (length < 0 || (size_t)length >= sizeof(port))
			return builder_bad(builder, "exposed_ports", "ports as 80/tcp");
		result = builder_append(builder, "exposed_ports", TEXT_PORT, zstr_from(port));
		if (result < 0)
			return result;
	}
	return 0;
}

static int put_restart_policy(struct builder *builder)
{
	static const char *const names[] = {
		[PROTO_RESTART_UNSET] = "",
		[PROTO_RESTART_NO] = "no",
		[PROTO_RESTART_ALWAYS] = "always",
		[PROTO_RESTART_ON_FAILURE] = "on-failure",
		[PROTO_RESTART_UNLESS_STOPPED] = "unless-stopped",
	};
	_cleanup_(json_putp) struct json_object *map = NULL;
	const char *name = NULL;
	uint64_t retries = 0;
	int result = builder_json(builder, CONTAINER_restart_policy, "restart_policy",
				  json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	result = json_get_string(map, "Name", &name, builder->err);
	if (result == 0)
		result = builder_count(builder, map, "MaximumRetryCount", INT32_MAX, &retries);
	if (result < 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name != NULL ? name : "", names[i]) == 0) {
			builder->create->request.restart_policy = (uint8_t)i;
			builder->create->request.restart_retries = (uint32_t)retries;
			return 0;
		}
	}
	return builder_bad(builder, "restart_policy", "no, always, on-failure or unless-stopped");
}

static int put_healthcheck(struct builder *builder)
{
	struct req_docker_container_create *request = &builder->create->request;
	_cleanup_(json_putp) struct json_object *map = NULL;
	const char *test = NULL;
	uint64_t interval = 0, timeout = 0, retries = 0;
	int result =
		builder_json(builder, CONTAINER_healthcheck, "healthcheck", json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	result = json_get_string(map, "test", &test, builder->err);
	if (result == 0)
		result = builder_count(builder, map, "interval", INT64_MAX / NS_PER_S, &interval);
	if (result == 0)
		result = builder_count(builder, map, "timeout", INT64_MAX / NS_PER_S, &timeout);
	if (result == 0)
		result = builder_count(builder, map, "retries", INT32_MAX, &retries);
	if (result == 0 && test != NULL)
		result = builder_check(builder, "health_command", TEXT_UTF8, zstr_from(test));
	if (result < 0 || test == NULL)
		return result;
	request->healthcheck = 1;
	request->health_command = builder_keep(builder->create, zstr_from(test));
	request->health_interval_ns = interval * (uint64_t)NS_PER_S;
	request->health_timeout_ns = timeout * (uint64_t)NS_PER_S;
	request->health_retries = (uint32_t)retries;
	return 0;
}

static int put_runtime(struct builder *builder)
{
	const struct docker_create_options *options = builder->options;
	const char *wanted = container_text(builder->row, CONTAINER_runtime);

	if (options->api_minor >= RUNTIME_API_MINOR)
		return builder_text(builder, "runtime",
				    wanted[0] != '\0' ? wanted : options->default_runtime);
	if (wanted[0] != '\0')
		return zerr_set(builder->err, -EINVAL,
				"runtime: the engine's API 1.%u cannot choose one",
				options->api_minor);
	return 0;
}

static int put_resources(struct builder *builder)
{
	struct req_docker_container_create *request = &builder->create->request;
	const struct container *row = builder->row;
	int64_t memory;
	double cpus, shares;

	if (amount_memory_bytes(row->memory, &memory) < 0)
		return builder_bad(builder, "memory", "a whole number of MiB");
	if (amount_cpu_number(row->cpu, &cpus) < 0)
		return builder_bad(builder, "cpu", "a number of 0 or more");
	shares = cpus * SHARES_PER_CPU;
	if (shares > (double)builder_field("cpu_shares")->greatest)
		return builder_bad(builder, "cpu", "at most 256");
	if (row->disk < 0 || (uint64_t)row->disk > builder_field("storage_gib")->greatest)
		return builder_bad(builder, "disk", "a whole number of GiB");
	request->memory_bytes = (uint64_t)memory;
	request->cpu_shares = (uint32_t)shares;
	if (cpus > 0 && request->cpu_shares < SHARES_MIN)
		request->cpu_shares = SHARES_MIN;
	request->storage_gib = (uint32_t)row->disk;
	return 0;
}

/* The whole request has to fit a memfd of the channel. */
static int check_size(struct builder *builder)
{
	const struct proto_row *row = proto_find(PROTO_DOCKER, PRIV_docker_container_create);
	_cleanup_free_ uint8_t *space = malloc(PROTO_LARGE_MAX);
	struct req_docker_container_create *request = &builder->create->request;
	struct zwriter writer;

	if (space == NULL)
		return -ENOMEM;
	zwriter_init(&writer, space, PROTO_LARGE_MAX);
	/* The two that are not known yet have bounds above 0. */
	request->api_minor = (uint8_t)builder_field("api_minor")->least;
	request->wait_ms = 1;
	proto_encode(row->fields, row->field_count, request, &writer);
	if (!writer.failed)
		return 0;
	return zerr_set(builder->err, -EINVAL,
			"command, environment and labels together pass %d bytes", PROTO_LARGE_MAX);
}

static int put_plain(struct builder *builder)
{
	const struct container *row = builder->row;
	struct req_docker_container_create *request = &builder->create->request;
	int result;

	request->tty = row->tty;
	request->interactive = row->interactive;
	request->auto_remove = row->auto_remove;
	request->privileged = row->privileged;
	if (uuid_parse(zstr_from(row->uuid), request->uuid) < 0)
		return builder_bad(builder, "uuid", "a UUID");
	result = builder_text(builder, "image", builder->options->reference);
	if (result == 0)
		result = builder_text(builder, "workdir", row->workdir);
	if (result == 0)
		result = builder_text(builder, "hostname", row->hostname);
	return result;
}

static int put_strings(struct builder *builder)
{
	int result = builder_list(builder, CONTAINER_command, "command");

	if (result == 0)
		result = builder_list(builder, CONTAINER_entrypoint, "entrypoint");
	if (result == 0)
		result = builder_pairs(builder, CONTAINER_environment, "environment");
	if (result == 0)
		result = builder_pairs(builder, CONTAINER_labels, "labels");
	return result;
}

static int put_all(struct builder *builder)
{
	static int (*const steps[])(struct builder *) = {
		put_plain,	    put_strings, put_runtime,	  put_resources,
		put_restart_policy, put_ports,	 put_healthcheck, check_size,
	};
	int result = 0;

	for (size_t i = 0; result == 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		result = steps[i](builder);
	return result;
}

/* Room for every string of the JSON columns; a port may grow by "/tcp". */
static size_t strings_size(const struct container *row)
{
	static const enum container_column columns[] = {
		CONTAINER_command,	 CONTAINER_entrypoint,	CONTAINER_environment,
		CONTAINER_labels,	 CONTAINER_healthcheck, CONTAINER_exposed_ports,
		CONTAINER_exposed_ports,
	};
	size_t size = 1;

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		size += strlen(container_text(row, columns[i]));
	return size;
}

int docker_create_build(const struct container *row, const struct docker_create_options *options,
			struct docker_create **create, struct zerr *err)
{
	_cleanup_(docker_create_freep) struct docker_create *built = calloc(1, sizeof(*built));
	struct builder builder = {.create = built, .row = row, .options = options, .err = err};
	int result;

	if (built == NULL)
		return zerr_set(err, -ENOMEM, "out of memory");
	built->size = strings_size(row);
	built->strings = malloc(built->size);
	if (built->strings == NULL)
		return zerr_set(err, -ENOMEM, "out of memory");
	result = put_all(&builder);
	if (result < 0)
		return result;
	*create = TAKE_PTR(built);
	return 0;
}

void docker_create_free(struct docker_create *create)
{
	if (create != NULL)
		free(create->strings);
	free(create);
}

void docker_create_freep(struct docker_create **create)
{
	docker_create_free(*create);
}

/* Are all our environment entries in the container's? (The image adds its own.) */
static bool environment_matches(const struct req_docker_container_create *request, const char *text)
{
	_cleanup_(json_putp) struct json_object *list =
		json_tokener_parse(text != NULL ? text : "[]");
	size_t found = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct zstr entry =
			zstr_from(json_object_get_string(json_object_array_get_idx(list, i)));

		for (size_t j = 0; j + 1 < request->environment_count; j += 2) {
			struct zstr key = request->environment[j],
				    value = request->environment[j + 1];

			if (entry.length == key.length + 1 + value.length &&
			    memcmp(entry.data, key.data, key.length) == 0 &&
			    entry.data[key.length] == '=' &&
			    memcmp(entry.data + key.length + 1, value.data, value.length) == 0)
				found++;
		}
	}
	return found == request->environment_count / 2;
}

bool docker_create_matches(const struct docker_create *create, const struct container *row,
			   const struct docker_container *container)
{
	const struct req_docker_container_create *request = &create->request;

	return container->image != NULL && zstr_equal(request->image, container->image) &&
	       docker_same_strings(row->command, container->command) &&
	       docker_same_strings(row->entrypoint, container->entrypoint) &&
	       environment_matches(request, container->environment) && container->tty == row->tty &&
	       container->interactive == row->interactive &&
	       container->auto_remove == row->auto_remove &&
	       container->memory == (int64_t)request->memory_bytes &&
	       container->cpu_shares == (int64_t)request->cpu_shares;
}

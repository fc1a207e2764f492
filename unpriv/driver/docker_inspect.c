/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the inspect answers of containers and images, and the answer to a create.
 * Missing, null and unknown members are normal (known-faults R12); a member of
 * the wrong type is an error, so that no half-read state reaches a row.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/docker_inspect.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/image/image_name.h"

/* Copies a string member to out[size]; absent is "", too long is an error. */
static int copy_string(struct json_object *object, const char *key, char *out, size_t size,
		       struct zerr *err)
{
	const char *value = NULL;
	int result = json_get_string(object, key, &value, err);

	if (result < 0)
		return result;
	if (zstr_copy(zstr_from(value), out, size) < 0)
		return zerr_set(err, -EBADMSG, "%s: longer than %zu bytes", key, size - 1);
	return 0;
}

static int own_string(struct json_object *object, const char *key, char **out, struct zerr *err)
{
	const char *value = NULL;
	int result = json_get_string(object, key, &value, err);

	if (result < 0 || value == NULL)
		return result;
	*out = strdup(value);
	return *out == NULL ? -ENOMEM : 0;
}

/* An array of strings, kept as JSON text; null stays NULL. */
static int own_strings(struct json_object *object, const char *key, char **out, struct zerr *err)
{
	struct json_object *array = NULL;
	int result = json_get_array(object, key, &array, err);

	if (result < 0 || array == NULL)
		return result;
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		if (!json_object_is_type(json_object_array_get_idx(array, i), json_type_string))
			return zerr_set(err, -EBADMSG, "%s: expected strings", key);
	}
	*out = strdup(json_object_to_json_string_ext(array, JSON_C_TO_STRING_PLAIN));
	return *out == NULL ? -ENOMEM : 0;
}

static int read_flags(struct json_object *object, struct docker_state *state, struct zerr *err)
{
	const struct {
		const char *key;
		bool *value;
	} flags[] = {{"Paused", &state->paused},
		     {"Running", &state->running},
		     {"Restarting", &state->restarting},
		     {"Dead", &state->dead}};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int result = json_get_bool(object, flags[i].key, flags[i].value, err);

		if (result < 0)
			return result;
	}
	return 0;
}

static int read_state(struct json_object *inspect, struct docker_state *state, struct zerr *err)
{
	struct json_object *object = NULL;
	const char *error = NULL;
	int result = json_get_object(inspect, "State", &object, err);

	if (result < 0)
		return result;
	/* An empty map says as little as none. */
	if (object == NULL || json_object_object_length(object) == 0)
		return 0;
	state->present = true;
	result = read_flags(object, state, err);
	if (result == 0)
		result = json_get_string(object, "Error", &error, err);
	if (result == 0)
		result = json_get_int(object, "ExitCode", INT32_MIN, UINT32_MAX, &state->exit_code,
				      err);
	if (result == 0)
		result = copy_string(object, "Status", state->status, sizeof(state->status), err);
	if (result == 0)
		result =
			copy_string(object, "StartedAt", state->started_at, DOCKER_STAMP_SIZE, err);
	if (result == 0)
		result = copy_string(object, "FinishedAt", state->finished_at, DOCKER_STAMP_SIZE,
				     err);
	state->error = error != NULL && error[0] != '\0';
	return result;
}

/* The numbers of "80/tcp": {} and the like. */
static int read_ports(struct json_object *config, struct docker_container *container,
		      struct zerr *err)
{
	struct json_object *ports = NULL;
	int result = json_get_object(config, "ExposedPorts", &ports, err);

	if (result < 0 || ports == NULL)
		return result;
	json_object_object_foreach(ports, key, unused)
	{
		char number[8];
		const char *slash = strchrnul(key, '/');
		uint64_t port;

		(void)unused;
		if (container->port_count == DOCKER_PORTS_MAX)
			return zerr_set(err, -EBADMSG, "more than %d exposed ports",
					DOCKER_PORTS_MAX);
		if (zstr_copy((struct zstr){key, (size_t)(slash - key)}, number, sizeof(number)) <
			    0 ||
		    zfd_parse_u64(number, UINT16_MAX, &port) < 0)
			return zerr_set(err, -EBADMSG, "an exposed port is no number");
		container->ports[container->port_count++] = (uint16_t)port;
	}
	return 0;
}

static int read_label(struct json_object *config, struct docker_container *container,
		      struct zerr *err)
{
	struct json_object *labels = NULL;
	int result = json_get_object(config, "Labels", &labels, err);

	if (result < 0 || labels == NULL)
		return result;
	return own_string(labels, DOCKER_LABEL_UUID, &container->label_uuid, err);
}

static int read_config(struct json_object *inspect, struct docker_container *container,
		       struct zerr *err)
{
	struct json_object *config = NULL;
	int result = json_get_object(inspect, "Config", &config, err);

	if (result < 0 || config == NULL)
		return result;
	result = own_string(config, "Hostname", &container->hostname, err);
	if (result == 0)
		result = own_string(config, "Image", &container->image, err);
	if (result == 0)
		result = own_strings(config, "Cmd", &container->command, err);
	if (result == 0)
		result = own_strings(config, "Entrypoint", &container->entrypoint, err);
	if (result == 0)
		result = own_strings(config, "Env", &container->environment, err);
	if (result == 0)
		result = json_get_bool(config, "Tty", &container->tty, err);
	if (result == 0)
		result = json_get_bool(config, "OpenStdin", &container->interactive, err);
	if (result == 0)
		result = read_ports(config, container, err);
	if (result == 0)
		result = read_label(config, container, err);
	return result;
}

static int read_host_config(struct json_object *inspect, struct docker_container *container,
			    struct zerr *err)
{
	struct json_object *config = NULL;
	int result = json_get_object(inspect, "HostConfig", &config, err);

	if (result < 0 || config == NULL)
		return result;
	result = own_string(config, "Runtime", &container->runtime, err);
	if (result == 0)
		result = json_get_bool(config, "AutoRemove", &container->auto_remove, err);
	if (result == 0)
		result = json_get_int(config, "Memory", INT64_MIN, INT64_MAX, &container->memory,
				      err);
	if (result == 0)
		result = json_get_int(config, "CpuShares", INT64_MIN, INT64_MAX,
				      &container->cpu_shares, err);
	return result;
}

/* 64 lower-case hexadecimal digits, as every id of the engine. */
static int read_id(struct json_object *object, char id[DOCKER_ID_SIZE], struct zerr *err)
{
	int result = copy_string(object, "Id", id, DOCKER_ID_SIZE, err);

	if (result < 0)
		return result;
	if (strlen(id) != DOCKER_ID_SIZE - 1 ||
	    strspn(id, "0123456789abcdef") != DOCKER_ID_SIZE - 1)
		return zerr_set(err, -EBADMSG, "Id: expected 64 hexadecimal digits");
	return 0;
}

/* The body as an object, owned; NULL with *err. */
static struct json_object *parse_object(const char *text, size_t length, struct zerr *err)
{
	struct json_object *object = json_parse(text, length, DOCKER_INSPECT_MAX, err);

	if (object != NULL && !json_object_is_type(object, json_type_object)) {
		(void)zerr_set(err, -EBADMSG,
			       "expected a JSON object"); /* the result is NULL anyway */
		json_putp(&object);
		object = NULL;
	}
	return object;
}

int docker_container_read(const char *text, size_t length, struct docker_container *container,
			  struct zerr *err)
{
	_cleanup_(docker_container_clear) struct docker_container read = {0};
	_cleanup_(json_putp) struct json_object *inspect = parse_object(text, length, err);
	int result;

	if (inspect == NULL)
		return -EBADMSG;
	result = read_id(inspect, read.id, err);
	if (result == 0)
		result = read_state(inspect, &read.state, err);
	if (result == 0)
		result = read_config(inspect, &read, err);
	if (result == 0)
		result = read_host_config(inspect, &read, err);
	if (result < 0)
		return result == -ENOMEM ? result : -EBADMSG;
	*container = read;
	memset(&read, 0, sizeof(read)); /* handed over */
	return 0;
}

void docker_container_clear(struct docker_container *container)
{
	free(container->hostname);
	free(container->image);
	free(container->label_uuid);
	free(container->command);
	free(container->entrypoint);
	free(container->environment);
	free(container->runtime);
	*container = (struct docker_container){0};
}

int docker_image_read(const char *text, size_t length, struct docker_image *image, struct zerr *err)
{
	_cleanup_(docker_image_clear) struct docker_image read = {0};
	_cleanup_(json_putp) struct json_object *inspect = parse_object(text, length, err);
	struct json_object *config = NULL;
	int result;

	if (inspect == NULL)
		return -EBADMSG;
	result = own_strings(inspect, "RepoDigests", &read.digests, err);
	if (result == 0)
		result = json_get_object(inspect, "Config", &config, err);
	if (result == 0 && config != NULL)
		result = own_strings(config, "Cmd", &read.command, err);
	if (result == 0 && config != NULL)
		result = own_strings(config, "Entrypoint", &read.entrypoint, err);
	if (result < 0)
		return result == -ENOMEM ? result : -EBADMSG;
	*image = read;
	memset(&read, 0, sizeof(read)); /* handed over */
	return 0;
}

void docker_image_clear(struct docker_image *image)
{
	free(image->command);
	free(image->entrypoint);
	free(image->digests);
	*image = (struct docker_image){0};
}

bool docker_image_has_digest(const struct docker_image *image, const char *repository,
			     const char *digest)
{
	_cleanup_(json_putp) struct json_object *digests = NULL;

	if (image->digests == NULL)
		return false;
	digests = json_tokener_parse(image->digests); /* our own text */
	for (size_t i = 0; i < json_object_array_length(digests); i++) {
		const char *entry = json_object_get_string(json_object_array_get_idx(digests, i));

		if (image_name_is_digest_of(entry, repository, digest))
			return true;
	}
	return false;
}

int docker_created_id(const char *text, size_t length, char id[DOCKER_ID_SIZE], struct zerr *err)
{
	_cleanup_(json_putp) struct json_object *created = parse_object(text, length, err);

	if (created == NULL)
		return -EBADMSG;
	return read_id(created, id, err) < 0 ? -EBADMSG : 0;
}

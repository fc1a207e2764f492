/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a row into the typed request from which the helper writes the engine's
 * create.  Every field is checked here against the request table, so that a
 * value that cannot be sent ends in an error which names it.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/docker_create.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/driver/docker_state.h"
#include "unpriv/store/amount.h"

/* A request of PROTO_LARGE_MAX bytes, each written as \uXXXX. */
#define COLUMN_JSON_MAX (6 * PROTO_LARGE_MAX)
#define NS_PER_S	INT64_C(1000000000)
#define RUNTIME_API_MINOR 26 /* HostConfig.Runtime came with API 1.26 */
#define SHARES_PER_CPU	1024
#define SHARES_MIN	2 /* the least weight that the kernel takes */

struct builder {
	struct docker_create *create;
	const struct container *row;
	struct zerr *err;
};

/* The description of a field of the request, from the one table. */
static const struct proto_field *field_named(const char *name)
{
	const struct proto_row *row = proto_find(PROTO_DOCKER, PRIV_docker_container_create);

	return proto_field_find(row->fields, row->field_count, name);
}

static int bad_field(struct builder *builder, const char *name, const char *expected)
{
	return zerr_set(builder->err, -EINVAL, "%s: expected %s", name, expected);
}

/* Copies text to the request's own strings.  The space was measured from the JSON, which is never
 * shorter than what it encodes. */
static struct zstr keep(struct docker_create *create, struct zstr text)
{
	char *place = create->strings + create->used;

	if (text.length > create->size - create->used)
		return (struct zstr){ 0 };
	memcpy(place, text.data, text.length);
	create->used += text.length;
	return (struct zstr){ place, text.length };
}

static int check_text(struct builder *builder, const char *name, enum text_class class, struct zstr text)
{
	char expected[96];
	const struct proto_field *field = field_named(name);

	if (text.length <= field->max && text_valid(class, text))
		return 0;
	(void)snprintf(expected, sizeof(expected), "%s of at most %zu bytes", text_class_name(class),
		       field->max);
	return bad_field(builder, name, expected);
}

/* A plain column. */
static int put_text(struct builder *builder, const char *name, const char *text)
{
	const struct proto_field *field = field_named(name);
	char *request = (char *)&builder->create->request;
	struct zstr value = zstr_from(text);
	int result = check_text(builder, name, field->class, value);

	if (result == 0)
		memcpy(request + field->offset, &value, sizeof(value));
	return result;
}

/* Appends one string to a LIST or PAIRS field. */
static int append(struct builder *builder, const char *name, enum text_class class, struct zstr text)
{
	const struct proto_field *field = field_named(name);
	char *request = (char *)&builder->create->request;
	size_t count;
	int result = check_text(builder, name, class, text);

	if (result < 0)
		return result;
	memcpy(&count, request + field->count_offset, sizeof(count));
	if (count >= field->items)
		return zerr_set(builder->err, -EINVAL, "%s: more entries than can be sent", name);
	text = keep(builder->create, text);
	memcpy(request + field->offset + count * sizeof(text), &text, sizeof(text));
	count++;
	memcpy(request + field->count_offset, &count, sizeof(count));
	return 0;
}

/* A JSON column as an owned value of the type wanted; NULL when it is empty. */
static int column_json(struct builder *builder, enum container_column column, const char *name,
		       enum json_type type, struct json_object **value)
{
	const char *text = container_text(builder->row, column);
	size_t length = strlen(text);

	*value = NULL;
	if (length == 0 || strcmp(text, "null") == 0)
		return 0;
	*value = json_parse(text, length, COLUMN_JSON_MAX, builder->err);
	if (*value != NULL && json_object_is_type(*value, type))
		return 0;
	return bad_field(builder, name, type == json_type_array ? "a JSON list" : "a JSON map");
}

static struct zstr json_text(struct json_object *value)
{
	return (struct zstr){ json_object_get_string(value), (size_t)json_object_get_string_len(value) };
}

static int put_list(struct builder *builder, enum container_column column, const char *name)
{
	_cleanup_(json_putp) struct json_object *list = NULL;
	int result = column_json(builder, column, name, json_type_array, &list);

	for (size_t i = 0; result == 0 && list != NULL && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (!json_object_is_type(item, json_type_string))
			return bad_field(builder, name, "strings");
		result = append(builder, name, field_named(name)->class, json_text(item));
	}
	return result;
}

/* The text of a map's value; numbers and booleans as they are written. */
static bool scalar_text(struct json_object *value, struct zstr *text)
{
	if (json_object_is_type(value, json_type_string)) {
		*text = json_text(value);
		return true;
	}
	if (value == NULL || json_object_is_type(value, json_type_object) ||
	    json_object_is_type(value, json_type_array))
		return false;
	*text = zstr_from(json_object_get_string(value));
	return true;
}

static int put_pair(struct builder *builder, const char *name, const char *key, struct json_object *value)
{
	const struct proto_field *field = field_named(name);
	struct zstr text;
	int result;

	if (!scalar_text(value, &text))
		return bad_field(builder, name, "a map of strings");
	result = append(builder, name, field->class, zstr_from(key));
	return result < 0 ? result : append(builder, name, field->value_class, text);
}

static int put_pairs(struct builder *builder, enum container_column column, const char *name)
{
	_cleanup_(json_putp) struct json_object *map = NULL;
	int result = column_json(builder, column, name, json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	json_object_object_foreach(map, key, value) {
		/* The mark of ownership is the helper's to set. */
		if (column == CONTAINER_labels &&
		    strncmp(key, DOCKER_LABEL_PREFIX, strlen(DOCKER_LABEL_PREFIX)) == 0)
			return bad_field(builder, name, "no key that begins with " DOCKER_LABEL_PREFIX);
		result = put_pair(builder, name, key, value);
		if (result < 0)
			return result;
	}
	return 0;
}

/* "80/tcp", or "80" for tcp. */
static int put_ports(struct builder *builder)
{
	_cleanup_(json_putp) struct json_object *map = NULL;
	int result = column_json(builder, CONTAINER_exposed_ports, "exposed_ports", json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	json_object_object_foreach(map, key, unused) {
		char port[24];
		int length = snprintf(port, sizeof(port), "%s%s", key,
				      strchr(key, '/') == NULL ? "/tcp" : "");

		(void)unused;
		if (length < 0 || (size_t)length >= sizeof(port))
			return bad_field(builder, "exposed_ports", "ports as 80/tcp");
		result = append(builder, "exposed_ports", TEXT_PORT, zstr_from(port));
		if (result < 0)
			return result;
	}
	return 0;
}

/* A member that is a whole number or digits in a string (MaximumRetryCount is one); absent is 0. */
static int get_count(struct builder *builder, struct json_object *object, const char *key,
		     uint64_t greatest, uint64_t *value)
{
	struct json_object *member = NULL;
	double number;

	*value = 0;
	if (!json_object_object_get_ex(object, key, &member) || member == NULL)
		return 0;
	if (json_object_is_type(member, json_type_string)) {
		const char *text = json_object_get_string(member);

		if (text[0] == '\0' || zfd_parse_u64(text, greatest, value) == 0)
			return 0;
	} else if (json_object_is_type(member, json_type_int) ||
		   json_object_is_type(member, json_type_double)) {
		number = json_object_get_double(member);
		*value = number >= 0 && number <= (double)greatest ? (uint64_t)number : 0;
		if (number >= 0 && number <= (double)greatest)
			return 0;
	}
	return bad_field(builder, key, "a number of 0 or more");
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
	uint64_t retries;
	int result = column_json(builder, CONTAINER_restart_policy, "restart_policy", json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	result = json_get_string(map, "Name", &name, builder->err);
	if (result == 0)
		result = get_count(builder, map, "MaximumRetryCount", INT32_MAX, &retries);
	if (result < 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name != NULL ? name : "", names[i]) == 0) {
			builder->create->request.restart_policy = (uint8_t)i;
			builder->create->request.restart_retries = (uint32_t)retries;
			return 0;
		}
	}
	return bad_field(builder, "restart_policy", "no, always, on-failure or unless-stopped");
}

static int put_healthcheck(struct builder *builder)
{
	struct req_docker_container_create *request = &builder->create->request;
	_cleanup_(json_putp) struct json_object *map = NULL;
	const char *test = NULL;
	uint64_t interval, timeout, retries;
	int result = column_json(builder, CONTAINER_healthcheck, "healthcheck", json_type_object, &map);

	if (result < 0 || map == NULL)
		return result;
	result = json_get_string(map, "test", &test, builder->err);
	if (result == 0)
		result = get_count(builder, map, "interval", INT64_MAX / NS_PER_S, &interval);
	if (result == 0)
		result = get_count(builder, map, "timeout", INT64_MAX / NS_PER_S, &timeout);
	if (result == 0)
		result = get_count(builder, map, "retries", INT32_MAX, &retries);
	if (result == 0 && test != NULL)
		result = check_text(builder, "health_command", TEXT_UTF8, zstr_from(test));
	if (result < 0 || test == NULL)
		return result;
	request->healthcheck = 1;
	request->health_command = keep(builder->create, zstr_from(test));
	request->health_interval_ns = interval * (uint64_t)NS_PER_S;
	request->health_timeout_ns = timeout * (uint64_t)NS_PER_S;
	request->health_retries = (uint32_t)retries;
	return 0;
}

static int put_runtime(struct builder *builder, const struct docker_create_options *options)
{
	const char *wanted = container_text(builder->row, CONTAINER_runtime);

	if (options->api_minor >= RUNTIME_API_MINOR)
		return put_text(builder, "runtime", wanted[0] != '\0' ? wanted : options->default_runtime);
	if (wanted[0] != '\0')
		return zerr_set(builder->err, -EINVAL,
				"runtime: the engine's API 1.%u cannot choose one", options->api_minor);
	return 0;
}

static int put_resources(struct builder *builder)
{
	struct req_docker_container_create *request = &builder->create->request;
	const struct container *row = builder->row;
	int64_t memory;
	double cpus, shares;

	if (amount_memory_bytes(row->memory, &memory) < 0)
		return bad_field(builder, "memory", "a whole number of MiB");
	if (amount_cpu_number(row->cpu, &cpus) < 0)
		return bad_field(builder, "cpu", "a number of 0 or more");
	shares = cpus * SHARES_PER_CPU;
	if (shares > (double)field_named("cpu_shares")->greatest)
		return bad_field(builder, "cpu", "at most 256");
	if (row->disk < 0 || (uint64_t)row->disk > field_named("storage_gib")->greatest)
		return bad_field(builder, "disk", "a whole number of GiB");
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
	request->api_minor = (uint8_t)field_named("api_minor")->least;
	request->wait_ms = 1;
	proto_encode(row->fields, row->field_count, request, &writer);
	if (!writer.failed)
		return 0;
	return zerr_set(builder->err, -EINVAL, "command, environment and labels together pass %d bytes",
			PROTO_LARGE_MAX);
}

static int put_all(struct builder *builder, const struct docker_create_options *options)
{
	const struct container *row = builder->row;
	struct req_docker_container_create *request = &builder->create->request;
	int result;

	request->tty = row->tty;
	request->interactive = row->interactive;
	request->auto_remove = row->auto_remove;
	request->privileged = row->privileged;
	if (uuid_parse(zstr_from(row->uuid), request->uuid) < 0)
		return bad_field(builder, "uuid", "a UUID");
	result = put_text(builder, "image", options->reference);
	if (result == 0)
		result = put_list(builder, CONTAINER_command, "command");
	if (result == 0)
		result = put_list(builder, CONTAINER_entrypoint, "entrypoint");
	if (result == 0)
		result = put_pairs(builder, CONTAINER_environment, "environment");
	if (result == 0)
		result = put_pairs(builder, CONTAINER_labels, "labels");
	if (result == 0)
		result = put_text(builder, "workdir", row->workdir);
	if (result == 0)
		result = put_text(builder, "hostname", row->hostname);
	if (result == 0)
		result = put_runtime(builder, options);
	if (result == 0)
		result = put_resources(builder);
	if (result == 0)
		result = put_restart_policy(builder);
	if (result == 0)
		result = put_ports(builder);
	if (result == 0)
		result = put_healthcheck(builder);
	return result == 0 ? check_size(builder) : result;
}

/* Room for every string of the JSON columns; a port may grow by "/tcp". */
static size_t strings_size(const struct container *row)
{
	static const enum container_column columns[] = {
		CONTAINER_command, CONTAINER_entrypoint, CONTAINER_environment, CONTAINER_labels,
		CONTAINER_healthcheck, CONTAINER_exposed_ports, CONTAINER_exposed_ports,
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
	struct builder builder = { .create = built, .row = row, .err = err };
	int result;

	if (built == NULL)
		return zerr_set(err, -ENOMEM, "out of memory");
	built->size = strings_size(row);
	built->strings = malloc(built->size);
	if (built->strings == NULL)
		return zerr_set(err, -ENOMEM, "out of memory");
	result = put_all(&builder, options);
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
	_cleanup_(json_putp) struct json_object *list = json_tokener_parse(text != NULL ? text : "[]");
	size_t found = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct zstr entry = json_text(json_object_array_get_idx(list, i));

		for (size_t j = 0; j + 1 < request->environment_count; j += 2) {
			struct zstr key = request->environment[j], value = request->environment[j + 1];

			if (entry.length == key.length + 1 + value.length &&
			    memcmp(entry.data, key.data, key.length) == 0 && entry.data[key.length] == '=' &&
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
	       environment_matches(request, container->environment) &&
	       container->tty == row->tty && container->interactive == row->interactive &&
	       container->auto_remove == row->auto_remove &&
	       container->memory == (int64_t)request->memory_bytes &&
	       container->cpu_shares == (int64_t)request->cpu_shares;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the engine's description of the node, /proc/meminfo and
 * /proc/self/mountinfo.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/docker_info.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/driver/docker_text.h"
#include <json-c/json.h>

#define KIB_PER_MIB 1024

static int get_text(struct json_object *object, const char *key, char *out, size_t size,
		    struct zerr *err)
{
	const char *value = NULL;
	int result = json_get_string(object, key, &value, err);

	if (result == 0)
		docker_text_clean(zstr_from(value), out, size);
	return result;
}

static int get_number(struct json_object *object, const char *key, int32_t *out, struct zerr *err)
{
	int64_t value = 0;
	int result = json_get_int(object, key, 0, INT32_MAX, &value, err);

	*out = (int32_t)value;
	return result;
}

static int own_text(struct json_object *value, char **out)
{
	*out = strdup(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
	return *out == NULL ? -ENOMEM : 0;
}

static int add_label(struct json_object *map, const char *label)
{
	const char *equals = strchr(label, '=');
	_cleanup_free_ char *key = NULL;
	struct json_object *value;

	if (equals == NULL)
		return 0;
	key = strndup(label, (size_t)(equals - label));
	value = json_object_new_string(equals + 1);
	if (key == NULL || value == NULL || json_object_object_add(map, key, value) < 0) {
		json_object_put(value);
		return -ENOMEM;
	}
	return 0;
}

/* ["k=v", …] → {"k": "v"}; an entry without "=" is no pair and left out. */
static int read_labels(struct json_object *object, struct docker_info *info, struct zerr *err)
{
	_cleanup_(json_putp) struct json_object *map = json_object_new_object();
	struct json_object *labels = NULL;
	int result = json_get_array(object, "Labels", &labels, err);

	if (result == 0 && map == NULL)
		result = -ENOMEM;
	for (size_t i = 0; result == 0 && labels != NULL && i < json_object_array_length(labels);
	     i++) {
		struct json_object *label = json_object_array_get_idx(labels, i);

		if (!json_object_is_type(label, json_type_string))
			return zerr_set(err, -EINVAL, "Labels: expected strings");
		result = add_label(map, json_object_get_string(label));
	}
	return result < 0 ? result : own_text(map, &info->labels);
}

static int read_runtimes(struct json_object *object, struct docker_info *info, struct zerr *err)
{
	_cleanup_(json_putp) struct json_object *list = json_object_new_array();
	struct json_object *runtimes = NULL;
	int result = json_get_object(object, "Runtimes", &runtimes, err);

	if (result == 0 && list == NULL)
		result = -ENOMEM;
	if (result < 0)
		return result;
	if (runtimes != NULL) {
		json_object_object_foreach(runtimes, name, unused)
		{
			struct json_object *item = json_object_new_string(name);

			(void)unused;
			if (item == NULL || json_object_array_add(list, item) < 0) {
				json_object_put(item);
				return -ENOMEM;
			}
		}
	}
	return own_text(list, &info->runtimes);
}

/* DriverStatus is a list of [name, value]; anything else in it is passed over. */
static int read_driver_status(struct json_object *object, struct docker_info *info,
			      struct zerr *err)
{
	struct json_object *list = NULL;
	int result = json_get_array(object, "DriverStatus", &list, err);

	for (size_t i = 0; result == 0 && list != NULL && i < json_object_array_length(list); i++) {
		struct json_object *pair = json_object_array_get_idx(list, i);
		const char *name, *value;

		if (!json_object_is_type(pair, json_type_array) ||
		    json_object_array_length(pair) != 2)
			continue;
		name = json_object_get_string(json_object_array_get_idx(pair, 0));
		value = json_object_get_string(json_object_array_get_idx(pair, 1));
		if (name != NULL && value != NULL && strcmp(name, "Backing Filesystem") == 0)
			docker_text_clean(zstr_from(value), info->backing_filesystem,
					  sizeof(info->backing_filesystem));
	}
	return result;
}

static int read_texts(struct json_object *object, struct docker_info *info, struct zerr *err)
{
	const struct {
		const char *key;
		char *out;
		size_t size;
	} texts[] = {
		{"Name", info->name, sizeof(info->name)},
		{"DockerRootDir", info->root_dir, sizeof(info->root_dir)},
		{"Driver", info->storage_driver, sizeof(info->storage_driver)},
		{"Architecture", info->architecture, sizeof(info->architecture)},
		{"OSType", info->os_type, sizeof(info->os_type)},
		{"OperatingSystem", info->os, sizeof(info->os)},
		{"KernelVersion", info->kernel_version, sizeof(info->kernel_version)},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int result = get_text(object, texts[i].key, texts[i].out, texts[i].size, err);

		if (result < 0)
			return result;
	}
	return 0;
}

static int read_numbers(struct json_object *object, struct docker_info *info, struct zerr *err)
{
	const struct {
		const char *key;
		int32_t *out;
	} numbers[] = {
		{"NCPU", &info->cpus},
		{"Containers", &info->containers},
		{"ContainersRunning", &info->running},
		{"ContainersPaused", &info->paused},
		{"ContainersStopped", &info->stopped},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int result = get_number(object, numbers[i].key, numbers[i].out, err);

		if (result < 0)
			return result;
	}
	return 0;
}

int docker_info_read(const char *text, size_t length, struct docker_info *info, struct zerr *err)
{
	_cleanup_(docker_info_clear) struct docker_info read = {0};
	_cleanup_(json_putp) struct json_object *object =
		json_parse(text, length, DOCKER_INFO_MAX, err);
	int result;

	if (object == NULL)
		return -EBADMSG;
	if (!json_object_is_type(object, json_type_object))
		return zerr_set(err, -EBADMSG, "expected a JSON object");
	result = read_texts(object, &read, err);
	if (result == 0)
		result = read_numbers(object, &read, err);
	if (result == 0)
		result = read_labels(object, &read, err);
	if (result == 0)
		result = read_runtimes(object, &read, err);
	if (result == 0)
		result = read_driver_status(object, &read, err);
	if (result < 0)
		return result == -ENOMEM ? result : -EBADMSG;
	*info = read;
	memset(&read, 0, sizeof(read)); /* handed over */
	return 0;
}

void docker_info_clear(struct docker_info *info)
{
	free(info->labels);
	free(info->runtimes);
	*info = (struct docker_info){0};
}

/* The KiB that stand after "name:" at the beginning of a line, as MiB. */
static int meminfo_value(const char *text, const char *name, int32_t *mib)
{
	size_t length = strlen(name);
	const char *line = text;

	while (line != NULL) {
		char number[24];
		uint64_t kib;

		if (strncmp(line, name, length) == 0 && line[length] == ':') {
			const char *digits = line + length + 1 + strspn(line + length + 1, " \t");
			size_t count = strspn(digits, "0123456789");

			if (zstr_copy((struct zstr){digits, count}, number, sizeof(number)) < 0 ||
			    zfd_parse_u64(number, (uint64_t)INT32_MAX * KIB_PER_MIB, &kib) < 0)
				return -EBADMSG;
			*mib = (int32_t)(kib / KIB_PER_MIB);
			return 0;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return -EBADMSG;
}

int node_memory_read(const char *text, struct node_memory *memory)
{
	struct node_memory read;

	if (meminfo_value(text, "MemTotal", &read.total_mib) < 0 ||
	    meminfo_value(text, "MemFree", &read.free_mib) < 0 ||
	    meminfo_value(text, "MemAvailable", &read.available_mib) < 0)
		return -EBADMSG;
	*memory = read;
	return 0;
}

/* The next blank-separated field of the line. */
static bool next_field(const char **rest, struct zstr *field)
{
	const char *start = *rest + strspn(*rest, " ");

	field->data = start;
	field->length = strcspn(start, " \n");
	*rest = start + field->length;
	return field->length > 0;
}

/* A mount point of mountinfo, its \ooo escapes undone, is directory or above it: length of the
 * match, or 0. */
static size_t covers(struct zstr mount_point, const char *directory)
{
	size_t matched = 0;

	for (size_t i = 0; i < mount_point.length; i++, matched++) {
		char byte = mount_point.data[i];

		if (byte == '\\' && i + 3 < mount_point.length) {
			byte = (char)(((mount_point.data[i + 1] - '0') << 6) |
				      ((mount_point.data[i + 2] - '0') << 3) |
				      (mount_point.data[i + 3] - '0'));
			i += 3;
		}
		if (directory[matched] != byte)
			return 0;
	}
	if (matched == 1) /* "/" */
		return 1;
	return directory[matched] == '/' || directory[matched] == '\0' ? matched : 0;
}

static bool has_option(struct zstr options, const char *option)
{
	size_t length = strlen(option);

	while (options.length > 0) {
		const char *comma = memchr(options.data, ',', options.length);
		size_t part = comma != NULL ? (size_t)(comma - options.data) : options.length;

		if (part == length && memcmp(options.data, option, length) == 0)
			return true;
		if (comma == NULL)
			break;
		options.data += part + 1;
		options.length -= part + 1;
	}
	return false;
}

struct mount_line {
	struct zstr point, type, options;
};

/* id parent major:minor root point options [optional …] - type source super-options */
static bool read_mount(const char *line, struct mount_line *mount)
{
	struct zstr field;

	for (unsigned i = 0; i < 5; i++) {
		if (!next_field(&line, &mount->point))
			return false;
	}
	do {
		if (!next_field(&line, &field))
			return false;
	} while (!zstr_equal(field, "-"));
	return next_field(&line, &mount->type) && next_field(&line, &field) &&
	       next_field(&line, &mount->options);
}

/* Is the filesystem that holds directory an XFS with project quotas? */
static bool has_project_quota(const char *mountinfo, const char *directory)
{
	size_t longest = 0;
	bool quota = false;

	while (*mountinfo != '\0') {
		const char *line = mountinfo;
		struct mount_line mount;
		size_t matched;

		mountinfo += strcspn(mountinfo, "\n");
		mountinfo += *mountinfo == '\n';
		if (!read_mount(line, &mount))
			continue;
		matched = covers(mount.point, directory);
		/* A later mount on the same point hides the earlier one. */
		if (matched == 0 || matched < longest)
			continue;
		longest = matched;
		quota = zstr_equal(mount.type, "xfs") && (has_option(mount.options, "prjquota") ||
							  has_option(mount.options, "pquota"));
	}
	return quota;
}

bool docker_disk_quota(const struct docker_info *info, const char *mountinfo)
{
	static const char *const always[] = {"devicemapper", "windowsfilter", "zfs", "btrfs"};

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		if (strcmp(info->storage_driver, always[i]) == 0)
			return true;
	}
	return strcmp(info->storage_driver, "overlay2") == 0 &&
	       strcmp(info->backing_filesystem, "xfs") == 0 &&
	       has_project_quota(mountinfo, info->root_dir);
}

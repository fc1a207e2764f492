/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versioned objects as they come from the bus: which class, which version, is
 * every field of its type.  Runs in workers, on parsed but otherwise unchecked
 * JSON; nothing here recurses, and a text in a field is only looked at.
 */
#include "unpriv/rpc/object.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/rpc/object_fields.h"

#define OBJECT_MODULE "oslo_versionedobjects.exception"
#define PREFIX	      "zun_object."

/* Classes that zun has and that are no container (rpc-methods.md §3.2). */
static const char *const other_classes[] = {
	"CapsuleContainer",
	"CapsuleInitContainer",
	"Cpuset",
	"Volume",
	"VolumeMapping",
	"PciDevice",
	"ContainerPCIRequest",
	"ContainerPCIRequests",
	"ExecInstance",
	"Registry",
	"ZunNetwork",
	"Image",
	"ContainerAction",
	"ContainerActionEvent",
	"ZunService",
	"ComputeNode",
	"NUMATopology",
	"NUMANode",
	"PciDevicePool",
	"PciDevicePoolList",
};

static const struct {
	const char *name, *version;
	bool capsule;
} containers[] = {{"Container", "1.44", false}, {"Capsule", "1.4", true}};

/* What Python calls the type of a value, as upstream's messages do. */
static const char *python_type(struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_boolean:
		return "bool";
	case json_type_double:
		return "float";
	case json_type_int:
		return "int";
	case json_type_object:
		return "dict";
	case json_type_array:
		return "list";
	case json_type_string:
		return "str";
	case json_type_null:
		break;
	}
	return "NoneType";
}

/* A required string of the primitive; NULL with *failure when it is missing. */
static const char *primitive_string(struct json_object *object, const char *key,
				    struct rpc_failure *failure)
{
	const char *text = NULL;

	if (json_get_string(object, key, &text, NULL) < 0)
		rpc_fail_in(failure, "builtins", "ValueError", "%s: string expected", key);
	else if (!text)
		rpc_fail_in(failure, "builtins", "KeyError", "'%s'", key);
	return text;
}

static int unknown_class(const char *name, struct rpc_failure *failure)
{
	for (size_t i = 0; i < sizeof(other_classes) / sizeof(other_classes[0]); i++) {
		if (strcmp(other_classes[i], name) == 0) {
			rpc_fail(failure, "ZunException", "Unexpected container type: %s", name);
			return -EINVAL;
		}
	}
	rpc_fail_in(failure, OBJECT_MODULE, "UnsupportedObjectError", "Unsupported object type %s",
		    name);
	return -EINVAL;
}

/* "1.N": the major that we know, any minor. */
static bool version_readable(const char *version)
{
	size_t digits = strspn(version + (version[0] ? 1 : 0), ".");

	return version[0] == '1' && digits == 1 && version[2] != '\0' &&
	       strspn(version + 2, "0123456789.") == strlen(version + 2);
}

static int read_class(struct json_object *object, struct container_argument *argument,
		      struct rpc_failure *failure)
{
	const char *space = primitive_string(object, PREFIX "namespace", failure);
	const char *name = space ? primitive_string(object, PREFIX "name", failure) : NULL;
	const char *version = name ? primitive_string(object, PREFIX "version", failure) : NULL;
	size_t i = 0;

	if (!version)
		return -EINVAL;
	if (strcmp(space, "zun") != 0) {
		rpc_fail_in(failure, OBJECT_MODULE, "UnsupportedObjectError",
			    "Unsupported object type %s.%s", space, name);
		return -EINVAL;
	}
	while (i < 2 && strcmp(containers[i].name, name) != 0)
		i++;
	if (i == 2)
		return unknown_class(name, failure);
	argument->capsule = containers[i].capsule;
	if (version_readable(version))
		return 0;
	rpc_fail_in(failure, OBJECT_MODULE, "IncompatibleObjectVersion",
		    "Version %s of %s is not supported, supported version is %s", version, name,
		    containers[i].version);
	return -EINVAL;
}

static int read_fields(struct container_argument *argument, struct rpc_failure *failure)
{
	const char *class = argument->capsule ? "Capsule" : "Container";
	const char *expected;

	json_object_object_foreach(argument->data, name, value)
	{
		const struct object_field *field = object_field(name, argument->capsule);

		expected = field ? object_field_check(field, value) : NULL;
		if (expected) {
			rpc_fail_in(failure, "builtins", "ValueError",
				    "Field `%s' of %s: %s expected", name, class, expected);
			return -EINVAL;
		}
	}
	return 0;
}

static int read_changes(struct container_argument *argument, struct rpc_failure *failure)
{
	struct json_object *changes = NULL;
	size_t count;

	if (json_get_array(argument->object, PREFIX "changes", &changes, NULL) < 0) {
		rpc_fail_in(failure, "builtins", "ValueError", PREFIX "changes: list expected");
		return -EINVAL;
	}
	count = changes ? json_object_array_length(changes) : 0;
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(changes, i);

		if (!json_object_is_type(item, json_type_string)) {
			rpc_fail_in(failure, "builtins", "ValueError",
				    PREFIX "changes: list of strings expected");
			return -EINVAL;
		}
		if (strcmp(json_object_get_string(item), "status") == 0)
			argument->status_changed = true;
		if (strcmp(json_object_get_string(item), "cpu_policy") == 0)
			argument->cpu_policy_changed = true;
	}
	return 0;
}

static void read_uuid(struct container_argument *argument)
{
	const char *text = NULL;
	uint8_t uuid[UUID_SIZE];

	if (json_get_string(argument->data, "uuid", &text, NULL) == 0 && text &&
	    uuid_parse(zstr_from(text), uuid) == 0)
		uuid_format(uuid, argument->uuid);
}

int container_argument_read(struct json_object *value, struct container_argument *argument,
			    struct rpc_failure *failure)
{
	int result;

	*argument = (struct container_argument){.object = value};
	if (!json_object_object_get_ex(value, PREFIX "name", NULL)) {
		rpc_fail(failure, "ZunException",
			 "Unexpected error: '%s' object has no attribute 'uuid'",
			 python_type(value));
		return -EINVAL;
	}
	if (json_get_object(value, PREFIX "data", &argument->data, NULL) < 0 || !argument->data) {
		rpc_fail_in(failure, "builtins", "KeyError", "'" PREFIX "data'");
		return -EINVAL;
	}
	read_uuid(argument);
	result = read_class(value, argument, failure);
	if (result == 0)
		result = read_fields(argument, failure);
	if (result == 0)
		result = read_changes(argument, failure);
	if (result < 0 || argument->uuid[0])
		return result;
	rpc_fail(failure, "ObjectActionError",
		 "Object action obj_load_attr failed because: attribute uuid not lazy-loadable");
	return -EINVAL;
}

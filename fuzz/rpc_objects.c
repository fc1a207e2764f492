/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A versioned object: refused by name of a class, or taken; then the reply made
 * from it is one that would be taken too.
 */
#include "unpriv/compute/object.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "unpriv/base/json.h"
#include "unpriv/store/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const struct container_argument *argument)
{
	struct container_argument again;
	struct rpc_failure failure = {0};
	struct container row = {0};
	struct json_object *reply;

	if (!argument->uuid[0] || container_set_text(&row, CONTAINER_status, "Running") < 0)
		abort();
	reply = container_reply(argument, &row);
	if (!reply || container_argument_read(reply, &again, &failure) < 0 ||
	    strcmp(again.uuid, argument->uuid) != 0 || again.status_changed)
		abort();
	(void)json_object_put(reply); /* the only reference */
	container_clear(&row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_object *value = json_parse((const char *)data, size, 65536, NULL);
	struct container_argument argument;
	struct rpc_failure failure = {0};

	if (!value)
		return 0;
	if (container_argument_read(value, &argument, &failure) == 0)
		take(&argument);
	else if (!failure.class || !failure.module || !failure.message[0])
		abort();
	(void)json_object_put(value); /* the only reference */
	return 0;
}

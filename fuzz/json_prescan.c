/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON pre-scan against json-c: what it lets through json-c can parse, and
 * what json-c writes of it is let through again.  The picker runs on all of it.
 */
#include "unpriv/base/json.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 65536

static void pick(const char *text, size_t size)
{
	struct json_pick picks[] = {{.path = {"a"}}, {.path = {"args", "container", "a", "uuid"}}};

	json_pick(text, size, picks, 2);
	for (size_t i = 0; i < 2; i++)
		if (picks[i].value.length > 0 &&
		    (picks[i].value.data < text ||
		     picks[i].value.data + picks[i].value.length > text + size))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *again;
	struct json_object *object;
	struct zerr err = {0};

	pick(text, size);
	if (json_prescan(text, size, INPUT_MAX, JSON_DEPTH_MAX, &err) < 0) {
		if (err.code >= 0 || !err.msg[0])
			abort();
		return 0;
	}
	object = json_parse(text, size, INPUT_MAX, &err);
	if (!object)
		return 0; /* null */
	again = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
	if (json_prescan(again, strlen(again), SIZE_MAX, JSON_DEPTH_MAX, NULL) < 0)
		abort();
	(void)json_object_put(object); /* the only reference */
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the JSON writer: the input is a key and a value; whatever they are, the
 * text parses to one object with one member, equal to them where they were UTF-8,
 * and has no byte that could end a line or change a terminal.
 */
#include "common/jsonw.h"
#include "common/text.h"
#include <json.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		require((uint8_t)text[i] >= ' ' && text[i] != 0x7f);
	require(text_utf8_valid((struct zstr){.data = text, .length = length}));
}

static void check_parsed(const char *text, size_t length, struct zstr value)
{
	struct json_tokener *tokener = json_tokener_new();
	json_object *object = json_tokener_parse_ex(tokener, text, (int)length);

	require(object && json_tokener_get_parse_end(tokener) == length &&
		json_object_object_length(object) == 1);
	json_object_object_foreach(object, name, member)
	{
		(void)name; /* json-c cuts names at a NUL */
		if (text_utf8_valid(value))
			require((size_t)json_object_get_string_len(member) == value.length &&
				memcmp(json_object_get_string(member), value.data, value.length) ==
					0);
	}
	json_object_put(object);
	json_tokener_free(tokener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[64 * 1024];
	struct zreader reader;
	struct zstr key, value;
	struct jsonw json;

	zreader_init(&reader, data, size);
	key = zget_blob(&reader, 256);
	value = (struct zstr){.data = (const char *)reader.data, .length = reader.left};
	if (reader.failed)
		return 0;
	jsonw_init(&json, text, sizeof(text));
	jsonw_object(&json);
	jsonw_key_str(&json, key);
	jsonw_str(&json, value);
	jsonw_end_object(&json);
	require(json.used <= sizeof(text));
	if (!jsonw_done(&json)) {
		require(6 * (key.length + value.length) + 7 > sizeof(text));
		return 0;
	}
	check_plain(text, json.used);
	check_parsed(text, json.used, value);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The loader of recorded messages, for tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "captures.h"
#include "common/zfd.h"

static int is_capture(const struct dirent *entry)
{
	return fnmatch("*.json", entry->d_name, FNM_PERIOD) == 0;
}

static const char *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	assert_true(json_object_object_get_ex(object, key, &value));
	return json_object_get_string(value);
}

static void load(const char *folder, const char *file, struct capture *capture)
{
	struct json_object *whole, *messages = NULL, *properties = NULL, *type = NULL;
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	(void)snprintf(capture->name, sizeof(capture->name), "%.*s", (int)(strlen(file) - 5), file);
	whole = json_object_from_file(path);
	assert_true(json_object_object_get_ex(whole, "messages", &messages));
	capture->count = json_object_array_length(messages);
	assert_true(capture->count <= sizeof(capture->messages) / sizeof(capture->messages[0]));
	for (size_t i = 0; i < capture->count; i++) {
		struct json_object *from = json_object_array_get_idx(messages, i);
		struct capture_message *message = &capture->messages[i];

		message->request = strcmp(member(from, "direction"), "request") == 0;
		assert_true(json_object_object_get_ex(from, "properties", &properties));
		message->content_type =
			strdup(json_object_object_get_ex(properties, "content_type", &type)
				       ? json_object_get_string(type)
				       : "");
		message->body = strdup(member(from, "body"));
		assert_non_null(message->content_type);
		assert_non_null(message->body);
		message->length = strlen(message->body);
	}
	json_object_put(whole);
}

struct capture *captures_load(const char *folder, size_t *count)
{
	struct dirent **entries = NULL;
	int found = scandir(folder, &entries, is_capture, alphasort);
	struct capture *captures;

	assert_true(found > 0);
	captures = calloc((size_t)found, sizeof(*captures));
	assert_non_null(captures);
	for (int i = 0; i < found; i++) {
		load(folder, entries[i]->d_name, &captures[i]);
		free(entries[i]);
	}
	free(entries);
	*count = (size_t)found;
	return captures;
}

void captures_free(struct capture *captures, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < captures[i].count; j++) {
			free(captures[i].messages[j].content_type);
			free(captures[i].messages[j].body);
		}
	}
	free(captures);
}

struct json_object *capture_inner(const struct capture_message *message)
{
	struct json_object *outer = json_tokener_parse(message->body), *text = NULL, *inner;

	if (!json_object_object_get_ex(outer, "oslo.message", &text))
		return outer;
	inner = json_tokener_parse(json_object_get_string(text));
	json_object_put(outer);
	return inner;
}

char *capture_envelope(const char *inner, size_t length)
{
	struct json_object *outer = json_object_new_object();
	char *body;

	assert_non_null(outer);
	json_object_object_add(outer, "oslo.version", json_object_new_string("2.0"));
	json_object_object_add(outer, "oslo.message",
			       json_object_new_string_len(inner, (int)length));
	body = strdup(json_object_to_json_string_ext(outer, JSON_C_TO_STRING_PLAIN));
	assert_non_null(body);
	json_object_put(outer);
	return body;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the recorded messages of tests/captures. */
#pragma once
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct capture_message {
	bool request;
	char *content_type, *body; /* owned */
	size_t length;
};

struct capture {
	char name[96]; /* file name without .json */
	struct capture_message messages[8];
	size_t count;
};

/* All captures below folder, by name; ends the test when there are none. */
struct capture *captures_load(const char *folder, size_t *count);
void captures_free(struct capture *captures, size_t count);
/* The inner message of a body, with or without an envelope; owned, NULL when there is none. */
struct json_object *capture_inner(const struct capture_message *message);
/* A body with inner (a JSON object's text) in an envelope; owned. */
char *capture_envelope(const char *inner, size_t length);

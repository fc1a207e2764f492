/* SPDX-License-Identifier: Apache-2.0 */
/* What a container of Keelson may be: the site policy's word on a create request, and its JSON. */
#pragma once
#include "policy/site.h"
#include "privsep/proto.h"

/* The label that makes a container ours; users may not set labels that begin so, in any case. */
#define KEELSON_LABEL_PREFIX "io.keelson."
#define KEELSON_LABEL_UUID   KEELSON_LABEL_PREFIX "uuid"

/*
 * The greatest text a create request can become.  Of the at most PROTO_LARGE_MAX bytes of its
 * encoding each byte grows to at most 6 (an escaped control byte) and each string's length (2
 * bytes) to its quotes and a comma; the rest is fixed members, with room to spare.
 */
#define CREATE_JSON_MAX (7 * 1024 * 1024)

#define CREATE_PAIR_MAX (2 * UINT16_MAX + 1)

struct create_buffer {
	char json[CREATE_JSON_MAX];
	char pair[CREATE_PAIR_MAX]; /* "KEY=VALUE" */
};

/* NULL when the policy allows create, else the name of the rule that refuses it (static). */
const char *docker_create_judge(const struct site_policy *site,
				const struct req_docker_container_create *create);
/* NULL when image comes from an allowed registry, else "registries". */
const char *docker_image_judge(const struct site_policy *site, struct zstr image);
/* Writes the engine's create body for a request that the judge allowed: *json borrows from buffer.
 * False when it does not fit. */
bool docker_create_json(const struct site_policy *site,
			const struct req_docker_container_create *create,
			struct create_buffer *buffer, struct zstr *json);

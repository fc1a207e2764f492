/* SPDX-License-Identifier: Apache-2.0 */
/* A row as the helper's request for a container (docker-driver.md §2). */
#pragma once
#include "common/zerr.h"
#include "privsep/proto.h"
#include "unpriv/driver/docker_inspect.h"
#include "unpriv/store/container.h"

struct docker_create {
	struct req_docker_container_create
		request; /* its strings borrow from row, options and strings */
	char *strings;	 /* owned: what the row's JSON columns hold, decoded */
	size_t used, size;
};

struct docker_create_options {
	const char *reference;	     /* repository:tag or repository@digest */
	const char *default_runtime; /* [DEFAULT]/container_runtime */
	unsigned api_minor;
};

/* Fills everything but who asks, api_minor and wait_ms.  0 with *create owned (docker_create_free),
 * -EINVAL with *err naming the field that cannot be sent, -ENOMEM. */
int docker_create_build(const struct container *row, const struct docker_create_options *options,
			struct docker_create **create, struct zerr *err);
void docker_create_free(struct docker_create *create);
void docker_create_freep(struct docker_create **create);

/* Is an existing container what create asks for (known-faults F19)? */
bool docker_create_matches(const struct docker_create *create, const struct container *row,
			   const struct docker_container *container);

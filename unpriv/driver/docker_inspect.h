/* SPDX-License-Identifier: Apache-2.0 */
/* What we read of the engine's inspect answers, as plain structs. */
#pragma once
#include "common/zerr.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOCKER_INSPECT_MAX  (UINT32_C(4) << 20)
#define DOCKER_PORTS_MAX    256
#define DOCKER_ID_SIZE	    65 /* 64 hexadecimal digits */
#define DOCKER_STAMP_SIZE   64
#define DOCKER_LABEL_UUID   "io.keelson.uuid"
#define DOCKER_LABEL_PREFIX "io.keelson."

struct docker_state {
	bool present;
	char status[32];
	bool paused, running, restarting, dead;
	bool error; /* the Error text is not empty */
	int64_t exit_code;
	char started_at[DOCKER_STAMP_SIZE], finished_at[DOCKER_STAMP_SIZE];
};

struct docker_container {
	char id[DOCKER_ID_SIZE];
	struct docker_state state;
	/* Config; NULL or zero when the engine left it out */
	char *hostname, *image, *label_uuid;	  /* owned */
	char *command, *entrypoint, *environment; /* owned JSON text: arrays of strings, or NULL */
	bool tty, interactive;
	uint16_t ports[DOCKER_PORTS_MAX];
	size_t port_count;
	/* HostConfig */
	char *runtime; /* owned */
	bool auto_remove;
	int64_t memory, cpu_shares;
};

/* 0 with *container owned (docker_container_clear), -EBADMSG for a body that is no inspect answer.
 */
int docker_container_read(const char *text, size_t length, struct docker_container *container,
			  struct zerr *err);
void docker_container_clear(struct docker_container *container);

struct docker_image {
	char *command, *entrypoint; /* owned JSON text: arrays of strings, or NULL */
	char *digests;		    /* owned JSON text: RepoDigests, or NULL */
};

int docker_image_read(const char *text, size_t length, struct docker_image *image,
		      struct zerr *err);
void docker_image_clear(struct docker_image *image);
/* Is repository@digest among the image's RepoDigests?  repository as in an image's name. */
bool docker_image_has_digest(const struct docker_image *image, const char *repository,
			     const char *digest);

/* The id in the answer to a create.  0 or -EBADMSG. */
int docker_created_id(const char *text, size_t length, char id[DOCKER_ID_SIZE], struct zerr *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a container, or takes over what an interrupted create left (known-faults
 * F19): after this there is exactly one container of the row's name, or an error.
 * Process: worker.  Privileges: none.
 */
#include "common/zfd.h"
#include "unpriv/driver/docker_create.h"
#include "unpriv/driver/docker_ops.h"
#include "unpriv/driver/docker_state.h"
#include "unpriv/image/image_name.h"

#define CREATE_BODY_MAX (UINT32_C(1) << 20) /* an id, and warnings */

enum outcome { OUTCOME_MADE = 0, OUTCOME_AGAIN = 1 };

/* What stands between us and the container: who already has its name.
 * OUTCOME_MADE when that is ours to adopt (id set), OUTCOME_AGAIN when the name is free now. */
static int clear_the_way(struct driver *driver, struct container *row,
			 const struct docker_create *create, char id[DOCKER_ID_SIZE],
			 struct rpc_failure *failure)
{
	_cleanup_(docker_container_clear) struct docker_container there = {0};
	bool labelled;
	int result = docker_look(driver, row, &there, failure);

	if (result == -ENOENT)
		return OUTCOME_AGAIN;
	if (result < 0)
		return result;
	labelled = there.label_uuid != NULL && strcasecmp(there.label_uuid, row->uuid) == 0;
	if (there.label_uuid != NULL && !labelled) {
		rpc_fail(failure, "Conflict", "The name zun-%s belongs to another container",
			 row->uuid);
		return -EEXIST;
	}
	if (labelled && docker_never_started(&there.state) && !there.state.dead &&
	    docker_create_matches(create, row, &there)) {
		memcpy(id, there.id, DOCKER_ID_SIZE);
		return OUTCOME_MADE;
	}
	/* Ours by the helper's judgement, but not what is asked for now. */
	result = docker_remove_container(driver, row, true, failure);
	return result < 0 ? result : OUTCOME_AGAIN;
}

/* One attempt.  OUTCOME_MADE with id, OUTCOME_AGAIN, or a negative errno with *failure. */
static int attempt(struct driver *driver, struct container *row, struct docker_create *create,
		   char id[DOCKER_ID_SIZE], struct rpc_failure *failure)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	const struct docker_request request = {.number = PRIV_docker_container_create,
					       .message = &create->request,
					       .api_minor = &create->request.api_minor,
					       .body_max = CREATE_BODY_MAX};
	struct zerr err = {0};
	int result = docker_call(driver, &request, &reply, failure);

	if (result == 0 && docker_good(&reply)) {
		result = docker_created_id(reply.body.data, reply.body.length, id, &err);
		if (result == 0)
			return OUTCOME_MADE;
	}
	/* The channel is gone for good: nothing can be looked up through it. */
	if (result < 0 && (!(reply.unknown || docker_good(&reply)) || driver->channel.fd < 0))
		return result;
	if (result == 0 && reply.http_status == 404) {
		rpc_fail(failure, "ImageNotFound", "Image %.*s was not found",
			 (int)create->request.image.length, create->request.image.data);
		return -ENOENT;
	}
	if (result == 0 && reply.http_status != 409)
		return docker_refused(&reply, failure);
	return clear_the_way(driver, row, create, id, failure);
}

static int prepare(struct driver *driver, struct container *row, const struct image_name *name,
		   struct docker_create **create, struct rpc_failure *failure)
{
	struct docker_actor actor = docker_actor(driver);
	const struct docker_create_options options = {
		.reference = name->reference,
		.default_runtime = driver->config->container_runtime,
		.api_minor = driver->api_minor,
	};
	struct zerr err = {0};
	int result = docker_create_build(row, &options, create, &err);

	if (result < 0) {
		rpc_fail(failure, result == -ENOMEM ? "ZunException" : "Invalid", "%s", err.msg);
		return result;
	}
	(*create)->request.request_id = actor.request_id;
	(*create)->request.project_id = actor.project_id;
	(*create)->request.user_id = actor.user_id;
	(*create)->request.wait_ms = docker_wait_ms(driver, 0);
	return 0;
}

/* The new container's row: state as after any create, and what the engine filled in. */
static int finish(struct driver *driver, struct container *row, const char *id,
		  struct rpc_failure *failure)
{
	_cleanup_(docker_container_clear) struct docker_container made = {0};
	int result = container_set_text(row, CONTAINER_container_id, id);

	if (result < 0) {
		rpc_fail(failure, "ZunException", "Out of memory");
		return result;
	}
	result = docker_look(driver, row, &made, failure);
	return result < 0 ? result : docker_fill_row(&made, true, row, failure);
}

int docker_create_container(struct driver *driver, struct container *row,
			    struct rpc_failure *failure)
{
	_cleanup_(docker_create_freep) struct docker_create *create = NULL;
	struct image_name name;
	char id[DOCKER_ID_SIZE] = "";
	int result;

	if (image_name_read(row->image, &name) < 0) {
		rpc_fail(failure, "Invalid", "'%s' is not a valid image name",
			 container_text(row, CONTAINER_image));
		return -EINVAL;
	}
	result = docker_know_version(driver, failure);
	if (result == 0)
		result = docker_image_defaults(driver, name.reference, row, failure);
	if (result == 0)
		result = prepare(driver, row, &name, &create, failure);
	if (create == NULL)
		return result;
	result = attempt(driver, row, create, id, failure);
	if (result == OUTCOME_AGAIN)
		result = attempt(driver, row, create, id, failure);
	if (result == OUTCOME_AGAIN) {
		rpc_fail(failure, "Conflict", "The name zun-%s could not be had from the engine",
			 row->uuid);
		return -EBUSY;
	}
	return result < 0 ? result : finish(driver, row, id, failure);
}

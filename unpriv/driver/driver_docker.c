/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The docker driver: the operations that are one request to the engine, and
 * the table of all.
 * Process: worker.  Privileges: none; every effect is a typed request to the
 * docker helper, which decides whether it may be.
 */
#include "common/zfd.h"
#include "unpriv/driver/docker_ops.h"
#include "unpriv/driver/docker_state.h"

#define BODY_SMALL	 65536 /* answers that say nothing but "done" */
#define STOP_GRACE_S	 10    /* the engine's own default */
#define STOP_GRACE_MAX_S 86400

static int driver_open(const struct config *config, int helper_channel, struct driver **driver,
		       struct zerr *err)
{
	_cleanup_free_ struct driver *opened = calloc(1, sizeof(*opened));
	_cleanup_fd_ int channel = helper_channel;
	int result;

	if (opened == NULL)
		return zerr_set(err, -ENOMEM, "out of memory");
	opened->config = config;
	result = priv_open(&opened->channel, TAKE_FD(channel), PROTO_DOCKER, err);
	if (result != 0)
		return result < 0 ? result : -EPROTO;
	*driver = TAKE_PTR(opened);
	return 0;
}

static void driver_close(struct driver *driver)
{
	if (driver == NULL)
		return;
	priv_close(&driver->channel);
	free(driver);
}

static bool driver_usable(const struct driver *driver)
{
	return driver->channel.fd >= 0;
}

static void driver_actor(struct driver *driver, const struct store_actor *actor)
{
	driver->actor = actor;
}

int docker_row_uuid(const struct container *row, uint8_t uuid[UUID_SIZE],
		    struct rpc_failure *failure)
{
	if (uuid_parse(zstr_from(row->uuid), uuid) == 0)
		return 0;
	rpc_fail(failure, "Invalid", "The container's uuid is no UUID");
	return -EINVAL;
}

int docker_look(struct driver *driver, const struct container *row,
		struct docker_container *container, struct rpc_failure *failure)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	struct req_docker_container_inspect message = {.wait_ms = docker_wait_ms(driver, 0)};
	const struct docker_request request = {.number = PRIV_docker_container_inspect,
					       .message = &message,
					       .api_minor = &message.api_minor,
					       .body_max = DOCKER_INSPECT_MAX};
	struct zerr err = {0};
	int result = docker_row_uuid(row, message.uuid, failure);

	if (result == 0)
		result = docker_call(driver, &request, &reply, failure);
	if (result < 0)
		return result;
	if (!docker_good(&reply)) {
		result = docker_refused(&reply, failure);
		/* An engine that cannot answer says nothing of the container (known-faults R9). */
		return reply.http_status >= 500 ? -EAGAIN : result;
	}
	result = docker_container_read(reply.body.data, reply.body.length, container, &err);
	return result < 0 ? docker_senseless(&err, failure) : 0;
}

int docker_fill_row(const struct docker_container *container, bool force, struct container *row,
		    struct rpc_failure *failure)
{
	int result = docker_config_to_row(container, row);

	if (result == 0 && (force || container_text(row, CONTAINER_task_state)[0] == '\0'))
		result = docker_state_to_row(&container->state, time(NULL), row);
	if (result < 0)
		rpc_fail(failure, "ZunException", "Out of memory");
	return result;
}

static int show(struct driver *driver, struct container *row, bool force,
		struct rpc_failure *failure)
{
	_cleanup_(docker_container_clear) struct docker_container container = {0};
	int result;

	/* Nothing was made yet, so there is nothing to say. */
	if (container_text(row, CONTAINER_container_id)[0] == '\0')
		return 0;
	result = docker_look(driver, row, &container, failure);
	return result < 0 ? result : docker_fill_row(&container, force, row, failure);
}

static int check_created(const struct container *row, struct rpc_failure *failure)
{
	if (container_text(row, CONTAINER_container_id)[0] != '\0')
		return 0;
	rpc_fail(failure, "Invalid", "Cannot operate an uncreated container.");
	return -EINVAL;
}

/* Sends message; good when the engine says so, or that it is so already (304). */
static int act(struct driver *driver, uint16_t number, void *message, uint8_t *api_minor,
	       struct rpc_failure *failure)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	const struct docker_request request = {.number = number,
					       .message = message,
					       .api_minor = api_minor,
					       .body_max = BODY_SMALL};
	int result = docker_call(driver, &request, &reply, failure);

	if (result < 0 || docker_good(&reply) || reply.http_status == 304)
		return result;
	return docker_refused(&reply, failure);
}

/* Start, pause and unpause have the same fields. */
_Static_assert(sizeof(struct req_docker_container_start) ==
			       sizeof(struct req_docker_container_pause) &&
		       sizeof(struct req_docker_container_start) ==
			       sizeof(struct req_docker_container_unpause) &&
		       offsetof(struct req_docker_container_start, uuid) ==
			       offsetof(struct req_docker_container_pause, uuid) &&
		       offsetof(struct req_docker_container_start, uuid) ==
			       offsetof(struct req_docker_container_unpause, uuid),
	       "one struct for the requests that name a container only");

static int plain_action(struct driver *driver, uint16_t number, struct container *row,
			struct rpc_failure *failure)
{
	struct docker_actor actor = docker_actor(driver);
	struct req_docker_container_start message = {.request_id = actor.request_id,
						     .project_id = actor.project_id,
						     .user_id = actor.user_id,
						     .wait_ms = docker_wait_ms(driver, 0)};
	int result = check_created(row, failure);

	if (result == 0)
		result = docker_row_uuid(row, message.uuid, failure);
	return result < 0 ? result : act(driver, number, &message, &message.api_minor, failure);
}

static int start(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	return plain_action(driver, PRIV_docker_container_start, row, failure);
}

static int pause_container(struct driver *driver, struct container *row,
			   struct rpc_failure *failure)
{
	return plain_action(driver, PRIV_docker_container_pause, row, failure);
}

static int unpause(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	_cleanup_(docker_container_clear) struct docker_container container = {0};
	struct rpc_failure ignored = {0};
	int result = plain_action(driver, PRIV_docker_container_unpause, row, failure);

	/* The engine calls it an internal error of its own when the container is not paused;
	 * whether that is what it meant, the state tells. */
	if (result == -EIO && docker_look(driver, row, &container, &ignored) == 0 &&
	    !container.state.paused) {
		rpc_fail(failure, "Conflict", "The container is not paused");
		return -EBUSY;
	}
	return result;
}

static uint32_t grace(int64_t timeout_s)
{
	if (timeout_s < 0)
		return STOP_GRACE_S;
	return timeout_s > STOP_GRACE_MAX_S ? STOP_GRACE_MAX_S : (uint32_t)timeout_s;
}

static int stop(struct driver *driver, struct container *row, int64_t timeout_s,
		struct rpc_failure *failure)
{
	struct docker_actor actor = docker_actor(driver);
	struct req_docker_container_stop message = {
		.request_id = actor.request_id,
		.project_id = actor.project_id,
		.user_id = actor.user_id,
		.wait_ms = docker_wait_ms(driver, grace(timeout_s)),
		.has_grace = timeout_s >= 0,
		.grace_s = grace(timeout_s)};
	int result = check_created(row, failure);

	if (result == 0)
		result = docker_row_uuid(row, message.uuid, failure);
	if (result < 0)
		return result;
	return act(driver, PRIV_docker_container_stop, &message, &message.api_minor, failure);
}

static int reboot(struct driver *driver, struct container *row, int64_t timeout_s,
		  struct rpc_failure *failure)
{
	struct docker_actor actor = docker_actor(driver);
	struct req_docker_container_restart message = {
		.request_id = actor.request_id,
		.project_id = actor.project_id,
		.user_id = actor.user_id,
		.wait_ms = docker_wait_ms(driver, grace(timeout_s)),
		.grace_s = grace(timeout_s)};
	int result = check_created(row, failure);

	if (result == 0)
		result = docker_row_uuid(row, message.uuid, failure);
	if (result < 0)
		return result;
	return act(driver, PRIV_docker_container_restart, &message, &message.api_minor, failure);
}

static int kill_container(struct driver *driver, struct container *row, unsigned signal,
			  struct rpc_failure *failure)
{
	struct docker_actor actor = docker_actor(driver);
	struct req_docker_container_kill message = {.request_id = actor.request_id,
						    .project_id = actor.project_id,
						    .user_id = actor.user_id,
						    .wait_ms = docker_wait_ms(driver, 0)};
	int result = check_created(row, failure);

	if (result == 0)
		result = docker_row_uuid(row, message.uuid, failure);
	if (result < 0)
		return result;
	if (signal > 64) {
		rpc_fail(failure, "Invalid", "There is no signal %u", signal);
		return -EINVAL;
	}
	message.signal = (uint8_t)signal;
	return act(driver, PRIV_docker_container_kill, &message, &message.api_minor, failure);
}

/* Success may have had failures on its way (an image that was not there yet): they are nobody's
 * business. */
static int settled(int result, struct rpc_failure *failure)
{
	if (result == 0)
		*failure = (struct rpc_failure){0};
	return result;
}

static int image_ready(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	return settled(docker_image_ready(driver, row, failure), failure);
}

static int create(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	return settled(docker_create_container(driver, row, failure), failure);
}

static int remove_container(struct driver *driver, struct container *row, bool force,
			    struct rpc_failure *failure)
{
	return settled(docker_remove_container(driver, row, force, failure), failure);
}

const struct driver_ops driver_docker = {
	.open = driver_open,
	.close = driver_close,
	.usable = driver_usable,
	.actor = driver_actor,
	.image_ready = image_ready,
	.create = create,
	.show = show,
	.start = start,
	.stop = stop,
	.reboot = reboot,
	.pause = pause_container,
	.unpause = unpause,
	.kill = kill_container,
	.remove = remove_container,
	.inventory = docker_inventory,
};

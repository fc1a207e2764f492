/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes a container.  Done means that the engine knows it no more (known-faults
 * F20): a removal that somebody else has begun is waited for, a dead rest of one
 * is removed again.
 * Process: worker.  Privileges: none.
 */
#include "common/zfd.h"
#include "unpriv/driver/docker_ops.h"
#include <poll.h>

#define REMOVE_WAIT_S	60
#define POLL_FIRST_MS	100
#define POLL_LONGEST_MS 1000
#define REMOVE_BODY_MAX 65536

enum presence { GONE = 0, GOING = 1, STAYS = 2 };

/* What is left of the container, or a negative errno. */
static int presence(struct driver *driver, struct container *row, bool *dead,
		    struct rpc_failure *failure)
{
	_cleanup_(docker_container_clear) struct docker_container there = {0};
	int result = docker_look(driver, row, &there, failure);

	*dead = false;
	if (result == -ENOENT)
		return GONE;
	if (result < 0)
		return result;
	*dead = there.state.dead;
	if (strcmp(there.state.status, "removing") == 0)
		return GOING;
	return there.state.dead ? GOING : STAYS;
}

/* One request.  0 for done or gone already, else a negative errno with *failure. */
static int request_removal(struct driver *driver, struct container *row, bool force,
			   struct rpc_failure *failure)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	struct docker_actor actor = docker_actor(driver);
	struct req_docker_container_delete message = {.request_id = actor.request_id,
						      .project_id = actor.project_id,
						      .user_id = actor.user_id,
						      .wait_ms = docker_wait_ms(driver, 0),
						      .force = force};
	const struct docker_request request = {.number = PRIV_docker_container_delete,
					       .message = &message,
					       .api_minor = &message.api_minor,
					       .body_max = REMOVE_BODY_MAX};
	int result = docker_row_uuid(row, message.uuid, failure);

	if (result == 0)
		result = docker_call(driver, &request, &reply, failure);
	if (result < 0 || docker_good(&reply) || reply.http_status == 404)
		return result;
	return docker_refused(&reply, failure);
}

/* Waits until the container is gone. */
static int wait_gone(struct driver *driver, struct container *row, bool force,
		     struct rpc_failure *failure)
{
	uint64_t deadline_ms = zfd_now_ms() + REMOVE_WAIT_S * UINT64_C(1000);
	struct rpc_failure ignored;
	int pause_ms = POLL_FIRST_MS;

	while (zfd_now_ms() < deadline_ms) {
		bool dead;
		int result;

		(void)poll(NULL, 0, pause_ms); /* woken early: looked early */
		pause_ms = pause_ms * 2 < POLL_LONGEST_MS ? pause_ms * 2 : POLL_LONGEST_MS;
		result = presence(driver, row, &dead, failure);
		if (result <= 0)
			return result;
		/* A removal that broke off, or its dead rest.  Whether it helps, the next look
		 * tells. */
		if (dead || result == STAYS)
			(void)request_removal(driver, row, force || dead, &ignored);
	}
	rpc_fail(failure, "Conflict", "The engine has not finished removing the container in %d s",
		 REMOVE_WAIT_S);
	return -EBUSY;
}

int docker_remove_container(struct driver *driver, struct container *row, bool force,
			    struct rpc_failure *failure)
{
	struct rpc_failure refusal = {0};
	bool dead;
	int refused = request_removal(driver, row, force, &refusal);
	int there;

	/* Nothing was asked, or nothing more can be. */
	if (refused == -EAGAIN || refused == -EACCES || refused == -EEXIST || refused == -EINVAL) {
		*failure = refusal;
		return refused;
	}
	there = presence(driver, row, &dead, failure);
	if (there <= 0)
		return there;
	if (there == STAYS && refused < 0) {
		*failure = refusal;
		return refused;
	}
	return wait_gone(driver, row, force, failure);
}

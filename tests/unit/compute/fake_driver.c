/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the small world. */
#include "manager_case.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void world_note(struct world *world, const char *format, ...)
{
	size_t used = strlen(world->log);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(world->log + used, sizeof(world->log) - used, format, arguments);
	va_end(arguments);
}

bool world_alive(struct world *world)
{
	if (world->cut > 0 && ++world->steps >= world->cut)
		world->dead = true;
	return !world->dead;
}

static int driver_open(const struct config *config, int channel, struct driver **driver,
		       struct zerr *err)
{
	(void)config;
	(void)channel;
	(void)driver;
	(void)err;
	return 0;
}

static void driver_close(struct driver *driver)
{
	(void)driver;
}

static bool usable(const struct driver *driver)
{
	return !driver->world->channel_lost && !driver->world->dead;
}

static void actor(struct driver *driver, const struct store_actor *who)
{
	(void)driver;
	(void)who;
}

static int refused(struct world *world, const char *operation, struct rpc_failure *failure)
{
	if (!world_alive(world) || world->channel_lost) {
		rpc_fail(failure, "DockerError", "no channel");
		return -EAGAIN;
	}
	for (struct refusal *refusal = world->refusals; refusal->operation; refusal++) {
		if (strcmp(refusal->operation, operation) != 0 || refusal->result == 0)
			continue;
		int result = refusal->result;

		if (refusal->times > 0 && --refusal->times == 0)
			refusal->result = 0;
		world_note(world, "%s refused\n", operation);
		rpc_fail(failure, "Conflict", "%s is refused", operation);
		return result;
	}
	return 0;
}

/* The start of every operation: 0 when it may go on. */
static int enter(struct world *world, const char *operation, struct rpc_failure *failure)
{
	int result = refused(world, operation, failure);

	if (result < 0)
		return result;
	if (world->foreign) {
		world_note(world, "%s of a foreign container\n", operation);
		rpc_fail(failure, "Conflict", "not ours");
		return -EEXIST;
	}
	if (world->engine == ENGINE_NONE) {
		world_note(world, "%s of nothing\n", operation);
		rpc_fail(failure, "Conflict", "No such container");
		return -ENOENT;
	}
	world_note(world, "%s\n", operation);
	return 0;
}

static int image_ready(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	int result = refused(driver->world, "image", failure);

	(void)row;
	if (result == 0)
		world_note(driver->world, "image\n");
	return result;
}

static int create(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	struct world *world = driver->world;
	int result = refused(world, "create", failure);

	if (result < 0)
		return result;
	if (world->foreign) {
		rpc_fail(failure, "Conflict", "The name is taken");
		return -EEXIST;
	}
	world_note(world, world->engine == ENGINE_NONE ? "create\n" : "adopt\n");
	world->engine = ENGINE_CREATED;
	(void)container_set_text(row, CONTAINER_container_id, ID);
	(void)container_set_text(row, CONTAINER_status_detail, "Created");
	return container_set_text(row, CONTAINER_status, "Created");
}

static int show(struct driver *driver, struct container *row, bool force,
		struct rpc_failure *failure)
{
	static const char *const statuses[] = {"", "Created", "Running", "Paused", "Stopped"};
	struct world *world = driver->world;
	int result;

	if (!container_text(row, CONTAINER_container_id)[0])
		return 0;
	result = enter(world, "show", failure);
	if (result < 0 || (!force && container_text(row, CONTAINER_task_state)[0]))
		return result;
	if (world->engine == ENGINE_CREATED &&
	    strcmp(container_text(row, CONTAINER_status), "Creating") != 0)
		return 0;
	return container_set_text(row, CONTAINER_status, statuses[world->engine]);
}

static int change(struct driver *driver, const char *operation, enum engine_state to,
		  struct rpc_failure *failure)
{
	int result = enter(driver->world, operation, failure);

	if (result == 0)
		driver->world->engine = to;
	return result;
}

static int start(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	(void)row;
	return change(driver, "start", ENGINE_RUNNING, failure);
}

static int stop(struct driver *driver, struct container *row, int64_t timeout_s,
		struct rpc_failure *failure)
{
	(void)row;
	world_note(driver->world, "(%lld) ", (long long)timeout_s);
	return change(driver, "stop", ENGINE_STOPPED, failure);
}

static int reboot(struct driver *driver, struct container *row, int64_t timeout_s,
		  struct rpc_failure *failure)
{
	(void)row;
	world_note(driver->world, "(%lld) ", (long long)timeout_s);
	return change(driver, "reboot", ENGINE_RUNNING, failure);
}

static int pause_container(struct driver *driver, struct container *row,
			   struct rpc_failure *failure)
{
	(void)row;
	return change(driver, "pause", ENGINE_PAUSED, failure);
}

static int unpause(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	(void)row;
	return change(driver, "unpause", ENGINE_RUNNING, failure);
}

static int kill_container(struct driver *driver, struct container *row, unsigned signal,
			  struct rpc_failure *failure)
{
	struct world *world = driver->world;

	(void)row;
	if (world->engine == ENGINE_STOPPED) {
		world_note(world, "kill of what is stopped\n");
		rpc_fail(failure, "Conflict", "not running");
		return -EBUSY;
	}
	world_note(world, "(%u) ", signal);
	int result = enter(world, "kill", failure);

	if (result < 0)
		return result;
	world->signals++;
	if (signal == 0 || signal == 9 || signal == 15)
		world->engine = ENGINE_STOPPED;
	return 0;
}

static int remove_container(struct driver *driver, struct container *row, bool force,
			    struct rpc_failure *failure)
{
	struct world *world = driver->world;
	int result = refused(world, force ? "remove!" : "remove", failure);

	(void)row;
	if (result < 0)
		return result;
	if (world->foreign) {
		world_note(world, "remove of a foreign container\n");
		rpc_fail(failure, "Conflict", "not ours");
		return -EEXIST;
	}
	if (!force && world->engine == ENGINE_RUNNING) {
		world_note(world, "remove of what runs\n");
		rpc_fail(failure, "Conflict", "it is running");
		return -EBUSY;
	}
	world_note(world, force ? "remove!\n" : "remove\n");
	world->engine = ENGINE_NONE;
	return 0;
}

static int inventory(struct driver *driver, struct compute_node *node, struct zerr *err)
{
	(void)err;
	node->disk_quota_supported = driver->world->quota;
	return 0;
}

const struct driver_ops fake_driver = {
	.open = driver_open,
	.close = driver_close,
	.usable = usable,
	.actor = actor,
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
	.inventory = inventory,
};

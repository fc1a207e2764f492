/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: the only process that parses messages and rows.  It has a connection
 * to the database and a channel to the docker helper of its own, no capability,
 * and whatever it dies of costs one job one try.
 */
#include "unpriv/compute/worker.h"
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/compute/inventory.h"
#include "unpriv/compute/worker_work.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE_UUIDS  64 /* as many as a result holds */
#define UUID_LENGTH (UUID_TEXT_SIZE - 1)

int worker_driver(struct worker *worker)
{
	struct zerr err = {0};
	int result;

	if (worker->manager.driver)
		return 0;
	if (worker->docker_channel < 0)
		return -EPIPE;
	result = worker->manager.driver_ops->open(worker->config, TAKE_FD(worker->docker_channel),
						  &worker->manager.driver, &err);
	if (result < 0)
		zlog_error("docker helper: %s", err.msg);
	return result < 0 ? -EPIPE : 0;
}

bool worker_usable(const struct worker *worker)
{
	const struct manager *manager = &worker->manager;

	if (manager->driver)
		return manager->driver_ops->usable(manager->driver);
	return worker->docker_channel >= 0;
}

static int do_abandon(struct worker *worker, struct work *work)
{
	_cleanup_(manager_job_clear) struct manager_job job = {.record = &work->request->record};
	int result = manager_abandon(&worker->manager, &job);

	work->result.outcome_stored = result == 0;
	return result;
}

struct page {
	struct job_result *result;
	size_t count;
};

static int page_add(void *context, const char *uuid)
{
	struct page *page = context;

	if (strlen(uuid) != UUID_LENGTH)
		return 0; /* no container of ours can have that name */
	if (page->count == PAGE_UUIDS) {
		page->result->more = true;
		return 1;
	}
	memcpy(page->result->uuids + page->count++ * UUID_LENGTH, uuid, UUID_LENGTH);
	return 0;
}

static int do_recover(struct worker *worker, struct work *work)
{
	const struct manager *manager = &worker->manager;
	struct store_scan scan = {.host = worker->config->host,
				  .after = work->request->record.uuid,
				  .all = worker->config->resume_container_state};
	struct page page = {.result = &work->result};
	struct zerr err = {0};
	int result =
		manager->store_ops->container_each(manager->store, &scan, page_add, &page, &err);

	if (result < 0)
		zlog_error("recovery: %s", err.msg);
	return result < 0 ? result : 0;
}

static int do_recover_one(struct worker *worker, struct work *work)
{
	_cleanup_(manager_job_clear) struct manager_job job = {.record = &work->request->record};
	int result = worker_driver(worker);

	return result < 0 ? result : manager_recover(&worker->manager, &job);
}

static int do_heartbeat(struct worker *worker, struct work *work)
{
	const struct manager *manager = &worker->manager;
	const char *zone = worker->config->default_availability_zone;
	struct zerr err = {0};
	int result = manager->store_ops->heartbeat(manager->store, worker->config->host, zone,
						   !worker->beaten, &err);

	(void)work;
	if (result == 0)
		worker->beaten = true;
	else
		zlog_error("heartbeat: %s", err.msg);
	return result;
}

static int do_inventory(struct worker *worker, struct work *work)
{
	int result = worker_driver(worker);

	(void)work;
	return result < 0 ? result : inventory_update(&worker->manager);
}

static int do_job(struct worker *worker, struct work *work)
{
	switch (work->request->kind) {
	case JOB_CLASSIFY:
		return worker_classify(worker, work);
	case JOB_RUN:
		return worker_run(worker, work);
	case JOB_ABANDON:
		return do_abandon(worker, work);
	case JOB_RECOVER:
		return do_recover(worker, work);
	case JOB_RECOVER_ONE:
		return do_recover_one(worker, work);
	case JOB_HEARTBEAT:
		return do_heartbeat(worker, work);
	case JOB_INVENTORY:
		return do_inventory(worker, work);
	}
	return -EINVAL;
}

static void send_result(struct worker *worker, const struct work *work)
{
	uint8_t data[JOB_PACKET_MAX];
	struct zwriter writer;

	zwriter_init(&writer, data, sizeof(data));
	job_put_result(&writer, &work->result);
	/* Without its result the job counts as one that its worker died of. */
	if (writer.failed ||
	    zfd_send(worker->jobs, data, writer.used, &work->reply, work->reply >= 0, 0) < 0)
		_exit(EXIT_JOBS);
}

static void take_job(struct worker *worker, struct zfd_packet *packet)
{
	static struct job_request request; /* some KiB; one job at a time */
	struct work work = {.request = &request, .fd = -1, .reply = -1};

	if (packet->fd_count > 1 || job_get_request(packet->data, packet->length, &request) < 0)
		_exit(EXIT_JOBS);
	if (packet->fd_count == 1)
		work.fd = packet->fds[0];
	zlog_request(request.record.request_id);
	work.result.id = request.id;
	work.result.record = request.record;
	work.result.status = do_job(worker, &work);
	send_result(worker, &work);
	zfd_closep(&work.reply);
	zlog_request(NULL);
}

static void worker_open(struct worker *worker)
{
	struct zerr err = {0};
	int result = 0;

	if (worker->options->confine)
		result = sandbox_confine(SANDBOX_WORKER, worker->options->confine, &err);
	if (result < 0) {
		zlog_error("worker: %s", err.msg);
		_exit(EXIT_SANDBOX);
	}
	if (intent_log_open(&worker->intents, worker->options->state_directory, &err) < 0) {
		zlog_error("worker: %s", err.msg);
		_exit(EXIT_INTENTS);
	}
	worker->manager = (struct manager){.config = worker->config,
					   .store_ops = store_select(worker->config),
					   .driver_ops = &driver_docker,
					   .intents = &worker->intents,
					   .engine_patience_ms = MANAGER_ENGINE_PATIENCE_MS};
	if (!worker->manager.store_ops ||
	    worker->manager.store_ops->open(worker->config, &worker->manager.store, &err) < 0) {
		zlog_error("worker: store: %s", err.msg);
		_exit(EXIT_STORE);
	}
}

static _Noreturn void worker_close(struct worker *worker, int status)
{
	worker->manager.store_ops->close(worker->manager.store);
	worker->manager.driver_ops->close(worker->manager.driver);
	intent_log_close(&worker->intents);
	_exit(status);
}

_Noreturn void worker_main(const struct worker_options *options)
{
	struct worker worker = {.options = options,
				.config = options->config,
				.jobs = options->jobs,
				.docker_channel = options->docker_channel,
				.intents.directory = -1};
	static uint8_t data[JOB_PACKET_MAX];

	worker_open(&worker);
	for (;;) {
		struct zfd_packet packet = {.data = data, .size = sizeof(data)};
		int result = zfd_receive(worker.jobs, &packet, 0);

		if (result <= 0)
			worker_close(&worker, result == 0 ? 0 : EXIT_JOBS);
		take_job(&worker, &packet);
		zfd_packet_close(&packet);
		if (!worker_usable(&worker))
			worker_close(&worker, EXIT_CHANNEL);
	}
}

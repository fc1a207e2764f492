/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a create asks for that this release has no driver for is refused before
 * any effect, and said plainly; and the disk against what the engine can limit
 * (rpc-methods.md §4.2 step 3).  Runs in workers; no privilege.
 */
#include "common/zlog.h"
#include "unpriv/base/json.h"
#include "unpriv/compute/manager.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int unsupported(struct manager_job *job, const char *what)
{
	rpc_fail(&job->failure, "OperationNotSupported", "%s", what);
	return -ENOTSUP;
}

static int invalid(struct manager_job *job, const struct zerr *err)
{
	rpc_fail(&job->failure, "Invalid", "%s", err->msg);
	return -EINVAL;
}

static int check_networks(struct manager_job *job)
{
	struct json_object *networks = NULL;
	struct zerr err = {0};

	if (json_get_array(job->args, "requested_networks", &networks, &err) < 0)
		return invalid(job, &err);
	if (networks && json_object_array_length(networks) > 0)
		return unsupported(
			job,
			"Networks are not supported by this release: it has no network driver");
	return 0;
}

/* A map from a container's uuid to its list of volumes. */
static int check_volumes(struct manager_job *job)
{
	struct json_object *volumes = NULL;
	struct zerr err = {0};

	if (json_get_object(job->args, "requested_volumes", &volumes, &err) < 0)
		return invalid(job, &err);
	if (!volumes)
		return 0;
	json_object_object_foreach(volumes, uuid, list)
	{
		(void)uuid;
		if (list && (!json_object_is_type(list, json_type_array) ||
			     json_object_array_length(list) > 0))
			return unsupported(
				job, "Volumes are not supported by this release: it has no volume "
				     "driver");
	}
	return 0;
}

static int check_pci(struct manager_job *job)
{
	struct json_object *pci = NULL, *data = NULL, *requests = NULL;
	struct zerr err = {0};

	if (json_get_object(job->args, "pci_requests", &pci, &err) < 0 ||
	    (pci && json_get_object(pci, "zun_object.data", &data, &err) < 0) ||
	    (data && json_get_array(data, "requests", &requests, &err) < 0))
		return invalid(job, &err);
	if (requests && json_object_array_length(requests) > 0)
		return unsupported(job, "PCI devices are not supported by this release");
	return 0;
}

static int check_row(struct manager *manager, struct manager_job *job)
{
	const char *image_driver = container_text(&job->row, CONTAINER_image_driver);

	if (job->argument.capsule || job->row.container_type != 0)
		return unsupported(
			job,
			"Capsules are not supported by this release: it has no capsule driver");
	if (strcmp(container_text(&job->row, CONTAINER_cpu_policy), "dedicated") == 0)
		return unsupported(job,
				   "The cpu policy dedicated is not supported by this release");
	if (!image_driver[0] && manager->config->default_image_driver)
		image_driver = manager->config->default_image_driver;
	if (image_driver[0] && strcmp(image_driver, "docker") != 0) {
		rpc_fail(&job->failure, "OperationNotSupported",
			 "The image driver '%.32s' is not supported by this release", image_driver);
		return -ENOTSUP;
	}
	if (CONTAINER_HAS(&job->row, registry_id))
		return unsupported(job,
				   "Registries of a project are not supported by this release");
	return 0;
}

int create_check(struct manager *manager, struct manager_job *job)
{
	int result = check_row(manager, job);

	if (result == 0)
		result = check_networks(job);
	if (result == 0)
		result = check_volumes(job);
	if (result == 0)
		result = check_pci(job);
	return result;
}

int create_limits(struct manager_job *job, struct claim_limits *limits)
{
	struct json_object *map = NULL;
	struct zerr err = {0};

	*limits = (struct claim_limits){-1, -1, -1};
	if (json_get_object(job->args, "limits", &map, &err) < 0)
		return invalid(job, &err);
	if (map && (json_get_double(map, "memory", &limits->memory_mib, &err) < 0 ||
		    json_get_double(map, "cpu", &limits->cpu, &err) < 0 ||
		    json_get_double(map, "disk", &limits->disk_gib, &err) < 0))
		return invalid(job, &err);
	return 0;
}

/* Asks the engine once in a worker's life.  What cannot be known now counts as no. */
static bool quota_supported(struct manager *manager)
{
	struct compute_node node = {0};
	struct zerr err = {0};

	if (manager->quota_known)
		return manager->quota_supported;
	if (manager->driver_ops->inventory(manager->driver, &node, &err) == 0) {
		manager->quota_known = true;
		manager->quota_supported = node.disk_quota_supported;
	} else {
		zlog_warning("disk quota: %s", err.msg);
	}
	free(node.labels);
	free(node.runtimes);
	free(node.numa_topology);
	free(node.pci_stats);
	return manager->quota_known && manager->quota_supported;
}

int create_disk(struct manager *manager, struct manager_job *job)
{
	bool supported = quota_supported(manager);

	if (job->row.disk > 0 && !supported) {
		rpc_fail(&job->failure, "Invalid",
			 "Your host does not support disk quota feature.");
		return -EINVAL;
	}
	if (job->row.disk <= 0 && supported && manager->config->default_disk > 0) {
		job->row.disk = manager->config->default_disk;
		job->row.set |= CONTAINER_BIT(CONTAINER_disk);
		job->row.changed |= CONTAINER_BIT(CONTAINER_disk);
	}
	return 0;
}

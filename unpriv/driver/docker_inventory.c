/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's resources: what the engine says of itself, the kernel's memory and
 * the size of the filesystem that holds the engine's data.
 * Process: worker.  Privileges: none.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/driver/docker_info.h"
#include "unpriv/driver/docker_ops.h"
#include "unpriv/driver/node_numa.h"
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MEMINFO_MAX   65536
#define MOUNTINFO_MAX (UINT32_C(4) << 20) /* some thousand mounts */
#define GIB	      (UINT64_C(1) << 30)

/* A file of /proc as owned text, or NULL. */
static char *read_proc(const char *path, size_t max)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(max + 1);
	ssize_t length;

	if (fd < 0 || text == NULL)
		return NULL;
	length = zfd_read_all(fd, text, max);
	if (length < 0)
		return NULL;
	text[length] = '\0';
	return TAKE_PTR(text);
}

static int read_memory(struct compute_node *node, struct zerr *err)
{
	_cleanup_free_ char *text = read_proc("/proc/meminfo", MEMINFO_MAX);
	struct node_memory memory;

	if (text == NULL || node_memory_read(text, &memory) < 0)
		return zerr_set(err, -EIO, "/proc/meminfo: cannot be read");
	node->mem_total = memory.total_mib;
	node->mem_free = memory.free_mib;
	node->mem_available = memory.available_mib;
	node->mem_used = memory.total_mib - memory.available_mib;
	return 0;
}

/* Whole GiB of the filesystem, less the share that is kept for images. */
static int32_t disk_total(const char *root_dir, double reserve)
{
	struct statvfs fs;
	uint64_t gib;

	if (root_dir[0] != '/' || statvfs(root_dir, &fs) < 0) {
		if (statvfs("/", &fs) < 0)
			return 0;
	}
	gib = (uint64_t)fs.f_blocks * fs.f_frsize / GIB;
	if (reserve > 0 && reserve <= 1)
		gib -= (uint64_t)((double)gib * reserve);
	return gib > INT32_MAX ? INT32_MAX : (int32_t)gib;
}

static int ask(struct driver *driver, struct docker_info *info, struct zerr *err)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	struct req_docker_engine_info message = {.wait_ms = docker_wait_ms(driver, 0)};
	const struct docker_request request = {.number = PRIV_docker_engine_info,
					       .message = &message,
					       .api_minor = &message.api_minor,
					       .body_max = DOCKER_INFO_MAX};
	struct rpc_failure failure = {0};
	int result = docker_call(driver, &request, &reply, &failure);

	if (result == 0 && !docker_good(&reply))
		result = docker_refused(&reply, &failure);
	if (result < 0)
		return zerr_set(err, result, "inventory: %s", failure.message);
	return docker_info_read(reply.body.data, reply.body.length, info, err);
}

/* The scheduler and Neutron know the node by [DEFAULT]/host (K49). */
static void check_name(struct driver *driver, const struct docker_info *info)
{
	if (driver->name_checked)
		return;
	driver->name_checked = true;
	if (strcmp(info->name, driver->config->host) != 0)
		zlog_warning("the engine's name %s differs from [DEFAULT]/host %s: reported under "
			     "the latter",
			     info->name, driver->config->host);
}

int docker_inventory(struct driver *driver, struct compute_node *node, struct zerr *err)
{
	_cleanup_(docker_info_clear) struct docker_info info = {0};
	_cleanup_free_ char *mountinfo = NULL;
	int result = ask(driver, &info, err);

	if (result == 0)
		result = read_memory(node, err);
	if (result < 0)
		return result;
	check_name(driver, &info);
	mountinfo = read_proc("/proc/self/mountinfo", MOUNTINFO_MAX);
	node->disk_quota_supported = docker_disk_quota(&info, mountinfo != NULL ? mountinfo : "");
	node->disk_total = disk_total(info.root_dir, driver->config->reserve_disk_for_image);
	node->enable_cpu_pinning = driver->config->enable_cpu_pinning;
	node->cpus = info.cpus;
	node->total_containers = info.containers;
	node->running_containers = info.running;
	node->paused_containers = info.paused;
	node->stopped_containers = info.stopped;
	(void)snprintf(node->hostname, sizeof(node->hostname), "%s", driver->config->host);
	memcpy(node->architecture, info.architecture, sizeof(node->architecture));
	memcpy(node->os_type, info.os_type, sizeof(node->os_type));
	memcpy(node->os, info.os, sizeof(node->os));
	memcpy(node->kernel_version, info.kernel_version, sizeof(node->kernel_version));
	node->numa_topology = node_numa_topology(NODE_NUMA_PATH, driver->config->floating_cpu_set);
	node->labels = TAKE_PTR(info.labels);
	node->runtimes = TAKE_PTR(info.runtimes);
	return 0;
}

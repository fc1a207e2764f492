/* SPDX-License-Identifier: Apache-2.0 */
/* The node, as the engine and the kernel describe it (timers-and-recovery.md §5.4). */
#pragma once
#include "common/zbuf.h"
#include "common/zerr.h"
#include "unpriv/store/store.h"
#include <stdbool.h>

#define DOCKER_INFO_MAX (UINT32_C(4) << 20)

struct docker_info {
	char name[256];
	char root_dir[4096];
	char storage_driver[64];
	char backing_filesystem[64];
	char architecture[33], os_type[33], os[65], kernel_version[129];
	int32_t cpus, containers, running, paused, stopped;
	char *labels, *runtimes; /* owned JSON text: a map of strings, a list of strings */
};

/* 0 with *info owned (docker_info_clear), or -EBADMSG. */
int docker_info_read(const char *text, size_t length, struct docker_info *info, struct zerr *err);
void docker_info_clear(struct docker_info *info);

struct node_memory {
	int32_t total_mib, free_mib, available_mib;
};

/* Reads the text of /proc/meminfo; 0 or -EBADMSG. */
int node_memory_read(const char *text, struct node_memory *memory);
/* Does a container's disk take a size limit (K34)?  mountinfo: the text of /proc/self/mountinfo. */
bool docker_disk_quota(const struct docker_info *info, const char *mountinfo);

/* SPDX-License-Identifier: Apache-2.0 */
/* NUMA nodes, as the kernel names them (K43), in the form of compute_node.numa_topology. */
#pragma once

#define NODE_NUMA_PATH "/sys/devices/system/node"

/* {"nodes":[{"id":0,"cpuset":[0,1],"pinned_cpus":[],"mem_total":9946,"mem_available":9946}]},
 * owned; memory in MiB.  Cpus in the list except ("1-4,6"; may be NULL) are left out.  A node that
 * cannot be read is left out too: no node at all is a normal case.  NULL only for lack of memory.
 */
char *node_numa_topology(const char *path, const char *except);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's row: what the driver says of the runtime and the machine.
 * Runs in workers; no privilege.
 */
#include "unpriv/compute/inventory.h"
#include "common/zlog.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns that Zun's readers parse without asking whether there is anything. */
#define NO_NODES "{\"nodes\": []}"
#define NO_POOLS                                                                                   \
	"{\"zun_object.name\": \"PciDevicePoolList\", \"zun_object.namespace\": \"zun\", "         \
	"\"zun_object.version\": \"1.0\", \"zun_object.data\": {\"objects\": []}}"

static void node_clear(struct compute_node *node)
{
	free(node->labels);
	free(node->runtimes);
	free(node->numa_topology);
	free(node->pci_stats);
}

static int fill(char **member, const char *empty)
{
	if (!*member)
		*member = strdup(empty);
	return *member ? 0 : -ENOMEM;
}

int inventory_update(struct manager *manager)
{
	struct compute_node node = {0};
	struct zerr err = {0};
	int result = manager->driver_ops->inventory(manager->driver, &node, &err);

	if (result == 0) {
		manager->quota_known = true;
		manager->quota_supported = node.disk_quota_supported;
		(void)snprintf(node.hostname, sizeof(node.hostname), "%s", manager->config->host);
		if (fill(&node.numa_topology, NO_NODES) < 0 ||
		    fill(&node.pci_stats, NO_POOLS) < 0 || fill(&node.labels, "{}") < 0 ||
		    fill(&node.runtimes, "[]") < 0)
			result = zerr_set(&err, -ENOMEM, "no memory");
	}
	if (result == 0)
		result = manager->store_ops->compute_node_update(manager->store, &node, &err);
	if (result < 0)
		zlog_error("inventory: %s", err.msg);
	node_clear(&node);
	return result;
}

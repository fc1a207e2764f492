/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The site policy file's parser: whatever it is fed, it either says what is wrong
 * and where, or fills a policy whose every text ends and whose lists are whole.
 */
#include "policy/site.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_list(const struct site_list *list)
{
	must(list->count <= SITE_LIST_MAX && (list->any ? list->count == 0 : list->count > 0));
	for (size_t i = 0; i < list->count; i++) {
		size_t left = (size_t)(list->text + sizeof(list->text) - list->items[i]);

		must(list->items[i] >= list->text && left <= sizeof(list->text));
		must(list->items[i][0] != '\0' && memchr(list->items[i], '\0', left) != NULL);
		must(site_list_has(list, zstr_from(list->items[i])));
	}
}

static void check(const struct site_policy *policy)
{
	must(site_path_valid(policy->docker_socket) && site_path_valid(policy->audit_directory));
	must(site_path_valid(policy->state_directory) && site_path_valid(policy->run_directory));
	must(policy->memory_max_bytes <= INT64_MAX && policy->cpu_shares_max <= 262144);
	must(policy->cpu_shares_max != 1 && policy->pids_max <= INT32_MAX);
	must(policy->landlock_min_abi <= 99);
	must(strlen(policy->broker_user) < sizeof(policy->broker_user));
	must(strlen(policy->docker_user) < sizeof(policy->docker_user));
	must(strlen(policy->docker_group) < sizeof(policy->docker_group));
	check_list(&policy->runtimes);
	check_list(&policy->registries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct site_policy policy;
	struct zerr err = {0};

	if (size > 65536)
		return 0;
	if (site_policy_parse("policy.conf", (const char *)data, size, &policy, &err) == 0)
		check(&policy);
	else
		must(strncmp(err.msg, "policy.conf:", 12) == 0);
	return 0;
}

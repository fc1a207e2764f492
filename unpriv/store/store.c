/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which store the configuration names, and the form of its times.
 * Used by workers; no privilege.
 */
#include "unpriv/store/store.h"
#include <stdio.h>
#include <time.h>

void store_now(char out[STORE_TIME_SIZE])
{
	struct timespec now = {0};
	struct tm utc = {0};
	size_t used;

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail for this clock */
	(void)gmtime_r(&now.tv_sec, &utc);
	used = strftime(out, STORE_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &utc);
	(void)snprintf(out + used, STORE_TIME_SIZE - used, ".%06ld", now.tv_nsec / 1000);
}

const struct store_ops *store_select(const struct config *config)
{
	/* config.c refuses every other scheme of [database]/connection. */
	return config->db_name ? &store_postgresql : NULL;
}

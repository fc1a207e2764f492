/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zun.conf: whatever the text, an error that says something or a configuration
 * that is whole.
 */
#include "unpriv/base/config.h"
#include <stdint.h>
#include <stdlib.h>
#include "common/zlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config config = {0};
	struct zerr err = {0};

	zlog_setup("fuzz", ZLOG_ERROR, false); /* unknown options are no news here */
	if (config_parse("zun.conf", (const char *)data, size, &config, &err) < 0) {
		if (err.code >= 0 || !err.msg[0])
			abort();
	} else if (!config.host || !config.topic || !config.rabbit_vhost ||
		   config.rabbit_count < 1 || config.rabbit_count > CONFIG_HOSTS_MAX ||
		   !config.image_driver_list ||
		   config.workers_min > config.executor_thread_pool_size ||
		   config.executor_thread_pool_size > CONFIG_WORKERS_MAX) {
		abort();
	}
	config_free(&config);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The driver under test against a scripted helper. */
#pragma once
#include "tests/unit/driver/fake_helper.h"
#include "unpriv/driver/driver.h"

#define CASE_UUID "7f3c2b8e-7f0e-4b5c-9d57-6a1f3c0f2b11"
#define CASE_ID	  "0724377d3a270381dab48bf8ce38a6776b65929b9e5f648b27f7797954c62e2b"

struct driver_case {
	struct fake_helper helper;
	struct config config;
	struct store_actor actor;
	struct driver *driver;
	struct container row; /* busybox, as recorded; created */
	struct rpc_failure failure;
};

/* Steps shorter to write. */
#define STEP(request, http)                                                                        \
	{                                                                                          \
		.number = PRIV_docker_##request, .http_status = (http)                             \
	}
#define STEP_BODY(request, http, text)                                                             \
	{                                                                                          \
		.number = PRIV_docker_##request, .http_status = (http), .body = (text),            \
		.chunked = true                                                                    \
	}
#define STEP_REFUSED(request, why, text)                                                           \
	{                                                                                          \
		.number = PRIV_docker_##request, .status = (why), .rule = (text)                   \
	}
#define STEP_VERSION                                                                               \
	STEP_BODY(engine_version, 200, "{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\"}")
#define STEP_END                                                                                   \
	{                                                                                          \
		.number = 0                                                                        \
	}

void case_open(struct driver_case *test, const struct fake_step *steps);
/* Closes the driver and checks that the whole script was played. */
void case_close(struct driver_case *test);
void case_set(struct driver_case *test, enum container_column column, const char *value);
/* The failure has this class and its message contains text. */
void case_failed(const struct driver_case *test, const char *class, const char *text);

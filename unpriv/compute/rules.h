/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each of the broker's processes may open and where it may connect, made
 * from the configuration before the sandbox is closed.
 */
#pragma once
#include "policy/sandbox.h"
#include "unpriv/base/config.h"

#define RULES_PATHS_MAX 64
#define RULES_PORTS_MAX (CONFIG_HOSTS_MAX + 4)

struct rules {
	struct sandbox_path paths[RULES_PATHS_MAX + 1];
	size_t path_count;
	uint16_t ports[RULES_PORTS_MAX + 1];
	size_t port_count;
	char database_files[4][256]; /* paths borrow from here */
	struct sandbox_confine confine;
};

struct rules_source {
	const struct config *config;
	const char *state_directory;
	const char *const *config_paths; /* of the command line, NULL-terminated */
	struct sandbox_board *board;	 /* may be NULL */
	unsigned landlock_min_abi;
};

/* The dispatcher's hold what the two others need: theirs stand below its own. */
void rules_dispatcher(struct rules *rules, const struct rules_source *source);
void rules_publisher(struct rules *rules, const struct rules_source *source);
void rules_worker(struct rules *rules, const struct rules_source *source);

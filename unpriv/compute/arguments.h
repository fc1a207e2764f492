/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a service, as oslo.config has it (contract config.md §1). */
#pragma once
#include <stdbool.h>

#define ARGUMENTS_PATHS_MAX 32

struct arguments {
	const char *files[ARGUMENTS_PATHS_MAX + 1];	  /* --config-file, NULL-terminated */
	const char *directories[ARGUMENTS_PATHS_MAX + 1]; /* --config-dir */
	const char *paths[2 * ARGUMENTS_PATHS_MAX + 1];	  /* both */
	const char *log_file, *log_dir;
	bool debug;
};

/* 0: go on; 1: done (--version, --help); -EINVAL after saying on stderr what was wrong.  Borrows
 * argv. */
int arguments_parse(struct arguments *arguments, int argc, char **argv, const char *program);

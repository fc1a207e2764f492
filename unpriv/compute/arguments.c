/* SPDX-License-Identifier: Apache-2.0 */
/* The command line.  Runs before anything else, without a privilege. */
#include "unpriv/compute/arguments.h"
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>

enum {
	OPTION_FILE = 256,
	OPTION_DIRECTORY,
	OPTION_LOG_FILE,
	OPTION_LOG_DIR,
	OPTION_VERSION,
	OPTION_HELP,
	OPTION_IGNORED
};

static int add(const char **list, const char *value)
{
	for (size_t i = 0; i < ARGUMENTS_PATHS_MAX; i++) {
		if (list[i])
			continue;
		list[i] = value;
		return 0;
	}
	return -E2BIG;
}

static void usage(FILE *to, const char *program)
{
	(void)fprintf(to,
		      "usage: %s [--config-file FILE]... [--config-dir FOLDER]... [--debug] "
		      "[--log-file FILE] [--log-dir FOLDER] [--version]\n",
		      program);
}

static int take(struct arguments *arguments, int option, const char *value)
{
	switch (option) {
	case OPTION_FILE:
		return add(arguments->files, value);
	case OPTION_DIRECTORY:
		return add(arguments->directories, value);
	case OPTION_LOG_FILE:
		arguments->log_file = value;
		return 0;
	case OPTION_LOG_DIR:
		arguments->log_dir = value;
		return 0;
	case 'd':
		arguments->debug = true;
		return 0;
	case OPTION_IGNORED:
		return 0;
	default:
		return -EINVAL;
	}
}

static void join(struct arguments *arguments)
{
	size_t count = 0;

	for (size_t i = 0; arguments->files[i]; i++)
		arguments->paths[count++] = arguments->files[i];
	for (size_t i = 0; arguments->directories[i]; i++)
		arguments->paths[count++] = arguments->directories[i];
}

int arguments_parse(struct arguments *arguments, int argc, char **argv, const char *program)
{
	static const struct option options[] = {
		{"config-file", required_argument, NULL, OPTION_FILE},
		{"config-dir", required_argument, NULL, OPTION_DIRECTORY},
		{"log-file", required_argument, NULL, OPTION_LOG_FILE},
		{"logfile", required_argument, NULL, OPTION_LOG_FILE},
		{"log-dir", required_argument, NULL, OPTION_LOG_DIR},
		{"debug", no_argument, NULL, 'd'},
		{"nodebug", no_argument, NULL, OPTION_IGNORED},
		{"use-syslog", no_argument, NULL, OPTION_IGNORED},
		{"version", no_argument, NULL, OPTION_VERSION},
		{"help", no_argument, NULL, OPTION_HELP},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "dh", options, NULL)) != -1) {
		if (option == OPTION_VERSION) {
			(void)printf("%s %s\n", program, KEELSON_VERSION);
			return 1;
		}
		if (option == OPTION_HELP || option == 'h') {
			usage(stdout, program);
			return 1;
		}
		if (take(arguments, option, optarg) < 0) {
			usage(stderr, program);
			return -EINVAL;
		}
	}
	if (optind < argc) {
		(void)fprintf(stderr, "%s: unexpected argument %s\n", program, argv[optind]);
		usage(stderr, program);
		return -EINVAL;
	}
	join(arguments);
	return 0;
}

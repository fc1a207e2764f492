/* SPDX-License-Identifier: Apache-2.0 */
/* keelson: the operator's tool.  Runs with the rights of who calls it; changes nothing. */
#include "unpriv/cli/commands.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: keelson audit verify FILE...\n"
	"       keelson doctor [--run-directory DIR] [--policy FILE]\n"
	"       keelson --version | --help\n"
	"\n"
	"audit verify  checks form, sequence and hashes of audit logs, and their end against the\n"
	"              state file beside them\n"
	"doctor        shows what each running process may do, as it states it itself and as the\n"
	"              kernel tells it, and what this host lacks\n"
	"\n"
	"Exit status: 0 all is well, 1 a fault was found, 2 wrong usage.\n";

static const struct {
	const char *name;
	int (*run)(int count, char **words);
} commands[] = {
	{"audit", command_audit},
	{"doctor", command_doctor},
};

int main(int count, char **words)
{
	int result = EXIT_USAGE;

	if (count >= 2 && strcmp(words[1], "--version") == 0) {
		(void)puts("keelson " KEELSON_VERSION);
		return EXIT_SUCCESS;
	}
	if (count >= 2 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "help") == 0)) {
		(void)fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (count >= 2 && strcmp(words[1], commands[i].name) == 0)
			result = commands[i].run(count - 2, words + 2);
	if (result == EXIT_USAGE)
		(void)fputs(usage, stderr);
	/* A full disk behind a redirection must not look like a clean bill. */
	if (fflush(stdout) != 0) {
		perror("keelson: standard output");
		return EXIT_FAULT;
	}
	return result;
}

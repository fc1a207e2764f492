/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files make up a configuration (config.md §1): those named on the
 * command line, else zun.conf and <program>.conf from the first place that has
 * them; then the folders of *.conf files.  No privilege.
 */
#include "unpriv/base/config_files.h"
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/zfd.h"

#define PLACES 4

/* Path of base+suffix in the nth place; false when there is no home to look in. */
static bool place(unsigned n, const char *base, const char *suffix, char *path, size_t size)
{
	static const char *const folders[PLACES] = {"/.zun", "", "/etc/zun", "/etc"};
	const char *home = n < 2 ? getenv("HOME") : "";

	if (!home || (n < 2 && home[0] != '/'))
		return false;
	return (size_t)snprintf(path, size, "%s%s/%s%s", home, folders[n], base, suffix) < size;
}

static bool search(const char *base, const char *suffix, char *path, size_t size)
{
	for (unsigned n = 0; n < PLACES; n++)
		if (place(n, base, suffix, path, size) && access(path, F_OK) == 0)
			return true;
	return false;
}

static int is_part(const struct dirent *entry)
{
	return fnmatch("*.conf", entry->d_name, FNM_PERIOD) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_folder(struct ini *ini, const char *path, struct zerr *err)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_part, by_name), result = 0;
	char file[4096];

	if (count < 0)
		return zerr_errno(err, -errno, "%s", path);
	for (int i = 0; i < count; i++) {
		if (result == 0 && (size_t)snprintf(file, sizeof(file), "%s/%s", path,
						    entries[i]->d_name) >= sizeof(file))
			result = zerr_set(err, -ENAMETOOLONG, "%s: too long a name", path);
		if (result == 0)
			result = ini_read_file(ini, file, err);
		free(entries[i]);
	}
	free(entries);
	return result;
}

typedef int reading(struct ini *ini, const char *path, struct zerr *err);

static int read_found(struct ini *ini, const char *base, const char *suffix, reading *read,
		      struct zerr *err)
{
	char path[4096];

	return base && search(base, suffix, path, sizeof(path)) ? read(ini, path, err) : 0;
}

static int read_all(struct ini *ini, const char *const *paths, reading *read, struct zerr *err)
{
	int result = 0;

	for (; *paths && result == 0; paths++)
		result = read(ini, *paths, err);
	return result;
}

int config_read_files(const struct config_source *source, struct ini *ini, struct zerr *err)
{
	const char *program =
		source->program && strcmp(source->program, "zun") != 0 ? source->program : NULL;
	int result;

	if (source->files) {
		result = read_all(ini, source->files, ini_read_file, err);
	} else {
		result = read_found(ini, "zun", ".conf", ini_read_file, err);
		if (result == 0)
			result = read_found(ini, program, ".conf", ini_read_file, err);
	}
	if (result < 0)
		return result;
	if (source->directories)
		return read_all(ini, source->directories, read_folder, err);
	result = read_found(ini, "zun", ".conf.d", read_folder, err);
	return result < 0 ? result : read_found(ini, program, ".conf.d", read_folder, err);
}

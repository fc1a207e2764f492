/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of zun.conf, private to unpriv/base: read under oslo.config's rules, not yet
 * understood. */
#pragma once
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>

#define INI_SOURCES_MAX 128		  /* files that one start may read */
#define INI_TEXT_MAX	((size_t)1 << 20) /* of one file: far above real ones */

struct ini_entry {
	const char *group; /* borrows from groups; lower case unless it is DEFAULT, as oslo.config
			      does */
	char *key, *value; /* owned; a value may be a secret and is wiped */
	unsigned source, line;
};

struct ini_source {
	char *name;	      /* owned: path as it was opened */
	bool others_may_read; /* mode of the file */
};

struct ini {
	struct ini_entry *entries; /* in the order read: later ones win */
	size_t count, size;
	char **groups; /* owned, each once */
	size_t group_count, group_size;
	struct ini_source sources[INI_SOURCES_MAX];
	unsigned source_count;
};

/* Adds the lines of one text.  0, or a negative errno with *err "NAME:LINE: what". */
int ini_read(struct ini *ini, const char *name, const char *text, size_t length, struct zerr *err);
/* The same from a file.  -ENOENT when it is not there (then *err says so too). */
int ini_read_file(struct ini *ini, const char *path, struct zerr *err);
/* The entry in force: the last of that name, or of alias (may be NULL) when its file comes later.
 * Borrows; NULL when not set. */
const struct ini_entry *ini_find(const struct ini *ini, const char *group, const char *key,
				 const char *alias);
void ini_clear(struct ini *ini);
/* free() after wiping a string; NULL is well. */
void ini_wipe(char *text);

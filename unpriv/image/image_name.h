/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image's name of a row, as the engine is asked for it: always with a tag or
 * a digest, because a pull without either fetches every tag (K31, F24).
 */
#pragma once
#include "common/imageref.h"
#include <stdbool.h>

struct image_name {
	char reference[IMAGEREF_MAX + 1]; /* repository:tag, or repository@digest */
	char repository[IMAGEREF_MAX + 1];
	char tag[130];	  /* "latest" when none was given; "" with a digest */
	char digest[130]; /* "" when none */
};

/* 0, or -EINVAL for a name that the grammar refuses.  With a digest the tag says nothing and is
 * dropped. */
int image_name_read(const char *text, struct image_name *name);
/* Is entry ("repository@digest" as the engine writes it) digest of repository?  The engine leaves
 * out "docker.io/" and "library/". */
bool image_name_is_digest_of(const char *entry, const char *repository, const char *digest);

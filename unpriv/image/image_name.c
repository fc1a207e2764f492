/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalises image names.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/image/image_name.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int image_name_read(const char *text, struct image_name *name)
{
	struct imageref reference;
	struct image_name read = {.tag = "latest"};
	int length;

	if (imageref_parse(zstr_from(text), &reference) < 0 ||
	    zstr_copy(reference.repository, read.repository, sizeof(read.repository)) < 0 ||
	    zstr_copy(reference.digest, read.digest, sizeof(read.digest)) < 0)
		return -EINVAL;
	if (reference.digest.length > 0)
		read.tag[0] = '\0';
	else if (reference.tag.length > 0 &&
		 zstr_copy(reference.tag, read.tag, sizeof(read.tag)) < 0)
		return -EINVAL;
	length = snprintf(read.reference, sizeof(read.reference), "%s%c%s", read.repository,
			  read.digest[0] != '\0' ? '@' : ':',
			  read.digest[0] != '\0' ? read.digest : read.tag);
	if (length < 0 || (size_t)length >= sizeof(read.reference))
		return -EINVAL;
	*name = read;
	return 0;
}

static struct zstr strip(struct zstr text, const char *prefix)
{
	size_t length = strlen(prefix);

	if (text.length > length && memcmp(text.data, prefix, length) == 0) {
		text.data += length;
		text.length -= length;
	}
	return text;
}

/* The short form in which the engine shows a repository of the default registry. */
static struct zstr familiar(struct zstr repository)
{
	return strip(strip(strip(repository, "index.docker.io/"), "docker.io/"), "library/");
}

bool image_name_is_digest_of(const char *entry, const char *repository, const char *digest)
{
	struct imageref parsed;
	struct zstr ours = familiar(zstr_from(repository));
	struct zstr theirs;

	if (imageref_parse(zstr_from(entry), &parsed) < 0 || !zstr_equal(parsed.digest, digest))
		return false;
	theirs = familiar(parsed.repository);
	return theirs.length == ours.length && memcmp(theirs.data, ours.data, ours.length) == 0;
}

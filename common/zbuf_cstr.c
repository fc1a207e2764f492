/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a C string.  For the broker's own packets: what crosses to a helper
 * is borrowed in place.  Needs no privilege.
 */
#include "common/zbuf.h"

void zget_cstr(struct zreader *reader, char *out, size_t size)
{
	/* What the maximum let through fits, and so does the empty string of a failure. */
	if (size == 0 || zstr_copy(zget_str(reader, size - 1), out, size) < 0)
		reader->failed = true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a UUID.  For the broker, which gets them as text; a helper gets 16
 * bytes.  Needs no privilege.
 */
#include "common/text.h"
#include <errno.h>
#include <string.h>

/* A dash stands before the bytes 4, 6, 8 and 10 of a UUID. */
static bool dash_before(size_t byte)
{
	return byte >= 4 && byte <= 10 && byte % 2 == 0;
}

int uuid_parse(struct zstr text, uint8_t out[UUID_SIZE])
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF"; /* the value modulo 16 */
	uint8_t uuid[UUID_SIZE] = {0};
	size_t at = 0;

	if (text.length != UUID_TEXT_SIZE - 1)
		return -EINVAL;
	for (size_t i = 0; i < 2 * sizeof(uuid); i++) {
		const char *digit;

		if (i % 2 == 0 && dash_before(i / 2) && text.data[at++] != '-')
			return -EINVAL;
		digit = text.data[at] ? strchr(digits, text.data[at]) : NULL;
		if (!digit)
			return -EINVAL;
		uuid[i / 2] = (uint8_t)(uuid[i / 2] << 4 | ((digit - digits) & 15));
		at++;
	}
	memcpy(out, uuid, UUID_SIZE);
	return 0;
}

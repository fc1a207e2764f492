/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling an error.  Used by every process; needs no privilege and allocates
 * nothing, so it works on any path and under any sandbox.
 */
#include "common/zerr.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int zerr_set(struct zerr *err, int code, const char *format, ...)
{
	va_list arguments;

	if (err) {
		err->code = code;
		errno = -code; /* which %m reads */
		va_start(arguments, format);
		(void)vsnprintf(err->msg, sizeof(err->msg), format,
				arguments); /* cut if too long */
		va_end(arguments);
	}
	return code;
}

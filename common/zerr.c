/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling an error.  Used by every process; needs no privilege, allocates
 * nothing and asks no locale, so it works on any path and under any sandbox.
 */
#include "common/zerr.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int zerr_set(struct zerr *err, int code, const char *format, ...)
{
	va_list arguments;

	if (err) {
		err->code = code;
		va_start(arguments, format);
		(void)vsnprintf(err->msg, sizeof(err->msg), format,
				arguments); /* cut if too long */
		va_end(arguments);
	}
	return code;
}

int zerr_errno(struct zerr *err, int code, const char *format, ...)
{
	const char *text = strerrordesc_np(-code);
	va_list arguments;
	size_t used;

	if (err) {
		err->code = code;
		va_start(arguments, format);
		(void)vsnprintf(err->msg, sizeof(err->msg), format, arguments);
		va_end(arguments);
		used = strlen(err->msg);
		(void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s",
			       text ? text : "unknown error");
	}
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling an error.  Used by every process; needs no privilege, allocates
 * nothing and asks no locale, so it works on any path and under any sandbox.
 */
#include "common/zerr.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct zerr *err, int code, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));

static void fill(struct zerr *err, int code, const char *format, va_list arguments)
{
	err->code = code;
	if (vsnprintf(err->msg, sizeof(err->msg), format, arguments) < 0)
		err->msg[0] = '\0';
}

int zerr_set(struct zerr *err, int code, const char *format, ...)
{
	if (err) {
		va_list arguments;

		va_start(arguments, format);
		fill(err, code, format, arguments);
		va_end(arguments);
	}
	return code;
}

int zerr_errno(struct zerr *err, int code, const char *format, ...)
{
	if (err) {
		va_list arguments;
		const char *text = strerrordesc_np(-code);
		size_t used;

		va_start(arguments, format);
		fill(err, code, format, arguments);
		va_end(arguments);
		used = strlen(err->msg);
		if (text)
			(void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", text);
		else
			(void)snprintf(err->msg + used, sizeof(err->msg) - used, ": error %d",
				       -code);
	}
	return code;
}

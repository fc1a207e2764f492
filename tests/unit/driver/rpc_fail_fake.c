/* SPDX-License-Identifier: Apache-2.0 */
/* rpc_fail without the envelope's code behind it. Process: unit test. */
#include "unpriv/rpc/envelope.h"
#include <stdarg.h>
#include <stdio.h>

void rpc_fail(struct rpc_failure *failure, const char *class, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	failure->class = class;
	failure->module = "zun.common.exception";
	(void)vsnprintf(failure->message, sizeof(failure->message), format, arguments);
	va_end(arguments);
}

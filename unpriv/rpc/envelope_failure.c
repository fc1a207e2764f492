/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exceptions by name.  The HTTP status that a user sees is that of the class at
 * the API; the code sent along is the same, as upstream's (rpc-methods.md §6).
 * No privilege.
 */
#include "common/text.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "unpriv/rpc/envelope.h"

#define ZUN_MODULE "zun.common.exception"

static const struct {
	int code;
	const char *classes; /* between blanks */
} codes[] = {
	{400, " Invalid InvalidValue ImageNotFound Base64Exception PortNotUsable PortInUse "
	      "PortBindingFailed SecurityGroupCannotBeApplied SecurityGroupCannotBeRemoved "
	      "VolumeCreateFailed VolumeDeleteFailed VolumeNotUsable "},
	{403, " NotAuthorized "},
	{404, " ContainerNotFound NetworkNotFound PortNotFound VolumeNotFound "
	      "VolumeMappingNotFound RegistryNotFound ComputeNodeNotFound "
	      "ResourceProviderNotFound "},
	{409, " Conflict InvalidStateException ExecInstanceAlreadyExists "},
};

static int code_of(const char *class)
{
	char word[64];

	(void)snprintf(word, sizeof(word), " %s ", class); /* what is cut is in no list */
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strstr(codes[i].classes, word))
			return codes[i].code;
	return 500;
}

/* Takes off what vsnprintf left of a character that it cut. */
static void trim_cut(char *message)
{
	struct zstr text = zstr_from(message);
	size_t at = 0;
	uint32_t code;

	while (at < text.length) {
		size_t taken = text_utf8_next(text, at, &code);

		if (taken == 0 && text.length - at < 4)
			break;
		at += taken > 0 ? taken
				: 1; /* wrong bytes before the end are the writer's matter */
	}
	message[at] = '\0';
}

static void fill(struct rpc_failure *failure, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

static void fill(struct rpc_failure *failure, const char *format, va_list arguments)
{
	int length = vsnprintf(failure->message, sizeof(failure->message), format, arguments);

	if (length < 0)
		failure->message[0] = '\0';
	else if ((size_t)length >= sizeof(failure->message))
		trim_cut(failure->message);
}

void rpc_fail(struct rpc_failure *failure, const char *class, const char *format, ...)
{
	va_list arguments;

	failure->class = class;
	failure->module = ZUN_MODULE;
	failure->code = code_of(class);
	va_start(arguments, format);
	fill(failure, format, arguments);
	va_end(arguments);
}

void rpc_fail_in(struct rpc_failure *failure, const char *module, const char *class,
		 const char *format, ...)
{
	va_list arguments;

	failure->class = class;
	failure->module = module;
	failure->code = 0;
	va_start(arguments, format);
	fill(failure, format, arguments);
	va_end(arguments);
}

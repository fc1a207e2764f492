/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the character classes are called, for the documentation of the request
 * table.  No process needs it.
 */
#include "common/text.h"

static const char *const names[TEXT_CLASS_COUNT] = {
	[TEXT_TOKEN] = "token",
	[TEXT_UTF8] = "UTF-8 text",
	[TEXT_ENV_KEY] = "environment name",
	[TEXT_LABEL_KEY] = "label name",
	[TEXT_IMAGE] = "image reference",
	[TEXT_HOSTNAME] = "host name",
	[TEXT_ABS_PATH] = "absolute path",
	[TEXT_NAME] = "name",
	[TEXT_PORT] = "port",
	[TEXT_PRINTABLE] = "printable text",
};

const char *text_class_name(enum text_class class)
{
	return (size_t) class < TEXT_CLASS_COUNT ? names[class] : "?";
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text of a value to a member of struct config, under oslo.config's
 * rules for each type.  A refusal says what was expected and never quotes the
 * value: it may be a secret in the wrong place.  No privilege.
 */
#include "common/text.h"
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "common/zfd.h"
#include "unpriv/base/config_options.h"

#define NAME_MAX_LENGTH 127 /* with the host's name behind it below the 255 of an AMQP name */
#define HOST_MAX_LENGTH 253

static void *member(const struct option *option, struct config *config)
{
	return option->member == OPTION_NOWHERE ? NULL : (char *)config + option->member;
}

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static struct zstr trim(struct zstr text)
{
	while (text.length > 0 && is_blank(text.data[0])) {
		text.data++;
		text.length--;
	}
	while (text.length > 0 && is_blank(text.data[text.length - 1]))
		text.length--;
	return text;
}

static int set_string(const struct option *option, const char *text, struct config *config)
{
	char **to = member(option, config);
	char *copy;

	if (!to)
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

int config_expect(struct option_expected *expected, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(expected->text, sizeof(expected->text), format,
			arguments); /* cut is well */
	va_end(arguments);
	return -EINVAL;
}

static int convert_boolean(const char *text, bool *to, struct option_expected *expected)
{
	static const char *const words[] = {"false", "0", "off", "no", "true", "1", "on", "yes"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(text, words[i]) == 0) {
			if (to)
				*to = i >= 4;
			return 0;
		}
	}
	return config_expect(expected, "true or false expected");
}

static int out_of_bounds(const struct option *option, struct option_expected *expected)
{
	if (option->greatest == INT64_MAX)
		return config_expect(expected, "a number of at least %" PRId64 " expected",
				     option->least);
	if (option->least == INT64_MIN)
		return config_expect(expected, "a number of at most %" PRId64 " expected",
				     option->greatest);
	return config_expect(expected, "a number from %" PRId64 " to %" PRId64 " expected",
			     option->least, option->greatest);
}

/* The digits of a whole number into *value: 0, -EINVAL, or -ERANGE. */
static int parse_digits(struct zstr digits, bool negative, int64_t *value)
{
	int result = digits.length > 0 ? 0 : -EINVAL;

	*value = 0;
	for (size_t i = 0; i < digits.length; i++) {
		int digit = digits.data[i] - '0';

		if (digit < 0 || digit > 9)
			return -EINVAL;
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, negative ? -digit : digit, value))
			result = -ERANGE;
	}
	return result;
}

static int convert_integer(const struct option *option, struct zstr text, int64_t *to,
			   struct option_expected *expected)
{
	bool negative = text.length > 0 && text.data[0] == '-';
	size_t sign = negative || (text.length > 0 && text.data[0] == '+') ? 1 : 0;
	int64_t value;
	int result =
		parse_digits((struct zstr){text.data + sign, text.length - sign}, negative, &value);

	if (result == -EINVAL)
		return config_expect(expected, "a whole number expected");
	if (result < 0 || value < option->least || value > option->greatest)
		return out_of_bounds(option, expected);
	if (to)
		*to = value;
	return 0;
}

static void freelocalep(locale_t *locale)
{
	if (*locale != (locale_t)0)
		freelocale(*locale);
}

static int convert_float(const struct option *option, struct zstr text, double *to,
			 struct option_expected *expected)
{
	_cleanup_(freelocalep) locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	char *end;
	double value;

	if (plain == (locale_t)0)
		return -ENOMEM;
	/* strtod takes more than a configuration's numbers: hexadecimal, nan, infinity. */
	if (text.length == 0 || strspn(text.data, "+-0123456789.eE") < text.length)
		return config_expect(expected, "a number expected");
	value = strtod_l(text.data, &end, plain);
	if (end != text.data + text.length || !isfinite(value))
		return config_expect(expected, "a number expected");
	if (value < (double)option->least || value > (double)option->greatest)
		return out_of_bounds(option, expected);
	if (to)
		*to = value;
	return 0;
}

static void list_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

/* Items between commas, trimmed; commas at the end do not count. */
static char **split(struct zstr text)
{
	size_t count = 1, at = 0;
	char **list;

	text = trim(text);
	while (text.length > 0 && text.data[text.length - 1] == ',')
		text.length--;
	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == ',';
	list = calloc(count + 1, sizeof(*list));
	for (size_t i = 0; list && text.length > 0 && i < count; i++) {
		size_t start = at;
		struct zstr item;

		while (at < text.length && text.data[at] != ',')
			at++;
		item = trim((struct zstr){text.data + start, at++ - start});
		list[i] = strndup(item.data, item.length);
		if (!list[i]) {
			list_free(list);
			return NULL;
		}
	}
	return list;
}

static int convert_list(const struct option *option, const char *text, struct config *config)
{
	char ***to = member(option, config);
	char **list = split(zstr_from(text));

	if (!list)
		return -ENOMEM;
	if (to) {
		list_free(*to);
		*to = list;
	} else {
		list_free(list);
	}
	return 0;
}

static bool only(const char *text, const char *bytes, size_t most)
{
	size_t length = strspn(text, bytes);

	return length >= 1 && length <= most && text[length] == '\0';
}

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static bool one_of(const char *choices, const char *text)
{
	size_t length = strlen(text);

	for (;;) {
		size_t span = strcspn(choices, "|");

		if (span == length && memcmp(choices, text, length) == 0)
			return true;
		if (choices[span] == '\0')
			return false;
		choices += span + 1;
	}
}

/* Strings with a form of their own. */
static int check_form(const struct option *option, const char *text,
		      struct option_expected *expected)
{
	if (option->type == OPTION_HOST && !only(text, ALNUM "._:-", HOST_MAX_LENGTH))
		return config_expect(expected, "a host name or address expected");
	if (option->type == OPTION_NAME && !only(text, ALNUM "._-", NAME_MAX_LENGTH))
		return config_expect(expected, "at most %d letters, digits, '.', '_', '-' expected",
				     NAME_MAX_LENGTH);
	if (option->type == OPTION_SOCKET && (strncmp(text, "unix:///", 8) != 0 || !text[8]))
		return config_expect(expected,
				     "unix:///path expected (only a local engine is used)");
	if (option->type == OPTION_CHOICE && !one_of(option->choices, text))
		return config_expect(expected, "one of %s expected", option->choices);
	return 0;
}

static int convert_driver(const struct option *option, const char *text, struct config *config,
			  struct option_expected *expected)
{
	static const char *const docker[] = {"docker", "docker.driver.DockerDriver",
					     "zun.container.docker.driver.DockerDriver"};

	for (size_t i = 0; i < sizeof(docker) / sizeof(docker[0]); i++)
		if (strcmp(text, docker[i]) == 0)
			return set_string(option, "docker", config);
	return config_expect(expected, "docker expected (the only driver of this release)");
}

static int convert_minor(const struct option *option, const char *text, struct config *config,
			 struct option_expected *expected)
{
	if (strncmp(text, "1.", 2) != 0 || !only(text + 2, "0123456789", 3))
		return config_expect(expected, "an engine API version like 1.26 expected");
	return convert_integer(option, zstr_from(text + 2), member(option, config), expected);
}

int config_convert(const struct option *option, const char *text, struct config *config,
		   struct option_expected *expected)
{
	int result;

	switch (option->type) {
	case OPTION_SECRET:
		return option->member == OPTION_NOWHERE
			       ? 0
			       : secret_set(member(option, config), text, strlen(text));
	case OPTION_INTEGER:
		return convert_integer(option, trim(zstr_from(text)), member(option, config),
				       expected);
	case OPTION_FLOAT:
		return convert_float(option, trim(zstr_from(text)), member(option, config),
				     expected);
	case OPTION_BOOLEAN:
		return convert_boolean(text, member(option, config), expected);
	case OPTION_LIST:
		return convert_list(option, text, config);
	case OPTION_DRIVER:
		return convert_driver(option, text, config, expected);
	case OPTION_MINOR:
		return convert_minor(option, text, config, expected);
	case OPTION_TRANSPORT:
		return config_transport(text, config, expected);
	case OPTION_CONNECTION:
		return config_connection(text, config, expected);
	case OPTION_STRING:
	case OPTION_HOST:
	case OPTION_NAME:
	case OPTION_CHOICE:
	case OPTION_SOCKET:
		break;
	}
	result = check_form(option, text, expected);
	return result < 0 ? result : set_string(option, text, config);
}

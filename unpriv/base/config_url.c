/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of transport_url and [database] connection, taken apart as
 * oslo.messaging and SQLAlchemy do it.  Both hold passwords: what is decoded on
 * the way is wiped, and no message quotes any of it.  No privilege.
 */
#include "unpriv/base/config_url.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include "common/zfd.h"
#include "unpriv/base/config_options.h"

struct zstr url_until(struct zstr text, const char *ends)
{
	for (size_t i = 0; i < text.length; i++)
		if (strchr(ends, text.data[i]))
			return (struct zstr){text.data, i};
	return text;
}

struct zstr url_after(struct zstr text, size_t length)
{
	return (struct zstr){text.data + length, text.length - length};
}

/* The length of "user:password@" where any byte but '@' may stand in the password; 0 without it. */
static size_t raw_login(struct zstr rest)
{
	struct zstr login = url_until(rest, "@"), user = url_until(login, ":/");
	bool plain_user = user.length == login.length || login.data[user.length] == ':';

	return login.length < rest.length && plain_user ? login.length + 1 : 0;
}

struct url url_take_apart(const char *text, enum url_form form)
{
	struct url url = {.ok = false};
	struct zstr rest = zstr_from(text);
	size_t login = 0;

	url.scheme = url_until(rest, ":");
	if (rest.length - url.scheme.length < 3 ||
	    memcmp(rest.data + url.scheme.length, "://", 3) != 0)
		return url;
	rest = url_after(rest, url.scheme.length + 3);
	if (form == URL_DATABASE)
		login = raw_login(rest);
	else
		rest = url_until(rest, "#");
	url.authority = url_until(url_after(rest, login), "/?");
	url.authority = (struct zstr){rest.data, login + url.authority.length};
	rest = url_after(rest, url.authority.length);
	url.path = url_until(rest, "?");
	rest = url_after(rest, url.path.length);
	if (url.path.length > 0)
		url.path = url_after(url.path, 1);
	if (rest.length > 0)
		url.query = url_after(rest, 1);
	url.ok = true;
	return url;
}

static int hex_value(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

bool url_decode(struct zstr text, bool plus, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < text.length; i++) {
		char byte = text.data[i];

		if (byte == '%' && text.length - i > 2 && hex_value(text.data[i + 1]) >= 0 &&
		    hex_value(text.data[i + 2]) >= 0) {
			byte = (char)(hex_value(text.data[i + 1]) << 4 |
				      hex_value(text.data[i + 2]));
			i += 2;
		} else if (plus && byte == '+') {
			byte = ' ';
		}
		if (byte == '\0' || used + 1 >= size)
			return false;
		out[used++] = byte;
	}
	out[used] = '\0';
	return true;
}

static bool parse_port(struct zstr text, uint16_t *port)
{
	unsigned value = 0;

	if (text.length == 0 || text.length > 5)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		value = value * 10 + (unsigned)(text.data[i] - '0');
	}
	*port = (uint16_t)value;
	return value >= 1 && value <= 65535;
}

static bool host_bytes(struct zstr name)
{
	for (size_t i = 0; i < name.length; i++) {
		unsigned char byte = (unsigned char)name.data[i];

		if (byte <= ' ' || byte == '/' || byte == '\\' || byte == 0x7f)
			return false;
	}
	return true;
}

bool url_host(struct zstr text, char *host, size_t size, uint16_t *port)
{
	bool bracketed = text.length > 0 && text.data[0] == '[';
	struct zstr name = url_until(bracketed ? url_after(text, 1) : text, bracketed ? "]" : ":");
	struct zstr rest;

	if (bracketed && name.length + 1 == text.length)
		return false; /* no closing bracket */
	rest = url_after(text, name.length + (bracketed ? 2 : 0));
	if (rest.length > 0 && rest.data[0] != ':')
		return false;
	if (rest.length > 1 && !parse_port(url_after(rest, 1), port))
		return false;
	return host_bytes(name) && zstr_copy(name, host, size) == 0;
}

bool url_login(struct zstr authority, char *user, size_t user_size, struct secret *password,
	       struct zstr *host)
{
	char decoded[URL_PART_MAX];
	struct zstr login = {authority.data, 0}, name;
	bool ok = true;

	for (size_t i = authority.length; i-- > 0 && login.length == 0;)
		if (authority.data[i] == '@')
			login.length = i + 1;
	*host = url_after(authority, login.length);
	if (login.length == 0)
		return true;
	login.length--;
	name = url_until(login, ":");
	if (name.length > 0)
		ok = url_decode(name, false, user, user_size);
	if (ok && name.length < login.length) {
		ok = url_decode(url_after(login, name.length + 1), false, decoded,
				sizeof(decoded)) &&
		     secret_set(password, decoded, strlen(decoded)) == 0;
		explicit_bzero(decoded, sizeof(decoded));
	}
	return ok;
}

void url_join_lines(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != '\n' && *from != '\r' && *from != '\t')
			*to++ = *from;
	*to = '\0';
}

static int query_pair(struct zstr pair,
		      int (*each)(void *context, const char *key, const char *value), void *context)
{
	char key[64], value[URL_PART_MAX] = "";
	struct zstr name = url_until(pair, "=");
	int result = -EINVAL;

	if (url_decode(name, true, key, sizeof(key)) &&
	    (name.length == pair.length ||
	     url_decode(url_after(pair, name.length + 1), true, value, sizeof(value))))
		result = each(context, key, value);
	explicit_bzero(value, sizeof(value));
	return result;
}

int config_query(const char *text, enum url_form form,
		 int (*each)(void *context, const char *key, const char *value), void *context)
{
	char *joined = strdup(text);
	struct zstr rest;
	int result = 0;

	if (!joined)
		return -ENOMEM;
	url_join_lines(joined);
	rest = url_take_apart(joined, form).query;
	while (result >= 0 && rest.length > 0) {
		struct zstr pair = url_until(rest, "&");

		rest = url_after(rest, pair.length);
		if (rest.length > 0)
			rest = url_after(rest, 1);
		if (pair.length > 0)
			result = query_pair(pair, each, context);
	}
	ini_wipe(joined);
	return result < 0 ? result : 0;
}

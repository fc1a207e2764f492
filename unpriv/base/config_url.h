/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of the URLs in zun.conf; private to unpriv/base. */
#pragma once
#include "common/secret.h"
#include "common/zbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define URL_PART_MAX 1024 /* of a decoded user, password, path or query value, with its NUL */

struct url {
	struct zstr scheme, authority, path, query; /* path without its '/' */
	bool ok;				    /* SCHEME:// was there */
};

/* In a transport URL everything odd is percent-encoded; in a database URL a password may hold '/',
 * '?', '#'. */
enum url_form { URL_TRANSPORT, URL_DATABASE };
/* All parts borrow. */
struct url url_take_apart(const char *text, enum url_form form);
/* What stands before the first byte of ends, and what stands behind length bytes. */
struct zstr url_until(struct zstr text, const char *ends);
struct zstr url_after(struct zstr text, size_t length);
/* Percent-decoding; a '%' that starts no escape stands for itself.  False: too long, or a NUL came
 * out. */
bool url_decode(struct zstr text, bool plus, char *out, size_t size);
/* host, host:port, [address], [address]:port, or nothing; an absent port leaves *port alone. */
bool url_host(struct zstr text, char *host, size_t size, uint16_t *port);
/* Splits "user:password" from what stands before the last '@'; absent parts stay untouched. */
bool url_login(struct zstr authority, char *user, size_t user_size, struct secret *password,
	       struct zstr *host);
/* A long URL may be written over several lines: joined as Python's urlparse does, in place. */
void url_join_lines(char *text);
/* Calls each for every pair of a URL's query, decoded; wipes both afterwards.  Stops at the first
 * negative value and returns it; -EINVAL for a pair that is too long. */
int config_query(const char *text, enum url_form form,
		 int (*each)(void *context, const char *key, const char *value), void *context);

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options and how a text becomes a member of struct config; private to unpriv/base. */
#pragma once
#include "unpriv/base/config.h"
#include "unpriv/base/config_ini.h"
#include <stdbool.h>
#include <stddef.h>

enum option_type {
	OPTION_STRING,	  /* char * */
	OPTION_SECRET,	  /* struct secret */
	OPTION_INTEGER,	  /* int64_t */
	OPTION_FLOAT,	  /* double */
	OPTION_BOOLEAN,	  /* bool */
	OPTION_LIST,	  /* char **, NULL-terminated */
	OPTION_HOST,	  /* char *: address or host name */
	OPTION_NAME,	  /* char *: part of the name of a queue or exchange */
	OPTION_CHOICE,	  /* char *: one of choices */
	OPTION_DRIVER,	  /* char *: container driver, old forms normalised */
	OPTION_SOCKET,	  /* char *: unix:// URL */
	OPTION_MINOR,	  /* int64_t: N of an engine API version "1.N" */
	OPTION_TRANSPORT, /* the rabbit members */
	OPTION_CONNECTION /* the db members */
};

#define OPTION_NOWHERE SIZE_MAX /* checked, but nothing in this release uses it */

struct option {
	const char *group, *name, *alias; /* alias: its former name in the same group, or NULL */
	enum option_type type;
	const char *initial; /* as if written in the file; NULL: none */
	int64_t least, greatest;
	const char *choices; /* "A|B|C" */
	size_t member;	     /* offset in struct config */
	bool secret;
};

extern const struct option config_options[];
extern const size_t config_option_count;
/* NULL when the table has none of that name (or former name). */
const struct option *config_option(const char *group, const char *name);
/* True for what zun or its libraries define and the agents do not look at (config.md §2 to §12). */
bool config_ignored(const char *group, const char *name);
bool config_group_known(const char *group);
/* True for options that hold a secret, in the table or not. */
bool config_is_secret(const char *group, const char *name);

/* Where a value came from, for messages. */
struct option_origin {
	const char *source; /* borrows; NULL: the default */
	unsigned line;	    /* 0: the environment, or the query of transport_url */
	char variable[96];  /* the environment's variable */
};

struct option_resolver {
	const struct ini *ini;
	bool environment; /* OS_<GROUP>__<OPTION> overrides */
	unsigned steps;	  /* references followed so far, over all */
};

/* The text of an option with its references replaced: owned (ini_wipe), NULL when it is not set and
 * has no default.  0 or a negative errno with *err. */
int config_text(struct option_resolver *resolver, const struct option *option, char **text,
		struct option_origin *origin, struct zerr *err);
/* "FILE:LINE: [group] option" and what is wrong with it; returns -EINVAL. */
int config_fail(const struct option *option, const struct option_origin *origin, const char *what,
		struct zerr *err);

/* Fills the member.  0, or a negative errno with *expected filled ("a number from 1 to 32
 * expected"). */
struct option_expected {
	char text[160];
};
int config_convert(const struct option *option, const char *text, struct config *config,
		   struct option_expected *expected);
int config_transport(const char *url, struct config *config, struct option_expected *expected);
int config_connection(const char *url, struct config *config, struct option_expected *expected);
/* Fills *expected and returns -EINVAL. */
int config_expect(struct option_expected *expected, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

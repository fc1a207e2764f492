/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which text is in force for an option (environment, files, default), and the
 * references in it (config.md §1).  Depth, number and size are bounded, so that
 * no configuration can hold up a start for ever.  No privilege.
 */
#include "common/text.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/zfd.h"
#include "unpriv/base/config_options.h"

#define DEPTH_MAX 16	/* references to references */
#define STEPS_MAX 10000 /* references of one start */
#define VALUE_MAX 65536 /* bytes of a value after replacement */

int config_fail(const struct option *option, const struct option_origin *origin, const char *what,
		struct zerr *err)
{
	if (origin->variable[0])
		return zerr_set(err, -EINVAL, "environment %s: [%s] %s: %s", origin->variable,
				option->group, option->name, what);
	if (!origin->source)
		return zerr_set(err, -EINVAL, "default: [%s] %s: %s", option->group, option->name,
				what);
	if (origin->line == 0)
		return zerr_set(err, -EINVAL, "%s: [%s] %s: %s", origin->source, option->group,
				option->name, what);
	return zerr_set(err, -EINVAL, "%s:%u: [%s] %s: %s", origin->source, origin->line,
			option->group, option->name, what);
}

/* The address that packets to the rest of the world leave from, as upstream's default; nothing is
 * sent. */
static char *own_address(void)
{
	_cleanup_fd_ int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	socklen_t length = sizeof(address);
	char text[INET_ADDRSTRLEN] = "";

	address.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1, set aside for examples */
	if (probe < 0 || connect(probe, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(probe, (struct sockaddr *)&address, &length) < 0 ||
	    !inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text)))
		return strdup("127.0.0.1");
	return strdup(text);
}

static char *initial_text(const char *initial)
{
	char name[256] = "";

	if (strcmp(initial, "@address") == 0)
		return own_address();
	if (strcmp(initial, "@hostname") != 0)
		return strdup(initial);
	if (gethostname(name, sizeof(name) - 1) < 0 || name[0] == '\0')
		return strdup("localhost");
	return strdup(name);
}

static const char *from_environment(const struct option *option, struct option_origin *origin)
{
	int length = snprintf(origin->variable, sizeof(origin->variable), "OS_%s__%s",
			      option->group, option->name);
	const char *value;

	for (char *at = origin->variable; *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	value = length < (int)sizeof(origin->variable) ? getenv(origin->variable) : NULL;
	if (!value)
		origin->variable[0] = '\0';
	return value;
}

/* The text as written: owned, NULL with 0 when there is none. */
static int raw_text(const struct option_resolver *resolver, const struct option *option,
		    char **text, struct option_origin *origin)
{
	const struct ini_entry *entry;
	const char *value = resolver->environment ? from_environment(option, origin) : NULL;

	*text = NULL;
	if (!value) {
		entry = ini_find(resolver->ini, option->group, option->name, option->alias);
		if (entry) {
			value = entry->value;
			origin->source = resolver->ini->sources[entry->source].name;
			origin->line = entry->line;
		}
	}
	if (!value && !option->initial)
		return 0;
	*text = value ? strdup(value) : initial_text(option->initial);
	return *text ? 0 : -ENOMEM;
}

struct expansion {
	struct option_resolver *resolver;
	const struct option *option; /* whose value it is */
	const struct option_origin *origin;
	unsigned depth;
	char *out;
	size_t used;
	struct zerr *err;
};

static int append(struct expansion *expansion, const char *text, size_t length)
{
	if (length >= VALUE_MAX - expansion->used)
		return config_fail(expansion->option, expansion->origin, "too long",
				   expansion->err);
	memcpy(expansion->out + expansion->used, text, length);
	expansion->used += length;
	return 0;
}

static int expand(struct option_resolver *resolver, const struct option *option, unsigned depth,
		  struct zerr *err, char **text, struct option_origin *origin);

static bool name_byte(char byte, bool first)
{
	bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';

	return letter || (!first && ((byte >= '0' && byte <= '9') || byte == '.'));
}

/* The length of the name at text, 0 when there is none. */
static size_t name_length(const char *text)
{
	size_t length = 0;

	while (name_byte(text[length], length == 0))
		length++;
	return length;
}

/* The option that a name means where it stands: in the same group, else in [DEFAULT]; group.name
 * too. */
static bool find_named(struct expansion *expansion, const char *name, struct option *found)
{
	const char *group = expansion->option->group, *dot = strchr(name, '.');
	const struct option *option;
	char prefix[64];

	if (dot) {
		if ((size_t)(dot - name) >= sizeof(prefix))
			return false;
		(void)snprintf(prefix, sizeof(prefix), "%.*s", (int)(dot - name), name);
		group = prefix;
		name = dot + 1;
	}
	for (int i = 0; i < 2; i++, group = "DEFAULT") {
		option = config_option(group, name);
		if (option) {
			*found = *option;
			return true;
		}
		if (config_ignored(group, name)) {
			/* Known by name only: its text is what the file says, or nothing. */
			const struct ini_entry *entry =
				ini_find(expansion->resolver->ini, group, name, NULL);

			*found = (struct option){.group = entry ? entry->group : "DEFAULT",
						 .name = entry ? entry->key : "",
						 .initial = ""};
			return true;
		}
		if (dot)
			return false;
	}
	return false;
}

static int append_reference(struct expansion *expansion, const char *name, size_t length)
{
	struct option_origin origin = {0};
	struct option found;
	char key[128];
	char *value = NULL;
	int result;

	if (length >= sizeof(key))
		return config_fail(expansion->option, expansion->origin,
				   "refers to an option that does not exist", expansion->err);
	(void)snprintf(key, sizeof(key), "%.*s", (int)length, name);
	if (!find_named(expansion, key, &found))
		return config_fail(expansion->option, expansion->origin,
				   "refers to an option that does not exist ($$ is a dollar)",
				   expansion->err);
	if (expansion->depth == DEPTH_MAX || expansion->resolver->steps++ == STEPS_MAX)
		return config_fail(expansion->option, expansion->origin,
				   "its references lead back to itself, or too far",
				   expansion->err);
	result = expand(expansion->resolver, &found, expansion->depth + 1, expansion->err, &value,
			&origin);
	if (result == 0 && value)
		result = append(expansion, value, strlen(value));
	ini_wipe(value);
	return result;
}

/* One dollar and what belongs to it; *at is behind it afterwards. */
static int take_dollar(struct expansion *expansion, const char **at)
{
	const char *text = *at + 1;
	size_t braced = text[0] == '{' ? name_length(text + 1) : 0, plain = name_length(text);

	if (text[0] == '$') {
		*at += 2;
		return append(expansion, "$", 1);
	}
	if (braced > 0 && text[1 + braced] == '}') {
		*at += braced + 3;
		return append_reference(expansion, text + 1, braced);
	}
	if (plain > 0) {
		*at += 1 + plain;
		return append_reference(expansion, text, plain);
	}
	*at += 1;
	return append(expansion, "$", 1);
}

static int replace(struct expansion *expansion, const char *raw)
{
	int result = 0;

	while (result == 0 && *raw) {
		size_t plain = strcspn(raw, "$\\");

		if (plain > 0) {
			result = append(expansion, raw, plain);
			raw += plain;
		} else if (raw[0] == '\\' && raw[1] == '$') {
			result = append(expansion, "$", 1);
			raw += 2;
		} else if (raw[0] == '\\') {
			result = append(expansion, raw++, 1);
		} else {
			result = take_dollar(expansion, &raw);
		}
	}
	return result;
}

static int expand(struct option_resolver *resolver, const struct option *option, unsigned depth,
		  struct zerr *err, char **text, struct option_origin *origin)
{
	struct expansion expansion = {.resolver = resolver,
				      .option = option,
				      .origin = origin,
				      .depth = depth,
				      .err = err};
	char *raw;
	int result = raw_text(resolver, option, &raw, origin);

	*text = NULL;
	if (result < 0)
		return zerr_set(err, result, "no memory for the configuration");
	if (!raw)
		return 0;
	expansion.out = malloc(VALUE_MAX);
	if (!expansion.out) {
		ini_wipe(raw);
		return zerr_set(err, -ENOMEM, "no memory for the configuration");
	}
	result = replace(&expansion, raw);
	ini_wipe(raw);
	if (result == 0) {
		expansion.out[expansion.used] = '\0';
		*text = strdup(expansion.out);
		if (!*text)
			result = zerr_set(err, -ENOMEM, "no memory for the configuration");
	}
	explicit_bzero(expansion.out, expansion.used);
	free(expansion.out);
	return result;
}

int config_text(struct option_resolver *resolver, const struct option *option, char **text,
		struct option_origin *origin, struct zerr *err)
{
	*origin = (struct option_origin){0};
	return expand(resolver, option, 0, err, text, origin);
}

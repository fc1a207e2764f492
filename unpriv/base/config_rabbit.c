/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [DEFAULT] transport_url: the hosts of the message bus in the file's order,
 * each with its own login, and the virtual host.  Holds passwords.
 */
#include "common/zfd.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "unpriv/base/config_options.h"
#include "unpriv/base/config_url.h"

static int add_rabbit_host(struct config *config, struct zstr text,
			   struct option_expected *expected)
{
	struct config_rabbit_host *host;
	struct zstr place;

	if (config->rabbit_count == CONFIG_HOSTS_MAX)
		return config_expect(expected, "at most %d hosts expected", CONFIG_HOSTS_MAX);
	host = &config->rabbit[config->rabbit_count++]; /* counted at once: config_free wipes it */
	host->port = 5672;
	(void)zstr_copy(zstr_from("guest"), host->user, sizeof(host->user)); /* fits */
	if (!url_login(text, host->user, sizeof(host->user), &host->password, &place))
		return config_expect(expected,
				     "a user of at most %zu and a password of at most %d "
				     "bytes expected",
				     sizeof(host->user) - 1, URL_PART_MAX - 1);
	if (!url_host(place, host->host, sizeof(host->host), &host->port))
		return config_expect(expected, "host, host:port or [address]:port expected");
	if (host->host[0] == '\0')
		(void)zstr_copy(zstr_from("localhost"), host->host, sizeof(host->host)); /* fits */
	/* What the AMQP library of upstream puts in place of an empty password. */
	if (host->password.length == 0 && secret_set(&host->password, "guest", 5) < 0)
		return -ENOMEM;
	return 0;
}

static void rabbit_clear(struct config *config)
{
	for (unsigned i = 0; i < config->rabbit_count; i++)
		secret_clear(&config->rabbit[i].password);
	memset(config->rabbit, 0, sizeof(config->rabbit));
	config->rabbit_count = 0;
}

static int fill_hosts(struct zstr rest, struct config *config, struct option_expected *expected)
{
	int result = 0;

	rabbit_clear(config);
	while (result == 0 && rest.length > 0) {
		struct zstr host = url_until(rest, ",");

		rest = url_after(rest, host.length);
		if (rest.length > 0)
			rest = url_after(rest, 1);
		if (host.length > 0)
			result = add_rabbit_host(config, host, expected);
	}
	if (result == 0 && config->rabbit_count == 0)
		result = add_rabbit_host(config, (struct zstr){"", 0}, expected);
	return result;
}

static int fill_transport(struct url url, struct config *config, struct option_expected *expected)
{
	char vhost[URL_PART_MAX];
	int result;

	if (!url.ok || (!zstr_equal(url.scheme, "rabbit") && !zstr_equal(url.scheme, "kombu")))
		return config_expect(expected, "rabbit://user:password@host:port/vhost expected");
	result = fill_hosts(url.authority, config, expected);
	if (result < 0)
		return result;
	if (!url_decode(url.path, false, vhost, sizeof(vhost)))
		return config_expect(expected, "a virtual host of at most %d bytes expected",
				     URL_PART_MAX - 1);
	free(config->rabbit_vhost);
	config->rabbit_vhost = strdup(vhost[0] ? vhost : "/");
	return config->rabbit_vhost ? 0 : -ENOMEM;
}

int config_transport(const char *text, struct config *config, struct option_expected *expected)
{
	char *joined = strdup(text);
	int result;

	if (!joined)
		return -ENOMEM;
	url_join_lines(joined);
	result = fill_transport(url_take_apart(joined, URL_TRANSPORT), config, expected);
	ini_wipe(joined);
	return result;
}

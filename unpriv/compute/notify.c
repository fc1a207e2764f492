/* SPDX-License-Identifier: Apache-2.0 */
/* Word to the service manager.  Dispatcher, no privilege; what fails here harms nobody. */
#include "unpriv/compute/notify.h"
#include "common/zfd.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_open(struct notify *notify)
{
	const char *path = getenv("NOTIFY_SOCKET"), *watchdog = getenv("WATCHDOG_USEC");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	uint64_t microseconds;

	notify->fd = -1;
	notify->every_ms = 0;
	if (length < 2 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (notify->fd < 0 ||
	    connect(notify->fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0) {
		zfd_closep(&notify->fd);
		return;
	}
	/* Twice within the time that the manager allows. */
	if (watchdog && zfd_parse_u64(watchdog, UINT64_MAX, &microseconds) == 0)
		notify->every_ms = microseconds / 2000;
}

void notify_send(const struct notify *notify, const char *state)
{
	if (notify->fd >= 0)
		(void)send(notify->fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void notify_close(struct notify *notify)
{
	zfd_closep(&notify->fd);
}

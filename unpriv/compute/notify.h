/* SPDX-License-Identifier: Apache-2.0 */
/* Word to the service manager (sd_notify(3)), without libsystemd: one datagram a state. */
#pragma once
#include <stdint.h>

struct notify {
	int fd;		   /* owned; -1 = nobody listens */
	uint64_t every_ms; /* how often WATCHDOG=1 is due; 0 = never */
};

/* Takes NOTIFY_SOCKET and WATCHDOG_USEC from the environment.  Call before the sandbox is closed.
 */
void notify_open(struct notify *notify);
/* "READY=1", "STOPPING=1", "WATCHDOG=1". */
void notify_send(const struct notify *notify, const char *state);
void notify_close(struct notify *notify);

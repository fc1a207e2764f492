/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the helper loop. */
#pragma once
#include "privsep/helper.h"

/* Ends the process: one line in the log, the status for the launcher. */
void helper_surprise(const struct helper *helper, enum helper_exit status, const char *what)
	__attribute__((noreturn));

/* Forks a server for a new channel: result gets the peer's end, or PROTO_LIMIT. */
void helper_open_channel(struct helper *helper, struct helper_result *result);
/* Takes the dead servers' statuses; one that did not end in order ends this process too. */
void helper_reap(struct helper *helper);
/* At the end of the domain: waits until the servers, whose channels have ended too, have ended. */
void helper_wait_servers(struct helper *helper);

/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's side of a channel to a helper: one request at a time, each with a deadline. */
#pragma once
#include "common/zerr.h"
#include "privsep/proto.h"

struct priv_channel {
	int fd; /* owned */
	enum proto_domain domain;
	uint32_t sequence;
	uint8_t *buffer; /* PROTO_FRAME_MAX bytes, owned; answers borrow from it */
};

/* Takes fd; says hello (version and build id must be equal).  0 or a negative errno with *err. */
int priv_open(struct priv_channel *channel, int fd, enum proto_domain domain, struct zerr *err);
void priv_close(struct priv_channel *channel);

/*
 * Sends request (the struct of that row), waits for the answer.
 *
 * 0: *answer is filled; strings in it live until the next call; *fd_out (may be NULL) gets an owned
 * descriptor or -1.
 *
 * > 0: an enum proto_status other than OK; *err has "<request>: <rule>".
 *
 * < 0: the channel has been closed (-EPIPE: it was dead or the answer broke the table; -ETIMEDOUT:
 * the deadline passed), or nothing was sent and it goes on (-EINVAL: the request breaks the table;
 * -ENOMEM).  The deadline is wait_ms + 10 s for requests that have wait_ms, else 10 s.
 */
int priv_call(struct priv_channel *channel, uint16_t request, const void *message, void *answer,
	      int *fd_out, struct zerr *err);

/* ---- generated: int priv_<domain>_<name>(channel, request, answer, fd_out, err) ---- */
#define REQUEST(domain, name, number, phases, repeat, audit, fds_out)                              \
	static inline int priv_##domain##_##name(                                                  \
		struct priv_channel *channel, const struct req_##domain##_##name *request,         \
		struct ans_##domain##_##name *answer, int *fd_out, struct zerr *err)               \
	{                                                                                          \
		return priv_call(channel, number, request, answer, fd_out, err);                   \
	}
#include "requests.def"

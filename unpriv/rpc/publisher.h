/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher: a process of its own that sends replies to the message broker
 * over a connection of its own, so that a broker that takes nothing and
 * callers that are gone hold up nobody (known-faults F03, F08).
 *
 * The dispatcher sends it one packet a reply, with one descriptor: the inner
 * text (envelope.h, rpc_reply) in a sealed memfd.  It answers each token once,
 * in any order.  Until then the dispatcher keeps the reply: when a publisher
 * dies, the next one gets it again.
 */
#pragma once
#include "common/zbuf.h"
#include "policy/sandbox.h"
#include "unpriv/base/config.h"
#include "unpriv/base/job.h"

#define PUBLISHER_PACKET_MAX 256

struct publisher_request {
	uint64_t token;
	bool fleeting; /* a sign of life of a call: worth one try, and no line in the log */
	char queue[JOB_ID_MAX + 1];
};

enum publisher_outcome {
	PUBLISHER_DONE = 1,    /* the broker has it */
	PUBLISHER_DROPPED = 2, /* nobody to send it to, or too late */
	PUBLISHER_TOO_LARGE =
		3 /* larger than the limit, or than the broker takes (known-faults F10) */
};

struct publisher_answer {
	uint64_t token;
	enum publisher_outcome outcome;
};

void publisher_put_request(struct zwriter *writer, const struct publisher_request *request);
/* These return 0 or -EBADMSG. */
int publisher_get_request(const void *data, size_t length, struct publisher_request *request);
void publisher_put_answer(struct zwriter *writer, const struct publisher_answer *answer);
int publisher_get_answer(const void *data, size_t length, struct publisher_answer *answer);

/* Call in a fresh child.  socket: SEQPACKET to the dispatcher, taken; confine may be NULL (tests).
 * Exits 0 when socket ends, after closing the connection in good order. */
_Noreturn void publisher_main(const struct config *config, int socket,
			      const struct sandbox_confine *confine);

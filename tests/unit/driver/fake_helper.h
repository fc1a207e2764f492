/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A docker helper that plays from a script: a child process that speaks the
 * real frame codec on one end of a socketpair, checks that the requests come in
 * the script's order, and answers what the script says.
 */
#pragma once
#include "privsep/proto.h"
#include <stdbool.h>
#include <sys/types.h>

#define FAKE_STEPS_MAX 128
#define FAKE_TEXT_MAX  600

struct fake_step {
	uint16_t number;  /* the request that must come */
	uint16_t status;  /* enum proto_status of the answer */
	const char *rule; /* of an answer that is not OK */
	uint16_t http_status;
	const char *body;    /* content; NULL = no body */
	bool chunked;	     /* frame it so */
	size_t inline_bytes; /* of the framed body; 0 = all, the rest goes through a pipe */
	size_t cut;	     /* bytes at the end that never come */
	unsigned repeat;     /* times more that this step is played */
	bool hang_up;	     /* answer nothing and exit */
	bool stall;	     /* what was cut may still come, for all the reader knows */
};

/* What the helper was asked, in order. */
struct fake_asked {
	uint16_t number;
	uint8_t api_minor;
	uint32_t wait_ms;
	uint8_t uuid[UUID_SIZE];
	char image[FAKE_TEXT_MAX], request_id[FAKE_TEXT_MAX];
	uint64_t has_grace, grace_s, signal, force;
};

struct fake_log {
	size_t count;
	struct fake_asked asked[FAKE_STEPS_MAX];
};

struct fake_helper {
	pid_t pid;
	int channel;	      /* for the driver's open, which takes it */
	struct fake_log *log; /* shared */
};

/* steps end with number 0. */
void fake_start(struct fake_helper *helper, const struct fake_step *steps);
/* After the channel was closed: fails the test unless the whole script was played. */
void fake_finish(struct fake_helper *helper);

/* A file of tests/unit/driver/data as owned, terminated text. */
char *fake_data(const char *name, size_t *length);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine that follows a script: a forked child that listens on a unix socket
 * in a folder of its own, keeps what it is asked, and answers as it is told.
 * And what a test needs to call the docker domain's handlers without the loop.
 */
#pragma once
#include "privsep/docker.h"
#include "privsep/helper.h"
#include <sys/types.h>

#define FAKE_REQUESTS	 8
#define FAKE_REQUEST_MAX (256 * 1024)

/* What happens on one connection. */
struct fake_step {
	const char *answer;
	size_t length;	     /* of answer; 0: strlen */
	unsigned before_ms;  /* wait before the first byte of the answer */
	size_t piece;	     /* bytes of one write; 0: all at once */
	unsigned between_ms; /* wait between two writes */
	unsigned linger_ms;  /* keep the connection open that long after the answer */
	bool deaf;	     /* do not read the request */
	size_t repeat;	     /* write answer that often; 0: once */
};

struct fake_record {
	unsigned count; /* connections served */
	struct {
		size_t length; /* as received, may be more than kept */
		char text[FAKE_REQUEST_MAX];
	} requests[FAKE_REQUESTS];
};

struct fake_engine {
	pid_t pid;
	char folder[64];
	char path[96];
	struct fake_record *record; /* shared with the child */
};

/* Starts the child; steps and what they point to must stay until fake_stop. */
void fake_start(struct fake_engine *engine, const struct fake_step *steps, size_t count);
void fake_stop(struct fake_engine *engine);
/* Request number n (from 0) as text, terminated. */
const char *fake_request(const struct fake_engine *engine, unsigned n);

/* One helper without a loop. */
struct bench {
	struct site_policy site;
	struct helper helper;
	struct helper_result result;
	struct ans_docker_engine_info answer;
	const char *rule; /* of judge */
};

/* A policy without ceilings; socket_path is where the engine is. */
void bench_open(struct bench *bench, const char *socket_path);
/* Calls the handler of a request as the loop does (but for judge); answer is filled. */
void bench_call(struct bench *bench, uint16_t number, const void *request);
/* The pipe's bytes after the inline part (while after() runs in a child); -1 when there is no pipe.
 */
ssize_t bench_rest(struct bench *bench, char *out, size_t size);
/* Closes what a call left open. */
void bench_drop(struct bench *bench);
void bench_close(struct bench *bench);
/* Descriptors open in this process. */
unsigned count_descriptors(void);

/* A policy list of these items (NULL-terminated); "*" is any. */
void set_list(struct site_list *list, const char *const *items);

extern const uint8_t test_uuid[UUID_SIZE];
#define TEST_UUID "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"

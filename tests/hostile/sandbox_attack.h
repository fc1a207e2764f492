/* SPDX-License-Identifier: Apache-2.0 */
/* Between the attacks and the bench that runs them inside each sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BROKER_UID 61821
#define DOCKER_UID 61822
#define DOCKER_GID 61823 /* the group of the engine's socket */
#define OPEN_PORT  9	 /* what the broker may connect to; nobody listens */
#define OTHER_PORT 22

/* How an attack ends: an errno, or one of these. */
#define WORKED 0
#define KILLED (-1)

#define ATTACK_ROLES 5 /* dispatcher, publisher, worker, docker, docker-server */

struct attack {
	const char *name;
	int (*try)(void);
	int expected[ATTACK_ROLES];
	int abi;	/* below this Landlock ABI it is not tried */
	bool sanitized; /* tried under sanitizers too */
};

/* A system call that ends every role, whatever its arguments. */
struct attack_call {
	const char *name;
	long number;
};

extern const struct attack attacks[];
extern const size_t attack_count;
extern const struct attack_call attack_calls[];
extern const size_t attack_call_count;
/* By a process of the same user that is not confined, against one that is. */
extern const struct attack attacks_from_outside[];
extern const size_t attack_from_outside_count;

/* Where the attackers stand. */
struct attack_place {
	char state[64], engine_socket[80], outside[64], abstract[32];
	pid_t launcher;
	pid_t sibling; /* a confined process of the same user */
	bool in_docker;
};
extern struct attack_place place;

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The docker domain's public face (the domain itself is docker_domain in
 * helper.h).  The launcher makes the shared pages before it forks the helper and
 * puts them into helper.shared; SIGPIPE must be ignored in the helper, since a
 * reader of a relayed body may go away at any moment.
 */
#pragma once
#include "privsep/docker_owned.h"

#define DOCKER_SOCKET_PATH_MAX 108

/* What the domain's servers share; made before the first fork. */
struct docker_shared {
	char socket_path[DOCKER_SOCKET_PATH_MAX]; /* as the helper's mount namespace has it */
	struct docker_owned owned;
};

/* Maps the shared pages: returns owned memory (never released: it lives as long as the
 * process), or NULL with errno.  socket_path must be shorter than DOCKER_SOCKET_PATH_MAX. */
struct docker_shared *docker_shared_new(const char *socket_path);

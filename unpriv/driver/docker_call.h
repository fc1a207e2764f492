/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request to the engine through the helper: version of the API, deadlines,
 * body, and what the helper's refusals and the engine's HTTP status mean to the
 * caller.  Everything is decided by status numbers, nothing by texts (K15).
 */
#pragma once
#include "privsep/client.h"
#include "unpriv/driver/driver.h"
#include "unpriv/driver/driver_body.h"

#define DOCKER_ERROR_BODY_MAX 65536
#define DOCKER_WAIT_MAX_S     3600 /* the table's bound of wait_ms */
#define DOCKER_API_MIN	      24   /* minor versions of API 1.x that we speak */
#define DOCKER_API_MAX	      51

struct driver {
	struct priv_channel channel;
	const struct config *config;	 /* borrowed */
	const struct store_actor *actor; /* borrowed, NULL before the first */
	uint8_t api_minor;		 /* 0: ask the engine first */
	bool name_checked;		 /* the engine's Name was compared with ours (K49) */
};

struct docker_request {
	uint16_t number; /* of the request table */
	void *message;
	uint8_t *api_minor; /* in message; NULL when it has none */
	size_t body_max;    /* of a good answer */
	bool stream;	    /* leave a good answer's body in the reply's reader */
};

struct docker_reply {
	unsigned http_status;
	struct body_text body; /* owned; never NULL after success, unless streamed */
	struct body_reader reader;
	/* After a failure: */
	bool unknown; /* the engine may have done it all the same */
	bool silent;  /* the engine said nothing for wait_ms */
};

/* Makes api_minor known.  0, or a negative errno with *failure. */
int docker_know_version(struct driver *driver, struct rpc_failure *failure);
/* Sends request and reads the answer, whatever its HTTP status.  Asks for the engine's version
 * first when it is not known, and again (then repeats the request once) when a 400 may mean a
 * version it refuses (K48, F14).  0, or a negative errno as in driver.h with *failure. */
int docker_call(struct driver *driver, const struct docker_request *request,
		struct docker_reply *reply, struct rpc_failure *failure);
#define DOCKER_REPLY_INIT                                                                          \
	{                                                                                          \
		.reader.fd = -1                                                                    \
	}
void docker_reply_clear(struct docker_reply *reply);

static inline bool docker_good(const struct docker_reply *reply)
{
	return reply->http_status >= 200 && reply->http_status < 300;
}

/* Turns an HTTP status that is not good into *failure and a negative errno. */
int docker_refused(const struct docker_reply *reply, struct rpc_failure *failure);
/* An answer that makes no sense: a definite failure. */
int docker_senseless(const struct zerr *err, struct rpc_failure *failure);

/* Milliseconds for wait_ms: [docker]/default_timeout and extra_s seconds. */
uint32_t docker_wait_ms(const struct driver *driver, int64_t extra_s);
/* The actor's ids as the request table takes them; what it would not take is left empty. */
struct docker_actor {
	struct zstr request_id, project_id, user_id;
};
struct docker_actor docker_actor(const struct driver *driver);

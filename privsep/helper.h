/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper: the loop that every domain shares, and what a domain gives it.
 * Runs in keelson-launch's children.  The first process of a domain serves the
 * first channel and forks one server for each further one.
 */
#pragma once
#include "policy/site.h"
#include "privsep/audit.h"
#include "privsep/proto.h"

struct helper;
struct sandbox_board;

/* What a handler gives back; the loop encodes and sends it.  answer is zeroed by the loop. */
struct helper_result {
	enum proto_status status;
	const char *rule; /* when status is not OK: static text, TEXT_PRINTABLE */
	int fd;		  /* descriptor for the answer (owned, closed after sending), or -1 */
	/* If not NULL, called when the answer was sent, to feed the pipe; then the next request. */
	void (*after)(struct helper *helper);
};

typedef void helper_handler(struct helper *helper, const void *request, void *answer,
			    struct helper_result *result);

struct helper_domain {
	enum proto_domain domain;
	const char *name;
	helper_handler *const *handlers; /* one for each row of the domain, in the table's order */
	/* Which object the request is about, for the audit record: fills type and uuid text or
	 * name. */
	void (*subject)(const struct proto_row *row, const void *request,
			struct audit_entry *entry);
	/* The site policy's word on an otherwise correct request: NULL = allowed, else the rule's
	 * name (static).  Checked before the audit record is written. */
	const char *(*judge)(const struct helper *helper, const struct proto_row *row,
			     const void *request);
};

struct helper {
	const struct helper_domain *domain;
	const struct site_policy *site;
	struct audit *audit;
	int channel;		     /* made by helper_channel */
	int signals;		     /* signalfd for TERM and CHLD, both blocked; -1 = none */
	bool first;		     /* this is the domain's first process: it may fork servers */
	void *shared;		     /* the domain's shared pages */
	struct sandbox_board *board; /* or NULL */
	/* private to helper.c and the domain */
	unsigned phase;
	uint32_t sequence;
	uint64_t used[8]; /* bit n: row n was used (ONCE) */
	pid_t peer_pid;
	size_t servers;
	int pipe_write; /* write end for after(), -1 */
	int engine;	/* engine connection for after(), -1 */
	uint32_t wait_ms;
};

/* The most further channels that a domain serves at a time. */
#define HELPER_SERVERS_MAX 40

/* A channel: pair[0] is the helper's end, on which each packet shows its sender, pair[1] the
 * peer's.  Both owned; 0 or a negative errno. */
int helper_channel(int pair[2]);

/* Serves channel until its end or SIGTERM (returns 0) or a protocol surprise (never returns: exits
 * with a HELPER_EXIT_… status).  The peer must be of site->broker_uid; the pid of the first packet
 * is that of all.  The sandbox must be closed already. */
int helper_serve(struct helper *helper);

enum helper_exit {
	HELPER_EXIT_OK = 0,
	HELPER_EXIT_SANDBOX = 80, /* could not confine itself */
	HELPER_EXIT_FRAME = 81,	  /* truncated, oversized, bad magic, version, domain or sequence */
	HELPER_EXIT_TYPE = 82,	  /* unknown request, or an answer */
	HELPER_EXIT_STATE = 83,	  /* not legal now, or ONCE used twice */
	HELPER_EXIT_FDS = 84,	  /* wrong number or kind of descriptors */
	HELPER_EXIT_FIELD = 85,	  /* a field out of its bound or class, or bytes left over */
	HELPER_EXIT_PEER = 86,	  /* another process or user on the channel */
	HELPER_EXIT_IO = 87,	  /* the channel failed or is not read; an answer out of bounds */
	HELPER_EXIT_SERVER = 88 /* a server of the domain was killed */
};

extern const struct helper_domain docker_domain;

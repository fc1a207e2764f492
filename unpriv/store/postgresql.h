/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to PostgreSQL and its transactions.  Private to unpriv/store. */
#pragma once
#include "unpriv/store/store.h"
#include <assert.h>
#include <libpq-fe.h>

/* What the last failed statement means for the transaction it was in. */
enum pg_fault {
	PG_DEFINITE, /* the same again would fail the same way */
	PG_CONFLICT, /* 40001, 40P01: run the transaction again */
	PG_BUSY,     /* 57014, 55P03, 53***: again after a pause */
	PG_LOST	     /* the connection is of no use any more (F12) */
};

enum pg_statement {
	PG_CONTAINER_GET,
	PG_CONTAINER_LOCK,
	PG_CONTAINER_HOST,
	PG_CONTAINER_DELETE,
	PG_MAPPINGS_DELETE,
	PG_CONTAINER_EACH,
	PG_ACTION_FIND,
	PG_EVENT_START,
	PG_EVENT_FINISH,
	PG_ACTION_FINISH,
	PG_ACTIONS_EXPIRE,
	PG_CLAIM_LOCK,
	PG_CLAIM_ROW,
	PG_CLAIM_HOST,
	PG_CLAIM_USAGE,
	PG_HEARTBEAT_INSERT,
	PG_HEARTBEAT,
	PG_NODE_FIND,
	PG_NODE_USAGE,
	PG_NODE_INSERT,
	PG_NODE_UPDATE,
	PG_STATEMENT_COUNT
};

struct store {
	const struct config *config; /* borrowed */
	PGconn *connection;	     /* owned; NULL = none */
	uint64_t prepared;	     /* bit of enum pg_statement: known to this connection */
	enum pg_fault fault;	     /* of the statement that failed last */
	/* Deadlines; members so that tests need not wait for them. */
	uint64_t patience_ms;		/* how long a function may try to get a connection */
	unsigned answer_ms;		/* the server itself is given up */
	unsigned statement_ms, lock_ms; /* the server ends a statement */
};

static_assert(PG_STATEMENT_COUNT <= 64, "prepared has a bit for each statement");

#define PG_STATEMENT_MS	  15000
#define PG_LOCK_MS	  10000
#define PG_ANSWER_MS	  20000
#define PG_PATIENCE_MS	  60000
#define PG_CONFLICTS_MAX  5
#define PG_PARAMETERS_MAX 64

struct pg_values {
	const char *text[PG_PARAMETERS_MAX];
	int count;
};
void pg_add(struct pg_values *values, const char *text);

/* postgresql_connect.c */
/* Connects if there is no connection; tries again, with pauses, until deadline_ms.  0, or -EAGAIN.
 */
int pg_connect(struct store *store, uint64_t deadline_ms, struct zerr *err);
void pg_disconnect(struct store *store);
/* Fills *err from a text of libpq's own: one line, no control bytes, no password. */
int pg_connection_error(const struct store *store, struct zerr *err);
/* Sleeps a random part of up to limit_ms, not past deadline_ms. */
void pg_pause(uint64_t limit_ms, uint64_t deadline_ms);

/* postgresql_query.c */
void pg_clear(PGresult **result);
#define _cleanup_result_ _cleanup_(pg_clear)
/* Runs a statement of the table (prepared on first use), or other text.  *result (may be NULL) is
 * owned. 0, or a negative errno with *err and store->fault. */
int pg_run(struct store *store, enum pg_statement statement, const struct pg_values *values,
	   PGresult **result, struct zerr *err);
int pg_run_text(struct store *store, const char *sql, const struct pg_values *values,
		PGresult **result, struct zerr *err);

/* What happens between BEGIN and COMMIT.  May run several times; returns 0 to commit. */
typedef int pg_body(struct store *store, void *context, struct zerr *err);
int pg_transact(struct store *store, pg_body *body, void *context, struct zerr *err);

/* A field as text (borrows), NULL for SQL NULL. */
const char *pg_text(const PGresult *result, int row, int column);

extern const char *const pg_statements[PG_STATEMENT_COUNT]; /* postgresql_sql.c */

/* What a row of container takes of its node. */
struct pg_amounts {
	int64_t memory_mib, disk_gib;
	double cpu;
};
/* Reads memory, cpu and disk from three fields beginning at column.  An amount that makes no sense
 * counts as 0 and *bad (may be NULL) names it. */
struct pg_amounts pg_amounts(const PGresult *result, int row, int column, const char **bad);
/* Adds amounts to (sign 1) or takes them from (sign -1) the usage of compute_node host. */
int pg_usage(struct store *store, const char *host, const struct pg_amounts *amounts, int sign,
	     struct zerr *err);

/* The functions of struct store_ops, by file. */
int pg_container_get(struct store *store, const char *uuid, struct container *row,
		     struct zerr *err);
int pg_container_save(struct store *store, struct container *row, const char *expect_task_state,
		      struct zerr *err);
int pg_container_destroy(struct store *store, const char *uuid, bool drop_volumes,
			 struct zerr *err);
int pg_container_each(struct store *store, const struct store_scan *scan,
		      int (*each)(void *context, const char *uuid), void *context,
		      struct zerr *err);
int pg_event_start(struct store *store, const struct store_action *action, const char *event,
		   struct zerr *err);
int pg_event_finish(struct store *store, const struct store_action *action, const char *event,
		    const char *error, struct zerr *err);
int pg_action_finish(struct store *store, const struct store_action *action, bool failed,
		     struct zerr *err);
int pg_actions_expire(struct store *store, const char *uuid, int64_t seconds, struct zerr *err);
int pg_claim(struct store *store, const char *host, const char *uuid,
	     const struct claim_limits *limits, struct zerr *err);
int pg_release(struct store *store, const char *host, const char *uuid, struct zerr *err);
int pg_heartbeat(struct store *store, const char *host, const char *zone, bool first,
		 struct zerr *err);
int pg_compute_node_update(struct store *store, struct compute_node *node, struct zerr *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements and transactions on PostgreSQL: each statement with a deadline,
 * each failure read by SQLSTATE (never by text), each transaction run again
 * where that helps (known-faults F12).  Runs in workers; no privilege.
 */
#include "common/zfd.h"
#include "unpriv/store/postgresql.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pg_clear(PGresult **result)
{
	PQclear(*result);
	*result = NULL;
}

void pg_add(struct pg_values *values, const char *text)
{
	assert(values->count < PG_PARAMETERS_MAX);
	values->text[values->count++] = text;
}

const char *pg_text(const PGresult *result, int row, int column)
{
	return PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
}

/* First match wins; a state of two characters is a class. */
static const struct {
	const char *state;
	enum pg_fault fault;
	int code;
} faults[] = {
	{"08", PG_LOST, -EAGAIN},    /* connection exceptions */
	{"57P01", PG_LOST, -EAGAIN}, /* admin shutdown */
	{"57P02", PG_LOST, -EAGAIN}, /* crash shutdown */
	{"57P03", PG_LOST, -EAGAIN}, /* cannot connect now */
	{"57P05", PG_LOST, -EAGAIN}, /* idle session timeout */
	{"25006", PG_LOST, -EAGAIN}, /* read only: this server is no longer the primary */
	{"25P03", PG_LOST, -EAGAIN}, /* idle in transaction for too long */
	{"26000", PG_LOST, -EAGAIN}, /* our prepared statement is not there: a pooler gave us
					another session */
	{"0A000", PG_LOST, -EAGAIN}, /* a prepared statement outlived a change of its table */
	{"40001", PG_CONFLICT, -EAGAIN}, {"40P01", PG_CONFLICT, -EAGAIN},
	{"57014", PG_BUSY, -EAGAIN},	 /* statement timeout */
	{"55P03", PG_BUSY, -EAGAIN},	 /* lock timeout */
	{"53", PG_BUSY, -EAGAIN},	 /* insufficient resources */
	{"23505", PG_CONFLICT, -EEXIST}, /* unique: somebody inserted first; the next run sees the
					    row */
	{"23", PG_DEFINITE, -EBUSY},	 /* other constraints */
	{"22", PG_DEFINITE, -EINVAL},	 /* data that the column does not take */
	{"", PG_DEFINITE, -EIO},
};

static int refused(struct store *store, const PGresult *result, struct zerr *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	size_t i = 0;

	/* Without a state it is libpq that failed: no memory, or the connection. */
	if (!state || !state[0]) {
		store->fault = PG_LOST;
		return pg_connection_error(store, err);
	}
	while (strncmp(faults[i].state, state, strlen(faults[i].state)) != 0)
		i++;
	store->fault = faults[i].fault;
	return zerr_set(err, faults[i].code, "database: %s (SQLSTATE %s)",
			message ? message : "refused", state);
}

static int lost(struct store *store, struct zerr *err)
{
	int result = pg_connection_error(store, err);

	store->fault = PG_LOST;
	pg_disconnect(store);
	return result;
}

static int silent(struct store *store, struct zerr *err)
{
	store->fault = PG_LOST;
	pg_disconnect(store);
	return zerr_set(err, -EAGAIN, "database: no answer for %u s", store->answer_ms / 1000);
}

static int flush(struct store *store, uint64_t deadline_ms, struct zerr *err)
{
	for (;;) {
		int left = PQflush(store->connection);

		if (left == 0)
			return 0;
		if (left < 0)
			return lost(store, err);
		/* Reading as well: a server that waits for us to read would never take more. */
		if (zfd_wait(PQsocket(store->connection), POLLIN | POLLOUT, deadline_ms) < 0)
			return silent(store, err);
		if (!PQconsumeInput(store->connection))
			return lost(store, err);
	}
}

static int next_result(struct store *store, uint64_t deadline_ms, PGresult **result,
		       struct zerr *err)
{
	while (PQisBusy(store->connection)) {
		if (zfd_wait(PQsocket(store->connection), POLLIN, deadline_ms) < 0)
			return silent(store, err);
		if (!PQconsumeInput(store->connection))
			return lost(store, err);
	}
	*result = PQgetResult(store->connection);
	return 0;
}

/* The answer to what was sent: its one result, and the end. */
static int collect(struct store *store, PGresult **out, struct zerr *err)
{
	uint64_t deadline_ms = zfd_now_ms() + store->answer_ms;
	_cleanup_result_ PGresult *first = NULL;
	_cleanup_result_ PGresult *end = NULL;
	int result = flush(store, deadline_ms, err);

	if (result == 0)
		result = next_result(store, deadline_ms, &first, err);
	if (result == 0 && !first)
		result = lost(store, err);
	if (result == 0)
		result = next_result(store, deadline_ms, &end, err);
	if (result < 0)
		return result;
	if (end || PQstatus(store->connection) != CONNECTION_OK)
		return lost(store, err);
	if (PQresultStatus(first) != PGRES_COMMAND_OK && PQresultStatus(first) != PGRES_TUPLES_OK)
		return refused(store, first, err);
	if (out)
		*out = TAKE_PTR(first);
	return 0;
}

int pg_run_text(struct store *store, const char *sql, const struct pg_values *values,
		PGresult **result, struct zerr *err)
{
	int count = values ? values->count : 0;

	if (!PQsendQueryParams(store->connection, sql, count, NULL, values ? values->text : NULL,
			       NULL, NULL, 0))
		return lost(store, err);
	return collect(store, result, err);
}

int pg_run(struct store *store, enum pg_statement statement, const struct pg_values *values,
	   PGresult **result, struct zerr *err)
{
	uint64_t bit = UINT64_C(1) << statement;
	int count = values ? values->count : 0;
	char name[16];

	(void)snprintf(name, sizeof(name), "keelson_%u", (unsigned)statement);
	if (!(store->prepared & bit)) {
		int prepared;

		if (!PQsendPrepare(store->connection, name, pg_statements[statement], 0, NULL))
			return lost(store, err);
		prepared = collect(store, NULL, err);
		if (prepared < 0)
			return prepared;
		store->prepared |= bit;
	}
	if (!PQsendQueryPrepared(store->connection, name, count, values ? values->text : NULL, NULL,
				 NULL, 0))
		return lost(store, err);
	return collect(store, result, err);
}

/* A COMMIT in a transaction that failed is answered by ROLLBACK, without an error. */
static int commit(struct store *store, struct zerr *err)
{
	_cleanup_result_ PGresult *answer = NULL;
	int result = pg_run_text(store, "COMMIT", NULL, &answer, err);

	if (result < 0)
		return result;
	if (strcmp(PQcmdStatus(answer), "COMMIT") == 0)
		return 0;
	store->fault = PG_DEFINITE;
	return zerr_set(err, -EIO, "database: the transaction was rolled back");
}

static int transact_once(struct store *store, pg_body *body, void *context, struct zerr *err)
{
	int result;

	store->fault = PG_DEFINITE;
	result = pg_run_text(store, "BEGIN", NULL, NULL, err);
	if (result < 0)
		return result;
	result = body(store, context, err);
	if (result == 0)
		return commit(store, err);
	if (store->connection) {
		enum pg_fault fault = store->fault;
		struct zerr ignored = {0};

		/* The first error is the one that counts; a failing ROLLBACK means the connection
		 * is gone. */
		if (pg_run_text(store, "ROLLBACK", NULL, NULL, &ignored) < 0)
			pg_disconnect(store);
		store->fault = fault;
	}
	return result;
}

int pg_transact(struct store *store, pg_body *body, void *context, struct zerr *err)
{
	uint64_t deadline_ms = zfd_now_ms() + store->patience_ms;
	unsigned conflicts = 0;

	for (;;) {
		int result = pg_connect(store, deadline_ms, err);

		if (result < 0)
			return result;
		result = transact_once(store, body, context, err);
		if (result == 0 || store->fault == PG_DEFINITE)
			return result;
		if (store->fault == PG_LOST)
			pg_disconnect(store);
		if (store->fault == PG_CONFLICT && ++conflicts > PG_CONFLICTS_MAX)
			return result;
		if (zfd_now_ms() >= deadline_ms)
			return result;
		/* A conflict is over as soon as the other one is; the rest needs time. */
		pg_pause(store->fault == PG_CONFLICT ? 50 : 500, deadline_ms);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps what the engine says of a container to the columns of its row.
 * Process: worker.  Privileges: none.
 */
#include "unpriv/driver/docker_state.h"
#include "common/jsonw.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/driver/docker_text.h"

#define DETAIL_SIZE 96 /* the column has 50, which an age of any length would pass */

static const char *const row_statuses[] = {"Error",    "Running",    "Stopped", "Paused",
					   "Unknown",  "Creating",   "Created", "Deleted",
					   "Deleting", "Rebuilding", "Dead",	"Restarting"};

/* status NULL: as it is. */
static int set_status(struct container *row, const char *status, const char *detail)
{
	int result = status != NULL ? container_set_text(row, CONTAINER_status, status) : 0;

	return result < 0 ? result : container_set_text(row, CONTAINER_status_detail, detail);
}

static int set_unknown(struct container *row, const char *reason, const char *detail)
{
	int result = set_status(row, "Unknown", detail);

	return result < 0 ? result : container_set_text(row, CONTAINER_status_reason, reason);
}

/* "Running" for "running"; NULL when the row has no such status. */
static const char *status_named(const char *engine_status)
{
	for (size_t i = 0; i < sizeof(row_statuses) / sizeof(row_statuses[0]); i++) {
		if (strcasecmp(engine_status, row_statuses[i]) == 0)
			return row_statuses[i];
	}
	return NULL;
}

/* Exited(<code>) <age> ago <tail>; after a failed start there is no age, and its place stays empty.
 */
static int exited(const struct docker_state *state, time_t now, const char *tail,
		  struct container *row, const char *status)
{
	char age[DOCKER_AGE_MAX];
	char detail[DETAIL_SIZE];
	enum docker_age known = docker_age_text(state->finished_at, now, age);

	(void)snprintf(detail, sizeof(detail), "Exited(%lld) %s ago %s",
		       (long long)state->exit_code, age, tail);
	return set_status(row, status, known == DOCKER_AGE_UNKNOWN ? NULL : detail);
}

/* Up <age><tail> */
static int up(const struct docker_state *state, time_t now, const char *tail, struct container *row,
	      const char *status)
{
	char age[DOCKER_AGE_MAX];
	char detail[DETAIL_SIZE];
	enum docker_age known = docker_age_text(state->started_at, now, age);

	(void)snprintf(detail, sizeof(detail), "Up %s%s", age, tail);
	return set_status(row, status, known == DOCKER_AGE_KNOWN ? detail : NULL);
}

/* A start that failed leaves an Error text behind, whatever else the state says. */
static int failed(const struct docker_state *state, time_t now, struct container *row)
{
	const char *status = status_named(state->status);

	if (strcmp(state->status, "exited") == 0 || strcmp(state->status, "removing") == 0)
		status = "Stopped";
	return exited(state, now, "(error)", row, status);
}

bool docker_never_started(const struct docker_state *state)
{
	char age[DOCKER_AGE_MAX];

	return docker_age_text(state->started_at, 0, age) == DOCKER_AGE_NEVER;
}

/* Neither running nor paused nor dead. */
static int at_rest(const struct docker_state *state, time_t now, struct container *row)
{
	char age[DOCKER_AGE_MAX];

	if (docker_never_started(state)) {
		if (strcmp(container_text(row, CONTAINER_status), "Creating") == 0)
			return set_status(row, "Created", "Created");
		return 0; /* Created, Restarting, Error, Rebuilding: the row knows better */
	}
	if (docker_age_text(state->finished_at, now, age) == DOCKER_AGE_NEVER)
		return set_unknown(row, "unexpected container state", "");
	return exited(state, now, "", row, "Stopped");
}

int docker_state_to_row(const struct docker_state *state, time_t now, struct container *row)
{
	if (!state->present)
		return set_unknown(row, "container state is missing", NULL);
	if (state->error)
		return failed(state, now, row);
	if (state->paused)
		return up(state, now, " (paused)", row, "Paused");
	if (state->restarting)
		return set_status(row, "Restarting", "Restarting");
	if (state->running)
		return up(state, now, "", row, "Running");
	if (state->dead)
		return set_status(row, "Dead", "Dead");
	return at_rest(state, now, row);
}

int docker_set_json(struct container *row, enum container_column column, const char *text)
{
	_cleanup_(json_putp) struct json_object *old =
		json_tokener_parse(container_text(row, column));
	_cleanup_(json_putp) struct json_object *new = json_tokener_parse(text);

	if (old != NULL && json_object_equal(old, new))
		return 0;
	return container_set_text(row, column, text);
}

bool docker_same_strings(const char *a, const char *b)
{
	const char *first = a != NULL && a[0] != '\0' ? a : "[]";
	const char *second = b != NULL && b[0] != '\0' ? b : "[]";
	_cleanup_(json_putp) struct json_object *one = json_tokener_parse(first);
	_cleanup_(json_putp) struct json_object *two = json_tokener_parse(second);

	return one != NULL && two != NULL && json_object_equal(one, two);
}

int docker_config_to_row(const struct docker_container *container, struct container *row)
{
	char text[DOCKER_PORTS_MAX * 6 + 3];
	struct jsonw ports;
	int result;

	jsonw_init(&ports, text, sizeof(text) - 1);
	jsonw_array(&ports);
	for (size_t i = 0; i < container->port_count; i++)
		jsonw_u64(&ports, container->ports[i]);
	jsonw_end_array(&ports);
	text[ports.used] = '\0';
	result = docker_set_json(row, CONTAINER_ports, text);
	if (result == 0 && container_text(row, CONTAINER_hostname)[0] == '\0' &&
	    container->hostname != NULL)
		result = container_set_text(row, CONTAINER_hostname, container->hostname);
	if (result == 0 && container->runtime != NULL)
		result = container_set_text(row, CONTAINER_runtime, container->runtime);
	return result;
}

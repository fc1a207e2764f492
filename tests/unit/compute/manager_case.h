/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world behind the manager's seams: one row, one container in an engine,
 * a claim, an intent; every effect leaves a word in one log.  Only for tests.
 */
#pragma once
#include "unpriv/compute/manager.h"
#include <stdbool.h>
#include <stddef.h>

#define UUID "b7032268-70bb-4548-86e5-aac80042ba40"
#define HOST "node-1"
#define ID   "5ed12873dcf2c258b9359f2534c855f3553aaf78afc61f36b75dc77eae384104"

enum engine_state { ENGINE_NONE, ENGINE_CREATED, ENGINE_RUNNING, ENGINE_PAUSED, ENGINE_STOPPED };

/* What the engine answers to an operation instead of doing it. */
struct refusal {
	const char *operation; /* "stop", …; NULL ends the list */
	int result;
	unsigned times; /* 0: always */
};

struct world {
	bool row_exists;
	struct container row;
	bool claimed;
	int claim_result; /* of the next claim, 0 = it fits */
	bool volumes;	  /* the row has volume mappings */
	unsigned expired; /* actions that actions_expire finds */
	enum engine_state engine;
	bool foreign; /* the engine's container is somebody else's */
	bool channel_lost;
	bool quota;
	unsigned signals; /* heard by the container */
	struct refusal refusals[4];
	unsigned steps, cut; /* the process "dies" before effect number cut; 0 = never */
	bool dead;
	char log[8192];
};

struct manager_case {
	struct world world;
	struct config config;
	struct intent_log intents;
	char folder[64];
	struct manager manager;
	struct job_record record;
	struct json_object *args;
	struct manager_job job;
	int result;
};

/* A row of these columns ("status=Running container_id=… host=node-1"), in an engine in that state.
 */
void case_open(struct manager_case *test, const char *columns, enum engine_state engine);
void case_close(struct manager_case *test);
/* Runs the method with these arguments (JSON members without braces; the container is added). */
void case_run(struct manager_case *test, enum rpc_method method, const char *arguments);
/* Runs it once more, as after a restart, from the intent. */
void case_again(struct manager_case *test);
void case_recover(struct manager_case *test);
void case_abandon(struct manager_case *test, enum rpc_method method);
/* The log since the last call must be this. */
void case_expect(struct manager_case *test, const char *log);
/* A column of the row ("" for NULL). */
const char *case_column(struct manager_case *test, enum container_column column);

/* ---- fake_store.c, fake_driver.c ---- */
struct store {
	struct world *world;
};
struct driver {
	struct world *world;
};
extern const struct store_ops fake_store;
extern const struct driver_ops fake_driver;
void world_note(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* False once the process is dead: nothing has an effect any more. */
bool world_alive(struct world *world);

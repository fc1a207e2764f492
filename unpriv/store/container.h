/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of table container.  One table of columns; text is owned, NULL = SQL NULL.
 * JSON columns hold JSON text; the store turns NULL and "" into {} or [] where
 * Zun's readers need it (timers-and-recovery.md §6).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* TEXT(column, bytes at most; 0 = unlimited)  JSON(column, empty form)  NUMBER kinds */
#define CONTAINER_COLUMNS(TEXT, JSON, INTEGER, DOUBLE, BOOLEAN) \
	TEXT(uuid, 36)                                          \
	TEXT(name, 255)                                         \
	TEXT(project_id, 255)                                   \
	TEXT(user_id, 255)                                      \
	TEXT(image, 255)                                        \
	TEXT(status, 20)                                        \
	TEXT(status_reason, 0)                                  \
	TEXT(status_detail, 50)                                 \
	TEXT(task_state, 20)                                    \
	TEXT(container_id, 255)                                 \
	TEXT(memory, 255)                                       \
	TEXT(workdir, 255)                                      \
	TEXT(hostname, 63)                                      \
	TEXT(image_pull_policy, 0)                              \
	TEXT(host, 255)                                         \
	TEXT(image_driver, 0)                                   \
	TEXT(websocket_url, 255)                                \
	TEXT(websocket_token, 255)                              \
	TEXT(runtime, 32)                                       \
	TEXT(cpu_policy, 255)                                   \
	TEXT(started_at, 0)                                     \
	TEXT(created_at, 0)                                     \
	TEXT(updated_at, 0)                                     \
	JSON(command, "[]")                                     \
	JSON(entrypoint, "[]")                                  \
	JSON(ports, "[]")                                       \
	JSON(security_groups, "[]")                             \
	JSON(environment, "{}")                                 \
	JSON(labels, "{}")                                      \
	JSON(addresses, "{}")                                   \
	JSON(restart_policy, "{}")                              \
	JSON(healthcheck, "{}")                                 \
	JSON(exposed_ports, "{}")                               \
	JSON(cpuset, "{}")                                      \
	TEXT(annotations, 0)                                    \
	TEXT(cni_metadata, 0)                                   \
	INTEGER(id)                                             \
	INTEGER(disk)                                           \
	INTEGER(capsule_id)                                     \
	INTEGER(registry_id)                                    \
	INTEGER(container_type)                                 \
	DOUBLE(cpu)                                             \
	BOOLEAN(interactive)                                    \
	BOOLEAN(tty)                                            \
	BOOLEAN(auto_remove)                                    \
	BOOLEAN(auto_heal)                                      \
	BOOLEAN(privileged)

enum container_column {
#define CONTAINER_ENUM(name, ...) CONTAINER_##name,
	CONTAINER_COLUMNS(CONTAINER_ENUM, CONTAINER_ENUM, CONTAINER_ENUM, CONTAINER_ENUM,
			  CONTAINER_ENUM)
#undef CONTAINER_ENUM
	CONTAINER_COLUMN_COUNT
};

struct container {
#define CONTAINER_TEXT(name, ...) char *name;
#define CONTAINER_INTEGER(name) int64_t name;
#define CONTAINER_DOUBLE(name) double name;
#define CONTAINER_BOOLEAN(name) bool name;
	CONTAINER_COLUMNS(CONTAINER_TEXT, CONTAINER_TEXT, CONTAINER_INTEGER, CONTAINER_DOUBLE,
			  CONTAINER_BOOLEAN)
#undef CONTAINER_TEXT
#undef CONTAINER_INTEGER
#undef CONTAINER_DOUBLE
#undef CONTAINER_BOOLEAN
	uint64_t set;     /* bit of enum container_column: not SQL NULL */
	uint64_t changed; /* bit of enum container_column: to be saved */
};

#define CONTAINER_BIT(column) (UINT64_C(1) << (column))
#define CONTAINER_HAS(row, column) (((row)->set & CONTAINER_BIT(CONTAINER_##column)) != 0)

void container_clear(struct container *row);
/* Replaces a text column by a copy (NULL = SQL NULL), cut to its limit at a UTF-8 boundary, what is
 * not UTF-8 as '?', and marks it changed when it differs.  0 or -ENOMEM. */
int container_set_text(struct container *row, enum container_column column, const char *value);
/* "" for NULL. */
const char *container_text(const struct container *row, enum container_column column);

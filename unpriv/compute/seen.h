/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unique ids of messages that were accepted, for 24 hours or the last
 * 100,000, whichever is less, through restarts (known-faults F07).
 *
 * File <state>/seen: records of 32 bytes, appended: the first 16 bytes of the
 * id's SHA-256, the order of arrival (u64), the time in seconds (u32), 4 bytes
 * that check the 28 before; little-endian.  What does not check is passed over,
 * a torn end too.
 */
#pragma once
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEEN_MAX   100000U
#define SEEN_AGE_S UINT64_C(86400)

struct seen;

/* Reads directory's file "seen" and writes it anew without what is too old.  Owned; NULL with *err.
 */
struct seen *seen_open(int directory, uint64_t now_s, struct zerr *err);
/* The order of arrival under which id was accepted, or 0 when it was not (or is forgotten). */
uint64_t seen_find(struct seen *seen, const char *id, uint64_t now_s);
/* Remembers id.  0 or a negative errno: then it is remembered in memory only. */
int seen_add(struct seen *seen, const char *id, uint64_t order, uint64_t now_s);
size_t seen_count(const struct seen *seen);
/* Syncs the file. */
void seen_close(struct seen *seen);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that end processes (known-faults R2).  A body that ended two workers
 * is kept in <state>/poison for the operator; a message that was there, not yet
 * understood, when the service ended twice is refused the third time.
 */
#pragma once
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POISON_FILES_MAX 32

struct poison;

/* Makes <directory>/poison and reads what is known of redelivered messages.  Owned; NULL with *err.
 */
struct poison *poison_open(int directory, struct zerr *err);
/* Keeps a copy of body as poison/<order>: false when it could not be, or there are enough. */
bool poison_save(struct poison *poison, uint64_t order, int body);
/* The same with a text. */
bool poison_save_text(struct poison *poison, uint64_t order, const char *text, size_t length);
/* A message that the broker delivers again, before anybody looked at it: true when it must be
 * refused. */
bool poison_suspect(struct poison *poison, int body, uint64_t size);
/* It was understood after all. */
void poison_clear(struct poison *poison, int body, uint64_t size);
/* The service ends in good order: what was not understood yet bears no blame. */
void poison_close(struct poison *poison, bool orderly);

/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and times of the engine's answers. */
#pragma once
#include "common/zbuf.h"
#include <stddef.h>
#include <time.h>

/* Copies text to out[size]: cut at a character's boundary, control bytes become blanks, invalid
 * UTF-8 becomes '?', blanks at the end go. */
void docker_text_clean(struct zstr text, char *out, size_t size);
/* The message member of an error body (or the body itself when it is no JSON), cleaned; "HTTP
 * status N" when there is none. */
void docker_error_message(unsigned http_status, struct zstr body, char *out, size_t size);

enum docker_age {
	DOCKER_AGE_KNOWN,
	DOCKER_AGE_NEVER,  /* 0001-01-01T00:00:00Z, or nothing: it did not happen */
	DOCKER_AGE_UNKNOWN /* no such time, in the future, or this very second */
};

#define DOCKER_AGE_MAX 32
/* "N days", "N hours", "N mins", "N seconds": the largest unit only (docker-driver.md §3); ""
 * unless KNOWN. */
enum docker_age docker_age_text(const char *stamp, time_t now, char out[DOCKER_AGE_MAX]);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error that reaches an operator: a negative errno (or a domain code) and a
 * sentence that names the object.  Filled once, at the place of failure.
 * No allocation, so it can be used on any path.
 */
#pragma once

#define ZERR_MSG_MAX 256

struct zerr {
	int code; /* negative errno, 0 = no error */
	char msg[ZERR_MSG_MAX];
};

/* Fills *err (if not NULL) and returns code, so that "return zerr_set(...)" reads well.
 * code is a negative errno.  The text is cut at ZERR_MSG_MAX - 1 bytes. */
int zerr_set(struct zerr *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As zerr_set, and appends ": " and the text of -code; the format is a literal. */
#define zerr_errno(err, code, format, ...) zerr_set((err), (code), format ": %m", ##__VA_ARGS__)

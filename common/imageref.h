/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image references, as Docker's reference grammar has them (known-faults F24, K31):
 *     [domain[:port]/]path[:tag][@algorithm:hex]
 * No allocation: the parts borrow from the text.
 */
#pragma once
#include "zbuf.h"

#define IMAGEREF_MAX 511 /* name 255 + tag 128 + digest 71 + separators, rounded up */

struct imageref {
	struct zstr repository; /* as given: domain (if any) and path */
	struct zstr domain;	/* "docker.io" when none was given */
	struct zstr tag;	/* empty when none */
	struct zstr digest;	/* "sha256:…" or empty */
};

/* 0, or -EINVAL for anything the grammar refuses ("A", "a:", ":1", "a b", too long …). */
int imageref_parse(struct zstr text, struct imageref *out);

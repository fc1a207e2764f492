/* SPDX-License-Identifier: Apache-2.0 */
/* A domain that asks no engine, and a sandbox that is none: what the helper loop needs in a test.
 */
#pragma once
#include "privsep/helper.h"

/* Does for each row what fake.c says there; container_create with privileged is refused. */
extern const struct helper_domain fake_domain;

struct fake {
	int directory; /* holds the audit log */
	char path[64];
	struct audit audit;
	struct site_policy site;
	struct helper helper;
	pid_t child; /* serves the first channel */
	int channel; /* our end of it */
};

/* Makes the folder, the log and the channel; the helper does not run yet. */
void fake_prepare(struct fake *fake);
/* Forks the helper. */
void fake_run(struct fake *fake);
/* Waits for the helper: its exit status, or -signal. */
int fake_wait(struct fake *fake);
/* Closes our end, waits, removes everything; the exit status. */
int fake_finish(struct fake *fake);
/* The audit log's text; static. */
const char *fake_log(struct fake *fake);

/* What the stand-in for sandbox_confine returns next. */
extern int fake_confine_result;

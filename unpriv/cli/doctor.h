/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of `keelson doctor`. */
#pragma once
#include "policy/sandbox.h"
#include "policy/site.h"
#include "unpriv/cli/process.h"

struct doctor {
	const char *run_directory;
	const char *policy_path;
	struct site_policy policy;
	bool policy_known;
	char policy_error[256];
	pid_t domain; /* first process of a helper, in whose network namespace channels are made */
	bool looked_again;
	unsigned faults; /* each was printed in a line that begins with "  ! " */
};

__attribute__((format(printf, 2, 3))) void doctor_fault(struct doctor *doctor, const char *format,
							...);

/* The running processes: boards against /proc. */
void doctor_processes(struct doctor *doctor);
/* One process: prints its row and descriptors, and what is wrong with it. */
void doctor_process(struct doctor *doctor, const struct sandbox_slot *stated, bool trusted_board);
/* Processes come and go while they are looked at: waits a moment (once), then says whether the
 * boards name pid now. */
bool doctor_on_board_now(struct doctor *doctor, pid_t pid);
/* What the host has and lacks. */
void doctor_host(struct doctor *doctor);

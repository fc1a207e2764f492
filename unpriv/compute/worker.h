/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: takes one job at a time from the dispatcher and runs it in a
 * straight line.  Called in a fresh child; never returns.
 */
#pragma once
#include "policy/sandbox.h"
#include "unpriv/base/config.h"

/* jobs: SEQPACKET socket to the dispatcher; docker_channel: a channel of the docker domain (not yet opened
 * with hello); both taken. Exits 0 when jobs ends. */
_Noreturn void worker_main(const struct config *config, int jobs, int docker_channel,
			   const struct sandbox_confine *confine);

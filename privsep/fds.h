/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keelson-launch hands to the broker that it executes: descriptors at these
 * numbers, and two variables of the environment: KEELSON_STATE_DIRECTORY and
 * KEELSON_RUN_DIRECTORY, the folders that the broker may write to.
 */
#pragma once

#define FD_DOCKER_CHANNEL 3 /* first channel to the docker domain */
#define FD_BOARD	  4 /* the broker's board (sandbox.h) */
/* SEQPACKET: one byte "R" from the broker when it is ready; end of stream = stop. */
#define FD_LAUNCHER 5

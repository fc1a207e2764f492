/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor numbers that keelson-launch hands to the broker it executes. */
#pragma once

#define FD_DOCKER_CHANNEL 3 /* first channel to the docker domain */
#define FD_BOARD 4          /* the broker's board (sandbox.h) */
#define FD_LAUNCHER 5       /* SEQPACKET: one byte "R" from the broker when ready; end of stream = stop */

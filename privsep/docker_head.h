/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the docker helper reads of an engine's answer: the HTTP/1.1 head
 * (SECURITY-BAR 3).  Bodies go to the broker as they came.
 */
#pragma once
#include "common/zbuf.h"
#include "privsep/proto.h"
#include <stddef.h>
#include <stdint.h>

/* The most that all heads of one answer (interim ones too) may take. */
#define DOCKER_HEAD_MAX 16384

struct docker_head {
	uint16_t status; /* final: 200 to 599 */
	enum proto_framing framing;
	uint64_t content_length; /* 0 unless framing is PROTO_BODY_LENGTH */
	size_t length;		 /* bytes of the head, interim answers included */
};

/*
 * Reads the head at the beginning of data.  1: whole, *head is filled; 0: so far
 * correct, more bytes are needed; -EBADMSG: no bytes that could follow would make
 * it one.  The verdict on a text never changes when more is appended to it.
 */
int docker_head_parse(const char *data, size_t length, struct docker_head *head);

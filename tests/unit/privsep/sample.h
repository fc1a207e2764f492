/* SPDX-License-Identifier: Apache-2.0 */
/* Lawful messages of any row, made from the request table alone. */
#pragma once
#include "privsep/proto.h"

enum sample { SAMPLE_LEAST, SAMPLE_TYPICAL, SAMPLE_GREATEST, SAMPLE_COUNT };

/* A lawful string of a class: length bytes, or as near to it as the class has one. */
struct zstr sample_text(enum text_class class, size_t length);
/* A message with such values; owned (free), its strings are static. */
void *sample_message(const struct proto_field *fields, size_t count, size_t size,
		     enum sample sample);
/* Its payload in data[PROTO_LARGE_MAX]; the length. */
size_t sample_payload(const struct proto_row *row, enum sample sample, uint8_t *data);

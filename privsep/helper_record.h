/* SPDX-License-Identifier: Apache-2.0 */
/* What a request looks like in the audit log; private to the helper loop. */
#pragma once
#include "privsep/helper.h"

struct helper_record {
	const struct helper *helper;
	const struct proto_row *row;
	const void *request; /* decoded */
	uint64_t started_us;
	char operation[96];
	struct audit_entry entry;
};

/* Fills all that the request alone decides. */
void helper_record_begin(struct helper_record *record);
/* Writes the record with this decision; rule "" when allowed.  0, or a negative errno (logged). */
int helper_record_write(struct helper_record *record, const char *decision, const char *rule,
			int error);

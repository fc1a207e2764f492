/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row as the database sends it: the texts of the columns in their order, each
 * ended by NUL; what is missing is SQL NULL.  Whatever is taken goes back as a
 * text that is taken again, and an amount is never negative or endless.
 */
#include "common/text.h"
#include "unpriv/store/amount.h"
#include "unpriv/store/column.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_amounts(const struct container *row)
{
	int64_t mib = -1, bytes = -1;
	double cpus = -1;

	if (amount_memory(row->memory, &mib) < 0 ? mib != 0 : mib < 0)
		abort();
	if (amount_memory_bytes(row->memory, &bytes) < 0 ? bytes != 0 : bytes != mib * 1048576)
		abort();
	if (amount_cpu(row->name, &cpus) < 0 ? cpus != 0 : !(cpus >= 0 && cpus <= AMOUNT_CPU_MAX))
		abort();
	if (amount_cpu_number(row->cpu, &cpus) < 0 ? cpus != 0
						   : !(cpus >= 0 && cpus <= AMOUNT_CPU_MAX))
		abort();
}

/* The columns as they would be written, read again. */
static void check_again(struct container *row)
{
	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT; i++) {
		enum container_column column = (enum container_column)i;
		struct container again = {0};
		char buffer[CONTAINER_STORE_SIZE];
		const char *text = container_store(row, column, buffer, sizeof(buffer));

		if (container_load(&again, column, text) < 0)
			abort();
		container_clear(&again);
	}
}

/* Setting makes any text one that the database takes. */
static void check_set(struct container *row)
{
	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT; i++) {
		enum container_column column = (enum container_column)i;
		size_t limit = container_columns[i].limit;

		if (container_columns[i].kind > COLUMN_JSON ||
		    container_set_text(row, column, row->status_reason) < 0)
			continue;
		if (!text_utf8_valid(zstr_from(container_text(row, column))) ||
		    (limit && strlen(container_text(row, column)) > limit))
			if (column != CONTAINER_status_reason) /* loaded, not set */
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct container row = {0};
	size_t at = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (unsigned i = 0; i < CONTAINER_COLUMN_COUNT && at < size; i++) {
		(void)container_load(&row, (enum container_column)i, text + at); /* or stays NULL */
		at += strlen(text + at) + 1;
	}
	check_amounts(&row);
	check_again(&row);
	check_set(&row);
	container_clear(&row);
	free(text);
	return 0;
}

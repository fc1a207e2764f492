/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and cpu amounts.  Used by workers; no privilege.
 */
#include "unpriv/store/amount.h"
#include "common/zfd.h"
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int amount_memory(const char *text, int64_t *mib)
{
	uint64_t value = 0;
	int result;

	*mib = 0;
	if (!text || !text[0])
		return 0;
	result = zfd_parse_u64(text, AMOUNT_MEMORY_MAX_MIB, &value);
	if (result == 0)
		*mib = (int64_t)value;
	return result;
}

int amount_memory_bytes(const char *text, int64_t *bytes)
{
	int64_t mib;
	int result = amount_memory(text, &mib);

	*bytes = mib << 20;
	return result;
}

int amount_cpu_number(double value, double *cpus)
{
	*cpus = 0;
	if (!isfinite(value) || value < 0)
		return -EINVAL;
	if (value > AMOUNT_CPU_MAX)
		return -ERANGE;
	*cpus = value;
	return 0;
}

int amount_cpu(const char *text, double *cpus)
{
	char *end = NULL;
	double value;

	*cpus = 0;
	if (!text || !text[0])
		return 0;
	/* strtod also takes blanks, signs, hexadecimal, "inf" and "nan": none of them is an amount.
	 */
	if (strspn(text, "0123456789.eE+-") != strlen(text) || text[0] == '-' || text[0] == '+')
		return -EINVAL;
	value = strtod(text, &end); /* no process of ours sets a locale */
	return *end ? -EINVAL : amount_cpu_number(value, cpus);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and cpu as rows and messages have them (known-faults F23): the one
 * place where their text becomes a number, for create, update, claim, usage and
 * the driver.  NULL and "" mean "no limit" and count as 0.
 */
#pragma once
#include <stdint.h>

#define AMOUNT_MEMORY_MAX_MIB (INT64_MAX >> 20) /* so that the bytes fit, too */
#define AMOUNT_CPU_MAX	      1000000.0		/* more than any node; keeps sums exact enough */

/* Decimal digits, MiB.  0, -EINVAL for any other text, -ERANGE over the maximum; *mib is 0 then. */
int amount_memory(const char *text, int64_t *mib);
/* As amount_memory, in bytes. */
int amount_memory_bytes(const char *text, int64_t *bytes);
/* A decimal number, with fraction and exponent if need be.  0, -EINVAL (text, negative, not finite)
 * or -ERANGE; *cpus is 0 then. */
int amount_cpu(const char *text, double *cpus);
/* The same for a value that is a number already. */
int amount_cpu_number(double value, double *cpus);

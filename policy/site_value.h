/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of policy/: the values of the site policy file.  Each reader takes all of text, which is
 * printable ASCII, and fills its output only on success; 0 or -EINVAL. */
#pragma once
#include "policy/site.h"

int value_bytes(const char *text, uint64_t *bytes);           /* digits, then K, M or G */
int value_cpus(const char *text, uint32_t *shares);           /* up to 256, three decimals; 1024 a cpu */
int value_count(const char *text, uint64_t max, uint64_t *count);
int value_flag(const char *text, bool *flag);                 /* yes, no */
int value_path(const char *text, char *path, size_t size);    /* absolute, no "..", ".", "//", end "/" */
int value_list(const char *text, struct site_list *list);     /* items by commas or blanks, or "*" */
int value_account(const char *text, char name[33], uint32_t *id); /* a name, or a number for *id */

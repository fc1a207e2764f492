/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of keelson.  Each takes the words behind its name and returns the exit status:
 * 0 all is well, 1 a fault was found, 2 the words make no sense. */
#pragma once

#define EXIT_FAULT 1
#define EXIT_USAGE 2

int command_audit(int count, char **words);
int command_doctor(int count, char **words);

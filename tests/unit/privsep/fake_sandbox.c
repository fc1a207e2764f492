/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox without walls, for what is to be counted or to be made to fail.  Runs in tests only. */
#include "fake.h"
#include "policy/sandbox.h"

int fake_confine_result;

int sandbox_confine(enum sandbox_role role, const struct sandbox_confine *confine, struct zerr *err)
{
	(void)role;
	(void)confine;
	return fake_confine_result < 0 ? zerr_set(err, fake_confine_result, "no sandbox") : 0;
}

void sandbox_board_leave(struct sandbox_board *board, pid_t pid)
{
	for (size_t i = 0; i < SANDBOX_BOARD_SLOTS; i++)
		if (board->slots[i].pid == (uint32_t)pid)
			board->slots[i].pid = 0;
}

#ifdef KEELSON_COVERAGE
/* So that what ran in children that end by _exit is counted. */
void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
#endif

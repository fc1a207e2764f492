/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson doctor: what each running process may do, as it states it on its board
 * and as the kernel tells it; and what the host lacks.  Runs with the rights of
 * who calls it; for all of it these must be root's.  What a board says was
 * written by the process itself and is believed only where /proc agrees.
 */
#include "unpriv/cli/doctor.h"
#include "common/zfd.h"
#include "unpriv/cli/commands.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_POLICY "/etc/keelson/policy.conf"
#define DEFAULT_RUN    "/run/keelson"
#define BOARDS_MAX     32
#define MOMENT_NS      300000000

void doctor_fault(struct doctor *doctor, const char *format, ...)
{
	va_list arguments;

	doctor->faults++;
	(void)fputs("  ! ", stdout);
	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	(void)putchar('\n');
}

struct seen {
	pid_t pids[SANDBOX_BOARD_SLOTS * BOARDS_MAX];
	size_t count;
	pid_t launchers[BOARDS_MAX];
	size_t launcher_count;
};

static bool has_pid(const struct seen *seen, pid_t pid)
{
	for (size_t i = 0; i < seen->count; i++)
		if (seen->pids[i] == pid)
			return true;
	return false;
}

static int by_role(const void *a, const void *b)
{
	const struct sandbox_slot *left = a, *right = b;
	int order = strcmp(left->role, right->role);

	return order != 0 ? order : (left->pid > right->pid) - (left->pid < right->pid);
}

static bool read_board(struct doctor *doctor, int folder, const char *name,
		       struct sandbox_board *board)
{
	_cleanup_fd_ int fd = zfd_open_beneath(folder, name, O_RDONLY | O_NONBLOCK, 0);

	if (fd < 0)
		doctor_fault(doctor, "board %s: %s", name, strerror(-fd));
	else if (pread(fd, board, sizeof(*board), 0) != (ssize_t)sizeof(*board))
		doctor_fault(doctor, "board %s: is not one", name);
	else
		return true;
	return false;
}

static void show_board(struct doctor *doctor, int folder, const char *name, struct seen *seen)
{
	bool trusted = !strstr(name, ".broker.");
	struct sandbox_board board;

	if (!read_board(doctor, folder, name, &board))
		return;
	for (size_t i = 0; i < SANDBOX_BOARD_SLOTS; i++)
		board.slots[i].role[sizeof(board.slots[i].role) - 1] = '\0';
	qsort(board.slots, SANDBOX_BOARD_SLOTS, sizeof(board.slots[0]), by_role);
	for (size_t i = 0; i < SANDBOX_BOARD_SLOTS; i++) {
		const struct sandbox_slot *slot = &board.slots[i];

		if (slot->pid == 0)
			continue;
		if (has_pid(seen, (pid_t)slot->pid)) {
			doctor_fault(doctor, "process %u stands on the boards twice", slot->pid);
			continue;
		}
		seen->pids[seen->count++] = (pid_t)slot->pid;
		if (trusted && strcmp(slot->role, sandbox_profile(SANDBOX_LAUNCHER)->name) == 0 &&
		    seen->launcher_count < BOARDS_MAX)
			seen->launchers[seen->launcher_count++] = (pid_t)slot->pid;
		doctor_process(doctor, slot, trusted);
	}
}

static int is_board(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 6 && strcmp(entry->d_name + length - 6, ".board") == 0;
}

static bool board_names(int folder, const char *name, pid_t pid)
{
	_cleanup_fd_ int fd = zfd_open_beneath(folder, name, O_RDONLY | O_NONBLOCK, 0);
	struct sandbox_board board;

	if (fd < 0 || pread(fd, &board, sizeof(board), 0) != (ssize_t)sizeof(board))
		return false;
	for (size_t i = 0; i < SANDBOX_BOARD_SLOTS; i++)
		if ((pid_t)board.slots[i].pid == pid)
			return true;
	return false;
}

bool doctor_on_board_now(struct doctor *doctor, pid_t pid)
{
	const struct timespec moment = {.tv_nsec = MOMENT_NS};
	DIR *folder = opendir(doctor->run_directory);
	const struct dirent *entry;
	bool found = false;

	if (!doctor->looked_again)
		(void)nanosleep(&moment, NULL); /* a shorter one does no harm */
	doctor->looked_again = true;
	while (folder && !found && (entry = readdir(folder)))
		found = is_board(entry) && board_names(dirfd(folder), entry->d_name, pid);
	if (folder)
		(void)closedir(folder); /* was only read */
	return found;
}

/* A process's place below one of the launchers: by its chain of parents. */
static bool is_below(const struct seen *seen, const struct process *all, size_t count, pid_t pid)
{
	for (unsigned depth = 0; depth < 16; depth++) {
		size_t at = 0;

		for (size_t i = 0; i < seen->launcher_count; i++)
			if (seen->launchers[i] == pid)
				return true;
		while (at < count && all[at].pid != pid)
			at++;
		if (at == count)
			return false;
		pid = all[at].parent;
	}
	return false;
}

/* Who is on a board must be a launcher's, and who is a launcher's must be on a board. */
static void compare_tree(struct doctor *doctor, const struct seen *seen)
{
	size_t count;
	_cleanup_free_ struct process *all = process_list(&count);

	for (size_t i = 0; i < count; i++) {
		bool below = is_below(seen, all, count, all[i].pid);
		bool stated = has_pid(seen, all[i].pid);
		struct process now;

		if (below && !stated && !doctor_on_board_now(doctor, all[i].pid) &&
		    process_read(all[i].pid, &now) == 0)
			doctor_fault(doctor,
				     "process %d (%s) belongs to a service, but has not said that "
				     "it is confined",
				     (int)all[i].pid, all[i].name);
		if (!below && stated)
			doctor_fault(doctor,
				     "process %d (%s) stands on a board, but is not a service's",
				     (int)all[i].pid, all[i].name);
	}
}

/* The launcher's board first and the broker's last, service by service. */
static int by_trust(const struct dirent **a, const struct dirent **b)
{
	static const char *const order[] = {".launcher.", ".", ".broker."};
	const char *names[2] = {(*a)->d_name, (*b)->d_name};
	size_t service[2] = {strcspn(names[0], "."), strcspn(names[1], ".")}, rank[2] = {1, 1};

	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < 3; j += 2)
			if (strncmp(names[i] + service[i], order[j], strlen(order[j])) == 0)
				rank[i] = j;
	if (service[0] == service[1] && strncmp(names[0], names[1], service[0]) == 0 &&
	    rank[0] != rank[1])
		return rank[0] < rank[1] ? -1 : 1;
	return strcmp(names[0], names[1]);
}

void doctor_processes(struct doctor *doctor)
{
	_cleanup_fd_ int folder = open(doctor->run_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names = NULL;
	static struct seen seen; /* large */
	int count = folder < 0 ? -1 : scandirat(folder, ".", &names, is_board, by_trust);

	if (count < 0 && errno != ENOENT) {
		doctor_fault(doctor, "%s: %s", doctor->run_directory, strerror(errno));
		return;
	}
	if (count <= 0)
		(void)printf("No service runs: there is no board in %s\n", doctor->run_directory);
	else
		(void)printf("%-14s %7s %7s  %-13s %5s %6s  %s\n", "process", "pid", "uid",
			     "capabilities", "calls", "filter", "landlock");
	for (int i = 0; i < count; i++) {
		if (i < BOARDS_MAX)
			show_board(doctor, folder, names[i]->d_name, &seen);
		free(names[i]);
	}
	free(names);
	if (seen.count > 0)
		compare_tree(doctor, &seen);
}

static int take_options(struct doctor *doctor, int count, char **words)
{
	for (int i = 0; i < count; i += 2) {
		bool more = i + 1 < count;

		if (more && strcmp(words[i], "--run-directory") == 0)
			doctor->run_directory = words[i + 1];
		else if (more && strcmp(words[i], "--policy") == 0)
			doctor->policy_path = words[i + 1];
		else
			return -EINVAL;
	}
	return 0;
}

int command_doctor(int count, char **words)
{
	static struct doctor doctor; /* large */
	struct zerr err = {0};

	doctor.policy_path = DEFAULT_POLICY;
	if (take_options(&doctor, count, words) < 0)
		return EXIT_USAGE;
	doctor.policy_known = site_policy_load(doctor.policy_path, &doctor.policy, &err) == 0;
	(void)snprintf(doctor.policy_error, sizeof(doctor.policy_error), "%s", err.msg);
	if (!doctor.run_directory)
		doctor.run_directory =
			doctor.policy_known ? doctor.policy.run_directory : DEFAULT_RUN;
	doctor_processes(&doctor);
	(void)putchar('\n');
	doctor_host(&doctor);
	if (doctor.faults > 0)
		(void)printf("\nfaults, marked with !: %u\n", doctor.faults);
	return doctor.faults > 0 ? EXIT_FAULT : EXIT_SUCCESS;
}

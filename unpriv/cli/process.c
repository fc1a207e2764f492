/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/status.  Runs with the rights of who calls keelson. */
#include "unpriv/cli/process.h"
#include "common/jsonw.h"
#include "common/zfd.h"
#include <dirent.h>
#include <sys/stat.h>

/* The number after text, which is blanks and then digits of the base; 0 if there is none. */
static uint64_t number(const char *text, int base)
{
	return strtoull(text, NULL, base);
}

static void four(const char *text, uint32_t out[4])
{
	char *end;

	for (size_t i = 0; i < 4; i++, text = end)
		out[i] = (uint32_t)strtoul(text, &end, 10);
}

static void take_name(const char *text, char out[PROCESS_NAME_MAX])
{
	struct zstr name = zstr_from(text + strspn(text, " \t"));
	size_t used = 0;

	if (name.length > 0 && name.data[name.length - 1] == '\n')
		name.length--;
	(void)jsonw_escape(name, out, PROCESS_NAME_MAX - 1, &used); /* 15 bytes, cut if odd */
	out[used] = '\0';
}

static void take_line(const char *line, struct process *process)
{
	const struct {
		const char *key;
		uint64_t *wide;
		unsigned *narrow;
	} fields[] = {
		{"CapInh:", &process->inheritable, NULL},
		{"CapPrm:", &process->permitted, NULL},
		{"CapEff:", &process->effective, NULL},
		{"CapBnd:", &process->bounding, NULL},
		{"CapAmb:", &process->ambient, NULL},
		{"NoNewPrivs:", NULL, &process->no_new_privs},
		{"Seccomp:", NULL, &process->seccomp},
		{"Seccomp_filters:", NULL, &process->filters},
		{"Threads:", NULL, &process->threads},
	};
	const char *value = strchr(line, ':');

	if (!value)
		return;
	value++;
	if (strncmp(line, "Name:", 5) == 0)
		take_name(value, process->name);
	else if (strncmp(line, "PPid:", 5) == 0)
		process->parent = (pid_t)number(value, 10);
	else if (strncmp(line, "Uid:", 4) == 0)
		four(value, process->uid);
	else if (strncmp(line, "Gid:", 4) == 0)
		four(value, process->gid);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strncmp(line, fields[i].key, strlen(fields[i].key)) != 0)
			continue;
		if (fields[i].wide)
			*fields[i].wide = number(value, 16);
		else
			*fields[i].narrow = (unsigned)number(value, 10);
	}
}

int process_read(pid_t pid, struct process *process)
{
	char path[64], line[1024];
	_cleanup_file_ FILE *file = NULL;
	struct stat status;

	*process = (struct process){.pid = pid};
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		take_line(line, process);
	if (ferror(file))
		return -ESRCH;
	/* The kernel gives a process that is not dumpable to root. */
	if (fstat(fileno(file), &status) < 0)
		return -errno;
	process->dumpable = status.st_uid != 0;
	return 0;
}

struct process *process_list(size_t *count)
{
	DIR *folder = opendir("/proc");
	struct process *list = NULL;
	const struct dirent *entry;
	size_t room = 0;

	*count = 0;
	while (folder && (entry = readdir(folder))) {
		uint64_t pid;

		if (zfd_parse_u64(entry->d_name, INT32_MAX, &pid) < 0)
			continue;
		if (*count == room) {
			struct process *larger =
				reallocarray(list, room ? 2 * room : 256, sizeof(*list));

			if (!larger)
				break;
			list = larger;
			room = room ? 2 * room : 256;
		}
		if (process_read((pid_t)pid, &list[*count]) == 0)
			(*count)++;
	}
	if (folder)
		(void)closedir(folder); /* was only read */
	return list;
}

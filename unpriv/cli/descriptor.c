/* SPDX-License-Identifier: Apache-2.0 */
/* Says what each open descriptor of a process is, from /proc/PID/fd and /proc/PID/net. */
#include "common/jsonw.h"
#include "common/zfd.h"
#include "unpriv/cli/process.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies text, escaped, as much of it as fits. */
static void escape(struct zstr text, char *out, size_t size)
{
	size_t used = 0;

	(void)jsonw_escape(text, out, size - 1, &used); /* cut is good enough to read */
	out[used] = '\0';
}

/* Field index (from 0) of a line of blank-separated fields; empty if there are fewer. */
static struct zstr field(const char *line, unsigned index)
{
	struct zstr found = {line, 0};

	for (unsigned i = 0; i <= index; i++) {
		found.data += found.length;
		found.data += strspn(found.data, " \t");
		found.length = strcspn(found.data, " \t\n");
	}
	return found;
}

/* 0100007F:1538, or 32 digits for IPv6; the address is in host order, word by word. */
static void format_address(struct zstr hex, char *out, size_t size)
{
	uint32_t words[4] = {0};
	char text[INET6_ADDRSTRLEN] = "?", digits[9] = {0};
	size_t colon = 0;

	while (colon < hex.length && hex.data[colon] != ':')
		colon++;
	for (size_t i = 0; i < 4 && 8 * (i + 1) <= colon; i++) {
		memcpy(digits, hex.data + 8 * i, 8);
		words[i] = (uint32_t)strtoul(digits, NULL, 16);
	}
	(void)inet_ntop(colon > 8 ? AF_INET6 : AF_INET, words, text, sizeof(text)); /* else "?" */
	(void)snprintf(out, size, colon > 8 ? "[%s]:%lu" : "%s:%lu", text,
		       strtoul(hex.data + colon + (colon < hex.length), NULL, 16));
}

struct table {
	const char *file, *kind;
	unsigned inode, local, peer, path, type; /* fields; 0 = none */
};

static const struct table tables[] = {
	{"unix", "unix", 6, 0, 0, 7, 4},       {"tcp", "tcp", 9, 1, 2, 0, 0},
	{"tcp6", "tcp", 9, 1, 2, 0, 0},	       {"udp", "udp", 9, 1, 2, 0, 0},
	{"udp6", "udp", 9, 1, 2, 0, 0},	       {"raw", "raw", 9, 1, 2, 0, 0},
	{"netlink", "netlink", 9, 0, 0, 0, 0}, {"packet", "packet", 8, 0, 0, 0, 0},
};

static void describe_socket(const struct table *table, const char *line, struct descriptor *out)
{
	char local[64] = "", peer[64] = "";
	const char *type = "";

	if (table->type) {
		struct zstr hex = field(line, table->type);

		type = zstr_equal(hex, "0001")	 ? " stream"
		       : zstr_equal(hex, "0002") ? " datagram"
						 : " seqpacket";
	}
	(void)snprintf(out->kind, sizeof(out->kind), "%s%s", table->kind, type);
	if (table->path)
		escape(field(line, table->path), out->text, sizeof(out->text));
	if (table->local) {
		format_address(field(line, table->local), local, sizeof(local));
		format_address(field(line, table->peer), peer, sizeof(peer));
		(void)snprintf(out->text, sizeof(out->text), "%s - %s", local, peer);
	}
}

/* Looks the inode up in the tables of the network namespace that the process lives in. */
static bool find_socket(pid_t process, struct zstr inode, struct descriptor *out)
{
	for (size_t i = 0; process > 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		char path[64], line[1024];
		_cleanup_file_ FILE *file = NULL;

		(void)snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)process, tables[i].file);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			struct zstr found = field(line, tables[i].inode);

			if (found.length != inode.length ||
			    memcmp(found.data, inode.data, inode.length) != 0)
				continue;
			describe_socket(&tables[i], line, out);
			return true;
		}
	}
	return false;
}

static bool has_prefix(const char *text, const char *prefix, const char **rest)
{
	size_t length = strlen(prefix);

	*rest = text + length;
	return strncmp(text, prefix, length) == 0;
}

/* What a link of /proc/PID/fd points to. */
static void describe(const pid_t namespaces[3], const char *target, struct descriptor *out)
{
	const char *rest;
	bool found = false;

	if (has_prefix(target, "socket:[", &rest)) {
		struct zstr inode = {rest, strcspn(rest, "]")};

		/* An inet socket that is not connected stands in no table. */
		(void)snprintf(out->kind, sizeof(out->kind), "socket");
		for (size_t i = 0; i < 3 && !found; i++)
			found = find_socket(namespaces[i], inode, out);
	} else if (has_prefix(target, "anon_inode:", &rest)) {
		size_t length = strcspn(rest + (*rest == '['), "]");

		escape((struct zstr){rest + (*rest == '['), length}, out->kind, sizeof(out->kind));
	} else if (has_prefix(target, "pipe:", &rest)) {
		(void)snprintf(out->kind, sizeof(out->kind), "pipe");
	} else if (has_prefix(target, "/memfd:", &rest)) {
		(void)snprintf(out->kind, sizeof(out->kind), "memory");
		escape(zstr_from(rest), out->text, sizeof(out->text));
	} else {
		(void)snprintf(out->kind, sizeof(out->kind), "file");
		escape(zstr_from(target), out->text, sizeof(out->text));
	}
}

int process_descriptors(pid_t pid, pid_t maker,
			void (*each)(void *context, const struct descriptor *descriptor),
			void *context)
{
	const pid_t namespaces[3] = {pid, getpid(), maker};
	char path[64], target[4096];
	const struct dirent *entry;
	DIR *folder;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		struct descriptor found = {0};
		uint64_t number;
		ssize_t length;

		if (zfd_parse_u64(entry->d_name, INT32_MAX, &number) < 0)
			continue;
		length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		if (length <= 0)
			continue; /* closed meanwhile */
		target[length] = '\0';
		found.number = (int)number;
		describe(namespaces, target, &found);
		each(context, &found);
	}
	(void)closedir(folder); /* was only read */
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox of every process (SECURITY-BAR 1 and 2), in two steps:
 * sandbox_drop, taken by a child of the launcher while it is root (descriptors,
 * namespaces, uid, capabilities), and sandbox_confine, taken by the process
 * itself before its first byte of input (rlimits, dumpable, no_new_privs,
 * Landlock, seccomp).  Both verify what they did; a process that cannot prove its
 * sandbox does not run.
 *
 * Filters add up over fork: a server, worker or publisher confines itself below
 * the filter of the process that forked it, so each role's list is a part of its
 * parent's, and what the second step needs stands in the parent's list.
 */
#pragma once
#include "common/zerr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sandbox_role {
	SANDBOX_LAUNCHER,
	SANDBOX_DOCKER, /* the docker domain's first process: forks servers */
	SANDBOX_DOCKER_SERVER,
	SANDBOX_DISPATCHER,
	SANDBOX_PUBLISHER,
	SANDBOX_WORKER,
	SANDBOX_ROLE_COUNT
};

struct sandbox_syscall {
	int number;
	const char *name;
	const char *reason;
	uint8_t roles;  /* bit n: allowed to enum sandbox_role n */
	uint8_t filter; /* enum sandbox_filter (policy/profile.h): the rule for its arguments */
};

struct sandbox_profile {
	enum sandbox_role role;
	const char *name;                       /* "dispatcher" */
	const struct sandbox_syscall *syscalls; /* the table of the role's family */
	size_t syscall_rows;
	size_t syscall_max; /* SECURITY-BAR 1; checked at start */
	uint64_t nofile, nproc, address_space, file_size; /* rlimits; UINT64_MAX = leave */
	uint64_t capabilities;   /* what it may have */
	bool stacked;            /* forked by a confined process */
	bool landlock_inherited; /* the parent's Landlock rules are all there is */
	bool landlock_unscoped;  /* signals and abstract sockets outside are needed */
};

const struct sandbox_profile *sandbox_profile(enum sandbox_role role);
/* How many system calls the role may make (those answered with an error are not counted). */
size_t sandbox_syscall_count(const struct sandbox_profile *profile);

struct sandbox_path {
	const char *path;
	bool writable; /* files below may be made, written, renamed, removed; else read only */
};

/*
 * What resolving names and checking certificates has to read, for struct
 * sandbox_confine; the folders in /run are those that /etc/resolv.conf may be a
 * link into.  A rule holds for the file that was there at start: one that is
 * replaced later cannot be read any more.
 */
#define SANDBOX_RESOLVER_PATHS                                                                     \
	{"/etc/hosts", false}, {"/etc/resolv.conf", false}, {"/etc/host.conf", false},             \
		{"/etc/nsswitch.conf", false}, {"/etc/gai.conf", false},                           \
		{"/run/systemd/resolve", false}, {"/run/resolvconf", false},                       \
		{"/run/NetworkManager", false}
#define SANDBOX_CA_PATHS                                                                           \
	{"/etc/ssl", false}, {"/usr/lib/ssl", false}, {"/usr/share/ca-certificates", false},       \
		{"/usr/local/share/ca-certificates", false}

struct sandbox_drop {
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* the exact supplementary list */
	size_t group_count;
	uint64_t capabilities; /* bounding = permitted = effective; 0 for most */
	const int *keep;       /* descriptors beyond 0..2 that stay open, sorted */
	size_t keep_count;
	bool private_network; /* unshare the network namespace */
	/* If not NULL: new mount namespace whose root is an empty read-only tmpfs, with this one
	 * folder of the host bound (read-only, nosuid, nodev, noexec) at engine_mount. */
	const char *only_directory;
	const char *engine_mount; /* "/engine" */
	/* Else, if set: new mount namespace, private propagation, read-only but for these. */
	bool read_only_view;
	const char *const *writable; /* folders, NULL-terminated; or NULL */
};

/* Call as root in a fresh child.  0 or a negative errno with *err: then the process must end. */
int sandbox_drop(const struct sandbox_drop *drop, struct zerr *err);

struct sandbox_confine {
	/* What Landlock lets through, ended by path == NULL; NULL = nothing.  Paths that are not
	 * there are passed over. */
	const struct sandbox_path *paths;
	const uint16_t *connect_ports; /* TCP (ABI >= 4), 0-terminated; NULL = none */
	unsigned landlock_min_abi;     /* 0 = best effort */
	uint64_t file_size_max;        /* RLIMIT_FSIZE; 0 = the profile's */
	struct sandbox_board *board;   /* where to report, or NULL */
};

/* 0 or a negative errno with *err naming the step: then the process must end. */
int sandbox_confine(enum sandbox_role role, const struct sandbox_confine *confine,
		    struct zerr *err);

/*
 * The board: a mapped file in the run folder in which each process states what
 * it has; `keelson doctor` compares it with /proc.  One board for each trust level.
 */
#define SANDBOX_BOARD_SLOTS 64
struct sandbox_slot {
	uint32_t pid; /* 0 = free */
	uint32_t uid;
	uint64_t capabilities;
	uint32_t syscalls, instructions; /* names allowed, BPF instructions loaded */
	int32_t landlock_abi;            /* 0 = none in force, -1 = those of its parent */
	char role[20];
};
struct sandbox_board {
	struct sandbox_slot slots[SANDBOX_BOARD_SLOTS];
};
/* Maps the board in fd (made by the launcher, of at least its size), or a negative errno. */
int sandbox_board_map(int fd, struct sandbox_board **board);
/* Frees the slot of a process that has ended. */
void sandbox_board_leave(struct sandbox_board *board, pid_t pid);

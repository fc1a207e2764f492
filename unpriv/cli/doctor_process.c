/* SPDX-License-Identifier: Apache-2.0 */
/* keelson doctor, one process: what it states, what the kernel says, and what it should be. */
#include "common/jsonw.h"
#include "common/zfd.h"
#include "unpriv/cli/doctor.h"
#include <cap-ng.h>
#include <errno.h>

#define CAPABILITIES 64

static const struct sandbox_profile *profile_of(const char *role)
{
	for (int i = 0; i < SANDBOX_ROLE_COUNT; i++)
		if (strcmp(sandbox_profile((enum sandbox_role)i)->name, role) == 0)
			return sandbox_profile((enum sandbox_role)i);
	return NULL;
}

static bool is_broker(const struct sandbox_profile *profile)
{
	return profile->role == SANDBOX_DISPATCHER || profile->role == SANDBOX_PUBLISHER ||
	       profile->role == SANDBOX_WORKER;
}

static void name_capabilities(uint64_t set, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < CAPABILITIES && used + 1 < size; i++) {
		const char *name = set >> i & 1 ? capng_capability_to_name(i) : NULL;
		int added = 0;

		if (name)
			added = snprintf(out + used, size - used, "%s%s", used ? "," : "", name);
		else if (set >> i & 1)
			added = snprintf(out + used, size - used, "%s%u", used ? "," : "", i);
		used += added > 0 ? (size_t)added : 0;
	}
	if (set == 0)
		(void)snprintf(out, size, "none");
}

static void print_row(const struct sandbox_slot *stated, const char *role,
		      const struct process *real)
{
	char names[160], landlock[24];

	name_capabilities(real->permitted | real->effective | real->inheritable, names,
			  sizeof(names));
	if (stated->landlock_abi < 0)
		(void)snprintf(landlock, sizeof(landlock), "its parent's");
	else if (stated->landlock_abi == 0)
		(void)snprintf(landlock, sizeof(landlock), "none");
	else
		(void)snprintf(landlock, sizeof(landlock), "ABI %d", stated->landlock_abi);
	(void)printf("%-14s %7u %7u  %-13s %5u %6u  %s\n", role, stated->pid, real->uid[1], names,
		     stated->syscalls, stated->instructions, landlock);
}

static void check_user(struct doctor *doctor, const struct sandbox_slot *stated,
		       const struct sandbox_profile *profile, const struct process *real)
{
	bool broker = is_broker(profile);
	uid_t expected;

	for (size_t i = 0; i < 4; i++)
		if (real->uid[i] != stated->uid) {
			doctor_fault(doctor, "it states uid %u, and has uids %u %u %u %u",
				     stated->uid, real->uid[0], real->uid[1], real->uid[2],
				     real->uid[3]);
			break;
		}
	if (profile->role == SANDBOX_LAUNCHER || !doctor->policy_known)
		return;
	expected = broker ? doctor->policy.broker_uid : doctor->policy.docker_uid;
	if (real->uid[0] != expected)
		doctor_fault(doctor, "the policy says uid %u", expected);
}

static void check_capabilities(struct doctor *doctor, const struct sandbox_slot *stated,
			       const struct sandbox_profile *profile, const struct process *real)
{
	const struct {
		const char *name;
		uint64_t set;
	} sets[] = {{"inheritable", real->inheritable},
		    {"permitted", real->permitted},
		    {"effective", real->effective},
		    {"bounding", real->bounding},
		    {"ambient", real->ambient}};
	char names[160];

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (!(sets[i].set & ~profile->capabilities))
			continue;
		name_capabilities(sets[i].set & ~profile->capabilities, names, sizeof(names));
		doctor_fault(doctor, "%s capabilities it must not have: %s", sets[i].name, names);
	}
	if ((real->inheritable | real->permitted | real->effective) != stated->capabilities)
		doctor_fault(doctor, "it states capabilities %llx",
			     (unsigned long long)stated->capabilities);
}

static void check_sandbox(struct doctor *doctor, const struct sandbox_slot *stated,
			  const struct sandbox_profile *profile, const struct process *real)
{
	unsigned filters = profile->stacked ? 2 : 1;
	unsigned least = doctor->policy_known ? doctor->policy.landlock_min_abi : 0;

	if (real->no_new_privs != 1)
		doctor_fault(doctor, "no_new_privs is off");
	if (real->seccomp != 2 || real->filters < filters)
		doctor_fault(doctor, "%u system call filters in force (mode %u), %u expected",
			     real->filters, real->seccomp, filters);
	if (stated->syscalls != sandbox_syscall_count(profile))
		doctor_fault(doctor, "it may make %u system calls, this build's list has %zu",
			     stated->syscalls, sandbox_syscall_count(profile));
	if (stated->instructions <= stated->syscalls)
		doctor_fault(doctor, "it states a filter of %u instructions", stated->instructions);
	if (stated->landlock_abi >= 0 && (unsigned)stated->landlock_abi < least)
		doctor_fault(doctor, "Landlock ABI %d, the policy asks for %u",
			     stated->landlock_abi, least);
	if (real->dumpable)
		doctor_fault(doctor, "it is dumpable: others of its user may read its memory");
	if (real->threads != 1)
		doctor_fault(doctor, "%u threads", real->threads);
}

struct listing {
	struct doctor *doctor;
	const struct sandbox_profile *profile;
	size_t column, count;
};

static bool is_kind(const struct descriptor *descriptor, const char *const *kinds)
{
	while (*kinds && strcmp(descriptor->kind, *kinds) != 0)
		kinds++;
	return *kinds != NULL;
}

/* What none of our processes, or none but the broker's, may hold; or NULL. */
static const char *forbidden(const struct listing *listing, const struct descriptor *descriptor)
{
	static const char *const never[] = {"netlink", "packet", "raw", NULL};
	static const char *const internet[] = {"tcp", "udp", NULL};
	const struct doctor *doctor = listing->doctor;
	bool broker = is_broker(listing->profile);

	if (is_kind(descriptor, never))
		return "a socket of a family that no list has";
	if (!broker && is_kind(descriptor, internet))
		return "an internet socket outside of the broker";
	if (broker && doctor->policy_known &&
	    strcmp(descriptor->text, doctor->policy.docker_socket) == 0)
		return "the engine's socket";
	return NULL;
}

static void list_descriptor(void *context, const struct descriptor *descriptor)
{
	struct listing *listing = context;
	const char *fault = forbidden(listing, descriptor);
	char text[sizeof(descriptor->kind) + sizeof(descriptor->text) + 16];
	int length = snprintf(text, sizeof(text), "%d %s%s%s", descriptor->number, descriptor->kind,
			      descriptor->text[0] ? " " : "", descriptor->text);

	if (listing->column + (size_t)length > 96) {
		(void)fputs(listing->count ? "\n     " : "     ", stdout);
		listing->column = 5;
	}
	(void)printf("%s%s", listing->column > 5 ? ", " : " ", text);
	listing->column += (size_t)length + 2;
	listing->count++;
	if (fault) {
		(void)putchar('\n');
		doctor_fault(listing->doctor, "descriptor %d: %s", descriptor->number, fault);
		listing->column = SIZE_MAX / 2; /* the next one begins a line */
	}
}

void doctor_process(struct doctor *doctor, const struct sandbox_slot *stated, bool trusted_board)
{
	const struct sandbox_profile *profile = profile_of(stated->role);
	struct listing listing = {.doctor = doctor, .profile = profile, .column = SIZE_MAX / 2};
	struct process real;
	char role[128];
	size_t used = 0;
	int result = process_read((pid_t)stated->pid, &real);

	(void)jsonw_escape(zstr_from(stated->role), role, sizeof(role) - 1, &used); /* fits */
	role[used] = '\0';
	if (result < 0) {
		if (!doctor_on_board_now(doctor, (pid_t)stated->pid))
			return;
		doctor_fault(doctor, "%s %u: %s", role, stated->pid,
			     result == -ENOENT || result == -ESRCH
				     ? "has ended and is still on its board"
				     : strerror(-result));
		return;
	}
	print_row(stated, role, &real);
	if (!profile || is_broker(profile) == trusted_board) {
		doctor_fault(doctor, "no such role on this board");
		return;
	}
	check_user(doctor, stated, profile, &real);
	check_capabilities(doctor, stated, profile, &real);
	check_sandbox(doctor, stated, profile, &real);
	if (profile->role == SANDBOX_DOCKER)
		doctor->domain = real.pid;
	result = process_descriptors(real.pid, doctor->domain, list_descriptor, &listing);
	if (listing.count > 0)
		(void)putchar('\n');
	if (result < 0)
		doctor_fault(doctor, "its descriptors: %s", strerror(-result));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log's writer.  Runs in the helpers, which append under a lock to a
 * descriptor that the launcher opened, and in the launcher, which opens, recovers
 * and syncs.  A record goes out in one write; until the page has been brought up
 * to date it says "unfinished", so that whoever comes after a killed writer or a
 * full disk looks at the file before it chains on.
 */
#include "privsep/audit_line.h"

#include "common/zfd.h"
#include "common/zlog.h"
#include <assert.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Refusals that get a record of their own: so many at once, then one each interval. */
#define REFUSAL_BURST	    UINT64_C(200)
#define REFUSAL_INTERVAL_MS UINT64_C(50)

static_assert(sizeof(struct audit_state) <= 4096, "the state is one page");

/* Publishes a new end. */
static void commit(struct audit_state *state, const struct audit_mark *end)
{
	uint32_t other = state->current ^ 1U;
	state->ends[other & 1U] = *end;
	atomic_signal_fence(memory_order_seq_cst); /* a kill may come between any two of these */
	state->current = other & 1U;
	atomic_signal_fence(memory_order_seq_cst);
}

static const struct audit_mark *end_of(const struct audit_state *state)
{
	return &state->ends[state->current & 1U];
}

/* Writes the record of entry; fragment bytes stand before it beyond the page's end.  The caller has
 * the lock. */
static int append(struct audit *audit, const struct audit_entry *entry, uint64_t fragment)
{
	struct audit_state *state = audit->state;
	struct audit_mark end = *end_of(state);
	uint32_t before = state->unfinished;
	struct audit_line line;
	audit_line_make(&line, audit, &end, entry);
	if (line.failed)
		return -EMSGSIZE;
	state->unfinished = 1;
	ssize_t written = ZFD_RETRY(write(audit->fd, line.data, line.used));
	if (written < 0) {
		state->unfinished = before;
		return -errno;
	}
	if ((size_t)written < line.used)
		return -ENOSPC; /* a torn line: it stays unfinished */
	end.length += fragment;
	audit_mark_advance(&end, line.data, line.used);
	commit(state, &end);
	state->unfinished = 0;
	return 0;
}

/* Ends a fragment of so many bytes, and says what was found; the caller has the lock. */
static int record_recovery(struct audit *audit, uint64_t bytes, uint64_t taken, uint64_t lost)
{
	struct audit_entry entry = {.operation = "audit.recovered",
				    .object_type = "",
				    .decision = "error",
				    .rule = "unfinished"};
	const size_t mark = strlen(AUDIT_FRAGMENT_END);
	char hex[2 * SHA256_SIZE + 1];
	int r = audit_hash_range(audit->fd, end_of(audit->state)->length, bytes, hex);
	if (r == 0 && bytes > 0) {
		ssize_t written = ZFD_RETRY(write(audit->fd, AUDIT_FRAGMENT_END, mark));
		r = written < 0 ? -errno : (size_t)written < mark ? -ENOSPC : 0;
	}
	if (r < 0)
		return r;
	(void)snprintf(entry.args, sizeof(entry.args),
		       "{\"bytes\":%llu,\"sha256\":\"%s\",\"taken\":%llu,\"lost\":%llu}",
		       (unsigned long long)bytes, hex, (unsigned long long)taken,
		       (unsigned long long)lost);
	return append(audit, &entry, bytes > 0 ? bytes + mark : 0);
}

/* Takes over the whole lines beyond the page's end; known is the last sequence number ever
 * promised. */
static int recover(struct audit *audit, uint64_t known)
{
	struct audit_mark end = *end_of(audit->state);
	uint64_t first = end.sequence;
	struct audit_line line;
	struct stat status;
	if (fstat(audit->fd, &status) < 0)
		return -errno;
	uint64_t size = (uint64_t)status.st_size;
	audit->state->unfinished = 1;
	while (audit_line_read(audit->fd, end.length, size, &line) > 0 &&
	       audit_line_follow(&line, &end))
		commit(audit->state, &end);
	uint64_t lost = known > end.sequence ? known - end.sequence : 0;
	if (end.sequence > first || lost > 0 || size > end.length)
		return record_recovery(audit, size - end.length, end.sequence - first, lost);
	audit->state->unfinished = 0;
	return 0;
}

/* One process at a time; the lock goes with its holder. */
static int lock(struct audit *audit, short type)
{
	struct flock range = {.l_type = type, .l_whence = SEEK_SET};
	return ZFD_RETRY(fcntl(audit->fd, F_SETLKW, &range)) < 0 ? -errno : 0;
}

static int lock_whole(struct audit *audit)
{
	int r = lock(audit, F_WRLCK);
	if (r == 0 && audit->state->unfinished != 0)
		r = recover(audit, end_of(audit->state)->sequence);
	return r;
}

/* Whether one more refusal may have a record now. */
static bool take_refusal(struct audit_state *state)
{
	uint64_t now = zfd_now_ms();
	if (state->refusals_due_ms < now)
		state->refusals_due_ms = now;
	if (state->refusals_due_ms - now > REFUSAL_BURST * REFUSAL_INTERVAL_MS)
		return false;
	state->refusals_due_ms += REFUSAL_INTERVAL_MS;
	return true;
}

/* Records the counted refusals, if there are any. */
static int record_suppressed(struct audit *audit)
{
	struct audit_entry entry = {.operation = "audit.denials",
				    .object_type = "",
				    .decision = "deny",
				    .rule = "rate"};
	if (audit->state->suppressed == 0 || !take_refusal(audit->state))
		return 0;
	(void)snprintf(entry.args, sizeof(entry.args), "{\"suppressed\":%llu}",
		       (unsigned long long)audit->state->suppressed);
	int r = append(audit, &entry, 0);
	if (r == 0)
		audit->state->suppressed = 0;
	return r;
}

static int write_locked(struct audit *audit, const struct audit_entry *entry)
{
	int r = record_suppressed(audit);
	if (r < 0)
		return r;
	if (strcmp(entry->decision, "deny") == 0 && !take_refusal(audit->state)) {
		audit->state->suppressed++;
		return 0;
	}
	return append(audit, entry, 0);
}

int audit_write(struct audit *audit, const struct audit_entry *entry)
{
	int r = lock_whole(audit);
	if (r == 0)
		r = write_locked(audit, entry);
	(void)lock(audit, F_UNLCK); /* cannot fail for a lock that is held */
	if (r == 0 && audit->sync_always && fdatasync(audit->fd) < 0)
		return -errno;
	return r;
}

int audit_sync(struct audit *audit)
{
	struct audit_state *state = audit->state;
	int r = lock_whole(audit);
	if (r == 0)
		r = record_suppressed(audit);
	struct audit_mark end = *end_of(state);
	(void)lock(audit, F_UNLCK);
	if (r < 0 || end.sequence == state->synced.sequence)
		return r;
	if (fdatasync(audit->fd) < 0)
		return -errno;
	state->synced = end; /* only the launcher syncs */
	return 0;
}

static bool mark_holds(const struct audit *audit, const struct audit_mark *mark, uint64_t size)
{
	char line[AUDIT_LINE_MAX];
	uint8_t hash[SHA256_SIZE];
	if (mark->length > size || mark->last_length > mark->length ||
	    mark->last_length > sizeof(line))
		return false;
	ssize_t got = ZFD_RETRY(pread(audit->fd, line, mark->last_length,
				      (off_t)(mark->length - mark->last_length)));
	if (got < 0 || (size_t)got != mark->last_length)
		return false;
	sha256(line, (size_t)got, hash);
	return mark->sequence == 0 || memcmp(hash, mark->hash, sizeof(hash)) == 0;
}

/* Brings log and page together; the caller has the lock. */
static int settle(struct audit *audit, struct zerr *err)
{
	struct audit_state *state = audit->state;
	uint64_t known = end_of(state)->sequence;
	bool rebooted = strcmp(state->boot_id, audit->boot_id) != 0;
	struct stat status;
	if (state->magic == 0)
		state->magic = AUDIT_STATE_MAGIC;
	if (state->magic != AUDIT_STATE_MAGIC || fstat(audit->fd, &status) < 0)
		return zerr_set(err, -EBADMSG, "audit log %s: its state file is not one",
				audit->process);
	uint64_t size = (uint64_t)status.st_size;
	if (!mark_holds(audit, end_of(state), size)) {
		/* A machine that stopped may have lost what was never synced, and nothing else. */
		if (!rebooted || !mark_holds(audit, &state->synced, size))
			return zerr_set(err, -EBADMSG,
					"audit log %s: cut or altered: line %llu is gone",
					audit->process, (unsigned long long)known);
		commit(state, &state->synced);
	}
	memcpy(state->boot_id, audit->boot_id, sizeof(state->boot_id));
	state->refusals_due_ms = 0;
	int r = recover(audit, known);
	return r < 0 ? zerr_errno(err, r, "audit log %s: not recovered", audit->process) : 0;
}

static int map_state(struct audit *audit, int directory, const char *file)
{
	_cleanup_fd_ int fd = zfd_open_beneath(directory, file, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return fd;
	if (ftruncate(fd, sizeof(struct audit_state)) < 0)
		return -errno;
	void *page =
		mmap(NULL, sizeof(struct audit_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	audit->state = page;
	return 0;
}

static int read_boot_id(char out[AUDIT_BOOT_ID_SIZE])
{
	_cleanup_fd_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : ZFD_RETRY(read(fd, out, AUDIT_BOOT_ID_SIZE - 1));
	out[AUDIT_BOOT_ID_SIZE - 1] = '\0';
	return got == AUDIT_BOOT_ID_SIZE - 1 ? 0 : -EIO;
}

int audit_open(struct audit *audit, int directory, const char *name, bool sync_always,
	       struct zerr *err)
{
	char file[64];
	*audit = (struct audit){
		.fd = -1, .process = name, .sync_always = sync_always, .date_second = -1};
	int r = read_boot_id(audit->boot_id);
	(void)snprintf(file, sizeof(file), "%s.state", name);
	if (r == 0)
		r = map_state(audit, directory, file);
	(void)snprintf(file, sizeof(file), "%s.log", name);
	if (r == 0)
		r = zfd_open_beneath(directory, file, O_RDWR | O_APPEND | O_CREAT, 0600);
	if (r >= 0) {
		audit->fd = r;
		r = lock(audit, F_WRLCK);
	}
	if (r < 0) {
		audit_close(audit);
		return zerr_errno(err, r, "audit log %s", name);
	}
	r = settle(audit, err);
	(void)lock(audit, F_UNLCK);
	if (r < 0)
		audit_close(audit);
	return r;
}

void audit_close(struct audit *audit)
{
	if (audit->state != NULL)
		(void)munmap(audit->state, sizeof(*audit->state)); /* a whole mapping of ours */
	audit->state = NULL;
	zfd_closep(&audit->fd);
}

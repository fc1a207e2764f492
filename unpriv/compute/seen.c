/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembered message ids: a ring in order of arrival, a hash table over it, an
 * append-only file behind it.  Dispatcher, no privilege.  Nothing is synced on
 * the way: after a power cut the intents say what was accepted and not done,
 * and what was done had been acknowledged long before.
 */
#include "unpriv/base/replace.h"
#include "unpriv/compute/seen.h"
#include "common/sha256.h"
#include "common/zbuf.h"
#include "common/zfd.h"
#include <fcntl.h>
#include <unistd.h>

#define RECORD_SIZE ((size_t)32)
#define ID_SIZE	    16U
#define CHECK_SIZE  4U
#define FILE_NAME   "seen"
#define FILE_NEW    "seen.new"
/* The file is written anew while running when it is twice as long as what is remembered. */
#define RECORDS_MAX ((size_t)2 * SEEN_MAX)
#define RING_FIRST  1024U
#define BUCKETS	    16384U
#define NONE	    UINT32_MAX

struct entry {
	uint8_t id[ID_SIZE];
	uint64_t order;
	uint32_t time;
	uint32_t next; /* in its bucket: place in the ring */
};

struct seen {
	int directory;	/* owned */
	int file;	/* owned; -1 when it could not be written */
	size_t records; /* in the file */
	struct entry *ring;
	size_t size, first, count; /* size is a power of two */
	uint32_t buckets[BUCKETS];
};

static void hash_id(const char *id, uint8_t out[ID_SIZE])
{
	uint8_t digest[SHA256_SIZE];

	sha256(id, strlen(id), digest);
	memcpy(out, digest, ID_SIZE);
}

static uint32_t *bucket_of(struct seen *seen, const uint8_t id[ID_SIZE])
{
	return &seen->buckets[(size_t)(id[0] << 8 | id[1]) % BUCKETS];
}

static struct entry *find(struct seen *seen, const uint8_t id[ID_SIZE])
{
	uint32_t at = *bucket_of(seen, id);

	while (at != NONE) {
		struct entry *entry = &seen->ring[at];

		if (memcmp(entry->id, id, ID_SIZE) == 0)
			return entry;
		at = entry->next;
	}
	return NULL;
}

/* Takes the oldest entry out of table and ring. */
static void forget_first(struct seen *seen)
{
	uint32_t place = (uint32_t)seen->first;
	uint32_t *link = bucket_of(seen, seen->ring[place].id);

	while (*link != place)
		link = &seen->ring[*link].next;
	*link = seen->ring[place].next;
	seen->first = (seen->first + 1) & (seen->size - 1);
	seen->count--;
}

static void forget_old(struct seen *seen, uint64_t now_s)
{
	while (seen->count > 0 && now_s > (uint64_t)seen->ring[seen->first].time + SEEN_AGE_S)
		forget_first(seen);
}

static void link_entry(struct seen *seen, uint32_t place)
{
	uint32_t *bucket = bucket_of(seen, seen->ring[place].id);

	seen->ring[place].next = *bucket;
	*bucket = place;
}

/* Doubles the ring; every entry gets a new place. */
static int grow(struct seen *seen)
{
	size_t size = seen->size ? seen->size * 2 : RING_FIRST;
	struct entry *ring = calloc(size, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (size_t i = 0; i < seen->count; i++)
		ring[i] = seen->ring[(seen->first + i) & (seen->size - 1)];
	free(seen->ring);
	seen->ring = ring;
	seen->size = size;
	seen->first = 0;
	memset(seen->buckets, 0xff, sizeof(seen->buckets));
	for (size_t i = 0; i < seen->count; i++)
		link_entry(seen, (uint32_t)i);
	return 0;
}

static int remember(struct seen *seen, const struct entry *entry)
{
	uint32_t place;
	int result = seen->count == seen->size ? grow(seen) : 0;

	if (result < 0)
		return result;
	place = (uint32_t)((seen->first + seen->count) & (seen->size - 1));
	seen->ring[place] = *entry;
	seen->count++;
	link_entry(seen, place);
	return 0;
}

static void check_of(const uint8_t record[RECORD_SIZE], uint8_t out[CHECK_SIZE])
{
	uint8_t digest[SHA256_SIZE];

	sha256(record, RECORD_SIZE - CHECK_SIZE, digest);
	memcpy(out, digest, CHECK_SIZE);
}

static void encode(const struct entry *entry, uint8_t record[RECORD_SIZE])
{
	struct zwriter writer;

	zwriter_init(&writer, record, RECORD_SIZE);
	zput_bytes(&writer, entry->id, ID_SIZE);
	zput_u64(&writer, entry->order);
	zput_u32(&writer, entry->time);
	check_of(record, record + RECORD_SIZE - CHECK_SIZE);
}

static bool decode(const uint8_t record[RECORD_SIZE], struct entry *entry)
{
	uint8_t check[CHECK_SIZE];
	struct zreader reader;

	check_of(record, check);
	if (memcmp(check, record + RECORD_SIZE - CHECK_SIZE, CHECK_SIZE) != 0)
		return false;
	zreader_init(&reader, record, RECORD_SIZE);
	zget_bytes(&reader, entry->id, ID_SIZE);
	entry->order = zget_u64(&reader);
	entry->time = zget_u32(&reader);
	return entry->order != 0;
}

/* One block of the file; length need not be whole records. */
static void load_block(struct seen *seen, const uint8_t *data, size_t length, uint64_t now_s)
{
	for (; length >= RECORD_SIZE; length -= RECORD_SIZE, data += RECORD_SIZE) {
		struct entry entry;

		/* A time from the future would be remembered for ever: the clock was wrong then. */
		if (!decode(data, &entry) || entry.time > now_s + SEEN_AGE_S ||
		    now_s > (uint64_t)entry.time + SEEN_AGE_S || find(seen, entry.id))
			continue;
		if (seen->count == SEEN_MAX)
			forget_first(seen);
		if (remember(seen, &entry) < 0)
			return;
	}
}

static int load(struct seen *seen, uint64_t now_s)
{
	_cleanup_fd_ int fd =
		zfd_open_beneath(seen->directory, FILE_NAME, O_RDONLY | O_NOFOLLOW, 0);
	uint8_t block[RECORD_SIZE * 512];
	size_t used = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	for (;;) {
		ssize_t got = ZFD_RETRY(read(fd, block + used, sizeof(block) - used));

		if (got < 0)
			return -errno;
		used += (size_t)got;
		if (got > 0 && used < sizeof(block))
			continue;
		load_block(seen, block, used, now_s);
		if (got == 0)
			return 0;
		used = 0;
	}
}

static int write_all(struct seen *seen, int fd)
{
	uint8_t block[RECORD_SIZE * 256];
	size_t used = 0;

	for (size_t i = 0; i < seen->count; i++) {
		encode(&seen->ring[(seen->first + i) & (seen->size - 1)], block + used);
		used += RECORD_SIZE;
		if (used == sizeof(block) || i + 1 == seen->count) {
			int result = zfd_write_all(fd, block, used);

			if (result < 0)
				return result;
			used = 0;
		}
	}
	return fdatasync(fd) < 0 ? -errno : 0;
}

/* Writes what is remembered to a new file, which takes the old one's place. */
static int compact(struct seen *seen)
{
	_cleanup_fd_ int fd =
		zfd_open_beneath(seen->directory, FILE_NEW,
				 O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW, 0600);
	int result;

	if (fd < 0)
		return fd;
	result = write_all(seen, fd);
	if (result < 0)
		return result;
	if (file_replace(seen->directory, FILE_NEW, FILE_NAME) < 0)
		return -errno;
	zfd_closep(&seen->file);
	seen->file = TAKE_FD(fd);
	seen->records = seen->count;
	return 0;
}

struct seen *seen_open(int directory, uint64_t now_s, struct zerr *err)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	int result;

	if (!seen) {
		zerr_errno(err, -ENOMEM, "remembered message ids");
		return NULL;
	}
	seen->file = -1;
	memset(seen->buckets, 0xff, sizeof(seen->buckets));
	seen->directory = fcntl(directory, F_DUPFD_CLOEXEC, 3);
	result = seen->directory < 0 ? -errno : grow(seen);
	if (result == 0)
		result = load(seen, now_s);
	if (result == 0)
		result = compact(seen);
	if (result < 0) {
		zerr_errno(err, result, "remembered message ids (" FILE_NAME ")");
		seen_close(seen);
		return NULL;
	}
	return seen;
}

uint64_t seen_find(struct seen *seen, const char *id, uint64_t now_s)
{
	uint8_t hash[ID_SIZE];
	const struct entry *entry;

	forget_old(seen, now_s);
	hash_id(id, hash);
	entry = find(seen, hash);
	return entry ? entry->order : 0;
}

int seen_add(struct seen *seen, const char *id, uint64_t order, uint64_t now_s)
{
	struct entry entry = {.order = order, .time = (uint32_t)now_s};
	uint8_t record[RECORD_SIZE];
	int result;

	hash_id(id, entry.id);
	if (find(seen, entry.id))
		return 0;
	if (seen->count == SEEN_MAX)
		forget_first(seen);
	result = remember(seen, &entry);
	if (result < 0)
		return result;
	if (seen->records >= RECORDS_MAX)
		return compact(seen);
	encode(&entry, record);
	result = zfd_write_all(seen->file, record, sizeof(record));
	/* Half a record would spoil all that follow: the next one makes the file anew. */
	seen->records = result == 0 ? seen->records + 1 : RECORDS_MAX;
	return result;
}

size_t seen_count(const struct seen *seen)
{
	return seen->count;
}

void seen_close(struct seen *seen)
{
	if (!seen)
		return;
	if (seen->file >= 0)
		(void)fdatasync(seen->file); /* the best that can be done at the end */
	zfd_closep(&seen->file);
	zfd_closep(&seen->directory);
	free(seen->ring);
	free(seen);
}

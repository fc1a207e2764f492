/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that end processes: the folder of bodies, and the file <state>/suspects
 * with a mark for each redelivered message that was not understood yet.
 * Dispatcher, no privilege.
 *
 * suspects: records of 32 bytes: 16 bytes of a hash of the body, a count, 11
 * bytes of zero, 4 bytes that check the 28 before.
 */
#include "unpriv/base/replace.h"
#include "unpriv/compute/poison.h"
#include "common/sha256.h"
#include "common/zfd.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER	     "poison"
#define SUSPECTS     "suspects"
#define SUSPECTS_NEW "suspects.new"
#define RECORD_SIZE  32U
#define MARK_SIZE    16U
#define CHECK_AT     28U
#define SUSPECTS_MAX 64U
/* Enough of a body to tell it from others; the whole of it would hold up the loop. */
#define HASHED_MAX 65536U
/* Present at two ends of the service: the third life refuses it. */
#define LIVES	  3U
#define COPY_SIZE 65536U

struct suspect {
	uint8_t mark[MARK_SIZE];
	uint8_t count;
	bool counted; /* in this life */
};

struct poison {
	int directory, folder; /* owned */
	struct suspect suspects[SUSPECTS_MAX];
	size_t count;
};

static void check_of(const uint8_t *record, uint8_t out[4])
{
	uint8_t digest[SHA256_SIZE];

	sha256(record, CHECK_AT, digest);
	memcpy(out, digest, 4);
}

static int load(struct poison *poison)
{
	_cleanup_fd_ int fd = zfd_open_beneath(poison->directory, SUSPECTS, O_RDONLY, 0);
	uint8_t data[SUSPECTS_MAX * RECORD_SIZE], check[4];
	ssize_t length;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	length = zfd_read_all(fd, data, sizeof(data));
	if (length < 0)
		return length == -EFBIG ? 0 : (int)length; /* not ours: begin anew */
	for (size_t at = 0; at + RECORD_SIZE <= (size_t)length; at += RECORD_SIZE) {
		struct suspect *suspect = &poison->suspects[poison->count];

		check_of(data + at, check);
		if (memcmp(check, data + at + CHECK_AT, 4) != 0)
			continue;
		memcpy(suspect->mark, data + at, MARK_SIZE);
		suspect->count = data[at + MARK_SIZE];
		poison->count++;
	}
	return 0;
}

/* A failure only means that a crash is not counted. */
static void store(struct poison *poison)
{
	_cleanup_fd_ int fd = zfd_open_beneath(poison->directory, SUSPECTS_NEW,
					       O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint8_t data[SUSPECTS_MAX * RECORD_SIZE] = {0};

	for (size_t i = 0; i < poison->count; i++) {
		uint8_t *record = data + i * RECORD_SIZE;

		memcpy(record, poison->suspects[i].mark, MARK_SIZE);
		record[MARK_SIZE] = poison->suspects[i].count;
		check_of(record, record + CHECK_AT);
	}
	if (fd >= 0 && zfd_write_all(fd, data, poison->count * RECORD_SIZE) == 0)
		(void)file_replace(poison->directory, SUSPECTS_NEW, SUSPECTS);
}

struct poison *poison_open(int directory, struct zerr *err)
{
	struct poison *poison = calloc(1, sizeof(*poison));
	int result = 0;

	if (!poison) {
		zerr_errno(err, -ENOMEM, FOLDER);
		return NULL;
	}
	poison->folder = -1;
	poison->directory = fcntl(directory, F_DUPFD_CLOEXEC, 3);
	if (poison->directory < 0 ||
	    (mkdirat(poison->directory, FOLDER, 0700) < 0 && errno != EEXIST))
		result = -errno;
	if (result == 0)
		poison->folder =
			zfd_open_beneath(poison->directory, FOLDER, O_RDONLY | O_DIRECTORY, 0);
	if (result == 0 && poison->folder < 0)
		result = poison->folder;
	if (result == 0)
		result = load(poison);
	if (result < 0) {
		zerr_errno(err, result, FOLDER);
		poison_close(poison, false);
		return NULL;
	}
	return poison;
}

static size_t count_files(const struct poison *poison)
{
	size_t count = 0;
	int fd = zfd_open_beneath(poison->folder, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (!folder) {
		zfd_closep(&fd);
		return SIZE_MAX;
	}
	for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
		count += entry->d_name[0] != '.';
	(void)closedir(folder);
	return count;
}

static int new_file(struct poison *poison, uint64_t order)
{
	char name[20];

	if (count_files(poison) >= POISON_FILES_MAX)
		return -EDQUOT;
	(void)snprintf(name, sizeof(name), "%016llx", (unsigned long long)order);
	return zfd_open_beneath(poison->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
				0600);
}

bool poison_save(struct poison *poison, uint64_t order, int body)
{
	_cleanup_fd_ int fd = new_file(poison, order);
	uint8_t data[COPY_SIZE / 4];
	off_t at = 0;

	if (fd < 0)
		return false;
	for (;;) {
		ssize_t got = ZFD_RETRY(pread(body, data, sizeof(data), at));

		if (got <= 0)
			return got == 0;
		if (zfd_write_all(fd, data, (size_t)got) < 0)
			return false;
		at += got;
	}
}

bool poison_save_text(struct poison *poison, uint64_t order, const char *text, size_t length)
{
	_cleanup_fd_ int fd = new_file(poison, order);

	return fd >= 0 && zfd_write_all(fd, text, length) == 0;
}

static bool mark_of(int body, uint64_t size, uint8_t mark[MARK_SIZE])
{
	_cleanup_free_ uint8_t *data = malloc(HASHED_MAX);
	uint8_t digest[SHA256_SIZE];
	struct sha256 hash;
	ssize_t got;

	if (!data)
		return false;
	got = ZFD_RETRY(pread(body, data, HASHED_MAX, 0));
	if (got < 0)
		return false;
	sha256_init(&hash);
	sha256_update(&hash, &size, sizeof(size));
	sha256_update(&hash, data, (size_t)got);
	sha256_final(&hash, digest);
	memcpy(mark, digest, MARK_SIZE);
	return true;
}

static struct suspect *find(struct poison *poison, const uint8_t mark[MARK_SIZE])
{
	for (size_t i = 0; i < poison->count; i++)
		if (memcmp(poison->suspects[i].mark, mark, MARK_SIZE) == 0)
			return &poison->suspects[i];
	return NULL;
}

static void drop(struct poison *poison, struct suspect *suspect)
{
	*suspect = poison->suspects[--poison->count];
	store(poison);
}

bool poison_suspect(struct poison *poison, int body, uint64_t size)
{
	uint8_t mark[MARK_SIZE];
	struct suspect *suspect;

	if (!mark_of(body, size, mark))
		return false;
	suspect = find(poison, mark);
	if (suspect && suspect->counted)
		return false;
	if (suspect && suspect->count + 1U >= LIVES) {
		drop(poison, suspect);
		return true;
	}
	if (!suspect) {
		if (poison->count == SUSPECTS_MAX)
			return false;
		suspect = &poison->suspects[poison->count++];
		*suspect = (struct suspect){0};
		memcpy(suspect->mark, mark, MARK_SIZE);
	}
	suspect->count++;
	suspect->counted = true;
	store(poison);
	return false;
}

void poison_clear(struct poison *poison, int body, uint64_t size)
{
	uint8_t mark[MARK_SIZE];
	struct suspect *suspect;

	if (poison->count == 0 || !mark_of(body, size, mark))
		return;
	suspect = find(poison, mark);
	if (suspect)
		drop(poison, suspect);
}

void poison_close(struct poison *poison, bool orderly)
{
	if (!poison)
		return;
	if (orderly && poison->count > 0) {
		poison->count = 0;
		store(poison);
	}
	zfd_closep(&poison->directory);
	zfd_closep(&poison->folder);
	free(poison);
}

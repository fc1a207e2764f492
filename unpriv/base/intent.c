/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The intent log: what a process that dies leaves behind for its successor.
 * Runs in workers and the dispatcher, which may write in their state folder and
 * nowhere else.  Every name is checked before it is opened below the folder.
 */
#include "unpriv/base/intent.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/jsonw.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"

#define FOLDER	     "intents"
#define TEMPORARY    ".tmp-"
#define ORDER_LENGTH 16
#define ID_MAX	     32
/* An effect line: its texts may grow sixfold by escapes. */
#define EFFECT_LINE_MAX (6 * (INTENT_EFFECT_MAX + INTENT_DETAIL_MAX) + 64)
#define EFFECTS_MAX	((size_t)1 << 20) /* of one file, all together */

static bool lower_hex(const char *text, size_t least, size_t most)
{
	size_t length = strspn(text, "0123456789abcdef");

	return text[length] == '\0' && length >= least && length <= most;
}

bool intent_name_valid(const char *name)
{
	return strspn(name, "0123456789abcdef") == ORDER_LENGTH && name[ORDER_LENGTH] == '-' &&
	       lower_hex(name + ORDER_LENGTH + 1, 1, ID_MAX);
}

int intent_name(const char *order, const char *unique_id, char name[INTENT_NAME_SIZE])
{
	if (!lower_hex(order, ORDER_LENGTH, ORDER_LENGTH))
		return -EINVAL;
	if (!lower_hex(unique_id, 1, ID_MAX))
		unique_id = "0";
	(void)snprintf(name, INTENT_NAME_SIZE, "%s-%s", order, unique_id); /* 16 + 1 + 32 fit */
	return 0;
}

int intent_log_open(struct intent_log *log, const char *state_directory, struct zerr *err)
{
	_cleanup_fd_ int state = open(state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int folder;

	log->directory = -1;
	if (state < 0)
		return zerr_errno(err, -errno, "%s", state_directory);
	folder = zfd_open_beneath(state, FOLDER, O_RDONLY | O_DIRECTORY, 0);
	if (folder ==
	    -ENOENT) { /* made by the first process, before its sandbox: a worker may not */
		if (mkdirat(state, FOLDER, 0700) < 0 && errno != EEXIST)
			return zerr_errno(err, -errno, "%s/" FOLDER, state_directory);
		folder = zfd_open_beneath(state, FOLDER, O_RDONLY | O_DIRECTORY, 0);
	}
	if (folder < 0)
		return zerr_errno(err, folder, "%s/" FOLDER, state_directory);
	log->directory = folder;
	return 0;
}

void intent_log_close(struct intent_log *log)
{
	zfd_closep(&log->directory);
	log->directory = -1;
}

/* Opens an intent: an owned descriptor or a negative errno. */
static int open_intent(const struct intent_log *log, const char *name, int flags)
{
	if (!intent_name_valid(name))
		return -EINVAL;
	return zfd_open_beneath(log->directory, name, flags, 0);
}

static int write_temporary(const struct intent_log *log, const char *name, const char *line,
			   size_t length)
{
	_cleanup_fd_ int file = -1;
	int result;

	if (unlinkat(log->directory, name, 0) < 0 && errno != ENOENT)
		return -errno;
	file = zfd_open_beneath(log->directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (file < 0)
		return file;
	result = zfd_write_all(file, line, length);
	if (result == 0)
		result = zfd_write_all(file, "\n", 1);
	if (result == 0 && fdatasync(file) < 0)
		result = -errno;
	if (close(TAKE_FD(file)) < 0 && result == 0)
		result = -errno;
	return result;
}

int intent_create(struct intent_log *log, const char *name, const char *line, size_t length)
{
	char temporary[sizeof(TEMPORARY) + INTENT_NAME_SIZE];
	int result;

	if (!intent_name_valid(name) || length == 0 || length > INTENT_LINE_MAX ||
	    memchr(line, '\n', length))
		return -EINVAL;
	(void)snprintf(temporary, sizeof(temporary), TEMPORARY "%s", name); /* fits: valid name */
	result = write_temporary(log, temporary, line, length);
	if (result == 0 &&
	    renameat2(log->directory, temporary, log->directory, name, RENAME_NOREPLACE) < 0)
		result = -errno;
	if (result < 0) {
		(void)unlinkat(log->directory, temporary, 0); /* else the next start removes it */
		return result;
	}
	return fsync(log->directory) < 0 ? -errno : 0;
}

/* The end of the last whole line; what is behind it was torn by a crash.  0 or a negative errno. */
static int whole_length(int file, off_t *length)
{
	char tail[EFFECT_LINE_MAX];
	struct stat status;
	off_t from;
	ssize_t count;

	if (fstat(file, &status) < 0)
		return -errno;
	from = status.st_size > (off_t)sizeof(tail) ? status.st_size - (off_t)sizeof(tail) : 0;
	count = ZFD_RETRY(pread(file, tail, sizeof(tail), from));
	if (count < 0)
		return -errno;
	while (count > 0 && tail[count - 1] != '\n')
		count--;
	if (count == 0)
		return -EBADMSG; /* not even the message is whole: not made by intent_create */
	*length = from + count;
	return 0;
}

static int append(int file, const char *line, size_t length)
{
	off_t end = 0;
	int result = whole_length(file, &end);

	if (result < 0)
		return result;
	if (end > (off_t)(INTENT_LINE_MAX + EFFECTS_MAX))
		return -EFBIG;
	if (ftruncate(file, end) < 0 || lseek(file, end, SEEK_SET) < 0)
		return -errno;
	result = zfd_write_all(file, line, length);
	if (result == 0 && fdatasync(file) < 0)
		result = -errno;
	return result;
}

static bool effect_valid(const char *effect)
{
	size_t length = strspn(effect, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return length >= 1 && length <= INTENT_EFFECT_MAX && effect[length] == '\0';
}

int intent_effect(struct intent_log *log, const char *name, const char *effect, const char *detail)
{
	_cleanup_fd_ int file = -1;
	char line[EFFECT_LINE_MAX];
	struct jsonw json;

	if (!effect_valid(effect) || (detail && strlen(detail) > INTENT_DETAIL_MAX))
		return -EINVAL;
	jsonw_init(&json, line, sizeof(line) - 1);
	jsonw_object(&json);
	jsonw_key(&json, "effect");
	jsonw_cstr(&json, effect);
	jsonw_key(&json, "detail");
	jsonw_cstr(&json, detail);
	jsonw_end_object(&json);
	if (!jsonw_done(&json))
		return -EINVAL;
	line[json.used] = '\n';
	file = open_intent(log, name, O_RDWR);
	if (file < 0)
		return file;
	return append(file, line, json.used + 1);
}

/* The whole file, owned and NUL-terminated. */
static int load(const struct intent_log *log, const char *name, char **text, size_t *length)
{
	_cleanup_fd_ int file = open_intent(log, name, O_RDONLY);
	_cleanup_free_ char *data = NULL;
	struct stat status;
	ssize_t count;

	if (file < 0)
		return file;
	if (fstat(file, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > (off_t)(INTENT_LINE_MAX + EFFECTS_MAX))
		return -EBADMSG;
	data = malloc((size_t)status.st_size + 1);
	if (!data)
		return -ENOMEM;
	count = zfd_read_all(file, data, (size_t)status.st_size);
	if (count < 0)
		return (int)count;
	data[count] = '\0';
	*text = TAKE_PTR(data);
	*length = (size_t)count;
	return 0;
}

/* Looks at one line behind the message; copies its detail when it is the effect. */
static bool line_is(const char *line, size_t length, const char *effect, char *detail, size_t size)
{
	_cleanup_(json_putp) struct json_object *object =
		json_parse(line, length, EFFECT_LINE_MAX, NULL);
	const char *found = NULL, *text = NULL;

	if (json_get_string(object, "effect", &found, NULL) < 0 || !found ||
	    strcmp(found, effect) != 0)
		return false;
	if (detail && size > 0 && json_get_string(object, "detail", &text, NULL) == 0)
		(void)snprintf(detail, size, "%s", text ? text : "");
	return true;
}

bool intent_has(struct intent_log *log, const char *name, const char *effect, char *detail,
		size_t size)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	bool found = false;
	char *line, *end;

	if (load(log, name, &text, &length) < 0 || !text)
		return false;
	line = memchr(text, '\n', length); /* the message is passed over */
	while (line) {
		line++;
		end = memchr(line, '\n', length - (size_t)(line - text));
		if (end && line_is(line, (size_t)(end - line), effect, detail, size))
			found = true;
		line = end;
	}
	return found;
}

int intent_read(struct intent_log *log, const char *name, char **line, size_t *length)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	char *end;
	int result = load(log, name, &text, &size);

	if (result < 0)
		return result;
	end = text ? memchr(text, '\n', size) : NULL;
	if (!end)
		return -EBADMSG;
	*end = '\0';
	*length = (size_t)(end - text);
	*line = TAKE_PTR(text);
	return 0;
}

int intent_remove(struct intent_log *log, const char *name)
{
	if (!intent_name_valid(name))
		return -EINVAL;
	if (unlinkat(log->directory, name, 0) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

struct names {
	char (*list)[INTENT_NAME_SIZE];
	size_t count, size;
};

static void names_free(struct names *names)
{
	free(names->list);
}

static int add_name(struct names *names, const char *name)
{
	if (names->count == names->size) {
		size_t size = names->size == 0 ? 64 : names->size * 2;
		void *list = reallocarray(names->list, size, INTENT_NAME_SIZE);

		if (!list)
			return -ENOMEM;
		names->list = list;
		names->size = size;
	}
	/* A valid name fits. */
	(void)zstr_copy(zstr_from(name), names->list[names->count++], INTENT_NAME_SIZE);
	return 0;
}

static void closedirp(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder); /* was only read */
}

static int read_names(const struct intent_log *log, struct names *names)
{
	_cleanup_fd_ int copy = zfd_open_beneath(log->directory, ".", O_RDONLY | O_DIRECTORY, 0);
	_cleanup_(closedirp) DIR *folder = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int result = 0;

	if (copy < 0)
		return copy;
	if (!folder)
		return -errno;
	(void)TAKE_FD(copy); /* the stream's now */
	while (result == 0 && (entry = readdir(folder))) {
		if (intent_name_valid(entry->d_name))
			result = add_name(names, entry->d_name);
		else if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) == 0 &&
			 unlinkat(log->directory, entry->d_name, 0) < 0)
			result = -errno;
	}
	return result;
}

int intent_each(struct intent_log *log, int (*each)(void *context, const char *name), void *context)
{
	_cleanup_(names_free) struct names names = {0};
	int result = read_names(log, &names);

	if (result < 0)
		return result;
	if (names.count > 0)
		qsort(names.list, names.count, INTENT_NAME_SIZE, compare_names);
	for (size_t i = 0; i < names.count && result >= 0; i++)
		result = each(context, names.list[i]);
	return result < 0 ? result : 0;
}

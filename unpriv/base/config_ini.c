/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line reader.  Its rules are those of oslo.config's own parser (config.md
 * §1): what zun-compute reads from a file, this reads from it too, and what
 * stops zun-compute stops this, with file and line.  Runs before the sandbox of
 * the process that reads its configuration; the files are the operator's.
 */
#include "unpriv/base/config_ini.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/text.h"
#include "common/zfd.h"

struct reader {
	struct ini *ini;
	const char *name, *group;
	unsigned source, line;
	struct zstr key; /* of the assignment that is still open; borrows from the text */
	unsigned key_line;
	char *value; /* scratch as long as the text */
	size_t value_length;
	struct zerr *err;
};

void ini_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

static int fail(const struct reader *reader, unsigned line, const char *what)
{
	return zerr_set(reader->err, -EINVAL, "%s:%u: %s", reader->name, line, what);
}

static int no_memory(struct zerr *err)
{
	return zerr_set(err, -ENOMEM, "no memory for the configuration");
}

/* What Python's str.strip() takes off, as far as it is ASCII. */
static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1f);
}

static struct zstr strip_left(struct zstr text)
{
	while (text.length > 0 && is_blank(text.data[0])) {
		text.data++;
		text.length--;
	}
	return text;
}

static struct zstr strip_right(struct zstr text)
{
	while (text.length > 0 && is_blank(text.data[text.length - 1]))
		text.length--;
	return text;
}

/* Doubles an array when it is full. */
static bool grow(void **array, size_t count, size_t *size, size_t item)
{
	size_t wanted = *size == 0 ? 32 : *size * 2;
	void *grown;

	if (count < *size)
		return true;
	grown = reallocarray(*array, wanted, item);
	if (!grown)
		return false;
	*array = grown;
	*size = wanted;
	return true;
}

/* Each group's name once, normalised; borrowed by all its entries. */
static const char *keep_group(struct ini *ini, struct zstr name)
{
	char *copy = strndup(name.data, name.length);

	if (!copy)
		return NULL;
	if (strcmp(copy, "DEFAULT") != 0)
		for (char *at = copy; *at; at++)
			if (*at >= 'A' && *at <= 'Z')
				*at = (char)(*at - 'A' + 'a');
	for (size_t i = 0; i < ini->group_count; i++) {
		if (strcmp(ini->groups[i], copy) == 0) {
			free(copy);
			return ini->groups[i];
		}
	}
	if (!grow((void **)&ini->groups, ini->group_count, &ini->group_size, sizeof(char *))) {
		free(copy);
		return NULL;
	}
	return ini->groups[ini->group_count++] = copy;
}

/* Closes the assignment that is open, if one is. */
static int flush(struct reader *reader)
{
	struct ini *ini = reader->ini;
	struct ini_entry entry = {
		.group = reader->group, .source = reader->source, .line = reader->key_line};

	if (!reader->key.data)
		return 0;
	if (!reader->group)
		return fail(reader, reader->key_line, "an option before any [group]");
	entry.key = strndup(reader->key.data, reader->key.length);
	entry.value = strndup(reader->value, reader->value_length);
	reader->key.data = NULL;
	if (!entry.key || !entry.value ||
	    !grow((void **)&ini->entries, ini->count, &ini->size, sizeof(entry))) {
		free(entry.key);
		ini_wipe(entry.value);
		return no_memory(reader->err);
	}
	ini->entries[ini->count++] = entry;
	return 0;
}

static void add_value(struct reader *reader, struct zstr part, bool first)
{
	if (first)
		reader->value_length = 0;
	else
		reader->value[reader->value_length++] = '\n';
	if (part.length > 0)
		memcpy(reader->value + reader->value_length, part.data, part.length);
	reader->value_length += part.length;
}

static int begin_group(struct reader *reader, struct zstr line)
{
	if (line.data[line.length - 1] != ']')
		return fail(reader, reader->line, "a group ends with ']'");
	if (line.length <= 2)
		return fail(reader, reader->line, "a group without a name");
	reader->group = keep_group(reader->ini, (struct zstr){line.data + 1, line.length - 2});
	return reader->group ? 0 : no_memory(reader->err);
}

/* One pair of quotes around the whole is taken off; a lone quote too, as upstream does. */
static struct zstr unquote(struct zstr value)
{
	if (value.length > 0 && (value.data[0] == '"' || value.data[0] == '\'') &&
	    value.data[0] == value.data[value.length - 1]) {
		value.length = value.length >= 2 ? value.length - 2 : 0;
		value.data++;
	}
	return value;
}

static int begin_assignment(struct reader *reader, struct zstr line)
{
	size_t at = 0;
	struct zstr value;

	while (at < line.length && line.data[at] != '=' && line.data[at] != ':')
		at++;
	if (at == line.length)
		return fail(reader, reader->line, "neither '=' nor ':' in this line");
	reader->key = strip_right((struct zstr){line.data, at});
	reader->key_line = reader->line;
	value = strip_left((struct zstr){line.data + at + 1, line.length - at - 1});
	value = unquote(value);
	if (reader->key.length == 0)
		return fail(reader, reader->line, "a line without an option's name");
	add_value(reader, value, true);
	return 0;
}

static bool is_text(struct zstr line)
{
	return text_utf8_valid(line) && !(line.length > 0 && memchr(line.data, '\0', line.length));
}

static int take_line(struct reader *reader, struct zstr line)
{
	int result;

	if (!is_text(line))
		return fail(reader, reader->line, "not UTF-8 text");
	line = strip_right(line);
	if (line.length > 0 && (line.data[0] == ' ' || line.data[0] == '\t')) {
		if (!reader->key.data)
			return fail(reader, reader->line, "continues no option's value");
		add_value(reader, strip_left(line), false);
		return 0;
	}
	result = flush(reader);
	if (result < 0 || line.length == 0 || line.data[0] == '#' || line.data[0] == ';')
		return result;
	return line.data[0] == '[' ? begin_group(reader, line) : begin_assignment(reader, line);
}

/* Lines end with \n, \r\n or \r. */
static int take_lines(struct reader *reader, struct zstr text)
{
	size_t at = 0;
	int result = 0;

	while (result == 0 && at < text.length) {
		size_t start = at;

		while (at < text.length && text.data[at] != '\n' && text.data[at] != '\r')
			at++;
		reader->line++;
		result = take_line(reader, (struct zstr){text.data + start, at - start});
		if (at + 1 < text.length && text.data[at] == '\r' && text.data[at + 1] == '\n')
			at++;
		at++;
	}
	return result < 0 ? result : flush(reader);
}

static int add_source(struct ini *ini, const char *name, struct zerr *err)
{
	if (ini->source_count == INI_SOURCES_MAX)
		return zerr_set(err, -E2BIG, "%s: more than %d configuration files", name,
				INI_SOURCES_MAX);
	ini->sources[ini->source_count].name = strdup(name);
	if (!ini->sources[ini->source_count].name)
		return no_memory(err);
	ini->source_count++;
	return 0;
}

int ini_read(struct ini *ini, const char *name, const char *text, size_t length, struct zerr *err)
{
	struct reader reader = {.ini = ini, .name = name, .source = ini->source_count, .err = err};
	int result;

	if (length > INI_TEXT_MAX)
		return zerr_set(err, -EFBIG, "%s: longer than %zu bytes", name, INI_TEXT_MAX);
	result = add_source(ini, name, err);
	if (result < 0)
		return result;
	reader.value = malloc(length + 1);
	if (!reader.value)
		return no_memory(err);
	result = take_lines(&reader, (struct zstr){text, length});
	explicit_bzero(reader.value, length + 1);
	free(reader.value);
	return result;
}

int ini_read_file(struct ini *ini, const char *path, struct zerr *err)
{
	_cleanup_fd_ int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat status;
	char *text;
	ssize_t length;
	int result;

	if (file < 0)
		return zerr_errno(err, -errno, "%s", path);
	if (fstat(file, &status) < 0)
		return zerr_errno(err, -errno, "%s", path);
	if (S_ISDIR(status.st_mode))
		return zerr_errno(err, -EISDIR, "%s", path);
	text = malloc(INI_TEXT_MAX);
	if (!text)
		return no_memory(err);
	length = zfd_read_all(file, text, INI_TEXT_MAX);
	if (length < 0)
		result = zerr_errno(err, (int)length, "%s", path);
	else
		result = ini_read(ini, path, text, (size_t)length, err);
	if (result == 0)
		ini->sources[ini->source_count - 1].others_may_read = status.st_mode & S_IROTH;
	explicit_bzero(text, INI_TEXT_MAX);
	free(text);
	return result;
}

const struct ini_entry *ini_find(const struct ini *ini, const char *group, const char *key,
				 const char *alias)
{
	const struct ini_entry *by_alias = NULL;

	for (size_t i = ini->count; i-- > 0;) {
		const struct ini_entry *entry = &ini->entries[i];

		if (strcmp(entry->group, group) != 0)
			continue;
		if (strcmp(entry->key, key) == 0)
			return by_alias && by_alias->source > entry->source ? by_alias : entry;
		if (!by_alias && alias && strcmp(entry->key, alias) == 0)
			by_alias = entry;
	}
	return by_alias;
}

void ini_clear(struct ini *ini)
{
	for (size_t i = 0; i < ini->count; i++) {
		free(ini->entries[i].key);
		ini_wipe(ini->entries[i].value);
	}
	for (size_t i = 0; i < ini->group_count; i++)
		free(ini->groups[i]);
	for (unsigned i = 0; i < ini->source_count; i++)
		free(ini->sources[i].name);
	free(ini->entries);
	free(ini->groups);
	*ini = (struct ini){0};
}

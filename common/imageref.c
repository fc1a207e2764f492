/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image references.  Runs in processes with a privilege on names that a hostile
 * broker chose: one pass for each part, no recursion, no allocation, no locale.
 */
#include "common/imageref.h"
#include "common/text.h"
#include <errno.h>
#include <string.h>

#define REPOSITORY_MAX 255
#define TAG_MAX	       128

static struct zstr slice(struct zstr text, size_t from, size_t to)
{
	return (struct zstr){.data = text.data + from, .length = to - from};
}

/* Position of the first such byte, or text.length. */
static size_t find(struct zstr text, char byte)
{
	const char *found = memchr(text.data, byte, text.length);

	return found ? (size_t)(found - text.data) : text.length;
}

/* The length of "." "_" "__" or any number of "-" at this place, else 0. */
static size_t separator(struct zstr text, size_t at)
{
	size_t lines = text_span(text, at, "_");

	if (lines > 0)
		return lines <= 2 ? lines : 0;
	return text.data[at] == '.' ? 1 : text_span(text, at, "-");
}

/* One or more components [a-z0-9]+ (separator [a-z0-9]+)*, with a slash between them. */
static bool path_valid(struct zstr path)
{
	for (size_t at = 0;;) {
		size_t run = text_span(path, at, TEXT_DIGITS TEXT_LOWER);
		size_t gap;

		at += run;
		if (run == 0 || at == path.length)
			return run > 0;
		gap = path.data[at] == '/' ? 1 : separator(path, at);
		if (gap == 0)
			return false;
		at += gap;
	}
}

/* Labels of letters, digits and inner dashes, with dots between; then perhaps ":" and digits. */
static bool domain_valid(struct zstr domain)
{
	size_t end = find(domain, ':');

	for (size_t at = 0;; at++) {
		size_t label = text_span(domain, at, TEXT_ALNUM "-");

		if (label == 0 || domain.data[at] == '-' || domain.data[at + label - 1] == '-')
			return false;
		at += label;
		if (at == end)
			break;
		if (domain.data[at] != '.')
			return false;
	}
	return end == domain.length ||
	       (end + 1 < domain.length &&
		end + 1 + text_span(domain, end + 1, TEXT_DIGITS) == domain.length);
}

static bool tag_valid(struct zstr tag)
{
	return tag.length > 0 && tag.length <= TAG_MAX && tag.data[0] != '.' &&
	       tag.data[0] != '-' && text_span(tag, 0, TEXT_ALNUM "_.-") == tag.length;
}

/* The engine knows these three and refuses every other algorithm. */
static bool digest_valid(struct zstr digest)
{
	size_t colon = find(digest, ':');
	struct zstr algorithm = slice(digest, 0, colon);
	size_t size = 0;

	if (zstr_equal(algorithm, "sha256"))
		size = 64;
	else if (zstr_equal(algorithm, "sha384"))
		size = 96;
	else if (zstr_equal(algorithm, "sha512"))
		size = 128;
	return size > 0 && digest.length == colon + 1 + size &&
	       text_span(digest, colon + 1, TEXT_DIGITS "abcdef") == size;
}

/* "<64 hex>" and "sha256:<64 hex>" would name any image that the engine has, whatever its name. */
static bool is_image_id(struct zstr text)
{
	return digest_valid(text) ||
	       (text.length == 64 && text_span(text, 0, TEXT_DIGITS "abcdef") == 64);
}

/* Splits and checks [domain/]path. */
static bool repository_valid(struct zstr repository, struct zstr *domain)
{
	size_t slash = find(repository, '/');
	struct zstr first = slice(repository, 0, slash);

	*domain = zstr_from("docker.io");
	if (repository.length > REPOSITORY_MAX)
		return false;
	if (slash < repository.length && (find(first, '.') < slash || find(first, ':') < slash ||
					  zstr_equal(first, "localhost"))) {
		if (!domain_valid(first))
			return false;
		if (!zstr_equal(first, "index.docker.io")) /* the engine's old name for the same */
			*domain = first;
		repository = slice(repository, slash + 1, repository.length);
	}
	return path_valid(repository);
}

/* Cuts text off at a position and fills rest with what follows that byte; false at the end of text.
 */
static bool cut(struct zstr *text, size_t position, struct zstr *rest)
{
	if (position == text->length)
		return false;
	*rest = slice(*text, position + 1, text->length);
	text->length = position;
	return true;
}

int imageref_parse(struct zstr text, struct imageref *out)
{
	struct imageref image = {.tag = zstr_from(""), .digest = zstr_from("")};
	const char *last;
	size_t slash;

	if (text.length == 0 || text.length > IMAGEREF_MAX || is_image_id(text))
		return -EINVAL;
	if (cut(&text, find(text, '@'), &image.digest) && !digest_valid(image.digest))
		return -EINVAL;
	last = memrchr(text.data, '/', text.length);
	slash = last ? (size_t)(last - text.data) : 0;
	/* A colon before the last slash belongs to the domain. */
	if (cut(&text, slash + find(slice(text, slash, text.length), ':'), &image.tag) &&
	    !tag_valid(image.tag))
		return -EINVAL;
	image.repository = text;
	if (!repository_valid(text, &image.domain))
		return -EINVAL;
	*out = image;
	return 0;
}

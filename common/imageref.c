/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image references.  Runs in processes with a privilege on names that a hostile
 * broker chose: one pass for each part, no recursion, no allocation, no locale.
 */
#include "common/imageref.h"
#include <errno.h>
#include <string.h>

#define REPOSITORY_MAX 255
#define TAG_MAX	       128
#define DIGEST_HEX_MIN 32

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_lower(char byte)
{
	return byte >= 'a' && byte <= 'z';
}

static bool is_alpha(char byte)
{
	return is_lower(byte) || (byte >= 'A' && byte <= 'Z');
}

static bool is_hex(char byte)
{
	return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static struct zstr before(struct zstr text, size_t end)
{
	return (struct zstr){.data = text.data, .length = end};
}

static struct zstr after(struct zstr text, size_t position)
{
	return (struct zstr){.data = text.data + position + 1,
			     .length = text.length - position - 1};
}

/* Position of the first such byte, or text.length. */
static size_t find(struct zstr text, char byte)
{
	const char *found = text.length > 0 ? memchr(text.data, byte, text.length) : NULL;

	return found ? (size_t)(found - text.data) : text.length;
}

/* "." "_" "__" or any number of "-". */
static bool separator_valid(const char *text, size_t length)
{
	for (size_t i = 1; i < length; i++)
		if (text[i] != text[0])
			return false;
	return text[0] == '-' || (length == 1 && text[0] == '.') || (length <= 2 && text[0] == '_');
}

/* [a-z0-9]+ (separator [a-z0-9]+)* */
static bool component_valid(struct zstr text)
{
	size_t run =
		1; /* non-alphanumeric bytes since the last one; none may stand at the beginning */

	if (text.length == 0)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		if (!is_lower(text.data[i]) && !is_digit(text.data[i])) {
			if (i == 0)
				return false;
			run++;
			continue;
		}
		if (i > 0 && run > 0 && !separator_valid(text.data + i - run, run))
			return false;
		run = 0;
	}
	return run == 0;
}

static bool path_valid(struct zstr path)
{
	for (;;) {
		size_t slash = find(path, '/');

		if (!component_valid(before(path, slash)))
			return false;
		if (slash == path.length)
			return true;
		path = after(path, slash);
	}
}

/* Labels of letters, digits and inner dashes, separated by single dots; then ":" and digits. */
static bool domain_valid(struct zstr domain)
{
	size_t colon = find(domain, ':');
	char last = '.';

	if (colon + 1 == domain.length)
		return false;
	for (size_t i = colon + 1; i < domain.length; i++)
		if (!is_digit(domain.data[i]))
			return false;
	for (size_t i = 0; i < colon; i++) {
		char byte = domain.data[i];
		bool inner = byte == '.' || byte == '-';

		if (!inner && !is_alpha(byte) && !is_digit(byte))
			return false;
		if ((byte == '.' && last == '-') || (inner && last == '.'))
			return false;
		last = byte;
	}
	return last != '.' && last != '-';
}

/* [A-Za-z0-9_][A-Za-z0-9_.-]{0,127} */
static bool tag_valid(struct zstr tag)
{
	if (tag.length == 0 || tag.length > TAG_MAX)
		return false;
	for (size_t i = 0; i < tag.length; i++) {
		char byte = tag.data[i];

		if (!is_alpha(byte) && !is_digit(byte) && byte != '_' &&
		    (i == 0 || (byte != '.' && byte != '-')))
			return false;
	}
	return true;
}

/* The number of hexadecimal digits of an algorithm that the engine computes, or 0. */
static size_t digest_size(struct zstr algorithm)
{
	return zstr_equal(algorithm, "sha256")	 ? 64
	       : zstr_equal(algorithm, "sha384") ? 96
	       : zstr_equal(algorithm, "sha512") ? 128
						 : 0;
}

/* Letters and digits in parts that begin with a letter, separated by one of "+._-". */
static bool algorithm_valid(struct zstr algorithm)
{
	bool start = true;

	for (size_t i = 0; i < algorithm.length; i++) {
		char byte = algorithm.data[i];

		if (start ? !is_alpha(byte)
			  : !is_alpha(byte) && !is_digit(byte) && !(byte && strchr("+._-", byte)))
			return false;
		start = !is_alpha(byte) && !is_digit(byte);
	}
	return !start;
}

static bool digest_valid(struct zstr digest)
{
	size_t colon = find(digest, ':');
	struct zstr algorithm = before(digest, colon), hex;
	size_t size = digest_size(algorithm);

	if (colon == digest.length || !algorithm_valid(algorithm))
		return false;
	hex = after(digest, colon);
	for (size_t i = 0; i < hex.length; i++)
		if (!is_hex(hex.data[i]) ||
		    (size > 0 && is_alpha(hex.data[i]) && !is_lower(hex.data[i])))
			return false;
	return size > 0 ? hex.length == size : hex.length >= DIGEST_HEX_MIN;
}

/* The engine takes a bare id, "<64 hex>" or "sha256:<hex>", for any image it has, whatever its
 * name. */
static bool is_image_id(struct zstr text)
{
	size_t colon = find(text, ':');

	if (colon < text.length)
		return digest_size(before(text, colon)) > 0 && digest_valid(text);
	for (size_t i = 0; i < text.length; i++)
		if (!is_hex(text.data[i]))
			return false;
	return text.length == 64;
}

/* Splits and checks [domain/]path. */
static bool repository_valid(struct zstr repository, struct zstr *domain)
{
	size_t slash = find(repository, '/');
	struct zstr first = before(repository, slash);

	*domain = zstr_from("docker.io");
	if (repository.length > REPOSITORY_MAX)
		return false;
	if (slash < repository.length && (find(first, '.') < slash || find(first, ':') < slash ||
					  zstr_equal(first, "localhost"))) {
		if (!domain_valid(first))
			return false;
		if (!zstr_equal(first, "index.docker.io")) /* the engine's old name for the same */
			*domain = first;
		repository = after(repository, slash);
	}
	return path_valid(repository);
}

int imageref_parse(struct zstr text, struct imageref *out)
{
	struct imageref image = {.tag = {.data = ""}, .digest = {.data = ""}};
	size_t at = find(text, '@');
	size_t name_end = at, last_slash = 0;

	if (text.length > IMAGEREF_MAX || is_image_id(text))
		return -EINVAL;
	if (at < text.length) {
		image.digest = after(text, at);
		if (!digest_valid(image.digest))
			return -EINVAL;
	}
	for (size_t i = 0; i < at; i++)
		if (text.data[i] == '/')
			last_slash = i;
	/* A colon before the last slash belongs to the domain. */
	for (size_t i = at; i-- > last_slash;)
		if (text.data[i] == ':')
			name_end = i;
	if (name_end < at) {
		image.tag = after(before(text, at), name_end);
		if (!tag_valid(image.tag))
			return -EINVAL;
	}
	image.repository = before(text, name_end);
	if (!repository_valid(image.repository, &image.domain))
		return -EINVAL;
	*out = image;
	return 0;
}

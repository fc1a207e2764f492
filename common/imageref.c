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
#define HEX	       TEXT_DIGITS "abcdef"

/* Cuts text off before the first such byte, and fills rest with what follows it; false when there
 * is none. */
static bool cut(struct zstr *text, char byte, struct zstr *rest)
{
	const char *found = memchr(text->data, byte, text->length);
	size_t length = found ? (size_t)(found - text->data) : text->length;

	if (found)
		*rest = (struct zstr){found + 1, text->length - length - 1};
	text->length = length;
	return found != NULL;
}

/* Runs of bytes of a set, with one separator between each two: a "." or "/", one or two "_", or
 * any number of "-". */
static bool is_chain(struct zstr text, const char *set, const char *separators)
{
	for (size_t at = 0;;) {
		size_t run = text_span(text, at, set), same, most;

		at += run;
		if (run == 0 || at == text.length)
			return run > 0;
		same = text_span(text, at, (const char[]){text.data[at], '\0'});
		most = text.data[at] == '-' ? same : text.data[at] == '_' ? 2 : 1;
		if (text_span(text, at, separators) == 0 || same > most)
			return false;
		at += same;
	}
}

/* Labels of letters, digits and inner dashes, with dots between; then perhaps ":" and digits. */
static bool domain_valid(struct zstr domain)
{
	struct zstr port = zstr_from("");
	bool has_port = cut(&domain, ':', &port);

	return is_chain(domain, TEXT_ALNUM, ".-") &&
	       text_span(port, 0, TEXT_DIGITS) == port.length && has_port == (port.length > 0);
}

static bool tag_valid(struct zstr tag)
{
	return tag.length <= TAG_MAX && text_span(tag, 0, TEXT_ALNUM "_") > 0 &&
	       text_span(tag, 0, TEXT_ALNUM "_.-") == tag.length;
}

/* The engine knows these three and refuses every other algorithm. */
static bool digest_valid(struct zstr digest)
{
	static const char *const algorithms[] = {"sha256", "sha384", "sha512"};
	struct zstr hex = zstr_from("");

	(void)cut(&digest, ':', &hex); /* without one hex stays empty */
	for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
		if (zstr_equal(digest, algorithms[i]))
			return hex.length == 64 + 32 * i && text_span(hex, 0, HEX) == hex.length;
	return false;
}

/* "<64 hex>" and "sha256:<64 hex>" would name any image that the engine has, whatever its name. */
static bool is_image_id(struct zstr text)
{
	return digest_valid(text) || (text.length == 64 && text_span(text, 0, HEX) == 64);
}

/* Moves what stands before the first slash from path to domain, when it could not be part of a
 * path; false when it is no domain either. */
static bool take_domain(struct zstr *path, struct zstr *domain)
{
	struct zstr first = *path, rest = zstr_from("");

	if (!cut(&first, '/', &rest) ||
	    !(memchr(first.data, '.', first.length) || memchr(first.data, ':', first.length) ||
	      zstr_equal(first, "localhost")))
		return true;
	*path = rest;
	if (!zstr_equal(first, "index.docker.io")) /* the engine's old name for the same */
		*domain = first;
	return domain_valid(first);
}

int imageref_parse(struct zstr text, struct imageref *out)
{
	struct imageref image = {text, zstr_from("docker.io"), zstr_from(""), zstr_from("")};

	if (text.length == 0 || text.length > IMAGEREF_MAX || is_image_id(text))
		return -EINVAL;
	if (cut(&text, '@', &image.digest) && !digest_valid(image.digest))
		return -EINVAL;
	struct zstr path = text;
	if (!take_domain(&path, &image.domain))
		return -EINVAL;
	if (cut(&path, ':', &image.tag) && !tag_valid(image.tag))
		return -EINVAL;
	image.repository.length = (size_t)(path.data + path.length - text.data);
	if (image.repository.length > REPOSITORY_MAX ||
	    !is_chain(path, TEXT_DIGITS TEXT_LOWER, "._-/"))
		return -EINVAL;
	*out = image;
	return 0;
}

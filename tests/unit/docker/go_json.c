/* SPDX-License-Identifier: Apache-2.0 */
/* JSON by the rules of Go's decoder (go_json.h).  Tests only. */
#include "go_json.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct input {
	const char *at, *end;
	struct go_document *document;
};

static void skip(struct input *in)
{
	while (in->at < in->end && memchr(" \t\r\n", *in->at, 4) != NULL)
		in->at++;
}

static bool take(struct input *in, char c)
{
	skip(in);
	if (in->at == in->end || *in->at != c)
		return false;
	in->at++;
	return true;
}

static void add_rune(unsigned rune, char *out, size_t size, size_t *used)
{
	char bytes[4];
	size_t n = 1;
	if (rune < 0x80) {
		bytes[0] = (char)rune;
	} else if (rune < 0x800) {
		bytes[0] = (char)(0xc0 | rune >> 6);
		bytes[1] = (char)(0x80 | (rune & 63));
		n = 2;
	} else {
		bytes[0] = (char)(0xe0 | rune >> 12);
		bytes[1] = (char)(0x80 | (rune >> 6 & 63));
		bytes[2] = (char)(0x80 | (rune & 63));
		n = 3;
	}
	for (size_t i = 0; i < n && *used + 1 < size; i++)
		out[(*used)++] = bytes[i];
}

static bool escape(struct input *in, char *out, size_t size, size_t *used)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char digits[5] = {0};
	char *end;
	const char *found;
	if (in->at == in->end)
		return false;
	if (*in->at != 'u') {
		found = memchr(from, *in->at++, sizeof(from) - 1);
		if (found != NULL)
			add_rune((unsigned char)to[found - from], out, size, used);
		return found != NULL;
	}
	if (in->end - in->at < 5)
		return false;
	memcpy(digits, in->at + 1, 4);
	in->at += 5;
	add_rune((unsigned)strtoul(digits, &end, 16), out, size, used);
	return *end == '\0';
}

static bool string(struct input *in, char *out, size_t size)
{
	size_t used = 0;
	if (!take(in, '"'))
		return false;
	while (in->at < in->end && *in->at != '"') {
		if ((unsigned char)*in->at < 0x20)
			return false;
		if (*in->at == '\\') {
			in->at++;
			if (!escape(in, out, size, &used))
				return false;
			continue;
		}
		if (used + 1 < size)
			out[used++] = *in->at;
		in->at++;
	}
	out[used] = '\0';
	return take(in, '"');
}

/* Lower case, and the two runes that Go folds to an ASCII letter. */
static void fold(char *name)
{
	char *out = name;
	for (const char *at = name; *at != '\0';) {
		if (strncmp(at, "\xc5\xbf", 2) == 0) {
			*out++ = 's';
			at += 2;
		} else if (strncmp(at, "\xe2\x84\xaa", 3) == 0) {
			*out++ = 'k';
			at += 3;
		} else {
			*out++ = (char)tolower((unsigned char)*at++);
		}
	}
	*out = '\0';
}

static bool value(struct input *in, size_t parent, const char *name);

static bool members(struct input *in, size_t self, bool object, char close)
{
	if (take(in, close))
		return true;
	do {
		char name[48] = "";
		if (object && (!string(in, name, sizeof(name)) || !take(in, ':')))
			return false;
		fold(name);
		if (!value(in, self, name))
			return false;
	} while (take(in, ','));
	return take(in, close);
}

static bool word(struct input *in, struct go_node *node)
{
	size_t used = 0;
	char *end;
	while (in->at < in->end && strchr(",]} \n", *in->at) == NULL &&
	       used < sizeof(node->text) - 1)
		node->text[used++] = *in->at++;
	node->text[used] = '\0';
	if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0) {
		node->kind = GO_BOOL;
		return true;
	}
	node->kind = strcmp(node->text, "null") == 0 ? GO_NULL : GO_NUMBER;
	if (node->kind == GO_NULL)
		return true;
	(void)strtoll(node->text, &end, 10);
	return used > 0 && *end == '\0';
}

static bool value(struct input *in, size_t parent, const char *name)
{
	size_t self = in->document->count++;
	struct go_node *node;
	if (self >= GO_NODES_MAX)
		return false;
	node = &in->document->nodes[self];
	memset(node, 0, sizeof(*node));
	node->parent = parent;
	memcpy(node->name, name, strlen(name) + 1);
	if (self != parent)
		in->document->nodes[parent].children++;
	skip(in);
	if (in->at == in->end)
		return false;
	if (*in->at == '"') {
		node->kind = GO_STRING;
		return string(in, node->text, sizeof(node->text));
	}
	if (take(in, '{')) {
		node->kind = GO_OBJECT;
		return members(in, self, true, '}');
	}
	if (take(in, '[')) {
		node->kind = GO_ARRAY;
		return members(in, self, false, ']');
	}
	return word(in, node);
}

int go_parse(const char *text, size_t length, struct go_document *document)
{
	struct input in = {text, text + length, document};
	document->count = 0;
	if (!value(&in, 0, ""))
		return -1;
	skip(&in);
	return in.at == in.end ? 0 : -1;
}

const struct go_node *go_member(const struct go_document *document, const struct go_node *object,
				const char *folded_name)
{
	const struct go_node *found = NULL;
	size_t self = (size_t)(object - document->nodes);
	for (size_t i = self + 1; i < document->count; i++)
		if (document->nodes[i].parent == self &&
		    strcmp(document->nodes[i].name, folded_name) == 0)
			found = &document->nodes[i];
	return found;
}

size_t go_count(const struct go_document *document, const struct go_node *object,
		const char *folded_name)
{
	size_t count = 0;
	size_t self = (size_t)(object - document->nodes);
	for (size_t i = self + 1; i < document->count; i++)
		count += document->nodes[i].parent == self &&
			 strcmp(document->nodes[i].name, folded_name) == 0;
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON as an engine written in Go does: member names are compared without
 * case (with Go's folding of U+017F and U+212A), after escapes are undone, and of
 * two equal names the last one counts.  Tests only.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define GO_NODES_MAX 8192

enum go_kind { GO_NULL, GO_BOOL, GO_NUMBER, GO_STRING, GO_ARRAY, GO_OBJECT };

struct go_node {
	enum go_kind kind;
	size_t parent;	/* index; the root is its own */
	char name[48];	/* folded and cut; "" in an array */
	char text[160]; /* of a scalar, decoded and cut */
	size_t children;
};

struct go_document {
	struct go_node nodes[GO_NODES_MAX];
	size_t count;
};

/* 0, or -1 when text is not exactly one JSON value of a moderate size. */
int go_parse(const char *text, size_t length, struct go_document *document);
/* The member of an object that an engine would take, or NULL. */
const struct go_node *go_member(const struct go_document *document, const struct go_node *object,
				const char *folded_name);
/* How many members of that folded name the object has. */
size_t go_count(const struct go_document *document, const struct go_node *object,
		const char *folded_name);

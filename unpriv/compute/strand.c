/* SPDX-License-Identifier: Apache-2.0 */
/* Strands: a hash table of queues, one a container.  Dispatcher, no privilege. */
#include "unpriv/compute/strand.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The dispatcher holds a few thousand jobs at most: chains stay short. */
#define BUCKETS 1024U

TAILQ_HEAD(strand_queue, strand_node);

struct strand {
	TAILQ_ENTRY(strand) entry;
	struct strand_queue queue;
	char uuid[UUID_TEXT_SIZE];
};

TAILQ_HEAD(strand_bucket, strand);

struct strands {
	struct strand_bucket buckets[BUCKETS];
	size_t count;
};

struct strands *strands_new(void)
{
	struct strands *strands = calloc(1, sizeof(*strands));

	for (size_t i = 0; strands && i < BUCKETS; i++)
		TAILQ_INIT(&strands->buckets[i]);
	return strands;
}

void strands_free(struct strands *strands)
{
	if (!strands)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		struct strand *strand;

		while ((strand = TAILQ_FIRST(&strands->buckets[i])) != NULL) {
			TAILQ_REMOVE(&strands->buckets[i], strand, entry);
			free(strand);
		}
	}
	free(strands);
}

/* FNV-1a: a uuid chosen by an enemy costs the length of a chain, which the number of jobs bounds.
 */
static size_t bucket_of(const char *uuid)
{
	uint32_t hash = 2166136261U;

	for (; *uuid; uuid++)
		hash = (hash ^ (uint8_t)*uuid) * 16777619U;
	return hash % BUCKETS;
}

static struct strand *find(const struct strands *strands, const char *uuid)
{
	struct strand *strand;

	for (strand = TAILQ_FIRST(&strands->buckets[bucket_of(uuid)]); strand;
	     strand = TAILQ_NEXT(strand, entry))
		if (strcmp(strand->uuid, uuid) == 0)
			return strand;
	return NULL;
}

int strands_push(struct strands *strands, const char *uuid, struct strand_node *node)
{
	struct strand *strand = find(strands, uuid);
	bool first = strand == NULL;

	if (first) {
		strand = calloc(1, sizeof(*strand));
		if (!strand)
			return -ENOMEM;
		TAILQ_INIT(&strand->queue);
		if (zstr_copy(zstr_from(uuid), strand->uuid, sizeof(strand->uuid)) < 0) {
			free(strand);
			return -EINVAL;
		}
		TAILQ_INSERT_HEAD(&strands->buckets[bucket_of(uuid)], strand, entry);
	}
	TAILQ_INSERT_TAIL(&strand->queue, node, entry);
	node->strand = strand;
	strands->count++;
	return first;
}

struct strand_node *strands_pop(struct strands *strands, struct strand_node *node)
{
	struct strand *strand = node->strand;
	struct strand_node *next;

	TAILQ_REMOVE(&strand->queue, node, entry);
	node->strand = NULL;
	strands->count--;
	next = TAILQ_FIRST(&strand->queue);
	if (!next) {
		TAILQ_REMOVE(&strands->buckets[bucket_of(strand->uuid)], strand, entry);
		free(strand);
	}
	return next;
}

bool strands_has(const struct strands *strands, const char *uuid)
{
	return find(strands, uuid) != NULL;
}

size_t strands_count(const struct strands *strands)
{
	return strands->count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame and what the request table says, for both sides.  Everything here
 * is generated from requests.def: the numbers, one struct a message, and one
 * description of fields that a single encoder and a single decoder follow.
 *
 * A frame is one SOCK_SEQPACKET packet: header (PROTO_HEADER_SIZE bytes,
 * little-endian) magic u32, version u16, domain u8, descriptors u8, type u16,
 * status u16, sequence u32, length u32; then length bytes of payload.
 * A request whose payload passes PROTO_PAYLOAD_MAX has length 0, one descriptor
 * (a sealed memfd with the payload, at most PROTO_LARGE_MAX), only where the
 * table says LARGE.
 */
#pragma once
#include "common/text.h"
#include "common/zbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_MAGIC	  0x4e534c4bU /* "KLSN" */
#define PROTO_VERSION	  1
#define PROTO_HEADER_SIZE 20
#define PROTO_PAYLOAD_MAX (65536 - PROTO_HEADER_SIZE)
#define PROTO_FRAME_MAX	  65536
#define PROTO_LARGE_MAX	  1048576

enum proto_domain { PROTO_DOCKER = 1 };

/* Why a request was not done: in the answer's header.  Anything but PROTO_OK has as
 * payload one string (TEXT_PRINTABLE, at most 200 bytes): the rule or reason. */
enum proto_status {
	PROTO_OK = 0,
	PROTO_DENIED = 1,	  /* the site policy says no */
	PROTO_NOT_OURS = 2,	  /* the object is not one that Keelson made */
	PROTO_NO_ENGINE = 3,	  /* the engine's socket cannot be reached */
	PROTO_ENGINE_TIMEOUT = 4, /* the engine stayed silent for wait_ms */
	PROTO_ENGINE_BROKEN = 5,  /* the head of its answer makes no sense, or is cut */
	PROTO_NO_AUDIT = 6,	  /* the audit record could not be written: not done */
	PROTO_LIMIT = 7,	  /* a resource of the helper is exhausted */
	PROTO_STATUS_COUNT
};

/* How the body that follows an engine's head is framed. */
enum proto_framing {
	PROTO_BODY_LENGTH = 0,	/* content_length bytes */
	PROTO_BODY_CHUNKED = 1, /* chunked coding, still on it */
	PROTO_BODY_CLOSE = 2,	/* until the connection ended */
	PROTO_BODY_NONE = 3
};

enum proto_restart {
	PROTO_RESTART_UNSET,
	PROTO_RESTART_NO,
	PROTO_RESTART_ALWAYS,
	PROTO_RESTART_ON_FAILURE,
	PROTO_RESTART_UNLESS_STOPPED
};

/* NEW: nothing said yet.  READY: after hello.  FIRST: after hello, on the domain's first channel
 * only. */
enum proto_phase { PROTO_NEW = 1, PROTO_READY = 2, PROTO_FIRST = 4 };

/* The rows that every domain has, with the same fields; the loop itself serves them. */
#define PROTO_HELLO	   2
#define PROTO_OPEN_CHANNEL 4

/* Longest text of an answer that is not PROTO_OK. */
#define PROTO_RULE_MAX 200

/* clang-format off */
/* ---- generated: one struct a message, req_<domain>_<name> and ans_<domain>_<name> ---- */
#define U8(name, least, greatest) uint8_t name;
#define U16(name, least, greatest) uint16_t name;
#define U32(name, least, greatest) uint32_t name;
#define U64(name, least, greatest) uint64_t name;
#define UUID(name) uint8_t name[UUID_SIZE];
#define STR(name, class, max) struct zstr name;
#define BYTES(name, max) struct zstr name;
#define LIST(name, class, items, max) \
	size_t name##_count;          \
	struct zstr name[items];
#define PAIRS(name, key_class, value_class, pairs, max) \
	size_t name##_count; /* strings: twice the pairs */ \
	struct zstr name[2 * (pairs)];
/* The first member keeps a message without fields from being an empty struct. */
#define REQUEST(domain, name, number, phases, repeat, audit, fds_out) \
	struct req_##domain##_##name {                                \
		uint8_t first_;
#define ANSWER(domain, name) \
	}                    \
	;                    \
	struct ans_##domain##_##name { \
		uint8_t first_;
#define END(domain, name) \
	}                 \
	;
#include "requests.def"

/* ---- generated: PRIV_<domain>_<name> = number ---- */
enum proto_request {
#define REQUEST(domain, name, number, ...) PRIV_##domain##_##name = (number),
#include "requests.def"
};

/* clang-format on */

/* An integer's type is its width in bytes. */
enum proto_field_type {
	PROTO_F_U8 = 1,
	PROTO_F_U16 = 2,
	PROTO_F_U32 = 4,
	PROTO_F_U64 = 8,
	PROTO_F_UUID,
	PROTO_F_STR,
	PROTO_F_BYTES,
	PROTO_F_LIST,
	PROTO_F_PAIRS
};

struct proto_field {
	const char *name;
	enum proto_field_type type;
	enum text_class class;	     /* STR, LIST; key of PAIRS */
	enum text_class value_class; /* PAIRS */
	uint64_t least, greatest;    /* integers */
	size_t max;		     /* bytes of a string */
	size_t items;		     /* strings in a LIST or PAIRS */
	size_t offset;		     /* in the struct */
	size_t count_offset;	     /* LIST, PAIRS */
};

struct proto_row {
	enum proto_domain domain;
	const char *name;
	uint16_t number;
	unsigned phases; /* bits of enum proto_phase */
	bool once, audit, large;
	uint8_t fds_out;
	size_t index; /* place in the table */
	const struct proto_field *fields;
	size_t field_count;
	const struct proto_field *answer_fields;
	size_t answer_field_count;
	size_t struct_size, answer_size;
	size_t request_max, answer_max; /* longest payloads that the fields' bounds allow */
};

extern const size_t proto_row_count;
/* Row index (0 to proto_row_count - 1) in the table's order, else NULL. */
const struct proto_row *proto_row_at(size_t index);
/* The row of a request number, or NULL. */
const struct proto_row *proto_find(enum proto_domain domain, uint16_t number);
/* The field of that name, or NULL. */
const struct proto_field *proto_field_find(const struct proto_field *fields, size_t count,
					   const char *name);
/* The value of an integer field of message; 0 when field is NULL or of another type. */
uint64_t proto_integer(const struct proto_field *field, const void *message);

struct proto_header {
	uint32_t magic;
	uint16_t version;
	uint8_t domain;
	uint8_t descriptors;
	uint16_t type;
	uint16_t status;
	uint32_t sequence;
	uint32_t length;
};

void proto_put_header(struct zwriter *writer, const struct proto_header *header);
void proto_get_header(struct zreader *reader, struct proto_header *header);

/* Encode message (a struct of the row) as its payload; sticky failure in writer when a field breaks
 * its bound. */
void proto_encode(const struct proto_field *fields, size_t count, const void *message,
		  struct zwriter *writer);
/* Decode a whole payload into message; strings borrow from data.
 * 0, or -EBADMSG with *bad naming the field (or "length"). */
int proto_decode(const struct proto_field *fields, size_t count, const void *data, size_t length,
		 void *message, const char **bad);

/* 32 bytes made at build time from every source of the trusted side: two halves of different builds
 * refuse each other. */
extern const uint8_t proto_build_id[32];

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The docker domain: its handlers, one a row of requests.def, and the site
 * policy's word on them.  Runs in keelson-launch's docker helper and in the
 * servers that it forks: uid keelson-docker, no capabilities; the right to open
 * the engine's socket is all they have.
 *
 * A container is addressed only as zun-<uuid>, a name made here, and only when
 * it is ours (is_ours).
 */
#include "privsep/docker.h"
#include "common/zfd.h"
#include "privsep/docker_create.h"
#include "privsep/docker_engine.h"
#include "privsep/helper.h"
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

/* Names of Keelson's containers and of a zun-compute's before it; no other is ever listed. */
#define OUR_NAMES "{\"name\":[\"^/zun-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$\"]}"
/* As zun-compute asks: all of them, whatever their state (docker-driver.md §1). */
#define LIST_OPTIONS "limit=-1&all=1&size=0&trunc_cmd=0"
/* What an image without tag and digest means; an engine that is not told would fetch all tags. */
#define DEFAULT_TAG "latest"

/* Every row that asks the engine has this answer (tests/unit/docker compares them). */
typedef struct ans_docker_engine_info engine_answer;

/* The memory of a server: no request allocates, and a page costs nothing until it is needed. */
static struct {
	struct engine_call call;
	struct engine_reply reply;
	struct create_buffer create;
} server;

struct job {
	struct helper *helper;
	struct docker_owned *owned;
	struct helper_result *result;
	void *answer;
};

/* Defines the handler of a row: what follows it is the body, with the job and the request. */
#define HANDLER(name)                                                                              \
	static void name(const struct job *job, const struct req_docker_##name *request);          \
	static void do_##name(struct helper *helper, const void *request, void *answer,            \
			      struct helper_result *result)                                        \
	{                                                                                          \
		struct docker_shared *shared = helper->shared;                                     \
		struct job job = {helper, &shared->owned, result, answer};                         \
		server.call.socket_path = shared->socket_path;                                     \
		server.call.deadline_ms = zfd_now_ms() + helper->wait_ms;                          \
		server.call.body.length = 0;                                                       \
		name(&job, request);                                                               \
	}                                                                                          \
	static void name(const struct job *job, const struct req_docker_##name *request)

/* The handler of a row that is about a container and asks for nothing but that. */
#define CONTAINER_HANDLER(name, method, rest)                                                      \
	HANDLER(container_##name)                                                                  \
	{                                                                                          \
		on_container(job, request->api_minor, request->uuid, method, rest);                \
	}

struct docker_shared *docker_shared_new(const char *socket_path)
{
	struct docker_shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return NULL;
	if (zstr_copy(zstr_from(socket_path), shared->socket_path, DOCKER_SOCKET_PATH_MAX) == 0)
		return shared;
	errno = ENAMETOOLONG;
	return NULL;
}

static void relay(struct helper *helper)
{
	engine_relay(helper->engine, helper->pipe_write, engine_left(&server.reply),
		     helper->wait_ms);
	zfd_closep(&helper->engine);
	zfd_closep(&helper->pipe_write);
}

static void refuse(const struct job *job, enum proto_status status)
{
	static const char *const rules[PROTO_STATUS_COUNT] = {
		[PROTO_NOT_OURS] = "not_ours",
		[PROTO_NO_ENGINE] = "engine_unreachable",
		[PROTO_ENGINE_TIMEOUT] = "engine_silent",
		[PROTO_ENGINE_BROKEN] = "engine_answer",
		[PROTO_LIMIT] = "helper_limit",
	};

	job->result->status = status;
	job->result->rule = rules[status];
}

/* Asks the engine what the format says; its status, or 0 when there is none: then refused. */
static __attribute__((format(printf, 2, 3))) unsigned ask(const struct job *job, const char *format,
							  ...)
{
	va_list arguments;

	va_start(arguments, format);
	enum proto_status status = engine_ask(&server.call, &server.reply, format, arguments);
	va_end(arguments);
	if (status == PROTO_OK)
		return server.reply.head.status;
	refuse(job, status);
	return 0;
}

/* Makes what the engine said the answer, the rest of a long body through a pipe.  Gives status,
 * which is ask's, back. */
static unsigned hand_over(const struct job *job, unsigned status)
{
	struct engine_reply *reply = &server.reply;
	engine_answer *answer = job->answer;
	int ends[2];

	if (status == 0)
		return 0;
	if (reply->connection >= 0 && pipe2(ends, O_CLOEXEC) < 0) {
		zfd_closep(&reply->connection);
		refuse(job, PROTO_LIMIT);
		return status;
	}
	if (reply->connection >= 0) {
		job->helper->engine = reply->connection;
		job->helper->pipe_write = ends[1];
		job->result->fd = ends[0];
		job->result->after = relay;
		answer->body_continues = 1;
	}
	answer->http_status = reply->head.status;
	answer->framing = (uint8_t)reply->head.framing;
	answer->content_length = reply->head.content_length;
	answer->body = reply->body;
	return status;
}

/* 1 when the body is a list with elements, 0 when it is one without, -1 when it is none. */
static int list_filled(const struct engine_reply *reply)
{
	struct zstr body = reply->body;
	size_t start = 0;

	/* Behind the size of the first chunk and its CR LF. */
	if (reply->head.framing == PROTO_BODY_CHUNKED)
		start = text_span(body, 0, TEXT_DIGITS "abcdefABCDEF") + 2;
	if (body.length < start + 2 || body.data[start] != '[')
		return -1;
	return body.data[start + 1] == '{' ? 1 : body.data[start + 1] == ']' ? 0 : -1;
}

/*
 * Whether the engine has containers that match filters: 1 or 0.  -1 when that
 * cannot be known: then the answer is given, in the engine's own words if it said
 * why (it does not speak that API version, it failed).
 */
static int exists(const struct job *job, unsigned api_minor, const char *filters)
{
	char escaped[ENGINE_ESCAPED_MAX];
	unsigned status = ask(job, "GET /v1.%u/containers/json?all=1&filters=%s", api_minor,
			      engine_escape(zstr_from(filters), ENGINE_PLAIN, escaped));

	if (status == 0 || status == 400 || status >= 500) {
		(void)hand_over(job, status);
		return -1;
	}
	int filled = status == 200 ? list_filled(&server.reply) : -1;
	zfd_closep(&server.reply.connection);
	if (filled < 0)
		refuse(job, PROTO_ENGINE_BROKEN);
	return filled;
}

/*
 * True when a request for zun-<uuid> may go on: the container is ours, or there is
 * none of that name, which the engine shall say itself.  False: the answer is given.
 */
static bool is_ours(const struct job *job, unsigned api_minor, const uint8_t uuid[UUID_SIZE],
		    const char *text)
{
	char named[80], labelled[160];

	if (docker_owned(job->owned, OWNED_CHECK, uuid))
		return true;
	(void)snprintf(named, sizeof(named), "{\"name\":[\"^/zun-%s$\"]}", text);
	(void)snprintf(labelled, sizeof(labelled),
		       "{\"name\":[\"^/zun-%s$\"],\"label\":[\"" KEELSON_LABEL_UUID "=%s\"]}", text,
		       text);
	bool adopt = job->helper->site->adopt_unlabelled;
	int found = exists(job, api_minor, adopt ? named : labelled);
	if (found > 0)
		(void)docker_owned(job->owned, OWNED_ADD, uuid);
	if (found != 0 || adopt)
		return found >= 0;
	/* Without our label: nobody's, or somebody else's. */
	found = exists(job, api_minor, named);
	if (found > 0)
		refuse(job, PROTO_NOT_OURS);
	return found == 0;
}

/* Sends "<method> /v1.N/containers/zun-<uuid><rest>" if that container may be touched. */
static void on_container(const struct job *job, unsigned api_minor, const uint8_t uuid[UUID_SIZE],
			 const char *method, const char *rest)
{
	char text[UUID_TEXT_SIZE];

	uuid_format(uuid, text);
	if (!is_ours(job, api_minor, uuid, text))
		return;
	unsigned status = ask(job, "%s /v1.%u/containers/zun-%s%s", method, api_minor, text, rest);
	/* Gone: from now on the name may be somebody else's. */
	if (hand_over(job, status) == 404)
		(void)docker_owned(job->owned, OWNED_DROP, uuid);
}

/* **Caller may be hostile:** it gets back what it sent, at most what the table allows. */
HANDLER(noop)
{
	struct ans_docker_noop *answer = job->answer;

	answer->payload = request->payload;
}

/* **Caller may be hostile:** it chooses only the deadline, and learns the engine's version. */
HANDLER(engine_version)
{
	(void)request;
	(void)hand_over(job, ask(job, "GET /version"));
}

/*
 * **Caller may be hostile:** it chooses nothing but the API version, and learns what the
 * engine says of the node; the manager's inventory needs that.
 */
HANDLER(engine_info)
{
	(void)hand_over(job, ask(job, "GET /v1.%u/info", request->api_minor));
}

/*
 * **Caller may be hostile:** the filter is constant, so that containers of others do not
 * show.  Those that an earlier zun-compute made do (the same names, no label): rows are
 * compared with them, but they cannot be touched unless the policy adopts them.
 */
HANDLER(container_list)
{
	char escaped[ENGINE_ESCAPED_MAX];

	(void)engine_escape(zstr_from(OUR_NAMES), ENGINE_PLAIN, escaped);
	(void)hand_over(job, ask(job, "GET /v1.%u/containers/json?" LIST_OPTIONS "&filters=%s",
				 request->api_minor, escaped));
}

/*
 * **Caller may be hostile:** name, label, every member of the body and every ceiling are
 * set here or were judged (docker_create_judge).  It can still run any program of an
 * allowed image within the ceilings and without a network: that is what it is for.  A
 * name that is taken yields the engine's 409, whosever it is.
 */
HANDLER(container_create)
{
	char text[UUID_TEXT_SIZE];

	uuid_format(request->uuid, text);
	if (!docker_create_json(job->helper->site, request, &server.create, &server.call.body)) {
		refuse(job, PROTO_LIMIT);
		return;
	}
	unsigned status =
		ask(job, "POST /v1.%u/containers/create?name=zun-%s", request->api_minor, text);
	if (hand_over(job, status) == 201)
		(void)docker_owned(job->owned, OWNED_ADD, request->uuid);
}

/*
 * **Caller may be hostile:** it reads a container of ours only (is_ours), and of that
 * what it gave itself.
 */
CONTAINER_HANDLER(inspect, "GET", "/json")

/*
 * **Caller may be hostile:** it starts a container of ours only (is_ours), as it was
 * judged when it was made: there is no body that could add to it now.
 */
CONTAINER_HANDLER(start, "POST", "/start")

/*
 * **Caller may be hostile:** it stops a container of ours only (is_ours).  The grace is a
 * bounded number, and holds up the caller's own channel only.
 */
HANDLER(container_stop)
{
	char rest[24] = "/stop";

	if (request->has_grace) {
		(void)snprintf(rest, sizeof(rest), "/stop?t=%" PRIu32, request->grace_s);
		server.call.deadline_ms += request->grace_s * UINT64_C(1000);
	}
	on_container(job, request->api_minor, request->uuid, "POST", rest);
}

/* **Caller may be hostile:** as for stop; what starts again is what was judged. */
HANDLER(container_restart)
{
	char rest[24];

	(void)snprintf(rest, sizeof(rest), "/restart?t=%" PRIu32, request->grace_s);
	server.call.deadline_ms += request->grace_s * UINT64_C(1000);
	on_container(job, request->api_minor, request->uuid, "POST", rest);
}

/*
 * **Caller may be hostile:** it signals the first process of a container of ours only
 * (is_ours), by a number up to 64.
 */
HANDLER(container_kill)
{
	char rest[24] = "/kill";

	if (request->signal != 0)
		(void)snprintf(rest, sizeof(rest), "/kill?signal=%u", request->signal);
	on_container(job, request->api_minor, request->uuid, "POST", rest);
}

/* **Caller may be hostile:** it freezes a container of ours only (is_ours). */
CONTAINER_HANDLER(pause, "POST", "/pause")

/* **Caller may be hostile:** it thaws a container of ours only (is_ours). */
CONTAINER_HANDLER(unpause, "POST", "/unpause")

/*
 * **Caller may be hostile:** it removes a container of ours only (is_ours), never its
 * volumes or links.  Should it still be there, the next request asks whose it is.
 */
HANDLER(container_delete)
{
	on_container(job, request->api_minor, request->uuid, "DELETE",
		     request->force ? "?v=False&link=False&force=True"
				    : "?v=False&link=False&force=False");
	(void)docker_owned(job->owned, OWNED_DROP, request->uuid);
}

/*
 * **Caller may be hostile:** the reference has passed the grammar (TEXT_IMAGE), so it has
 * no "..", '?' or '%'; all but its own separators is escaped besides.  It can read what
 * the engine knows of any image of the node.
 */
HANDLER(image_inspect)
{
	char escaped[ENGINE_ESCAPED_MAX];

	(void)engine_escape(request->image, ENGINE_PLAIN "/:@", escaped);
	(void)hand_over(job, ask(job, "GET /v1.%u/images/%s/json", request->api_minor, escaped));
}

/*
 * **Caller may be hostile:** the registry was judged (docker_image_judge).  It can fill
 * the disk with images of allowed registries.  A digest is kept (K31); a tag beside it
 * says nothing more.
 */
HANDLER(image_pull)
{
	char name[ENGINE_ESCAPED_MAX], version[ENGINE_ESCAPED_MAX];
	struct imageref reference = {0};

	(void)imageref_parse(request->image, &reference); /* the judge has done so before */
	bool digest = reference.digest.length > 0;
	if (reference.tag.length == 0)
		reference.tag = zstr_from(DEFAULT_TAG);
	(void)engine_escape(reference.repository, ENGINE_PLAIN, name);
	(void)engine_escape(digest ? reference.digest : reference.tag, ENGINE_PLAIN, version);
	(void)hand_over(job, ask(job, "POST /v1.%u/images/create?fromImage=%s%s%s",
				 request->api_minor, name, digest ? "%40" : "&tag=", version));
}

static const char *judge(const struct helper *helper, const struct proto_row *row,
			 const void *request)
{
	if (row->number == PRIV_docker_container_create)
		return docker_create_judge(helper->site, request);
	if (row->number == PRIV_docker_image_pull)
		return docker_image_judge(helper->site,
					  ((const struct req_docker_image_pull *)request)->image);
	return NULL;
}

/* A uuid names a container; what has none but an image is about that. */
static void subject(const struct proto_row *row, const void *request, struct audit_entry *entry)
{
	const struct proto_field *uuid = proto_field_find(row->fields, row->field_count, "uuid");
	const struct proto_field *image = proto_field_find(row->fields, row->field_count, "image");
	const uint8_t *fields = request;
	struct zstr reference;

	if (uuid != NULL) {
		entry->object_type = "container";
		uuid_format(fields + uuid->offset, entry->object_id);
	} else if (image != NULL) {
		entry->object_type = "image";
		memcpy(&reference, fields + image->offset, sizeof(reference));
		(void)zstr_copy(reference, entry->object_id,
				sizeof(entry->object_id)); /* fits: 511 bytes */
	}
}

/* The loop itself serves the rows that every domain has. */
#define do_hello	NULL
#define do_open_channel NULL

/* A row without a handler does not compile. */
static helper_handler *const handlers[] = {
#define REQUEST(domain, name, ...) do_##name,
#include "privsep/requests.def"
};

const struct helper_domain docker_domain = {
	.domain = PROTO_DOCKER,
	.name = "docker",
	.handlers = handlers,
	.subject = subject,
	.judge = judge,
};

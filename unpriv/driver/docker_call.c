/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the engine through the docker helper.
 * Process: worker.  Privileges: none; the engine's socket is the helper's.
 */
#include "unpriv/driver/docker_call.h"
#include "common/zfd.h"
#include "unpriv/base/json.h"
#include "unpriv/driver/docker_text.h"

#define VERSION_BODY_MAX 65536
#define MESSAGE_MAX	 512
#define ACTOR_MAX	 64 /* bytes of an id in the request table */

/* The answers of all rows that speak to the engine have the same members, and so the same struct.
 */
typedef struct ans_docker_container_inspect engine_answer;
_Static_assert(sizeof(engine_answer) == sizeof(struct ans_docker_engine_version) &&
		       sizeof(engine_answer) == sizeof(struct ans_docker_container_create) &&
		       sizeof(engine_answer) == sizeof(struct ans_docker_image_pull) &&
		       offsetof(engine_answer, body) ==
			       offsetof(struct ans_docker_engine_version, body) &&
		       offsetof(engine_answer, body) ==
			       offsetof(struct ans_docker_container_create, body) &&
		       offsetof(engine_answer, body) ==
			       offsetof(struct ans_docker_image_pull, body),
	       "one struct for the engine's answers");

uint32_t docker_wait_ms(const struct driver *driver, int64_t extra_s)
{
	int64_t wait_s = driver->config->docker_default_timeout;

	if (wait_s < 1)
		wait_s = 1;
	if (wait_s > DOCKER_WAIT_MAX_S || extra_s > DOCKER_WAIT_MAX_S - wait_s)
		wait_s = DOCKER_WAIT_MAX_S;
	else
		wait_s += extra_s;
	return (uint32_t)(wait_s * 1000);
}

static struct zstr token(const char *text)
{
	struct zstr id = zstr_from(text);

	if (id.length > ACTOR_MAX)
		id.length = ACTOR_MAX;
	return text_valid(TEXT_TOKEN, id) ? id : (struct zstr){0};
}

struct docker_actor docker_actor(const struct driver *driver)
{
	const struct store_actor *actor = driver->actor;

	if (actor == NULL)
		return (struct docker_actor){0};
	return (struct docker_actor){token(actor->request_id), token(actor->project_id),
				     token(actor->user_id)};
}

void docker_reply_clear(struct docker_reply *reply)
{
	body_text_clear(&reply->body);
	body_reader_close(&reply->reader);
}

/* The rule of a refusal: what stands after "<request>: ". */
static const char *rule_of(const struct zerr *err)
{
	const char *colon = strchr(err->msg, ':');

	return colon != NULL && colon[1] == ' ' ? colon + 2 : err->msg;
}

/* The helper's answer was no answer of the engine. */
static int helper_refused(struct driver *driver, enum proto_status status, const struct zerr *err,
			  struct rpc_failure *failure)
{
	switch (status) {
	case PROTO_DENIED:
		rpc_fail(failure, "NotAuthorized", "Refused by the site policy of this host: %s",
			 rule_of(err));
		return -EACCES;
	case PROTO_NOT_OURS:
		rpc_fail(failure, "Conflict",
			 "The container of that name was not made by this service");
		return -EEXIST;
	case PROTO_NO_ENGINE:
		driver->api_minor = 0; /* what comes back may be another version */
		rpc_fail(failure, "DockerError",
			 "Docker internal error: the engine cannot be reached.");
		return -EAGAIN;
	case PROTO_ENGINE_TIMEOUT:
		rpc_fail(failure, "DockerError",
			 "Docker internal error: the engine does not answer.");
		return -EAGAIN;
	case PROTO_ENGINE_BROKEN:
		driver->api_minor = 0;
		rpc_fail(failure, "DockerError",
			 "Docker internal error: the engine's answer was cut off.");
		return -EAGAIN;
	case PROTO_NO_AUDIT:
		rpc_fail(failure, "ZunException",
			 "Not done: the audit record could not be written");
		return -EIO;
	case PROTO_LIMIT:
	case PROTO_OK:
	case PROTO_STATUS_COUNT:
		break;
	}
	rpc_fail(failure, "ZunException", "Not done: a limit of the docker helper was reached (%s)",
		 rule_of(err));
	return -EIO;
}

static int channel_failed(int code, const struct zerr *err, struct rpc_failure *failure)
{
	/* Not sent: the channel is as good as before. */
	if (code == -EINVAL || code == -ENOMEM) {
		rpc_fail(failure, "ZunException", "%s", err->msg);
		return code;
	}
	rpc_fail(failure, "DockerError", "Docker internal error: the docker helper is gone.");
	return -EAGAIN;
}

/* The engine gave a status, but not the body that goes with it. */
static int body_failed(int code, size_t body_max, struct docker_reply *reply,
		       struct rpc_failure *failure)
{
	reply->unknown = true;
	if (code == -EFBIG) {
		rpc_fail(failure, "DockerError",
			 "Docker internal error: an answer is over %zu bytes.", body_max);
		return -EFBIG;
	}
	if (code == -ENOMEM) {
		rpc_fail(failure, "ZunException", "Out of memory");
		return -ENOMEM;
	}
	rpc_fail(failure, "DockerError", "Docker internal error: the engine's answer was cut off.");
	return -EAGAIN;
}

static int read_body(struct driver *driver, const struct docker_request *request,
		     struct docker_reply *reply, struct rpc_failure *failure)
{
	size_t body_max = docker_good(reply) ? request->body_max : DOCKER_ERROR_BODY_MAX;
	int result = body_collect(&reply->reader, body_max,
				  zfd_now_ms() + docker_wait_ms(driver, 0), &reply->body);

	body_reader_close(&reply->reader);
	if (result == 0)
		return 0;
	if (docker_good(reply))
		return body_failed(result, body_max, reply, failure);
	/* The status of a refusal counts without its text. */
	reply->body.data = strdup("");
	return reply->body.data == NULL ? body_failed(-ENOMEM, 0, reply, failure) : 0;
}

/* One request, one answer, nothing tried again. */
static int exchange(struct driver *driver, const struct docker_request *request,
		    struct docker_reply *reply, struct rpc_failure *failure)
{
	engine_answer answer;
	struct zerr err = {0};
	int fd = -1;
	int result;

	docker_reply_clear(reply);
	reply->http_status = 0;
	reply->unknown = reply->silent = false;
	result = priv_call(&driver->channel, request->number, request->message, &answer, &fd, &err);
	if (result > 0) {
		reply->silent = result == PROTO_ENGINE_TIMEOUT;
		reply->unknown = reply->silent || result == PROTO_ENGINE_BROKEN;
		return helper_refused(driver, (enum proto_status)result, &err, failure);
	}
	if (result < 0) {
		reply->unknown = result != -EINVAL && result != -ENOMEM;
		return channel_failed(result, &err, failure);
	}
	reply->http_status = answer.http_status;
	result = body_reader_open(&reply->reader, answer.framing, answer.content_length,
				  answer.body, fd);
	if (result < 0)
		return body_failed(result, 0, reply, failure);
	if (request->stream && docker_good(reply))
		return 0;
	return read_body(driver, request, reply, failure);
}

/* "1.41" → 41; -1 for anything else. */
static int minor_of(const char *version)
{
	uint64_t minor;

	if (version == NULL || strncmp(version, "1.", 2) != 0 ||
	    zfd_parse_u64(version + 2, UINT8_MAX, &minor) < 0)
		return -1;
	return (int)minor;
}

/* The version to speak: the configured one, moved into what both sides know.  -1 when there is
 * none. */
static int choose_minor(int64_t configured, const char *greatest, const char *least)
{
	int engine_max = minor_of(greatest);
	int engine_min = least != NULL ? minor_of(least) : DOCKER_API_MIN;
	int64_t minor = configured;

	if (engine_max < 0 || engine_min < 0)
		return -1;
	if (engine_min < DOCKER_API_MIN)
		engine_min = DOCKER_API_MIN;
	if (engine_max > DOCKER_API_MAX)
		engine_max = DOCKER_API_MAX;
	if (engine_min > engine_max)
		return -1;
	if (minor < engine_min)
		minor = engine_min;
	return minor > engine_max ? engine_max : (int)minor;
}

static int read_version(struct driver *driver, const struct docker_reply *reply, struct zerr *err)
{
	_cleanup_(json_putp) struct json_object *version = NULL;
	const char *greatest = NULL, *least = NULL;
	int minor;

	version = json_parse(reply->body.data, reply->body.length, VERSION_BODY_MAX, err);
	if (version == NULL)
		return -EBADMSG;
	if (!json_object_is_type(version, json_type_object))
		return zerr_set(err, -EBADMSG, "the engine's version is no JSON object");
	if (json_get_string(version, "ApiVersion", &greatest, err) < 0 ||
	    json_get_string(version, "MinAPIVersion", &least, err) < 0)
		return -EBADMSG;
	minor = choose_minor(driver->config->docker_api_minor, greatest, least);
	if (minor < 0)
		return zerr_set(err, -EBADMSG,
				"no common version of the engine's API (1.%d to 1.%d)",
				DOCKER_API_MIN, DOCKER_API_MAX);
	driver->api_minor = (uint8_t)minor;
	return 0;
}

/* Asks the engine which versions it speaks. */
static int negotiate(struct driver *driver, struct rpc_failure *failure)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	struct req_docker_engine_version message = {.wait_ms = docker_wait_ms(driver, 0)};
	const struct docker_request request = {.number = PRIV_docker_engine_version,
					       .message = &message,
					       .body_max = VERSION_BODY_MAX};
	struct zerr err = {0};
	int result = exchange(driver, &request, &reply, failure);

	if (result < 0)
		return result;
	if (!docker_good(&reply))
		return docker_refused(&reply, failure);
	return read_version(driver, &reply, &err) < 0 ? docker_senseless(&err, failure) : 0;
}

int docker_know_version(struct driver *driver, struct rpc_failure *failure)
{
	return driver->api_minor != 0 ? 0 : negotiate(driver, failure);
}

static int versioned(struct driver *driver, const struct docker_request *request,
		     struct docker_reply *reply, struct rpc_failure *failure)
{
	int result = docker_know_version(driver, failure);

	if (result < 0)
		return result;
	*request->api_minor = driver->api_minor;
	return exchange(driver, request, reply, failure);
}

int docker_call(struct driver *driver, const struct docker_request *request,
		struct docker_reply *reply, struct rpc_failure *failure)
{
	struct rpc_failure ignored = {0};
	int result = versioned(driver, request, reply, failure);

	/* A refused version is a 400 like any other: whether it was one, the engine's version
	 * tells. */
	if (result < 0 || reply->http_status != 400)
		return result;
	if (negotiate(driver, &ignored) < 0 || driver->api_minor == *request->api_minor)
		return 0;
	return versioned(driver, request, reply, failure);
}

int docker_refused(const struct docker_reply *reply, struct rpc_failure *failure)
{
	char text[MESSAGE_MAX];
	struct zstr body = {reply->body.data, reply->body.length};

	docker_error_message(reply->http_status, body, text, sizeof(text));
	switch (reply->http_status) {
	case 404:
		rpc_fail(failure, "Conflict", "%s", text);
		return -ENOENT;
	case 409:
		rpc_fail(failure, "Conflict", "%s", text);
		return -EBUSY;
	case 502:
	case 503:
	case 504:
		rpc_fail(failure, "DockerError", "Docker internal error: %s.", text);
		return -EAGAIN;
	default:
		rpc_fail(failure, "DockerError", "Docker internal error: %s.", text);
		return reply->http_status == 400 ? -EINVAL : -EIO;
	}
}

int docker_senseless(const struct zerr *err, struct rpc_failure *failure)
{
	rpc_fail(failure, "DockerError",
		 "Docker internal error: the engine's answer is not understood: %s.", err->msg);
	return -EIO;
}

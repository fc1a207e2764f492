/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: presence by policy, pull, digest, and the defaults that an image gives
 * to a container.
 * Process: worker.  Privileges: none.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/driver/docker_ops.h"
#include "unpriv/driver/docker_pull.h"
#include "unpriv/driver/docker_state.h"
#include "unpriv/driver/docker_text.h"
#include "unpriv/image/image_name.h"

#define PULL_SILENCE_S 60   /* a pull without progress for so long is given up … */
#define PULL_TOTAL_S   3600 /* … and any pull after an hour */

enum pull_policy { PULL_ALWAYS, PULL_IF_NOT_PRESENT, PULL_NEVER, PULL_POLICY_COUNT };

/* 0 with *image owned; -ENOENT when the engine has no such image. */
static int look_at_image(struct driver *driver, const char *reference, struct docker_image *image,
			 struct rpc_failure *failure)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	struct req_docker_image_inspect message = {.wait_ms = docker_wait_ms(driver, 0),
						   .image = zstr_from(reference)};
	const struct docker_request request = {.number = PRIV_docker_image_inspect,
					       .message = &message,
					       .api_minor = &message.api_minor,
					       .body_max = DOCKER_INSPECT_MAX};
	struct zerr err = {0};
	int result = docker_call(driver, &request, &reply, failure);

	if (result < 0)
		return result;
	if (!docker_good(&reply))
		return docker_refused(&reply, failure);
	result = docker_image_read(reply.body.data, reply.body.length, image, &err);
	return result < 0 ? docker_senseless(&err, failure) : 0;
}

/* The image that is there is the one that was named by its digest (K31). */
static int check_digest(const struct image_name *name, const struct docker_image *image,
			struct rpc_failure *failure)
{
	if (name->digest[0] == '\0' ||
	    docker_image_has_digest(image, name->repository, name->digest))
		return 0;
	rpc_fail(failure, "ZunException", "The image %s that the engine has is of another digest",
		 name->reference);
	return -EIO;
}

static int image_missing(const struct image_name *name, const char *why,
			 struct rpc_failure *failure)
{
	rpc_fail(failure, "ImageNotFound", "Image %s was not found%s", name->reference, why);
	return -ENOENT;
}

static int pull_failed(const struct image_name *name, const char *reason,
		       struct rpc_failure *failure)
{
	/* The row gets the contract's text; the cause is for the operator. */
	zlog_warning("image %s: pull failed: %s", name->reference, reason);
	rpc_fail(failure, "ZunException", "Error on pulling image: %s", name->reference);
	return -EIO;
}

/* When a pull is given up. */
struct pull_limits {
	uint64_t silence_ms, total_ms;
};

static int check_limits(const struct pull_limits *limits, struct zerr *err)
{
	uint64_t now_ms = zfd_now_ms();

	if (now_ms >= limits->total_ms)
		return zerr_set(err, -ETIMEDOUT, "not done in %d s", PULL_TOTAL_S);
	if (now_ms >= limits->silence_ms)
		return zerr_set(err, -ETIMEDOUT, "no progress for %d s", PULL_SILENCE_S);
	return 0;
}

/* The next part of the stream.  1, 0 at its end, or a negative errno with *err. */
static int follow(struct docker_reply *reply, struct pull_limits *limits,
		  struct pull_stream *stream, struct zerr *err)
{
	uint64_t lines = stream->lines;
	uint64_t deadline_ms =
		limits->silence_ms < limits->total_ms ? limits->silence_ms : limits->total_ms;
	struct zstr bytes;
	int result = body_reader_next(&reply->reader, deadline_ms, &bytes);

	if (result < 0 && result != -ETIMEDOUT)
		return zerr_set(err, result, "the engine's answer was cut off");
	if (result == 0)
		return pull_stream_end(stream, err);
	if (result > 0)
		result = pull_stream_feed(stream, bytes, err);
	if (result < 0 && result != -ETIMEDOUT)
		return result;
	/* Only whole lines are progress: bytes alone may trickle for ever. */
	if (stream->lines > lines)
		limits->silence_ms = zfd_now_ms() + PULL_SILENCE_S * UINT64_C(1000);
	result = check_limits(limits, err);
	return result < 0 ? result : 1;
}

static int read_progress(const struct image_name *name, struct docker_reply *reply,
			 struct rpc_failure *failure)
{
	_cleanup_(pull_stream_clear) struct pull_stream stream = {0};
	struct pull_limits limits = {.silence_ms = zfd_now_ms() + PULL_SILENCE_S * UINT64_C(1000),
				     .total_ms = zfd_now_ms() + PULL_TOTAL_S * UINT64_C(1000)};
	struct zerr err = {0};
	int result = pull_stream_init(&stream);

	if (result < 0)
		return pull_failed(name, "out of memory", failure);
	do
		result = follow(reply, &limits, &stream, &err);
	while (result > 0);
	if (stream.failed && stream.code == 404)
		return image_missing(name, "", failure);
	if (stream.failed)
		return pull_failed(name, stream.message, failure);
	return result < 0 ? pull_failed(name, err.msg, failure) : 0;
}

static int pull(struct driver *driver, const struct image_name *name, struct rpc_failure *failure)
{
	_cleanup_(docker_reply_clear) struct docker_reply reply = DOCKER_REPLY_INIT;
	struct docker_actor actor = docker_actor(driver);
	struct req_docker_image_pull message = {.request_id = actor.request_id,
						.project_id = actor.project_id,
						.user_id = actor.user_id,
						.wait_ms = PULL_SILENCE_S * 1000,
						.image = zstr_from(name->reference)};
	const struct docker_request request = {.number = PRIV_docker_image_pull,
					       .message = &message,
					       .api_minor = &message.api_minor,
					       .stream = true};
	char reason[PULL_MESSAGE_MAX];
	int result = docker_call(driver, &request, &reply, failure);

	/* The engine lives, but its registry does not answer it. */
	if (result < 0 && reply.silent)
		return pull_failed(name, "no answer from the registry", failure);
	if (result < 0)
		return result;
	if (docker_good(&reply))
		return read_progress(name, &reply, failure);
	if (reply.http_status == 404)
		return image_missing(name, "", failure);
	docker_error_message(reply.http_status, (struct zstr){reply.body.data, reply.body.length},
			     reason, sizeof(reason));
	return pull_failed(name, reason, failure);
}

static enum pull_policy read_policy(const struct container *row)
{
	static const char *const names[] = {[PULL_ALWAYS] = "always",
					    [PULL_IF_NOT_PRESENT] = "ifnotpresent",
					    [PULL_NEVER] = "never"};
	const char *text = container_text(row, CONTAINER_image_pull_policy);

	if (text[0] == '\0')
		return PULL_ALWAYS;
	for (size_t i = 0; i < PULL_POLICY_COUNT; i++) {
		if (strcmp(text, names[i]) == 0)
			return (enum pull_policy)i;
	}
	return PULL_POLICY_COUNT;
}

/* Checks what the row asks for before the engine is asked (known-faults F24). */
static int read_wish(const struct container *row, struct image_name *name, enum pull_policy *policy,
		     struct rpc_failure *failure)
{
	const char *source = container_text(row, CONTAINER_image_driver);

	*policy = read_policy(row);
	if (source[0] != '\0' && strcmp(source, "docker") != 0)
		rpc_fail(failure, "Invalid", "This host has no image driver '%s'", source);
	else if (*policy == PULL_POLICY_COUNT)
		rpc_fail(failure, "Invalid",
			 "image_pull_policy: expected always, ifnotpresent or never");
	else if (image_name_read(row->image, name) < 0)
		rpc_fail(failure, "Invalid", "'%s' is not a valid image name",
			 container_text(row, CONTAINER_image));
	else
		return 0;
	return -EINVAL;
}

int docker_image_ready(struct driver *driver, struct container *row, struct rpc_failure *failure)
{
	_cleanup_(docker_image_clear) struct docker_image image = {0};
	struct image_name name;
	enum pull_policy policy;
	int result = read_wish(row, &name, &policy, failure);

	if (result < 0)
		return result;
	if (policy != PULL_ALWAYS) {
		result = look_at_image(driver, name.reference, &image, failure);
		if (result == 0)
			return check_digest(&name, &image, failure);
		if (result != -ENOENT)
			return result;
		if (policy == PULL_NEVER)
			return image_missing(&name, " on this host, and its pull policy is never",
					     failure);
	}
	result = pull(driver, &name, failure);
	if (result < 0)
		return result;
	/* What the engine reports as done has to be there. */
	result = look_at_image(driver, name.reference, &image, failure);
	if (result == -ENOENT)
		return pull_failed(&name, "the engine has no such image after the pull", failure);
	return result < 0 ? result : check_digest(&name, &image, failure);
}

int docker_image_defaults(struct driver *driver, const char *reference, struct container *row,
			  struct rpc_failure *failure)
{
	_cleanup_(docker_image_clear) struct docker_image image = {0};
	bool no_command = docker_same_strings(row->command, NULL);
	bool no_entrypoint = docker_same_strings(row->entrypoint, NULL);
	int result;

	if (!no_command && !no_entrypoint)
		return 0;
	result = look_at_image(driver, reference, &image, failure);
	if (result == -ENOENT)
		rpc_fail(failure, "ImageNotFound", "Image %s was not found", reference);
	if (result < 0)
		return result;
	if (no_command && image.command != NULL)
		result = docker_set_json(row, CONTAINER_command, image.command);
	if (result == 0 && no_entrypoint && image.entrypoint != NULL)
		result = docker_set_json(row, CONTAINER_entrypoint, image.entrypoint);
	if (result < 0)
		rpc_fail(failure, "ZunException", "Out of memory");
	return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A docker domain without an engine and a sandbox without walls, so that the
 * helper loop can be tested as what it is.  Runs in tests only.
 */
#include "fake.h"

#include "common/zfd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void do_noop(struct helper *helper, const void *request, void *answer,
		    struct helper_result *result)
{
	const struct req_docker_noop *noop = request;
	struct ans_docker_noop *out = answer;
	(void)helper;
	(void)result;
	out->payload = noop->payload;
}

static void answer_http(void *answer, uint16_t status)
{
	struct ans_docker_engine_info *out =
		answer; /* the same for every row that asks the engine */
	out->http_status = status;
	out->framing = PROTO_BODY_NONE;
}

static void do_well(struct helper *helper, const void *request, void *answer,
		    struct helper_result *result)
{
	(void)helper;
	(void)request;
	(void)result;
	answer_http(answer, 204);
}

static void do_missing(struct helper *helper, const void *request, void *answer,
		       struct helper_result *result)
{
	(void)helper;
	(void)request;
	(void)result;
	answer_http(answer, 404);
}

static void do_not_ours(struct helper *helper, const void *request, void *answer,
			struct helper_result *result)
{
	(void)helper;
	(void)request;
	(void)answer;
	result->status = PROTO_NOT_OURS;
	result->rule = "not_ours";
}

static void do_no_engine(struct helper *helper, const void *request, void *answer,
			 struct helper_result *result)
{
	static const char text[] =
		"engine_unreachable: a rule that is longer than an answer may carry, so long "
		"that the loop has to cut it, as it should, instead of breaking the table of "
		"requests for it; nobody would ever write such a long one, would they?";
	(void)helper;
	(void)request;
	(void)answer;
	result->status = PROTO_NO_ENGINE;
	result->rule = text;
}

static void do_break_table(struct helper *helper, const void *request, void *answer,
			   struct helper_result *result)
{
	(void)helper;
	(void)request;
	(void)result;
	answer_http(answer, 7);
}

static void feed_pipe(struct helper *helper)
{
	assert_int_equal(zfd_write_all(helper->pipe_write, "the rest", 8), 0);
	zfd_closep(&helper->pipe_write);
}

static void do_pipe(struct helper *helper, const void *request, void *answer,
		    struct helper_result *result)
{
	int ends[2];
	(void)request;
	if (pipe2(ends, O_CLOEXEC) < 0)
		_exit(99);
	answer_http(answer, 200);
	helper->pipe_write = ends[1];
	result->fd = ends[0];
	result->after = feed_pipe;
}

/* Ends the process in a way that no exit status tells. */
static void do_die(struct helper *helper, const void *request, void *answer,
		   struct helper_result *result)
{
	(void)helper;
	(void)request;
	(void)answer;
	(void)result;
	(void)raise(SIGKILL);
}

static void do_create(struct helper *helper, const void *request, void *answer,
		      struct helper_result *result)
{
	const struct req_docker_container_create *create = request;
	struct ans_docker_container_create *out = answer;
	(void)helper;
	(void)result;
	answer_http(answer, 201);
	out->content_length = create->command_count; /* lets a test see that the fields arrived */
	if (create->command_count > 0)
		out->body = (struct zstr){create->command[create->command_count - 1].data, 4};
}

/* In the order of the table. */
static helper_handler *const handlers[] = {
	NULL,		/* hello */
	NULL,		/* open_channel */
	do_noop,	/* noop */
	do_pipe,	/* engine_version */
	do_well,	/* engine_info */
	do_well,	/* container_list */
	do_create,	/* container_create */
	do_not_ours,	/* container_inspect */
	do_well,	/* container_start */
	do_well,	/* container_stop */
	do_no_engine,	/* container_restart */
	do_not_ours,	/* container_kill */
	do_die,		/* container_pause */
	do_well,	/* container_unpause */
	do_missing,	/* container_delete */
	do_break_table, /* image_inspect */
	do_well,	/* image_pull */
};

static void subject(const struct proto_row *row, const void *request, struct audit_entry *entry)
{
	const struct proto_field *uuid = proto_field_find(row->fields, row->field_count, "uuid");
	entry->object_type = uuid != NULL ? "container" : "";
	if (uuid != NULL)
		uuid_format((const uint8_t *)request + uuid->offset, entry->object_id);
}

static const char *judge(const struct helper *helper, const struct proto_row *row,
			 const void *request)
{
	const struct req_docker_container_create *create = request;
	(void)helper;
	return row->number == PRIV_docker_container_create && create->privileged ? "privileged"
										 : NULL;
}

const struct helper_domain fake_domain = {.domain = PROTO_DOCKER,
					  .name = "docker",
					  .handlers = handlers,
					  .subject = subject,
					  .judge = judge};

void fake_prepare(struct fake *fake)
{
	struct zerr err = {0};
	int pair[2];
	*fake = (struct fake){.child = -1, .path = "/tmp/keelson-helper-XXXXXX"};
	fake_confine_result = 0;
	assert_non_null(mkdtemp(fake->path));
	fake->directory = open(fake->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (audit_open(&fake->audit, fake->directory, "docker", false, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(helper_channel(pair), 0);
	fake->site.broker_uid = getuid();
	fake->channel = pair[1];
	fake->helper = (struct helper){.domain = &fake_domain,
				       .site = &fake->site,
				       .audit = &fake->audit,
				       .channel = pair[0],
				       .signals = -1,
				       .first = true};
}

void fake_run(struct fake *fake)
{
	sigset_t mask;
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGTERM);
	(void)sigaddset(&mask, SIGCHLD);
	fake->child = fork();
	if (fake->child == 0) {
		zfd_closep(&fake->channel);
		(void)sigprocmask(SIG_BLOCK, &mask, NULL);
		fake->helper.signals = signalfd(-1, &mask, SFD_CLOEXEC);
		_exit(helper_serve(&fake->helper));
	}
	zfd_closep(&fake->helper.channel);
}

int fake_wait(struct fake *fake)
{
	int status = -1;
	assert_int_equal(waitpid(fake->child, &status, 0), fake->child);
	fake->child = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int fake_finish(struct fake *fake)
{
	zfd_closep(&fake->channel);
	zfd_closep(&fake->helper.channel);
	int status = fake->child > 0 ? fake_wait(fake) : 0;
	audit_close(&fake->audit);
	(void)unlinkat(fake->directory, "docker.log", 0);
	(void)unlinkat(fake->directory, "docker.state", 0);
	(void)rmdir(fake->path);
	zfd_closep(&fake->directory);
	return status;
}

const char *fake_log(struct fake *fake)
{
	static char text[1 << 18];
	_cleanup_fd_ int log = openat(fake->directory, "docker.log", O_RDONLY | O_CLOEXEC);
	ssize_t got = zfd_read_all(log, text, sizeof(text) - 1);
	assert_true(got >= 0);
	text[got] = '\0';
	return text;
}

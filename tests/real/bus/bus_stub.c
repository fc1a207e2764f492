/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real dispatcher and publisher over workers of straw: for tests of the bus
 * without a database or an engine.  Test program; no sandbox.
 *     bus_stub CONFIG-FILE STATE-FOLDER
 * A worker classifies as the real one does.  What it does with a job stands in
 * the container's name: sleep=SECONDS, die, die-once, big=BYTES, unstored-once,
 * silent; each step is a line in STATE-FOLDER/trace.
 */
#include "common/zfd.h"
#include "common/zlog.h"
#include "unpriv/base/intent.h"
#include "unpriv/compute/dispatcher.h"
#include "unpriv/rpc/envelope.h"
#include "unpriv/rpc/publisher.h"
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct stub {
	struct config config;
	const char *state;
	int trace; /* in a worker */
	struct intent_log intents;
};

struct work {
	struct job_request request;
	struct job_result result;
	struct rpc_message message;
	struct rpc_failure failure;
	char name[256]; /* of the container */
	int reply;
};

__attribute__((format(printf, 2, 3))) static void trace(const struct stub *stub, const char *format,
							...)
{
	char line[512];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line) - 1, format, arguments);
	va_end(arguments);
	if (length <= 0)
		return;
	length = length < (int)sizeof(line) - 1 ? length : (int)sizeof(line) - 2;
	line[length++] = '\n';
	(void)!write(stub->trace, line, (size_t)length);
}

static void find_name(struct work *work)
{
	struct json_object *container, *data, *name;

	if (json_object_object_get_ex(work->message.args, "container", &container) &&
	    json_object_object_get_ex(container, "zun_object.data", &data) &&
	    json_object_object_get_ex(data, "name", &name) && json_object_get_string(name))
		(void)snprintf(work->name, sizeof(work->name), "%s", json_object_get_string(name));
}

/* An intent keeps no name of a container: it is remembered in a file of its own. */
static void keep_name(const struct stub *stub, struct work *work)
{
	char path[512];
	int fd;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "%s/name-%s", stub->state, work->result.record.uuid);
	if (work->name[0] != '\0') {
		fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
		(void)!write(fd, work->name, strlen(work->name));
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		length = read(fd, work->name, sizeof(work->name) - 1);
		work->name[length > 0 ? length : 0] = '\0';
	}
	zfd_closep(&fd);
}

/* The number behind word= in the name, or 0. */
static uint64_t number_of(const struct work *work, const char *word)
{
	const char *at = strstr(work->name, word);
	uint64_t value = 0;

	for (at = at ? at + strlen(word) : ""; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

static bool says(const struct work *work, const char *word)
{
	return strstr(work->name, word) != NULL;
}

/* True the first time for this word and uuid. */
static bool first_time(const struct stub *stub, const struct work *work, const char *word)
{
	char path[512];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/once-%s-%s", stub->state, word,
		       work->request.record.uuid);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	(void)close(fd);
	return true;
}

static char *read_text(int fd, size_t *length)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)end + 1);

	*length = (size_t)end;
	if (!text || pread(fd, text, *length, 0) != (ssize_t)end)
		abort();
	text[end] = '\0';
	return text;
}

static void make_reply(struct work *work, struct json_object *result)
{
	_cleanup_free_ char *text =
		rpc_reply(&work->result.record, result, &work->failure, (size_t)64 << 20);

	work->reply = zfd_sealed_memfd("reply", text, strlen(text));
}

static int write_intent(struct stub *stub, struct work *work)
{
	struct job_record *record = &work->result.record;
	_cleanup_free_ char *line = NULL;
	int result = intent_name(work->request.record.intent, record->unique_id, record->intent);

	if (result < 0)
		return result;
	line = rpc_message_to_intent(&work->message, record);
	return line ? intent_create(&stub->intents, record->intent, line, strlen(line)) : -ENOMEM;
}

static void classify(struct stub *stub, struct work *work, int fd)
{
	struct job_record *record = &work->result.record;
	_cleanup_free_ char *text = NULL;
	struct zerr err = {0};
	size_t length;

	text = read_text(fd, &length);
	*record = work->request.record;
	if (strstr(text, "kill-the-classifier"))
		abort();
	if (record->resumed) {
		if (rpc_message_from_intent(text, length, record, &work->message, &err) < 0) {
			trace(stub, "unreadable %s %s", record->intent, err.msg);
			record->verdict = VERDICT_REJECT;
		} else {
			record->verdict = VERDICT_RUN;
		}
		return;
	}
	record->intent[0] = '\0';
	rpc_classify(text, length, work->request.content_type, record, &work->message,
		     &work->failure);
	if (record->verdict == VERDICT_ANSWERED && record->call)
		make_reply(work, NULL);
	if (record->verdict == VERDICT_RUN && !record->call) {
		work->result.status = write_intent(stub, work);
		find_name(work);
		keep_name(stub, work);
	}
}

static void pause_for(uint64_t milliseconds)
{
	struct timespec time = {.tv_sec = (time_t)(milliseconds / 1000),
				.tv_nsec = (long)(milliseconds % 1000) * 1000000};

	(void)nanosleep(&time, NULL);
}

static struct json_object *big_text(uint64_t length)
{
	char *text = malloc((size_t)length + 1);
	struct json_object *value;

	if (!text)
		abort();
	memset(text, 'x', (size_t)length);
	text[length] = '\0';
	value = json_object_new_string(text);
	free(text);
	return value;
}

static void answer(struct work *work)
{
	struct json_object *result;

	if (says(work, "silent"))
		return;
	if (says(work, "big="))
		result = big_text(number_of(work, "big="));
	else
		result = json_object_new_string(work->name);
	make_reply(work, result);
	json_object_put(result);
}

static void run(struct stub *stub, struct work *work, int fd)
{
	struct job_record *record = &work->result.record;
	_cleanup_free_ char *text = NULL;
	struct zerr err = {0};
	size_t length;

	*record = work->request.record;
	text = read_text(fd, &length);
	if (record->resumed) {
		if (rpc_message_from_intent(text, length, record, &work->message, &err) < 0)
			abort();
		keep_name(stub, work);
	} else {
		struct job_record again = {0};

		rpc_classify(text, length, "application/json", &again, &work->message,
			     &work->failure);
		find_name(work);
	}
	*record = work->request.record;
	trace(stub, "begin %s %s %d%s", rpc_method_row(record->method)->name, record->uuid,
	      (int)getpid(), record->resumed ? " resumed" : "");
	if (says(work, "die-always") || (says(work, "die-once") && first_time(stub, work, "die")))
		abort();
	pause_for(number_of(work, "sleep=") * 1000 + number_of(work, "ms="));
	work->result.outcome_stored =
		!(says(work, "unstored-once") && first_time(stub, work, "store"));
	if (record->call)
		answer(work);
	trace(stub, "end %s %s", rpc_method_row(record->method)->name, record->uuid);
}

/* A file of uuids, two a page, so that paging is seen. */
static void recover(const struct stub *stub, struct work *work)
{
	char path[512], uuid[64];
	FILE *file;
	unsigned count = 0;

	(void)snprintf(path, sizeof(path), "%s/rows", stub->state);
	file = fopen(path, "re");
	while (file && fgets(uuid, sizeof(uuid), file)) {
		uuid[36] = '\0';
		if (strcmp(uuid, work->request.record.uuid) <= 0)
			continue;
		if (count == 2) {
			work->result.more = true;
			break;
		}
		memcpy(work->result.uuids + 36 * count++, uuid, 36);
	}
	if (file)
		(void)fclose(file);
	trace(stub, "page %u", count);
}

static void do_job(struct stub *stub, struct work *work, int fd)
{
	switch (work->request.kind) {
	case JOB_CLASSIFY:
		classify(stub, work, fd);
		break;
	case JOB_RUN:
		run(stub, work, fd);
		break;
	case JOB_ABANDON:
		trace(stub, "abandon %s", work->request.record.uuid);
		work->result.outcome_stored = true;
		break;
	case JOB_RECOVER:
		recover(stub, work);
		break;
	case JOB_RECOVER_ONE:
		trace(stub, "recover %s", work->request.record.uuid);
		break;
	case JOB_HEARTBEAT:
		trace(stub, "heartbeat");
		break;
	case JOB_INVENTORY:
		trace(stub, "inventory");
		break;
	}
}

static void serve(struct stub *stub, int jobs)
{
	uint8_t data[JOB_PACKET_MAX];
	struct zfd_packet packet = {.data = data, .size = sizeof(data)};
	struct work work = {.reply = -1};
	struct zwriter writer;

	if (zfd_receive(jobs, &packet, 0) <= 0)
		exit(0);
	if (job_get_request(packet.data, packet.length, &work.request) < 0)
		abort();
	work.result.id = work.request.id;
	do_job(stub, &work, packet.fds[0]);
	zfd_packet_close(&packet);
	rpc_message_clear(&work.message);
	zwriter_init(&writer, data, sizeof(data));
	job_put_result(&writer, &work.result);
	if (zfd_send(jobs, data, writer.used, &work.reply, work.reply >= 0, 0) < 0)
		exit(0);
	zfd_closep(&work.reply);
}

static void hook_work(void *context, int jobs, int channel)
{
	struct stub *stub = context;
	struct zerr err = {0};
	char path[512];

	(void)channel;
	zlog_setup("worker", ZLOG_INFO, false);
	(void)snprintf(path, sizeof(path), "%s/trace", stub->state);
	stub->trace = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (stub->trace < 0 || intent_log_open(&stub->intents, stub->state, &err) < 0)
		abort();
	for (;;)
		serve(stub, jobs);
}

static void hook_publish(void *context, int socket)
{
	struct stub *stub = context;

	zlog_setup("publisher", stub->config.debug ? ZLOG_DEBUG : ZLOG_INFO, false);
	publisher_main(&stub->config, socket, NULL);
}

int main(int argc, char **argv)
{
	static const struct dispatcher_hooks hooks = {.work = hook_work, .publish = hook_publish};
	static struct stub stub;
	struct zerr err = {0};
	struct dispatcher_options options = {
		.config = &stub.config, .launcher = -1, .hooks = &hooks, .context = &stub};
	const char *files[2] = {argc > 1 ? argv[1] : NULL, NULL};
	struct config_source source = {.files = files, .program = "zun-compute"};

	if (argc != 3)
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	zlog_setup("dispatcher", ZLOG_INFO, false);
	stub.state = options.state_directory = argv[2];
	if (config_load(&source, &stub.config, &err) < 0 ||
	    (zlog_setup("dispatcher", stub.config.debug ? ZLOG_DEBUG : ZLOG_INFO, false),
	     dispatcher_run(&options, &err) < 0)) {
		zlog_error("%s", err.msg);
		return 1;
	}
	zlog_info("stopped");
	config_free(&stub.config);
	return 0;
}

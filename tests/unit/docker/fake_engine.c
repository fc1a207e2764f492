/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted engine and the bench for handlers (fake_engine.h).  Tests only. */
#include "fake_engine.h"
#include "common/zfd.h"
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

const uint8_t test_uuid[UUID_SIZE] = {0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f, 0x4a, 0x6b,
				      0x8c, 0x7d, 0x9e, 0x0f, 0x1a, 0x2b, 0x3c, 0x4d};

static void check(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	abort();
}

static void wait_ms(unsigned ms)
{
	if (ms > 0)
		(void)poll(NULL, 0, (int)ms);
}

/* The length of the whole request in text, or 0 while it is not known or not there. */
static size_t request_length(const char *text, size_t used)
{
	const char *end = memmem(text, used, "\r\n\r\n", 4);
	const char *field = memmem(text, used, "Content-Length: ", 16);
	size_t whole;
	if (end == NULL)
		return 0;
	whole = (size_t)(end - text) + 4;
	if (field != NULL && field < end)
		whole += strtoul(field + 16, NULL, 10);
	return whole;
}

static void keep_request(int fd, struct fake_record *record, unsigned number)
{
	static char text[8 * 1024 * 1024];
	size_t used = 0;
	size_t whole = 0;
	while (used < sizeof(text) && (whole == 0 || used < whole)) {
		ssize_t n = read(fd, text + used, sizeof(text) - used);
		if (n <= 0)
			break;
		used += (size_t)n;
		whole = request_length(text, used);
	}
	if (number >= FAKE_REQUESTS)
		return;
	record->requests[number].length = used;
	memcpy(record->requests[number].text, text,
	       used < FAKE_REQUEST_MAX - 1 ? used : FAKE_REQUEST_MAX - 1);
}

static void answer(int fd, const struct fake_step *step)
{
	size_t length = step->length > 0 ? step->length : strlen(step->answer);
	size_t piece = step->piece > 0 ? step->piece : length;
	size_t repeat = step->repeat > 0 ? step->repeat : 1;
	wait_ms(step->before_ms);
	for (size_t round = 0; round < repeat; round++) {
		for (size_t at = 0; at < length; at += piece) {
			size_t n = length - at < piece ? length - at : piece;
			if (zfd_write_all(fd, step->answer + at, n) < 0)
				return;
			wait_ms(step->between_ms);
		}
	}
	/* Kept open, unless the other side has closed. */
	if (step->linger_ms > 0) {
		struct pollfd entry = {.fd = fd, .events = POLLRDHUP};
		(void)poll(&entry, 1, (int)step->linger_ms);
	}
}

static _Noreturn void serve(int listener, const struct fake_step *steps, size_t count,
			    struct fake_record *record)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < count; i++) {
		int fd = accept(listener, NULL, NULL);
		check(fd >= 0, "accept");
		if (!steps[i].deaf)
			keep_request(fd, record, (unsigned)i);
		record->count++;
		answer(fd, &steps[i]);
		close(fd);
	}
	close(listener);
	_exit(0);
}

void fake_start(struct fake_engine *engine, const struct fake_step *steps, size_t count)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memset(engine, 0, sizeof(*engine));
	strncpy(engine->folder, "/tmp/keelson-engine-XXXXXX", sizeof(engine->folder) - 1);
	check(mkdtemp(engine->folder) != NULL, "mkdtemp");
	(void)snprintf(engine->path, sizeof(engine->path), "%s/docker.sock", engine->folder);
	memcpy(address.sun_path, engine->path, sizeof(engine->path));
	check(bind(listener, (const struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	check(listen(listener, 4) == 0, "listen");
	engine->record = mmap(NULL, sizeof(*engine->record), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(engine->record != MAP_FAILED, "mmap");
	engine->pid = fork();
	check(engine->pid >= 0, "fork");
	if (engine->pid == 0)
		serve(listener, steps, count, engine->record);
	close(listener);
}

void fake_stop(struct fake_engine *engine)
{
	(void)kill(engine->pid, SIGKILL);
	(void)waitpid(engine->pid, NULL, 0);
	(void)unlink(engine->path);
	(void)rmdir(engine->folder);
	(void)munmap(engine->record, sizeof(*engine->record));
}

const char *fake_request(const struct fake_engine *engine, unsigned n)
{
	return engine->record->requests[n].text;
}

void set_list(struct site_list *list, const char *const *items)
{
	size_t used = 0;
	memset(list, 0, sizeof(*list));
	for (; *items != NULL; items++) {
		if (strcmp(*items, "*") == 0) {
			list->any = true;
			continue;
		}
		memcpy(list->text + used, *items, strlen(*items) + 1);
		list->items[list->count++] = list->text + used;
		used += strlen(*items) + 1;
	}
}

void bench_open(struct bench *bench, const char *socket_path)
{
	static const char *const any[] = {"*", NULL};
	(void)signal(SIGPIPE, SIG_IGN);
	memset(bench, 0, sizeof(*bench));
	set_list(&bench->site.runtimes, any);
	set_list(&bench->site.registries, any);
	bench->helper.domain = &docker_domain;
	bench->helper.site = &bench->site;
	bench->helper.shared = docker_shared_new(socket_path);
	check(bench->helper.shared != NULL, "docker_shared_new");
	bench->helper.pipe_write = -1;
	bench->helper.engine = -1;
	bench->result.fd = -1;
}

void bench_call(struct bench *bench, uint16_t number, const void *request)
{
	const struct proto_row *row = proto_find(PROTO_DOCKER, number);
	bench_drop(bench);
	bench->helper.wait_ms = (uint32_t)proto_integer(
		proto_field_find(row->fields, row->field_count, "wait_ms"), request);
	bench->result = (struct helper_result){.rule = "", .fd = -1};
	memset(&bench->answer, 0, sizeof(bench->answer));
	bench->rule = docker_domain.judge(&bench->helper, row, request);
	docker_domain.handlers[row->index](&bench->helper, request, &bench->answer, &bench->result);
}

ssize_t bench_rest(struct bench *bench, char *out, size_t size)
{
	size_t used = 0;
	pid_t child;
	if (bench->result.fd < 0)
		return -1;
	child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		zfd_closep(&bench->result.fd);
		bench->result.after(&bench->helper);
		_exit(bench->helper.engine == -1 && bench->helper.pipe_write == -1 ? 0 : 1);
	}
	zfd_closep(&bench->helper.engine);
	zfd_closep(&bench->helper.pipe_write);
	while (used < size) {
		ssize_t n = read(bench->result.fd, out + used, size - used);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	zfd_closep(&bench->result.fd);
	check(waitpid(child, NULL, 0) == child, "waitpid");
	return (ssize_t)used;
}

void bench_drop(struct bench *bench)
{
	zfd_closep(&bench->result.fd);
	zfd_closep(&bench->helper.engine);
	zfd_closep(&bench->helper.pipe_write);
}

void bench_close(struct bench *bench)
{
	bench_drop(bench);
	(void)munmap(bench->helper.shared, sizeof(struct docker_shared));
}

unsigned count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;
	check(folder != NULL, "/proc/self/fd");
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The docker domain with its loop and a client (stack.h).  Tests only. */
#include "stack.h"
#include "common/zfd.h"
#include "fake_engine.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	abort();
}

void stack_prepare(struct stack *stack, const char *socket_path)
{
	static const char *const any[] = {"*", NULL};
	_cleanup_fd_ int folder = -1;
	memset(stack, 0, sizeof(*stack));
	(void)snprintf(stack->folder, sizeof(stack->folder), "/tmp/keelson-stack-XXXXXX");
	check(mkdtemp(stack->folder) != NULL ? 0 : -1, "mkdtemp");
	folder = open(stack->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(audit_open(&stack->audit, folder, "docker", false, &stack->err), stack->err.msg);
	set_list(&stack->site.runtimes, any);
	set_list(&stack->site.registries, any);
	stack->site.broker_uid = getuid();
	stack->helper.domain = &docker_domain;
	stack->helper.site = &stack->site;
	stack->helper.audit = &stack->audit;
	stack->helper.signals = -1;
	stack->helper.shared = docker_shared_new(socket_path);
	check(stack->helper.shared != NULL ? 0 : -1, "docker_shared_new");
}

void stack_run(struct stack *stack)
{
	int pair[2];
	check(helper_channel(pair), "helper_channel");
	stack->child = fork();
	check(stack->child, "fork");
	if (stack->child == 0) {
		(void)signal(SIGPIPE, SIG_IGN);
		close(pair[1]);
		stack->helper.channel = pair[0];
		_exit(helper_serve(&stack->helper));
	}
	close(pair[0]);
	check(priv_open(&stack->channel, pair[1], PROTO_DOCKER, &stack->err), stack->err.msg);
}

int stack_finish(struct stack *stack)
{
	static const char *const names[] = {"docker.log", "docker.state"};
	char path[128];
	int status;
	priv_close(&stack->channel);
	check(waitpid(stack->child, &status, 0), "waitpid");
	audit_close(&stack->audit);
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", stack->folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(stack->folder);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

unsigned stack_descriptors(const struct stack *stack)
{
	char path[64];
	DIR *folder;
	unsigned count = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", stack->child);
	folder = opendir(path);
	check(folder != NULL ? 0 : -1, path);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

unsigned long stack_resident(const struct stack *stack)
{
	char path[64], line[128];
	unsigned long kib = 0;
	FILE *file;
	(void)snprintf(path, sizeof(path), "/proc/%d/status", stack->child);
	file = fopen(path, "re");
	check(file != NULL ? 0 : -1, path);
	while (fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = strtoul(line + 6, NULL, 10);
	(void)fclose(file);
	return kib;
}

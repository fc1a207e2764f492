/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson-launch as it is, with a stand-in for the broker: what the children are
 * given, how the service ends, what makes it refuse to begin.  Needs root.
 *     test_launch LAUNCHER BROKER
 */
#include "common/zfd.h"
#include "privsep/audit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SKIPPED	    77
#define PATIENCE_MS 20000
#define BROKER_UID  "65530"
#define DOCKER_UID  "65531"
#define ENGINE_GID  "65532"

struct place {
	char base[64];
	char policy[96];
	char broker[96]; /* a copy that is root's */
	pid_t launcher;
};

static const char *launcher_program, *launcher_name, *broker_program;

static void path_of(const struct place *place, const char *name, char path[128])
{
	(void)snprintf(path, 128, "%s/%s", place->base, name);
}

static void write_policy(const struct place *place, const char *more)
{
	FILE *policy = fopen(place->policy, "we");
	assert_non_null(policy);
	fprintf(policy,
		"docker_socket = %s/engine/docker.sock\ndocker_group = " ENGINE_GID
		"\nbroker_user = " BROKER_UID "\ndocker_user = " DOCKER_UID
		"\naudit_directory = %s/audit\nstate_directory = %s/state\n"
		"run_directory = %s/run\n%s",
		place->base, place->base, place->base, place->base, more);
	assert_int_equal(fclose(policy), 0);
}

static void copy_broker(const struct place *place)
{
	static char data[64 << 20];
	_cleanup_fd_ int in = open(broker_program, O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int out = open(place->broker, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t size = zfd_read_all(in, data, sizeof(data));
	assert_true(size > 0);
	assert_int_equal(zfd_write_all(out, data, (size_t)size), 0);
}

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	char path[128];
	strcpy(place->base, "/tmp/keelson-launch-XXXXXX");
	assert_non_null(mkdtemp(place->base));
	assert_int_equal(chmod(place->base, 0755), 0);
	(void)snprintf(place->policy, sizeof(place->policy), "%s/policy.conf", place->base);
	(void)snprintf(place->broker, sizeof(place->broker), "%s/broker", place->base);
	path_of(place, "engine", path);
	assert_int_equal(mkdir(path, 0755), 0);
	write_policy(place, "");
	copy_broker(place);
	*state = place;
	return 0;
}

static void end_launcher(struct place *place)
{
	if (place->launcher <= 0)
		return;
	(void)kill(place->launcher, SIGKILL);
	(void)waitpid(place->launcher, NULL, 0);
	place->launcher = 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	end_launcher(place);
	pid_t remover = fork();
	if (remover == 0) {
		(void)execl("/bin/rm", "rm", "-rf", place->base, NULL);
		_exit(1);
	}
	(void)waitpid(remover, NULL, 0);
	free(place);
	return 0;
}

/* Starts the launcher, its output in the file log; options are its words behind the policy. */
static void start(struct place *place, const char *const *options)
{
	const char *words[16] = {launcher_program, "compute",  "--policy",
				 place->policy,	   "--broker", place->broker};
	union {
		const char **constant;
		char **plain;
	} argv = {.constant = words};
	char log[128];
	for (size_t i = 6; options != NULL && *options != NULL; i++)
		words[i] = *options++;
	path_of(place, "log", log);
	place->launcher = fork();
	assert_true(place->launcher >= 0);
	if (place->launcher > 0)
		return;
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
	(void)setenv("SECRET", "hush", 1);
	(void)setenv("OS_OPTION", "taken", 1);
	(void)execv(launcher_program, argv.plain);
	_exit(99);
}

static const char *read_log(const struct place *place)
{
	static char text[1 << 18];
	char log[128];
	path_of(place, "log", log);
	_cleanup_fd_ int fd = open(log, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : zfd_read_all(fd, text, sizeof(text) - 1);
	text[got < 0 ? 0 : got] = '\0';
	return text;
}

/* Waits until the log has the words so many times. */
static void wait_log(const struct place *place, const char *words, size_t times)
{
	uint64_t deadline = zfd_now_ms() + PATIENCE_MS;
	for (;;) {
		size_t found = 0;
		for (const char *at = read_log(place); (at = strstr(at, words)) != NULL; at++)
			found++;
		if (found >= times)
			return;
		if (zfd_now_ms() > deadline)
			fail_msg("no \"%s\" in the log:\n%s", words, read_log(place));
		(void)usleep(10000);
	}
}

/* The launcher's exit status, or -signal. */
static int wait_end(struct place *place)
{
	uint64_t deadline = zfd_now_ms() + PATIENCE_MS;
	int status;
	while (waitpid(place->launcher, &status, WNOHANG) == 0) {
		if (zfd_now_ms() > deadline)
			fail_msg("the launcher does not end:\n%s", read_log(place));
		(void)usleep(10000);
	}
	place->launcher = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void expect_log(const struct place *place, const char *words)
{
	if (strstr(read_log(place), words) == NULL)
		fail_msg("no \"%s\" in the log:\n%s", words, read_log(place));
}

static void expect_refused(struct place *place, const char *words)
{
	start(place, NULL);
	assert_int_equal(wait_end(place), 1);
	expect_log(place, words);
	assert_null(strstr(read_log(place), "descriptors 0"));
}

/* The first child of a process whose /proc status has this word. */
static pid_t child_of(pid_t parent, const char *name)
{
	char path[64], text[4096];
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	FILE *children = fopen(path, "re");
	long pid = 0;
	while (children != NULL && fgets(text, sizeof(text), children) != NULL)
		for (char *at = text, *end; (pid = strtol(at, &end, 10)) > 0 && end != at;
		     at = end) {
			(void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
			_cleanup_fd_ int comm = open(path, O_RDONLY | O_CLOEXEC);
			char found[32] = {0};
			if (comm >= 0 && read(comm, found, sizeof(found) - 1) > 0 &&
			    strncmp(found, name, strlen(name)) == 0)
				break;
		}
	if (children != NULL)
		(void)fclose(children);
	return (pid_t)pid;
}

static void expect_status(pid_t pid, const char *line)
{
	char path[64], text[8192] = {0};
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	_cleanup_fd_ int status = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(status >= 0 && zfd_read_all(status, text, sizeof(text) - 1) > 0);
	if (strstr(text, line) == NULL)
		fail_msg("no \"%s\" in\n%s", line, text);
}

static void test_a_service_starts_in_pieces_and_ends_in_order(void **state)
{
	struct place *place = *state;
	const char *const options[] = {"--", "one", "two", NULL};

	start(place, options);
	wait_log(place, "compute is ready", 1);

	expect_log(place, "descriptors 0 1 2 3 4 5.");
	expect_log(place, "status Uid:\t" BROKER_UID "\t" BROKER_UID "\t" BROKER_UID);
	expect_log(place, "status Gid:\t" BROKER_UID "\t" BROKER_UID "\t" BROKER_UID);
	expect_log(place, "status Groups:\t \n");
	expect_log(place, "status CapEff:\t0000000000000000");
	expect_log(place, "status CapBnd:\t0000000000000000");
	expect_log(place, "status NoNewPrivs:\t1");
	expect_log(place, "status SigBlk:\t0000000000000000");
	expect_log(place, "program keelson-compute, 2 arguments, secret hidden, option taken");
	expect_log(place, "write to state: yes");
	expect_log(place, "write to run: yes");
	expect_log(place, "write to tmp: Read-only file system");
	expect_log(place, "helper: 3 container_start: engine_unreachable");

	assert_int_equal(kill(place->launcher, SIGTERM), 0);
	assert_int_equal(wait_end(place), 0);
	expect_log(place, "compute stops");
}

static void test_launcher_and_helper_keep_next_to_nothing(void **state)
{
	struct place *place = *state;
	struct stat board;
	char path[128];

	start(place, NULL);
	wait_log(place, "compute is ready", 1);

	expect_status(place->launcher, "CapEff:\t0000000000000020"); /* CAP_KILL */
	expect_status(place->launcher, "CapBnd:\t0000000000000020");
#ifndef KEELSON_COVERAGE
	expect_status(place->launcher, "Seccomp:\t2");
#endif
	expect_status(place->launcher, "NoNewPrivs:\t1");
	pid_t helper = child_of(place->launcher, launcher_name);
	expect_status(helper, "Uid:\t" DOCKER_UID "\t" DOCKER_UID "\t" DOCKER_UID);
	expect_status(helper, "Groups:\t" ENGINE_GID " \n");
	expect_status(helper, "CapEff:\t0000000000000000");
	expect_status(helper, "CapBnd:\t0000000000000000");
#ifndef KEELSON_COVERAGE
	expect_status(helper, "Seccomp:\t2");
#endif
	path_of(place, "run/compute.docker.board", path);
	assert_int_equal(stat(path, &board), 0);
	assert_int_equal(board.st_mode & 0777, 0600);

	assert_int_equal(kill(place->launcher, SIGINT), 0);
	assert_int_equal(wait_end(place), 0);
	assert_int_equal(stat(path, &board), -1);
}

static void test_the_audit_log_of_a_service_verifies(void **state)
{
	struct place *place = *state;
	struct audit_report report;
	struct zerr err = {0};
	char path[128];

	for (int i = 0; i < 2; i++) {
		start(place, NULL);
		wait_log(place, "compute is ready", (size_t)i + 1);
		assert_int_equal(kill(place->launcher, SIGTERM), 0);
		assert_int_equal(wait_end(place), 0);
	}

	path_of(place, "audit/docker.log", path);
	_cleanup_fd_ int log = open(path, O_RDONLY | O_CLOEXEC);
	path_of(place, "audit/docker.state", path);
	_cleanup_fd_ int page = open(path, O_RDONLY | O_CLOEXEC);
	if (audit_verify(log, page, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.records, 4); /* asked and failed, twice */
}

static void test_the_end_of_the_broker_is_that_of_the_service(void **state)
{
	struct place *place = *state;
	const char *const options[] = {"--", "die", NULL};

	start(place, options);

	assert_int_equal(wait_end(place), 1);
	expect_log(place, ") ended with status 3");
}

static void test_the_end_of_the_helper_is_that_of_the_service(void **state)
{
	struct place *place = *state;
	const char *const options[] = {"--", "garbage", NULL};

	start(place, options);

	assert_int_equal(wait_end(place), 1);
	expect_log(place, "helper docker stops, status 81");
	expect_log(place, "docker helper (pid ");
	expect_log(place, ") ended with status 81");
}

static void test_a_broker_that_does_not_end_is_killed(void **state)
{
	struct place *place = *state;
	const char *const options[] = {"--stop-wait", "1", "--", "deaf", NULL};

	start(place, options);
	wait_log(place, "compute is ready", 1);
	assert_int_equal(kill(place->launcher, SIGTERM), 0);

	assert_int_equal(wait_end(place), 1);
	expect_log(place, "compute does not end: killed");
	expect_log(place, "was killed by signal 9");
}

static void test_sighup_is_handed_on(void **state)
{
	struct place *place = *state;

	start(place, NULL);
	wait_log(place, "compute is ready", 1);
	assert_int_equal(kill(place->launcher, SIGHUP), 0);
	wait_log(place, "signal 1", 1);

	assert_int_equal(kill(place->launcher, SIGTERM), 0);
	assert_int_equal(wait_end(place), 0);
}

static void test_nothing_outlives_a_killed_launcher(void **state)
{
	struct place *place = *state;
	pid_t children[2];

	start(place, NULL);
	wait_log(place, "compute is ready", 1);
	children[0] = child_of(place->launcher, launcher_name);
	children[1] = child_of(place->launcher, "broker");
	assert_true(children[0] > 0 && children[1] > 0);
	end_launcher(place);
	for (size_t i = 0; i < 2; i++) {
		uint64_t deadline = zfd_now_ms() + PATIENCE_MS;
		while (kill(children[i], 0) == 0 && zfd_now_ms() < deadline)
			(void)usleep(10000);
		assert_int_equal(kill(children[i], 0), -1);
	}

	start(place, NULL); /* nothing holds the lock */
	wait_log(place, "compute is ready", 2);
	assert_int_equal(kill(place->launcher, SIGTERM), 0);
	assert_int_equal(wait_end(place), 0);
}

static void test_a_second_launcher_is_refused(void **state)
{
	struct place *place = *state;

	start(place, NULL);
	wait_log(place, "compute is ready", 1);
	pid_t first = place->launcher;
	start(place, NULL);
	assert_int_equal(wait_end(place), 1);
	expect_log(place, "another launcher of it is running");

	place->launcher = first;
	assert_int_equal(kill(first, SIGTERM), 0);
	assert_int_equal(wait_end(place), 0);
}

static void test_respawn_begins_anew_until_it_is_told_to_end(void **state)
{
	struct place *place = *state;
	const char *const options[] = {"--respawn", "--", "die", NULL};

	start(place, options);
	wait_log(place, "compute failed: again in 2 s", 1);
	assert_int_equal(kill(place->launcher, SIGTERM), 0);

	assert_int_equal(wait_end(place), 0);
	expect_log(place, "compute failed: again in 1 s");
}

static void test_respawn_hands_signals_on_and_ends_with_its_service(void **state)
{
	struct place *place = *state;
	const char *const options[] = {"--respawn", NULL};

	start(place, options);
	wait_log(place, "compute is ready", 1);
	assert_int_equal(kill(place->launcher, SIGHUP), 0);
	wait_log(place, "signal 1", 1);
	assert_int_equal(kill(place->launcher, SIGTERM), 0);

	assert_int_equal(wait_end(place), 0);
}

static void test_a_policy_that_others_can_write_is_refused(void **state)
{
	struct place *place = *state;

	assert_int_equal(chmod(place->policy, 0666), 0);
	expect_refused(place, "compute not started: ");
	assert_int_equal(unlink(place->policy), 0);
	expect_refused(place, "policy.conf");
}

static void test_a_broker_that_others_can_write_is_refused(void **state)
{
	struct place *place = *state;

	assert_int_equal(chmod(place->broker, 0777), 0);
	expect_refused(place, "not a file that root alone can change");
	assert_int_equal(unlink(place->broker), 0);
	expect_refused(place, "No such file or directory");
}

static void test_without_the_engines_group_nothing_begins(void **state)
{
	struct place *place = *state;
	FILE *policy = fopen(place->policy, "we");

	assert_non_null(policy);
	fprintf(policy,
		"docker_socket = %s/engine/docker.sock\nbroker_user = " BROKER_UID
		"\ndocker_user = " DOCKER_UID "\n",
		place->base);
	assert_int_equal(fclose(policy), 0);

	expect_refused(place, "docker_group: not given");
}

static void test_folders_that_are_not_roots_alone_are_refused(void **state)
{
	struct place *place = *state;
	char path[128], link[128];

	path_of(place, "state", path);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chown(path, 12345, 0), 0);
	expect_refused(place, "not root's alone");
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(chmod(path, 0777), 0);
	expect_refused(place, "not root's alone");
	assert_int_equal(rmdir(path), 0);

	path_of(place, "elsewhere", link);
	assert_int_equal(mkdir(link, 0755), 0);
	assert_int_equal(symlink(link, path), 0);
	expect_refused(place, "state/compute");
	assert_int_equal(unlink(path), 0);

	assert_int_equal(close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
	expect_refused(place, "Not a directory");
}

static void test_folders_of_another_owner_are_refused(void **state)
{
	struct place *place = *state;
	char path[128];

	path_of(place, "run", path);
	assert_int_equal(mkdir(path, 0755), 0);
	path_of(place, "run/compute", path);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chown(path, 12345, 12345), 0);
	expect_refused(place, "run/compute");
}

static void test_an_audit_log_that_was_cut_keeps_the_service_down(void **state)
{
	struct place *place = *state;
	char path[128];

	start(place, NULL);
	wait_log(place, "compute is ready", 1);
	assert_int_equal(kill(place->launcher, SIGTERM), 0);
	assert_int_equal(wait_end(place), 0);
	path_of(place, "audit/docker.log", path);
	assert_int_equal(truncate(path, 100), 0);
	start(place, NULL);

	assert_int_equal(wait_end(place), 1);
	expect_log(place, "compute not started: audit log docker: cut or altered");
}

static void test_an_engine_without_a_folder_ends_the_service(void **state)
{
	struct place *place = *state;
	char path[128];

	path_of(place, "engine", path);
	assert_int_equal(rmdir(path), 0);
	start(place, NULL);

	assert_int_equal(wait_end(place), 1);
	expect_log(place, "docker: sandbox: ");
	expect_log(place, "ended with status 80");
}

static int run_with(const char *first, const char *second, const char *third)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(null, STDERR_FILENO);
		(void)execl(launcher_program, launcher_program, first, second, third, NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_wrong_words_are_a_usage_error(void **state)
{
	(void)state;
	assert_int_equal(run_with(NULL, NULL, NULL), 2);
	assert_int_equal(run_with("proxy", NULL, NULL), 2);
	assert_int_equal(run_with("compute", "--unknown", NULL), 2);
	assert_int_equal(run_with("compute", "--policy", NULL), 2);
	assert_int_equal(run_with("compute", "--stop-wait", "soon"), 2);
	assert_int_equal(run_with("compute", "--stop-wait", "3601"), 2);
}

#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int count, char **words)
{
	const struct CMUnitTest tests[] = {
		WITH_PLACE(test_a_service_starts_in_pieces_and_ends_in_order),
		WITH_PLACE(test_launcher_and_helper_keep_next_to_nothing),
		WITH_PLACE(test_the_audit_log_of_a_service_verifies),
		WITH_PLACE(test_the_end_of_the_broker_is_that_of_the_service),
		WITH_PLACE(test_the_end_of_the_helper_is_that_of_the_service),
		WITH_PLACE(test_a_broker_that_does_not_end_is_killed),
		WITH_PLACE(test_sighup_is_handed_on),
		WITH_PLACE(test_nothing_outlives_a_killed_launcher),
		WITH_PLACE(test_a_second_launcher_is_refused),
		WITH_PLACE(test_respawn_begins_anew_until_it_is_told_to_end),
		WITH_PLACE(test_respawn_hands_signals_on_and_ends_with_its_service),
		WITH_PLACE(test_a_policy_that_others_can_write_is_refused),
		WITH_PLACE(test_a_broker_that_others_can_write_is_refused),
		WITH_PLACE(test_without_the_engines_group_nothing_begins),
		WITH_PLACE(test_folders_that_are_not_roots_alone_are_refused),
		WITH_PLACE(test_folders_of_another_owner_are_refused),
		WITH_PLACE(test_an_audit_log_that_was_cut_keeps_the_service_down),
		WITH_PLACE(test_an_engine_without_a_folder_ends_the_service),
		cmocka_unit_test(test_wrong_words_are_a_usage_error),
	};
	if (count != 3 || geteuid() != 0)
		return SKIPPED;
	launcher_program = words[1];
	launcher_name = basename(words[1]);
	broker_program = words[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

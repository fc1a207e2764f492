/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: what its lines look like, that a log which was altered, cut or
 * added to is found out, and that crashes and a full disk leave a log that
 * verifies and says what happened.
 */
#include "common/zfd.h"
#include "privsep/audit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LOG_MAX (1 << 20)

struct fixture {
	char path[64];
	int directory;
	struct audit audit;
	struct zerr err;
	struct audit_report report;
};

static struct audit_entry sample_entry(void)
{
	return (struct audit_entry){.operation = "docker.container_start",
				    .request_id = {"req-1", 5},
				    .project_id = {"p", 1},
				    .user_id = {"u", 1},
				    .object_type = "container",
				    .object_id = "8e2ba1a9-cd2c-4a91-a3ff-2a91d80d4e7c",
				    .decision = "allow",
				    .rule = "",
				    .args = "{\"wait_ms\":60000}"};
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	strcpy(fixture->path, "/tmp/keelson-audit-XXXXXX");
	assert_non_null(mkdtemp(fixture->path));
	fixture->directory = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(
		audit_open(&fixture->audit, fixture->directory, "docker", false, &fixture->err), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	audit_close(&fixture->audit);
	(void)unlinkat(fixture->directory, "docker.log", 0);
	(void)unlinkat(fixture->directory, "docker.state", 0);
	(void)rmdir(fixture->path);
	close(fixture->directory);
	free(fixture);
	return 0;
}

static void write_records(struct fixture *fixture, size_t count)
{
	struct audit_entry entry = sample_entry();
	for (size_t i = 0; i < count; i++)
		assert_int_equal(audit_write(&fixture->audit, &entry), 0);
}

/* Reopens the log as the next start of the launcher does. */
static int reopen(struct fixture *fixture)
{
	audit_close(&fixture->audit);
	return audit_open(&fixture->audit, fixture->directory, "docker", false, &fixture->err);
}

static int verify(struct fixture *fixture)
{
	_cleanup_fd_ int log = openat(fixture->directory, "docker.log", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int page = openat(fixture->directory, "docker.state", O_RDONLY | O_CLOEXEC);
	fixture->err.msg[0] = '\0';
	return audit_verify(log, page, &fixture->report, &fixture->err);
}

static int verify_without_state(struct fixture *fixture)
{
	_cleanup_fd_ int log = openat(fixture->directory, "docker.log", O_RDONLY | O_CLOEXEC);
	return audit_verify(log, -1, &fixture->report, &fixture->err);
}

/* The log's whole text, terminated; static. */
static char *read_log(struct fixture *fixture, size_t *length)
{
	static char text[LOG_MAX];
	_cleanup_fd_ int log = openat(fixture->directory, "docker.log", O_RDONLY | O_CLOEXEC);
	ssize_t got = zfd_read_all(log, text, sizeof(text) - 1);
	assert_true(got >= 0);
	text[got] = '\0';
	if (length != NULL)
		*length = (size_t)got;
	return text;
}

static void replace_log(struct fixture *fixture, const char *text, size_t length)
{
	_cleanup_fd_ int log =
		openat(fixture->directory, "docker.log", O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(zfd_write_all(log, text, length), 0);
}

static void append_bytes(struct fixture *fixture, const char *text, size_t length)
{
	_cleanup_fd_ int log =
		openat(fixture->directory, "docker.log", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(zfd_write_all(log, text, length), 0);
}

/* Where line n (from 0) begins. */
static size_t line_start(const char *text, size_t n)
{
	size_t at = 0;
	while (n-- > 0)
		at += (size_t)(strchr(text + at, '\n') - (text + at)) + 1;
	return at;
}

static void test_a_record_is_one_json_line_in_a_fixed_order(void **state)
{
	struct fixture *fixture = *state;
	struct audit_entry entry = sample_entry();
	char boot[512];

	entry.request_id = (struct zstr){"a\"b", 3};
	entry.decision = "error";
	entry.rule = "http 404";
	entry.error = 2;
	entry.duration_us = 18446744073709551615ULL;
	assert_int_equal(audit_write(&fixture->audit, &entry), 0);

	char *text = read_log(fixture, NULL);
	assert_memory_equal(text, "{\"ts\":\"20", 9);
	(void)snprintf(
		boot, sizeof(boot),
		"Z\",\"seq\":1,\"boot\":\"%s\",\"proc\":\"docker[%d]\",\"op\":\"docker.container_"
		"start\","
		"\"rid\":\"a\\\"b\",\"actor\":{\"unverified\":true,\"project\":\"p\",\"user\":"
		"\"u\"},"
		"\"obj\":{\"type\":\"container\",\"id\":\"8e2ba1a9-cd2c-4a91-a3ff-2a91d80d4e7c\"},"
		"\"args\":{\"wait_ms\":60000},\"decision\":\"error\",\"rule\":\"http 404\","
		"\"errno\":2,\"dur_us\":18446744073709551615,\"prev\":\"",
		fixture->audit.boot_id, getpid());
	assert_memory_equal(text + 36, boot, strlen(boot));
	assert_string_equal(
		text + 36 + strlen(boot),
		"0000000000000000000000000000000000000000000000000000000000000000\"}\n");
}

static void test_a_chain_of_records_verifies(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 0);
	write_records(fixture, 5);

	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 5);
	assert_int_equal(fixture->report.last_sequence, 5);
	assert_int_equal(verify_without_state(fixture), 0);
}

static void test_the_chain_goes_on_over_restarts(void **state)
{
	struct fixture *fixture = *state;

	write_records(fixture, 3);
	assert_int_equal(reopen(fixture), 0);
	write_records(fixture, 2);

	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 5);
}

static void test_each_altered_byte_is_found(void **state)
{
	struct fixture *fixture = *state;
	static char copy[LOG_MAX];
	size_t length;

	write_records(fixture, 3);
	memcpy(copy, read_log(fixture, &length), sizeof(copy));
	for (size_t i = 0; i < length; i++) {
		copy[i] ^= 1;
		replace_log(fixture, copy, length);
		if (verify(fixture) == 0)
			fail_msg("byte %zu of %zu was altered and nobody saw it", i, length);
		copy[i] ^= 1;
	}

	replace_log(fixture, copy, length);
	assert_int_equal(verify(fixture), 0);
}

static void test_a_dropped_line_is_found(void **state)
{
	struct fixture *fixture = *state;
	static char copy[LOG_MAX];
	size_t length;

	write_records(fixture, 4);
	for (size_t drop = 0; drop < 4; drop++) {
		char *text = read_log(fixture, &length);
		size_t start = line_start(text, drop), end = line_start(text, drop + 1);
		memcpy(copy, text, length + 1);
		memmove(text + start, text + end, length - end);
		replace_log(fixture, text, length - (end - start));
		assert_int_equal(verify(fixture), -EBADMSG);
		replace_log(fixture, copy, length);
	}
}

static void test_reordered_lines_are_found(void **state)
{
	struct fixture *fixture = *state;
	static char copy[LOG_MAX];
	size_t length;

	write_records(fixture, 3);
	char *text = read_log(fixture, &length);
	size_t second = line_start(text, 1), third = line_start(text, 2);
	memcpy(copy, text, second);
	memcpy(copy + second, text + third, length - third);
	memcpy(copy + second + (length - third), text + second, third - second);
	replace_log(fixture, copy, length);

	assert_int_equal(verify(fixture), -EBADMSG);
	assert_non_null(strstr(fixture->err.msg, "line 2"));
}

static void test_a_cut_log_is_found_at_every_length(void **state)
{
	struct fixture *fixture = *state;
	static char copy[LOG_MAX];
	size_t length;

	write_records(fixture, 3);
	memcpy(copy, read_log(fixture, &length), sizeof(copy));
	for (size_t cut = 0; cut < length; cut++) {
		replace_log(fixture, copy, cut);
		if (verify(fixture) == 0)
			fail_msg("cut to %zu of %zu bytes, and nobody saw it", cut, length);
	}
	/* A launcher does not go on with it either. */
	assert_int_equal(reopen(fixture), -EBADMSG);
}

static void test_inserted_lines_are_found(void **state)
{
	struct fixture *fixture = *state;
	static char copy[LOG_MAX];
	size_t length;

	write_records(fixture, 3);
	char *text = read_log(fixture, &length);
	size_t second = line_start(text, 1);
	for (size_t at = 0; at < 4; at++) {
		size_t start = line_start(text, at);
		memcpy(copy, text, start);
		memcpy(copy + start, text + second, second);
		memcpy(copy + start + second, text + start, length - start);
		replace_log(fixture, copy, length + second);
		assert_int_equal(verify(fixture), -EBADMSG);
	}
}

static void test_a_log_whose_last_line_was_altered_is_not_opened(void **state)
{
	struct fixture *fixture = *state;
	size_t length;

	write_records(fixture, 2);
	char *text = read_log(fixture, &length);
	text[length - 120] ^= 1;
	replace_log(fixture, text, length);

	assert_int_equal(reopen(fixture), -EBADMSG);
	assert_non_null(strstr(fixture->err.msg, "docker"));
}

static void test_a_state_file_that_is_none_is_refused(void **state)
{
	struct fixture *fixture = *state;

	write_records(fixture, 1);
	fixture->audit.state->magic = 77;

	assert_int_equal(verify(fixture), -EBADMSG);
	assert_int_equal(reopen(fixture), -EBADMSG);
}

/* What a writer that was killed in the middle of write(2) leaves. */
static void tear(struct fixture *fixture, const char *fragment, size_t length)
{
	append_bytes(fixture, fragment, length);
	fixture->audit.state->unfinished = 1;
}

static void test_a_torn_line_is_recorded_and_verifies(void **state)
{
	struct fixture *fixture = *state;
	char fragment[600];
	size_t length;

	write_records(fixture, 2);
	memcpy(fragment, read_log(fixture, &length), sizeof(fragment));
	size_t line = line_start(fragment, 1);
	/* Every way to tear it, the whole line without its newline among them. */
	for (size_t cut = 1; cut < line; cut += 37) {
		tear(fixture, fragment, cut);
		assert_int_not_equal(verify(fixture), 0);
		write_records(fixture, 1);
		if (verify(fixture) != 0)
			fail_msg("torn after %zu bytes: %s", cut, fixture->err.msg);
	}
	tear(fixture, fragment, line - 1);
	write_records(fixture, 1);

	assert_int_equal(verify(fixture), 0);
	assert_non_null(strstr(read_log(fixture, NULL), "\"op\":\"audit.recovered\""));
}

static void test_a_fragment_may_hold_anything(void **state)
{
	struct fixture *fixture = *state;
	char zeros[9000] = {0};

	write_records(fixture, 1);
	tear(fixture, zeros, sizeof(zeros));
	write_records(fixture, 1);
	assert_int_equal(verify(fixture), 0);

	tear(fixture, "two\nlines\n!\nand more", 20);
	assert_int_equal(reopen(fixture), 0);
	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 4);
}

static void test_whole_lines_that_the_state_does_not_know_are_taken_over(void **state)
{
	struct fixture *fixture = *state;

	write_records(fixture, 1);
	struct audit_state before = *fixture->audit.state;
	write_records(fixture, 2);
	*fixture->audit.state = before; /* as if the page had never reached the disk */
	assert_int_equal(reopen(fixture), 0);

	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 4);
	assert_non_null(strstr(read_log(fixture, NULL), "\"taken\":2,\"lost\":0"));
}

static void test_a_lost_state_file_is_made_anew_from_the_log(void **state)
{
	struct fixture *fixture = *state;

	write_records(fixture, 3);
	assert_int_equal(unlinkat(fixture->directory, "docker.state", 0), 0);
	assert_int_equal(reopen(fixture), 0);

	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 4);
}

static void test_after_a_reboot_only_unsynced_lines_may_be_gone(void **state)
{
	struct fixture *fixture = *state;
	static char copy[LOG_MAX];
	size_t length;

	write_records(fixture, 2);
	assert_int_equal(audit_sync(&fixture->audit), 0);
	write_records(fixture, 2);
	memcpy(copy, read_log(fixture, &length), sizeof(copy));
	fixture->audit.state->boot_id[0] ^= 1;
	replace_log(fixture, copy, line_start(copy, 3));
	assert_int_equal(reopen(fixture), 0);
	assert_int_equal(verify(fixture), 0);
	assert_non_null(strstr(read_log(fixture, NULL), "\"taken\":1,\"lost\":1"));

	fixture->audit.state->boot_id[0] ^= 1;
	replace_log(fixture, copy, line_start(copy, 1)); /* less than was synced */
	assert_int_equal(reopen(fixture), -EBADMSG);
}

static void test_a_recovery_record_is_accepted_only_behind_its_fragment(void **state)
{
	struct fixture *fixture = *state;
	static char copy[LOG_MAX];
	size_t length;

	write_records(fixture, 1);
	tear(fixture, "torn", 4);
	write_records(fixture, 1);
	assert_int_equal(verify(fixture), 0);
	memcpy(copy, read_log(fixture, &length), sizeof(copy));
	size_t fragment = line_start(copy, 1);
	memmove(copy + fragment, copy + fragment + 6, length - fragment - 6);
	replace_log(fixture, copy, length - 6);
	assert_int_equal(verify_without_state(fixture), -EBADMSG);
	assert_non_null(strstr(fixture->err.msg, "fragment"));
}

/* Runs writer in a child whose files may not pass limit bytes; its exit status. */
static int with_file_limit(rlim_t limit, int (*writer)(struct fixture *), struct fixture *fixture)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		struct rlimit small = {limit, limit};
		(void)signal(SIGXFSZ, SIG_IGN);
		_exit(setrlimit(RLIMIT_FSIZE, &small) < 0 ? 99 : writer(fixture));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* 0 when at the limit each record is refused, the first time or later. */
static int fill_up(struct fixture *fixture)
{
	struct audit_entry entry = sample_entry();
	int r = 0;
	for (size_t i = 0; i < 100 && r == 0; i++)
		r = audit_write(&fixture->audit, &entry);
	return r < 0 && audit_write(&fixture->audit, &entry) < 0 ? 0 : 1;
}

static void test_a_full_disk_refuses_and_the_log_goes_on_later(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	for (rlim_t limit = 5000; limit < 5600; limit += 41) {
		write_records(fixture, 1);
		assert_int_equal(fstat(fixture->audit.fd, &status), 0);
		assert_int_equal(
			with_file_limit((rlim_t)status.st_size + limit - 4900, fill_up, fixture),
			0);
		write_records(fixture, 1); /* there is room again */
		if (verify(fixture) != 0)
			fail_msg("limit %lu: %s", (unsigned long)limit, fixture->err.msg);
	}
}

static void test_refusals_in_a_flood_are_counted_not_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct audit_entry entry = sample_entry();
	size_t records = 0, flood = 1000;

	entry.decision = "deny";
	entry.rule = "privileged";
	for (size_t i = 0; i < flood; i++)
		assert_int_equal(audit_write(&fixture->audit, &entry), 0);
	uint64_t counted = fixture->audit.state->suppressed;
	assert_true(counted > 0);
	for (const char *at = read_log(fixture, NULL);
	     (at = strstr(at, "\"decision\":\"deny\"")) != NULL; at++)
		records++;
	assert_int_equal(records + counted, flood);

	/* The count survives a restart and is recorded as soon as there is room for a refusal. */
	fixture->audit.state->refusals_due_ms = 0;
	assert_int_equal(reopen(fixture), 0);
	assert_int_equal(audit_sync(&fixture->audit), 0);
	assert_int_equal(fixture->audit.state->suppressed, 0);
	char expected[64];
	(void)snprintf(expected, sizeof(expected), "\"args\":{\"suppressed\":%lu}",
		       (unsigned long)counted);
	assert_non_null(strstr(read_log(fixture, NULL), expected));
	assert_int_equal(verify(fixture), 0);
}

static void test_allowed_records_are_never_counted_away(void **state)
{
	struct fixture *fixture = *state;

	write_records(fixture, 1000);

	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 1000);
}

static void test_several_processes_make_one_chain(void **state)
{
	struct fixture *fixture = *state;
	pid_t children[4];
	int status;

	for (size_t i = 0; i < 4; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			struct audit_entry entry = sample_entry();
			int failed = 0;
			for (size_t n = 0; n < 200; n++)
				failed |= audit_write(&fixture->audit, &entry) != 0;
			_exit(failed);
		}
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}

	assert_int_equal(verify(fixture), 0);
	assert_int_equal(fixture->report.records, 800);
}

static void test_writers_killed_at_any_moment_leave_a_log_that_verifies(void **state)
{
	struct fixture *fixture = *state;
	struct timespec moment = {0};

	for (long i = 0; i < 40; i++) {
		pid_t child = fork();
		if (child == 0) {
			struct audit_entry entry = sample_entry();
			for (;;)
				(void)audit_write(&fixture->audit, &entry);
		}
		moment.tv_nsec = 200000 + i * 13577;
		(void)nanosleep(&moment, NULL);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		write_records(fixture, 1);
	}

	if (verify(fixture) != 0)
		fail_msg("%s", fixture->err.msg);
}

static void test_a_record_that_does_not_fit_a_line_is_refused(void **state)
{
	struct fixture *fixture = *state;
	static char text[AUDIT_LINE_MAX];
	struct audit_entry entry = sample_entry();

	memset(text, 'x', sizeof(text));
	entry.user_id = (struct zstr){text, sizeof(text)};

	assert_int_equal(audit_write(&fixture->audit, &entry), -EMSGSIZE);
	write_records(fixture, 1);
	assert_int_equal(verify(fixture), 0);
}

static void test_sync_always_syncs_and_sync_does_so_once(void **state)
{
	struct fixture *fixture = *state;

	fixture->audit.sync_always = true;
	write_records(fixture, 2);
	assert_int_equal(audit_sync(&fixture->audit), 0);
	assert_int_equal(fixture->audit.state->synced.sequence, 2);
	assert_int_equal(audit_sync(&fixture->audit), 0);
	assert_int_equal(fixture->audit.state->synced.sequence, 2);
}

static void test_a_log_that_is_a_link_or_unwritable_is_not_opened(void **state)
{
	struct fixture *fixture = *state;
	struct audit other;

	assert_int_equal(symlinkat("docker.log", fixture->directory, "net.log"), 0);
	assert_int_equal(audit_open(&other, fixture->directory, "net", false, &fixture->err),
			 -ELOOP);
	assert_int_equal(unlinkat(fixture->directory, "net.log", 0), 0);
	assert_int_equal(unlinkat(fixture->directory, "net.state", 0), 0);
	assert_int_equal(audit_open(&other, -1, "net", false, &fixture->err), -EBADF);
}

/* A record of the usual size must cost little: printed, and bounded far above what it should be. */
static void test_a_record_is_cheap(void **state)
{
	struct fixture *fixture = *state;
	struct timespec before, after;
	const size_t records = 2000;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	write_records(fixture, records);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);

	double spent = (double)(after.tv_sec - before.tv_sec) * 1e6 +
		       (double)(after.tv_nsec - before.tv_nsec) / 1e3;
	print_message("%.2f us of CPU a record\n", spent / (double)records);
	assert_true(spent / (double)records < 1000);
}

#define WITH_LOG(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOG(test_a_record_is_one_json_line_in_a_fixed_order),
		WITH_LOG(test_a_chain_of_records_verifies),
		WITH_LOG(test_the_chain_goes_on_over_restarts),
		WITH_LOG(test_each_altered_byte_is_found),
		WITH_LOG(test_a_dropped_line_is_found),
		WITH_LOG(test_reordered_lines_are_found),
		WITH_LOG(test_a_cut_log_is_found_at_every_length),
		WITH_LOG(test_inserted_lines_are_found),
		WITH_LOG(test_a_log_whose_last_line_was_altered_is_not_opened),
		WITH_LOG(test_a_state_file_that_is_none_is_refused),
		WITH_LOG(test_a_torn_line_is_recorded_and_verifies),
		WITH_LOG(test_a_fragment_may_hold_anything),
		WITH_LOG(test_whole_lines_that_the_state_does_not_know_are_taken_over),
		WITH_LOG(test_a_lost_state_file_is_made_anew_from_the_log),
		WITH_LOG(test_after_a_reboot_only_unsynced_lines_may_be_gone),
		WITH_LOG(test_a_recovery_record_is_accepted_only_behind_its_fragment),
		WITH_LOG(test_a_full_disk_refuses_and_the_log_goes_on_later),
		WITH_LOG(test_refusals_in_a_flood_are_counted_not_dropped),
		WITH_LOG(test_allowed_records_are_never_counted_away),
		WITH_LOG(test_several_processes_make_one_chain),
		WITH_LOG(test_writers_killed_at_any_moment_leave_a_log_that_verifies),
		WITH_LOG(test_a_record_that_does_not_fit_a_line_is_refused),
		WITH_LOG(test_sync_always_syncs_and_sync_does_so_once),
		WITH_LOG(test_a_log_that_is_a_link_or_unwritable_is_not_opened),
		WITH_LOG(test_a_record_is_cheap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

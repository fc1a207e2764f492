/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of common/zfd.c. */
#include "common/zfd.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Open descriptors of this process below 256. */
static size_t open_descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static void test_cleanups_close_and_free_and_keep_errno(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), number = fd, closed = -1;
	FILE *file = fopen("/dev/null", "re"), *none = NULL;
	char *memory = malloc(10);
	void *nothing = NULL;

	(void)state;
	assert_true(fd >= 0);
	errno = ENOTTY;
	zfd_closep(&fd);
	zfd_closep(&closed);
	zfd_fclosep(&file);
	zfd_fclosep(&none);
	zfd_freep(&memory);
	zfd_freep(&nothing);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(fd, -1);
	assert_null(file);
	assert_int_equal(fcntl(number, F_GETFD), -1);
}

static void test_take_leaves_nothing_behind(void **state)
{
	int fd = 7, taken;
	char *text = (char[]){"x"}, *taken_text;

	(void)state;
	taken = TAKE_FD(fd);
	taken_text = TAKE_PTR(text);
	assert_int_equal(taken, 7);
	assert_int_equal(fd, -1);
	assert_non_null(taken_text);
	assert_null(text);
}

static void test_open_beneath_stays_beneath(void **state)
{
	char root[] = "/tmp/keelson-test-XXXXXX";
	_cleanup_fd_ int dir = -1;
	static const struct {
		const char *path;
		int flags, result;
	} cases[] = {
		{"file", O_RDONLY, 0},
		{"sub/file", O_RDONLY, 0},
		{"sub", O_PATH | O_DIRECTORY, 0},
		{"missing", O_RDONLY, -ENOENT},
		{"..", O_RDONLY, -EXDEV},
		{"sub/../../x", O_RDONLY, -EXDEV},
		{"/etc/passwd", O_RDONLY, -EXDEV},
		{"link", O_RDONLY, -ELOOP},
		{"linkdir/file", O_RDONLY, -ELOOP},
		{"link", O_RDONLY | O_NOFOLLOW, -ELOOP},
		{"", O_RDONLY, -ENOENT},
	};

	(void)state;
	assert_non_null(mkdtemp(root));
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	assert_int_equal(mkdirat(dir, "sub", 0700), 0);
	assert_int_equal(symlinkat("file", dir, "link"), 0);
	assert_int_equal(symlinkat("sub", dir, "linkdir"), 0);
	{
		_cleanup_fd_ int made =
			zfd_open_beneath(dir, "file", O_WRONLY | O_CREAT | O_EXCL, 0640);
		_cleanup_fd_ int inner =
			zfd_open_beneath(dir, "sub/file", O_WRONLY | O_CREAT, 0600);
		struct stat status;

		assert_true(made >= 0 && inner >= 0);
		assert_true(fcntl(made, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(fstat(made, &status), 0);
		assert_int_equal(status.st_mode & 0137, 0);
	}
	for (size_t i = 0; i < COUNT(cases); i++) {
		/* mode is only looked at when a file may be made */
		_cleanup_fd_ int fd = zfd_open_beneath(dir, cases[i].path, cases[i].flags, 0600);

		print_message("case: %s\n", cases[i].path);
		if (cases[i].result == 0)
			assert_true(fd >= 0);
		else
			assert_int_equal(fd, cases[i].result);
	}
	{
		_cleanup_fd_ int top = open("/", O_PATH | O_CLOEXEC);

		assert_int_equal(zfd_open_beneath(top, "proc/self/status", O_RDONLY, 0), -EXDEV);
		assert_int_equal(zfd_open_beneath(-1, "x", O_RDONLY, 0), -EBADF);
	}
	(void)unlinkat(dir, "sub/file", 0);
	(void)unlinkat(dir, "file", 0);
	(void)unlinkat(dir, "link", 0);
	(void)unlinkat(dir, "linkdir", 0);
	(void)unlinkat(dir, "sub", AT_REMOVEDIR);
	assert_int_equal(rmdir(root), 0);
}

static void test_write_all_and_read_all_through_a_pipe(void **state)
{
	int ends[2];
	char buffer[16];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(zfd_write_all(ends[1], "hello", 5), 0);
	assert_int_equal(zfd_write_all(ends[1], NULL, 0), 0);
	zfd_closep(&ends[1]);
	assert_int_equal(zfd_read_all(ends[0], buffer, sizeof(buffer)), 5);
	assert_memory_equal(buffer, "hello", 5);
	assert_int_equal(zfd_read_all(ends[0], buffer, sizeof(buffer)), 0);
	zfd_closep(&ends[0]);
	assert_int_equal(zfd_read_all(-1, buffer, sizeof(buffer)), -EBADF);
	assert_int_equal(zfd_write_all(-1, "x", 1), -EBADF);
}

static void test_write_all_writes_more_than_a_pipe_holds(void **state)
{
	static char data[300000], back[300001];
	int ends[2];
	pid_t child;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 31);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(ends[0]);
		_exit(zfd_write_all(ends[1], data, sizeof(data)) == 0 ? 0 : 1);
	}
	zfd_closep(&ends[1]);
	assert_int_equal(zfd_read_all(ends[0], back, sizeof(back)), sizeof(data));
	assert_memory_equal(back, data, sizeof(data));
	zfd_closep(&ends[0]);
	{
		int status;

		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

static void test_read_all_says_when_there_is_more(void **state)
{
	static const struct {
		size_t size;
		ssize_t result;
	} cases[] = {{6, 5}, {5, 5}, {4, -EFBIG}, {0, -EFBIG}};
	char buffer[16];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_fd_ int fd = zfd_sealed_memfd("test", "12345", 5);

		assert_true(fd >= 0);
		assert_int_equal(zfd_read_all(fd, buffer, cases[i].size), cases[i].result);
	}
}

static void test_sealed_memfd_can_be_read_and_not_changed(void **state)
{
	_cleanup_fd_ int fd = zfd_sealed_memfd("test", "12345", 5);
	char buffer[8];

	(void)state;
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(zfd_check_sealed(fd, 5), 5);
	assert_int_equal(zfd_check_sealed(fd, 4), -EFBIG);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(ftruncate(fd, 100), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_ptr_equal(mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(zfd_read_all(fd, buffer, sizeof(buffer)), 5);
	assert_memory_equal(buffer, "12345", 5);
	{
		_cleanup_fd_ int empty = zfd_sealed_memfd("test", NULL, 0);

		assert_int_equal(zfd_check_sealed(empty, 0), 0);
	}
}

static void test_what_is_not_wholly_sealed_is_refused(void **state)
{
	static const int partly[] = {
		0,
		F_SEAL_WRITE,
		F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE,
		F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_WRITE,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_WRITE,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW,
	};
	_cleanup_fd_ int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int never = memfd_create("test", MFD_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < COUNT(partly); i++) {
		_cleanup_fd_ int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		assert_int_equal(fcntl(fd, F_ADD_SEALS, partly[i]), 0);
		assert_int_equal(zfd_check_sealed(fd, 100), -EPERM);
	}
	assert_int_equal(zfd_check_sealed(never, 100), -EPERM);
	assert_int_equal(zfd_check_sealed(file, 100), -EINVAL);
	assert_int_equal(zfd_check_sealed(-1, 100), -EBADF);
}

static void test_sealed_memfd_reports_why_it_could_not(void **state)
{
	(void)state;
	assert_int_equal(zfd_sealed_memfd("test", (const void *)1, 5), -EFAULT);
	{
		char name[300];

		memset(name, 'n', sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		assert_int_equal(zfd_sealed_memfd(name, "x", 1), -EINVAL);
	}
}

static void test_packet_carries_bytes_and_descriptors(void **state)
{
	size_t before = open_descriptors();
	int pair[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int fds[ZFD_PACKET_FDS_MAX] = {null, null, null, null};
	uint8_t buffer[16];
	struct zfd_packet packet = {.data = buffer, .size = sizeof(buffer)};

	(void)state;
	make_pair(pair);
	for (size_t count = 0; count <= ZFD_PACKET_FDS_MAX; count++) {
		assert_int_equal(zfd_send(pair[0], "abc", 3, fds, count, 0), 0);
		assert_int_equal(zfd_receive(pair[1], &packet, 0), 1);
		assert_int_equal(packet.length, 3);
		assert_memory_equal(buffer, "abc", 3);
		assert_int_equal(packet.fd_count, count);
		assert_int_equal(packet.peer_pid, -1);
		assert_true(packet.peer_uid == (uid_t)-1);
		for (size_t i = 0; i < ZFD_PACKET_FDS_MAX; i++) {
			assert_int_equal(packet.fds[i] >= 0, i < count);
			if (i < count)
				assert_true(fcntl(packet.fds[i], F_GETFD) & FD_CLOEXEC);
		}
		zfd_packet_close(&packet);
		assert_int_equal(packet.fd_count, 0);
		assert_int_equal(packet.fds[0], -1);
	}
	zfd_closep(&null);
	zfd_closep(&pair[0]);
	zfd_closep(&pair[1]);
	assert_int_equal(open_descriptors(), before);
}

static void test_packet_names_its_sender_when_asked(void **state)
{
	int pair[2], on = 1, fds[ZFD_PACKET_FDS_MAX];
	uint8_t buffer[16];
	struct zfd_packet packet = {.data = buffer, .size = sizeof(buffer)};

	(void)state;
	make_pair(pair);
	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	for (size_t i = 0; i < COUNT(fds); i++)
		fds[i] = pair[0];
	assert_int_equal(zfd_send(pair[0], "x", 1, fds, COUNT(fds), 0), 0);
	assert_int_equal(zfd_receive(pair[1], &packet, 0), 1);
	assert_int_equal(packet.fd_count, ZFD_PACKET_FDS_MAX);
	assert_int_equal(packet.peer_pid, getpid());
	assert_int_equal(packet.peer_uid, getuid());
	zfd_packet_close(&packet);
	/* An empty packet is a packet, and then comes the end. */
	assert_int_equal(zfd_send(pair[0], "", 0, NULL, 0, 0), 0);
	zfd_closep(&pair[0]);
	assert_int_equal(zfd_receive(pair[1], &packet, 0), 1);
	assert_int_equal(packet.length, 0);
	assert_int_equal(zfd_receive(pair[1], &packet, 0), 0);
	zfd_closep(&pair[1]);
}

/* Sends count descriptors with the raw system call, as a hostile peer would. */
static void send_raw(int socket, const void *data, size_t length, size_t count)
{
	char control[CMSG_SPACE(32 * sizeof(int))] __attribute__((aligned(8))) = {0};
	char copy[64];
	struct iovec part = {.iov_base = copy, .iov_len = length};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = CMSG_SPACE(count * sizeof(int))};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	memcpy(copy, data, length);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (size_t i = 0; i < count; i++)
		memcpy(CMSG_DATA(header) + i * sizeof(int), &socket, sizeof(int));
	assert_int_equal(sendmsg(socket, &message, 0), (ssize_t)length);
}

static void test_surplus_descriptors_are_all_closed(void **state)
{
	uint8_t buffer[16];
	struct zfd_packet packet = {.data = buffer, .size = sizeof(buffer)};

	(void)state;
	for (int credentials = 0; credentials <= 1; credentials++) {
		for (size_t count = ZFD_PACKET_FDS_MAX + 1; count <= 32; count++) {
			int pair[2];
			size_t before;

			make_pair(pair);
			assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &credentials,
						    sizeof(credentials)),
					 0);
			before = open_descriptors();
			send_raw(pair[0], "x", 1, count);
			assert_int_equal(zfd_receive(pair[1], &packet, 0), -ETOOMANYREFS);
			assert_int_equal(packet.fd_count, 0);
			assert_int_equal(open_descriptors(), before);
			zfd_closep(&pair[0]);
			zfd_closep(&pair[1]);
		}
	}
}

static void test_packet_beyond_the_buffer_is_refused_with_its_descriptors(void **state)
{
	uint8_t buffer[4];
	struct zfd_packet packet = {.data = buffer, .size = sizeof(buffer)};
	int pair[2];
	size_t before;

	(void)state;
	make_pair(pair);
	before = open_descriptors();
	send_raw(pair[0], "12345", 5, 2);
	assert_int_equal(zfd_receive(pair[1], &packet, 0), -EMSGSIZE);
	assert_int_equal(open_descriptors(), before);
	send_raw(pair[0], "1234", 4, 1);
	assert_int_equal(zfd_receive(pair[1], &packet, 0), 1);
	zfd_packet_close(&packet);
	zfd_closep(&pair[0]);
	zfd_closep(&pair[1]);
}

/* With no number left but one, the kernel installs one descriptor and cuts the rest off. */
static int receive_at_the_limit(void)
{
	uint8_t buffer[16];
	struct zfd_packet packet = {.data = buffer, .size = sizeof(buffer)};
	struct rlimit limit = {.rlim_cur = 64, .rlim_max = 64};
	size_t before;
	int pair[2], last = -1;

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		return 1;
	send_raw(pair[0], "x", 1, ZFD_PACKET_FDS_MAX);
	for (int fd = dup(pair[0]); fd >= 0; fd = dup(pair[0]))
		last = fd;
	zfd_closep(&last);
	before = open_descriptors();
	if (zfd_receive(pair[1], &packet, 0) != -ETOOMANYREFS)
		return 2;
	return open_descriptors() == before ? 0 : 3;
}

static void test_descriptors_cut_by_the_limit_are_all_closed(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(receive_at_the_limit());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_send_and_receive_report_errors(void **state)
{
	uint8_t buffer[16];
	struct zfd_packet packet = {.data = buffer, .size = sizeof(buffer)};
	int pair[2], fds[ZFD_PACKET_FDS_MAX + 1] = {0};

	(void)state;
	make_pair(pair);
	assert_int_equal(zfd_receive(pair[1], &packet, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(zfd_send(pair[0], "x", 1, fds, ZFD_PACKET_FDS_MAX + 1, 0), -EINVAL);
	fds[0] = -1;
	assert_int_equal(zfd_send(pair[0], "x", 1, fds, 1, 0), -EBADF);
	while (zfd_send(pair[0], "x", 1, NULL, 0, MSG_DONTWAIT) == 0)
		;
	assert_int_equal(zfd_send(pair[0], "x", 1, NULL, 0, MSG_DONTWAIT), -EAGAIN);
	zfd_closep(&pair[0]);
	zfd_closep(&pair[1]);
	make_pair(pair);
	zfd_closep(&pair[1]);
	assert_int_equal(zfd_send(pair[0], "x", 1, NULL, 0, 0), -EPIPE); /* and no SIGPIPE */
	zfd_closep(&pair[0]);
	assert_int_equal(zfd_receive(-1, &packet, 0), -EBADF);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void test_wait_ends_when_ready_or_due(void **state)
{
	int ends[2];
	uint64_t start;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(zfd_wait(ends[1], POLLOUT, 0), 0);
	assert_int_equal(zfd_wait(ends[0], POLLIN, 0), -ETIMEDOUT);
	start = zfd_now_ms();
	assert_int_equal(zfd_wait(ends[0], POLLIN, start + 30), -ETIMEDOUT);
	assert_true(zfd_now_ms() >= start + 30);
	assert_int_equal(zfd_write_all(ends[1], "x", 1), 0);
	assert_int_equal(zfd_wait(ends[0], POLLIN, UINT64_MAX), 0);
	zfd_closep(&ends[1]);
	assert_int_equal(zfd_wait(ends[0], POLLIN, UINT64_MAX), 0); /* HUP */
	start = (uint64_t)ends[0];
	zfd_closep(&ends[0]);
	assert_int_equal(zfd_wait((int)start, POLLIN, zfd_now_ms() + 1000), -EBADF);
}

static void test_wait_goes_on_after_a_signal(void **state)
{
	struct sigaction action = {.sa_handler = on_alarm};
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec soon = {.it_value.tv_nsec = 10000000};
	int ends[2];
	uint64_t start;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
	start = zfd_now_ms();
	assert_int_equal(zfd_wait(ends[0], POLLIN, start + 60), -ETIMEDOUT);
	assert_true(zfd_now_ms() >= start + 60);
	(void)timer_delete(timer);
	zfd_closep(&ends[0]);
	zfd_closep(&ends[1]);
}

static void test_parse_u64_takes_plain_decimals_only(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		int result;
		uint64_t value;
	} cases[] = {
		{"0", 0, 0, 0},
		{"007", 10, 0, 7},
		{"10", 10, 0, 10},
		{"11", 10, -ERANGE, 0},
		{"18446744073709551615", UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999", UINT64_MAX, -ERANGE, 0},
		{"340282366920938463463374607431768211456", UINT64_MAX, -ERANGE, 0},
		{"", 10, -EINVAL, 0},
		{" 1", 10, -EINVAL, 0},
		{"1 ", 10, -EINVAL, 0},
		{"+1", 10, -EINVAL, 0},
		{"-1", 10, -EINVAL, 0},
		{"0x1", 10, -EINVAL, 0},
		{"1.0", 10, -EINVAL, 0},
		{"99999999999999999999x", UINT64_MAX, -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t value = 12345;

		print_message("case: '%s'\n", cases[i].text);
		assert_int_equal(zfd_parse_u64(cases[i].text, cases[i].max, &value),
				 cases[i].result);
		assert_true(value == (cases[i].result == 0 ? cases[i].value : 12345));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cleanups_close_and_free_and_keep_errno),
		cmocka_unit_test(test_take_leaves_nothing_behind),
		cmocka_unit_test(test_open_beneath_stays_beneath),
		cmocka_unit_test(test_write_all_and_read_all_through_a_pipe),
		cmocka_unit_test(test_write_all_writes_more_than_a_pipe_holds),
		cmocka_unit_test(test_read_all_says_when_there_is_more),
		cmocka_unit_test(test_sealed_memfd_can_be_read_and_not_changed),
		cmocka_unit_test(test_what_is_not_wholly_sealed_is_refused),
		cmocka_unit_test(test_sealed_memfd_reports_why_it_could_not),
		cmocka_unit_test(test_packet_carries_bytes_and_descriptors),
		cmocka_unit_test(test_packet_names_its_sender_when_asked),
		cmocka_unit_test(test_surplus_descriptors_are_all_closed),
		cmocka_unit_test(test_packet_beyond_the_buffer_is_refused_with_its_descriptors),
		cmocka_unit_test(test_descriptors_cut_by_the_limit_are_all_closed),
		cmocka_unit_test(test_send_and_receive_report_errors),
		cmocka_unit_test(test_wait_ends_when_ready_or_due),
		cmocka_unit_test(test_wait_goes_on_after_a_signal),
		cmocka_unit_test(test_parse_u64_takes_plain_decimals_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

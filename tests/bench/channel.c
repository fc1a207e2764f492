/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What privilege separation costs, side by side in one run:
 *   - a typed no-op through the real helper loop, against a bare SEQPACKET round trip of the same bytes
 *   - an engine request through the helper, against the same request made on the socket directly
 * Usage: channel [ENGINE-SOCKET].  Prints medians in microseconds and ratios; asserts nothing.
 */
#include "common/zfd.h"
#include "tests/unit/docker/stack.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	      20000
#define ENGINE_ROUNDS 1000
#define PAYLOAD	      64

static double samples[ROUNDS];

static double now_us(void)
{
	struct timespec time;
	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static double median(size_t count)
{
	qsort(samples, count, sizeof(samples[0]), compare);
	return samples[count / 2];
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A bare echo over a socketpair of the same kind. */
static double raw_round_trip(size_t size)
{
	char packet[256] = {0};
	int pair[2];
	if (size > sizeof(packet) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	pid_t child = fork();
	if (child == 0) {
		ssize_t n;
		close(pair[0]);
		while ((n = recv(pair[1], packet, sizeof(packet), 0)) > 0)
			if (send(pair[1], packet, (size_t)n, 0) != n)
				break;
		_exit(0);
	}
	close(pair[1]);
	for (size_t i = 0; i < ROUNDS; i++) {
		double began = now_us();
		if (send(pair[0], packet, size, 0) < 0 || recv(pair[0], packet, sizeof(packet), 0) < 0)
			die("round trip");
		samples[i] = now_us() - began;
	}
	close(pair[0]);
	(void)waitpid(child, NULL, 0);
	return median(ROUNDS);
}

static double typed_round_trip(struct stack *stack)
{
	char bytes[PAYLOAD] = {0};
	struct req_docker_noop request = {.payload = {bytes, sizeof(bytes)}};
	struct ans_docker_noop answer;
	for (size_t i = 0; i < ROUNDS; i++) {
		double began = now_us();
		if (priv_docker_noop(&stack->channel, &request, &answer, NULL, &stack->err) != 0)
			die(stack->err.msg);
		samples[i] = now_us() - began;
	}
	return median(ROUNDS);
}

static double engine_through_helper(struct stack *stack)
{
	struct req_docker_engine_version request = {.wait_ms = 10000};
	struct ans_docker_engine_version answer;
	for (size_t i = 0; i < ENGINE_ROUNDS; i++) {
		int fd = -1;
		double began = now_us();
		if (priv_docker_engine_version(&stack->channel, &request, &answer, &fd, &stack->err) != 0)
			die(stack->err.msg);
		samples[i] = now_us() - began;
		zfd_closep(&fd);
	}
	return median(ENGINE_ROUNDS);
}

static double engine_directly(const char *socket_path)
{
	static const char request[] = "GET /version HTTP/1.1\r\nHost: docker\r\nUser-Agent: keelson\r\n"
				      "Connection: close\r\nContent-Length: 0\r\n\r\n";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	static char body[65536];
	if (zstr_copy(zstr_from(socket_path), address.sun_path, sizeof(address.sun_path)) < 0)
		die("path");
	for (size_t i = 0; i < ENGINE_ROUNDS; i++) {
		double began = now_us();
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		    send(fd, request, sizeof(request) - 1, 0) < 0)
			die(socket_path);
		while (recv(fd, body, sizeof(body), 0) > 0)
			;
		close(fd);
		samples[i] = now_us() - began;
	}
	return median(ENGINE_ROUNDS);
}

int main(int count, char **words)
{
	const char *engine = count > 1 ? words[1] : "/nonexistent";
	struct stack stack;
	stack_prepare(&stack, engine);
	stack_run(&stack);
	double raw = raw_round_trip(PROTO_HEADER_SIZE + 4 + PAYLOAD);
	double typed = typed_round_trip(&stack);
	printf("no-op, %d bytes:      raw SEQPACKET %6.2f us   typed request %6.2f us   ratio %.2f\n",
	       PROTO_HEADER_SIZE + 4 + PAYLOAD, raw, typed, typed / raw);
	if (count > 1) {
		double direct = engine_directly(engine);
		double helper = engine_through_helper(&stack);
		printf("GET /version:         on the socket %6.0f us   through helper %5.0f us   "
		       "more by %.0f us\n",
		       direct, helper, helper - direct);
	}
	(void)stack_finish(&stack);
	return 0;
}

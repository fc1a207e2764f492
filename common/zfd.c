/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and paths.  Used by every process, also those with a privilege:
 * what a peer passes is taken in whole or closed in whole.
 */
#include "common/zfd.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* Linux 6.3; asked for because a host may refuse executable memfds */
#endif

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

void zfd_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* nothing written waits here: written files are closed by hand */
	*fd = -1;
	errno = saved;
}

void zfd_freep(void *pointer)
{
	void *memory;

	memcpy(&memory, pointer, sizeof(memory));
	free(memory);
}

void zfd_fclosep(FILE **file)
{
	int saved = errno;

	if (*file)
		(void)fclose(*file); /* as in zfd_closep */
	*file = NULL;
	errno = saved;
}

int zfd_open_beneath(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags | O_CLOEXEC,
		.mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS |
			   RESOLVE_NO_XDEV,
	};
	long fd = ZFD_RETRY(syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));

	return fd < 0 ? -errno : (int)fd;
}

int zfd_write_all(int fd, const void *data, size_t length)
{
	const uint8_t *at = data;

	while (length > 0) {
		ssize_t written = ZFD_RETRY(write(fd, at, length));

		if (written < 0)
			return -errno;
		at += written;
		length -= (size_t)written;
	}
	return 0;
}

ssize_t zfd_read_all(int fd, void *buffer, size_t size)
{
	uint8_t *at = buffer;
	size_t used = 0;

	for (;;) {
		uint8_t beyond;
		bool full = used == size;
		ssize_t got =
			ZFD_RETRY(read(fd, full ? &beyond : at + used, full ? 1 : size - used));

		if (got < 0)
			return -errno;
		if (got == 0)
			return (ssize_t)used;
		if (full)
			return -EFBIG;
		used += (size_t)got;
	}
}

int zfd_sealed_memfd(const char *name, const void *data, size_t length)
{
	_cleanup_fd_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	int result;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	result = zfd_write_all(fd, data, length);
	if (result < 0)
		return result;
	/* The offset travels with the descriptor: a receiver may read() from the beginning. */
	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, ALL_SEALS) < 0)
		return -errno;
	return TAKE_FD(fd);
}

ssize_t zfd_check_sealed(int fd, size_t max)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return -errno;
	if ((seals & ALL_SEALS) != ALL_SEALS)
		return -EPERM;
	if (fstat(fd, &status) < 0)
		return -errno;
	if ((uint64_t)status.st_size > max)
		return -EFBIG;
	return (ssize_t)status.st_size;
}

int zfd_send(int socket, const void *data, size_t length, const int *fds, size_t fd_count,
	     int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(ZFD_PACKET_FDS_MAX * sizeof(int))];
	} control = {0};
	union {
		const void *from;
		void *base;
	} payload = {.from = data}; /* sendmsg reads only; iovec has no const */
	struct iovec part = {.iov_base = payload.base, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd_count > ZFD_PACKET_FDS_MAX)
		return -EINVAL;
	if (fd_count > 0) {
		struct cmsghdr *header = &control.align;

		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	}
	return ZFD_RETRY(sendmsg(socket, &message, flags | MSG_NOSIGNAL)) < 0 ? -errno : 0;
}

void zfd_packet_close(struct zfd_packet *packet)
{
	for (size_t i = 0; i < ZFD_PACKET_FDS_MAX; i++)
		zfd_closep(&packet->fds[i]);
	packet->fd_count = 0;
}

/* Takes the descriptors of one control message; those beyond the packet's room are closed. */
static bool take_descriptors(struct zfd_packet *packet, struct cmsghdr *header)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool surplus = false;

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
		if (packet->fd_count < ZFD_PACKET_FDS_MAX) {
			packet->fds[packet->fd_count++] = fd;
		} else {
			zfd_closep(&fd);
			surplus = true;
		}
	}
	return !surplus;
}

/* Sorts out the control data; false when more descriptors came than a packet may hold. */
static bool take_control(struct zfd_packet *packet, struct msghdr *message)
{
	bool whole = true;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		struct ucred credentials;

		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_RIGHTS && !take_descriptors(packet, header))
			whole = false;
		if (header->cmsg_type == SCM_CREDENTIALS &&
		    header->cmsg_len == CMSG_LEN(sizeof(credentials))) {
			memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
			packet->peer_uid = credentials.uid;
			packet->peer_pid = credentials.pid;
		}
	}
	return whole;
}

int zfd_receive(int socket, struct zfd_packet *packet, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) +
			   CMSG_SPACE(ZFD_PACKET_FDS_MAX * sizeof(int))];
	} control;
	struct iovec part = {.iov_base = packet->data, .iov_len = packet->size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	ssize_t length;

	packet->length = 0;
	packet->fd_count = 0;
	packet->peer_uid = (uid_t)-1;
	packet->peer_pid = -1;
	for (size_t i = 0; i < ZFD_PACKET_FDS_MAX; i++)
		packet->fds[i] = -1;
	length = ZFD_RETRY(recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC));
	if (length < 0)
		return -errno;
	if (!take_control(packet, &message) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		zfd_packet_close(packet);
		return -EMSGSIZE;
	}
	packet->length = (size_t)length;
	/* An empty packet is not the end of the stream: the kernel adds control data only to
	 * packets. */
	return length > 0 || packet->fd_count > 0 || packet->peer_pid != -1;
}

uint64_t zfd_now_ms(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail: the clock always exists */
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int zfd_wait(int fd, short events, uint64_t deadline_ms)
{
	for (;;) {
		struct pollfd entry = {.fd = fd, .events = events};
		uint64_t now = zfd_now_ms();
		uint64_t left = deadline_ms > now ? deadline_ms - now : 0;
		struct timespec timeout;
		int ready;

		if (left > INT_MAX)
			left = INT_MAX;
		timeout.tv_sec = (time_t)(left / 1000);
		timeout.tv_nsec = (long)(left % 1000) * 1000000;
		ready = ppoll(&entry, 1, &timeout, NULL);
		if (ready > 0)
			return entry.revents & POLLNVAL ? -EBADF : 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0 && left == 0)
			return -ETIMEDOUT;
	}
}

int zfd_parse_u64(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t sum = 0;
	bool over = false;

	if (*text == '\0')
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		over |= __builtin_mul_overflow(sum, 10, &sum);
		over |= __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum);
	}
	if (over || sum > max)
		return -ERANGE;
	*value = sum;
	return 0;
}

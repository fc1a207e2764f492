/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and paths.  Used by every process, also those with a privilege:
 * what a peer passes is taken in whole or closed in whole.
 */
#include "common/zfd.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
	free(*(void **)pointer);
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
		uint8_t beyond = 0;
		bool full = used == size;
		void *to = full ? &beyond : at + used;
		ssize_t got = ZFD_RETRY(read(fd, to, full ? 1 : size - used));

		if (got <= 0)
			return got < 0 ? -errno : (ssize_t)used;
		if (full)
			return -EFBIG;
		used += (size_t)got;
	}
}

int zfd_sealed_memfd(const char *name, const void *data, size_t length)
{
	_cleanup_fd_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int result;

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

	if (seals < 0 || fstat(fd, &status) < 0)
		return -errno;
	if ((seals & ALL_SEALS) != ALL_SEALS)
		return -EPERM;
	return (uint64_t)status.st_size > max ? -EFBIG : (ssize_t)status.st_size;
}

int zfd_send(int socket, const void *data, size_t length, const int *fds, size_t fd_count,
	     int flags)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(ZFD_PACKET_FDS_MAX * sizeof(int))] = {0};
	struct cmsghdr header = {.cmsg_level = SOL_SOCKET,
				 .cmsg_type = SCM_RIGHTS,
				 .cmsg_len = CMSG_LEN(fd_count * sizeof(int))};
	/* sendmsg only reads, but an iovec has no const. */
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd_count > ZFD_PACKET_FDS_MAX)
		return -EINVAL;
	if (fd_count > 0) {
		memcpy(control, &header, sizeof(header));
		memcpy(control + CMSG_LEN(0), fds, fd_count * sizeof(int));
		message.msg_control = control;
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

/* Takes over what one control message holds; false when it holds more than there is room for. */
static bool take_control(struct zfd_packet *packet, struct cmsghdr *header)
{
	const uint8_t *data = CMSG_DATA(header);
	size_t left = header->cmsg_len - CMSG_LEN(0);
	struct ucred credentials;
	bool room = true;
	int fd;

	if (header->cmsg_type == SCM_CREDENTIALS && left == sizeof(credentials)) {
		memcpy(&credentials, data, sizeof(credentials));
		packet->peer_uid = credentials.uid;
		packet->peer_pid = credentials.pid;
	}
	for (; header->cmsg_type == SCM_RIGHTS && left >= sizeof(fd);
	     left -= sizeof(fd), data += sizeof(fd)) {
		memcpy(&fd, data, sizeof(fd));
		room = packet->fd_count < ZFD_PACKET_FDS_MAX;
		if (room)
			packet->fds[packet->fd_count++] = fd;
		else
			zfd_closep(&fd);
	}
	return room;
}

int zfd_receive(int socket, struct zfd_packet *packet, int flags)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) +
					      CMSG_SPACE(ZFD_PACKET_FDS_MAX * sizeof(int))];
	struct iovec part = {.iov_base = packet->data, .iov_len = packet->size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t length;
	bool whole;

	packet->length = 0;
	packet->fd_count = 0;
	packet->peer_uid = (uid_t)-1;
	packet->peer_pid = -1;
	memset(packet->fds, -1, sizeof(packet->fds));
	length = ZFD_RETRY(recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC));
	if (length < 0)
		return -errno;
	whole = !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	for (struct cmsghdr *next = CMSG_FIRSTHDR(&message); next;
	     next = CMSG_NXTHDR(&message, next))
		whole = take_control(packet, next) && whole;
	if (!whole) {
		zfd_packet_close(packet);
		return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : -ETOOMANYREFS;
	}
	packet->length = (size_t)length;
	/* Not the end of the stream but an empty packet, if it came with control data. */
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
		struct timespec timeout = {.tv_sec = (time_t)(left / 1000),
					   .tv_nsec = (long)(left % 1000) * 1000000};
		int ready = ppoll(&entry, 1, &timeout, NULL);

		if (ready > 0)
			return entry.revents & POLLNVAL ? -EBADF : 0;
		if (ready == 0)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

int zfd_parse_u64(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t sum = 0;
	bool over = false;

	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return -EINVAL;
	for (; *text; text++) {
		over |= __builtin_mul_overflow(sum, 10, &sum);
		over |= __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum);
	}
	if (over || sum > max)
		return -ERANGE;
	*value = sum;
	return 0;
}

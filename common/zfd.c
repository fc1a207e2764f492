/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and paths.  Used by every process, also those with a privilege:
 * what a peer passes is taken in whole or closed in whole.
 */
#include "common/zfd.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

void zfd_closep(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* nothing written waits here: written files are closed by hand */
	*fd = -1;
	errno = saved;
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

ssize_t zfd_read_all(int fd, void *buffer, size_t size)
{
	char beyond;
	size_t used = 0;
	ssize_t got;

	do {
		bool full = used == size;

		got = ZFD_RETRY(
			read(fd, full ? &beyond : (char *)buffer + used, full ? 1 : size - used));
		if (got > 0 && full)
			return -EFBIG;
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	return got < 0 ? -errno : (ssize_t)used;
}

ssize_t zfd_check_sealed(int fd, size_t max)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || fstat(fd, &status) < 0)
		return -errno;
	if ((seals & ZFD_ALL_SEALS) != ZFD_ALL_SEALS)
		return -EPERM;
	return (uint64_t)status.st_size > max ? -EFBIG : (ssize_t)status.st_size;
}

/* What comes along with a packet: its descriptors, and who sent it. */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(ZFD_PACKET_FDS_MAX * sizeof(int))];
};

int zfd_send(int socket, const void *data, size_t length, const int *fds, size_t count, int flags)
{
	union control control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	/* sendmsg only reads, but an iovec has no const. */
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (count > ZFD_PACKET_FDS_MAX)
		return -EINVAL;
	if (count > 0) {
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	return ZFD_RETRY(sendmsg(socket, &message, flags | MSG_NOSIGNAL)) < 0 ? -errno : 0;
}

void zfd_packet_close(struct zfd_packet *packet)
{
	for (size_t i = 0; i < packet->fd_count; i++)
		zfd_closep(&packet->fds[i]);
	packet->fd_count = 0;
}

/* Takes over what one control message holds; the kernel makes at most one of each type. */
static void take_control(struct zfd_packet *packet, const struct cmsghdr *header)
{
	size_t length = header->cmsg_len - CMSG_LEN(0);
	struct ucred sender;

	_Static_assert(sizeof(union control) - CMSG_LEN(0) <= sizeof(packet->fds), "room for all");
	if (header->cmsg_type == SCM_RIGHTS) {
		memcpy(packet->fds, CMSG_DATA(header), length);
		packet->fd_count = length / sizeof(int);
	} else if (header->cmsg_type == SCM_CREDENTIALS && length == sizeof(sender)) {
		memcpy(&sender, CMSG_DATA(header), sizeof(sender));
		packet->peer_uid = sender.uid;
		packet->peer_pid = sender.pid;
	}
}

int zfd_receive(int socket, struct zfd_packet *packet, int flags)
{
	union control control;
	struct iovec part = {.iov_base = packet->data, .iov_len = packet->size};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t length = ZFD_RETRY(recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC));

	*packet = (struct zfd_packet){packet->data, packet->size, .peer_uid = (uid_t)-1,
				      .peer_pid = -1};
	memset(packet->fds, -1, sizeof(packet->fds));
	if (length < 0)
		return -errno;
	for (struct cmsghdr *next = CMSG_FIRSTHDR(&message); next;
	     next = CMSG_NXTHDR(&message, next))
		take_control(packet, next);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || packet->fd_count > ZFD_PACKET_FDS_MAX) {
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
	struct pollfd entry = {.fd = fd, .events = events};
	int ready;

	do {
		uint64_t now = zfd_now_ms(), left = deadline_ms > now ? deadline_ms - now : 0;
		struct timespec timeout = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};

		ready = ppoll(&entry, 1, &timeout, NULL);
	} while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return ready == 0 ? -ETIMEDOUT : -errno;
	return entry.revents & POLLNVAL ? -EBADF : 0;
}

int zfd_parse_u64(const char *text, uint64_t max, uint64_t *value)
{
	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return -EINVAL;
	errno = 0;
	uint64_t number = strtoull(text, NULL, 10);
	if (errno == ERANGE || number > max)
		return -ERANGE;
	*value = number;
	return 0;
}

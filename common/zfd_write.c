/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing.  For the broker, whose descriptors may take less than all at once;
 * a helper sends packets and appends lines.  Needs no privilege.
 */
#include "common/zfd.h"
#include <fcntl.h>
#include <sys/mman.h>

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
	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, ZFD_ALL_SEALS) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and paths: cleanup attributes, openat2 below a directory,
 * sealed memfds, and one packet with descriptors over a SEQPACKET socket.
 */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Closes *fd if >= 0, keeps errno. */
void zfd_closep(int *fd);
#define _cleanup_fd_ _cleanup_(zfd_closep)
/* free(*(void **)pointer) */
static inline void zfd_freep(void *pointer)
{
	free(*(void **)pointer);
}
#define _cleanup_free_ _cleanup_(zfd_freep)
void zfd_fclosep(FILE **file);
#define _cleanup_file_ _cleanup_(zfd_fclosep)

/* Hands a descriptor or pointer over: yields the value, leaves -1 / NULL behind. */
#define TAKE_FD(fd)	  __atomic_exchange_n(&(fd), -1, __ATOMIC_RELAXED)
#define TAKE_PTR(pointer) __atomic_exchange_n(&(pointer), NULL, __ATOMIC_RELAXED)

/* Repeats an expression while it fails with EINTR; of type long. */
#define ZFD_RETRY(expression) TEMP_FAILURE_RETRY(expression)

/* Opens path below the directory dirfd: RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS|NO_XDEV,
 * O_CLOEXEC. Returns an owned descriptor or a negative errno.  No fallback without openat2. */
int zfd_open_beneath(int dirfd, const char *path, int flags, mode_t mode);

/* Writes all of data; 0 or a negative errno. */
int zfd_write_all(int fd, const void *data, size_t length);
/* Reads until EOF or size bytes; returns the count, -EFBIG when more was there, or a negative
 * errno. */
ssize_t zfd_read_all(int fd, void *buffer, size_t size);

/* What a memfd whose content can never change has. */
#define ZFD_ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* An anonymous file holding data, sealed against write, shrink, grow and further seals.
 * Returns an owned descriptor or a negative errno. */
int zfd_sealed_memfd(const char *name, const void *data, size_t length);
/* Checks that fd is a memfd with all four seals and at most max bytes.  Returns its size or a
 * negative errno. */
ssize_t zfd_check_sealed(int fd, size_t max);

#define ZFD_PACKET_FDS_MAX  4
#define ZFD_PACKET_FDS_ROOM 12 /* as many as the kernel could put in place of a sender */

struct zfd_packet {
	uint8_t *data;	     /* buffer of the caller */
	size_t size, length; /* its capacity; received */
	size_t fd_count;
	int fds[ZFD_PACKET_FDS_ROOM]; /* owned by the caller after receive; -1 = none */
	uid_t peer_uid; /* from SCM_CREDENTIALS when SO_PASSCRED is on, else (uid_t)-1 */
	pid_t peer_pid; /* same, else -1 */
};

/* Sends one packet with count descriptors (borrowed).  0 or a negative errno; never raises
 * SIGPIPE. flags: 0 or MSG_DONTWAIT. */
int zfd_send(int socket, const void *data, size_t length, const int *fds, size_t count, int flags);
/* Receives one packet.  Returns 1, 0 at end of stream, or a negative errno:
 * -EMSGSIZE packet larger than the buffer, -ETOOMANYREFS more descriptors than a packet holds or
 * control data cut (in both cases everything received is closed), -EAGAIN with MSG_DONTWAIT. */
int zfd_receive(int socket, struct zfd_packet *packet, int flags);
/* Closes whatever descriptors the packet still holds. */
void zfd_packet_close(struct zfd_packet *packet);

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t zfd_now_ms(void);
/* Waits until fd is ready for events (POLLIN, POLLOUT) or the monotonic time deadline_ms has come.
 * 0 ready (also for HUP and ERR), -ETIMEDOUT, or a negative errno. */
int zfd_wait(int fd, short events, uint64_t deadline_ms);

/* Decimal u64 from all of text: no sign, no blank; 0, -EINVAL or -ERANGE (value > max). */
int zfd_parse_u64(const char *text, uint64_t max, uint64_t *value);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte stream to a message broker, non-blocking.  Runs in the dispatcher and
 * in the publisher, without a privilege.  librabbitmq has sockets of its own;
 * they block without a deadline on sending, and compare host names only with
 * DNS names, never with the addresses of a certificate.
 */
#include "unpriv/rpc/amqp_stream.h"
#include "common/zfd.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where Debian and its kin keep the certificates of public and local authorities. */
#define SYSTEM_STORE "/etc/ssl/certs/ca-certificates.crt"
/* An idle connection is tried after 30 s, and is dead 30 s later: within the 90 s of known-faults
 * F02. */
#define KEEPALIVE_IDLE_S     30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_TRIES	     3

enum stream_state { STREAM_CONNECTING, STREAM_TLS, STREAM_OPEN };

struct amqp_stream {
	enum stream_state state;
	int fd;
	unsigned silence_s;
	struct addrinfo *addresses; /* owned */
	struct addrinfo *next;	    /* the address to try when this one fails */
	SSL_CTX *tls_context;	    /* NULL: plain */
	SSL *tls;
	bool tls_wants_write;
};

/* What OpenSSL has to say, in *err; code is the errno to return. */
static int tls_error(struct zerr *err, int code, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	ERR_clear_error();
	return zerr_set(err, code, "%s: %s", what, reason ? reason : "TLS failed");
}

/* A key file with a pass phrase must not make a daemon ask for it on a terminal. */
static int no_pass_phrase(char *buffer, int size, int writing, void *context)
{
	(void)buffer;
	(void)size;
	(void)writing;
	(void)context;
	return -1;
}

static bool is_set(const char *text)
{
	return text && text[0] != '\0';
}

static int load_files(SSL_CTX *tls, const struct amqp_target *target, struct zerr *err)
{
	const char *store = is_set(target->ca_file) ? target->ca_file : SYSTEM_STORE;
	const char *key = is_set(target->key_file) ? target->key_file : target->cert_file;

	if (SSL_CTX_load_verify_file(tls, store) != 1)
		return tls_error(err, -ENOENT, store);
	if (!is_set(target->cert_file))
		return 0;
	if (SSL_CTX_use_certificate_chain_file(tls, target->cert_file) != 1)
		return tls_error(err, -ENOENT, target->cert_file);
	if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
		return tls_error(err, -ENOENT, key);
	return 0;
}

static bool is_address(const char *host)
{
	struct in6_addr address; /* the larger of the two */

	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

/* The name, or the address, that the certificate must be for. */
static int expect_peer(SSL *tls, const struct amqp_target *target)
{
	X509_VERIFY_PARAM *wanted = SSL_get0_param(tls);
	bool numeric = is_address(target->host);
	char name[NI_MAXHOST]; /* OpenSSL's macro takes no const text */

	(void)snprintf(name, sizeof(name), "%s", target->host);
	if (!numeric && SSL_set_tlsext_host_name(tls, name) != 1)
		return -ENOMEM;
	if (!target->verify_name)
		return 0;
	X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (numeric)
		return X509_VERIFY_PARAM_set1_ip_asc(wanted, target->host) == 1 ? 0 : -ENOMEM;
	return X509_VERIFY_PARAM_set1_host(wanted, target->host, 0) == 1 ? 0 : -ENOMEM;
}

static int prepare_tls(struct amqp_stream *stream, const struct amqp_target *target,
		       struct zerr *err)
{
	int result;

	if (!target->tls)
		return 0;
	stream->tls_context = SSL_CTX_new(TLS_client_method());
	if (!stream->tls_context)
		return tls_error(err, -ENOMEM, "TLS context");
	SSL_CTX_set_default_passwd_cb(stream->tls_context, no_pass_phrase);
	SSL_CTX_set_verify(stream->tls_context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(stream->tls_context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(stream->tls_context, SSL_MODE_ENABLE_PARTIAL_WRITE |
						      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
						      SSL_MODE_RELEASE_BUFFERS);
	if (SSL_CTX_set_min_proto_version(stream->tls_context, TLS1_2_VERSION) != 1)
		return tls_error(err, -EINVAL, "TLS 1.2");
	result = load_files(stream->tls_context, target, err);
	if (result < 0)
		return result;
	stream->tls = SSL_new(stream->tls_context);
	if (!stream->tls || expect_peer(stream->tls, target) < 0)
		return tls_error(err, -ENOMEM, "TLS session");
	return 0;
}

static int set_number(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* A dead peer is found by the kernel too, whatever the heartbeat is (known-faults F02). */
static int set_options(int fd, unsigned silence_s)
{
	int result = set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);

	if (result == 0)
		result = set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	if (result == 0)
		result = set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	if (result == 0)
		result = set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	if (result == 0)
		result = set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_TRIES);
	if (result == 0)
		result = set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)silence_s * 1000);
	return result;
}

static int connect_one(struct amqp_stream *stream, const struct addrinfo *address)
{
	_cleanup_fd_ int fd =
		socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int result;

	if (fd < 0)
		return -errno;
	result = set_options(fd, stream->silence_s);
	if (result < 0)
		return result;
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	zfd_closep(&stream->fd);
	stream->fd = TAKE_FD(fd);
	return 0;
}

/* Begins with the next address that lets itself be tried. */
static int connect_next(struct amqp_stream *stream)
{
	int result = -EHOSTUNREACH;

	while (stream->next) {
		struct addrinfo *address = stream->next;

		stream->next = address->ai_next;
		result = connect_one(stream, address);
		if (result == 0)
			return 0;
	}
	return result;
}

struct amqp_stream *amqp_stream_open(const struct amqp_target *target, struct zerr *err)
{
	static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct amqp_stream *stream = calloc(1, sizeof(*stream));
	char port[8];
	int result;

	if (!stream) {
		zerr_errno(err, -ENOMEM, "%s", target->host);
		return NULL;
	}
	stream->fd = -1;
	stream->silence_s = target->silence_s;
	(void)snprintf(port, sizeof(port), "%u", target->port);
	if (prepare_tls(stream, target, err) < 0)
		goto failed;
	result = getaddrinfo(target->host, port, &hints, &stream->addresses);
	if (result != 0) {
		zerr_set(err, -EHOSTUNREACH, "%s: %s", target->host, gai_strerror(result));
		goto failed;
	}
	stream->next = stream->addresses;
	result = connect_next(stream);
	if (result == 0)
		return stream;
	zerr_errno(err, result, "connecting");
failed:
	amqp_stream_close(stream);
	return NULL;
}

void amqp_stream_close(struct amqp_stream *stream)
{
	if (!stream)
		return;
	/* No closing alert is waited for: AMQP has a closing handshake of its own. */
	if (stream->tls && stream->state == STREAM_OPEN)
		(void)SSL_shutdown(stream->tls);
	SSL_free(stream->tls);
	SSL_CTX_free(stream->tls_context);
	ERR_clear_error();
	if (stream->addresses)
		freeaddrinfo(stream->addresses);
	zfd_closep(&stream->fd);
	free(stream);
}

int amqp_stream_fd(const struct amqp_stream *stream)
{
	return stream->fd;
}

uint32_t amqp_stream_events(const struct amqp_stream *stream, bool output_waits)
{
	switch (stream->state) {
	case STREAM_CONNECTING:
		return EPOLLOUT;
	case STREAM_TLS:
		return stream->tls_wants_write ? EPOLLOUT : EPOLLIN;
	case STREAM_OPEN:
		break;
	}
	return output_waits || stream->tls_wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN;
}

static int step_connect(struct amqp_stream *stream, struct zerr *err)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		error = errno;
	if (error != 0) {
		if (connect_next(stream) == 0)
			return 0;
		return zerr_errno(err, -error, "connecting");
	}
	if (!stream->tls) {
		stream->state = STREAM_OPEN;
		return 1;
	}
	if (SSL_set_fd(stream->tls, stream->fd) != 1)
		return tls_error(err, -ENOMEM, "TLS session");
	stream->state = STREAM_TLS;
	stream->tls_wants_write = true; /* the client speaks first */
	return 0;
}

/* 0 to wait, or what a call of OpenSSL came to. */
static int tls_outcome(struct amqp_stream *stream, int returned, struct zerr *err)
{
	long verified;

	switch (SSL_get_error(stream->tls, returned)) {
	case SSL_ERROR_WANT_READ:
		stream->tls_wants_write = false;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		stream->tls_wants_write = true;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return zerr_set(err, -EPIPE, "the peer ended the TLS session");
	case SSL_ERROR_SYSCALL:
		ERR_clear_error();
		return zerr_errno(err, errno ? -errno : -EPIPE, "TLS session");
	default:
		verified = SSL_get_verify_result(stream->tls);
		if (stream->state == STREAM_TLS && verified != X509_V_OK) {
			ERR_clear_error();
			return zerr_set(err, -EACCES, "the peer's certificate: %s",
					X509_verify_cert_error_string(verified));
		}
		return tls_error(err, -EPROTO, "TLS session");
	}
}

int amqp_stream_step(struct amqp_stream *stream, struct zerr *err)
{
	int result;

	if (stream->state == STREAM_CONNECTING)
		return step_connect(stream, err);
	if (stream->state == STREAM_OPEN)
		return 1;
	ERR_clear_error();
	errno = 0;
	result = SSL_connect(stream->tls);
	if (result != 1) {
		result = tls_outcome(stream, result, err);
		return result == -EAGAIN ? 0 : result;
	}
	stream->tls_wants_write = false;
	stream->state = STREAM_OPEN;
	return 1;
}

ssize_t amqp_stream_read(struct amqp_stream *stream, void *data, size_t size, struct zerr *err)
{
	size_t count = 0;
	ssize_t got;
	int result;

	if (!stream->tls) {
		got = ZFD_RETRY(recv(stream->fd, data, size, 0));
		if (got >= 0)
			return got;
		return errno == EAGAIN ? -EAGAIN : zerr_errno(err, -errno, "reading");
	}
	ERR_clear_error();
	errno = 0;
	stream->tls_wants_write = false;
	result = SSL_read_ex(stream->tls, data, size, &count);
	if (result == 1)
		return (ssize_t)count;
	if (SSL_get_error(stream->tls, result) == SSL_ERROR_ZERO_RETURN)
		return 0;
	return tls_outcome(stream, result, err);
}

ssize_t amqp_stream_write(struct amqp_stream *stream, const void *data, size_t length,
			  struct zerr *err)
{
	size_t count = 0;
	ssize_t put;
	int result;

	if (!stream->tls) {
		put = ZFD_RETRY(send(stream->fd, data, length, MSG_NOSIGNAL));
		if (put >= 0)
			return put;
		return errno == EAGAIN ? -EAGAIN : zerr_errno(err, -errno, "writing");
	}
	ERR_clear_error();
	errno = 0;
	stream->tls_wants_write = false;
	result = SSL_write_ex(stream->tls, data, length, &count);
	return result == 1 ? (ssize_t)count : tls_outcome(stream, result, err);
}

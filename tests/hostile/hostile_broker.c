/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A broker that lies, against real docker helpers: knows the request table and
 * nothing of the broker's own client.  For every row of the table it sends what is
 * lawful and what is not, and knows for each case whether the helper has to
 * answer and live, or to end with which status.  Prints failures and one summary.
 */
#include "../unit/privsep/sample.h"
#include "common/zfd.h"
#include "victim.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWERS	   (-1000) /* expected: an answer, and the helper lives */
#define ALL_SEALS  (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define FLOOD	   100000U
#define WAIT_MS	   20000
#define HELLO_SIZE (2 + 4 + 32)

struct tally {
	size_t cases, failed, of_row, fewest;
};

static struct tally tally = {.fewest = SIZE_MAX};
static struct victims victims;
/* A frame in the making; longer than any that may be sent. */
static uint8_t frame[PROTO_HEADER_SIZE + PROTO_LARGE_MAX + 1];

/* ---- frames ---- */

static void put_header(const struct proto_header *header, uint8_t *data)
{
	struct zwriter writer;
	zwriter_init(&writer, data, PROTO_HEADER_SIZE);
	proto_put_header(&writer, header);
}

static struct proto_header header_of(uint16_t type, uint32_t sequence, size_t length)
{
	return (struct proto_header){.magic = PROTO_MAGIC,
				     .version = PROTO_VERSION,
				     .domain = PROTO_DOCKER,
				     .type = type,
				     .sequence = sequence,
				     .length = (uint32_t)length};
}

static size_t put_hello(uint8_t *data)
{
	struct zwriter writer;
	zwriter_init(&writer, data, HELLO_SIZE);
	zput_u16(&writer, PROTO_VERSION);
	zput_blob(&writer, (struct zstr){(const char *)proto_build_id, sizeof(proto_build_id)});
	return writer.used;
}

/* A lawful payload of the row behind the header; its length. */
static size_t put_payload(const struct proto_row *row, enum sample sample)
{
	uint8_t *payload = frame + PROTO_HEADER_SIZE;
	return row->number == PROTO_HELLO ? put_hello(payload)
					  : sample_payload(row, sample, payload);
}

/* Up to 253 times the same descriptor. */
static int send_frame(int channel, const uint8_t *data, size_t length, int fd, size_t fds)
{
	union {
		const uint8_t *from;
		void *base;
	} payload = {.from = data};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(253 * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = payload.base, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (fds > 0) {
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(fds * sizeof(int));
		for (size_t i = 0; i < fds; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &fd, sizeof(fd));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fds * sizeof(int));
	}
	return sendmsg(channel, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static bool is_answer(const struct proto_header *header, uint16_t type, uint32_t sequence)
{
	return header->magic == PROTO_MAGIC && header->version == PROTO_VERSION &&
	       header->domain == PROTO_DOCKER && header->type == type + 1 &&
	       header->sequence == sequence && header->status < PROTO_STATUS_COUNT;
}

/* 0 for a whole answer to a request of that type, -EPIPE when the helper has gone without. */
static int receive_answer(int channel, uint16_t type, uint32_t sequence, int *fd)
{
	static uint8_t buffer[PROTO_FRAME_MAX];
	struct zfd_packet packet = {.data = buffer, .size = sizeof(buffer)};
	struct pollfd entry = {.fd = channel, .events = POLLIN};
	struct proto_header header;
	struct zreader reader;
	if (poll(&entry, 1, WAIT_MS) != 1)
		return -ETIMEDOUT;
	int r = zfd_receive(channel, &packet, 0);
	if (r <= 0)
		return -EPIPE;
	zreader_init(&reader, buffer, packet.length);
	proto_get_header(&reader, &header);
	bool right = !reader.failed && is_answer(&header, type, sequence) &&
		     header.length == reader.left && header.descriptors == packet.fd_count;
	if (fd != NULL)
		*fd = TAKE_FD(packet.fds[0]);
	zfd_packet_close(&packet);
	return right ? 0 : -EPROTO;
}

static void say_hello(int channel)
{
	uint8_t data[PROTO_HEADER_SIZE + HELLO_SIZE];
	struct proto_header header = header_of(PROTO_HELLO, 1, HELLO_SIZE);
	put_header(&header, data);
	(void)put_hello(data + PROTO_HEADER_SIZE);
	(void)send_frame(channel, data, sizeof(data), -1, 0);
	if (receive_answer(channel, PROTO_HELLO, 1, NULL) < 0)
		printf("FAILED hello was not answered\n");
}

/* ---- one case ---- */

struct attack {
	const struct proto_row *row;
	const char *what;
	size_t detail; /* number of the variant, for messages */
	bool without_hello;
	struct proto_header header;
	size_t length; /* bytes of frame that are sent */
	int fd;
	size_t fds;
	int expected; /* exit status, or ANSWERS */
};

static struct attack attack_of(const struct proto_row *row, const char *what, int expected)
{
	bool hello = row->number == PROTO_HELLO;
	size_t length = put_payload(row, SAMPLE_TYPICAL);
	return (struct attack){.row = row,
			       .what = what,
			       .without_hello = hello,
			       .fd = -1,
			       .expected = expected,
			       .header = header_of(row->number, hello ? 1 : 2, length),
			       .length = PROTO_HEADER_SIZE + length};
}

static void count_case(const struct proto_row *row, const char *what, size_t detail, int got,
		       int expected)
{
	tally.cases++;
	tally.of_row++;
	if (got == expected)
		return;
	tally.failed++;
	printf("FAILED %s: %s (%zu): %d instead of %d\n", row->name, what, detail, got, expected);
}

/* What came of it: ANSWERS only if the helper answered, lived, and ended in order with its channel.
 */
static int outcome(struct victim *victim, const struct attack *attack)
{
	int fd = -1;
	int r = receive_answer(victim->channel, attack->header.type, attack->header.sequence, &fd);
	zfd_closep(&fd); /* a server's channel: the domain would wait for it */
	int status = victim_finish(victim);
	if (r == 0)
		return status == HELPER_EXIT_OK ? ANSWERS : status;
	return r == -EPIPE ? status : r;
}

/* Sends what frame holds, with the attack's header in front. */
static void run(const struct attack *attack)
{
	struct victim victim;
	victim_start(&victim, &victims);
	if (!attack->without_hello)
		say_hello(victim.channel);
	put_header(&attack->header, frame);
	(void)send_frame(victim.channel, frame, attack->length, attack->fd, attack->fds);
	count_case(attack->row, attack->what, attack->detail, outcome(&victim, attack),
		   attack->expected);
}

/* The payload that frame holds, in a memfd if it must. */
static void run_payload(struct attack *attack, size_t length)
{
	_cleanup_fd_ int memfd = -1;
	attack->header.length = (uint32_t)length;
	attack->length = PROTO_HEADER_SIZE + length;
	if (length > PROTO_PAYLOAD_MAX && attack->row->large) {
		memfd = zfd_sealed_memfd("hostile", frame + PROTO_HEADER_SIZE, length);
		attack->fd = memfd;
		attack->fds = attack->header.descriptors = 1;
		attack->header.length = 0;
		attack->length = PROTO_HEADER_SIZE;
	}
	run(attack);
}

/* ---- cases of every row ---- */

static void lawful_requests(const struct proto_row *row)
{
	for (enum sample sample = SAMPLE_LEAST; sample < SAMPLE_COUNT; sample++) {
		struct attack attack = attack_of(row, "lawful", ANSWERS);
		attack.detail = sample;
		run_payload(&attack, put_payload(row, sample));
	}
}

static void wrong_lengths(const struct proto_row *row)
{
	size_t whole = put_payload(row, SAMPLE_TYPICAL), most = row->request_max;
	if (most > PROTO_PAYLOAD_MAX)
		most = PROTO_PAYLOAD_MAX;
	size_t lengths[] = {0,
			    1,
			    2,
			    whole / 4,
			    whole / 2,
			    whole - 1,
			    whole + 1,
			    whole + 2,
			    most,
			    most + 1,
			    PROTO_PAYLOAD_MAX,
			    PROTO_PAYLOAD_MAX + 1,
			    2 * PROTO_PAYLOAD_MAX};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct attack attack = attack_of(row, "length", HELPER_EXIT_FIELD);
		size_t length = lengths[i];
		if (length == whole || length == SIZE_MAX)
			continue;
		if (length > whole)
			memset(frame + PROTO_HEADER_SIZE + whole, 0, length - whole);
		attack.detail = length;
		attack.header.length = (uint32_t)length;
		attack.length = PROTO_HEADER_SIZE + length;
		if (length > PROTO_PAYLOAD_MAX)
			attack.expected = HELPER_EXIT_FRAME;
		run(&attack);
	}
	for (size_t cut = 0; cut < PROTO_HEADER_SIZE; cut++) {
		struct attack attack = attack_of(row, "header cut", HELPER_EXIT_FRAME);
		attack.detail = attack.length = cut;
		run(&attack);
	}
}

/* What a helper has to do with this payload under this type. */
static int expected_of(const struct attack *attack, uint16_t type)
{
	static union {
		struct req_docker_container_create largest;
		uint8_t bytes[sizeof(struct req_docker_container_create)];
	} message;
	const struct proto_row *row = proto_find(PROTO_DOCKER, type);
	unsigned phase = attack->without_hello ? PROTO_NEW : PROTO_READY | PROTO_FIRST;
	const char *bad;
	if (row == NULL)
		return HELPER_EXIT_TYPE;
	if ((row->phases & phase) == 0)
		return HELPER_EXIT_STATE;
	return proto_decode(row->fields, row->field_count, frame + PROTO_HEADER_SIZE,
			    attack->header.length, &message, &bad) < 0
		       ? HELPER_EXIT_FIELD
		       : ANSWERS;
}

static void flipped_header_bits(const struct proto_row *row)
{
	for (size_t bit = 0; bit < 8 * PROTO_HEADER_SIZE; bit++) {
		struct attack attack = attack_of(row, "header bit", HELPER_EXIT_FRAME);
		uint8_t data[PROTO_HEADER_SIZE];
		struct zreader reader;
		put_header(&attack.header, data);
		data[bit / 8] ^= (uint8_t)(1U << bit % 8);
		zreader_init(&reader, data, sizeof(data));
		proto_get_header(&reader, &attack.header);
		attack.detail = bit;
		if (bit / 8 == 7)
			attack.expected = HELPER_EXIT_FDS;
		if (bit / 8 == 8 || bit / 8 == 9)
			attack.expected = expected_of(&attack, attack.header.type);
		run(&attack);
	}
}

static void wrong_numbers(const struct proto_row *row)
{
	const uint32_t sequences[] = {0, 1, 3, UINT32_MAX};
	struct attack direction = attack_of(row, "direction", HELPER_EXIT_TYPE);
	direction.header.type++;
	run(&direction);
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		struct attack attack = attack_of(row, "sequence", HELPER_EXIT_FRAME);
		if (sequences[i] == attack.header.sequence)
			continue;
		attack.detail = attack.header.sequence = sequences[i];
		run(&attack);
	}
}

static void wrong_states(const struct proto_row *row)
{
	struct attack attack = attack_of(row, "state", HELPER_EXIT_STATE);
	attack.without_hello = !attack.without_hello;
	attack.header.sequence = attack.without_hello ? 1 : 2;
	run(&attack);
}

static void surplus_descriptors(const struct proto_row *row)
{
	const size_t counts[] = {1, 2, 4, 5, 253};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (size_t told = 0; told <= 1; told++) {
			struct attack attack = attack_of(
				row, told ? "descriptors" : "descriptors untold", HELPER_EXIT_FDS);
			attack.fd = victims.directory;
			attack.detail = attack.fds = counts[i];
			attack.header.descriptors = told ? (uint8_t)counts[i] : 0;
			run(&attack);
		}
}

/* A memfd with these seals. */
static int memfd_with(size_t size, int seals)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
	    (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) < 0))
		return -1;
	return fd;
}

static int as_path(int fd)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_PATH | O_CLOEXEC);
}

/* Every kind of descriptor in the place of a request's memfd. */
static void wrong_descriptors(const struct proto_row *row)
{
	const size_t size = 100000;
	int sealed = memfd_with(size, ALL_SEALS), ends[2], sockets[2];
	if (pipe2(ends, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		abort();
	int kinds[] = {
		memfd_with(size, 0),
		memfd_with(size, ALL_SEALS & ~F_SEAL_WRITE),
		memfd_with(size, ALL_SEALS & ~F_SEAL_GROW),
		memfd_with(size, ALL_SEALS & ~F_SEAL_SHRINK),
		memfd_with(size, ALL_SEALS & ~F_SEAL_SEAL),
		memfd_with(0, ALL_SEALS),
		memfd_with(PROTO_PAYLOAD_MAX, ALL_SEALS),
		memfd_with(PROTO_LARGE_MAX + 1, ALL_SEALS),
		open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		open("/dev/null", O_RDWR | O_CLOEXEC),
		open("/dev/zero", O_RDONLY | O_CLOEXEC),
		open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
		open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
		pidfd_open(getpid(), 0),
		as_path(sealed),
		dup(ends[0]),
		dup(sockets[0]),
		dup(victims.audit.fd),
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct attack attack = attack_of(row, "kind of descriptor", HELPER_EXIT_FDS);
		attack.detail = i;
		attack.fd = kinds[i];
		attack.fds = attack.header.descriptors = 1;
		attack.header.length = 0;
		attack.length = PROTO_HEADER_SIZE;
		run(&attack);
		zfd_closep(&kinds[i]);
	}
	close(sealed);
	for (size_t i = 0; i < 2; i++) {
		close(ends[i]);
		close(sockets[i]);
	}
}

/* A sealed memfd of a lawful size, but without sense. */
static void senseless_memfd(const struct proto_row *row)
{
	_cleanup_fd_ int sealed = memfd_with(100000, ALL_SEALS);
	struct attack attack =
		attack_of(row, "memfd of zeros", row->large ? HELPER_EXIT_FIELD : HELPER_EXIT_FDS);
	attack.fd = sealed;
	attack.fds = attack.header.descriptors = 1;
	attack.header.length = 0;
	attack.length = PROTO_HEADER_SIZE;
	run(&attack);
}

/* ---- cases of every field ---- */

/* The row's typical payload, but bytes in the place of one field; its length. */
static size_t put_with_field(const struct proto_row *row, size_t field, const uint8_t *bytes,
			     size_t length)
{
	void *message =
		sample_message(row->fields, row->field_count, row->struct_size, SAMPLE_TYPICAL);
	struct zwriter writer;
	zwriter_init(&writer, frame + PROTO_HEADER_SIZE, PROTO_LARGE_MAX);
	for (size_t i = 0; i < row->field_count; i++) {
		if (i == field)
			zput_bytes(&writer, bytes, length);
		else
			proto_encode(&row->fields[i], 1, message, &writer);
	}
	free(message);
	return writer.failed ? 0 : writer.used;
}

static void run_field(const struct proto_row *row, size_t field, const struct zwriter *bytes,
		      int expected)
{
	struct attack attack = attack_of(row, row->fields[field].name, expected);
	attack.detail = bytes->used;
	size_t length = put_with_field(row, field, bytes->data, bytes->used);
	if (row->number == PROTO_HELLO)
		attack.expected = HELPER_EXIT_FIELD; /* any change makes it another build's */
	run_payload(&attack, length);
}

static void wrong_integers(const struct proto_row *row, size_t index)
{
	const struct proto_field *field = &row->fields[index];
	const uint64_t highest =
		field->type == PROTO_F_U64 ? UINT64_MAX : (UINT64_C(1) << 8 * field->type) - 1;
	const uint64_t values[] = {
		0, field->least - 1, field->least, field->greatest, field->greatest + 1, highest};
	uint8_t data[8];
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct zwriter writer;
		zwriter_init(&writer, data, (size_t)field->type);
		if (values[i] > highest)
			continue;
		zput_bytes(&writer, &values[i], (size_t)field->type);
		bool lawful = values[i] >= field->least && values[i] <= field->greatest;
		run_field(row, index, &writer, lawful ? ANSWERS : HELPER_EXIT_FIELD);
	}
}

static const struct zstr evil[] = {{"", 0},
				   {"a\0b", 3},
				   {"\0", 1},
				   {"/", 1},
				   {"..", 2},
				   {"../../etc/shadow", 16},
				   {"a/../b", 6},
				   {"\x01", 1},
				   {"\x1b[0m", 4},
				   {"\x7f", 1},
				   {"a\r\nHost: x", 10},
				   {"%2e%2e%2f", 9},
				   {"\xff", 1},
				   {"\xc0\xaf", 2},
				   {"\xed\xa0\x80", 3},
				   {"\xf4\x90\x80\x80", 4},
				   {"=", 1},
				   {"\"}", 2},
				   {" ", 1}};

/* One string in the field, as the whole of a list, or as key or value of one pair. */
static void run_string(const struct proto_row *row, size_t index, struct zstr string, bool as_value)
{
	static uint8_t data[3 * 65536];
	const struct proto_field *field = &row->fields[index];
	enum text_class class = as_value ? field->value_class : field->class;
	bool lawful = string.length <= field->max &&
		      memchr(string.data, 0, string.length) == NULL && text_valid(class, string);
	struct zwriter writer;
	zwriter_init(&writer, data, sizeof(data));
	if (field->type != PROTO_F_STR)
		zput_u16(&writer, 1);
	if (as_value)
		zput_cstr(&writer, "KEY");
	zput_str(&writer, string);
	if (field->type == PROTO_F_PAIRS && !as_value)
		zput_cstr(&writer, "value");
	run_field(row, index, &writer, lawful ? ANSWERS : HELPER_EXIT_FIELD);
}

static void wrong_strings(const struct proto_row *row, size_t index)
{
	static char text[65535];
	const struct proto_field *field = &row->fields[index];
	const size_t lengths[] = {255, 256, field->max, field->max + 1, sizeof(text)};
	memset(text, 'a', sizeof(text));
	for (int as_value = 0; as_value <= (field->type == PROTO_F_PAIRS); as_value++) {
		for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++)
			run_string(row, index, evil[i], as_value);
		/* A row that is not large cannot carry longer ones than a frame has room for. */
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			if (lengths[i] <= sizeof(text) &&
			    (row->large || lengths[i] < PROTO_PAYLOAD_MAX / 2))
				run_string(row, index, (struct zstr){text, lengths[i]}, as_value);
	}
}

static void wrong_counts(const struct proto_row *row, size_t index)
{
	static uint8_t data[2 + 2 * 65536];
	const struct proto_field *field = &row->fields[index];
	size_t most = field->type == PROTO_F_PAIRS ? field->items / 2 : field->items;
	const size_t counts[] = {1, most, most + 1, UINT16_MAX};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct zwriter writer; /* nothing behind the count, or too many empty strings */
		zwriter_init(&writer, data, sizeof(data));
		zput_u16(&writer, (uint16_t)counts[i]);
		run_field(row, index, &writer, HELPER_EXIT_FIELD);
		for (size_t n = 0; n < counts[i]; n++)
			zput_u16(&writer, 0);
		if (counts[i] > most)
			run_field(row, index, &writer, HELPER_EXIT_FIELD);
	}
}

static void wrong_blobs(const struct proto_row *row, size_t index)
{
	static uint8_t data[4 + 65536];
	static const uint8_t bytes[65536] = {0xff};
	const struct proto_field *field = &row->fields[index];
	const size_t lengths[] = {0, field->max, field->max + 1};
	for (size_t i = 0; i < 3; i++) {
		struct zwriter writer;
		zwriter_init(&writer, data, sizeof(data));
		zput_u32(&writer, (uint32_t)lengths[i]);
		zput_bytes(&writer, bytes, lengths[i]);
		run_field(row, index, &writer,
			  lengths[i] <= field->max ? ANSWERS : HELPER_EXIT_FIELD);
	}
	struct zwriter writer;
	zwriter_init(&writer, data, sizeof(data));
	zput_u32(&writer, UINT32_MAX);
	run_field(row, index, &writer, HELPER_EXIT_FIELD);
}

static void wrong_fields(const struct proto_row *row)
{
	for (size_t i = 0; i < row->field_count; i++) {
		enum proto_field_type type = row->fields[i].type;
		if (type <= PROTO_F_U64)
			wrong_integers(row, i);
		else if (type == PROTO_F_BYTES)
			wrong_blobs(row, i);
		else if (type != PROTO_F_UUID)
			wrong_strings(row, i);
		if (type == PROTO_F_LIST || type == PROTO_F_PAIRS)
			wrong_counts(row, i);
	}
}

static void cut_and_killed(const struct proto_row *row)
{
	struct victim victim;
	int status, fd = -1;
	for (int how = SHUT_RD; how <= SHUT_RDWR; how++) {
		struct attack attack = attack_of(row, "half closed", HELPER_EXIT_OK);
		victim_start(&victim, &victims);
		if (!attack.without_hello)
			say_hello(victim.channel);
		put_header(&attack.header, frame);
		if (how == SHUT_RD) /* before, or the answer has arrived and nothing is wrong yet */
			(void)shutdown(victim.channel, how);
		(void)send_frame(victim.channel, frame, attack.length, -1, 0);
		(void)shutdown(victim.channel, how);
		if (how == SHUT_WR &&
		    receive_answer(victim.channel, row->number, attack.header.sequence, &fd) < 0)
			count_case(row, "answer to a half-closed channel", 0, 1, 0);
		zfd_closep(&fd);
		count_case(row, attack.what, (size_t)how, victim_wait(&victim, WAIT_MS),
			   HELPER_EXIT_OK);
	}
	struct attack attack = attack_of(row, "peer killed", HELPER_EXIT_OK);
	victim_start(&victim, &victims);
	pid_t peer = fork();
	if (peer == 0) {
		if (!attack.without_hello)
			say_hello(victim.channel);
		put_header(&attack.header, frame);
		(void)send_frame(victim.channel, frame, attack.length, -1, 0);
		(void)raise(SIGKILL);
	}
	(void)waitpid(peer, &status, 0);
	count_case(row, attack.what, 0, victim_finish(&victim), HELPER_EXIT_OK);
}

static void another_sender(const struct proto_row *row)
{
	for (int as_user = 0; as_user <= (getuid() == 0); as_user++) {
		struct attack attack = attack_of(row, as_user ? "another user" : "another process",
						 HELPER_EXIT_PEER);
		struct victim victim;
		victim_start(&victim, &victims);
		/* Hello comes from this process, or nothing does: then the user alone is wrong. */
		if (!as_user)
			say_hello(victim.channel);
		put_header(&attack.header, frame);
		pid_t other = fork();
		if (other == 0)
			_exit((as_user && setresuid(1, 1, 1) < 0) ||
			      send_frame(victim.channel, frame, attack.length, -1, 0) < 0);
		(void)waitpid(other, NULL, 0);
		count_case(row, attack.what, 0, victim_wait(&victim, WAIT_MS), HELPER_EXIT_PEER);
	}
}

/* ---- cases of the whole ---- */

/* A server of a further channel: open_channel is not for it, and its end is the domain's. */
static void server_is_no_first_process(const struct proto_row *row)
{
	struct attack attack = attack_of(row, "channel from a server", HELPER_EXIT_STATE);
	struct victim victim;
	int server = -1;
	victim_start(&victim, &victims);
	say_hello(victim.channel);
	put_header(&attack.header, frame);
	(void)send_frame(victim.channel, frame, attack.length, -1, 0);
	(void)receive_answer(victim.channel, PROTO_OPEN_CHANNEL, 2, &server);
	say_hello(server);
	put_header(&attack.header, frame);
	(void)send_frame(server, frame, attack.length, -1, 0);
	count_case(row, attack.what, 0, victim_wait(&victim, WAIT_MS), HELPER_EXIT_STATE);
	zfd_closep(&server);
}

static void other_builds(const struct proto_row *row)
{
	for (size_t byte = 0; byte < HELLO_SIZE; byte++) {
		struct attack attack = attack_of(row, "build id", HELPER_EXIT_FIELD);
		attack.detail = byte;
		frame[PROTO_HEADER_SIZE + byte] ^= 1;
		run(&attack);
	}
}

/* As many requests as the table's numbers have room for, all answered; then with nobody who reads.
 */
static void flood(const struct proto_row *row)
{
	struct attack attack = attack_of(row, "flood", ANSWERS);
	struct victim victim;
	uint32_t i = 2;
	victim_start(&victim, &victims);
	say_hello(victim.channel);
	for (; i < FLOOD + 2; i++) {
		attack.header.sequence = i;
		put_header(&attack.header, frame);
		if (send_frame(victim.channel, frame, attack.length, -1, 0) < 0 ||
		    receive_answer(victim.channel, row->number, i, NULL) < 0)
			break;
	}
	count_case(row, "flood, answers read", 0, (int)i - 2, (int)FLOOD);
	for (; i < 2 * FLOOD; i++) {
		attack.header.sequence = i;
		put_header(&attack.header, frame);
		if (send_frame(victim.channel, frame, attack.length, -1, 0) < 0)
			break; /* blocks until the helper gives up, then says so */
	}
	count_case(row, "flood, answers not read", 0, victim_wait(&victim, WAIT_MS),
		   HELPER_EXIT_IO);
}

static void attack_row(const struct proto_row *row)
{
	tally.of_row = 0;
	lawful_requests(row);
	wrong_lengths(row);
	flipped_header_bits(row);
	wrong_numbers(row);
	wrong_states(row);
	surplus_descriptors(row);
	wrong_descriptors(row);
	senseless_memfd(row);
	wrong_fields(row);
	cut_and_killed(row);
	another_sender(row);
	if (row->number == PROTO_HELLO)
		other_builds(row);
	if (row->number == PROTO_OPEN_CHANNEL)
		server_is_no_first_process(row);
	if (tally.of_row < tally.fewest)
		tally.fewest = tally.of_row;
}

int main(void)
{
	uint64_t began = zfd_now_ms();
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	victims_start(&victims);
	lawful_requests(proto_row_at(0)); /* it runs by now */
	size_t before = victims_descriptors(&victims);
	for (size_t i = 0; i < proto_row_count; i++)
		attack_row(proto_row_at(i));
	flood(proto_find(PROTO_DOCKER, PRIV_docker_noop));
	bool leaked = victims_descriptors(&victims) != before;
	bool broken = victims_finish(&victims) != 0;
	if (leaked || broken)
		printf("FAILED %s\n", leaked ? "descriptors leaked" : "the end, or the audit log");
	printf("hostile broker: %zu cases, at least %zu for each of %zu rows, %zu failed, %llu "
	       "ms\n",
	       tally.cases, tally.fewest, proto_row_count, tally.failed + leaked + broken,
	       (unsigned long long)(zfd_now_ms() - began));
	return tally.failed > 0 || leaked || broken;
}

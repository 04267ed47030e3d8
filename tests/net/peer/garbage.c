// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A peer that makes one mistake.
 *
 *   garbage CASE ADDRESS PORT STAG SIZE TO FROM-PORT
 *
 * STAG has octets from TO 0 up to SIZE; correct messages before the mistake go to TO and up. Waits for the receiver to
 * end the connection. Prints one line of JSON: the socket's name, the number of retransmissions, and how the
 * connection ended. Exit codes: 0 the receiver has ended it, 1 it has not, or there was no connection, 2 usage.
 */
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "tests/net/lib/common.h"
#include "tests/net/lib/octets.h"

#define PATIENCE_S 15 /* the receiver waits 10 s for a Request */
#define FPDU_MAX 66000
#define PRELUDE 20

struct peer {
	int fd;
	uint32_t stag;
	uint64_t size, to;
};

static void pattern(uint8_t *p, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(seed >> 24);
	}
}

/* ---- sending --------------------------------------------------------------------------------------- */

/* All of it in one segment, if it fits. The receiver may have reset the connection already. */
static bool push(const struct peer *p, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		ssize_t n = send(p->fd, at, len, MSG_EOR | MSG_NOSIGNAL);

		if (n < 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* Frames the ULPDU that lies at f + 2. Returns the FPDU's length (RFC 5044 section 4.1). */
static size_t frame(uint8_t *f, size_t ulpdu_len)
{
	size_t len = 2 + ulpdu_len;
	uint32_t crc;

	put(f, ulpdu_len, 2);
	while (len % 4)
		f[len++] = 0;
	crc = crc32c(f, len);
	for (int i = 0; i < 4; i++) /* least significant octet first (section 4.4) */
		f[len++] = (uint8_t)(crc >> 8 * i);
	return len;
}

enum { LAST = 0x40, TAGGED = 0x80, DV = 1 };

static size_t tagged(uint8_t *f, uint8_t control, uint32_t stag, uint64_t to, size_t len)
{
	f[2] = TAGGED | control;
	f[3] = 0;
	put(f + 4, stag, 4);
	put(f + 8, to, 8);
	pattern(f + 16, len, (uint32_t)to);
	return frame(f, 14 + len);
}

static size_t untagged(uint8_t *f, uint8_t control, uint32_t qn, uint32_t msn, uint32_t mo,
		       size_t len)
{
	f[2] = control;
	memset(f + 3, 0, 5);
	put(f + 8, qn, 4);
	put(f + 12, msn, 4);
	put(f + 16, mo, 4);
	pattern(f + 20, len, mo);
	return frame(f, 18 + len);
}

/* One correct message of `n` segments. */
static void good(struct peer *p, unsigned int n)
{
	uint8_t f[2048];

	for (unsigned int i = 0; i < n; i++, p->to += 1000)
		push(p, f, tagged(f, i + 1 == n ? DV | LAST : DV, p->stag, p->to, 1000));
}

static void request(uint8_t f[20], uint8_t rev, uint16_t pd_len)
{
	memcpy(f, "MPA ID Req Frame", 16);
	f[16] = 0x40; /* C */
	f[17] = rev;
	put(f + 18, pd_len, 2);
}

static void start(struct peer *p)
{
	uint8_t f[20];

	request(f, 1, 0);
	push(p, f, sizeof(f));
	if (recv(p->fd, f, sizeof(f), MSG_WAITALL) != sizeof(f) ||
	    memcmp(f, "MPA ID Rep Frame", 16))
		die_errno("no Reply");
	good(p, PRELUDE);
}

static void reset_now(struct peer *p)
{
	const struct linger linger = { .l_onoff = 1 };
	int unsent = 1;

	/* What is unsent would be thrown away. */
	for (int i = 0; i < 1000 && unsent; i++) {
		struct tcp_info info = {};
		socklen_t len = sizeof(info);

		getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &len);
		unsent = info.tcpi_unacked;
		usleep(1000);
	}
	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(p->fd);
	p->fd = -1;
}

/* ---- startup --------------------------------------------------------------------------------------- */

static void silent(struct peer *p)
{
	(void)p;
}

static void startup_random(struct peer *p)
{
	uint8_t f[64];

	pattern(f, sizeof(f), 7);
	push(p, f, sizeof(f));
}

static void startup_reply(struct peer *p)
{
	uint8_t f[20];

	request(f, 1, 0);
	memcpy(f, "MPA ID Rep Frame", 16);
	push(p, f, sizeof(f));
}

static void startup_rev0(struct peer *p)
{
	uint8_t f[20];

	request(f, 0, 0);
	push(p, f, sizeof(f));
}

static void startup_rev3(struct peer *p)
{
	uint8_t f[20];

	request(f, 3, 0);
	push(p, f, sizeof(f));
}

static void startup_private(struct peer *p)
{
	uint8_t f[20 + 513] = {};

	request(f, 1, 513);
	push(p, f, sizeof(f));
}

static void startup_half(struct peer *p)
{
	uint8_t f[20];

	request(f, 1, 0);
	push(p, f, 11);
	shutdown(p->fd, SHUT_WR);
}

/* ---- the stream ------------------------------------------------------------------------------------ */

static void random_octets(struct peer *p)
{
	static uint8_t f[131072];

	start(p);
	pattern(f, sizeof(f), 99);
	f[0] &= 0x7f; /* a ULPDU_Length that may be */
	push(p, f, sizeof(f));
}

static void bad_crc(struct peer *p)
{
	uint8_t f[2048];
	size_t len;

	start(p);
	len = tagged(f, DV | LAST, p->stag, p->to, 1000);
	f[len - 1] ^= 1;
	push(p, f, len);
	p->to += 1000;
	/* More segments, so that TCP learns soon that the one before was not taken. */
	for (int i = 0; i < 400; i++) {
		len = tagged(f, DV | LAST, p->stag, p->to, 1000);
		if (!push(p, f, len))
			break;
		p->to += 1000;
		usleep(2000);
	}
}

/* A message of one segment. */
static void one_tagged(struct peer *p, uint8_t control, uint32_t stag, uint64_t to)
{
	uint8_t f[2048];

	start(p);
	push(p, f, tagged(f, control, stag, to, 100));
}

static void one_untagged(struct peer *p, uint8_t control, uint32_t qn, uint32_t msn, uint32_t mo)
{
	uint8_t f[2048];

	start(p);
	push(p, f, untagged(f, control, qn, msn, mo, 100));
}

static void unknown_stag(struct peer *p)
{
	one_tagged(p, DV | LAST, p->stag ^ 0x01010101, p->to);
}

static void out_of_bounds(struct peer *p)
{
	one_tagged(p, DV | LAST, p->stag, p->size - 99);
}

static void to_wrap(struct peer *p)
{
	one_tagged(p, DV | LAST, p->stag, UINT64_MAX - 9);
}

static void version_tagged(struct peer *p)
{
	one_tagged(p, 2 | LAST, p->stag, p->to);
}

static void version_untagged(struct peer *p)
{
	one_untagged(p, 0 | LAST, 0, 1, 0);
}

static void invalid_qn(struct peer *p)
{
	one_untagged(p, DV | LAST, 3, 1, 0);
}

/* More messages in one segment than buffers are posted: the application cannot post more in between. */
static void no_buffer(struct peer *p)
{
	uint8_t f[2048];
	size_t len = 0;

	start(p);
	for (uint32_t msn = 1; msn <= 17; msn++)
		len += untagged(f + len, DV | LAST, 0, msn, 0, 8);
	push(p, f, len);
}

static void msn_range(struct peer *p)
{
	one_untagged(p, DV | LAST, 0, 0x80000000, 0);
}

static void message_offset(struct peer *p)
{
	one_untagged(p, DV | LAST, 0, 1, 0x7fffffff);
}

static void too_long(struct peer *p)
{
	uint8_t f[2048];

	start(p);
	for (uint32_t mo = 0; mo <= 65536; mo += 1000)
		push(p, f, untagged(f, DV, 0, 1, mo, 1000));
}

static void short_header(struct peer *p)
{
	uint8_t f[64] = { 0, 0, TAGGED | LAST | DV };

	start(p);
	push(p, f, frame(f, 5));
}

static void length_0(struct peer *p)
{
	uint8_t f[64];

	start(p);
	push(p, f, frame(f, 0));
}

static void length_65535(struct peer *p)
{
	static uint8_t f[FPDU_MAX];

	start(p);
	pattern(f, sizeof(f), 5);
	f[2] = TAGGED | LAST | DV;
	push(p, f, frame(f, 65535));
}

/* FIN within an FPDU. */
static void half_fpdu(struct peer *p)
{
	uint8_t f[2048];
	size_t len;

	start(p);
	len = tagged(f, DV | LAST, p->stag, p->to, 1000);
	push(p, f, len / 2);
	shutdown(p->fd, SHUT_WR);
}

static void reset_between(struct peer *p)
{
	start(p);
	reset_now(p);
}

static void reset_within(struct peer *p)
{
	uint8_t f[2048];
	size_t len;

	start(p);
	len = tagged(f, DV | LAST, p->stag, p->to, 1000);
	push(p, f, len / 2);
	reset_now(p);
}

static const struct {
	const char *name;
	void (*run)(struct peer *p);
} cases[] = {
	{ "silent", silent },
	{ "startup-random", startup_random },
	{ "startup-reply", startup_reply },
	{ "startup-rev0", startup_rev0 },
	{ "startup-rev3", startup_rev3 },
	{ "startup-private", startup_private },
	{ "startup-half", startup_half },
	{ "random", random_octets },
	{ "bad-crc", bad_crc },
	{ "unknown-stag", unknown_stag },
	{ "out-of-bounds", out_of_bounds },
	{ "to-wrap", to_wrap },
	{ "version-tagged", version_tagged },
	{ "version-untagged", version_untagged },
	{ "invalid-qn", invalid_qn },
	{ "no-buffer", no_buffer },
	{ "msn-range", msn_range },
	{ "message-offset", message_offset },
	{ "too-long", too_long },
	{ "short-header", short_header },
	{ "length-0", length_0 },
	{ "length-65535", length_65535 },
	{ "half-fpdu", half_fpdu },
	{ "reset-between", reset_between },
	{ "reset-within", reset_within },
};

/* ---- the connection -------------------------------------------------------------------------------- */

static void name_of(int fd, char *text, size_t size)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	char host[64], port[8];

	if (getsockname(fd, (struct sockaddr *)&addr, &len) ||
	    getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		die_errno("getsockname");
	snprintf(text, size, addr.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* From a port of our choice: after a reset the kernel might reuse one that the receiver has reported. */
static int connect_to(const char *host, const char *port, uint16_t from)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *addr;
	struct sockaddr_in6 local = { .sin6_port =
					      htons(from) }; /* the port is where IPv4 has it */
	int one = 1, fd;

	if (getaddrinfo(host, port, &hints, &addr)) {
		fprintf(stderr, "garbage: no address: %s\n", host);
		exit(2);
	}
	local.sin6_family = (sa_family_t)addr->ai_family;
	fd = socket(addr->ai_family, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&local, addr->ai_addrlen) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    connect(fd, addr->ai_addr, addr->ai_addrlen))
		die_errno("connect");
	freeaddrinfo(addr);
	return fd;
}

/* How the receiver ends it. */
static const char *await_end(const struct peer *p)
{
	struct pollfd poller = { .fd = p->fd, .events = POLLIN };
	time_t end = time(NULL) + PATIENCE_S;
	uint8_t f[4096];

	if (p->fd < 0)
		return "reset by us";
	while (time(NULL) < end) {
		ssize_t n;

		if (poll(&poller, 1, 100) <= 0)
			continue;
		n = recv(p->fd, f, sizeof(f), 0);
		if (n <= 0)
			return n ? "reset" : "closed";
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);
	struct peer p = { .fd = -1 };
	const char *end;
	char name[80];

	if (argc != 8) {
		fprintf(stderr, "usage: garbage CASE ADDRESS PORT STAG SIZE TO FROM-PORT\n");
		return 2;
	}
	p.stag = (uint32_t)strtoul(argv[4], NULL, 0);
	p.size = strtoull(argv[5], NULL, 0);
	p.to = strtoull(argv[6], NULL, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		p.fd = connect_to(argv[2], argv[3], (uint16_t)atoi(argv[7]));
		name_of(p.fd, name, sizeof(name));
		cases[i].run(&p);
		end = await_end(&p);
		if (p.fd >= 0)
			getsockopt(p.fd, IPPROTO_TCP, TCP_INFO, &info, &len);
		printf("{\"local\":\"%s\",\"retransmits\":%u,\"end\":\"%s\"}\n", name,
		       info.tcpi_total_retrans, end ? end : "never");
		return !end;
	}
	fprintf(stderr, "garbage: no case '%s'\n", argv[1]);
	return 2;
}

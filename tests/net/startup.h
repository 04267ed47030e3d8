/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer made of plain sockets and the RFCs, for tests/net/startup*.c: startup frames as octets, FPDUs with
 * and without Markers and CRCs both ways, and the control connection to startup_end.c. Nothing here is the
 * library's. Each case is a function that returns NULL, or what was wrong.
 */
#ifndef XIW_TEST_NET_STARTUP_H
#define XIW_TEST_NET_STARTUP_H

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { M = 0x80, C = 0x40, R = 0x20, S = 0x10 }; /* flags of a startup frame */
enum { RTR_SEND = 1, RTR_WRITE = 2, RTR_READ = 4 };
enum { REQUEST, REPLY };

struct startup_case {
	const char *name;
	const char *(*run)(int arg);
	int arg;
};

struct fpdu {
	uint8_t ulpdu[4096];
	uint32_t len;
};

static struct {
	struct sockaddr_in end; /* of the library */
	int control, fd;
	bool keep_listening; /* for one more connection of the library */
	int listener;
	int port;
	bool direct;
	bool markers_out, markers_in, crc; /* as both frames say */
	uint32_t out, in;		   /* stream positions behind the frames */
	uint8_t frame[1024];		   /* the library's startup frame */
	char result[2048];
	char why[4096];
} peer;

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			int _n = snprintf(peer.why, sizeof(peer.why), "line %d: %s: ", __LINE__,   \
					  #cond);                                                  \
			snprintf(peer.why + _n, sizeof(peer.why) - (size_t)_n, " " __VA_ARGS__);   \
			return peer.why;                                                           \
		}                                                                                  \
	} while (0)
#define TRY(call)                                                                                  \
	do {                                                                                       \
		const char *_why = (call);                                                         \
		if (_why)                                                                          \
			return _why;                                                               \
	} while (0)

static inline uint8_t octet(uint64_t i)
{
	return (uint8_t)(i * 167 + (i >> 8));
}

static inline void put(uint8_t *p, uint64_t v, int octets)
{
	while (octets--) {
		p[octets] = (uint8_t)v;
		v >>= 8;
	}
}

static inline uint64_t get(const uint8_t *p, int octets)
{
	uint64_t v = 0;

	while (octets--)
		v = v << 8 | *p++;
	return v;
}

/* CRC32c, bit by bit: RFC 3385, reflected. */
static inline uint32_t crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

/* ---- the control connection ---------------------------------------------------------------------- */

static inline bool control_line(char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(peer.control, line + n, 1) == 1)
		if (line[n++] == '\n')
			break;
	line[n] = '\0';
	return n && line[n - 1] == '\n';
}

static inline const char *value(const char *key, char *buf, size_t size)
{
	char pattern[64];
	const char *p;
	size_t n;

	snprintf(pattern, sizeof(pattern), " %s=", key);
	p = strncmp(peer.result, pattern + 1, strlen(pattern) - 1) ? strstr(peer.result, pattern)
								   : peer.result - 1;
	if (!p)
		return "(absent)";
	p += strlen(pattern);
	n = strcspn(p, " \n");
	snprintf(buf, size, "%.*s", (int)n, p);
	return buf;
}

/* Awaits the library's account and compares it with `key=value ...`. */
static inline const char *result(const char *want)
{
	char copy[512], got[512], *save, *word, *v;

	if (peer.fd >= 0)
		close(peer.fd);
	peer.fd = -1;
	CHECK(control_line(peer.result, sizeof(peer.result)));
	snprintf(copy, sizeof(copy), "%s", want);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		v = strchr(word, '=');
		*v++ = '\0';
		CHECK(!strcmp(value(word, got, sizeof(got)), v), "%s is not %s in %s", word, v,
		      peer.result);
	}
	return NULL;
}

static inline int listen_on(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 4)) {
		perror("startup: listen");
		exit(1);
	}
	return fd;
}

static inline void prepare(int fd)
{
	struct timeval patience = { .tv_sec = 15 };
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

static inline int accept_from(int l)
{
	struct pollfd p = { .fd = l, .events = POLLIN };
	int fd = poll(&p, 1, 15000) == 1 ? accept(l, NULL, NULL) : -1;

	prepare(fd);
	return fd;
}

/*
 * The library makes a connection as `line` says; peer.fd is our end of it. It is the TCP client if it is the
 * Initiator, except when it upgrades.
 */
static inline const char *begin(const char *fmt, ...)
{
	char line[512], answer[64];
	int l = -1, n;
	va_list ap;

	peer.port++;
	n = snprintf(line, sizeof(line), "port=%d ", peer.port);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	strcat(line, "\n");
	if (strstr(line, "role=i") && !strstr(line, "upgrade=1") && !strstr(line, "fails=1"))
		l = listen_on(peer.port);
	CHECK(write(peer.control, line, (size_t)n + 1) == n + 1);
	CHECK(control_line(answer, sizeof(answer)) && !strcmp(answer, "ready\n"), "%s", answer);
	if (l >= 0) {
		peer.fd = accept_from(l);
		peer.listener = l;
		if (!peer.keep_listening)
			close(l);
		peer.keep_listening = false;
	} else if (!strstr(line, "fails=1")) {
		struct sockaddr_in a = peer.end;

		a.sin_port = htons((uint16_t)peer.port);
		peer.fd = socket(AF_INET, SOCK_STREAM, 0);
		n = connect(peer.fd, (struct sockaddr *)&a, sizeof(a));
		CHECK(!n, "%s", strerror(errno));
	}
	prepare(peer.fd);
	peer.out = peer.in = 0;
	peer.markers_in = peer.markers_out = false;
	peer.crc = true;
	return NULL;
}

/* With `hold=1` the library's application decides when it is told, however long that takes. */
static inline const char *decide_now(void)
{
	CHECK(write(peer.control, "\n", 1) == 1);
	return NULL;
}

/* ---- octets -------------------------------------------------------------------------------------- */

static inline const char *push(const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		ssize_t n = send(peer.fd, p, len, MSG_EOR | MSG_NOSIGNAL);

		CHECK(n > 0, "%s", strerror(errno));
		p += n;
		len -= (size_t)n;
	}
	return NULL;
}

static inline const char *pull(void *data, size_t len)
{
	ssize_t n = recv(peer.fd, data, len, MSG_WAITALL);

	CHECK(n == (ssize_t)len, "%zd of %zu octets: %s", n, len, n < 0 ? strerror(errno) : "");
	return NULL;
}

/* The library has closed the connection, with or without a reset, and sent nothing else. */
static inline const char *closed(void)
{
	char c;
	ssize_t n = recv(peer.fd, &c, 1, 0);

	CHECK(n == 0 || (n < 0 && errno == ECONNRESET), "%zd, %s", n, n < 0 ? strerror(errno) : "");
	return NULL;
}

/* With a FIN: a reset might have overtaken what was sent before. */
static inline const char *closed_orderly(void)
{
	char c;
	ssize_t n = recv(peer.fd, &c, 1, 0);

	CHECK(n == 0, "%s", n < 0 ? strerror(errno) : "octets");
	return NULL;
}

static inline const char *all_acknowledged(void)
{
	int unsent = 1;

	for (int i = 0; i < 20000 && unsent; i++) {
		CHECK(!ioctl(peer.fd, SIOCOUTQ, &unsent));
		usleep(unsent ? 500 : 0);
	}
	CHECK(!unsent);
	return NULL;
}

static inline const char *silent(int ms)
{
	struct pollfd p = { .fd = peer.fd, .events = POLLIN };

	CHECK(poll(&p, 1, ms) == 0);
	return NULL;
}

/* ---- startup frames ------------------------------------------------------------------------------ */

/* Returns the length. `enhanced`: the 4 octets of RFC 6581, or NULL; `pd`: octets of Private Data behind them. */
static inline size_t make_frame(uint8_t *f, int which, uint8_t flags, uint8_t rev,
				const uint8_t *enhanced, size_t pd)
{
	size_t at = 20;

	memcpy(f, which == REPLY ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	f[16] = flags;
	f[17] = rev;
	put(f + 18, pd + (enhanced ? 4 : 0), 2);
	if (enhanced) {
		memcpy(f + at, enhanced, 4);
		at += 4;
	}
	for (size_t i = 0; i < pd; i++)
		f[at++] = octet(i);
	return at;
}

static inline const char *send_frame(int which, uint8_t flags, uint8_t rev, const uint8_t *enhanced,
				     size_t pd)
{
	uint8_t f[2048];

	return push(f, make_frame(f, which, flags, rev, enhanced, pd));
}

/* The library's frame, octet for octet. */
static inline const char *expect_frame(int which, uint8_t flags, uint8_t rev,
				       const uint8_t *enhanced, size_t pd)
{
	uint8_t want[2048];
	size_t len = make_frame(want, which, flags, rev, enhanced, pd);

	TRY(pull(peer.frame, len));
	for (size_t i = 0; i < len; i++)
		CHECK(peer.frame[i] == want[i], "octet %zu is %02x, not %02x", i, peer.frame[i],
		      want[i]);
	return NULL;
}

/* A, B, IRD, C, D, ORD. */
static inline const uint8_t *enhanced(int p2p, int rtr, unsigned int ird, unsigned int ord)
{
	static uint8_t e[2][4], which;
	uint8_t *p = e[which ^= 1];

	put(p, (p2p ? 0x8000u : 0) | (rtr & RTR_SEND ? 0x4000u : 0) | ird, 2);
	put(p + 2, (rtr & RTR_WRITE ? 0x8000u : 0) | (rtr & RTR_READ ? 0x4000u : 0) | ord, 2);
	return p;
}

/* ---- FPDUs --------------------------------------------------------------------------------------- */

struct framing {
	uint8_t *to;
	uint32_t n, at, length_at; /* octets, stream position, where the length field is in `to` */
	bool markers, begun;
};

static inline void put_octets(struct framing *f, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		if (f->markers && f->at % 512 == 0) {
			put(f->to + f->n, f->begun ? f->n - f->length_at : 0, 4);
			f->n += 4;
			f->at += 4;
		}
		if (!f->begun) {
			f->begun = true;
			f->length_at = f->n;
		}
		f->to[f->n++] = p[i];
		f->at++;
	}
}

/* RFC 5044 section 4. Returns the length. */
static inline uint32_t make_fpdu(uint8_t *to, const uint8_t *ulpdu, uint32_t len)
{
	struct framing f = { .to = to, .at = peer.out, .markers = peer.markers_out };
	uint8_t length[2], zero[4] = {}, crc[4] = { 0xde, 0xad, 0xbe, 0xef };
	uint32_t value;

	put(length, len, 2);
	put_octets(&f, length, 2);
	put_octets(&f, ulpdu, len);
	put_octets(&f, zero, (4 - (2 + len) % 4) % 4);
	/* A marker due here is covered by the CRC. */
	if (f.markers && f.at % 512 == 0) {
		put(f.to + f.n, f.n - f.length_at, 4);
		f.n += 4;
		f.at += 4;
	}
	value = crc32c(to, f.n);
	for (int i = 0; i < 4 && peer.crc; i++)
		crc[i] = (uint8_t)(value >> 8 * i);
	memcpy(f.to + f.n, crc, 4);
	peer.out = f.at + 4;
	return f.n + 4;
}

static inline uint32_t tagged(uint8_t *to, uint64_t offset, uint32_t len)
{
	uint8_t u[2048] = { 0xc1, 0x40 };

	put(u + 2, len ? 0x1234 : 0, 4);
	put(u + 6, offset, 8);
	for (uint32_t i = 0; i < len; i++)
		u[14 + i] = octet(offset + i);
	return make_fpdu(to, u, 14 + len);
}

static inline uint32_t untagged(uint8_t *to, uint8_t opcode, uint32_t qn, uint32_t msn,
				uint32_t len)
{
	uint8_t u[2048] = { 0x41, opcode };

	put(u + 6, qn, 4);
	put(u + 10, msn, 4);
	put(u + 14, 0, 4);
	for (uint32_t i = 0; i < len; i++)
		u[18 + i] = octet(i);
	return make_fpdu(to, u, 18 + len);
}

/* One octet of the library's stream behind a marker, if one is due. */
static inline const char *next_octet(uint8_t *raw, uint32_t *n, uint32_t *length_at)
{
	if (peer.markers_in && peer.in % 512 == 0) {
		TRY(pull(raw + *n, 4));
		CHECK(get(raw + *n, 4) == (*length_at == UINT32_MAX ? 0 : *n - *length_at),
		      "a marker");
		*n += 4;
		peer.in += 4;
	}
	if (*length_at == UINT32_MAX)
		*length_at = *n;
	TRY(pull(raw + *n, 1));
	++*n;
	peer.in++;
	return NULL;
}

/* The library's next FPDU, Markers and CRC checked. */
static inline const char *pull_fpdu(struct fpdu *f)
{
	static uint8_t raw[8192];
	uint32_t n = 0, length_at = UINT32_MAX, pad, crc;

	f->len = 0;
	for (int i = 0; i < 2; i++) {
		TRY(next_octet(raw, &n, &length_at));
		f->len = f->len << 8 | raw[n - 1];
	}
	CHECK(f->len >= 14 && f->len <= sizeof(f->ulpdu), "ULPDU of %u octets", f->len);
	for (uint32_t i = 0; i < f->len; i++) {
		TRY(next_octet(raw, &n, &length_at));
		f->ulpdu[i] = raw[n - 1];
	}
	for (pad = (4 - (2 + f->len) % 4) % 4; pad; pad--)
		TRY(next_octet(raw, &n, &length_at));
	if (peer.markers_in && peer.in % 512 == 0) {
		TRY(pull(raw + n, 4));
		CHECK(get(raw + n, 4) == n - length_at, "the marker in front of the CRC");
		n += 4;
		peer.in += 4;
	}
	TRY(pull(raw + n, 4));
	peer.in += 4;
	crc = (uint32_t)raw[n] | (uint32_t)raw[n + 1] << 8 | (uint32_t)raw[n + 2] << 16 |
	      (uint32_t)raw[n + 3] << 24;
	CHECK(!peer.crc || crc == crc32c(raw, n), "CRC %08x", crc);
	return NULL;
}

#endif

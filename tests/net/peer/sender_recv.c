// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The Responder of sender.c, made of plain sockets. */
#include "tests/net/peer/sender.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include "crc32c/crc32c.h"

static void read_all(int fd, uint8_t *p, size_t len)
{
	if (recv(fd, p, len, MSG_WAITALL) != (ssize_t)len)
		die("startup");
}

static void start_mpa(int fd)
{
	uint8_t frame[20];

	read_all(fd, frame, sizeof(frame));
	if (memcmp(frame, "MPA ID Req Frame", 16) || frame[17] != 1 || get(frame + 18, 2))
		die("Request");
	memcpy(frame, "MPA ID Rep Frame", 16);
	frame[16] = markers ? 0xc0 : 0x40;
	if (send(fd, frame, sizeof(frame), MSG_NOSIGNAL) != sizeof(frame))
		die_errno("Reply");
}

static void reply(int fd, uint32_t msn)
{
	uint8_t f[2 + 18 + REPLY + 4] = { 0 };
	uint32_t crc;

	put(f, 18 + REPLY, 2);
	f[2] = 0x41; /* untagged, last, version 1 */
	put(f + 12, msn, 4);
	crc = __builtin_bswap32(xiw_crc32c(0, f, sizeof(f) - 4));
	put(f + sizeof(f) - 4, crc, 4);
	if (send(fd, f, sizeof(f), MSG_NOSIGNAL) != sizeof(f))
		die_errno("reply");
}

int accept_on(const struct addrinfo *a, int mss, int window)
{
	int fd = socket(a->ai_family, SOCK_STREAM, 0), one = 1, conn;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if ((mss && setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss))) ||
	    (window && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window))) ||
	    bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, 1))
		die_errno("listen");
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		die_errno("accept");
	setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(fd);
	return conn;
}

void receive(int fd, unsigned int every, size_t piece)
{
	static struct reader r;
	static uint8_t buf[65536];
	uint64_t answered = 0;
	ssize_t n;

	start_mpa(fd);
	while ((n = recv(fd, buf, piece, 0)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (!read_octet(&r, buf[i]))
				continue;
			begin_fpdu(&r);
			for (; every && answered < r.messages / every && answered < REPLIES;
			     answered++)
				reply(fd, (uint32_t)answered + 1);
		}
	if (n < 0)
		die_errno("recv");
	if (r.raw_len)
		broken("the stream ends within an FPDU\n");
	printf("{\"fpdus\":%llu,\"messages\":%llu,\"octets\":%llu,\"replies\":%llu,\"wrong\":%u}\n",
	       (unsigned long long)r.fpdus, (unsigned long long)r.messages,
	       (unsigned long long)r.to, (unsigned long long)answered, wrong);
}

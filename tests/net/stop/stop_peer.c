// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * stop_peer HOW ADDRESS PORT COUNT: a peer of plain sockets, with COUNT connections to verbs_stop or fabric_stop. Each
 * begins with a Send, and then the peer
 *
 *   writes    RDMA Writes into the region that it was told of, and Sends, whatever comes
 *   trickles  a Write of nothing, five times a second
 *   silent    does nothing, and does not read
 *   polite    reads, and closes when the other side does; prints how many octets have come
 *   eager     the same, behind a Write; it is a peer-to-peer Initiator (RFC 6581), and waits a moment with being ready
 *
 * It ends when all its connections have. Prints "rejected: DATA" if it was.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/net/lib/mpa.h"

#define WRITE_LEN 1000
#define SEND_EACH 16 /* so many Writes */
#define TRICKLE_MS 200
#define EAGER_MS 300

struct place {
	uint64_t to;
	uint32_t stag, unused;
};

static int fd_of(const char *host, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t len = address_of(host, port, &at);
	int fd = socket(at.ss_family, SOCK_STREAM, 0), one = 1;

	if (!len || fd < 0 || connect(fd, (struct sockaddr *)&at, len))
		die_errno("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static bool give(int fd, const uint8_t *octets, uint32_t len)
{
	return send(fd, octets, len, MSG_EOR | MSG_NOSIGNAL) == (ssize_t)len;
}

static bool send_message(int fd, uint32_t msn)
{
	uint8_t f[256];

	return give(fd, f, untagged(f, 0x43, 0, msn, 16));
}

static bool write_to(int fd, const struct place *p, uint32_t len)
{
	uint8_t u[2048], f[2048];

	return give(fd, f,
		    make_fpdu(f, u,
			      make_tagged(u, LAST | DV, 0x40, len ? p->stag : 0, p->to, 1, len)));
}

/* Ends the program if the connection is rejected. `e`: the data of RFC 6581, or NULL. */
static int enter(const char *host, uint16_t port, const uint8_t *e, struct place *p)
{
	uint8_t f[1024];
	int fd = fd_of(host, port);
	size_t len;

	if (!give(fd, f, (uint32_t)make_frame(f, REQUEST, e ? C | S : C, e ? 2 : 1, e, 0)) ||
	    recv(fd, f, 20, MSG_WAITALL) != 20)
		die_errno("startup");
	len = get(f + 18, 2);
	if (len > sizeof(f) || recv(fd, f + 20, len, MSG_WAITALL) != (ssize_t)len)
		die_errno("Private Data");
	if (f[16] & R) {
		printf("rejected: %.*s\n", (int)len, (char *)f + 20);
		exit(0);
	}
	/* Providers of libfabric have an octet in front of the application's data. */
	if (e)
		memcpy(p, f + 24, sizeof(*p));
	else if (len >= sizeof(*p))
		memcpy(p, f + 20 + (len == sizeof(*p) + 1), sizeof(*p));
	if (!e && !send_message(fd, 1))
		die_errno("send");
	return fd;
}

static void writes(int fd, const struct place *p)
{
	for (uint32_t n = 1, msn = 2; write_to(fd, p, WRITE_LEN); n++)
		if (n % SEND_EACH == 0 && !send_message(fd, msn++))
			break;
}

static void polite(int fd)
{
	static uint8_t octets[65536];
	size_t all = 0;
	ssize_t n;

	while ((n = recv(fd, octets, sizeof(octets), 0)) > 0)
		all += (size_t)n;
	printf("%zu octets%s\n", all, n < 0 ? ", and a reset" : "");
}

/* The RTR message is a Write of nothing. What comes behind it is in the same segment. */
static void eager(int fd, const struct place *p)
{
	uint8_t u[2048], f[4096];
	uint32_t len;

	usleep(EAGER_MS * 1000);
	len = make_fpdu(f, u, make_tagged(u, LAST | DV, 0x40, 0, 0, 1, 0));
	len += make_fpdu(f + len, u, make_tagged(u, LAST | DV, 0x40, p->stag, p->to, 1, WRITE_LEN));
	len += untagged(f + len, 0x43, 0, 1, 16);
	if (!give(fd, f, len))
		die_errno("send");
	polite(fd);
}

/* Nothing but a reset makes both halves of a connection be over while this side has not closed. */
static unsigned int living(struct pollfd *fds, unsigned int n, int ms)
{
	unsigned int alive = 0;

	poll(fds, n, ms);
	for (unsigned int i = 0; i < n; i++) {
		if (fds[i].revents)
			fds[i].fd = -1;
		alive += fds[i].fd >= 0;
	}
	return alive;
}

static void linger(struct pollfd *fds, unsigned int n, const struct place *p, bool trickles)
{
	while (living(fds, n, 0)) {
		struct timespec t = { .tv_nsec = TRICKLE_MS * 1000000L };

		for (unsigned int i = 0; i < n && trickles; i++)
			if (fds[i].fd >= 0)
				write_to(fds[i].fd, p, 0);
		nanosleep(&t, NULL);
	}
}

static void each(const char *how, const char *host, uint16_t port, unsigned int n)
{
	const bool is_eager = !strcmp(how, "eager");

	for (unsigned int i = 0; i < n; i++) {
		struct place p = {};
		int fd;

		if (n > 1 && fork())
			continue;
		fd = enter(host, port, is_eager ? enhanced(1, RTR_WRITE, 1, 1) : NULL, &p);
		if (is_eager)
			eager(fd, &p);
		else if (!strcmp(how, "writes"))
			writes(fd, &p);
		else
			polite(fd);
		if (n > 1)
			exit(0);
	}
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	const unsigned int n = argc == 5 ? (unsigned int)atoi(argv[4]) : 0;
	const uint16_t port = argc == 5 ? (uint16_t)atoi(argv[3]) : 0;
	struct pollfd *fds;
	struct place p = {};

	if (!n)
		die("stop_peer HOW ADDRESS PORT COUNT");
	peer.crc = true;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(argv[1], "trickles") && strcmp(argv[1], "silent")) {
		each(argv[1], argv[2], port, n);
		return 0;
	}
	fds = calloc(n, sizeof(*fds));
	for (unsigned int i = 0; fds && i < n; i++)
		fds[i].fd = enter(argv[2], port, NULL, &p);
	linger(fds, n, &p, !strcmp(argv[1], "trickles"));
	free(fds);
	return 0;
}

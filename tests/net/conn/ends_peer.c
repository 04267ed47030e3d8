// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The peers of ends.c: plain sockets in the other namespace. Each goes as far as the state of its cell demands, and
 * then does its act. All of them step in one loop, and none waits.
 */
#include "tests/net/conn/ends.h"

#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>

/* ---- sockets of the other namespace ---------------------------------------------------------- */

struct ends ends;

static bool rtr(const struct cell *c)
{
	return c->state == RTR || c->state == RTR_CLOSED;
}

struct sockaddr_in address(const char *host, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, host, &a.sin_addr);
	return a;
}

int peer_socket(const struct cell *c, uint16_t port)
{
	struct sockaddr_in a = address(ends.there[c->act == VANISH], port);
	int one = 1, small = 4096, fd;

	if (setns(ends.ns_there, CLONE_NEWNET))
		die_errno("setns");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (setns(ends.ns_here, CLONE_NEWNET))
		die_errno("setns");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (c->act == UNREAD || rejects(c))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)))
		die_errno("bind");
	return fd;
}

/* ---- what a peer sends ----------------------------------------------------------------------- */

static void peer_send(struct cell *c, const void *p, size_t len)
{
	if (send(c->fd, p, len, MSG_EOR | MSG_NOSIGNAL) != (ssize_t)len)
		fprintf(stderr, "peer of cell %d.%d cannot send: %s\n", c->state, c->act,
			strerror(errno));
}

static void peer_fpdu(struct cell *c, const uint8_t *ulpdu, uint32_t len, uint32_t part)
{
	static uint8_t f[16384];
	uint32_t n = make_fpdu(f, ulpdu, len);

	peer_send(c, f, part ? n / part : n);
}

static void peer_write(struct cell *c, uint32_t i, uint32_t stag, uint32_t part)
{
	static uint8_t u[8192];

	peer_fpdu(c, u,
		  make_tagged(u, LAST | DV, 0x40, stag, i * WRITE_LEN, i * WRITE_LEN, WRITE_LEN),
		  part);
}

/* An RDMAP message: Read Request 0x41 on queue 1, Terminate 0x47 on queue 2; no message has opcode 0x4f. */
static void peer_message(struct cell *c, uint8_t opcode, uint32_t qn, uint32_t msn, uint32_t len)
{
	uint8_t u[256];
	uint32_t n = make_untagged(u, LAST | DV, (uint64_t)opcode << 32, qn, msn, 0, len);

	memset(u + 18, 0, len);
	if (opcode == 0x41) {
		put(u + 18, 0x99, 4);
		put(u + 30, SOURCE_LEN, 4);
		put(u + 34, STAG, 4);
	}
	peer_fpdu(c, u, n, 0);
}

static void peer_frame(struct cell *c)
{
	uint8_t f[256];
	size_t n = make_frame(f, c->initiator ? REPLY : REQUEST, C | (rtr(c) ? S : 0),
			      rtr(c) ? 2 : 1, rtr(c) ? enhanced(1, RTR_WRITE, 1, 1) : NULL, 0);

	peer_send(c, f, c->state == LISTENING ? n / 2 : n);
}

/* ---- its steps ------------------------------------------------------------------------------- */

static bool connected(struct cell *c)
{
	struct sockaddr_in a = address(ends.here, cell_port(c));
	struct pollfd p = { .fd = c->fd, .events = POLLOUT };

	if (c->initiator) {
		c->fd = accept4(c->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		return c->fd >= 0;
	}
	if (c->fd < 0) {
		c->fd = peer_socket(c, 0);
		connect(c->fd, (struct sockaddr *)&a, sizeof(a));
	}
	return poll(&p, 1, 0) == 1;
}

/*
 * Reads the library's frame, and an octet of its first FPDU if it is the Initiator, since the peer may not send one
 * before (RFC 5044 section 7.1.2 rule 4). True: everything due has come, and the peer's own frame is out.
 */
static bool started(struct cell *c)
{
	const size_t frame = 20 + (rtr(c) ? 4 : 0);
	uint8_t f[64];
	ssize_t n;

	if (!c->initiator && !c->greeted) {
		peer_frame(c);
		c->greeted = true;
	}
	if (!c->initiator && c->state < RTR)
		return true;
	while (c->got < frame) {
		n = recv(c->fd, f, frame - c->got, 0);
		if (n <= 0)
			return n == 0 || errno != EAGAIN;
		c->got += (size_t)n;
	}
	if (c->initiator && c->state != REQUESTED && !c->greeted) {
		peer_frame(c);
		c->greeted = true;
	}
	return !c->initiator || !is_open(c) || recv(c->fd, f, 1, 0) == 1;
}

/*
 * False: more is to follow. An idle connection is to be direct: one Write per turn, since a busy machine arms the first
 * stretch late, and then wants some aligned segments in a row.
 */
static bool traffic(struct cell *c)
{
	if (!is_open(c))
		return true;
	do
		peer_write(c, c->writes, STAG, 0);
	while (++c->writes < WRITES && c->state != IDLE);
	if (c->writes < WRITES)
		return false;
	if (c->state == HALF)
		peer_write(c, WRITES, STAG, 2);
	for (uint32_t i = 1; i <= 3 && (c->state == ANSWERS || c->state == ANSWERS_BAD); i++)
		peer_message(c, 0x41, 1, i, 28);
	return true;
}

/* Sent after the timers of the startup: the library's answer does not get through. */
static void late_traffic(struct cell *c)
{
	if (c->state < FAILED || c->state > ANSWERS_BAD || c->state == ANSWERS)
		return;
	if (c->rdmap)
		peer_message(c, 0x4f, 0, 1, 4);
	else
		peer_write(c, 0, 0x4321, 0);
}

static void act(struct cell *c)
{
	const struct linger reset = { .l_onoff = 1 };

	switch (c->act) {
	case TERMINATE_FIN:
		peer_message(c, 0x47, 2, 1, 4);
		/* fallthrough */
	case HALFCLOSE:
		shutdown(c->fd, SHUT_WR);
		break;
	case RESET:
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(c->fd);
		c->fd = -1;
		break;
	default:
		break;
	}
}

static void read_on(struct cell *c)
{
	static uint8_t sink[65536];

	if (c->fd < 0 || c->act == UNREAD || c->act == VANISH || rejects(c))
		return;
	for (int i = 0; i < 16 && recv(c->fd, sink, sizeof(sink), 0) > 0; i++)
		;
}

#define TRICKLE_MS 500

/* Fewer octets than would complete what the library waits for, within the time of the startup. */
static void trickle(struct cell *c)
{
	uint8_t f[256], u[64];

	if (now_ms() < c->acted + c->trickled * TRICKLE_MS || c->fd < 0)
		return;
	if (is_open(c))
		send(c->fd, f, make_fpdu(f, u, make_tagged(u, LAST | DV, 0x40, 0, 0, 0, 0)),
		     MSG_EOR | MSG_NOSIGNAL);
	else if (rtr(c) && make_fpdu(f, u, make_tagged(u, LAST | DV, 0x40, 0, 0, 0, 0)))
		send(c->fd, f + c->trickled, 1, MSG_NOSIGNAL);
	else if (make_frame(f, c->initiator ? REPLY : REQUEST, C, 1, NULL, 0))
		send(c->fd, f + (c->initiator ? 0 : 10) + c->trickled, 1, MSG_NOSIGNAL);
	c->trickled++;
}

/* The act is due between two turns of the library, in the middle of its answers. */
static bool under_way(const struct cell *c)
{
	return c->state == ANSWERS && c->act == TERMINATE_FIN && c->ready;
}

static void note_act(struct cell *c)
{
	c->acted = now_ms();
	c->acted_had = ends.had_ms;
}

void peer_step(struct cell *c)
{
	int unacked = 0;

	switch (c->phase) {
	case P_CONNECT:
		if (c->state == CONNECTING)
			c->phase = P_READY;
		else if (connected(c))
			c->phase = P_STARTUP;
		c->since = now_ms();
		break;
	case P_STARTUP:
		if ((c->writes || started(c)) && traffic(c)) {
			c->phase = P_TRAFFIC;
			c->since = now_ms();
		}
		break;
	case P_TRAFFIC:
		if (under_way(c)) {
			read_on(c);
			if (++c->reads < 4)
				break;
			act(c);
			c->phase = P_ACTED;
			note_act(c);
			break;
		}
		/* Everything has arrived, and the library's end has reached the cell's state. */
		if (ioctl(c->fd, SIOCOUTQ, &unacked) || unacked || now_ms() - c->since < 600)
			break;
		if (!c->ready && is_open(c))
			break;
		late_traffic(c);
		c->phase = P_READY;
		c->since = now_ms();
		break;
	case P_READY:
		c->calm = c->fd < 0 || (!ioctl(c->fd, SIOCOUTQ, &unacked) && !unacked);
		if (c->act == VANISH ? !ends.vanished : !c->calm)
			break;
		act(c);
		c->phase = P_ACTED;
		note_act(c);
		break;
	case P_ACTED:
		read_on(c);
		if (c->act == TRICKLE)
			trickle(c);
		break;
	case P_GONE:
		break;
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many stages a connection gives to TCP in one turn, and in how many writes, alone and beside others. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

static unsigned int stages; /* that TCP has taken */

/* TCP takes everything. */
static int take_all(int fd, struct mmsghdr *m, unsigned int n, int flags)
{
	(void)fd;
	(void)flags;
	for (unsigned int i = 0; i < n; i++)
		m[i].msg_len = (unsigned int)m[i].msg_hdr.msg_iov->iov_len;
	stages++;
	return (int)n;
}

/* TCP takes a single write, but no more than `tcp_room`. */
static size_t tcp_room = SIZE_MAX;
static unsigned int single; /* writes longer than a run */

static ssize_t take_some(int fd, const void *octets, size_t len, int flags)
{
	const size_t n = len < tcp_room ? len : tcp_room;

	(void)fd;
	(void)octets;
	(void)flags;
	single++;
	if (!n)
		errno = EAGAIN;
	return n ? (ssize_t)n : -1;
}

#define sendmmsg take_all
#define send take_some
#include "conn/send.c"

#define LONG (16 * XIW_TX_STAGE)

static struct xiw_engine e;
static struct xiw_conn conns[2];
static struct xiw_queued queues[2];
static uint8_t *octets;

/* A submission queue alone, as no system call is made. */
static struct io_uring_sqe sqes[8];
static unsigned int sq_head;

static void begin(void)
{
	octets = calloc(1, LONG);
	cr_assert(octets);
	e.io.ring.sq = (struct io_uring_sq){
		.khead = &sq_head, .ring_mask = 7, .ring_entries = 8, .sqes = sqes
	};
	for (int i = 0; i < 2; i++) {
		struct xiw_conn *c = &conns[i];

		*c = (struct xiw_conn){ .engine = &e, .fd = -1, .state = XIW_OPEN };
		queues[i] = (struct xiw_queued){ .buf = octets, .len = LONG };
		cr_assert_eq(xiw_ddp_tx_tagged(&queues[i].cut, 1, 0, LONG, 0), 0);
		c->send.queue = &queues[i];
		c->send.room = c->send.count = 1;
		c->send.allowed = true;
		c->send.emss = 1448;
		c->send.peer_window = 1 << 20;
		c->send.stage = malloc(sizeof(*c->send.stage));
		cr_assert(c->send.stage);
	}
}

/* The kernel takes the requests. */
static void enter(void)
{
	sq_head = e.io.ring.sq.sqe_tail;
}

Test(conn_stages, several_alone, .init = begin)
{
	xiw_send_pump(&conns[0]);
	cr_assert_eq(stages, STAGES_IN_TURN);
	cr_assert(conns[0].send.busy);
	enter();
	xiw_send_paused(&conns[0]);
	cr_assert_eq(stages, 2 * STAGES_IN_TURN);
}

/* The pause of the one that goes first must not make it the only one of the other. */
Test(conn_stages, one_beside_others, .init = begin)
{
	unsigned int given[2] = { 0 };

	xiw_send_pump(&conns[0]);
	xiw_send_pump(&conns[1]);
	for (int turn = 0; turn < 4; turn++) {
		enter();
		for (int i = 0; i < 2; i++) {
			stages = 0;
			xiw_send_paused(&conns[i]);
			given[i] += stages;
		}
	}
	cr_assert_eq(given[0], 4);
	cr_assert_eq(given[1], 4);
	cr_assert_eq(e.agenda.sending, 2);
}

/* The peer's window has room for everything: TCP is given each stage at once, unless another connection sends. */
Test(conn_stages, one_write_alone, .init = begin)
{
	conns[0].send.window_left = conns[1].send.window_left = LONG;
	xiw_send_pump(&conns[0]);
	cr_assert_eq(single, STAGES_IN_TURN);
	cr_assert_eq(stages, 0);
	xiw_send_pump(&conns[1]);
	cr_assert_eq(single, STAGES_IN_TURN);
	cr_assert_eq(stages, 1);
}

/* What TCP did not take of it goes on with io_uring, where TCP stopped. */
Test(conn_stages, one_write_in_parts, .init = begin)
{
	struct xiw_conn *c = &conns[0];
	const struct io_uring_sqe *sqe = e.io.ring.sq.sqes;
	uint32_t len;

	c->send.window_left = LONG;
	tcp_room = 45 * 1448;
	xiw_send_pump(c);
	len = c->send.stage_len;
	cr_assert_eq(single, 1);
	cr_assert(c->send.busy);
	cr_assert_eq(sqe->addr, (uintptr_t)(c->send.stage->octets + tcp_room));
	cr_assert_eq(sqe->len, len - tcp_room);
	cr_assert_eq(sqe->msg_flags & (MSG_EOR | MSG_WAITALL), MSG_EOR | MSG_WAITALL);

	tcp_room = 0;
	enter();
	xiw_send_done(c, 90 * 1448); /* a signal, for example, ended it early */
	sqe++;
	cr_assert_eq(sqe->addr, (uintptr_t)(c->send.stage->octets + (size_t)135 * 1448));
	cr_assert_eq(sqe->len, len - 135 * 1448);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many stages a connection gives to TCP in one turn, alone and beside others (user/conn/send.c). */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
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

#define sendmmsg take_all
#include "conn/send.c"

#define LONG (16 * XIW_TX_STAGE)

static struct xiw_engine e;
static struct xiw_conn conns[2];
static struct xiw_queued queues[2];
static uint8_t *octets;

static void begin(void)
{
	octets = calloc(1, LONG);
	cr_assert(octets);
	cr_assert_eq(io_uring_queue_init(8, &e.io.ring, 0), 0);
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

/* The kernel takes the requests, and its completions are taken. */
static void enter(void)
{
	io_uring_submit(&e.io.ring);
	io_uring_cq_advance(&e.io.ring, io_uring_cq_ready(&e.io.ring));
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

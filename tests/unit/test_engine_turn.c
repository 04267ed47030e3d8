// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What one turn leaves to the next one. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <xiwarp/xiwarp.h>

#include "core/agenda.h"
#include "core/engine.h"
#include "core/ring.h"
#include "core/timer.h"
#include "engine/turn.h"

static struct xiw_engine *e;
static struct xiw_conn *both[2]; /* the Initiator is the first */
static bool ended;

static bool run(void)
{
	struct xiw_completion c;
	struct xiw_rdma *rdma;
	bool connected = false;

	cr_assert_geq(xiw_engine_run(e, 10), 0);
	while (xiw_engine_next(e, &c)) {
		if (c.event == XIW_EV_REQUEST) {
			both[1] = c.conn;
			cr_assert_eq(xiw_rdma_attach(c.conn, NULL, &rdma), 0);
			cr_assert_eq(xiw_conn_accept(c.conn, NULL, 0), 0);
		}
		connected |= c.event == XIW_EV_CONNECTED && c.conn == both[0];
	}
	return connected;
}

static void connect_both(void)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	const struct xiw_conn_opts o = { .size = sizeof(o), .queues = 3 };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage bound;
	struct xiw_listener *l;
	socklen_t len;

	cr_assert_eq(xiw_engine_create(&eo, &e), 0);
	cr_assert_eq(xiw_listen(e, (struct sockaddr *)&addr, sizeof(addr), &o, &l), 0);
	cr_assert_eq(xiw_listener_addr(l, &bound, &len), 0);
	cr_assert_eq(xiw_connect(e, (struct sockaddr *)&bound, len, &o, &both[0]), 0);
	while (!run())
		;
	xiw_listener_free(l);
}

/* In the middle of a turn the connection is to end, and a system call leaves a completion in the ring. */
static void end_and_submit(struct xiw_conn *c)
{
	xiw_conn_ask_end(c, ECONNRESET, true);
	io_uring_prep_nop(xiw_sqe(e, NULL, XIW_OP_NONE));
	cr_assert_gt(xiw_ring_submit(e), 0);
	cr_assert_gt(io_uring_cq_ready(&e->io.ring), 0);
	ended = true;
}

/*
 * Completions that are taken because a connection ends may be those of others, and leave work at the end of a batch. So
 * the engine does not sleep after that turn, although it had found nothing before.
 */
Test(engine_turn, completions_at_an_end_are_something_to_do, .timeout = 60)
{
	const struct xiw_ulp *own;
	struct xiw_ulp ulp;
	bool busy;

	connect_both();
	for (int quiet = 0; quiet < 20; quiet++)
		run();
	own = both[1]->ulp;
	ulp = *own;
	ulp.due = end_and_submit;
	both[1]->ulp = &ulp;
	both[1]->timer.ulp_ms = e->now_ms + 1;
	xiw_timer(both[1]);
	do
		busy = xiw_turn(e);
	while (!ended);
	cr_expect(busy);
	both[1]->ulp = own;
	cr_expect_eq(xiw_engine_destroy(e), 0);
	xiw_conn_free(both[0]);
	xiw_conn_free(both[1]);
}

/* An ACK that waited, and that the driver does not take now, does not wait for another turn. */
Test(engine_turn, late_ack_is_asked_for_again, .timeout = 60)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	struct xiw_queue shared = {};
	uint32_t flags = XDP_RING_NEED_WAKEUP;
	struct xiw_rxq queue = { .shared = &shared, .xsk.tx.flags = &flags, .xsk.kick = true };
	struct xiw_netif netif = { .queues = &queue, .nqueues = 1 };
	int pair[2];

	cr_assert_eq(xiw_engine_create(&eo, &e), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	while (send(pair[0], "", 1, 0) == 1)
		;
	cr_assert_eq(errno, EAGAIN);
	queue.xsk.fd = pair[0];
	e->netifs = &netif;
	xiw_turn_tell(e);
	cr_assert(queue.kicking);
	cr_assert(xiw_ring_waits(e));
	e->netifs = NULL;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which messages a hold waits for, and a hold of a stream that has had all the buffers that it may have. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"
#include "path/hold.h"
#include "path/patience.h"

static struct xiw_engine *e;
static struct xiw_cq *cq;
static struct xiw_srq *srq;
static struct xiw_conn *sender, *receiver;
static struct xiw_rdma *sends;
static char octets[2][8];
static bool plain; /* DDP alone, with no buffer at any queue */

/* The receiver may have one buffer of the shared queue at a time. */
static void take_request(struct xiw_conn *c)
{
	const struct xiw_rdma_opts o = {
		.size = sizeof(o), .srq = srq, .srq_max = 1, .recv_cq = cq
	};
	struct xiw_rdma *rdma;

	receiver = c;
	if (!plain)
		cr_assert_eq(xiw_rdma_attach(c, &o, &rdma), 0);
	cr_assert_eq(xiw_conn_accept(c, NULL, 0), 0);
}

/* Runs the engine once. True: the sender is connected. */
static bool run(void)
{
	struct xiw_completion c;
	bool connected = false;

	cr_assert_geq(xiw_engine_run(e, 10), 0);
	while (xiw_engine_next(e, &c)) {
		if (c.event == XIW_EV_REQUEST)
			take_request(c.conn);
		connected |= c.event == XIW_EV_CONNECTED && c.conn == sender;
	}
	return connected;
}

static void connect_both(void)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	const struct xiw_conn_opts o = { .size = sizeof(o), .queues = 3, .hold_ms = 3600000 };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage bound;
	struct xiw_listener *l;
	socklen_t len;

	cr_assert_eq(xiw_engine_create(&eo, &e), 0);
	cr_assert_eq(xiw_cq_create(e, NULL, &cq), 0);
	cr_assert_eq(xiw_srq_create(e, NULL, &srq), 0);
	cr_assert_eq(xiw_listen(e, (struct sockaddr *)&addr, sizeof(addr), &o, &l), 0);
	cr_assert_eq(xiw_listener_addr(l, &bound, &len), 0);
	cr_assert_eq(xiw_connect(e, (struct sockaddr *)&bound, len, &o, &sender), 0);
	if (!plain)
		cr_assert_eq(xiw_rdma_attach(sender, NULL, &sends), 0);
	while (!run())
		;
	xiw_listener_free(l);
}

/* Two buffers, and the second Send waits, as the application has not taken the completion of the first one. */
static void hold_at_limit(void)
{
	const struct xiw_rdma_op send = { .kind = XIW_RDMA_SEND, .buf = "abc", .len = 3 };

	connect_both();
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(xiw_srq_post(srq, octets[i], sizeof(octets[i]), 0), 0);
		cr_assert_eq(xiw_rdma_post(sends, &send), 0);
	}
	while (!receiver->hold.waits)
		run();
}

static void take_both_and_end(void)
{
	struct xiw_completion c;

	for (int taken = 0; taken < 2; run())
		taken += xiw_cq_next(cq, &c);
	cr_expect_eq(c.event, XIW_EV_RECEIVED);
	cr_expect_str_eq(octets[1], "abc");
	cr_expect_eq(receiver->counts.holds_expired, 0);
	cr_expect_eq(xiw_engine_destroy(e), 0);
	xiw_conn_free(sender);
	xiw_conn_free(receiver);
	cr_expect_eq(xiw_srq_free(srq), 0);
	cr_expect_eq(xiw_cq_free(cq), 0);
}

/* Nothing is posted meanwhile: that the application takes the first completion is enough. */
Test(path_hold, goes_on_when_a_completion_is_taken, .timeout = 60)
{
	hold_at_limit();
	take_both_and_end();
}

/* The time is up by the turn that finds that the connection may have the second buffer. */
Test(path_hold, a_buffer_counts_more_than_the_time, .timeout = 60)
{
	hold_at_limit();
	receiver->hold.until_ms = e->now_ms + 1;
	xiw_hold_watch(receiver);
	take_both_and_end();
}

/* The stream looks for its buffer in each millisecond, and at its socket not nearly as often. */
Test(path_hold, the_socket_is_looked_at_now_and_then, .timeout = 60)
{
	uint64_t since, next;

	hold_at_limit();
	since = e->now_ms;
	while (!receiver->hold.look_ms)
		run();
	next = receiver->hold.look_ms;
	while (e->now_ms < since + 20)
		run();
	cr_expect(receiver->hold.look_ms == next || e->now_ms >= next);
	take_both_and_end();
}

/*
 * XDP may begin a stretch while the stream is held in the socket. When the stretch's frames are given to the socket, no
 * segment waits for a buffer on the direct path, and the hold's own time goes on.
 */
Test(path_hold, a_stretch_that_ends_leaves_its_time, .timeout = 60)
{
	hold_at_limit();
	cr_assert_null(xiw_patience_over(receiver));
	cr_expect_neq(receiver->timer.hold_ms, XIW_NEVER);
	take_both_and_end();
}

/* The ULP's own queues have as many buffers as it has promised. A message that finds none there is an error at once. */
Test(path_hold, only_queue_0_waits, .timeout = 60)
{
	const struct xiw_message m = { .buf = "abc", .len = 3, .qn = 1 };

	plain = true;
	connect_both();
	cr_assert_eq(xiw_conn_send(sender, &m), 0);
	while (!receiver->end.ddp_error && !receiver->hold.waits)
		run();
	cr_expect_eq(receiver->end.ddp_error, XIW_DDP_UNTAGGED_NO_BUFFER);
	cr_expect_eq(receiver->counts.holds, 0);
	cr_expect_eq(xiw_engine_destroy(e), 0);
	xiw_conn_free(sender);
	xiw_conn_free(receiver);
	cr_expect_eq(xiw_srq_free(srq), 0);
	cr_expect_eq(xiw_cq_free(cq), 0);
}

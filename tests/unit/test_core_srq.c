// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Shared receive queues as objects: their event, the share of each connection, and the order in which things end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/cq.h"
#include "core/srq.h"

#define ENTRIES 4096u
#define CONNS 2

static struct xiw_engine *e;
static struct xiw_conn *conns[CONNS];
static struct xiw_srq *srq;
static uint8_t octets[4][64];

static struct xiw_srq *make(unsigned int depth)
{
	const struct xiw_srq_opts o = { .size = sizeof(o), .user_data = 77, .depth = depth };
	struct xiw_srq *made = NULL;

	cr_assert_eq(xiw_srq_create(e, &o, &made), 0);
	return made;
}

static void setup(void)
{
	e = aligned_alloc(64, (sizeof(*e) + 63) & ~63ul);
	cr_assert(e);
	memset(e, 0, sizeof(*e));
	xiw_ddp_table_init(&e->regions, NULL, NULL);
	cr_assert_eq(xiw_cq_init(&e->cq, e, ENTRIES), 0);
	for (uint32_t i = 0; i < CONNS; i++) {
		const struct xiw_ddp_rx_opts o = { .table = &e->regions,
						   .stream = i + 1,
						   .depth = 4 };

		conns[i] = aligned_alloc(64, (sizeof(**conns) + 63) & ~63ul);
		cr_assert(conns[i]);
		memset(conns[i], 0, sizeof(**conns));
		conns[i]->engine = e;
		cr_assert_eq(xiw_ddp_rx_create(&conns[i]->ddp, &o), 0);
	}
	srq = make(4);
}

static void teardown(void)
{
	for (int i = 0; i < CONNS; i++) {
		xiw_srq_leave(conns[i]);
		xiw_ddp_rx_free(conns[i]->ddp);
		free(conns[i]);
	}
	cr_expect_eq(xiw_srq_free(srq), 0);
	xiw_ddp_table_free(&e->regions);
	free(e->cq.overflow);
	free(e->cq.entries);
	free(e);
}

TestSuite(core_srq, .init = setup, .fini = teardown);

static void post_n(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		cr_assert_eq(xiw_srq_post(srq, octets[i], sizeof(octets[i]), i), 0);
}

/* A Send arrives. `in` is the number of the buffer that it gets. */
static enum xiw_ddp_error arrive(int conn, uint64_t *in)
{
	struct xiw_conn *c = conns[conn];
	const struct xiw_ddp_hdr h = { .last = true, .dv = 1, .msn = c->ddp->queues[0].next_msn };
	struct xiw_completion done = { .conn = c,
				       .event = XIW_EV_RECEIVED,
				       .op = XIW_OPERATION_RECV };
	struct xiw_ddp_place p;
	struct xiw_ddp_msg m;
	enum xiw_ddp_error err = xiw_ddp_rx_place(c->ddp, &h, 5, &p);

	if (!err)
		err = xiw_ddp_rx_deliver(c->ddp, &h, 5, &m);
	if (err)
		return err;
	cr_assert(m.complete);
	*in = done.user_data = m.buf.user_data;
	xiw_complete(e, &done);
	xiw_srq_received(c);
	return XIW_DDP_OK;
}

static void arrives(int conn, uint64_t in)
{
	uint64_t got = UINT64_MAX;

	cr_assert_eq(arrive(conn, &got), XIW_DDP_OK);
	cr_assert_eq(got, in, "%lu", (unsigned long)got);
}

static struct xiw_srq_info info_of(const struct xiw_srq *of)
{
	struct xiw_srq_info i;

	xiw_srq_info(of, &i, sizeof(i));
	return i;
}

static struct xiw_completion next(void)
{
	struct xiw_completion c = {};

	cr_assert(xiw_engine_next(e, &c));
	return c;
}

Test(core_srq, low_water)
{
	struct xiw_completion c;

	for (int i = 0; i < CONNS; i++)
		cr_assert_eq(xiw_srq_use(conns[i], srq, 0), 0);
	post_n(4);
	cr_assert_eq(xiw_srq_set_limit(srq, 5), -EINVAL);
	cr_assert_eq(xiw_srq_set_limit(srq, 3), 0);
	arrives(0, 0);
	arrives(1, 1);
	cr_expect_eq(next().event, XIW_EV_RECEIVED);
	c = next();
	cr_expect(c.event == XIW_EV_SRQ_LOW && c.user_data == 77 && c.length == 2 && !c.conn);
	cr_expect_eq(next().event, XIW_EV_RECEIVED);
	arrives(0, 2);
	cr_expect_eq(next().event, XIW_EV_RECEIVED);
	cr_expect(!xiw_engine_next(e, &c), "once");
	cr_expect_eq(info_of(srq).limit, 0);
	cr_assert_eq(xiw_srq_set_limit(srq, 2), 0);
	cr_expect_eq(next().length, 1);
}

Test(core_srq, report_of_the_engine)
{
	const struct xiw_completion event = { .event = XIW_EV_CLOSED };
	struct xiw_engine_info i;
	struct xiw_srq *other = make(1);
	struct xiw_cq *cq[3];

	for (int n = 0; n < 3; n++)
		cr_assert_eq(xiw_cq_create(e, NULL, &cq[n]), 0);
	xiw_complete_for(e, e, &event);
	xiw_complete_for(e, e, &event);
	xiw_engine_info(e, &i, sizeof(i));
	cr_expect(i.cqs == 3 && i.srqs == 2 && i.queued == 2);
	next();
	cr_expect_eq(xiw_srq_free(other), 0);
	for (int n = 0; n < 3; n++)
		cr_expect_eq(xiw_cq_free(cq[n]), 0);
	xiw_engine_info(e, &i, sizeof(i));
	cr_expect(i.cqs == 0 && i.srqs == 1 && i.queued == 1);
}

Test(core_srq, report)
{
	struct xiw_srq_info i;

	for (int n = 0; n < CONNS; n++)
		cr_assert_eq(xiw_srq_use(conns[n], srq, 0), 0);
	post_n(4);
	cr_assert_eq(xiw_srq_post(srq, octets[0], 1, 9), -EAGAIN);
	cr_assert_eq(xiw_srq_set_limit(srq, 1), 0);
	arrives(0, 0);
	i = info_of(srq);
	cr_expect(i.depth == 4 && i.posted == 3 && i.limit == 1 && i.streams == 2 && i.taken == 1);
}

/* RFC 5042 section 6.4.3.1: the application must have seen what a peer has sent before that gets more. */
Test(core_srq, a_fair_share)
{
	uint64_t in;

	cr_assert_eq(xiw_srq_use(conns[0], srq, 2), 0);
	cr_assert_eq(xiw_srq_use(conns[1], srq, 0), 0);
	post_n(4);
	arrives(0, 0);
	arrives(0, 1);
	cr_assert_eq(arrive(0, &in), XIW_DDP_UNTAGGED_NO_BUFFER);
	arrives(1, 2);
	next();
	arrives(0, 3);
	post_n(4);
	for (uint64_t i = 0; i < 100; i++) {
		cr_assert_eq(arrive(0, &in), XIW_DDP_UNTAGGED_NO_BUFFER);
		while (xiw_engine_next(e, &(struct xiw_completion){}))
			;
		arrives(0, (2 * i) % 4);
		arrives(0, (2 * i + 1) % 4);
		cr_assert_eq(xiw_srq_post(srq, octets[0], 64, (2 * i) % 4), 0);
		cr_assert_eq(xiw_srq_post(srq, octets[0], 64, (2 * i + 1) % 4), 0);
	}
}

/* The completions of the connection itself, and those of others in the queue, do not count. */
Test(core_srq, a_fair_share_of_a_queue_of_its_own)
{
	struct xiw_cq *cq = NULL;
	uint64_t in;

	cr_assert_eq(xiw_cq_create(e, NULL, &cq), 0);
	for (int i = 0; i < CONNS; i++)
		cr_assert_eq(xiw_outlets_set(conns[i], NULL, cq), 0);
	cr_assert_eq(xiw_srq_use(conns[0], srq, 1), 0);
	cr_assert_eq(xiw_srq_use(conns[1], srq, 0), 0);
	post_n(4);
	arrives(1, 0);
	arrives(0, 1);
	xiw_conn_tell(conns[0], XIW_EV_CONNECTED, 0);
	next();
	cr_assert_eq(arrive(0, &in), XIW_DDP_UNTAGGED_NO_BUFFER);
	cr_assert(xiw_cq_next(cq, &(struct xiw_completion){}));
	cr_assert_eq(arrive(0, &in), XIW_DDP_UNTAGGED_NO_BUFFER, "that one was the other's");
	cr_assert(xiw_cq_next(cq, &(struct xiw_completion){}));
	arrives(0, 2);
	for (int i = 0; i < CONNS; i++)
		xiw_outlets_leave(conns[i]);
	cr_assert_eq(xiw_cq_free(cq), 0);
}

Test(core_srq, pieces_do_not_touch_those_of_posted_buffers)
{
	struct xiw_ddp_piece *room[5];

	for (int i = 0; i < 4; i++) {
		cr_assert_eq(xiw_srq_room(srq, &room[i]), 0);
		for (int k = 0; k < i; k++)
			cr_assert_neq(room[k], room[i]);
		room[i][0] = (struct xiw_ddp_piece){ octets[i], 10 };
		room[i][1] = (struct xiw_ddp_piece){ octets[i] + 20, 30 };
		cr_assert_eq(xiw_srq_post_buf(srq,
					      &(struct xiw_ddp_buf){ .base = (uint8_t *)room[i],
								     .len = 40,
								     .npieces = 2,
								     .user_data = (uint64_t)i }),
			     0);
	}
	cr_assert_eq(xiw_srq_room(srq, &room[4]), -EAGAIN);
	cr_assert_eq(xiw_srq_use(conns[0], srq, 0), 0);
	arrives(0, 0);
	cr_assert_eq(xiw_srq_room(srq, &room[4]), 0);
	cr_assert_eq(room[4], room[0]);
}

/* ---- ends ----------------------------------------------------------------------------------------- */

Test(core_srq, a_queue_in_use_is_not_freed)
{
	struct xiw_srq *other = make(1);

	for (int i = 0; i < CONNS; i++)
		cr_assert_eq(xiw_srq_use(conns[i], other, 0), 0);
	xiw_srq_leave(conns[0]);
	cr_expect_eq(xiw_srq_free(other), -EBUSY);
	xiw_srq_leave(conns[1]);
	xiw_srq_leave(conns[1]);
	cr_expect_eq(xiw_srq_free(other), 0);
	cr_expect_eq(xiw_srq_free(NULL), 0);
}

Test(core_srq, no_event_of_a_freed_queue)
{
	struct xiw_srq *other = make(1);
	struct xiw_completion c;

	cr_assert_eq(xiw_srq_set_limit(other, 1), 0);
	cr_expect_eq(xiw_srq_free(other), 0);
	cr_expect(!xiw_engine_next(e, &c));
}

Test(core_srq, after_its_engine)
{
	struct xiw_srq *other = make(1);
	struct xiw_ddp_piece *room;

	post_n(2);
	xiw_srqs_detach(e);
	cr_expect_eq(e->budget.used, 0);
	cr_expect_eq(xiw_srq_post(srq, octets[0], 1, 1), -ESHUTDOWN);
	cr_expect_eq(xiw_srq_room(srq, &room), -ESHUTDOWN);
	cr_expect_eq(xiw_srq_set_limit(srq, 1), -ESHUTDOWN);
	cr_expect_eq(info_of(srq).posted, 2);
	cr_expect_eq(xiw_srq_use(conns[0], srq, 0), -EINVAL);
	cr_expect_eq(xiw_srq_free(other), 0);
}

Test(core_srq, memory_is_given_back)
{
	const uint64_t before = e->budget.used;
	struct xiw_ddp_piece *room;
	struct xiw_srq *q[3];

	for (unsigned int i = 0; i < 3; i++) {
		q[i] = make(4096 << i);
		cr_assert_eq(xiw_srq_room(q[i], &room), 0);
		cr_expect_eq(info_of(q[i]).depth, 4096u << i);
	}
	cr_expect_eq(xiw_srq_free(q[1]), 0);
	cr_expect_eq(xiw_srq_free(q[0]), 0);
	cr_expect_eq(xiw_srq_free(q[2]), 0);
	cr_expect_eq(e->budget.used, before);
}

Test(core_srq, options)
{
	struct xiw_srq_opts o = { .size = sizeof(o), .depth = XIW_SRQ_DEPTH_MAX + 1 };
	struct xiw_srq *made = NULL;

	cr_expect_eq(xiw_srq_create(e, &o, &made), -EINVAL);
	o = (struct xiw_srq_opts){ .size = sizeof(o), .flags = 2 };
	cr_expect_eq(xiw_srq_create(e, &o, &made), -EINVAL);
	cr_assert_eq(xiw_srq_create(e, NULL, &made), 0);
	cr_expect_eq(info_of(made).depth, 1024);
	cr_expect_eq(xiw_srq_use(conns[0], made, XIW_SRQ_SHARE_MAX + 1), -EINVAL);
	cr_expect_eq(xiw_srq_use(conns[0], NULL, 0), 0);
	cr_expect_eq(xiw_srq_free(made), 0);
	e->budget.limit = 1000;
	cr_expect_eq(xiw_srq_create(e, NULL, &made), -ENOMEM);
}

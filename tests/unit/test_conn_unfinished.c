// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who keeps a shared buffer for too long while another stream waits for one, and who does not. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "conn/unfinished.h"
#include "core/cq.h"
#include "core/srq.h"

#define CONNS 2
#define HOLD_MS 30000

static struct xiw_engine *e;
static struct xiw_conn *conns[CONNS];
static struct xiw_srq *srq;
#define waits (conns[0])
#define keeps (conns[1])

static void setup(void)
{
	e = aligned_alloc(64, (sizeof(*e) + 63) & ~63ul);
	cr_assert(e);
	memset(e, 0, sizeof(*e));
	e->now_ms = 100000;
	xiw_ddp_table_init(&e->regions, NULL, NULL);
	cr_assert_eq(xiw_cq_init(&e->cq, e, 64), 0);
	cr_assert_eq(xiw_srq_create(e, NULL, &srq), 0);
	for (uint32_t i = 0; i < CONNS; i++) {
		const struct xiw_ddp_rx_opts o = { .table = &e->regions,
						   .stream = i + 1,
						   .depth = 4 };

		conns[i] = aligned_alloc(64, (sizeof(**conns) + 63) & ~63ul);
		cr_assert(conns[i]);
		memset(conns[i], 0, sizeof(**conns));
		conns[i]->engine = e;
		cr_assert_eq(xiw_ddp_rx_create(&conns[i]->ddp, &o), 0);
		cr_assert_eq(xiw_srq_use(conns[i], srq, 0), 0);
	}
	waits->opts.hold_ms = HOLD_MS;
	waits->hold.since_ms = e->now_ms;
	keeps->ddp->queues[0].count = 1;
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

TestSuite(conn_unfinished, .init = setup, .fini = teardown);

/* Looks each second for so long, while `rate` octets arrive. Says whether the stream was ended. */
static bool ended_within(unsigned int s, uint32_t rate)
{
	for (unsigned int i = 0; i < s && !keeps->rx_dead; i++) {
		xiw_unfinished_look(waits);
		e->now_ms += 1000;
		keeps->ddp->queues[0].extent += rate;
	}
	cr_expect_eq(srq->ended, keeps->rx_dead);
	return keeps->rx_dead;
}

Test(conn_unfinished, one_that_stands_still)
{
	cr_expect(!ended_within(HOLD_MS / 2000, 0), "before half of the other's time");
	cr_expect(ended_within(1, 0));
	cr_expect_eq(keeps->end.ddp_error, XIW_DDP_LOCAL_CATASTROPHIC);
	cr_expect(!waits->rx_dead);
}

Test(conn_unfinished, one_that_trickles)
{
	cr_expect(ended_within(HOLD_MS / 1000, 20000));
}

Test(conn_unfinished, one_that_is_slow)
{
	cr_expect(!ended_within(1000, 33000));
}

Test(conn_unfinished, each_message_has_its_time)
{
	for (int i = 0; i < 30; i++) {
		cr_expect(!ended_within(2, 0), "message %d", i);
		xiw_srq_received(keeps);
	}
}

Test(conn_unfinished, one_that_has_no_buffer)
{
	keeps->ddp->queues[0].count = 0;
	cr_expect(!ended_within(100, 0));
}

Test(conn_unfinished, buffers_are_there)
{
	uint8_t octets[8];

	cr_assert_eq(xiw_srq_post(srq, octets, sizeof(octets), 1), 0);
	cr_expect(!ended_within(100, 0));
}

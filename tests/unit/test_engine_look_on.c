// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A thread that waits for events in the place of the engine's: whether it looks on or sleeps. */
#include <criterion/criterion.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "core/inbox.h"
#include "core/ring.h"
#include "engine/share.h"

#define SHORT_NS 50000
#define LOOK_ON_NS 20000

static struct xiw_engine *e;
static struct xiw_rxq queue;
static struct xiw_netif netif = { .queues = &queue, .nqueues = 1 };
static struct xiw_share_sleep how;

/* An engine whose thread, this one, naps. */
static void begin(void)
{
	const struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };

	cr_assert_eq(xiw_engine_create(&o, &e), 0);
	cr_assert_eq(xiw_share_begin(e), 0);
	cr_assert_geq(xiw_ring_submit(e), 0);
	e->netifs = &netif;
	xiw_share_give(e, UINT64_MAX, false);
}

static void end(void)
{
	xiw_share_take(e);
	e->netifs = NULL;
	cr_assert_eq(xiw_engine_destroy(e), 0);
}

TestSuite(engine_look_on, .timeout = 10, .init = begin, .fini = end);

/* A turn that finds nothing, so much later. */
static bool sleeps_after(uint64_t ns)
{
	e->now_ns += ns;
	xiw_inbox_run(e);
	return xiw_share_fall_asleep(e, &how);
}

/* One that has found nothing, has slept, and gets its event so much later. */
static void wait_for(uint64_t ns)
{
	cr_assert(xiw_share_wait(e, &how));
	while (!sleeps_after(1000))
		ns -= 1000;
	xiw_share_wake_up(e, &how);
	e->now_ns += ns;
	xiw_share_wait_over(e);
}

Test(engine_look_on, looks_on_after_a_short_wait)
{
	wait_for(SHORT_NS - 1);
	cr_assert(xiw_share_wait(e, &how));
	cr_expect_not(sleeps_after(1000));
	cr_expect_not(sleeps_after(LOOK_ON_NS - 1));
	cr_expect(sleeps_after(1));
	xiw_share_wake_up(e, &how);
	/* It has waited for too long to look on again. */
	cr_expect(sleeps_after(1));
	xiw_share_wake_up(e, &how);
	xiw_share_wait_over(e);
}

Test(engine_look_on, sleeps_after_a_long_wait)
{
	wait_for(SHORT_NS);
	cr_assert(xiw_share_wait(e, &how));
	cr_expect(sleeps_after(1000));
	xiw_share_wake_up(e, &how);
	xiw_share_wait_over(e);
}

/* It would hold the lock that the engine's thread needs, for what comes by no queue. */
Test(engine_look_on, looks_on_by_queues_only)
{
	wait_for(1000);
	netif.nqueues = 0;
	cr_assert(xiw_share_wait(e, &how));
	cr_expect(sleeps_after(1000));
	xiw_share_wake_up(e, &how);
	xiw_share_wait_over(e);
	netif.nqueues = 1;
}

Test(engine_look_on, does_not_look_on_when_the_thread_of_the_engine_comes)
{
	wait_for(1000);
	cr_assert(xiw_share_wait(e, &how));
	cr_expect_not(sleeps_after(1000));
	e->ready.share.owner = true;
	cr_expect(sleeps_after(1000));
	e->ready.share.owner = false;
	xiw_share_wake_up(e, &how);
	xiw_share_wait_over(e);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How long an engine waits for queues that are busy. The kernel's sockets, and time, are made up here. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/engine.h"
#include "handoff/queues.h"
#include "netif/xsk.h"

static int create(struct xiw_xsk *x, const struct xiw_xsk_opts *o);
static int64_t lead(void);
static void claims(void);
static void tell_time(struct xiw_engine *e);

#define xiw_xsk_create create
#define xiw_xsk_destroy(x) ((void)(x))
#define xiw_xsk_takes(x) 0
#define xiw_xsk_room(x) 0
#define xiw_queue_claim(t, queue) (claims(), 0)
#define xiw_queue_begin(t, queue, fd) 0
#define xiw_queue_end(t, queue) ((void)(t))
#define xiw_queue_release(t, queue) ((void)(t))
#define xiw_clock_update tell_time
#define xiw_clock_lead lead

#include "core/serve.c"

#define LEAD 7000000000000ull
#define SECOND 1000000000ull
#define BEGIN (100 * SECOND) /* as the BPF programs see it */

static struct xiw_engine *e;
static struct xiw_netif netif;
static struct xiw_queue shared[XIW_MAX_QUEUES];
static uint64_t now;	     /* as the BPF programs see it */
static uint64_t beats_until; /* another engine has the queues until then, while this one begins */
static uint64_t waited[XIW_MAX_QUEUES];
static uint64_t busy; /* bit q: queue q stays busy */

static void tell_time(struct xiw_engine *engine)
{
	engine->now_ns = now + LEAD;
	engine->now_ms = engine->now_ns / 1000000;
}

static int64_t lead(void)
{
	return LEAD;
}

static void claims(void)
{
	if (!beats_until)
		return;
	now = beats_until;
	for (int q = 0; q < XIW_MAX_QUEUES; q++)
		shared[q].beat_ns = now;
}

static int create(struct xiw_xsk *x, const struct xiw_xsk_opts *o)
{
	(void)x;
	waited[o->queue] = o->busy_ms;
	if (!(busy >> o->queue & 1))
		return 0;
	now += o->busy_ms * 1000000ull;
	return -EBUSY;
}

static void set_up(void)
{
	e = calloc(1, sizeof(*e));
	cr_assert(e);
	e->clock_lead = LEAD;
	now = BEGIN;
	tell_time(e);
	netif = (struct xiw_netif){
		.channels = 2, .senders = 2, .mtu = 1500, .table = { .queues = shared }
	};
}

static void tear_down(void)
{
	free(netif.queues);
	free(e);
}

TestSuite(core_serve, .init = set_up, .fini = tear_down);

static int open_all(void)
{
	char why[128];

	free(netif.queues);
	netif.nqueues = 0;
	netif.served = netif.foreign = 0;
	memset(waited, 0, sizeof(waited));
	return xiw_queues_open(e, &netif, true, why, sizeof(why));
}

/* As when a machine has just started. */
Test(core_serve, a_queue_that_no_engine_has_had)
{
	now = SECOND;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 200);
}

Test(core_serve, a_queue_that_an_engine_had_lately)
{
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 200, "no engine has had it since the start");
	now += 60 * SECOND;
	tell_time(e);
	xiw_queues_close(e, &netif);
	now += 5 * SECOND;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 1000);
	cr_expect_eq(waited[1], 1000);
	now += 60 * SECOND;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 200);
	e->opts.path = XIW_USE_DIRECT;
	now += 60 * SECOND;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 1000);
}

/* It has read the clock before the other engine let go, which may be long ago. */
Test(core_serve, one_that_an_engine_has_until_this_one_claims_it)
{
	beats_until = BEGIN + 100000;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 1000);
	beats_until = 0;
	now += 60 * SECOND;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 200, "the engine's clock stood still meanwhile");
}

/* Else the refusal would be over already that keeps others from trying at once. */
Test(core_serve, what_waiting_took_is_known)
{
	shared[0].beat_ns = shared[1].beat_ns = now;
	busy = 3;
	cr_expect_eq(open_all(), -EBUSY);
	cr_expect_eq(waited[0], 1000);
	cr_expect_eq(waited[1], 0, "one shows that it is not about to end");
	cr_expect_eq(e->now_ns, BEGIN + SECOND + LEAD);
	busy = 0;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(shared[0].beat_ns, now);
}

Test(core_serve, what_was_waited_for_others_in_vain)
{
	e->opts.path = XIW_USE_DIRECT;
	e->unready.waited_ms = 300;
	busy = 1;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 700);
	cr_expect_eq(e->unready.waited_ms, 1000);
	/* The next interface. */
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 0);
	cr_expect_eq(e->unready.waited_ms, 1000);
	e->unready.waited_ms = 0;
	busy = 0;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 1000);
	cr_expect_eq(e->unready.waited_ms, 0, "it was not in vain");
}

/* The connection for which it opens the interface is one of them. */
Test(core_serve, an_engine_that_has_other_connections)
{
	shared[0].beat_ns = now;
	e->nconns = 1;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 1000);
	e->nconns = 2;
	e->opts.path = XIW_USE_DIRECT;
	shared[0].beat_ns = now;
	cr_expect_eq(open_all(), 0);
	cr_expect_eq(waited[0], 200);
}

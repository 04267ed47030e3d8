// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When the engine looks at next hops, and at how many at a time. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "core/netif.h"
#include "netif/hop.h"
#include "path/inject.h"
#include "path/output.h"

#define xiw_hop_mac(of, mac) ((void)(of), asked++, memcpy(mac, kernel_says, 6), answer)
#define xiw_inject_question(c) (made_to_send++, (void)(c))
#define xiw_output_answer(c) ((void)(c))

static uint8_t kernel_says[6];
static int answer, asked, made_to_send;

#include "path/hop.c"

#define CONNS 100
#define NOW_MS 100000

static struct xiw_engine *e;
static struct xiw_conn *conns[CONNS];
static struct xiw_flow flow;
static struct xiw_netif netif;

static void setup(void)
{
	e = calloc(1, sizeof(*e));
	cr_assert(e);
	e->now_ms = NOW_MS;
	flow.out_mac[5] = kernel_says[5] = 1;
	for (int i = 0; i < CONNS; i++) {
		conns[i] = aligned_alloc(64, (sizeof(*conns[i]) + 63) & ~63ul);
		cr_assert(conns[i]);
		memset(conns[i], 0, sizeof(*conns[i]));
		conns[i]->flow = &flow;
		conns[i]->netif = &netif;
		conns[i]->stretch.state = XIW_STRETCH_RUNS;
		conns[i]->next = e->conns;
		e->conns = conns[i];
	}
}

static void teardown(void)
{
	for (int i = 0; i < CONNS; i++)
		free(conns[i]);
	free(e);
}

TestSuite(path_hop, .init = setup, .fini = teardown);

static void news(uint16_t type)
{
	const struct nlmsghdr n = { .nlmsg_type = type };

	xiw_hop_note(e, &n);
}

/* Runs the engine's turns until no look is under way, and returns how many of them it took. */
static int turns(void)
{
	int n = 0;

	do {
		xiw_hop_scan(e);
		n++;
	} while (e->watch.hops.next);
	return n;
}

Test(path_hop, many_connections_take_several_turns)
{
	news(RTM_NEWNEIGH);
	cr_assert_eq(turns(), (CONNS + AT_ONCE - 1) / AT_ONCE);
	cr_assert_eq(asked, CONNS);
	cr_assert_eq(made_to_send, 0, "the next hops are the same");
}

/* A turn is for what costs system calls. */
Test(path_hop, idle_connections_take_none)
{
	for (int i = 0; i < CONNS; i++)
		conns[i]->stretch.state = XIW_STRETCH_OFF;
	xiw_hop_news(e);
	cr_assert_eq(turns(), 1);
	cr_assert_eq(asked, 0);
}

Test(path_hop, another_address_or_none_makes_the_socket_send)
{
	conns[0]->stretch.state = XIW_STRETCH_OFF;
	kernel_says[5] = 2;
	news(RTM_DELROUTE);
	turns();
	cr_assert_eq(made_to_send, CONNS - 1);
	kernel_says[5] = 1;
	answer = -ENETUNREACH;
	e->now_ms += LATE_MS;
	news(RTM_NEWRULE);
	turns();
	cr_assert_eq(made_to_send, 2 * (CONNS - 1));
}

/* News that keep coming cause one look a second in the end; after a quiet second the first causes a look at once. */
Test(path_hop, news_that_keep_coming)
{
	int looks = 0;

	for (int ms = 0; ms < 60000; ms++, e->now_ms++) {
		asked = 0;
		news(RTM_NEWROUTE);
		turns();
		looks += asked > 0;
	}
	cr_assert_geq(looks, 59);
	cr_assert_leq(looks, 66);
	e->now_ms += 3 * LATE_MS;
	asked = 0;
	turns();
	cr_assert(asked, "what was due");
	e->now_ms += LATE_MS;
	asked = 0;
	news(RTM_NEWROUTE);
	turns();
	cr_assert(asked);
}

Test(path_hop, other_messages_are_no_news)
{
	news(RTM_NEWLINK);
	news(RTM_NEWADDR);
	turns();
	cr_assert_eq(asked, 0);
}

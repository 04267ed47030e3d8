// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is remembered of causes: for whom, until when, and whatever peers do to it. */
#include <criterion/criterion.h>
#include <string.h>

#include "handoff/obstacles.h"

static struct xiw_obstacle all[XIW_OBSTACLES];
static uint64_t now = 1000 * XIW_OBSTACLE_NS;

static void setup(void)
{
	memset(all, 0, sizeof(all));
}

TestSuite(handoff_obstacles, .init = setup);

/* IPv4 address number i, as an IPv6 one. */
static const __be32 *v4(uint32_t i)
{
	static __be32 at[8][4];
	static unsigned int n;
	__be32 *a = at[n++ % 8];

	a[0] = a[1] = 0;
	((uint8_t *)&a[2])[2] = ((uint8_t *)&a[2])[3] = 0xff;
	a[3] = 0x0a000000 + i;
	return a;
}

static const __be32 *v6(uint32_t net, uint32_t host)
{
	static __be32 at[8][4];
	static unsigned int n;
	__be32 *a = at[n++ % 8];

	a[0] = 0xfd77;
	a[1] = net;
	a[2] = 0;
	a[3] = host;
	return a;
}

static void note(const __be32 *peer, bool stalled, bool tried)
{
	xiw_obstacle_note(all, &(struct xiw_found){ .peer = peer,
						    .reason = XIW_REASON_UNHEARD,
						    .stalled = stalled,
						    .tried = tried,
						    .now_ns = now });
}

static void stalls(const __be32 *peer)
{
	note(peer, true, false);
}

static bool kept_off(const __be32 *peer)
{
	return xiw_obstacle_against(all, peer);
}

Test(handoff_obstacles, nothing_is_against_anybody_at_first)
{
	cr_assert(!kept_off(v4(1)));
}

Test(handoff_obstacles, what_costs_nothing_is_only_counted)
{
	note(v4(1), false, false);
	note(v4(1), false, false);
	cr_assert(!kept_off(v4(1)));
	cr_assert_eq(all[XIW_REASON_UNHEARD].count, 2);
	cr_assert_eq(all[XIW_REASON_UNHEARD].last_ns, now);
}

Test(handoff_obstacles, a_peer_alone_harms_itself_alone)
{
	for (int i = 0; i < 1000; i++, now += 1000000)
		stalls(v4(1));
	cr_assert(kept_off(v4(1)));
	cr_assert(!kept_off(v4(2)));
	cr_assert_eq(all[XIW_REASON_UNHEARD].count, 1000);
}

/* A host may have any of the addresses of its /64. */
Test(handoff_obstacles, addresses_of_one_host)
{
	for (uint32_t i = 0; i < 1000; i++, now += 1000000)
		stalls(v6(1, i));
	cr_assert(!kept_off(v6(2, 1)));
	cr_assert(!kept_off(v4(1)));
}

Test(handoff_obstacles, independent_peers)
{
	for (uint32_t i = 1; i < XIW_OBSTACLE_PEERS; i++)
		stalls(v4(i));
	cr_assert(!kept_off(v4(100)));
	stalls(v6(1, 1));
	cr_assert(kept_off(v4(100)));
	cr_assert_eq(xiw_obstacle_against(all, v4(100))->reason, XIW_REASON_UNHEARD);
}

Test(handoff_obstacles, peers_that_meet_it_at_other_times)
{
	for (uint32_t i = 1; i < 100; i++, now += XIW_OBSTACLE_NS)
		stalls(v4(i));
	cr_assert(!kept_off(v4(100)));
}

/* Whatever some peers pretend, the interface is not to blame while others are carried over it. */
Test(handoff_obstacles, an_interface_that_carries)
{
	for (uint32_t i = 1; i < 100; i++) {
		stalls(v4(i));
		now += 1000000;
		if (i % (XIW_OBSTACLE_PEERS - 1) == 0)
			xiw_obstacle_carries(all, v4(7777), now);
		cr_assert(!kept_off(v4(1000)), "%u", i);
	}
}

Test(handoff_obstacles, what_held_for_all_ends_when_one_is_carried)
{
	for (uint32_t i = 0; i < XIW_OBSTACLE_PEERS; i++)
		stalls(v4(i));
	cr_assert(kept_off(v4(100)));
	xiw_obstacle_carries(all, v4(7777), now);
	cr_assert(!kept_off(v4(100)));
	cr_assert(kept_off(v4(0)), "it has stood still itself");
}

/* Counts the connections until one tries again. */
static unsigned int tries_after(const __be32 *peer)
{
	unsigned int n = 0;

	while (!xiw_obstacle_try(xiw_obstacle_against(all, peer), true, now))
		cr_assert_lt(n++, 100000, "for ever");
	return n;
}

Test(handoff_obstacles, one_in_so_many_tries_again)
{
	stalls(v4(1));
	for (unsigned int i = 0; i <= XIW_OBSTACLE_DOUBLINGS; i++) {
		cr_assert_eq(tries_after(v4(1)), XIW_OBSTACLE_EACH << i);
		note(v4(1), true, true);
	}
	cr_assert_eq(tries_after(v4(1)), XIW_OBSTACLE_EACH << XIW_OBSTACLE_DOUBLINGS);
	xiw_obstacle_gone(all, v4(1));
	cr_assert(!kept_off(v4(1)));
}

Test(handoff_obstacles, one_connection_that_asks_again_counts_once)
{
	stalls(v4(1));
	for (int i = 0; i < 1000; i++)
		cr_assert(!xiw_obstacle_try(xiw_obstacle_against(all, v4(1)), false, now));
	now += XIW_OBSTACLE_NS;
	cr_assert(xiw_obstacle_try(xiw_obstacle_against(all, v4(1)), false, now));
	cr_assert(!xiw_obstacle_try(xiw_obstacle_against(all, v4(1)), false, now), "two at once");
}

/* Peers that fail all the time do not take the turn of those that have met nothing. */
Test(handoff_obstacles, the_turn_of_the_others)
{
	for (uint32_t i = 0; i < XIW_OBSTACLE_PEERS; i++)
		stalls(v4(i));
	for (uint32_t i = 0; i < XIW_OBSTACLE_EACH; i++) {
		cr_assert(!xiw_obstacle_try(xiw_obstacle_against(all, v4(100)), true, now));
		for (uint32_t k = 0; k < 10; k++)
			stalls(v4(k));
	}
	cr_assert(xiw_obstacle_try(xiw_obstacle_against(all, v4(100)), true, now));
}

/* Any number of addresses takes no more room, and what is known of reasons stays. */
Test(handoff_obstacles, many_addresses)
{
	xiw_obstacle_carries(all, v4(7777), now);
	for (uint32_t i = 0; i < 100000; i++)
		stalls(v6(i, i));
	cr_assert_eq(all[XIW_REASON_UNHEARD].count, 100000);
	stalls(v4(1));
	cr_assert(kept_off(v4(1)), "the newest has room");
}

/* Two processes have entered different peers at once. */
Test(handoff_obstacles, an_entry_that_is_not_whole)
{
	struct xiw_obstacle *o;

	stalls(v4(1));
	o = xiw_obstacle_against(all, v4(1));
	o->check ^= 1;
	cr_assert(!kept_off(v4(1)));
	o->check ^= 1;
	o->reason = 0xffffffff;
	cr_assert(!kept_off(v4(1)));
	stalls(v4(1));
	cr_assert(kept_off(v4(1)));
}

/* On a busy host one connection of many stands still now and then. */
Test(handoff_obstacles, accidents_beside_connections_that_are_carried)
{
	stalls(v4(1));
	xiw_obstacle_carries(all, v4(1), now);
	cr_assert(kept_off(v4(1)), "that was before");
	now += XIW_OBSTACLE_SECOND;
	xiw_obstacle_carries(all, v4(1), now);
	cr_assert(!kept_off(v4(1)));
	stalls(v4(1));
	cr_assert(!kept_off(v4(1)), "others are carried");
	now += 2 * XIW_OBSTACLE_SECOND;
	stalls(v4(1));
	cr_assert(kept_off(v4(1)));
}

/* Where a part of the path is broken, as one queue of several, others go on being carried. */
Test(handoff_obstacles, what_comes_again_and_again_is_no_accident)
{
	unsigned int n = 0;

	for (; n < 100; n++) {
		stalls(v4(1));
		now += 3 * XIW_OBSTACLE_SECOND;
		xiw_obstacle_carries(all, v4(1), now);
		if (kept_off(v4(1)))
			break;
		now += 3 * XIW_OBSTACLE_SECOND;
	}
	cr_assert_leq(n, XIW_OBSTACLE_AGAIN + 1);
	cr_assert_gt(n, 0);
}

static void found(enum xiw_reason reason, bool barred)
{
	xiw_obstacle_note(all, &(struct xiw_found){ .peer = v4(1),
						    .reason = reason,
						    .stalled = true,
						    .barred = barred,
						    .now_ns = now,
						    .acked_ns = now - XIW_OBSTACLE_SECOND });
}

/* What befalls a connection again and again is its own, as long as others of the peer are carried. */
Test(handoff_obstacles, one_that_is_barred_beside_others_is_alone)
{
	xiw_obstacle_carries(all, v4(1), now);
	found(XIW_REASON_UNHEARD, true);
	cr_assert(!kept_off(v4(1)));
	now += 3 * XIW_OBSTACLE_SECOND;
	found(XIW_REASON_UNHEARD, true);
	cr_assert(kept_off(v4(1)));
}

/* Where the peer hears acknowledgements, a silence is an accident. That says nothing of other causes. */
Test(handoff_obstacles, a_peer_that_hears)
{
	xiw_obstacle_heard(all, v4(1), now - XIW_OBSTACLE_SECOND / 2);
	found(XIW_REASON_UNHEARD, false);
	cr_assert(!kept_off(v4(1)));
	found(XIW_REASON_UNSEEN, false);
	cr_assert(kept_off(v4(1)));
	xiw_obstacle_gone(all, v4(1));
	now += XIW_OBSTACLE_SECOND;
	found(XIW_REASON_UNHEARD, false);
	cr_assert(!kept_off(v4(1)), "it has heard some a short time ago");
	now += XIW_OBSTACLE_SECOND;
	xiw_obstacle_heard(all, v4(1), now);
	now += 2 * XIW_OBSTACLE_SECOND;
	found(XIW_REASON_UNHEARD, false);
	cr_assert(!kept_off(v4(1)), "and has heard some since");
	now += XIW_OBSTACLE_SECOND;
	found(XIW_REASON_UNHEARD, false);
	cr_assert(kept_off(v4(1)), "and none after that");
	xiw_obstacle_gone(all, v4(1));
	now += 2 * XIW_OBSTACLE_HEARD;
	found(XIW_REASON_UNHEARD, false);
	cr_assert(kept_off(v4(1)));
}

/* A socket without a route hides its segments as a firewall does: that counts if it comes back to a later stretch. */
Test(handoff_obstacles, a_moment_without_a_route)
{
	found(XIW_REASON_OUTPUT, false);
	cr_assert(!kept_off(v4(1)));
	now += XIW_OBSTACLE_SECOND / 2;
	found(XIW_REASON_OUTPUT, false);
	cr_assert(!kept_off(v4(1)), "this stretch was under way then");
	now += 2 * XIW_OBSTACLE_SECOND;
	found(XIW_REASON_OUTPUT, false);
	cr_assert(kept_off(v4(1)));
	xiw_obstacle_gone(all, v4(1));
	found(XIW_REASON_OUTPUT, true);
	cr_assert(kept_off(v4(1)), "a stretch after another has ended for it");
}

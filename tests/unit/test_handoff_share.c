// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many slots of the flow table one peer may have. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handoff/key.h"
#include "handoff/share.h"
#include "handoff/slot.h"

static struct xiw_table t;
static uint32_t taken;

static void make(uint32_t nflows)
{
	xiw_table_none(&t);
	t.nflows = nflows;
	t.flows = calloc(nflows, sizeof(*t.flows));
	t.taken = calloc(nflows / 64, sizeof(*t.taken));
	cr_assert(t.flows && t.taken);
	taken = 0;
}

static void fini(void)
{
	free(t.flows);
	free(t.taken);
}

TestSuite(handoff_share, .fini = fini);

static struct xiw_flow_key key_of(const char *peer)
{
	const bool v4 = !strchr(peer, ':');
	struct xiw_flow_key key = { .local_port = 1 };
	char mapped[64];

	snprintf(mapped, sizeof(mapped), "%s%s", v4 ? "::ffff:" : "", peer);
	cr_assert_eq(inet_pton(AF_INET6, mapped, key.remote_addr), 1);
	inet_pton(AF_INET6, v4 ? "::ffff:10.0.0.1" : "2001:db8::1", key.local_addr);
	return key;
}

static void hold(const char *peer, uint32_t n, uint32_t engine)
{
	const struct xiw_flow_key key = key_of(peer);

	while (n--) {
		t.flows[taken].key = key;
		t.flows[taken].engine = engine;
		xiw_bits_set(t.taken, taken++);
	}
	t.hint = taken;
}

static bool used(const char *peer)
{
	const struct xiw_flow_key key = key_of(peer);

	return xiw_table_share_used(&t, &key);
}

Test(handoff_share, one_peer_gets_half)
{
	make(64);
	hold("10.0.0.9", 32, 5);
	cr_expect(!used("10.0.0.9"), "until more than half is held, nobody is refused");
	hold("10.0.0.8", 1, 6);
	cr_expect(used("10.0.0.9"));
	cr_expect(!used("10.0.0.8"));
	cr_expect(!used("10.0.0.7"), "a peer that has none");
}

Test(handoff_share, the_next_gets_half_of_the_rest)
{
	make(64);
	hold("10.0.0.9", 32, 5);
	hold("10.0.0.8", 15, 5);
	cr_expect(!used("10.0.0.8"));
	hold("10.0.0.8", 1, 5);
	cr_expect(used("10.0.0.8"));
	cr_expect(!used("10.0.0.7"));
}

Test(handoff_share, many_peers_fill_it)
{
	char peer[16];

	make(64);
	for (int i = 0; i < 63; i++) {
		snprintf(peer, sizeof(peer), "10.0.1.%d", i);
		cr_expect(!used(peer));
		hold(peer, 1, 5);
	}
	cr_expect(!used("10.0.2.1"), "the last one");
	cr_expect(used("10.0.1.1"), "who has one gets no second");
}

Test(handoff_share, a_64_is_one_peer)
{
	make(64);
	hold("2001:db8:0:1::1", 20, 5);
	hold("2001:db8:0:1::2", 20, 5);
	cr_expect(used("2001:db8:0:1:ffff::9"));
	cr_expect(!used("2001:db8:0:2::1"));
	cr_expect(!used("10.0.0.9"));
}

/* All IPv4 addresses have the same first half when they are mapped. */
Test(handoff_share, an_address_of_ipv4_is_one_peer)
{
	make(64);
	hold("10.0.0.9", 40, 5);
	cr_expect(used("10.0.0.9"));
	cr_expect(!used("10.0.0.10"));
}

/* They are given up when others need them. */
Test(handoff_share, what_connections_have_left_does_not_count)
{
	make(64);
	hold("10.0.0.9", 40, XIW_ABANDONED);
	hold("10.0.0.9", 10, XIW_RETIRED);
	hold("10.0.0.9", 10, 5);
	cr_expect(!used("10.0.0.9"));
}

Test(handoff_share, a_large_table_is_sampled)
{
	make(65536);
	hold("10.0.0.9", 31500, 5);
	hold("10.0.0.8", 4000, 5);
	cr_expect(used("10.0.0.9"));
	cr_expect(!used("10.0.0.8"));
	hold("10.0.0.8", 15000, 5);
	cr_expect(used("10.0.0.8"));
	cr_expect(!used("10.0.0.7"));
}

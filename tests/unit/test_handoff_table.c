// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Slots of the flow table: who gets them, and when they are free again. The kernel's answers are made up here. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "handoff/diag.h"

/* The kernel's part: the index, by the port in the key, and the state of each connection's socket. */
#define PORTS 1024
static uint32_t in_index[PORTS]; /* the slot, plus 1 */
static int states[PORTS];
static int back_in
	[PORTS]; /* another socket has the same addresses when they are asked for again: its state */
static unsigned int questions;

static uint32_t port_of(const void *key)
{
	return ((const struct xiw_flow_key *)key)->remote_addr[3];
}

static int lookup(int fd, const void *key, void *value)
{
	uint32_t at = in_index[port_of(key)];

	(void)fd;
	if (!at)
		return -ENOENT;
	*(uint32_t *)value = at - 1;
	return 0;
}

static int update(int fd, const void *key, const void *value, uint64_t flags)
{
	(void)fd;
	(void)flags;
	in_index[port_of(key)] = *(const uint32_t *)value + 1;
	return 0;
}

static int delete (int fd, const void *key)
{
	(void)fd;
	in_index[port_of(key)] = 0;
	return 0;
}

static int state(const struct xiw_flow *flow)
{
	const uint32_t port = port_of(&flow->key);
	int was = states[port];

	questions++;
	if (back_in[port])
		states[port] = back_in[port];
	return was;
}

#define bpf_map_lookup_elem lookup
#define bpf_map_update_elem update
#define bpf_map_delete_elem delete
#define xiw_flow_socket_state state
#include "handoff/table.c"
#include "handoff/collect.c"

#define N 128u
#define ANOTHER 77u /* an engine that does not live */

static struct xiw_table t;

static void setup(void)
{
	t = no_table;
	t.nflows = t.next = N;
	t.me = 5;
	t.dir_fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t.flows = aligned_alloc(64, N * sizeof(*t.flows));
	t.taken = calloc(N / 64, sizeof(*t.taken));
	cr_assert(t.dir_fd >= 0 && t.flows && t.taken && !xiw_slot_lists_init(&t.lists, N));
	memset(t.flows, 0, N * sizeof(*t.flows));
}

static void teardown(void)
{
	close(t.dir_fd);
	free(t.flows);
	free(t.taken);
	xiw_slot_lists_free(&t.lists);
}

TestSuite(handoff_table, .init = setup, .fini = teardown);

static int claim(uint32_t port)
{
	struct xiw_flow_key key = { .remote_addr[3] = port };
	uint32_t skew;

	return xiw_table_claim(&t, &key, &skew);
}

static uint32_t claim_insert(uint32_t port)
{
	int slot = claim(port);

	cr_assert_geq(slot, 0);
	cr_assert_eq(xiw_table_insert(&t, (uint32_t)slot), 0);
	states[port] = TCP_ESTABLISHED;
	return (uint32_t)slot;
}

/* The bit of each slot says if an engine has it. */
static unsigned int taken(void)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < N; i++) {
		bool bit = t.taken[i / 64] >> i % 64 & 1;

		cr_expect_eq(bit, t.flows[i].engine != 0, "slot %u", i);
		n += bit;
	}
	return n;
}

Test(handoff_table, every_slot_is_claimed_once)
{
	bool seen[N] = {};

	for (uint32_t port = 1; port <= N; port++) {
		int slot = claim(port);

		cr_assert(slot >= 0 && slot < (int)N && !seen[slot]);
		seen[slot] = true;
	}
	cr_expect_eq(taken(), N);
	cr_expect_eq(claim(N + 1), -ENOSPC);
	xiw_table_remove(&t, 40);
	cr_expect_eq(taken(), N - 1);
	cr_expect_eq(claim(N + 1), 40);
}

/* A process died between the two stores of a claim, or of a release. */
Test(handoff_table, bits_that_are_wrong_become_right)
{
	t.flows[0].engine = ANOTHER;
	cr_expect_eq(claim(1), 1);
	cr_expect_eq(taken(), 2);
	t.taken[1] |= 1;
	xiw_table_collect(&t);
	cr_expect_eq(taken(), 1);
}

Test(handoff_table, a_retired_slot_is_free_at_the_next_collection)
{
	uint32_t slot = claim_insert(1);

	xiw_table_retire(&t, slot);
	cr_expect_eq(in_index[1], 0);
	cr_expect_eq(taken(), 1);
	cr_expect_not(xiw_table_collect_some(&t, 0));
	cr_expect_eq(taken(), 0);
	cr_expect_eq(questions, 0);
}

Test(handoff_table, an_abandoned_slot_is_free_when_its_connection_is_gone)
{
	uint32_t slot = claim_insert(1);

	xiw_table_abandon(&t, slot);
	cr_expect(xiw_table_collect_some(&t, 8));
	cr_expect_eq(taken(), 1);
	states[1] = 0;
	cr_expect_not(xiw_table_collect_some(&t, 8));
	cr_expect_eq(taken(), 0);
	cr_expect_eq(in_index[1], 0);
}

/*
 * The peer's SYN came between the look at the socket and the end of the translation, and was translated. So must be
 * all that follows it.
 */
Test(handoff_table, a_slot_whose_addresses_are_used_again_stays)
{
	uint32_t slot = claim_insert(1);

	xiw_table_abandon(&t, slot);
	states[1] = 0;
	back_in[1] = TCP_SYN_RECV;
	cr_expect(xiw_table_collect_some(&t, 8));
	cr_expect_eq(in_index[1], slot + 1);
	cr_expect_eq(xiw_slot_engine(&t, slot), XIW_ABANDONED);
	cr_expect_eq(taken(), 1);
	cr_expect_eq(claim(1), (int)slot);
}

Test(handoff_table, slots_in_use_cost_no_questions)
{
	for (uint32_t port = 1; port <= 100; port++)
		claim_insert(port);
	cr_expect_not(xiw_table_collect_some(&t, 8));
	cr_expect_eq(questions, 0);
	xiw_table_abandon(&t, 50);
	cr_expect(xiw_table_collect_some(&t, 8));
	cr_expect_eq(questions, 1);
}

/* No call asks more than it may, and those that stay do not hide those behind them. */
Test(handoff_table, abandoned_slots_are_asked_for_in_turn)
{
	for (uint32_t port = 1; port <= 100; port++)
		xiw_table_abandon(&t, claim_insert(port));
	states[99] = 0;
	for (unsigned int n = 8; n < 97; n += 8) {
		cr_expect(xiw_table_collect_some(&t, 8));
		cr_expect_eq(questions, n);
	}
	cr_expect_eq(taken(), 100);
	xiw_table_collect_some(&t, 8);
	cr_expect_eq(taken(), 99);
}

Test(handoff_table, the_slot_that_is_asked_for_next_may_go)
{
	for (uint32_t port = 1; port <= 3; port++)
		xiw_table_abandon(&t, claim_insert(port));
	xiw_table_collect_some(&t, 1);
	cr_expect_eq(t.next, 1);
	cr_expect_eq(claim(2), 1); /* the same addresses again: it is adopted */
	xiw_table_retire(&t, 1);
	states[3] = 0;
	xiw_table_collect_some(&t, 1);
	cr_expect_eq(taken(), 1);
	states[1] = 0;
	cr_expect_not(xiw_table_collect_some(&t, 1));
	cr_expect_eq(taken(), 0);
}

Test(handoff_table, the_oldest_makes_room)
{
	for (uint32_t port = 1; port <= N; port++)
		claim_insert(port);
	xiw_table_abandon(&t, 70);
	xiw_table_abandon(&t, 3);
	states[t.flows[70].key.remote_addr[3]] = states[t.flows[3].key.remote_addr[3]] =
		TCP_TIME_WAIT;
	cr_expect(xiw_table_make_room(&t, 0));
	cr_expect_eq(claim(N + 1), 70);
	cr_expect(xiw_table_make_room(&t, 0));
	cr_expect_eq(claim(N + 2), 3);
	cr_expect_not(xiw_table_make_room(&t, 0));
}

/* An engine that has died without a word leaves slots of all kinds. They are looked for once a second. */
Test(handoff_table, what_dead_engines_left_makes_room)
{
	for (uint32_t port = 1; port <= N; port++)
		claim_insert(port);
	cr_expect_not(xiw_table_make_room(&t, 0));
	t.flows[9].engine = ANOTHER;
	states[t.flows[9].key.remote_addr[3]] = 0;
	cr_expect_not(xiw_table_make_room(&t, GATHER_MS - 1));
	cr_expect(xiw_table_make_room(&t, GATHER_MS));
	cr_expect_eq(claim(N + 1), 9);
	t.flows[10].engine = XIW_RETIRED;
	xiw_table_make_room(&t, 2 * GATHER_MS);
	xiw_table_collect_some(&t, 0);
	cr_expect_eq(claim(N + 2), 10);
}

Test(handoff_table, an_engine_that_begins_collects_what_is_left)
{
	for (uint32_t port = 1; port <= 5; port++)
		claim_insert(port);
	t.flows[0].engine = t.flows[1].engine = ANOTHER;
	t.flows[2].engine = XIW_ABANDONED;
	t.flows[3].engine = XIW_RETIRED;
	states[1] = states[3] = 0;
	cr_expect_eq(xiw_table_collect(&t), 3);
	cr_expect_eq(taken(), 2);
	cr_expect_eq(t.flows[1].engine, XIW_ABANDONED);
	states[2] = 0;
	cr_expect_not(xiw_table_collect_some(&t, 8));
	cr_expect_eq(taken(), 1);
}

/* Between its look at the index and its claim the slot was freed, and another connection has left it. */
Test(handoff_table, a_slot_that_has_another_key_by_now_is_not_adopted)
{
	uint32_t slot = claim_insert(1);

	xiw_table_abandon(&t, slot);
	in_index[2] = slot + 1;
	cr_expect_eq(claim(2), -EBUSY);
	cr_expect_eq(xiw_slot_engine(&t, slot), XIW_ABANDONED);
	cr_expect_eq(claim(1), (int)slot);
}

/* An engine that lives has a lock of its own; this one's lock would not be seen. */
Test(handoff_table, slots_of_living_engines_stay)
{
	struct flock lock = lock_of(ANOTHER, F_RDLCK);
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	claim_insert(1);
	claim_insert(2);
	t.flows[1].engine = ANOTHER;
	states[1] = states[2] = 0;
	cr_assert_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
	cr_expect_eq(xiw_table_collect(&t), 0);
	cr_expect_eq(taken(), 2);
	close(fd);
	cr_expect_eq(xiw_table_collect(&t), 1);
}

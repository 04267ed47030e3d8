// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Claims of receive queues: one living engine has a queue; those of an engine that has ended can be claimed, also if it
 * ended in the middle of opening or closing. Flows of engines that live are not given to the kernel.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

/* What happens while an engine asks whether another one lives. */
static void (*meanwhile)(void);

static int asked(int fd, int cmd, struct flock *lock)
{
	void (*happens)(void) = meanwhile;

	meanwhile = NULL;
	if (happens)
		happens();
	return fcntl(fd, cmd, lock);
}

#define fcntl asked
#include "../../user/handoff/table.c"
#undef fcntl

#include "handoff/queues.h"

#define ENGINES 4
#define ROUNDS 20000
#define FLOWS 64

static char dir[] = "/tmp/xiw-queues-XXXXXX";
static struct xiw_queue queues[XIW_MAX_QUEUES];
static struct xiw_flow *flows;
static uint64_t taken = 15;
static struct xiw_table *tables[ENGINES];

/* Engines are tables with maps in ordinary memory. The map of sockets is missing, which changes no claim. */
static void setup(void)
{
	cr_assert(mkdtemp(dir));
	flows = calloc(FLOWS, sizeof(*flows));
	for (int i = 0; i < ENGINES; i++) {
		tables[i] = calloc(1, sizeof(*tables[i]));
		cr_assert(flows && tables[i]);
		xiw_table_none(tables[i]);
		tables[i]->queues = queues;
		tables[i]->flows = flows;
		tables[i]->nflows = FLOWS;
		tables[i]->taken = &taken;
		cr_assert_eq(become_engine(tables[i], dir), 0);
	}
}

/* As the kernel does it at the end of a process. */
static void die(struct xiw_table *t)
{
	close(t->dir_fd);
	t->dir_fd = -1;
}

static void teardown(void)
{
	for (int i = 0; i < ENGINES; i++) {
		if (tables[i]->dir_fd >= 0)
			die(tables[i]);
		free(tables[i]);
	}
	free(flows);
	rmdir(dir);
}

TestSuite(handoff_queues, .init = setup, .fini = teardown);

Test(handoff_queues, one_engine_has_a_queue)
{
	cr_expect_eq(xiw_queue_engine(tables[0], 3), 0);
	cr_expect_eq(xiw_queue_claim(tables[0], 3), 0);
	cr_expect_eq(queues[3].engine, tables[0]->me | XIW_QUEUE_OPENING);
	cr_expect_eq(xiw_queue_engine(tables[1], 3), tables[0]->me);
	cr_expect_eq(xiw_queue_claim(tables[1], 3), -EBUSY);
	cr_expect_eq(xiw_queue_claim(tables[0], 3), -EBUSY, "an engine has a queue once");
	cr_expect_eq(xiw_queue_claim(tables[1], 4), 0, "another queue is free");
	xiw_queue_release(tables[0], 3);
	cr_expect_eq(queues[3].engine, 0);
	cr_expect_eq(xiw_queue_claim(tables[1], 3), 0);
}

/* XDP must not find the number before the socket is in the map, nor after it has left. */
Test(handoff_queues, xdp_finds_no_queue_without_a_socket)
{
	cr_expect_eq(xiw_queue_claim(tables[0], 0), 0);
	cr_expect_lt(xiw_queue_begin(tables[0], 0, -1), 0, "there is no map here");
	cr_expect_neq(queues[0].engine, tables[0]->me);
	queues[0].engine = tables[0]->me;
	xiw_queue_end(tables[0], 0);
	cr_expect_neq(queues[0].engine, tables[0]->me);
	cr_expect_eq(xiw_queue_claim(tables[1], 0), -EBUSY, "the socket is not closed yet");
}

Test(handoff_queues, queues_of_dead_engines_are_free)
{
	cr_expect_eq(xiw_queue_claim(tables[0], 0), 0);
	cr_expect_eq(xiw_queue_claim(tables[0], 1), 0);
	queues[1].engine = tables[0]->me; /* in service */
	cr_expect_eq(xiw_queue_claim(tables[2], 2), 0);
	die(tables[0]);
	for (uint32_t q = 0; q < 2; q++) {
		cr_expect_eq(xiw_queue_engine(tables[1], q), 0);
		cr_expect_eq(xiw_queue_claim(tables[1], q), 0, "queue %u", q);
		cr_expect_eq(xiw_queue_claim(tables[2], q), -EBUSY, "queue %u", q);
	}
	cr_expect_eq(xiw_queue_claim(tables[1], 2), -EBUSY, "its engine lives");
}

static void third_claims(void)
{
	cr_expect_eq(xiw_queue_claim(tables[2], 0), 0);
}

Test(handoff_queues, who_comes_second_gets_nothing)
{
	queues[0].engine = tables[0]->me;
	die(tables[0]);
	meanwhile = third_claims;
	cr_expect_eq(xiw_queue_claim(tables[1], 0), -EBUSY);
	cr_expect_eq(xiw_queue_engine(tables[1], 0), tables[2]->me);
}

static int holders[XIW_MAX_QUEUES];

static void *claimer(void *arg)
{
	struct xiw_table *t = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t q = i % XIW_MAX_QUEUES;

		if (xiw_queue_claim(t, q))
			continue;
		cr_assert_eq(__atomic_fetch_add(&holders[q], 1, __ATOMIC_SEQ_CST), 0,
			     "two engines have queue %u", q);
		__atomic_fetch_sub(&holders[q], 1, __ATOMIC_SEQ_CST);
		xiw_queue_release(t, q);
	}
	return NULL;
}

/* Each queue begins as that of an engine that died, so that all claim it from the same number. */
Test(handoff_queues, many_claim_at_once)
{
	pthread_t threads[ENGINES - 1];

	for (uint32_t q = 0; q < XIW_MAX_QUEUES; q++)
		queues[q].engine = tables[0]->me;
	die(tables[0]);
	for (int i = 1; i < ENGINES; i++)
		cr_assert_eq(pthread_create(&threads[i - 1], NULL, claimer, tables[i]), 0);
	for (int i = 1; i < ENGINES; i++)
		pthread_join(threads[i - 1], NULL);
}

/* What unload does: XDP finds no engine's number, the engines keep their queues, and have their numbers back. */
Test(handoff_queues, held_queues_stay_their_engines)
{
	int lock;

	queues[1].engine = tables[1]->me;
	queues[2].engine = tables[2]->me;
	queues[3].engine = tables[3]->me | XIW_QUEUE_OPENING;
	lock = xiw_queues_hold(queues, dir);
	cr_assert_geq(lock, 0);
	cr_expect_eq(queues[1].engine, tables[1]->me | XIW_QUEUE_HELD);
	cr_expect_eq(xiw_queue_engine(tables[0], 1), tables[1]->me);
	cr_expect_eq(xiw_queue_claim(tables[0], 1), -EBUSY);
	xiw_queue_look(tables[1], 1);
	cr_expect_eq(queues[1].engine, tables[1]->me | XIW_QUEUE_HELD, "it is still held");
	xiw_queue_end(tables[2], 2);
	xiw_queues_let_go(queues, lock);
	cr_expect_eq(queues[0].engine, 0);
	cr_expect_eq(queues[1].engine, tables[1]->me);
	cr_expect_eq(queues[2].engine, tables[2]->me | XIW_QUEUE_OPENING, "it is being closed");
	cr_expect_eq(queues[3].engine, tables[3]->me | XIW_QUEUE_OPENING);
}

/* An engine may begin, or serve another queue, while unload holds them. */
Test(handoff_queues, claimed_while_they_are_held)
{
	const int lock = xiw_queues_hold(queues, dir);

	cr_expect_eq(xiw_queue_claim(tables[0], 0), 0);
	cr_expect_eq(xiw_queue_claim(tables[1], 0), -EBUSY);
	cr_expect_eq(queues[0].engine, tables[0]->me | XIW_QUEUE_OPENING | XIW_QUEUE_HELD);
	xiw_queue_release(tables[0], 0);
	cr_expect_eq(xiw_queue_claim(tables[1], 0), 0);
	xiw_queues_let_go(queues, lock);
	cr_expect_eq(queues[0].engine, tables[1]->me | XIW_QUEUE_OPENING);
}

Test(handoff_queues, killed_while_they_are_held)
{
	int lock;

	queues[0].engine = tables[0]->me;
	lock = xiw_queues_hold(queues, dir);
	close(lock); /* as the kernel does it at the end of a process */
	xiw_queue_look(tables[0], 0);
	cr_expect_eq(queues[0].engine, tables[0]->me);
	cr_expect_eq(xiw_queue_claim(tables[1], 1), 0);
	cr_expect_eq(queues[1].engine, tables[1]->me | XIW_QUEUE_OPENING);
}

/* Two unloads, where the lock of the base directory is not to be had: the first one to end lets go for itself only. */
Test(handoff_queues, held_twice)
{
	int first, second;

	queues[0].engine = tables[0]->me;
	first = xiw_queues_hold(queues, dir);
	second = xiw_queues_hold(queues, dir);
	xiw_queues_let_go(queues, first);
	cr_expect_eq(queues[0].engine, tables[0]->me | XIW_QUEUE_HELD);
	xiw_queues_let_go(queues, second);
	cr_expect_eq(queues[0].engine, tables[0]->me);
}

/* As long as a descriptor is open in a child, closing it gives no lock back. */
Test(handoff_queues, let_go_with_a_child)
{
	const int lock = xiw_queues_hold(queues, dir), of_child = dup(lock);

	xiw_queues_let_go(queues, lock);
	cr_expect_not(xiw_locked_at(tables[0]->dir_fd, XIW_QUEUE_HELD));
	close(of_child);
}

/* Nobody can lock a directory that was removed, so an engine cannot know that nobody holds its queue. */
Test(handoff_queues, held_without_a_directory)
{
	queues[0].engine = tables[0]->me;
	rmdir(dir);
	cr_expect_lt(xiw_queues_hold(queues, dir), 0);
	xiw_queue_look(tables[0], 0);
	cr_expect_eq(queues[0].engine, tables[0]->me | XIW_QUEUE_HELD);
	xiw_queues_let_go(queues, -1);
	cr_expect_eq(queues[0].engine, tables[0]->me);
}

Test(handoff_queues, flows_of_living_engines_stay_direct)
{
	uint64_t direct = xiw_owner_pack(1000, 7, XIW_PATH_DIRECT);

	for (uint32_t i = 0; i < 3; i++) {
		flows[i].engine = flows[i].served_by = tables[i]->me;
		flows[i].owner = direct;
		flows[i].kernel_nxt = xiw_kernel_nxt_pack(1000, 7);
	}
	flows[3] = flows[2];
	flows[3].engine = XIW_ABANDONED;
	die(tables[2]);
	xiw_table_take_over(tables[0]);
	cr_expect_eq(flows[0].owner, direct);
	cr_expect_eq(flows[1].owner, direct);
	cr_expect_eq(xiw_owner_path(flows[2].owner), XIW_PATH_KERNEL, "its engine is dead");
	cr_expect_eq(xiw_owner_path(flows[3].owner), XIW_PATH_KERNEL, "it has no engine");
}

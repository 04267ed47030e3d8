// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How many connections of a listener one peer may have. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>

#include "conn/crowd.h"

#define MOST 200

static struct xiw_crowd *crowd;
static struct xiw_crowd_peer *held[MOST];
static unsigned int n;

/* As many as the peer may have; returns how many these are. */
static unsigned int fill(uint64_t key)
{
	unsigned int got = 0;

	while (n < MOST && !xiw_crowd_enter(crowd, key, &held[n]))
		n++, got++;
	return got;
}

static void fini(void)
{
	while (n)
		xiw_crowd_exit(held[--n]);
	xiw_crowd_leave(crowd);
	crowd = NULL;
}

TestSuite(conn_crowd, .fini = fini);

Test(conn_crowd, each_peer_gets_half_of_what_the_others_leave)
{
	crowd = xiw_crowd_new(100);
	cr_expect_eq(fill(1), 50);
	cr_expect_eq(xiw_crowd_enter(crowd, 1, &held[n]), -EDQUOT);
	cr_expect_eq(fill(2), 25);
	cr_expect_eq(fill(3), 12);
	cr_expect_eq(fill(1), 0, "what it had before is its own");
}

/* The capacity alone limits nobody: descriptors do. */
Test(conn_crowd, everybody_may_have_one)
{
	crowd = xiw_crowd_new(4);
	for (uint64_t key = 1; key <= 20; key++)
		cr_expect_eq(xiw_crowd_enter(crowd, key, &held[n++]), 0);
	cr_expect_eq(xiw_crowd_enter(crowd, 7, &held[n]), -EDQUOT);
}

Test(conn_crowd, what_is_given_back_may_be_had_again)
{
	crowd = xiw_crowd_new(8);
	cr_expect_eq(fill(1), 4);
	xiw_crowd_exit(held[--n]);
	cr_expect_eq(fill(1), 1);
	while (n)
		xiw_crowd_exit(held[--n]);
	cr_expect_eq(fill(2), 4, "nobody else has any");
}

/* Any of many, in one chain or not. */
Test(conn_crowd, peers_come_and_go)
{
	crowd = xiw_crowd_new(1000);
	for (uint64_t key = 0; key < MOST; key++)
		cr_assert_eq(xiw_crowd_enter(crowd, key << 32, &held[n++]), 0);
	for (unsigned int i = 0; i < MOST; i += 3) {
		xiw_crowd_exit(held[i]);
		cr_assert_eq(xiw_crowd_enter(crowd, 5, &held[i]), 0);
	}
	for (unsigned int i = 1; i < MOST; i += 3) {
		xiw_crowd_exit(held[i]);
		held[i] = NULL;
	}
}

/* The listener may be freed first, and several listeners may share one. */
Test(conn_crowd, it_lives_as_long_as_it_is_needed)
{
	struct xiw_crowd *other;

	crowd = xiw_crowd_new(4);
	other = xiw_crowd_share(crowd);
	cr_expect_eq(other, crowd);
	xiw_crowd_leave(other);
	cr_expect_eq(fill(1), 2);
	xiw_crowd_leave(crowd);
	crowd = NULL;
	while (n)
		xiw_crowd_exit(held[--n]);
	xiw_crowd_exit(NULL);
	cr_expect_null(xiw_crowd_share(NULL));
}

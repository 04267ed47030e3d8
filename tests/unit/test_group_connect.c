// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connects of a group whose engine ends: each one arrives once, wherever it was when the engine ended. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <xiwarp/xiwarp.h>

#include "core/engine.h"

#define CONNECTS 4u

static struct xiw_group *g;
static struct xiw_engine *first, *second;
static int listener;
static unsigned int arrived[CONNECTS];

/* The engines take turns, so that half of the connects are those of the first one. */
static void set_up(void)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	struct xiw_group_opts go = { .size = sizeof(go), .engines = 2, .engine = &eo };
	struct xiw_conn_opts co = { .size = sizeof(co) };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(!bind(listener, (struct sockaddr *)&addr, len) && !listen(listener, 16));
	cr_assert(!getsockname(listener, (struct sockaddr *)&addr, &len));
	cr_assert(!xiw_group_create(&go, &g));
	first = xiw_group_engine(g, 0);
	second = xiw_group_engine(g, 1);
	for (co.user_data = 0; co.user_data < CONNECTS; co.user_data++)
		cr_assert(!xiw_group_connect(g, (struct sockaddr *)&addr, len, &co));
}

static void tear_down(void)
{
	cr_expect(!xiw_group_destroy(g));
	close(listener);
}

TestSuite(group_connect, .init = set_up, .fini = tear_down, .timeout = 60);

static void take_events(void)
{
	struct xiw_completion c;

	while (xiw_engine_next(second, &c)) {
		cr_assert(c.user_data < CONNECTS);
		cr_assert_eq(c.event, XIW_EV_ARRIVED);
		arrived[c.user_data]++;
		xiw_conn_free(c.conn);
	}
}

static void all_arrive(void)
{
	unsigned int n = 0;

	cr_assert(!xiw_engine_destroy(first));
	while (n < CONNECTS) {
		cr_assert(xiw_engine_run(second, 100) >= 0);
		take_events();
		n = 0;
		for (unsigned int i = 0; i < CONNECTS; i++)
			n += arrived[i];
	}
	for (unsigned int i = 0; i < CONNECTS; i++)
		cr_expect_eq(arrived[i], 1, "connect %u: %u times", i, arrived[i]);
}

Test(group_connect, not_begun)
{
	all_arrive();
}

Test(group_connect, under_way)
{
	/* A turn begins them, and the next one would take what the kernel says of them. */
	cr_assert(xiw_engine_run(first, 0) >= 0);
	cr_expect_eq(first->nconns, CONNECTS / 2);
	all_arrive();
}

static void *turn(void *engine)
{
	cr_assert(xiw_engine_run(engine, 0) >= 0);
	return NULL;
}

/* The kernel ends what the thread has asked for. */
Test(group_connect, under_way_in_a_thread_that_ends)
{
	pthread_t thread;

	cr_assert(!pthread_create(&thread, NULL, turn, first));
	cr_assert(!pthread_join(thread, NULL));
	cr_expect_eq(first->nconns, CONNECTS / 2);
	all_arrive();
}

Test(group_connect, open_but_not_passed_on)
{
	do
		cr_assert(xiw_engine_run(first, 100) >= 0);
	while (first->conns && first->conns->startup.dial);
	cr_expect(first->inbox.word & ~7ull, "a note waits");
	all_arrive();
}

static int destroyed_too_early;

static void *destroy_group(void *unused)
{
	(void)unused;
	destroyed_too_early = xiw_group_destroy(g);
	return NULL;
}

/* Another thread finds that all engines have left the group, though the last one still gives up its connects. */
static void while_leaving(struct xiw_engine *e, struct xiw_call *call, int status)
{
	pthread_t thread;

	(void)call;
	cr_expect(e == first && status == -ECANCELED);
	cr_assert(!pthread_create(&thread, NULL, destroy_group, NULL));
	cr_assert(!pthread_join(thread, NULL));
}

Test(group_connect, the_group_outlives_an_engine_that_leaves)
{
	struct xiw_call call = { .run = while_leaving };

	cr_assert(!xiw_engine_call(first, &call));
	cr_assert(!xiw_engine_destroy(second)); /* its connects come behind the call */
	cr_assert(!xiw_engine_destroy(first));
	cr_expect_eq(destroyed_too_early, -EEXIST);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The queues of an accepted connection are those that its application gives it, if it does so in time. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"

static struct xiw_engine *e;
static struct xiw_listener *listener;
static struct xiw_conn *initiator, *c;

/* A connection whose application decides. */
static void setup(void)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct xiw_completion done = {};
	struct sockaddr_storage bound;
	socklen_t len;

	cr_assert_eq(xiw_engine_create(&eo, &e), 0);
	cr_assert_eq(xiw_listen(e, (struct sockaddr *)&addr, sizeof(addr), &o, &listener), 0);
	cr_assert_eq(xiw_listener_addr(listener, &bound, &len), 0);
	cr_assert_eq(xiw_connect(e, (struct sockaddr *)&bound, len, &o, &initiator), 0);
	while (!xiw_engine_next(e, &done) || done.event != XIW_EV_REQUEST)
		cr_assert_geq(xiw_engine_run(e, 10), 0);
	c = done.conn;
}

static void teardown(void)
{
	xiw_conn_free(initiator);
	xiw_conn_free(c);
	xiw_listener_free(listener);
	cr_assert_eq(xiw_engine_destroy(e), 0);
}

TestSuite(conn_queues, .init = setup, .fini = teardown, .timeout = 60);

static unsigned int room(void)
{
	uint8_t octet;
	unsigned int n = 0;

	while (!xiw_conn_post_recv(c, 0, &octet, 1, 0))
		n++;
	return n;
}

Test(conn_queues, fewer)
{
	cr_assert_eq(xiw_conn_set_queues(c, 3, 2, 7), 0);
	cr_expect_eq(room(), 3);
}

Test(conn_queues, more)
{
	cr_assert_eq(xiw_conn_set_queues(c, 1000, 2, 7), 0);
	cr_expect_eq(room(), 1000);
}

Test(conn_queues, refused)
{
	cr_expect_eq(xiw_conn_set_queues(c, 0, 2, 7), -EINVAL);
	cr_expect_eq(xiw_conn_set_queues(c, 2, 0, 7), -EINVAL);
	cr_expect_eq(xiw_conn_set_queues(c, XIW_QUEUE_DEPTH_MAX + 1, 2, 7), -EINVAL);
	cr_expect_eq(xiw_conn_set_queues(c, 2, XIW_QUEUE_DEPTH_MAX + 1, 7), -EINVAL);
	cr_expect_eq(xiw_conn_set_queues(initiator, 2, 2, 7), -ENOTCONN);
	cr_expect_eq(room(), 64);
}

/* More may be posted than the new depth has room for. */
Test(conn_queues, after_a_buffer)
{
	uint8_t octet;

	cr_assert_eq(xiw_conn_post_recv(c, 2, &octet, 1, 0), 0);
	cr_expect_eq(xiw_conn_set_queues(c, 1, 2, 7), -ENOTCONN);
	cr_expect_eq(room(), 64);
}

Test(conn_queues, after_the_answer)
{
	cr_assert_eq(xiw_conn_accept(c, NULL, 0), 0);
	cr_expect_eq(xiw_conn_set_queues(c, 2, 2, 7), -ENOTCONN);
}

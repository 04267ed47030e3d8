// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An RDMAP Stream is made of a connection as a whole or not at all, wherever the memory budget ends. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"
#include "core/srq.h"
#include "rdmap/wire.h"

#define STEP 8u

static struct xiw_engine *e;
static struct xiw_conn *c;
static struct xiw_srq *srq;
static int listener;

static void setup(void)
{
	const struct xiw_engine_opts eo = { .size = sizeof(eo), .path = XIW_USE_KERNEL };
	const struct xiw_conn_opts o = { .size = sizeof(o) };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(bind(listener, (struct sockaddr *)&addr, len), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
	cr_assert_eq(xiw_engine_create(&eo, &e), 0);
	cr_assert_eq(xiw_connect(e, (struct sockaddr *)&addr, sizeof(addr), &o, &c), 0);
}

static void teardown(void)
{
	cr_assert_eq(xiw_engine_destroy(e), 0);
	xiw_conn_free(c);
	cr_assert_eq(xiw_srq_free(srq), 0);
	close(listener);
}

TestSuite(ulp_attach, .init = setup, .fini = teardown);

/* A full queue would refuse a buffer of the stream's own, when others are posted already. */
Test(ulp_attach, where_the_application_has_posted)
{
	struct xiw_rdma *r;
	uint8_t octets[64];

	c->ddp->depth = 1;
	cr_assert_eq(xiw_conn_post_recv(c, XIW_RDMAP_QN_TERMINATE, octets, sizeof(octets), 0), 0);
	cr_expect_eq(xiw_rdma_attach(c, NULL, &r), -EINVAL);
	cr_expect_null(c->ulp);
	cr_expect_eq(c->ddp->queues[XIW_RDMAP_QN_READ].count, 0);
}

/* Attaches with ever more memory. Returns how often that failed. */
static unsigned int attach(const struct xiw_rdma_opts *o)
{
	const uint64_t limit = e->budget.limit;
	unsigned int failed = 0;
	struct xiw_rdma *r;
	int err;

	for (;;) {
		e->budget.limit = e->budget.used + STEP * failed;
		err = xiw_rdma_attach(c, o, &r);
		if (!err)
			break;
		cr_assert_eq(err, -ENOMEM);
		cr_assert_null(c->ulp);
		cr_assert_eq(c->opts.queues, XIW_RDMAP_QUEUES);
		cr_assert_eq(c->ddp->nqueues, XIW_RDMAP_QUEUES);
		cr_assert_eq(c->send.ddp.nqueues, XIW_RDMAP_QUEUES);
		for (uint32_t i = 0; i < XIW_RDMAP_QUEUES; i++)
			cr_assert_eq(c->ddp->queues[i].count, 0);
		cr_assert_null(c->uses.share.srq);
		failed++;
	}
	e->budget.limit = limit;
	return failed;
}

/* What the failures left is no more than what the success needs. */
Test(ulp_attach, without_memory)
{
	const struct xiw_rdma_opts o = { .size = sizeof(o) };
	const uint64_t used = e->budget.used;

	cr_expect_gt(attach(&o), 10);
	cr_expect_lt(e->budget.used - used, 1200);
}

Test(ulp_attach, extended_without_memory)
{
	const struct xiw_rdma_opts o = { .size = sizeof(o), .extended = 1, .send_depth = 4 };

	cr_expect_gt(attach(&o), 10);
	cr_expect_eq(c->opts.queues, XIW_RDMAP_QUEUES + 1);
	cr_expect_eq(c->ddp->nqueues, XIW_RDMAP_QUEUES + 1);
	cr_expect_eq(c->send.ddp.nqueues, XIW_RDMAP_QUEUES + 1);
}

Test(ulp_attach, shared_without_memory)
{
	struct xiw_rdma_opts o = { .size = sizeof(o), .extended = 1, .srq_max = 9 };
	uint64_t before;

	cr_assert_eq(xiw_srq_create(e, NULL, &srq), 0);
	o.srq = srq;
	before = c->memory;
	cr_expect_gt(attach(&o), 10);
	cr_expect_eq(c->uses.share.srq, srq);
	/* The stream, its pointers to blocks, the rooms of RFC 7306, and the queues. */
	cr_expect_lt(c->memory - before, 6000);
	cr_assert_eq(xiw_srq_free(srq), -EBUSY);
}

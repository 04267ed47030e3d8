// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The application's io_uring, to which the engine announces completions: no doorbell is lost silently. That takes an
 * engine whose own ring is an io_uring; others say that they cannot. Then the buffers that sockets are received into.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "core/ring.h"

TestSuite(core_ring);

static int create(int fd, unsigned int flags, struct xiw_engine **e)
{
	const struct xiw_engine_opts o = {
		.size = sizeof(o), .app_ring_fd = fd, .path = XIW_USE_KERNEL, .flags = flags
	};

	return xiw_engine_create(&o, e);
}

/*
 * Makes a ring of the application's, and asks for engines that can announce something in it. False: there is no
 * io_uring here, so that nobody can make such a thing.
 */
static bool ring_of_mine(struct io_uring *ring, unsigned int flags)
{
	int err = io_uring_queue_init(8, ring, flags);
	struct xiw_engine *e;

	setenv("XIWARP_RING", "io_uring", 1);
	if (!err)
		return true;
	cr_expect(err == -EPERM || err == -EACCES || err == -ENOSYS || err == -EINVAL, "%d", err);
	cr_expect_eq(create(-1, 0, &e), err);
	return false;
}

/* Makes two completions: refused, closed. */
static void fail_to_connect(struct xiw_engine *e)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(1) };
	const struct xiw_conn_opts o = { .size = sizeof(o), .user_data = 7 };
	struct xiw_conn *c;

	cr_assert_eq(xiw_connect(e, (struct sockaddr *)&to, sizeof(to), &o, &c), 0);
}

/* Runs until the engine has `n` completions and knows the results of their doorbells. Returns the last error. */
static int run(struct xiw_engine *e, int n)
{
	int err = 0, got;

	for (int i = 0; i < 2000; i++) {
		got = xiw_engine_run(e, 1);
		err = got < 0 ? got : err;
		if (got == n && i > 3)
			break;
		usleep(got == n ? 0 : 100);
	}
	return err;
}

static unsigned int cqes(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	unsigned int n = 0;

	while (!io_uring_peek_cqe(ring, &cqe)) {
		cr_expect(cqe->user_data == 7 && cqe->res == -ECONNREFUSED);
		io_uring_cqe_seen(ring, cqe);
		n++;
	}
	return n;
}

static int queued(struct xiw_engine *e)
{
	struct xiw_completion c;
	int n = 0;

	for (; xiw_engine_next(e, &c); n++)
		if (c.event == XIW_EV_CLOSED)
			xiw_conn_free(c.conn);
	return n;
}

/* Zeroed options ask for no ring, whatever descriptor 0 is. A descriptor without the flag is an error. */
Test(core_ring, none)
{
	struct xiw_engine *e;

	cr_assert_eq(create(0, 0, &e), 0);
	fail_to_connect(e);
	cr_expect_eq(run(e, 2), 0);
	cr_expect_eq(queued(e), 2);
	cr_expect_eq(xiw_engine_doorbells_lost(e), 0);
	xiw_engine_destroy(e);
	cr_assert_eq(create(-1, 0, &e), 0);
	xiw_engine_destroy(e);
	cr_expect_eq(create(5, 0, &e), -EINVAL);
}

Test(core_ring, not_a_ring)
{
	int null = open("/dev/null", O_RDWR);
	struct xiw_engine *e;
	struct io_uring ring;

	if (!ring_of_mine(&ring, 0))
		return;
	io_uring_queue_exit(&ring);
	cr_expect_eq(create(null, XIW_ENGINE_APP_RING, &e), -EBADF);
	cr_expect_eq(create(999, XIW_ENGINE_APP_RING, &e), -EBADF);
	cr_expect_eq(create(-1, XIW_ENGINE_APP_RING, &e), -EBADF);
	close(null);
}

/* Without an io_uring of its own the engine can announce nothing, and says so, whatever the descriptor is. */
Test(core_ring, announced_by_no_other_ring)
{
	const struct xiw_cq_opts o = { .size = sizeof(o), .flags = XIW_CQ_APP_RING };
	struct io_uring ring = { .ring_fd = 0 };
	struct xiw_engine *e;
	struct xiw_cq *q;

	if (ring_of_mine(&ring, 0))
		cr_expect(xiw_ring_is_one(ring.ring_fd));
	else
		cr_expect(!xiw_ring_is_one(0) && !xiw_ring_is_one(ring.ring_fd));
	setenv("XIWARP_RING", "epoll", 1);
	cr_expect_eq(create(ring.ring_fd, XIW_ENGINE_APP_RING, &e), -EOPNOTSUPP);
	cr_expect_eq(create(999, XIW_ENGINE_APP_RING, &e), -EOPNOTSUPP);
	cr_assert_eq(create(-1, 0, &e), 0);
	cr_expect_eq(xiw_cq_create(e, &o, &q), -EOPNOTSUPP);
	xiw_engine_destroy(e);
}

/* The ring may be descriptor 0. */
Test(core_ring, announced)
{
	struct xiw_engine *e;
	struct io_uring ring;

	if (!ring_of_mine(&ring, 0))
		return;
	cr_assert_eq(dup2(ring.ring_fd, 0), 0);
	for (int fd = 0; fd <= ring.ring_fd; fd += ring.ring_fd) {
		cr_assert_eq(create(fd, XIW_ENGINE_APP_RING, &e), 0);
		fail_to_connect(e);
		cr_expect_eq(run(e, 2), 0);
		cr_expect_eq(cqes(&ring), 2);
		cr_expect_eq(queued(e), 2);
		cr_expect_eq(xiw_engine_doorbells_lost(e), 0);
		xiw_engine_destroy(e);
	}
	io_uring_queue_exit(&ring);
}

/* A ring that is enabled later is told from then on. Earlier results go to the engine's thread. */
Test(core_ring, disabled)
{
	struct xiw_engine *e;
	struct io_uring ring;

	if (!ring_of_mine(&ring, IORING_SETUP_R_DISABLED))
		return;
	cr_assert_eq(create(ring.ring_fd, XIW_ENGINE_APP_RING, &e), 0);
	fail_to_connect(e);
	cr_expect_eq(run(e, 2), -EBADFD);
	cr_expect_eq(xiw_engine_doorbells_lost(e), 2);
	cr_expect_eq(queued(e), 2);
	cr_assert_eq(syscall(__NR_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS,
			     NULL, 0),
		     0);
	fail_to_connect(e);
	cr_expect_eq(run(e, 2), 0);
	cr_expect_eq(xiw_engine_doorbells_lost(e), 2);
	cr_expect_eq(cqes(&ring), 2);
	cr_expect_eq(queued(e), 2);
	xiw_engine_destroy(e);
	io_uring_queue_exit(&ring);
}

Test(core_ring, closed)
{
	struct xiw_engine *e;
	struct io_uring ring;

	if (!ring_of_mine(&ring, 0))
		return;
	cr_assert_eq(create(ring.ring_fd, XIW_ENGINE_APP_RING, &e), 0);
	io_uring_queue_exit(&ring);
	fail_to_connect(e);
	cr_expect_eq(run(e, 2), -EBADF);
	cr_expect_eq(queued(e), 2);
	xiw_engine_destroy(e);
}

/* What the kernel has done, as far as this test can do it: it has filled the buffer that it got first. */
static void fill_buffers(struct xiw_engine *e, uint32_t n)
{
	while (n--)
		xiw_buf_taken(e);
}

static uint16_t offered_last(struct xiw_engine *e)
{
	const uint16_t tail = *(volatile uint16_t *)&e->io.bufs->tail;

	return e->io.bufs->bufs[(uint16_t)(tail - 1) % XIW_BUFS].bid;
}

/* The kernel has a few buffers, the one that was used last before others, and more as there are more connections. */
Test(core_ring, few_buffers_are_offered)
{
	struct xiw_engine *e;

	cr_assert_eq(create(-1, 0, &e), 0);
	cr_expect_eq(e->io.bufs_in, XIW_BUFS_OFFERED);
	for (uint16_t bid = 0; bid < 3; bid++) {
		fill_buffers(e, 1);
		xiw_buf_return(e, bid);
		cr_expect_eq(offered_last(e), bid);
	}
	cr_expect_eq(e->io.bufs_in, XIW_BUFS_OFFERED);
	/* Those that are in use for long are made good for, as long as there are others. */
	for (uint32_t out = 0; out < XIW_BUFS; out += XIW_BUFS_OFFERED) {
		cr_expect_eq(xiw_bufs_offer(e), XIW_BUFS_OFFERED);
		fill_buffers(e, XIW_BUFS_OFFERED);
	}
	cr_expect_eq(e->io.bufs_out, XIW_BUFS);
	cr_expect_eq(xiw_bufs_offer(e), 0);
	e->nconns = XIW_BUFS;
	for (uint16_t bid = 0; bid < XIW_BUFS; bid++) {
		xiw_buf_return(e, bid);
		cr_expect_eq(e->io.bufs_in, bid + 1u);
	}
	cr_expect_eq(e->io.bufs_out, 0);
	cr_expect_eq(xiw_bufs_offer(e), XIW_BUFS);
	e->nconns = 0;
	cr_assert_eq(xiw_engine_destroy(e), 0);
}

/* The kernel has all buffers while a receive has lately got none, and few again when they have been used. */
Test(core_ring, all_buffers_are_offered)
{
	struct xiw_engine *e;
	uint64_t began;

	cr_assert_eq(create(-1, 0, &e), 0);
	began = e->now_ms;
	xiw_bufs_offer_all(e);
	cr_expect_eq(xiw_bufs_offer(e), XIW_BUFS);
	fill_buffers(e, XIW_BUFS);
	e->now_ms = began + 60000;
	for (uint16_t bid = 0; bid < XIW_BUFS; bid++)
		xiw_buf_return(e, bid);
	cr_expect_eq(e->io.bufs_in, XIW_BUFS_OFFERED);
	cr_assert_eq(xiw_engine_destroy(e), 0);
}

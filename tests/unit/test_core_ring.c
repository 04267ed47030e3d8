// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The application's io_uring, to which the engine announces completions: no doorbell is lost silently. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

TestSuite(core_ring);

static int create(int fd, unsigned int flags, struct xiw_engine **e)
{
	const struct xiw_engine_opts o = {
		.size = sizeof(o), .app_ring_fd = fd, .path = XIW_USE_KERNEL, .flags = flags
	};

	return xiw_engine_create(&o, e);
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

	cr_expect_eq(create(null, XIW_ENGINE_APP_RING, &e), -EBADF);
	cr_expect_eq(create(999, XIW_ENGINE_APP_RING, &e), -EBADF);
	cr_expect_eq(create(-1, XIW_ENGINE_APP_RING, &e), -EBADF);
	close(null);
}

/* The ring may be descriptor 0. */
Test(core_ring, announced)
{
	struct xiw_engine *e;
	struct io_uring ring;

	cr_assert_eq(io_uring_queue_init(8, &ring, 0), 0);
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

	cr_assert_eq(io_uring_queue_init(8, &ring, IORING_SETUP_R_DISABLED), 0);
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

	cr_assert_eq(io_uring_queue_init(8, &ring, 0), 0);
	cr_assert_eq(create(ring.ring_fd, XIW_ENGINE_APP_RING, &e), 0);
	io_uring_queue_exit(&ring);
	fail_to_connect(e);
	cr_expect_eq(run(e, 2), -EBADF);
	cr_expect_eq(queued(e), 2);
	xiw_engine_destroy(e);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ring as the kernel's io_uring. With SINGLE_ISSUER it serves one thread, the one that enables it. It is created
 * disabled, so that this is the thread that runs the engine first, not the one that creates it.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/ring.h"
#include "core/ring_ops.h"

static int io_register(int fd, unsigned int what)
{
	return syscall(__NR_io_uring_register, fd, what, NULL, 0) < 0 ? -errno : 0;
}

/*
 * A seccomp profile may allow one of the three calls and forbid another. If both are allowed, the ring refuses these
 * requests itself: one is without its argument, and no ring that is disabled is entered.
 */
static int probe(const struct io_uring *ring, const char **call)
{
	int err = io_register(ring->ring_fd, IORING_REGISTER_PROBE);

	*call = "io_uring_register";
	if (xiw_ring_forbidden(err))
		return err;
	*call = "io_uring_enter";
	err = io_uring_enter((unsigned int)ring->ring_fd, 0, 0, 0, NULL);
	return xiw_ring_forbidden(err) ? err : 0;
}

static int create(struct xiw_engine *e, const char **call)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED |
			 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE |
			 IORING_SETUP_TASKRUN_FLAG,
		.cq_entries = XIW_CQ_ENTRIES,
	};

	int err;

	*call = "io_uring_setup";
	err = io_uring_queue_init_params(XIW_SQ_ENTRIES, &e->io.ring, &p);
	if (err)
		return err;
	err = probe(&e->io.ring, call);
	if (err)
		io_uring_queue_exit(&e->io.ring);
	return err;
}

static int use_bufs(struct xiw_engine *e)
{
	struct io_uring_buf_reg reg = { .ring_addr = (uintptr_t)e->io.bufs,
					.ring_entries = XIW_BUFS,
					.bgid = XIW_BUF_GROUP };

	return io_uring_register_buf_ring(&e->io.ring, &reg, 0);
}

static int enable(struct xiw_engine *e)
{
	/* As io_uring_enable_rings(), which liburing.so has only from 2.4 on. */
	int err = io_register(e->io.ring.ring_fd, IORING_REGISTER_ENABLE_RINGS);

	/* A child must not inherit the mappings: they would keep the ring alive after this process has ended. */
	if (!err)
		io_uring_ring_dontfork(&e->io.ring);
	return err;
}

static int submit(struct xiw_engine *e)
{
	return io_uring_submit(&e->io.ring);
}

static int submit_and_get(struct xiw_engine *e)
{
	return io_uring_submit_and_get_events(&e->io.ring);
}

static int submit_and_wait(struct xiw_engine *e, struct __kernel_timespec *ts)
{
	struct io_uring_cqe *cqe;

	return io_uring_submit_and_wait_timeout(&e->io.ring, &cqe, 1, ts, NULL);
}

static int wait_only(struct xiw_engine *e, struct __kernel_timespec *ts)
{
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)ts };
	int rc = io_uring_enter2((unsigned int)e->io.ring.ring_fd, 0, 1,
				 IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, (void *)&arg,
				 sizeof(arg));

	return rc < 0 ? rc : 0;
}

static int announce(struct xiw_engine *e, int fd)
{
	int err = io_uring_register_eventfd(&e->io.ring, fd);

	return err ? err : fd;
}

static void shut(struct xiw_engine *e)
{
	close(e->io.ring.ring_fd);
	e->io.ring.ring_fd = -1;
}

static void end(struct xiw_engine *e)
{
	io_uring_queue_exit(&e->io.ring);
}

const struct xiw_ring_ops xiw_uring_ops = {
	.name = "io_uring",
	.app_rings = true,
	.create = create,
	.use_bufs = use_bufs,
	.enable = enable,
	.submit = submit,
	.submit_and_get = submit_and_get,
	.submit_and_wait = submit_and_wait,
	.wait = wait_only,
	.announce = announce,
	.shut = shut,
	.free = end,
};

/*
 * The kernel looks at the request, and refuses it otherwise than with these two errors, only if the file is an
 * io_uring. The ring may serve another thread or be disabled. Where the call is forbidden, nothing is known.
 */
bool xiw_ring_is_one(int fd)
{
	int err = fd < 0 ? -EBADF : io_register(fd, IORING_REGISTER_PROBE);

	return err != -EBADF && err != -EOPNOTSUPP && !xiw_ring_forbidden(err);
}

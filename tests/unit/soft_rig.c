// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "soft_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

struct xiw_engine *e;
bool io_uring;
int at[2];
struct io_uring_cqe got[MOST];
unsigned int ngot;
uint8_t octets[4 << 20];

/* ---- the rig -------------------------------------------------------------------------------------------- */

int make_engine(const char *ring, struct xiw_engine **engine)
{
	const struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };
	int err;

	setenv("XIWARP_RING", ring, 1);
	err = xiw_engine_create(&o, engine);
	unsetenv("XIWARP_RING");
	return err;
}

int listening(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert(!bind(fd, (struct sockaddr *)addr, sizeof(*addr)) && !listen(fd, 16));
	cr_assert_eq(getsockname(fd, (struct sockaddr *)addr, &len), 0);
	return fd;
}

void connect_both(void)
{
	struct sockaddr_in addr;
	int l = listening(&addr);

	at[1] = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(at[1], (struct sockaddr *)&addr, sizeof(addr)), 0);
	at[0] = accept(l, NULL, NULL);
	cr_assert_geq(at[0], 0);
	close(l);
}

void reset(int fd)
{
	const struct linger l = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

void forget_close(int fd)
{
	xiw_ring_forget(e, fd);
	close(fd);
}

void take(unsigned int n, int ms)
{
	for (int i = 0; i < 1000 && ngot < n; i++) {
		struct __kernel_timespec ts = { ms / 1000, ms % 1000 * 1000000ll };
		int err = xiw_ring_submit_and_wait(e, &ts);
		struct io_uring_cqe *cqe;
		unsigned int head, seen = 0;

		io_uring_for_each_cqe(&e->io.ring, head, cqe)
		{
			cr_assert_lt(ngot, MOST);
			got[ngot++] = *cqe;
			seen++;
		}
		io_uring_cq_advance(&e->io.ring, seen);
		if (err == -ETIME)
			return;
		cr_assert(err >= 0 || err == -EINTR || err == -EBUSY || err == -EAGAIN, "%s",
			  strerror(-err));
	}
}

void expect(const struct expected *x, unsigned int n, int line)
{
	take(n, WAIT_MS);
	take(n + 1, QUIET_MS);
	for (unsigned int i = 1; i < ngot; i++)
		for (unsigned int k = i; k && got[k - 1].user_data > got[k].user_data; k--) {
			const struct io_uring_cqe later = got[k - 1];

			got[k - 1] = got[k];
			got[k] = later;
		}
	cr_assert_eq(ngot, n, "line %d: %u completions, not %u; the first has %d", line, ngot, n,
		     got[0].res);
	for (unsigned int i = 0; i < n; i++)
		cr_assert(got[i].user_data == x[i].what && got[i].res == x[i].res &&
				  !!(got[i].flags & IORING_CQE_F_MORE) == x[i].more,
			  "line %d: completion %u is of %llu and has %d and flags %x", line, i,
			  (unsigned long long)got[i].user_data, got[i].res, got[i].flags);
	ngot = 0;
}

struct io_uring_sqe *request(uint64_t what)
{
	struct io_uring_sqe *sqe = xiw_sqe(e, NULL, 0);

	sqe->user_data = what;
	return sqe;
}

void cancel(uint64_t what, uint64_t of)
{
	io_uring_prep_cancel64(request(what), of, 0);
}

void receive_on(uint64_t what)
{
	struct io_uring_sqe *sqe = request(what);

	io_uring_prep_recv_multishot(sqe, at[0], NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = XIW_BUF_GROUP;
}

void both(void (*test)(void))
{
	static const char *const rings[] = { "epoll", "io_uring" };

	for (unsigned int i = 0; i < 2; i++) {
		int err = make_engine(rings[i], &e);

		if (i && (err == -EPERM || err == -ENOSYS || err == -EACCES || err == -EINVAL)) {
			struct io_uring ring;

			cr_expect_lt(io_uring_queue_init(8, &ring, 0), 0);
			return;
		}
		io_uring = i;
		cr_assert_eq(err, 0, "%s: %s", rings[i], strerror(-err));
		cr_assert_eq(!e->io.soft, io_uring);
		cr_assert_eq(xiw_ring_run(e), 0);
		ngot = 0;
		connect_both();
		test();
		xiw_ring_forget(e, at[0]);
		close(at[0]);
		close(at[1]);
		xiw_engine_destroy(e);
	}
}

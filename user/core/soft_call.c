// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The system calls by which a ring in plain memory carries out requests. None of them blocks, and none is a place where
 * a thread is cancelled: the thread that runs the engine would take the engine's locks along.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/soft.h"

#define BUFFERS 4 /* that one call fills */

_Static_assert(BUFFERS <= XIW_SOFT_BURST, "a receive makes too many completions");

void xiw_soft_post(struct xiw_soft *s, uint64_t user_data, int res, uint32_t flags)
{
	struct io_uring_cq *cq = &s->ring->cq;
	const unsigned int tail = *cq->ktail;

	cq->cqes[tail & cq->ring_mask] =
		(struct io_uring_cqe){ .user_data = user_data, .res = res, .flags = flags };
	__atomic_store_n(cq->ktail, tail + 1, __ATOMIC_RELEASE);
	s->posted = true;
}

/* Returns what the call returns, or an error. -EAGAIN: it would have blocked. */
#define CALL(...)                                                                                  \
	({                                                                                         \
		long rc_;                                                                          \
                                                                                                   \
		do                                                                                 \
			rc_ = syscall(__VA_ARGS__);                                                \
		while (rc_ < 0 && errno == EINTR);                                                 \
		(int)(rc_ < 0 ? -errno : rc_);                                                     \
	})

void xiw_soft_end(struct xiw_soft *s, const struct xiw_soft_op *op, int res)
{
	xiw_soft_post(s, op->user_data, res < 0 && op->done ? (int)op->done : res, 0);
}

static bool ended(struct xiw_soft *s, const struct xiw_soft_op *op, int res)
{
	xiw_soft_end(s, op, res);
	return true;
}

/* As io_uring, it goes on after a short write only with MSG_WAITALL. */
bool xiw_soft_send(struct xiw_soft *s, struct xiw_soft_op *op)
{
	do {
		int n = CALL(__NR_sendto, op->fd, op->addr + op->done, (size_t)(op->len - op->done),
			     op->flags | MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

		if (n == -EAGAIN && !(op->flags & MSG_DONTWAIT)) {
			op->events = EPOLLOUT;
			return false;
		}
		if (n < 0)
			return ended(s, op, n);
		op->done += (uint32_t)n;
	} while (op->flags & MSG_WAITALL && op->done < op->len);
	return ended(s, op, (int)op->done);
}

static bool receive(struct xiw_soft *s, struct xiw_soft_op *op)
{
	int n = CALL(__NR_recvfrom, op->fd, op->addr, (size_t)op->len, op->flags | MSG_DONTWAIT,
		     NULL, NULL);

	return n == -EAGAIN ? false : ended(s, op, n);
}

/* Fills provided buffers in the order in which they were given. */
static bool receive_on(struct xiw_soft *s, struct xiw_soft_op *op)
{
	const uint16_t left =
		(uint16_t)(__atomic_load_n(&s->bufs->tail, __ATOMIC_ACQUIRE) - s->buf_head);
	struct iovec v[BUFFERS];
	struct msghdr m = { .msg_iov = v };
	int n;

	if (!left)
		return ended(s, op, -ENOBUFS);
	for (; m.msg_iovlen < BUFFERS && m.msg_iovlen < left; m.msg_iovlen++) {
		const struct io_uring_buf *b =
			&s->bufs->bufs[(s->buf_head + m.msg_iovlen) % XIW_BUFS];

		v[m.msg_iovlen] = (struct iovec){ (void *)(uintptr_t)b->addr, b->len };
	}
	n = CALL(__NR_recvmsg, op->fd, &m, op->flags | MSG_DONTWAIT);
	if (n == -EAGAIN)
		return false;
	if (n <= 0)
		return ended(s, op, n);
	while (n > 0) {
		const struct io_uring_buf *b = &s->bufs->bufs[s->buf_head++ % XIW_BUFS];
		const int part = n < (int)b->len ? n : (int)b->len;

		xiw_soft_post(s, op->user_data, part,
			      IORING_CQE_F_MORE | IORING_CQE_F_BUFFER |
				      (uint32_t)b->bid << IORING_CQE_BUFFER_SHIFT);
		n -= part;
	}
	return false;
}

bool xiw_soft_accept(struct xiw_soft *s, struct xiw_soft_op *op)
{
	op->events = EPOLLIN;
	for (uint32_t i = 0; i < XIW_SOFT_BURST; i++) {
		int fd = CALL(__NR_accept4, op->fd, NULL, NULL, op->flags);

		if (fd == -EAGAIN)
			return false;
		if (fd < 0 || !op->multishot)
			return ended(s, op, fd);
		xiw_soft_post(s, op->user_data, fd, IORING_CQE_F_MORE);
	}
	return false; /* epoll reports the others */
}

static bool polled(struct xiw_soft *s, const struct xiw_soft_op *op, uint32_t events)
{
	const int res = (int)(events & ((op->events & ~EPOLLET) | EPOLLERR | EPOLLHUP));

	if (!op->multishot)
		return ended(s, op, res);
	xiw_soft_post(s, op->user_data, res, IORING_CQE_F_MORE);
	return false;
}

bool xiw_soft_act(struct xiw_soft *s, struct xiw_soft_op *op, uint32_t events)
{
	switch (op->opcode) {
	case IORING_OP_SEND:
		return xiw_soft_send(s, op);
	case IORING_OP_RECV:
		return op->multishot ? receive_on(s, op) : receive(s, op);
	case IORING_OP_ACCEPT:
		return xiw_soft_accept(s, op);
	default:
		return polled(s, op, events);
	}
}

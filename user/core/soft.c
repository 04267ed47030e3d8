// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The ring in plain memory: `struct io_uring` is laid over memory of this process, and this file does what the kernel
 * does for a ring. Requests are carried out in the order in which they were made, a send thus before what follows it.
 * Nothing overflows: a request is taken, and an event is fetched, only if there is room for what it can complete.
 *
 * The flag by which the kernel says that it has work is always set: whoever reads it asks epoll.
 */
#include "core/soft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/ring_ops.h"

#define EVENTS 64u
#define ROOM 128u     /* for completions, or no request is taken */
#define ASK_NS 20000u /* a busy engine asks epoll no more often */

/*
 * A mapping that the child of a fork() shares until somebody runs the engine, as it does io_uring's: `taken` says to
 * both that somebody does.
 */
struct xiw_soft_memory {
	unsigned int sq_head, sq_tail, sq_flags, sq_dropped, cq_head, cq_tail, cq_flags,
		cq_overflow;
	uint32_t taken;
	struct io_uring_cqe cqes[XIW_CQ_ENTRIES] __attribute__((aligned(64)));
	struct io_uring_sqe sqes[XIW_SQ_ENTRIES];
};

/* ---- completions ---------------------------------------------------------------------------------------- */

/* As the kernel does: the eventfd is written for completions, unless the engine does not want it. */
static void tell(struct xiw_soft *s)
{
	const uint64_t one = 1;

	/* It fails only if the counter is full, and then the descriptor is readable. */
	if (s->posted && s->event >= 0 && !(*s->ring->cq.kflags & IORING_CQ_EVENTFD_DISABLED))
		syscall(__NR_write, s->event, &one, sizeof(one));
	s->posted = false;
}

/* ---- requests ------------------------------------------------------------------------------------------- */

static int make_timer(struct xiw_soft *s)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (s->timer >= 0)
		return 0;
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	ev.data.fd = s->timer;
	if (s->timer < 0)
		return -errno;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->timer, &ev)) {
		int err = -errno;

		close(s->timer);
		s->timer = -1;
		return err;
	}
	return 0;
}

static int set_timer(struct xiw_soft *s, uint64_t from)
{
	const struct __kernel_timespec *ts = (void *)(uintptr_t)from;
	struct itimerspec t = { .it_value = { ts->tv_sec, ts->tv_nsec } };
	int err = make_timer(s);

	if (err)
		return err;
	if (!t.it_value.tv_sec && !t.it_value.tv_nsec)
		t.it_value.tv_nsec = 1; /* zero would stop it */
	timerfd_settime(s->timer, 0, &t, NULL);
	s->timing = true;
	return 0;
}

static void timer_came(struct xiw_soft *s)
{
	uint64_t times;

	if (syscall(__NR_read, s->timer, &times, sizeof(times)) != sizeof(times) || !s->timing)
		return;
	s->timing = false;
	xiw_soft_post(s, s->timer_data, -ETIME, 0);
}

/* io_uring waits only for a socket that blocks. Here it must not, as whoever has connected may be gone again. */
static void unblock(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && !(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static void post(struct xiw_soft *s, const struct io_uring_sqe *sqe, int res)
{
	if (res < 0 || !(sqe->flags & IOSQE_CQE_SKIP_SUCCESS))
		xiw_soft_post(s, sqe->user_data, res, 0);
}

/* Returns true if `op` is to wait. */
static bool begin(struct xiw_soft *s, const struct io_uring_sqe *sqe, struct xiw_soft_op *op)
{
	switch (sqe->opcode) {
	case IORING_OP_SEND:
		op->flags = sqe->msg_flags;
		return !xiw_soft_send(s, op);
	case IORING_OP_RECV: /* when the socket has something */
		op->multishot = sqe->ioprio & IORING_RECV_MULTISHOT;
		op->flags = sqe->msg_flags;
		op->events = EPOLLIN;
		return true;
	case IORING_OP_ACCEPT:
		op->multishot = sqe->ioprio & IORING_ACCEPT_MULTISHOT;
		op->flags = sqe->accept_flags;
		unblock(op->fd);
		return !xiw_soft_accept(s, op);
	default:
		op->multishot = sqe->len & IORING_POLL_ADD_MULTI;
		op->events = (sqe->poll32_events & 0xffff) | EPOLLRDHUP; /* as io_uring */
		/* Nobody takes what this poll is for: it reports that something has come, each time. */
		if (op->multishot)
			op->events |= EPOLLET;
		return true;
	}
}

/* A request that may have to wait. False: there is no memory for it. */
static bool start(struct xiw_soft *s, const struct io_uring_sqe *sqe)
{
	struct xiw_soft_op op = { .opcode = sqe->opcode,
				  .fd = sqe->fd,
				  .user_data = sqe->user_data,
				  .addr = sqe->addr,
				  .len = sqe->len };

	if (sqe->fd < 0) {
		post(s, sqe, -EBADF);
		return true;
	}
	if (!xiw_soft_reserve(s, sqe->fd))
		return false;
	if (begin(s, sqe, &op))
		xiw_soft_wait_for(s, &op);
	return true;
}

static bool carry_out(struct xiw_soft *s, const struct io_uring_sqe *sqe)
{
	int err;

	switch (sqe->opcode) {
	case IORING_OP_SEND:
	case IORING_OP_RECV:
	case IORING_OP_ACCEPT:
	case IORING_OP_POLL_ADD:
		return start(s, sqe);
	case IORING_OP_NOP:
		post(s, sqe, 0);
		return true;
	case IORING_OP_ASYNC_CANCEL:
		post(s, sqe, xiw_soft_cancel(s, sqe->addr) ? 0 : -ENOENT);
		return true;
	case IORING_OP_TIMEOUT:
		err = set_timer(s, sqe->addr);
		if (err)
			post(s, sqe, err);
		s->timer_data = sqe->user_data;
		return true;
	case IORING_OP_TIMEOUT_REMOVE: /* to another time */
		post(s, sqe, s->timing ? set_timer(s, sqe->off) : -ENOENT);
		return true;
	default:
		post(s, sqe, -EOPNOTSUPP);
		return true;
	}
}

static int submit(struct xiw_engine *e)
{
	struct xiw_soft *s = e->io.soft;
	struct io_uring_sq *sq = &s->ring->sq;
	int n = 0, err = 0;

	if (!s->running || !pthread_equal(s->runner, pthread_self()))
		return -EEXIST;
	for (; *sq->khead != sq->sqe_tail; n++) {
		if (xiw_soft_room(s) < ROOM)
			err = -EBUSY;
		else if (!carry_out(s, &sq->sqes[*sq->khead & sq->ring_mask]))
			err = -EAGAIN;
		if (err)
			break;
		__atomic_store_n(sq->khead, *sq->khead + 1, __ATOMIC_RELEASE);
	}
	tell(s);
	return n ? n : err;
}

/* ---- events --------------------------------------------------------------------------------------------- */

static int milliseconds(const struct __kernel_timespec *ts)
{
	if (!ts || ts->tv_sec >= INT_MAX / 1000)
		return ts ? INT_MAX : -1;
	return (int)(ts->tv_sec * 1000 + (ts->tv_nsec + 999999) / 1000000);
}

/* Returns how many files epoll has reported, at most `most`. */
static int fetch_some(struct xiw_soft *s, int most, int ms)
{
	struct epoll_event ev[EVENTS];
	int n = (int)syscall(__NR_epoll_pwait, s->epoll, ev, most, ms, NULL, sizeof(uint64_t));

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if (ev[i].data.fd == s->timer)
			timer_came(s);
		else
			xiw_soft_event(s, ev[i].data.fd, ev[i].events);
	}
	return n;
}

static int fetch_for(struct xiw_engine *e, int ms)
{
	struct xiw_soft *s = e->io.soft;
	int most, n;

	e->io.asked_ns = e->now_ns;
	do {
		const uint32_t room = xiw_soft_room(s) / (2 * XIW_SOFT_BURST);

		if (room < 2)
			return -EBUSY;
		most = (int)(room - 1 < EVENTS ? room - 1 : EVENTS);
		n = fetch_some(s, most, ms);
	} while (n == most && !s->posted);
	tell(s);
	xiw_soft_trim(s);
	return n || !ms ? (n < 0 ? n : 0) : -ETIME;
}

static int fetch(struct xiw_engine *e)
{
	return fetch_for(e, 0);
}

static int submit_and_get(struct xiw_engine *e)
{
	int n = submit(e), err;

	if (n < 0)
		return n;
	err = fetch_for(e, 0);
	return err < 0 ? err : n;
}

static int submit_and_wait(struct xiw_engine *e, struct __kernel_timespec *ts)
{
	int n = submit(e);

	if (n < 0)
		return n;
	/* There may be requests that found no room. */
	return fetch_for(e, io_uring_cq_ready(&e->io.ring) || io_uring_sq_ready(&e->io.ring)
				    ? 0
				    : milliseconds(ts));
}

/* Other threads may be in the engine meanwhile, so this one leaves the events where they are. */
static int wait_only(struct xiw_engine *e, struct __kernel_timespec *ts)
{
	struct pollfd p = { .fd = e->io.soft->epoll, .events = POLLIN };
	struct __kernel_timespec left = ts ? *ts : (struct __kernel_timespec){ 0 };
	long n = syscall(__NR_ppoll, &p, 1, ts ? &left : NULL, NULL, sizeof(uint64_t));

	if (n < 0)
		return -errno;
	if (n && p.revents & POLLNVAL)
		return -EBADF;
	return n ? 0 : -ETIME;
}

/*
 * Nobody writes an eventfd when a file has something, so the application polls an epoll of both. The eventfd is not in
 * the inner one: while it is readable, the engine's own waits would all return at once.
 */
static int announce(struct xiw_engine *e, int fd)
{
	struct xiw_soft *s = e->io.soft;
	struct epoll_event ev = { .events = EPOLLIN };
	int outer = epoll_create1(EPOLL_CLOEXEC), err;

	if (outer < 0)
		return -errno;
	if (epoll_ctl(outer, EPOLL_CTL_ADD, s->epoll, &ev) ||
	    epoll_ctl(outer, EPOLL_CTL_ADD, fd, &ev))
		err = -errno;
	else
		err = make_timer(s);
	if (err) {
		close(outer);
		return err;
	}
	s->event = fd;
	s->outer = outer;
	return outer;
}

/* ---- creation and destruction ---------------------------------------------------------------------------- */

static void lay_over(struct io_uring *r, struct xiw_soft_memory *m)
{
	*r = (struct io_uring){
		.sq = { .khead = &m->sq_head,
			.ktail = &m->sq_tail,
			.kflags = &m->sq_flags,
			.kdropped = &m->sq_dropped,
			.ring_mask = XIW_SQ_ENTRIES - 1,
			.ring_entries = XIW_SQ_ENTRIES,
			.sqes = m->sqes },
		.cq = { .khead = &m->cq_head,
			.ktail = &m->cq_tail,
			.kflags = &m->cq_flags,
			.koverflow = &m->cq_overflow,
			.ring_mask = XIW_CQ_ENTRIES - 1,
			.ring_entries = XIW_CQ_ENTRIES,
			.cqes = m->cqes },
		.ring_fd = -1,
		.enter_ring_fd = -1,
	};
	m->sq_flags = IORING_SQ_TASKRUN;
}

static int create(struct xiw_engine *e, const char **call)
{
	struct xiw_soft *s = calloc(1, sizeof(*s));
	void *m = mmap(NULL, sizeof(struct xiw_soft_memory), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int err = -ENOMEM;

	*call = "mmap";
	if (!s || m == MAP_FAILED)
		goto fail;
	*call = "epoll_create1";
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0) {
		err = -errno;
		goto fail;
	}
	s->ring = &e->io.ring;
	s->budget = &e->budget;
	s->memory = m;
	s->event = s->outer = s->timer = -1;
	lay_over(s->ring, m);
	e->io.soft = s;
	e->io.ask_ns = ASK_NS;
	return 0;
fail:
	if (m != MAP_FAILED)
		munmap(m, sizeof(struct xiw_soft_memory));
	free(s);
	return err;
}

static int use_bufs(struct xiw_engine *e)
{
	e->io.soft->bufs = e->io.bufs;
	return 0;
}

static int enable(struct xiw_engine *e)
{
	struct xiw_soft *s = e->io.soft;

	if (__atomic_exchange_n(&s->memory->taken, 1, __ATOMIC_ACQ_REL))
		return -EEXIST;
	s->runner = pthread_self();
	s->running = true;
	madvise(s->memory, sizeof(*s->memory), MADV_DONTFORK);
	return 0;
}

static void forget(const struct xiw_engine *e, int fd)
{
	xiw_soft_forget(e->io.soft, fd);
}

static void shut(struct xiw_engine *e)
{
	struct xiw_soft *s = e->io.soft;
	int *fds[] = { &s->outer, &s->timer, &s->epoll };

	for (unsigned int i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static void end(struct xiw_engine *e)
{
	shut(e);
	xiw_soft_free_files(e->io.soft);
	munmap(e->io.soft->memory, sizeof(*e->io.soft->memory));
	free(e->io.soft);
	e->io.soft = NULL;
}

const struct xiw_ring_ops xiw_soft_ops = {
	.name = "epoll",
	.create = create,
	.use_bufs = use_bufs,
	.enable = enable,
	.submit = submit,
	.submit_and_get = submit_and_get,
	.submit_and_wait = submit_and_wait,
	.wait = wait_only,
	.fetch = fetch,
	.announce = announce,
	.forget = forget,
	.shut = shut,
	.free = end,
};

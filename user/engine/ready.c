// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Waiting for an engine. The descriptor of xiw_engine_fd() is an eventfd that the kernel writes when the ring has a
 * completion, or work from which one may come. (A poll on the ring itself would not tell of such work: with
 * DEFER_TASKRUN, kernels from 6.3 on wake only a thread that waits in the ring.) Everything that an engine waits for is
 * a request in the ring: frames, sockets, rtnetlink, the inbox, and a timeout for the wheel.
 *
 * The requests complete once, so that a busy engine gets no completion for each frame. When something has completed,
 * the descriptor stays readable until a turn that finds nothing to do arms everything again. In between neither the
 * engine nor the kernel touches it.
 */
#include "engine/ready.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/inbox.h"
#include "core/queue.h"
#include "core/ring.h"

void xiw_ready_poll_queues(struct xiw_engine *e)
{
	for (struct xiw_netif *p = e->netifs; p; p = p->next)
		for (uint32_t i = 0; i < p->nqueues; i++)
			xiw_queue_poll(e, &p->queues[i]);
}

uint64_t xiw_ready_next(const struct xiw_engine *e)
{
	uint64_t next = e->wheel.next_ms;

	/*
	 * Something waits for room in the completion queue, which another thread makes without notice, or for memory.
	 * The engine then looks again every millisecond.
	 */
	if (e->io.bufs_out || e->agenda.holders || e->agenda.starved || e->cqs.overflowing ||
	    e->io.line_n || e->agenda.stageless)
		next = e->now_ms + 1 < next ? e->now_ms + 1 : next;
	return next;
}

/* A timeout that comes too early costs a turn, so one is changed only to come earlier. */
static void set_timer(struct xiw_engine *e)
{
	uint64_t next = xiw_ready_next(e), ms = next > e->now_ms ? next - e->now_ms : 0;
	struct io_uring_sqe *sqe;

	if (next >= e->ready.timer_ms)
		return;
	e->ready.timer.tv_sec = (long long)(ms / 1000);
	e->ready.timer.tv_nsec = (long long)(ms % 1000 * 1000000);
	if (e->ready.timer_ms == XIW_NEVER) {
		io_uring_prep_timeout(xiw_sqe(e, e, XIW_OP_TIMER), &e->ready.timer, 0, 0);
	} else {
		/* If it fails, the timeout has come, and its own completion says so. */
		sqe = xiw_sqe(e, NULL, XIW_OP_NONE);
		io_uring_prep_timeout_update(sqe, &e->ready.timer, (uintptr_t)e | XIW_OP_TIMER, 0);
		sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
	}
	e->ready.timer_ms = next;
}

void xiw_ready_timer_done(struct xiw_engine *e)
{
	e->ready.timer_ms = XIW_NEVER;
}

bool xiw_ready_arm(struct xiw_engine *e, int *err)
{
	uint64_t counter;
	bool asleep;
	int n;

	e->ready.lit = false;
	io_uring_cq_eventfd_toggle(&e->io.ring, true);
	/* The kernel adds work and then looks whether to write. Here it is the other way round. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* What is written from here on remains. */
	if (read(e->ready.fd, &counter, sizeof(counter)) < 0)
		counter = 0;
	xiw_ready_poll_queues(e);
	set_timer(e);
	asleep = xiw_inbox_sleep(e, e->ready.fd);
	n = xiw_ring_submit_and_get(e);
	if (n < 0 && n != -EBUSY && n != -EAGAIN)
		*err = n;
	return n >= 0 && asleep && !xiw_ring_has_more(e);
}

void xiw_ready_light(struct xiw_engine *e)
{
	const uint64_t one = 1;

	/* It fails only if the counter is full, and then the descriptor is readable. */
	if (write(e->ready.fd, &one, sizeof(one)) == sizeof(one))
		e->ready.lit = true;
}

void xiw_ready_lit(struct xiw_engine *e)
{
	if (e->ready.fd < 0 || e->ready.lit)
		return;
	e->ready.lit = true;
	io_uring_cq_eventfd_toggle(&e->io.ring, false);
}

int xiw_engine_fd(struct xiw_engine *e)
{
	int to_poll, fd;

	if (e->ready.fd >= 0)
		return e->ready.to_poll;
	if (xiw_ring_runner(e) == XIW_RUNNER_OTHER)
		return -EEXIST;
	fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	to_poll = xiw_ring_announce(e, fd);
	if (to_poll < 0) {
		close(fd);
		return to_poll;
	}
	e->ready.fd = fd;
	e->ready.to_poll = to_poll;
	return to_poll;
}

void xiw_ready_free(struct xiw_engine *e)
{
	if (e->ready.fd >= 0)
		close(e->ready.fd);
	if (e->ready.share.bell >= 0)
		close(e->ready.share.bell);
	e->ready.fd = e->ready.share.bell = -1;
}

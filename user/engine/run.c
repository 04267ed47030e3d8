// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * xiw_engine_run(): turns, and what is done when a turn finds nothing. The engine then looks for a while (spin_us), and
 * sleeps in its ring; or it makes its descriptor ready for the application's own loop to wait.
 */
#include <errno.h>
#include <sched.h>

#include "core/cq.h"
#include "core/inbox.h"
#include "core/ring.h"
#include "engine/create.h"
#include "engine/ready.h"
#include "engine/share.h"
#include "engine/turn.h"

#define TURNS 16 /* most turns for one call of an application that waits by the descriptor */

/* Returns the number of completions, or the error of a doorbell, which is told once. */
static int result(struct xiw_engine *e)
{
	int err = e->cqs.doorbell_error;

	e->cqs.doorbell_error = 0;
	e->cqs.news = false;
	return err ? err : (int)xiw_completions(e);
}

/* True if requests are to be submitted, or the kernel has work for the engine's thread. */
static bool kernel_waits(const struct xiw_engine *e)
{
	return xiw_ring_waits(e) || xiw_ring_calls(e);
}

/* One system call submits all requests of this turn and runs the kernel's deferred work. */
static int submit(struct xiw_engine *e)
{
	int err = xiw_ring_submit_and_get(e);

	return err < 0 && err != -EBUSY && err != -EAGAIN ? err : 0;
}

/*
 * What the turn has queued leaves, and then sockets are told what the peers said of their data: that is a system call
 * for each, which an answer should not wait for.
 */
static int settle(struct xiw_engine *e)
{
	int err = 0;

	if (!e->agenda.telling)
		return 0;
	if (kernel_waits(e))
		err = submit(e);
	xiw_turn_tell(e);
	return err;
}

/*
 * Looks for something to do. False: there was nothing. Between looks, a thread that wants this core gets it: it may be
 * the one that is waited for.
 */
static bool spin(struct xiw_engine *e, uint64_t ns, uint64_t until_ms)
{
	const uint64_t end_ns = e->now_ns + ns;

	while (e->now_ns < end_ns && e->now_ms < until_ms) {
		if ((xiw_ring_waits(e) || xiw_ring_has_work(e)) && submit(e))
			return false; /* the caller meets the error, too */
		if (xiw_turn(e) || xiw_told(e))
			return true;
		sched_yield();
	}
	return false;
}

/* As spin() does, but only if something is likely to come. An engine whose turns others take leaves that to them. */
static bool look_on(struct xiw_engine *e, uint64_t until_ms)
{
	const uint64_t begin_ns = e->now_ns;
	bool came;

	if (!xiw_pace_look(&e->ready.pace) || e->ready.share.on)
		return false;
	came = spin(e, XIW_PACE_LOOK_NS, until_ms);
	xiw_pace_looked(&e->ready.pace, came, e->now_ns - begin_ns);
	return came;
}

static int wait_in_ring(struct xiw_engine *e, struct __kernel_timespec *ts, uint64_t until_ms,
			bool asleep)
{
	int err;

	if (!e->ready.share.on)
		return xiw_ring_submit_and_wait(e, ts);
	err = xiw_ring_submit(e);
	if (err < 0)
		return err;
	/* As io_uring does where it submits and waits in one call: it may not have taken all. */
	if (xiw_ring_waits(e) || io_uring_cq_ready(&e->io.ring))
		return 0;
	xiw_share_give(e, until_ms, asleep);
	if (xiw_share_may_wait(e, asleep))
		err = xiw_ring_wait(e, ts);
	xiw_share_take(e);
	return err ? err : xiw_ring_waited(e);
}

static int enter_and_wait(struct xiw_engine *e, uint64_t until_ms, bool asleep)
{
	uint64_t next = xiw_ready_next(e);
	struct __kernel_timespec ts;
	int err;

	if (next < until_ms)
		until_ms = next;
	if (until_ms != XIW_NEVER) {
		uint64_t ms = until_ms > e->now_ms ? until_ms - e->now_ms : 0;

		ts.tv_sec = (long long)(ms / 1000);
		ts.tv_nsec = (long long)(ms % 1000 * 1000000);
	}
	err = wait_in_ring(e, until_ms == XIW_NEVER ? NULL : &ts, until_ms, asleep);
	return err == -ETIME || err == -EAGAIN || err == -EBUSY ? 0 : err < 0 ? err : 0;
}

static int sleep_in_ring(struct xiw_engine *e, uint64_t until_ms)
{
	bool asleep;

	/* Others take the frames, and see what is asked of the engine. */
	if (e->ready.share.on && e->inbox.polled && xiw_share_busy(e)) {
		if (!xiw_share_nap(e))
			until_ms = e->now_ms;
		else if (e->now_ms + 1 < until_ms)
			until_ms = e->now_ms + 1;
		return enter_and_wait(e, until_ms, false);
	}
	xiw_ready_poll_queues(e);
	asleep = xiw_inbox_sleep(e, e->inbox.fd);
	return enter_and_wait(e, asleep ? until_ms : e->now_ms, asleep);
}

static int run(struct xiw_engine *e, int timeout_ms)
{
	/* The application has had the time of one call for an answer. */
	const bool had_time = e->agenda.telling;
	const uint64_t left_ns = e->now_ns;
	bool busy = xiw_turn(e);
	uint64_t until_ms = timeout_ms < 0 ? XIW_NEVER : e->now_ms + (uint64_t)timeout_ms;
	uint64_t slept_ns;
	int err = 0;

	xiw_pace_called(&e->ready.pace, e->now_ns - left_ns, !e->ready.share.on);
	if (left_ns && !e->ready.share.on)
		xiw_pace_absent(&e->ready.pace, e->now_ns - left_ns, e->now_ns);
	if (had_time || !xiw_told(e))
		err = settle(e);
	if (err)
		return err;
	if (!busy && !xiw_told(e) && timeout_ms)
		busy = e->opts.spin_us ? spin(e, e->opts.spin_us * 1000ull, until_ms)
				       : look_on(e, until_ms);
	if (e->cqs.lost)
		return -ENOMEM;
	/* Nobody is told, so no answer comes. */
	if (busy && !xiw_told(e))
		err = settle(e);
	if (err)
		return err;
	if (busy || xiw_told(e) || !timeout_ms) {
		/* A call that only looks lets the kernel do what it may have to. */
		if ((!busy && !xiw_told(e)) || kernel_waits(e))
			err = submit(e);
		return err ? err : result(e);
	}
	slept_ns = e->now_ns;
	err = sleep_in_ring(e, until_ms);
	if (err)
		return err;
	xiw_turn(e);
	xiw_pace_slept(&e->ready.pace, e->now_ns - slept_ns);
	if (!xiw_told(e))
		err = settle(e);
	return err ? err : result(e);
}

/*
 * For an application that waits by the descriptor. On return the descriptor tells of everything that comes; it is
 * readable if there may be something already. If 0 is returned, it has become readable after the last look, so that
 * epoll reports it also by EPOLLET.
 */
static int run_for_descriptor(struct xiw_engine *e)
{
	int err = 0;

	for (int turns = 0; turns < TURNS && !err; turns++) {
		bool busy = xiw_turn(e);

		/* It may be long until the application's loop comes back. */
		err = settle(e);
		if (e->cqs.lost)
			return -ENOMEM;
		if (busy && !xiw_completions(e))
			continue;
		if (busy && e->ready.lit) {
			if (kernel_waits(e))
				err = submit(e);
			return err ? err : result(e);
		}
		if (xiw_ready_arm(e, &err))
			return result(e);
		if (xiw_completions(e))
			break;
	}
	xiw_ready_light(e);
	return err ? err : result(e);
}

void xiw_engine_set_spin(struct xiw_engine *e, uint32_t spin_us)
{
	e->opts.spin_us = spin_us < XIW_SPIN_MAX_US ? spin_us : XIW_SPIN_MAX_US;
}

int xiw_engine_run(struct xiw_engine *e, int timeout_ms)
{
	int err = xiw_ring_run(e);

	if (err)
		return err;
	return !timeout_ms && e->ready.fd >= 0 ? run_for_descriptor(e) : run(e, timeout_ms);
}

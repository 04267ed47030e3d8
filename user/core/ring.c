// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine's ring: which thread runs it, its requests, and the buffers that sockets are received into.
 *
 * A ring serves one thread, the one that runs the engine first. That thread then holds a robust mutex. The mutex tells
 * other threads, and the child of a fork(), that the ring is not theirs, and it tells if its thread has ended.
 */
#include "core/ring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/budget.h"
#include "core/ring_ops.h"

#define ALL_BUFS_MS 1000 /* so that a few receives in a second go without at first */

/* ---- which thread runs it ------------------------------------------------------------------------- */

static int make_runner(struct xiw_engine *e)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (err)
		return -err;
	err = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!err)
		err = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	if (!err)
		err = pthread_mutex_init(&e->io.runner, &attr);
	pthread_mutexattr_destroy(&attr);
	return -err;
}

enum xiw_ring_runner xiw_ring_runner(struct xiw_engine *e)
{
	int err;

	if (e->forked)
		return XIW_RUNNER_OTHER;
	if (!e->io.ready)
		return XIW_RUNNER_NONE;
	err = pthread_mutex_trylock(&e->io.runner);
	if (err == EOWNERDEAD) {
		pthread_mutex_consistent(&e->io.runner);
		e->io.orphan = true;
	} else if (err) {
		return XIW_RUNNER_OTHER;
	}
	pthread_mutex_unlock(&e->io.runner);
	return e->io.enabled && !e->io.orphan ? XIW_RUNNER_SELF : XIW_RUNNER_NONE;
}

/* The ring of a thread that has ended is of no use: the kernel has ended its requests and takes no more. */
int xiw_ring_run(struct xiw_engine *e)
{
	enum xiw_ring_runner owner = xiw_ring_runner(e);
	int err;

	if (owner == XIW_RUNNER_SELF)
		return 0;
	if (owner == XIW_RUNNER_OTHER || e->io.orphan)
		return -EEXIST;
	pthread_mutex_lock(&e->io.runner);
	err = e->io.ops->enable(e);
	if (err) {
		pthread_mutex_unlock(&e->io.runner);
		return err;
	}
	e->io.enabled = true;
	/* A child must not inherit these mappings either (core/uring.c). */
	madvise(e->io.bufs, XIW_BUFS * sizeof(struct io_uring_buf), MADV_DONTFORK);
	madvise(e->io.buf_area, (size_t)XIW_BUFS * XIW_BUF_SIZE, MADV_DONTFORK);
	return 0;
}

/* ---- requests ------------------------------------------------------------------------------------ */

/* Moves requests that wait in line into the submission queue, as far as there is room. */
static void next_in_line(struct xiw_engine *e)
{
	struct io_uring_sqe *sqe;

	while (e->io.line_n && (sqe = io_uring_get_sqe(&e->io.ring))) {
		*sqe = e->io.line[e->io.line_head++];
		e->io.line_n--;
	}
	if (e->io.line_n)
		return;
	xiw_budget_free(&e->budget, e->io.line, e->io.line_room * sizeof(*e->io.line));
	e->io.line = NULL;
	e->io.line_room = e->io.line_head = 0;
}

/* Submits the requests that wait in line, as many as the kernel takes. */
static int submit_line(struct xiw_engine *e)
{
	int n = 1;

	while (e->io.line_n && n > 0) {
		next_in_line(e);
		n = e->io.ops->submit(e);
	}
	return n;
}

int xiw_ring_submit(struct xiw_engine *e)
{
	int err;

	if (!e->io.enabled)
		return 0;
	err = submit_line(e);
	return err < 0 ? err : e->io.ops->submit(e);
}

int xiw_ring_submit_and_get(struct xiw_engine *e)
{
	int err = submit_line(e);

	return err < 0 ? err : e->io.ops->submit_and_get(e);
}

int xiw_ring_submit_and_wait(struct xiw_engine *e, struct __kernel_timespec *ts)
{
	int err = submit_line(e);

	return err < 0 ? err : e->io.ops->submit_and_wait(e, ts);
}

int xiw_ring_wait(struct xiw_engine *e, struct __kernel_timespec *ts)
{
	return e->io.ops->wait(e, ts);
}

int xiw_ring_waited(struct xiw_engine *e)
{
	return e->io.ops->fetch ? e->io.ops->fetch(e) : 0;
}

void xiw_ring_forget(const struct xiw_engine *e, int fd)
{
	if (fd >= 0 && e->io.ops && e->io.ops->forget)
		e->io.ops->forget(e, fd);
}

const char *xiw_ring_name(const struct xiw_engine *e)
{
	return e->io.ops ? e->io.ops->name : "";
}

void xiw_ring_why(const struct xiw_engine *e, char *why, size_t len)
{
	if (e->io.refused)
		snprintf(why, len, "%s: %s", e->io.refused, strerror(-e->io.refused_err));
	else
		snprintf(why, len, "%s", e->io.soft ? "XIWARP_RING says so" : "");
}

int xiw_ring_can_announce_in(const struct xiw_engine *e, int fd)
{
	/* Unit tests have engines without a ring. */
	if (e->io.ops && !e->io.ops->app_rings)
		return -EOPNOTSUPP;
	return xiw_ring_is_one(fd) ? 0 : -EBADF;
}

int xiw_ring_announce(struct xiw_engine *e, int fd)
{
	return e->io.ops->announce(e, fd);
}

/*
 * Returns a place in the line of requests that wait, behind the others. It is needed when the submission queue is full
 * and cannot be submitted now: nobody has run the engine yet, another thread runs it, or there is no memory.
 */
static struct io_uring_sqe *stand_in_line(struct xiw_engine *e)
{
	uint32_t at = e->io.line_head + e->io.line_n;

	if (at == e->io.line_room) {
		uint32_t room = at ? 2 * at : XIW_SQ_ENTRIES;
		struct io_uring_sqe *more = realloc(e->io.line, room * sizeof(*more));

		if (!more) {
			e->cqs.lost = true; /* xiw_engine_run() returns -ENOMEM */
			return &e->io.nowhere;
		}
		xiw_budget_force(&e->budget, (room - e->io.line_room) * sizeof(*more));
		e->io.line = more;
		e->io.line_room = room;
	}
	e->io.line_n++;
	return &e->io.line[at];
}

struct io_uring_sqe *xiw_sqe(struct xiw_engine *e, void *object, enum xiw_op op)
{
	struct io_uring_sqe *sqe = e->io.line_n ? NULL : io_uring_get_sqe(&e->io.ring);

	if (!sqe && e->io.enabled && xiw_ring_submit(e) >= 0 && !e->io.line_n)
		sqe = io_uring_get_sqe(&e->io.ring);
	if (!sqe)
		sqe = stand_in_line(e);
	/* The caller's io_uring_prep_*() leaves user_data alone since liburing 2.2. */
	memset(sqe, 0, sizeof(*sqe));
	sqe->user_data = (uintptr_t)object | op;
	return sqe;
}

/* ---- provided buffers ---------------------------------------------------------------------------- */

static void buf_add(struct xiw_engine *e, uint16_t bid)
{
	io_uring_buf_ring_add(e->io.bufs, e->io.buf_area + (size_t)bid * XIW_BUF_SIZE, XIW_BUF_SIZE,
			      bid, io_uring_buf_ring_mask(XIW_BUFS), 0);
	io_uring_buf_ring_advance(e->io.bufs, 1);
}

/*
 * The kernel fills buffers in the order in which it got them. It has no more than are in use at once, and gets the one
 * that was used last: a stream that went through all of them in turn would find none in the caches. But a stream that
 * is never empty takes all that are there, so the kernel has more of them while others would be left without.
 */
uint32_t xiw_bufs_offer(struct xiw_engine *e)
{
	const uint32_t offered = e->now_ms < e->io.all_bufs_until_ms
					 ? XIW_BUFS
					 : XIW_BUFS_OFFERED + e->nconns;

	while (e->io.bufs_in < offered && e->io.nspare) {
		buf_add(e, e->io.spare[--e->io.nspare]);
		e->io.bufs_in++;
	}
	return e->io.bufs_in;
}

void xiw_bufs_offer_all(struct xiw_engine *e)
{
	e->io.all_bufs_until_ms = e->now_ms + ALL_BUFS_MS;
}

void xiw_buf_taken(struct xiw_engine *e)
{
	e->io.bufs_in--;
	e->io.bufs_out++;
}

void xiw_buf_return(struct xiw_engine *e, uint16_t bid)
{
	e->io.bufs_out--;
	e->io.spare[e->io.nspare++] = bid;
	xiw_bufs_offer(e);
}

/*
 * The ring of buffers is a shared mapping: if the child of a fork() runs the engine, it must write to the memory that
 * the kernel reads, not to a copy.
 */
static int make_bufs(struct xiw_engine *e)
{
	size_t ring_len = XIW_BUFS * sizeof(struct io_uring_buf);
	int err;

	e->io.bufs =
		mmap(NULL, ring_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (e->io.bufs == MAP_FAILED) {
		e->io.bufs = NULL;
		return -ENOMEM;
	}
	e->io.buf_area = mmap(NULL, (size_t)XIW_BUFS * XIW_BUF_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->io.buf_area == MAP_FAILED) {
		e->io.buf_area = NULL;
		return -ENOMEM;
	}
	err = e->io.ops->use_bufs(e);
	if (err)
		return err;
	io_uring_buf_ring_init(e->io.bufs);
	while (e->io.nspare < XIW_BUFS) {
		e->io.spare[e->io.nspare] = (uint16_t)(XIW_BUFS - 1 - e->io.nspare);
		e->io.nspare++;
	}
	xiw_bufs_offer(e);
	return 0;
}

/* ---- creation and destruction -------------------------------------------------------------------- */

/*
 * Can another kind of ring do where the kernel refuses io_uring so? -EINVAL: it is older than what the engine uses;
 * -ENOMEM: the memory of rings counts against the memlock limit of a user, in all processes together.
 */
static bool another_will_do(int err)
{
	return xiw_ring_forbidden(err) || err == -EINVAL || err == -ENOMEM;
}

static int choose(struct xiw_engine *e)
{
	const char *wanted = secure_getenv("XIWARP_RING"), *call;
	const bool any = !wanted || !*wanted, epoll = !any && !strcmp(wanted, xiw_soft_ops.name);
	int err;

	if (!any && !epoll && strcmp(wanted, xiw_uring_ops.name))
		return -EINVAL;
	if (!epoll) {
		e->io.ops = &xiw_uring_ops;
		err = e->io.ops->create(e, &call);
		if (!err || !any || !another_will_do(err))
			return err;
		e->io.refused = call;
		e->io.refused_err = err;
	}
	e->io.ops = &xiw_soft_ops;
	return e->io.ops->create(e, &call);
}

int xiw_ring_create(struct xiw_engine *e)
{
	int err = make_runner(e);

	if (err)
		return err;
	err = choose(e);
	if (err) {
		e->io.ops = NULL;
		pthread_mutex_destroy(&e->io.runner);
		return err;
	}
	e->io.ready = true;
	return make_bufs(e);
}

void xiw_ring_shut(struct xiw_engine *e)
{
	if (e->io.ready)
		e->io.ops->shut(e);
}

void xiw_ring_free(struct xiw_engine *e)
{
	if (!e->io.ready)
		return;
	e->io.ops->free(e);
	if (e->io.enabled && !e->io.orphan)
		pthread_mutex_unlock(&e->io.runner);
	pthread_mutex_destroy(&e->io.runner);
	if (e->io.bufs)
		munmap(e->io.bufs, XIW_BUFS * sizeof(struct io_uring_buf));
	if (e->io.buf_area)
		munmap(e->io.buf_area, (size_t)XIW_BUFS * XIW_BUF_SIZE);
	free(e->io.line);
}

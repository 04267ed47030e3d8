// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads that wait for an event of a queue. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/now.h"
#include "host/engines.h"
#include "host/eq_inside.h"

bool xiw_host_nonblocking(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_NONBLOCK;
}

/* ---- by the descriptor ---------------------------------------------------------------------------------------- */

/* With the lock, which it gives back: a thread waits no more. */
static void wait_is_over(struct xiw_host_eq *eq)
{
	const bool last = !--eq->waiting, freed = last && eq->freed;
	const int cancel = xiw_cancel_off();

	if (last && eq->kept >= 0) {
		close(eq->kept);
		eq->kept = -1;
	}
	pthread_mutex_unlock(&eq->lock);
	if (freed)
		free(eq);
	xiw_cancel_restore(cancel);
}

/* For ever, as a thread does whose descriptor was closed. */
static int wait_in_vain(void)
{
	poll(NULL, 0, -1);
	return -EINTR;
}

/* The thread may have read the descriptor, and others have to be told instead. */
static void is_cancelled(void *arg)
{
	struct xiw_host_eq *eq = arg;

	pthread_mutex_lock(&eq->lock);
	xiw_host_eq_put_out(eq);
	xiw_host_eq_light(eq);
	wait_is_over(eq);
}

/* Returns 0 or errno. */
static int read_fd(struct xiw_host_eq *eq, int fd)
{
	eventfd_t one;
	int err;

	if (xiw_host_nonblocking(fd))
		return EAGAIN;
	pthread_cleanup_push(is_cancelled, eq);
	err = read(fd, &one, sizeof(one)) < 0 ? errno : 0;
	pthread_cleanup_pop(0);
	return err;
}

/*
 * In read(), as the libraries of RDMA hardware do: the kernel begins it anew after a handler with SA_RESTART, and no
 * other system call says which handlers have run.
 */
static int wait_by_read(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	int taken, fd, err = 0;

	pthread_mutex_lock(&eq->lock);
	eq->waiting++;
	while (!(taken = xiw_host_eq_take_locked(eq, event)) && (fd = eq->fd) >= 0 && !err) {
		pthread_mutex_unlock(&eq->lock);
		err = read_fd(eq, fd);
		pthread_mutex_lock(&eq->lock);
		if (!err)
			xiw_host_eq_put_out(eq);
	}
	wait_is_over(eq);
	if (taken)
		return taken;
	return err ? -err : wait_in_vain();
}

int xiw_host_eq_wait(struct xiw_host_eq *eq, struct xiw_host_event *event, int timeout_ms)
{
	const int64_t end = (int64_t)xiw_now_ms() + timeout_ms;

	if (xiw_host_dead(&eq->life))
		return -ECANCELED;
	if (timeout_ms < 0)
		return wait_by_read(eq, event);
	/* Another thread may take what poll() has seen. */
	while (!xiw_host_eq_take(eq, event)) {
		const int64_t left = end - (int64_t)xiw_now_ms();
		struct pollfd p = { .events = POLLIN };

		p.fd = __atomic_load_n(&eq->fd,
				       __ATOMIC_RELAXED); /* -1, which poll() skips: closed */
		if (xiw_host_nonblocking(p.fd))
			return -EAGAIN;
		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left) < 0)
			return -errno;
	}
	return 1;
}

/* ---- waiting, and taking turns meanwhile ---------------------------------------------------------- */

struct awaited {
	struct xiw_host_eq *eq;
	struct xiw_host_event *event;
	int taken;
};

static void looks(void *ctx)
{
	struct xiw_host_eq *eq = ((struct awaited *)ctx)->eq;

	pthread_mutex_lock(&eq->lock);
	eq->looking++;
	pthread_mutex_unlock(&eq->lock);
}

/* A queue that is closed has no events any more. */
static bool ready(void *ctx)
{
	struct awaited *a = ctx;
	struct xiw_host_eq *eq = a->eq;
	bool closed;

	pthread_mutex_lock(&eq->lock);
	a->taken = xiw_host_eq_take_locked(eq, a->event);
	eq->looking--;
	xiw_host_eq_light(eq);
	closed = __atomic_load_n(&eq->fd, __ATOMIC_RELAXED) < 0;
	pthread_mutex_unlock(&eq->lock);
	return a->taken || closed;
}

static void waits_no_more(void *ctx)
{
	struct xiw_host_eq *eq = ((struct awaited *)ctx)->eq;

	pthread_mutex_lock(&eq->lock);
	wait_is_over(eq);
}

int xiw_host_eq_await(struct xiw_host_eq *eq, struct xiw_host_event *event)
{
	struct awaited a = { .eq = eq, .event = event };
	const struct xiw_host_await how = {
		.looks = looks, .ready = ready, .cut = waits_no_more, .ctx = &a, .fd = eq->fd
	};
	int rc;

	if (xiw_host_dead(&eq->life))
		return -ECANCELED;
	if (xiw_host_eq_take(eq, event))
		return 1;
	if (xiw_host_nonblocking(how.fd))
		return -EAGAIN;
	pthread_mutex_lock(&eq->lock);
	eq->waiting++;
	pthread_mutex_unlock(&eq->lock);
	rc = xiw_host_await(&how);
	waits_no_more(&a);
	if (rc == -ENOSYS)
		return xiw_host_eq_wait(eq, event, -1);
	if (rc)
		return rc;
	return a.taken ? 1 : wait_in_vain();
}

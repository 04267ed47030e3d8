// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The ring in plain memory polls and accepts as io_uring does, and its queues, descriptors and threads end so. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "soft_rig.h"

/* ---- polls, accepts, times -------------------------------------------------------------------------------- */

BOTH(core_soft_ends, poll_once)
{
	io_uring_prep_poll_add(request(1), at[0], POLLIN);
	io_uring_prep_poll_add(request(2), at[0], POLLOUT);
	EXPECT({ 2, POLLOUT, false });
	cr_assert_eq(send(at[1], "a", 1, 0), 1);
	EXPECT({ 1, POLLIN, false });
	io_uring_prep_poll_add(request(3), at[0], POLLIN);
	EXPECT({ 3, POLLIN, false });
	io_uring_prep_poll_add(request(4), at[0], POLLRDHUP);
	NOTHING();
	shutdown(at[1], SHUT_WR);
	EXPECT({ 4, POLLRDHUP, false });
}

/* An eventfd that nobody reads: each write is told. */
BOTH(core_soft_ends, poll_on_and_on)
{
	int fd = eventfd(0, EFD_NONBLOCK);

	io_uring_prep_poll_multishot(request(1), fd, POLLIN);
	NOTHING();
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(eventfd_write(fd, 1), 0);
		EXPECT({ 1, POLLIN, true });
	}
	cancel(2, 1);
	EXPECT({ 1, -ECANCELED, false }, { 2, 0, false });
	forget_close(fd);
}

BOTH(core_soft_ends, accept_many)
{
	struct sockaddr_in addr;
	int l = listening(&addr), fds[5];

	io_uring_prep_multishot_accept(request(1), l, NULL, NULL, SOCK_CLOEXEC);
	NOTHING();
	for (int i = 0; i < 5; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		cr_assert_eq(connect(fds[i], (struct sockaddr *)&addr, sizeof(addr)), 0);
	}
	take(5, WAIT_MS);
	cr_assert_eq(ngot, 5);
	for (int i = 0; i < 5; i++) {
		cr_expect(got[i].res > 0 && got[i].flags & IORING_CQE_F_MORE);
		cr_expect_eq(send(got[i].res, "a", 1, 0), 1);
		close(got[i].res);
		close(fds[i]);
	}
	ngot = 0;
	/* No descriptor is left: that ends the request. */
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	shutdown(l, SHUT_RDWR);
	EXPECT({ 1, -EINVAL, false });
	close(fds[0]);
	forget_close(l);
}

BOTH(core_soft_ends, times)
{
	struct __kernel_timespec ts = { 0, 20000000 }, sooner = { 0, 1000000 };

	io_uring_prep_timeout(request(1), &ts, 0, 0);
	EXPECT({ 1, -ETIME, false });
	ts = (struct __kernel_timespec){ 1000, 0 };
	io_uring_prep_timeout(request(2), &ts, 0, 0);
	NOTHING();
	io_uring_prep_timeout_update(request(3), &sooner, 2, 0);
	take(2, WAIT_MS);
	EXPECT({ 2, -ETIME, false }, { 3, 0, false });
	io_uring_prep_timeout_update(request(4), &sooner, 2, 0);
	EXPECT({ 4, -ENOENT, false });
}

/* ---- queues --------------------------------------------------------------------------------------------- */

/* More requests than the submission queue has room for, and more completions than the other: none is lost. */
BOTH(core_soft_ends, queues_that_are_full)
{
	unsigned int n = 0, head, seen, wrong = 0;
	struct io_uring_cqe *cqe;
	const unsigned int all = 6000;

	for (unsigned int i = 0; i < all; i++)
		io_uring_prep_nop(request(i));
	for (int turn = 0; n < all && turn < 1000; turn++) {
		xiw_ring_submit_and_get(e);
		seen = 0;
		io_uring_for_each_cqe(&e->io.ring, head, cqe)
		{
			wrong += cqe->user_data != n++;
			seen++;
		}
		io_uring_cq_advance(&e->io.ring, seen);
	}
	cr_expect_eq(n, all);
	cr_expect_eq(wrong, 0);
}

BOTH(core_soft_ends, requests_of_many_descriptors)
{
	int fds[600];

	for (uint64_t i = 0; i < 600; i++) {
		fds[i] = eventfd(0, EFD_NONBLOCK);
		cr_assert_geq(fds[i], 0);
		io_uring_prep_poll_add(request(1000 + i), fds[i], POLLIN);
	}
	NOTHING();
	for (uint64_t i = 0; i < 600; i += 20) {
		cancel(5000, 1000 + i);
		EXPECT({ 1000 + i, -ECANCELED, false }, { 5000, 0, false });
		eventfd_write(fds[i + 1], 1);
		EXPECT({ 1001 + i, POLLIN, false });
	}
	for (uint64_t i = 0; i < 600; i++) {
		cancel(5000, 1000 + i);
		take(1, WAIT_MS);
		take(got[0].res == -ENOENT ? 1 : 2, WAIT_MS);
		cr_expect_eq(ngot, i % 20 < 2 ? 1 : 2);
		ngot = 0;
		forget_close(fds[i]);
	}
}

static void *submit_as_a_stranger(void *result)
{
	*(int *)result = xiw_ring_submit(e);
	return NULL;
}

BOTH(core_soft_ends, requests_of_another_thread)
{
	pthread_t thread;
	int result = 0;

	io_uring_prep_nop(request(1));
	cr_assert_eq(pthread_create(&thread, NULL, submit_as_a_stranger, &result), 0);
	pthread_join(thread, NULL);
	cr_expect_eq(result, -EEXIST);
	EXPECT({ 1, 0, false });
}

/* ---- descriptors that end --------------------------------------------------------------------------------- */

/* Nobody waits for the socket, which is dead: a wait lasts as long as it is to. */
BOTH(core_soft_ends, a_dead_socket_wakes_nobody)
{
	struct __kernel_timespec ts = { 0, 200000000 };
	int woken = 0;

	receive_on(1);
	NOTHING();
	cancel(2, 1);
	EXPECT({ 1, -ECANCELED, false }, { 2, 0, false });
	reset(at[1]);
	for (int i = 0; i < 100 && xiw_ring_submit_and_wait(e, &ts) != -ETIME; i++)
		woken++;
	cr_expect_leq(woken, 1);
	at[1] = -1;
}

/* A child keeps the socket, whose number is another one's here. */
BOTH(core_soft_ends, a_number_that_is_used_again)
{
	const int was = at[0], peer = at[1];
	int hold[2];
	uint8_t in;
	pid_t child;

	receive_on(1);
	NOTHING();
	cr_assert_eq(pipe(hold), 0);
	child = fork();
	if (!child) {
		close(hold[1]);
		_exit(read(hold[0], &in, 1) != 0);
	}
	cancel(2, 1);
	EXPECT({ 1, -ECANCELED, false }, { 2, 0, false });
	forget_close(was);
	connect_both();
	if (at[0] != was) {
		cr_assert_eq(dup2(at[0], was), was);
		close(at[0]);
		at[0] = was;
	}
	receive_on(3);
	NOTHING();
	cr_expect_eq(send(peer, "old", 3, 0), 3);
	NOTHING();
	cr_expect_eq(send(at[1], "new one", 7, 0), 7);
	EXPECT({ 3, 7, true });
	close(hold[1]);
	cr_expect_eq(waitpid(child, NULL, 0), child);
	close(hold[0]);
	close(peer);
}

BOTH(core_soft_ends, a_number_that_is_none)
{
	io_uring_prep_poll_add(request(1), 100000, POLLIN);
	EXPECT({ 1, -EBADF, false });
	io_uring_prep_recv(request(2), -1, octets, 1, 0);
	EXPECT({ 2, -EBADF, false });
}

/* ---- the thread ------------------------------------------------------------------------------------------- */

static bool waits, returned;
static int result;

static void *run_once(void *unused)
{
	struct xiw_engine *own;

	(void)unused;
	cr_assert_eq(make_engine(io_uring ? "io_uring" : "epoll", &own), 0);
	__atomic_store_n(&e, own, __ATOMIC_RELEASE);
	__atomic_store_n(&waits, true, __ATOMIC_RELEASE);
	result = xiw_engine_run(own, -1);
	__atomic_store_n(&returned, true, __ATOMIC_RELEASE);
	pthread_testcancel();
	return NULL;
}

/* A thread that is cancelled in xiw_engine_run() is so only behind it: no lock is lost. */
BOTH(core_soft_ends, cancelled)
{
	struct xiw_engine *mine = e;
	pthread_t thread;
	void *how;

#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("AddressSanitizer does not know that a cancelled thread leaves its stack");
#endif
	waits = returned = false;
	cr_assert_eq(pthread_create(&thread, NULL, run_once, NULL), 0);
	while (!__atomic_load_n(&waits, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(100000);
	pthread_cancel(thread);
	usleep(100000);
	/* glibc from 2.41 on interrupts the thread by a signal. */
	cr_expect(!__atomic_load_n(&returned, __ATOMIC_ACQUIRE) || result == -EINTR);
	xiw_engine_wake(e);
	pthread_join(thread, &how);
	cr_expect(__atomic_load_n(&returned, __ATOMIC_ACQUIRE));
	cr_expect_eq(how, PTHREAD_CANCELED);
	cr_expect_eq(xiw_engine_destroy(e), 0);
	e = mine;
}

/* Two processes have an engine that nobody has run: one of them runs it. */
BOTH(core_soft_ends, run_by_a_child)
{
	struct xiw_engine *mine = e, *other;
	int status = 0;
	pid_t child;

	cr_assert_eq(make_engine(io_uring ? "io_uring" : "epoll", &other), 0);
	child = fork();
	if (!child)
		_exit(xiw_engine_run(other, 0) != 0);
	cr_expect_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	cr_expect_eq(xiw_engine_run(other, 0), -EEXIST);
	cr_expect_eq(xiw_engine_destroy(other), 0);
	e = mine;
}

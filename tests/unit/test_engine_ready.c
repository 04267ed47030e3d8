// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The descriptor of xiw_engine_fd(): an engine is run only when it says so, by epoll in both of its modes, poll and
 * select. Every wait is without limit, so readiness that is lost makes a test hang. Everything goes over lo, on the
 * kernel path; tests/net/path/test_loop.sh does the same on the direct path.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"

#define ROUNDS 2000u
#define DEPTH 64u

enum how { BY_LEVEL, BY_EDGE, BY_POLL, BY_SELECT, WAYS };

/* An engine in a loop of its own. */
struct loop {
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	enum how how;
	int epoll;
	unsigned int received, closed, called, runs;
	unsigned int answers; /* messages still to be sent, one for each that comes */
};

static struct loop a, b;
static uint8_t octets[64], sink[64];
static struct xiw_conn_opts conn_opts = {
	.size = sizeof(conn_opts), .queues = 1, .recv_depth = DEPTH, .send_depth = DEPTH
};

TestSuite(engine_ready, .timeout = 60);

static void make(struct loop *l, enum how how, unsigned int spin_us)
{
	const struct xiw_engine_opts o = { .size = sizeof(o),
					   .path = XIW_USE_KERNEL,
					   .spin_us = spin_us };
	struct epoll_event event = { .events = EPOLLIN | (how == BY_EDGE ? EPOLLET : 0) };

	memset(l, 0, sizeof(*l));
	l->how = how;
	cr_assert_eq(xiw_engine_create(&o, &l->engine), 0);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	cr_assert_eq(epoll_ctl(l->epoll, EPOLL_CTL_ADD, xiw_engine_fd(l->engine), &event), 0);
}

static void unmake(struct loop *l)
{
	close(l->epoll);
	cr_assert_eq(xiw_engine_destroy(l->engine), 0);
}

/* Returns what poll() would; timeout_ms as there. */
static int wait_once(struct loop *l, int timeout_ms)
{
	struct timeval tv = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };
	struct pollfd p = { .fd = xiw_engine_fd(l->engine), .events = POLLIN };
	struct epoll_event event;
	fd_set set;

	switch (l->how) {
	case BY_POLL:
		return poll(&p, 1, timeout_ms);
	case BY_SELECT:
		FD_ZERO(&set);
		FD_SET(p.fd, &set);
		return select(p.fd + 1, &set, NULL, NULL, timeout_ms < 0 ? NULL : &tv);
	default:
		return epoll_wait(l->epoll, &event, 1, timeout_ms);
	}
}

/* The kernel interrupts a wait when the ring of an engine that was destroyed ends. */
static int wait_for(struct loop *l, int timeout_ms)
{
	int n;

	do
		n = wait_once(l, timeout_ms);
	while (n < 0 && errno == EINTR);
	return n;
}

static void take(struct loop *l, const struct xiw_completion *c)
{
	const struct xiw_message m = { .buf = octets, .len = sizeof(octets) };

	switch (c->event) {
	case XIW_EV_REQUEST:
		for (unsigned int i = 0; i < DEPTH; i++)
			cr_assert_eq(xiw_conn_post_recv(c->conn, 0, sink, sizeof(sink), 0), 0);
		cr_assert_eq(xiw_conn_accept(c->conn, NULL, 0), 0);
		break;
	case XIW_EV_CONNECTED:
		l->conn = c->conn;
		break;
	case XIW_EV_RECEIVED:
		l->received++;
		cr_assert_eq(xiw_conn_post_recv(c->conn, 0, sink, sizeof(sink), 0), 0);
		if (l->answers) {
			l->answers--;
			cr_assert_eq(xiw_conn_send(c->conn, &m), 0);
		}
		break;
	case XIW_EV_CLOSED:
		l->closed++;
		xiw_conn_free(c->conn);
		break;
	default:
		break;
	}
}

/* What a program does when the descriptor is readable. */
static void handle(struct loop *l)
{
	struct xiw_completion c;
	int n;

	while ((n = xiw_engine_run(l->engine, 0)) != 0) {
		cr_assert_geq(n, 0, "run: %d", n);
		while (xiw_engine_next(l->engine, &c))
			take(l, &c);
		l->runs++;
	}
}

/* Nothing may be left to do. A late event of the kernel, which changes nothing, may still make it readable. */
static void becomes_quiet(struct loop *l)
{
	handle(l);
	for (int i = 0; i < 20 && wait_for(l, 0) > 0; i++)
		handle(l);
	cr_assert_eq(wait_for(l, 0), 0);
}

static void listen_at(struct xiw_engine *e, struct sockaddr_in *addr)
{
	struct sockaddr_storage bound;
	struct xiw_listener *l;
	socklen_t len;

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(xiw_listen(e, (struct sockaddr *)addr, sizeof(*addr), &conn_opts, &l), 0);
	cr_assert_eq(xiw_listener_addr(l, &bound, &len), 0);
	memcpy(addr, &bound, sizeof(*addr));
}

/* Waits for both, and runs the one that is ready. */
static void both(void)
{
	struct pollfd p[2] = {
		{ .fd = a.how == BY_EDGE ? a.epoll : xiw_engine_fd(a.engine), .events = POLLIN },
		{ .fd = b.how == BY_EDGE ? b.epoll : xiw_engine_fd(b.engine), .events = POLLIN }
	};

	cr_assert_gt(poll(p, 2, -1), 0);
	if (p[0].revents && wait_for(&a, 0) > 0)
		handle(&a);
	if (p[1].revents && wait_for(&b, 0) > 0)
		handle(&b);
}

static void connect_both(enum how how)
{
	struct sockaddr_in addr;
	struct xiw_conn *c;

	make(&a, how, 0);
	make(&b, how, 0);
	listen_at(a.engine, &addr);
	cr_assert_eq(xiw_connect(b.engine, (struct sockaddr *)&addr, sizeof(addr), &conn_opts, &c),
		     0);
	for (unsigned int i = 0; i < DEPTH; i++)
		cr_assert_eq(xiw_conn_post_recv(c, 0, sink, sizeof(sink), 0), 0);
	handle(&a);
	handle(&b);
	while (!a.conn || !b.conn)
		both();
}

/* ---- the tests --------------------------------------------------------------------------------- */

/* Each engine runs only when its descriptor says so: one message at a time, then many at once. */
static void there_and_back(enum how how)
{
	const struct xiw_message m = { .buf = octets, .len = sizeof(octets) };

	connect_both(how);
	a.answers = ROUNDS;
	b.answers = ROUNDS - 1;
	cr_assert_eq(xiw_conn_send(b.conn, &m), 0);
	handle(&b);
	while (b.received < ROUNDS)
		both();
	cr_assert_eq(a.received, ROUNDS);
	for (unsigned int i = 0; i < DEPTH; i++)
		cr_assert_eq(xiw_conn_send(b.conn, &m), 0);
	handle(&b);
	while (a.received < ROUNDS + DEPTH)
		both();
	becomes_quiet(&a);
	becomes_quiet(&b);
	xiw_conn_close(a.conn);
	xiw_conn_close(b.conn);
	handle(&a);
	handle(&b);
	while (!a.closed || !b.closed)
		both();
	unmake(&a);
	unmake(&b);
}

Test(engine_ready, epoll_level_triggered)
{
	there_and_back(BY_LEVEL);
}

Test(engine_ready, epoll_edge_triggered)
{
	there_and_back(BY_EDGE);
}

Test(engine_ready, by_poll)
{
	there_and_back(BY_POLL);
}

Test(engine_ready, by_select)
{
	there_and_back(BY_SELECT);
}

static void called(struct xiw_engine *e, struct xiw_call *call, int status)
{
	cr_assert(e && call && !status);
	a.called++;
}

static void *wake_it(void *engine)
{
	xiw_engine_wake(engine);
	return NULL;
}

Test(engine_ready, wakes_and_calls)
{
	struct xiw_call call = { .run = called };
	pthread_t thread;

	for (enum how how = 0; how < WAYS; how++) {
		make(&a, how, 0);
		cr_assert_eq(wait_for(&a, -1), 1, "not readable at first");
		becomes_quiet(&a);
		for (unsigned int i = 1; i <= 100; i++) {
			cr_assert_eq(xiw_engine_call(a.engine, &call), 0);
			cr_assert_eq(wait_for(&a, -1), 1);
			handle(&a);
			cr_assert_eq(a.called, i);
			cr_assert_eq(pthread_create(&thread, NULL, wake_it, a.engine), 0);
			cr_assert_eq(wait_for(&a, -1), 1);
			pthread_join(thread, NULL);
			becomes_quiet(&a);
		}
		/* A wait in xiw_engine_run() is ended as well, and does not disturb. */
		xiw_engine_wake(a.engine);
		cr_assert_eq(xiw_engine_run(a.engine, -1), 0);
		becomes_quiet(&a);
		unmake(&a);
		a.called = 0;
	}
}

/* A peer that says nothing: only a timer ends it. The second, shorter one begins while the first one is under way. */
Test(engine_ready, timers)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct xiw_conn_opts o = { .size = sizeof(o), .startup_timeout_ms = 3600000 };
	int silent = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(addr);
	struct xiw_conn *c;

	cr_assert_eq(bind(silent, (struct sockaddr *)&addr, len), 0);
	cr_assert_eq(listen(silent, 8), 0);
	cr_assert_eq(getsockname(silent, (struct sockaddr *)&addr, &len), 0);
	for (enum how how = 0; how < WAYS; how++) {
		make(&a, how, 0);
		o.startup_timeout_ms = 3600000;
		cr_assert_eq(xiw_connect(a.engine, (struct sockaddr *)&addr, len, &o, &c), 0);
		handle(&a);
		o.startup_timeout_ms = 50;
		cr_assert_eq(xiw_connect(a.engine, (struct sockaddr *)&addr, len, &o, &c), 0);
		for (handle(&a); !a.closed; handle(&a))
			cr_assert_eq(wait_for(&a, -1), 1);
		cr_assert_eq(a.closed, 1);
		unmake(&a);
	}
	close(silent);
}

/* A program that takes completions by its own ring runs the engine once each time, and never looks at the result. */
Test(engine_ready, doorbells)
{
	struct sockaddr_in nowhere = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(1) };
	struct xiw_engine_opts o = { .size = sizeof(o),
				     .path = XIW_USE_KERNEL,
				     .flags = XIW_ENGINE_APP_RING };
	struct xiw_completion done;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct xiw_engine *e;
	struct xiw_conn *c;

	/* Without an io_uring there is nothing to ring. */
	if (io_uring_queue_init(8, &ring, 0)) {
		cr_expect_eq(xiw_engine_create(&o, &e), -EOPNOTSUPP);
		return;
	}
	o.app_ring_fd = ring.ring_fd;
	setenv("XIWARP_RING", "io_uring", 1);
	cr_assert_eq(xiw_engine_create(&o, &e), 0);

	struct pollfd p = { .fd = xiw_engine_fd(e), .events = POLLIN };

	for (unsigned int i = 0; i < 200; i++) {
		cr_assert_eq(xiw_connect(e, (struct sockaddr *)&nowhere, sizeof(nowhere), NULL, &c),
			     0);
		cr_assert_geq(xiw_engine_run(e, 0), 0);
		for (int told = 0; told < 2;) {
			if (!io_uring_peek_cqe(&ring, &cqe)) {
				io_uring_cqe_seen(&ring, cqe);
				told++;
				continue;
			}
			cr_assert_eq(poll(&p, 1, -1), 1);
			cr_assert_geq(xiw_engine_run(e, 0), 0);
		}
		while (xiw_engine_next(e, &done))
			if (done.event == XIW_EV_CLOSED)
				xiw_conn_free(done.conn);
	}
	cr_expect_eq(xiw_engine_doorbells_lost(e), 0);
	cr_assert_eq(xiw_engine_destroy(e), 0);
	io_uring_queue_exit(&ring);
}

static void *call_it(void *call)
{
	cr_assert_eq(xiw_engine_call(a.engine, call), 0);
	return NULL;
}

/*
 * An engine that spins is called without a system call: nobody writes its eventfd. On a busy machine the other thread
 * may come too late for that.
 */
Test(engine_ready, spins)
{
	struct xiw_call call = { .run = called };
	bool rung = true;
	pthread_t thread;
	uint64_t count;

	for (unsigned int i = 1; rung && i <= 20; i++) {
		make(&a, BY_LEVEL, 1000000);
		cr_assert_eq(pthread_create(&thread, NULL, call_it, &call), 0);
		while (!a.called)
			cr_assert_eq(xiw_engine_run(a.engine, -1), 0);
		pthread_join(thread, NULL);
		rung = read(a.engine->inbox.fd, &count, sizeof(count)) > 0;
		unmake(&a);
	}
	cr_assert(!rung);
}

/* It does not spin for longer than it would wait, and one second is the most that may be asked for. */
Test(engine_ready, spins_no_longer)
{
	struct xiw_engine_opts o = { .size = sizeof(o), .spin_us = 1000001 };
	uint64_t least = UINT64_MAX, ns;
	struct xiw_engine *e;

	cr_assert_eq(xiw_engine_create(&o, &e), -EINVAL);
	make(&a, BY_LEVEL, 1000000);
	for (int i = 0; i < 20 && least >= 1000000000; i++) {
		xiw_engine_run(a.engine, 0);
		ns = a.engine->now_ns;
		cr_assert_eq(xiw_engine_run(a.engine, 3), 0);
		ns = a.engine->now_ns - ns;
		least = ns < least ? ns : least;
	}
	cr_assert_geq(least, 2000000);
	cr_assert_lt(least, 1000000000);
	unmake(&a);
}

static void *run_once(void *engine)
{
	cr_assert_eq(xiw_engine_run(engine, 0), 0);
	return NULL;
}

static void *ask(void *engine)
{
	cr_assert_eq(xiw_engine_fd(engine), -EEXIST);
	return NULL;
}

/* It may be asked for before anybody runs the engine, also in another thread, and later only by who runs it. */
Test(engine_ready, threads)
{
	const struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };
	struct xiw_engine *e;
	pthread_t thread;
	int fd;

	cr_assert_eq(xiw_engine_create(&o, &e), 0);
	fd = xiw_engine_fd(e);
	cr_assert_geq(fd, 0);
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_assert_eq(pthread_create(&thread, NULL, run_once, e), 0);
	pthread_join(thread, NULL);
	cr_assert_eq(xiw_engine_fd(e), fd);
	cr_assert_eq(xiw_engine_destroy(e), 0);
	cr_assert_eq(fcntl(fd, F_GETFD), -1);

	cr_assert_eq(xiw_engine_create(&o, &e), 0);
	cr_assert_eq(xiw_engine_run(e, 0), 0);
	cr_assert_eq(pthread_create(&thread, NULL, ask, e), 0);
	pthread_join(thread, NULL);
	cr_assert_geq(xiw_engine_fd(e), 0);
	cr_assert_eq(xiw_engine_destroy(e), 0);
}

/* The child has neither descriptor, nor disturbs the parent, whose engine goes on. */
Test(engine_ready, fork)
{
	pid_t pid;
	int status;

	make(&a, BY_LEVEL, 0);
	becomes_quiet(&a);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (!pid) {
		bool shut = a.engine->ready.fd == -1 && a.engine->inbox.fd == -1;

		xiw_engine_wake(a.engine);
		_exit(!shut || xiw_engine_run(a.engine, 0) != -EEXIST);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(wait_for(&a, 0), 0);
	xiw_engine_wake(a.engine);
	cr_assert_eq(wait_for(&a, -1), 1);
	becomes_quiet(&a);
	unmake(&a);
}

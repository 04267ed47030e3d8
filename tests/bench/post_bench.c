// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * post_bench: what it costs that another thread posts than the one that runs the engine. Prints lines for bench_rows.
 *
 * Round trips of a message of 64 octets over lo, by the kernel path, to a thread that echoes them and sleeps between.
 * There are many rounds, which are short, so that a machine that is busy with something else now and then does not
 * matter. In each of them every case makes TRIPS round trips:
 *
 *   one    the thread that runs the engine posts, and waits in xiw_engine_run()
 *   other  another thread posts by xiw_engine_call() to an engine that waits in xiw_engine_run(), and sleeps until that
 *          thread tells it of the answer
 *
 * each with an engine that sleeps at once, and with one that spins before (spin_us). The round trip of `other` is
 * measured until the engine's thread has the answer, and until the other thread has heard of it, which is one more
 * wake-up.
 *
 * If the process may use one core only, nothing spins, and the row says so. Then each wake-up is a switch of threads,
 * and where the scheduler puts them does not matter. One more row compares what the other thread adds with the least
 * that it can add, which is a bare wake-up: it writes to an eventfd, on which a thread waits by io_uring, and sleeps
 * until that thread wakes it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#define TRIPS 300u
#define ROUNDS 51
#define SIZE 64u
#define DEPTH 16u
#define SPIN_US 50u

/* An end of a connection, and who runs its engine. */
struct end {
	struct xiw_engine *engine;
	struct xiw_conn *conn;
	bool echoes, other; /* other: a thread of its own runs the engine */
	struct xiw_call call;
	sem_t answered;
	uint64_t answers;
	pthread_t thread;
	/* For each round trip of this round: until its thread has heard of the answer, and the engine's has it. */
	double us, here_us;
	double asked_us, sum_us; /* when this one was asked for, and what here_us is the mean of */
};

enum { ONE, OTHER, ONE_SPIN, OTHER_SPIN, CASES };

static struct end ends[CASES], echo = { .echoes = true, .other = true };
static uint8_t octets[SIZE], sink[SIZE];
static struct xiw_conn_opts opts = {
	.size = sizeof(opts), .queues = 1, .recv_depth = DEPTH, .send_depth = DEPTH
};

static void need(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "post_bench: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void send_one(struct xiw_conn *conn)
{
	const struct xiw_message m = { .buf = octets, .len = SIZE };

	need(xiw_conn_send(conn, &m), "send");
}

static void post(struct xiw_conn *conn)
{
	need(xiw_conn_post_recv(conn, 0, sink, SIZE, 0), "post");
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void take(struct end *e, const struct xiw_completion *c)
{
	switch (c->event) {
	case XIW_EV_REQUEST:
		for (unsigned int i = 0; i < DEPTH; i++)
			post(c->conn);
		need(xiw_conn_accept(c->conn, NULL, 0), "accept");
		break;
	case XIW_EV_CONNECTED:
		if (!e->echoes)
			e->conn = c->conn;
		break;
	case XIW_EV_RECEIVED:
		if (!e->echoes)
			e->sum_us += now_us() - e->asked_us;
		post(c->conn);
		if (e->echoes)
			send_one(c->conn);
		e->answers++;
		if (!e->echoes && e->other)
			sem_post(&e->answered);
		break;
	case XIW_EV_SENT:
		break;
	default:
		need(-ECONNRESET, "connection");
	}
}

static void run(struct end *e)
{
	struct xiw_completion c;
	int n = xiw_engine_run(e->engine, -1);

	need(n < 0 ? n : 0, "run");
	while (xiw_engine_next(e->engine, &c))
		take(e, &c);
}

static void *run_always(void *arg)
{
	for (;;)
		run(arg);
	return NULL;
}

static void post_call(struct xiw_engine *engine, struct xiw_call *call, int status)
{
	struct end *e = (struct end *)((char *)call - offsetof(struct end, call));

	(void)engine;
	need(status, "call");
	send_one(e->conn);
}

static void make(struct end *e, unsigned int spin_us, const struct sockaddr_in *to)
{
	struct xiw_engine_opts o = { .size = sizeof(o),
				     .path = XIW_USE_KERNEL,
				     .spin_us = spin_us };

	need(xiw_engine_create(&o, &e->engine), "engine");
	e->call.run = post_call;
	sem_init(&e->answered, 0, 0);
	if (!to)
		return;
	need(xiw_connect(e->engine, (const struct sockaddr *)to, sizeof(*to), &opts, &e->conn),
	     "connect");
	for (unsigned int i = 0; i < DEPTH; i++)
		post(e->conn);
	e->conn = NULL;
}

/* The semaphores order what the two threads of `other` write. */
static void measure(struct end *e)
{
	double from = now_us();

	e->sum_us = 0;
	for (unsigned int i = 0; i < TRIPS; i++) {
		uint64_t before = e->answers;

		e->asked_us = now_us();
		if (e->other) {
			need(xiw_engine_call(e->engine, &e->call), "call");
			sem_wait(&e->answered);
			continue;
		}
		send_one(e->conn);
		while (e->answers == before)
			run(e);
	}
	e->us = (now_us() - from) / TRIPS;
	e->here_us = e->sum_us / TRIPS;
}

/* ---- a bare wake-up ------------------------------------------------------------------------------ */

static struct {
	int fd;
	sem_t answered;
} bare;

static void *answer_wakes(void *arg)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SINGLE_ISSUER |
					      IORING_SETUP_DEFER_TASKRUN };
	struct io_uring ring;
	int n;

	(void)arg;
	need(io_uring_queue_init_params(8, &ring, &p), "ring");
	io_uring_prep_poll_multishot(io_uring_get_sqe(&ring), bare.fd, POLLIN);
	for (;;) {
		n = io_uring_submit_and_wait(&ring, 1);
		need(n < 0 ? n : 0, "wait");
		for (n = (int)io_uring_cq_ready(&ring); n > 0; n--) {
			io_uring_cq_advance(&ring, 1);
			sem_post(&bare.answered);
		}
	}
	return NULL;
}

static void make_bare(void)
{
	pthread_t thread;

	bare.fd = eventfd(0, EFD_CLOEXEC);
	need(bare.fd < 0 ? -errno : 0, "eventfd");
	sem_init(&bare.answered, 0, 0);
	need(-pthread_create(&thread, NULL, answer_wakes, NULL), "thread");
}

static double measure_bare(void)
{
	const uint64_t one = 1;
	double from = now_us();

	for (unsigned int i = 0; i < TRIPS; i++) {
		if (write(bare.fd, &one, sizeof(one)) != sizeof(one))
			need(-errno, "eventfd");
		sem_wait(&bare.answered);
	}
	return (now_us() - from) / TRIPS;
}

/* ---- the rounds -------------------------------------------------------------------------------------- */

static void start(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_storage bound;
	struct xiw_listener *listener;
	socklen_t len;

	make(&echo, 0, NULL);
	need(xiw_listen(echo.engine, (struct sockaddr *)&addr, sizeof(addr), &opts, &listener),
	     "listen");
	need(xiw_listener_addr(listener, &bound, &len), "listen");
	need(-pthread_create(&echo.thread, NULL, run_always, &echo), "thread");
	for (int i = 0; i < CASES; i++) {
		ends[i].other = i == OTHER || i == OTHER_SPIN;
		make(&ends[i], i >= ONE_SPIN ? SPIN_US : 0, (struct sockaddr_in *)&bound);
		while (!ends[i].other && !ends[i].conn)
			run(&ends[i]);
	}
}

/* The engine's thread connects first, and sends nothing before it is asked. */
static void *connect_and_run(void *arg)
{
	struct end *e = arg;

	while (!e->conn)
		run(e);
	sem_post(&e->answered);
	return run_always(arg);
}

#define ROW "%s_%s 65536 0 us %.3f %.3f 64 octets there and back over lo, kernel path; "

static void print(const char *name, const struct end *ours, const struct end *other,
		  const char *included)
{
	printf(ROW "both: until the engine's thread has the answer; ours: posted by another "
		   "thread; other: posted by the engine's thread; %s\n",
	       "post_64_other_thread_vs_own", name, ours->here_us, other->here_us, included);
	printf(ROW "ours: posted by another thread, until that one has been woken by the engine's "
		   "thread; other: posted by the engine's thread; %s\n",
	       "post_64_and_back_vs_own", name, ours->us, other->us, included);
}

static bool one_core(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) == 1;
}

/* What one round has measured. */
static void print_round(bool one, double bare_us)
{
	if (!one) {
		print("sleeping", &ends[OTHER], &ends[ONE],
		      "threads where the scheduler puts them, the engine sleeps when there is "
		      "nothing to do");
		print("spinning", &ends[OTHER_SPIN], &ends[ONE_SPIN],
		      "the engine spins for 50 us before it sleeps");
		return;
	}
	print("one_core", &ends[OTHER], &ends[ONE],
	      "all threads on one core, the engine sleeps when there is nothing to do");
	printf("post_64_added_vs_bare_wake_one_core 65536 0 us %.3f %.3f ours: what a round trip "
	       "there and back to the other thread takes longer if that one posts, all threads on "
	       "one core; other: a thread is woken by an eventfd, on which it waits by io_uring, "
	       "and wakes the first one by a semaphore\n",
	       ends[OTHER].us - ends[ONE].us, bare_us);
}

int main(void)
{
	const bool one = one_core();
	double bare_us;

	start();
	make_bare();
	for (int i = 0; i < CASES; i++)
		if (ends[i].other) {
			need(-pthread_create(&ends[i].thread, NULL, connect_and_run, &ends[i]),
			     "thread");
			sem_wait(&ends[i].answered);
		}
	for (int round = -1; round < ROUNDS; round++) { /* one to warm up */
		for (int i = 0; i < (one ? ONE_SPIN : CASES); i++)
			measure(&ends[i]);
		bare_us = measure_bare();
		if (round >= 0)
			print_round(one, bare_us);
	}
	return 0;
}

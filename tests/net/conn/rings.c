// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A receiver that checks its completions: one connection, each completion once and in order, from the engine's queue
 * and, with -r, as CQEs of its own ring.
 *
 *   rings [-r] [-t] [-s] -p kernel|direct ADDRESS PORT STAG SIZE
 *
 *   -r   CQEs in an io_uring of this program, far smaller than the engine's queue
 *   -t   a second thread drives the engine, while the first, which made it and destroys it, takes
 *        completions
 *   -s   slowly: only when the queue stops growing; with -t, with pauses in which it fills
 *
 * The peer writes [0, SIZE) of STAG front to back, once or repeatedly, and sends untagged messages to QN 0
 * to 2, at most 64 to each. Prints one line of JSON. Exit codes: 0 everything was correct, 1 otherwise.
 */
#include <errno.h>
#include <getopt.h>
#include <liburing.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <xiwarp/xiwarp.h>

#define CQ_ENTRIES 4096 /* as few as there may be */
#define RING_ENTRIES 32 /* a CQ of 64 */
#define QUEUES 3
#define RECVS 64
#define RECV_SIZE 4096
#define CONN_DATA 0xc0ffee0123456789u
#define RECV_DATA 0xabcd000000000000u

enum request { NOTHING, ACCEPT, CLOSE, LEAVE };

struct receiver {
	struct xiw_engine *engine;
	struct io_uring ring;
	bool use_ring, threads, slow;
	uint64_t size;
	uint8_t recv[QUEUES][RECVS][RECV_SIZE];

	/* What the consumer asks of the engine's thread, which alone may call the library. */
	enum request request;
	struct xiw_conn *conn;

	uint64_t to;	      /* where the next tagged message must begin */
	uint32_t msn[QUEUES]; /* of the last untagged message */
	uint64_t tagged, tagged_octets, untagged, untagged_octets, flushed, cqes, all;
	uint64_t most; /* completions in the queue at once */
	int queued;    /* after the engine's last turn */
	bool left;
};

static struct receiver receiver;

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "rings: ");
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

static void pause_us(long us)
{
	struct timespec ts = { .tv_nsec = us * 1000 };

	nanosleep(&ts, NULL);
}

/* ---- what a completion must be --------------------------------------------------------------------- */

static void ask(struct receiver *r, enum request what)
{
	while (__atomic_load_n(&r->request, __ATOMIC_ACQUIRE) != NOTHING)
		pause_us(
			100); /* never in the engine's own thread: there, each is answered before the next */
	__atomic_store_n(&r->request, what, __ATOMIC_RELEASE);
}

static void check_written(struct receiver *r, const struct xiw_completion *c)
{
	if (c->user_data != CONN_DATA)
		wrong("a tagged message with user_data %llx", (unsigned long long)c->user_data);
	if (c->to != r->to || c->length > r->size - r->to)
		wrong("a tagged message of %llu octets at %llu, not at %llu",
		      (unsigned long long)c->length, (unsigned long long)c->to,
		      (unsigned long long)r->to);
	r->to += c->length;
	if (r->to == r->size)
		r->to = 0;
	r->tagged++;
	r->tagged_octets += c->length;
}

static void check_received(struct receiver *r, const struct xiw_completion *c)
{
	uint64_t expected = RECV_DATA | (uint64_t)c->qn << 32 | r->msn[c->qn % QUEUES];

	if (c->qn >= QUEUES || c->msn != r->msn[c->qn] + 1)
		wrong("QN %u: MSN %u", c->qn, c->msn);
	/* Buffers are used in the order in which they were posted. */
	if (c->user_data != expected)
		wrong("QN %u MSN %u: user_data %llx", c->qn, c->msn,
		      (unsigned long long)c->user_data);
	r->msn[c->qn]++;
	r->untagged++;
	r->untagged_octets += c->length;
}

static void check(struct receiver *r, const struct xiw_completion *c)
{
	r->all++;
	switch (c->event) {
	case XIW_EV_REQUEST:
		r->conn = c->conn;
		ask(r, ACCEPT);
		break;
	case XIW_EV_WRITTEN:
		check_written(r, c);
		break;
	case XIW_EV_RECEIVED:
		check_received(r, c);
		break;
	case XIW_EV_FLUSHED:
		if (c->status != -ECANCELED || (c->user_data & RECV_DATA) != RECV_DATA)
			wrong("flushed: status %d", c->status);
		r->flushed++;
		break;
	case XIW_EV_EOF:
		ask(r, CLOSE);
		break;
	case XIW_EV_CLOSED:
		if (c->status) {
			struct xiw_conn_info info;

			xiw_conn_info(c->conn, &info, sizeof(info));
			wrong("closed: %s %s", strerror(-c->status), info.no_direct);
		}
		__atomic_store_n(&r->left, true, __ATOMIC_RELEASE);
		ask(r, LEAVE);
		break;
	default:
		break;
	}
}

/* ---- taking them ----------------------------------------------------------------------------------- */

static bool take_from_queue(struct receiver *r)
{
	struct xiw_completion c;

	if (xiw_engine_next(r->engine, &c) <= 0)
		return false;
	check(r, &c);
	return true;
}

/* A CQE is the doorbell of one completion, and tells the same. */
static bool take_from_ring(struct receiver *r, bool wait)
{
	struct __kernel_timespec limit = { .tv_nsec = 20 * 1000 * 1000 };
	struct io_uring_cqe *cqe;
	struct xiw_completion c;
	int res;

	/*
	 * CQEs that found the ring full come with the next entry into the kernel; reading the ring does not enter it.
	 */
	if (io_uring_peek_cqe(&r->ring, &cqe) &&
	    (!wait || io_uring_wait_cqe_timeout(&r->ring, &cqe, &limit)))
		return false;
	if (xiw_engine_next(r->engine, &c) <= 0)
		wrong("CQE %llu has no completion", (unsigned long long)r->cqes);
	res = c.status ? c.status : (int)c.length;
	if (cqe->user_data != c.user_data || cqe->res != res)
		wrong("CQE %llu: user_data %llx res %d, but the completion has %llx and %d",
		      (unsigned long long)r->cqes, (unsigned long long)cqe->user_data, cqe->res,
		      (unsigned long long)c.user_data, res);
	io_uring_cqe_seen(&r->ring, cqe);
	r->cqes++;
	check(r, &c);
	return true;
}

static bool take(struct receiver *r, bool wait)
{
	return r->use_ring ? take_from_ring(r, wait) : take_from_queue(r);
}

/* The engine reserves entries for events that cannot wait, so that it stops before the queue is full. */
static bool full(const struct receiver *r)
{
	return __atomic_load_n(&r->queued, __ATOMIC_RELAXED) >= CQ_ENTRIES * 3 / 4;
}

static void consume(struct receiver *r)
{
	unsigned int n = 0;

	while (!__atomic_load_n(&r->left, __ATOMIC_ACQUIRE)) {
		if (!take(r, true)) {
			if (!r->use_ring)
				pause_us(50);
		} else if (r->slow && !(++n % 3000)) {
			for (int i = 0; i < 200 && !full(r); i++)
				pause_us(1000);
		}
	}
}

/* ---- the engine's thread --------------------------------------------------------------------------- */

static void serve(struct receiver *r)
{
	enum request what = __atomic_load_n(&r->request, __ATOMIC_ACQUIRE);
	int err = 0;

	switch (what) {
	case ACCEPT:
		xiw_conn_set_user_data(r->conn, CONN_DATA);
		for (uint32_t i = 0; i < QUEUES * RECVS && !err; i++)
			err = xiw_conn_post_recv(
				r->conn, i % QUEUES, r->recv[i % QUEUES][i / QUEUES], RECV_SIZE,
				RECV_DATA | (uint64_t)(i % QUEUES) << 32 | i / QUEUES);
		if (!err)
			err = xiw_conn_accept(r->conn, NULL, 0);
		if (err)
			wrong("accept: %s", strerror(-err));
		break;
	case CLOSE:
		xiw_conn_close(r->conn);
		break;
	default:
		return;
	}
	__atomic_store_n(&r->request, NOTHING, __ATOMIC_RELEASE);
}

/* Drives the engine until the last completion is taken. */
static void drive(struct receiver *r)
{
	int n, before = -1, still = 0;

	while (__atomic_load_n(&r->request, __ATOMIC_ACQUIRE) != LEAVE) {
		n = xiw_engine_run(r->engine, 5);
		if (n < 0)
			wrong("engine: %s", strerror(-n));
		__atomic_store_n(&r->queued, n, __ATOMIC_RELAXED);
		if (n > (int)r->most)
			r->most = (uint64_t)n;
		serve(r);
		if (r->threads) {
			if (n > CQ_ENTRIES / 2)
				sched_yield();
			continue;
		}
		still = n == before ? still + 1 : 0;
		before = n;
		if (r->slow && r->to && still < 200) {
			if (still > 100)
				pause_us(20);
			continue;
		}
		still = 0;
		while (take(r, false))
			serve(r);
		if (r->use_ring)
			io_uring_get_events(&r->ring); /* fetches CQEs that found it full */
	}
}

/* The first thread made the engine; from now on this one drives it. */
static void *driver(void *arg)
{
	drive(arg);
	return NULL;
}

static void run(struct receiver *r)
{
	pthread_t thread;

	if (!r->threads) {
		drive(r);
	} else {
		if (pthread_create(&thread, NULL, driver, r))
			wrong("no thread");
		consume(r);
		pthread_join(thread, NULL);
	}
	if (take(r, false))
		wrong("a completion after the last one");
	if (r->use_ring && r->cqes != r->all)
		wrong("%llu CQEs for %llu completions", (unsigned long long)r->cqes,
		      (unsigned long long)r->all);
	if (r->untagged + r->flushed != QUEUES * RECVS)
		wrong("%llu buffers used, %llu flushed", (unsigned long long)r->untagged,
		      (unsigned long long)r->flushed);
}

static void report(const struct receiver *r)
{
	struct xiw_conn_info info;

	xiw_conn_info(r->conn, &info, sizeof(info));
	printf("{\"tagged_messages\":%llu,\"tagged_octets\":%llu,\"untagged_messages\":%llu,"
	       "\"untagged_octets\":%llu,\"completions\":%llu,\"cqes\":%llu,\"most\":%llu,"
	       "\"octets_direct\":%llu,\"octets_kernel\":%llu}\n",
	       (unsigned long long)r->tagged, (unsigned long long)r->tagged_octets,
	       (unsigned long long)r->untagged, (unsigned long long)r->untagged_octets,
	       (unsigned long long)r->all, (unsigned long long)r->cqes, (unsigned long long)r->most,
	       (unsigned long long)info.octets_direct, (unsigned long long)info.octets_kernel);
}

static int start(struct receiver *r, char **argv, enum xiw_use_path path, void *buf)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST }, *addr;
	struct xiw_engine_opts eopts = {
		.size = sizeof(eopts), .cq_entries = CQ_ENTRIES, .app_ring_fd = -1, .path = path
	};
	struct xiw_conn_opts opts = { .size = sizeof(opts), .queues = QUEUES, .recv_depth = RECVS };
	uint32_t stag = (uint32_t)strtoul(argv[2], NULL, 0);
	struct xiw_region_opts region_opts = { .size = sizeof(region_opts), .stag = &stag };
	struct xiw_listener *listener;
	struct xiw_region *region;
	int err;

	if (getaddrinfo(argv[0], argv[1], &hints, &addr))
		wrong("no address: %s", argv[0]);
	if (r->use_ring) {
		err = io_uring_queue_init(RING_ENTRIES, &r->ring, 0);
		if (err)
			wrong("io_uring: %s", strerror(-err));
		eopts.app_ring_fd = r->ring.ring_fd;
		eopts.flags = XIW_ENGINE_APP_RING;
	}
	err = xiw_engine_create(&eopts, &r->engine);
	if (!err)
		err = xiw_region_register(r->engine, buf, r->size, &region_opts, &region);
	if (!err)
		err = xiw_listen(r->engine, addr->ai_addr, addr->ai_addrlen, &opts, &listener);
	freeaddrinfo(addr);
	if (err)
		wrong("start: %s", strerror(-err));
	run(r);
	report(r);
	xiw_conn_free(r->conn);
	xiw_listener_free(listener);
	xiw_region_free(region);
	xiw_engine_destroy(r->engine);
	if (r->use_ring)
		io_uring_queue_exit(&r->ring);
	return 0;
}

int main(int argc, char **argv)
{
	enum xiw_use_path path = XIW_USE_AUTO;
	struct receiver *r = &receiver;
	void *buf;
	int opt;

	while ((opt = getopt(argc, argv, "rtsp:")) != -1) {
		if (opt == 'r')
			r->use_ring = true;
		else if (opt == 't')
			r->threads = true;
		else if (opt == 's')
			r->slow = true;
		else if (opt == 'p')
			path = strcmp(optarg, "direct") ? XIW_USE_KERNEL : XIW_USE_DIRECT;
	}
	if (optind + 4 != argc || path == XIW_USE_AUTO) {
		fprintf(stderr,
			"usage: rings [-r] [-t] [-s] -p kernel|direct ADDRESS PORT STAG SIZE\n");
		return 2;
	}
	r->size = strtoull(argv[optind + 3], NULL, 0);
	buf = malloc(r->size);
	if (!buf)
		wrong("no memory");
	start(r, argv + optind, path, buf);
	free(buf);
	return 0;
}

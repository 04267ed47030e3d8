// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What an application's threads may share with the engine's thread: the completions, which another thread may take, and
 * functions that any thread may call at any time.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "crc32c/crc32c.h"
#include "core/cq.h"
#include "tcp/csum.h"
#include "tests/fuzz/fuzz.h"

#define EVENTS 200000u
#define ENTRIES 64u
#define AHEAD 500u /* most events that wait in memory */
#define CALLERS 4

static struct xiw_engine engine;
static pthread_barrier_t barrier;

/* The engine's thread writes events in order, also if the queue is full. */
static void *produce(void *arg)
{
	struct xiw_conn *conn = arg;

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct xiw_completion c = { .user_data = i, .conn = conn, .length = ~i };

		xiw_complete(&engine, &c);
		while (engine.cq.overflow_n > AHEAD) {
			xiw_cqs_refill(&engine);
			sched_yield();
		}
	}
	while (engine.cq.overflow_n) {
		xiw_cqs_refill(&engine);
		sched_yield();
	}
	return NULL;
}

static void queue(void)
{
	struct xiw_conn *conn = aligned_alloc(64, (sizeof(*conn) + 63) & ~63ul);
	struct xiw_completion c;
	pthread_t thread;

	CHECK(conn);
	memset(conn, 0, sizeof(*conn));
	conn->engine = &engine;
	CHECK(!xiw_cq_init(&engine.cq, &engine, ENTRIES));
	CHECK(!pthread_create(&thread, NULL, produce, conn));
	for (uint32_t i = 0; i < EVENTS; i++) {
		while (!xiw_engine_next(&engine, &c))
			sched_yield();
		CHECK(c.user_data == i && c.length == (uint64_t)(uint32_t)~i, "%u", i);
	}
	pthread_join(thread, NULL);
	CHECK(!xiw_engine_next(&engine, &c));
	free(engine.cq.overflow);
	free(engine.cq.entries);
	free(conn);
	printf("PASS completions taken by another thread\n");
}

/*
 * Rounds of events alternate between two connections. The events of the first are taken, in order. The second is freed
 * after each of its rounds; a thread that knows this takes no event of that round or an earlier one afterwards.
 */
#define ROUNDS 100000u
#define EACH 3u

static uint64_t freed; /* round */

static void *produce_and_free(void *arg)
{
	struct xiw_conn *conns = arg;

	for (uint32_t r = 0; r < ROUNDS; r++) {
		struct xiw_completion c = { .user_data = r,
					    .conn = &conns[r % 2],
					    .event = XIW_EV_WRITTEN };

		for (uint32_t i = 0; i < EACH; i++)
			xiw_complete(&engine, &c);
		if (r % 2) {
			xiw_cq_forget_conn(c.conn);
			__atomic_store_n(&freed, r, __ATOMIC_RELEASE);
		}
		do {
			xiw_cqs_refill(&engine);
			sched_yield();
		} while (engine.cq.overflow_n > AHEAD);
	}
	while (engine.cq.overflow_n) {
		xiw_cqs_refill(&engine);
		sched_yield();
	}
	return NULL;
}

static void frees(void)
{
	size_t size = 2 * sizeof(struct xiw_conn);
	struct xiw_conn *conns = aligned_alloc(64, size);
	uint64_t known, next = 0, n = 0;
	struct xiw_completion c;
	pthread_t thread;

	CHECK(conns);
	memset(conns, 0, size);
	memset(&engine, 0, sizeof(engine));
	conns[0].engine = conns[1].engine = &engine;
	CHECK(!xiw_cq_init(&engine.cq, &engine, ENTRIES));
	CHECK(!pthread_create(&thread, NULL, produce_and_free, conns));
	while (n < ROUNDS / 2 * EACH) {
		known = __atomic_load_n(&freed, __ATOMIC_ACQUIRE);
		if (!xiw_engine_next(&engine, &c)) {
			sched_yield();
			continue;
		}
		CHECK(c.user_data >= next && c.conn == &conns[c.user_data % 2]);
		CHECK(!(c.user_data % 2) || c.user_data > known, "%llu is freed",
		      (unsigned long long)c.user_data);
		next = c.user_data;
		n += !(c.user_data % 2);
	}
	pthread_join(thread, NULL);
	CHECK(!xiw_engine_next(&engine, &c));
	free(engine.cq.overflow);
	free(engine.cq.entries);
	free(conns);
	printf("PASS connections freed while another thread takes\n");
}

/*
 * Queues of the application's own: two threads sleep on their queues' descriptors while a third one fills the queues. A
 * thread arms its queue before it looks into it a last time, so it never sleeps while there is something for it.
 */
#define OWN_EVENTS 100000u

struct consumer {
	struct xiw_cq *cq;
	uint8_t op;
	uint32_t n;
	bool solicited_only;
};

static void *consume(void *arg)
{
	struct consumer *me = arg;
	struct pollfd p = { .fd = xiw_cq_fd(me->cq), .events = POLLIN };
	struct xiw_completion c;
	uint64_t octets;

	while (me->n < OWN_EVENTS) {
		CHECK(!xiw_cq_arm(me->cq, me->solicited_only));
		while (xiw_cq_next(me->cq, &c)) {
			CHECK(c.op == me->op && c.user_data == me->n, "%llu, not %u",
			      (unsigned long long)c.user_data, me->n);
			me->n++;
		}
		if (me->n == OWN_EVENTS)
			break;
		CHECK(poll(&p, 1, 60000) == 1, "nobody woke it at %u", me->n);
		CHECK(read(p.fd, &octets, sizeof(octets)) == sizeof(octets) || errno == EAGAIN);
	}
	return NULL;
}

static void *produce_for_two(void *arg)
{
	for (uint32_t i = 0; i < OWN_EVENTS; i++) {
		struct xiw_completion c = {
			.user_data = i, .conn = arg, .event = XIW_EV_SENT, .op = XIW_OPERATION_SEND
		};

		xiw_complete(&engine, &c);
		c.event = XIW_EV_RECEIVED;
		c.op = XIW_OPERATION_RECV;
		/* Of four, three do not wake the thread that waits for the fourth; the last one must. */
		c.flags = i % 4 == 3 ? XIW_COMPLETION_SOLICITED : 0;
		xiw_complete(&engine, &c);
		while (engine.cqs.overflowing && i % 512 == 511) {
			xiw_cqs_refill(&engine);
			sched_yield();
		}
	}
	while (engine.cqs.overflowing) {
		xiw_cqs_refill(&engine);
		sched_yield();
	}
	return NULL;
}

static void own_queues(void)
{
	const struct xiw_cq_opts o = { .size = sizeof(o), .entries = 64, .flags = XIW_CQ_NOTIFY };
	struct consumer of[2] = { { .op = XIW_OPERATION_SEND },
				  { .op = XIW_OPERATION_RECV, .solicited_only = true } };
	struct xiw_conn *conn = aligned_alloc(64, (sizeof(*conn) + 63) & ~63ul);
	pthread_t thread[2], producer;

	CHECK(conn);
	memset(conn, 0, sizeof(*conn));
	memset(&engine, 0, sizeof(engine));
	conn->engine = &engine;
	for (int i = 0; i < 2; i++)
		CHECK(!xiw_cq_create(&engine, &o, &of[i].cq));
	CHECK(!xiw_outlets_set(conn, of[0].cq, of[1].cq));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&thread[i], NULL, consume, &of[i]));
	CHECK(!pthread_create(&producer, NULL, produce_for_two, conn));
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	pthread_join(producer, NULL);
	CHECK(xiw_cq_free(of[0].cq) == -EBUSY);
	xiw_outlets_leave(conn);
	for (int i = 0; i < 2; i++)
		CHECK(!xiw_cq_free(of[i].cq));
	CHECK(!engine.cqs.made && !engine.budget.used);
	free(conn);
	printf("PASS queues of the application, each with a thread that sleeps\n");
}

/* All threads call them at once, for the first time. */
static void *call(void *arg)
{
	static const uint8_t octets[] = "123456789";
	uint8_t copy[9];

	pthread_barrier_wait(&barrier);
	CHECK(xiw_crc32c(0, octets, 9) == 0xe3069283);
	CHECK(xiw_crc32c_copy(0, copy, octets, 9) == 0xe3069283 && !memcmp(copy, octets, 9));
	CHECK(xiw_csum_fold(xiw_csum_partial(octets, 9)) ==
	      xiw_csum_fold(xiw_csum_partial_generic(octets, 9)));
	return arg;
}

static void calls(void)
{
	pthread_t thread[CALLERS];

	CHECK(!pthread_barrier_init(&barrier, NULL, CALLERS));
	for (int i = 0; i < CALLERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, call, NULL));
	for (int i = 0; i < CALLERS; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&barrier);
	printf("PASS first calls from several threads\n");
}

int main(void)
{
	calls();
	queue();
	frees();
	own_queues();
	return 0;
}

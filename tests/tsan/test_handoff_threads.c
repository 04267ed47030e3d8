// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * timeout: 240
 *
 * The hand-off in threads: two CPUs that run the BPF programs, the engine, and the peer. They share the same words in
 * memory as when the programs are loaded. As in the fuzz target, every octet arrives once, in order, and no octet is
 * acknowledged that nobody holds. ThreadSanitizer (make tsan) finds each unintended access to shared memory.
 */
#include <pthread.h>
#include <sched.h>

#include <time.h>

#include "tests/fuzz/handoff_engine.h"

#define LIMIT_S 100 /* when to give up: some fifty times what a run takes */

static pthread_mutex_t world = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t socket_lock = PTHREAD_MUTEX_INITIALIZER;
static bool over;

static void lock(bool on)
{
	if (on)
		pthread_mutex_lock(&world);
	else
		pthread_mutex_unlock(&world);
}

struct dice {
	uint64_t state;
};

static uint32_t roll(struct dice *d, uint32_t n)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(d->state >> 33) % n;
}

static bool is_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

static void *run_engine(void *arg)
{
	struct dice d = { 77 };

	while (!is_over()) {
		read_most = roll(&d, 4) ? 4096 : 1 + roll(&d, 600);
		engine_turn(NULL);
		if (!roll(&d, 8))
			sched_yield();
	}
	return arg;
}

/* Segments that passed XDP or were injected reach the socket, on any CPU. */
static void softirq(struct cpu *c)
{
	struct parcel *p;

	while (injected.n) {
		p = pull(&injected, 0);
		sock_receive(p->octets, p->octets_len, p);
		free(p);
	}
	while (c->backlog.n) {
		p = pull(&c->backlog, 0);
		sock_receive(p->octets + ETH, p->octets_len - ETH, p);
		free(p);
	}
}

/* A segment from the wire, which may lose, double and reorder; or an acknowledgement from the socket. */
static bool find_job(struct cpu *c, struct dice *d)
{
	struct parcel *copy;

	c->edge_before = edge;
	if (c->egress) {
		if (!wire.n && roll(d, 4))
			return false;
		c->job = sock_ack();
		return true;
	}
	if (!wire.n)
		return false;
	c->job = pull(&wire, roll(d, 32) ? 0 : roll(d, wire.n));
	if (!roll(d, 64)) {
		free(c->job);
		return false;
	}
	if (!roll(d, 64)) {
		copy = new_parcel();
		*copy = *c->job;
		push(&wire, copy);
	}
	return true;
}

static void *run_cpu(void *arg)
{
	struct cpu *c = arg;
	struct dice d = { 1 + (uint64_t)(c - cpus) };
	bool found;

	while (!is_over()) {
		c->egress = c == &cpus[1] || !roll(&d, 8);
		/* The kernel sends with the socket locked, one segment after the other. */
		if (c->egress)
			pthread_mutex_lock(&socket_lock);
		world_lock();
		found = find_job(c, &d);
		world_unlock();
		if (found)
			cpu_run(c);
		if (c->egress)
			pthread_mutex_unlock(&socket_lock);
		world_lock();
		softirq(c);
		world_unlock();
		if (!found)
			sched_yield();
	}
	return arg;
}

/* Mostly aligned segments, sometimes misaligned ones, and retransmissions of what is overdue. */
static void peer(void)
{
	uint32_t last = 0, still = 0;
	struct dice d = { 5 };
	time_t began = time(NULL);

	while (!is_over()) {
		world_lock();
		for (int i = 0; i < 8 && !fin_sent; i++) {
			uint32_t len = fpdu_end(peer_nxt) - peer_nxt;

			if (len && !roll(&d, 400))
				len = 1 + roll(&d, len);
			transmit(peer_nxt, len, true);
		}
		still = peer_una == last ? still + 1 : 0;
		last = peer_una;
		if (still > 40 && !wire.n) {
			transmit(peer_una,
				 roll(&d, 4) ? fpdu_end(peer_una) - peer_una : 1 + roll(&d, MSS),
				 fin_sent);
			still = 20;
		}
		if (peer_una == stream_end + 1)
			__atomic_store_n(&over, true, __ATOMIC_RELEASE);
		world_unlock();
		__atomic_fetch_add(&xdp_now, 300000, __ATOMIC_RELAXED);
		sched_yield();
		CHECK(time(NULL) - began < LIMIT_S, "stalls at %u of %u", last, stream_end);
	}
}

int main(void)
{
	static const uint8_t kinds[][4] = { { 1, 1, 8, 3 }, { 3, 2, 0, 9 } };
	pthread_t engine_thread, cpu_thread[XDP_CPUS];
	uint64_t hand_offs = 0;

	world_locks = lock;
	stream_max = 1000000;
	fpdus_max = 8000;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct fuzz_in in = { kinds[i], sizeof(kinds[i]) };

		over = false;
		world_begin(&in);
		CHECK(!pthread_create(&engine_thread, NULL, run_engine, NULL));
		for (int c = 0; c < XDP_CPUS; c++)
			CHECK(!pthread_create(&cpu_thread[c], NULL, run_cpu, &cpus[c]));
		peer();
		pthread_join(engine_thread, NULL);
		for (int c = 0; c < XDP_CPUS; c++)
			pthread_join(cpu_thread[c], NULL);
		/* The socket has acknowledged everything, and the engine has yet to read it. */
		for (int t = 0; t < 1000 && next_fpdu != nfpdus; t++) {
			take_completions();
			engine_turn(NULL);
			xdp_now += 100000;
		}
		CHECK(next_fpdu == nfpdus, "%u of %u messages", next_fpdu, nfpdus);
		CHECK(conn->counts.stream_direct > stream_end / 10, "%llu octets went direct",
		      (unsigned long long)conn->counts.stream_direct);
		hand_offs += conn->counts.went_direct + conn->counts.went_kernel;
		world_end();
	}
	CHECK(hand_offs > 10, "%llu hand-offs", (unsigned long long)hand_offs);
	printf("PASS handoff (%llu hand-offs)\n", (unsigned long long)hand_offs);
	return 0;
}

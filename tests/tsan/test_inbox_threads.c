// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What other threads ask of an engine that is run: calls are carried out once each and in order, no wake is lost, and
 * nobody waits who was woken. An engine that ends runs the calls that are left.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <xiwarp/xiwarp.h>

#include "tests/fuzz/fuzz.h"

#define CALLERS 3u
#define CALLS 20000u
#define ROUNDS 20000u

static struct xiw_engine *make(void)
{
	struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };
	struct xiw_engine *e;

	CHECK(!xiw_engine_create(&o, &e));
	return e;
}

/* ---- calls from many threads ---------------------------------------------------------------------- */

struct numbered {
	struct xiw_call call;
	unsigned int caller, number;
};

/* Only the engine's thread uses these. */
static unsigned int next_number[CALLERS], done, cancelled;
static _Atomic unsigned int ahead[CALLERS];

static void count(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct numbered *n = (struct numbered *)call;

	(void)e;
	CHECK(!status || status == -ECANCELED);
	CHECK(n->number == next_number[n->caller]++, "%u of %u", n->number, n->caller);
	ahead[n->caller]--;
	done++;
	cancelled += !!status;
	free(n);
}

static void hand_over(struct xiw_engine *e, unsigned int caller, unsigned int number)
{
	struct numbered *n = malloc(sizeof(*n));

	CHECK(n);
	*n = (struct numbered){ .call.run = count, .caller = caller, .number = number };
	ahead[caller]++;
	CHECK(!xiw_engine_call(e, &n->call));
}

struct caller {
	struct xiw_engine *engine;
	unsigned int number;
	pthread_t thread;
};

/* Often waits until the engine has nothing left to do, so that it goes to sleep at every possible point. */
static void *hand_over_many(void *arg)
{
	struct caller *c = arg;

	for (unsigned int i = 0; i < CALLS; i++) {
		hand_over(c->engine, c->number, i);
		while (ahead[c->number] > (i % 8 ? 100 : 0))
			sched_yield();
	}
	return NULL;
}

static void run(struct xiw_engine *e, bool by_descriptor)
{
	struct pollfd p = { .events = POLLIN };

	if (!by_descriptor) {
		CHECK(xiw_engine_run(e, -1) == 0);
		return;
	}
	p.fd = xiw_engine_fd(e);
	CHECK(poll(&p, 1, -1) == 1 || errno == EINTR);
	CHECK(xiw_engine_run(e, 0) == 0);
}

/* Every wait is without limit: a call that does not end the engine's sleep makes this hang. */
static void calls(bool by_descriptor)
{
	struct caller callers[CALLERS];
	struct xiw_engine *e = make();

	done = cancelled = 0;
	memset(next_number, 0, sizeof(next_number));
	for (unsigned int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .engine = e, .number = i };
		CHECK(!pthread_create(&callers[i].thread, NULL, hand_over_many, &callers[i]));
	}
	while (done < CALLERS * CALLS)
		run(e, by_descriptor);
	for (unsigned int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	CHECK(done == CALLERS * CALLS && !cancelled);
	for (unsigned int i = 0; i < 5; i++)
		hand_over(e, 0, CALLS + i);
	CHECK(!xiw_engine_destroy(e));
	CHECK(cancelled == 5 && done == CALLERS * CALLS + 5, "%u cancelled", cancelled);
	printf("PASS calls from %u threads, in order, and at the end%s\n", CALLERS,
	       by_descriptor ? ", by the descriptor" : "");
}

/* ---- wakes ------------------------------------------------------------------------------------------ */

struct pair {
	struct xiw_engine *engine, *other;
	unsigned int *mine, *theirs;
	struct xiw_call call;
};

/* Takes turns with the other engine: each wakes the other and waits for it. */
static void *take_turns(void *arg)
{
	struct pair *p = arg;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		__atomic_store_n(p->mine, i, __ATOMIC_RELAXED);
		xiw_engine_wake(p->other);
		while (__atomic_load_n(p->theirs, __ATOMIC_RELAXED) < i)
			CHECK(xiw_engine_run(p->engine, -1) == 0);
	}
	return NULL;
}

static void wakes(void)
{
	struct xiw_engine *a = make(), *b = make();
	unsigned int at_a = 0, at_b = 0;
	struct pair one = { .engine = a, .other = b, .mine = &at_a, .theirs = &at_b };
	struct pair two = { .engine = b, .other = a, .mine = &at_b, .theirs = &at_a };
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, take_turns, &two));
	take_turns(&one);
	pthread_join(thread, NULL);
	CHECK(!xiw_engine_destroy(a));
	CHECK(!xiw_engine_destroy(b));
	printf("PASS two engines wake each other\n");
}

/* A call that hands itself over to the other engine, and so on. */
static unsigned int hops;

static void hop(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct pair *p = (struct pair *)((char *)call - offsetof(struct pair, call));

	CHECK(!status);
	if (hops++ < ROUNDS) {
		CHECK(!xiw_engine_call(e == p->engine ? p->other : p->engine, call));
		return;
	}
	__atomic_store_n(p->mine, 1, __ATOMIC_RELAXED);
	xiw_engine_wake(p->engine);
	xiw_engine_wake(p->other);
}

static void *run_until_hopped(void *arg)
{
	struct pair *p = arg;

	while (!__atomic_load_n(p->mine, __ATOMIC_RELAXED))
		CHECK(xiw_engine_run(p->other, -1) == 0);
	return NULL;
}

static void hand_on(void)
{
	unsigned int over = 0;
	struct pair p = { .engine = make(), .other = make(), .mine = &over, .call.run = hop };
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, run_until_hopped, &p));
	CHECK(!xiw_engine_call(p.engine, &p.call));
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		CHECK(xiw_engine_run(p.engine, -1) == 0);
	pthread_join(thread, NULL);
	CHECK(hops == ROUNDS + 1);
	/* Threads that have ended may have left their engines to this one. */
	CHECK(!xiw_engine_destroy(p.other));
	CHECK(!xiw_engine_destroy(p.engine));
	printf("PASS a call goes to and fro between two engines\n");
}

/* ---- a signal, a thread that ended, and a child ------------------------------------------------------- */

static struct xiw_engine *signalled;

static void on_signal(int number)
{
	(void)number;
	xiw_engine_wake(signalled);
}

/* The signal may come at any point before the wait: then its wake ends the wait. */
static void from_a_signal(void)
{
	struct sigaction act = { .sa_handler = on_signal };
	int err;

	signalled = make();
	CHECK(!sigaction(SIGUSR1, &act, NULL));
	for (int i = 0; i < 1000; i++) {
		pthread_kill(pthread_self(), SIGUSR1);
		err = xiw_engine_run(signalled, -1);
		CHECK(!err || err == -EINTR, "%d", err);
	}
	CHECK(!xiw_engine_destroy(signalled));
	printf("PASS woken from a signal handler\n");
}

static void *run_once(void *engine)
{
	CHECK(xiw_engine_run(engine, 0) == 0);
	return NULL;
}

static void after_its_thread(void)
{
	struct xiw_engine *e = make();
	pthread_t thread;

	done = cancelled = next_number[0] = 0;
	CHECK(!pthread_create(&thread, NULL, run_once, e));
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < 3; i++)
		hand_over(e, 0, i);
	xiw_engine_wake(e);
	CHECK(!xiw_engine_destroy(e));
	CHECK(cancelled == 3);
	printf("PASS calls to an engine whose thread has ended\n");
}

int main(void)
{
	calls(false);
	calls(true);
	wakes();
	hand_on();
	from_a_signal();
	after_its_thread();
	return 0;
}

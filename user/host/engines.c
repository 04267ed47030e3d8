// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/engines.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/now.h"
#include "conn/unstarted.h"
#include "engine/share.h"
#include "host/alone.h"
#include "host/cq.h"
#include "host/files.h"
#include "host/host.h"
#include "host/interfaces.h"
#include "host/life.h"
#include "host/settings.h"

void (*xiw_host_take)(struct xiw_engine *engine, const struct xiw_completion *completion);

/* With xiw_host_lock. */
static struct {
	struct xiw_host_life life;
	struct xiw_group *group;
	bool starting;
	pid_t pid; /* of the process whose threads run them */
} all;

static pthread_cond_t started = PTHREAD_COND_INITIALIZER;

static _Thread_local unsigned int here;
static _Thread_local bool inside;

unsigned int xiw_host_here(void)
{
	return here;
}

bool xiw_host_inside(void)
{
	return inside;
}

struct place {
	struct xiw_engine *engine;
	struct xiw_host_later *waiting; /* the earliest first; for whoever has the engine */
	struct xiw_host_later *last;	/* the latest of them, if there are any */
};

static struct place places[XIW_GROUP_ENGINES_MAX];
static unsigned int nplaces; /* that threads may look at */

/* ---- later ---------------------------------------------------------------------------------------------------- */

void xiw_host_do_later(struct xiw_host_later *later, unsigned int ms)
{
	struct place *p = &places[here];
	struct xiw_host_later **at = &p->waiting;

	later->at = xiw_now_ms() + ms;
	/* Of those that take long there may be many. */
	if (p->waiting && p->last->at <= later->at)
		at = &p->last->next;
	while (*at && (*at)->at <= later->at)
		at = &(*at)->next;
	later->next = *at;
	*at = later;
	if (!later->next)
		p->last = later;
}

/* Does what is due, and returns how long the engine may wait: -1: for ever. */
static int do_due(struct place *p)
{
	struct xiw_host_later *due;
	uint64_t now;

	while ((due = p->waiting) && due->at <= (now = xiw_now_ms())) {
		p->waiting = due->next;
		due->run(p->engine, due);
	}
	/* At a later reading it might be overdue, and less than 0 is for ever. */
	return due ? (int)(due->at - now) : -1;
}

/* ---- threads -------------------------------------------------------------------------------------------------- */

unsigned int xiw_host_take_all(struct xiw_engine *e)
{
	struct xiw_completion c;
	unsigned int n = 0;

	for (; xiw_engine_next(e, &c) > 0; n++)
		xiw_host_take(e, &c);
	return n;
}

static void *serve(void *arg)
{
	struct place *p = arg;
	struct xiw_engine *e = p->engine;

	here = (unsigned int)(p - places);
	inside = true;
	xiw_host_thread_begins();
	for (int n = xiw_share_begin(e);; n = xiw_engine_run(e, do_due(p))) {
		if (n < 0 && n != -EINTR) {
			fprintf(stderr, "xiwarp: the engine cannot go on: %s\n", strerror(-n));
			abort(); /* its connections would stand still for ever */
		}
		/* A thread that shares the core answers first: the next call tells sockets what has come. */
		if (xiw_host_take_all(e))
			xiw_share_yield(e);
	}
	return NULL;
}

/* A turn of a thread that has the engine's lock. */
static void take_turn(struct place *p)
{
	struct xiw_host_later *first = p->waiting;
	const unsigned int was = here;

	here = (unsigned int)(p - places);
	inside = true;
	xiw_share_turn(p->engine);
	xiw_host_take_all(p->engine);
	/* The engine's thread does not know of this time yet. */
	if (p->waiting != first)
		xiw_engine_wake(p->engine);
	here = was;
	inside = false;
}

static void look(struct place *p)
{
	const int cancel = xiw_cancel_off();

	if (xiw_share_enter(p->engine)) {
		take_turn(p);
		xiw_share_leave(p->engine);
	}
	xiw_cancel_restore(cancel);
}

void xiw_host_look(void)
{
	static _Thread_local unsigned int next;
	const unsigned int n = __atomic_load_n(&nplaces, __ATOMIC_ACQUIRE);

	if (n && !xiw_host_dead(&all.life))
		look(&places[next++ % n]);
}

/* Threads wait for events of one engine only. */
static struct place *only_place(void)
{
	return __atomic_load_n(&nplaces, __ATOMIC_ACQUIRE) == 1 && !xiw_host_dead(&all.life)
		       ? &places[0]
		       : NULL;
}

void xiw_host_posted(struct xiw_engine *e)
{
	struct place *p = only_place();

	if (p && p->engine == e && xiw_share_unattended(e))
		look(p);
}

struct awaiting {
	const struct xiw_host_await *a;
	struct xiw_engine *engine;
	struct xiw_share_sleep sleep;
	int cancel;
};

static void cut(void *arg)
{
	struct awaiting *w = arg;

	xiw_share_wait_cut(w->engine, &w->sleep);
	w->a->cut(w->a->ctx);
}

/*
 * False: a signal has come that ends the wait. Whatever it holds of the engine is given back if the thread is cancelled
 * there.
 */
static bool sleep_by(struct awaiting *w)
{
	struct pollfd fds[XIW_SHARE_QUEUES + 2] = { { .fd = w->a->fd, .events = POLLIN } };
	const unsigned int n = w->sleep.n;
	int rc;

	for (unsigned int i = 0; i < n; i++)
		fds[i + 1] = (struct pollfd){ .fd = w->sleep.fd[i], .events = POLLIN };
	xiw_host_look_at_handlers();
	pthread_cleanup_push(cut, w);
	pthread_setcancelstate(w->cancel, NULL);
	rc = poll(fds, n + 1, -1);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cleanup_pop(0);
	w->sleep.rung = w->sleep.driver && fds[n].revents;
	return rc >= 0 || (errno == EINTR && xiw_host_restarts());
}

int xiw_host_await(const struct xiw_host_await *a)
{
	struct place *p = only_place();
	struct awaiting w = { .a = a };
	bool ready, awake = true;
	int rc = -ENOSYS;

	if (!p)
		return rc;
	w.engine = p->engine;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &w.cancel);
	if (xiw_share_wait(w.engine, &w.sleep)) {
		do {
			a->looks(a->ctx);
			take_turn(p);
			ready = a->ready(a->ctx);
			if (ready || !awake)
				break;
			if (!xiw_share_fall_asleep(w.engine, &w.sleep))
				continue;
			awake = sleep_by(&w);
			xiw_share_wake_up(w.engine, &w.sleep);
		} while (true);
		xiw_share_wait_over(w.engine);
		rc = ready ? 0 : -EINTR;
	}
	pthread_setcancelstate(w.cancel, NULL);
	return rc;
}

void xiw_host_sleeps(void)
{
	const unsigned int n = __atomic_load_n(&nplaces, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < n && !xiw_host_dead(&all.life); i++)
		xiw_share_stop(places[i].engine);
}

static int start_thread(struct xiw_group *g, unsigned int i)
{
	char name[32];
	pthread_t thread;
	int err;

	places[i] = (struct place){ .engine = xiw_group_engine(g, i) };
	err = -pthread_create(&thread, NULL, serve, &places[i]);
	if (err)
		return err;
	snprintf(name, sizeof(name), "xiwarp/%u", i % 1000);
	pthread_setname_np(thread, name);
	pthread_detach(thread);
	return 0;
}

static void nothing(void *ctx)
{
	(void)ctx;
}

/*
 * Returns when each engine has run once. A program may rewrite functions of libc that an engine calls when it begins,
 * as libfabric does with madvise() to watch memory, and that is safe only while no other thread is in them.
 */
static int start_threads(struct xiw_group *g)
{
	const unsigned int n = xiw_group_engines(g);
	unsigned int running = 0;
	sigset_t every, was;
	int err = 0;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &was);
	while (running < n && !err) {
		err = start_thread(g, running);
		running += !err;
	}
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!running)
		return err;
	/* Those that run go on, and the others are missing only as their queues are. */
	for (unsigned int i = running; i < n; i++)
		xiw_engine_destroy(xiw_group_engine(g, i));
	for (unsigned int i = 0; i < running; i++)
		xiw_host_ask(xiw_group_engine(g, i), nothing, NULL);
	all.pid = getpid();
	__atomic_store_n(&nplaces, running, __ATOMIC_RELEASE);
	return 0;
}

/* Each object that is made would fail of the same, with its own function's words. */
static void say_no_engine(int err)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fprintf(stderr, "xiwarp: no connection can be made, as no engine can begin: %s%s\n",
			strerror(-err),
			err == -ENOMEM ? ": no memory, or the memlock limit (ulimit -l) is used up"
			: err == -EMFILE ? ": raise the limit on open files (ulimit -n)"
			: err == -EPERM || err == -EACCES || err == -ENOSYS || err == -EINVAL
				? ": XIWARP_RING insists on io_uring, which is refused here; unset "
				  "it, and engines have epoll"
				: "");
}

/* Says why there is no direct path, where the program would not be expected to be without. */
static void prepare(struct xiw_group *g, enum xiw_use_path path)
{
	char why[256] = "";
	int err = xiw_group_prepare(g, NULL, why, sizeof(why));

	if (err && path == XIW_USE_DIRECT)
		fprintf(stderr, "xiwarp: no connection can be made, as none can go direct: %s\n",
			why);
	else if (err == -EBUSY || err == -ENOBUFS)
		fprintf(stderr, "xiwarp: all octets take the kernel's path: %s\n", why);
}

/*
 * The connections of a moment may all come to one engine, so each has the whole limit. What protects the descriptors of
 * the process is the limit itself: when it is reached, old connections without a Request make way.
 */
static void admit_all(struct xiw_group *g)
{
	for (unsigned int i = 0; i < xiw_group_engines(g); i++)
		xiw_group_engine(g, i)->opts.max_unstarted = xiw_unstarted_default();
}

static int start(struct xiw_group **group)
{
	struct xiw_engine_opts eo = { .size = sizeof(eo) };
	struct xiw_group_opts go = { .size = sizeof(go), .engine = &eo };
	struct xiw_group *g;
	int err = xiw_host_settings(&eo, &go);

	if (!err) {
		xiw_host_files_raise();
		err = xiw_group_create(&go, &g);
		if (err)
			say_no_engine(err);
	}
	if (err)
		return err;
	xiw_host_interfaces_watch();
	admit_all(g);
	prepare(g, eo.path);
	err = start_threads(g);
	if (err)
		xiw_group_destroy(g);
	else
		*group = g;
	return err;
}

int xiw_host_engines(struct xiw_group **group)
{
	struct xiw_group *made = NULL;
	const int cancel = xiw_cancel_off();
	int err = 0;

	pthread_mutex_lock(&xiw_host_lock);
	if (xiw_host_dead(&all.life)) {
		/* What a child finds there is its parent's. */
		all.group = NULL;
		all.starting = false;
		__atomic_store_n(&nplaces, 0, __ATOMIC_RELEASE);
		pthread_cond_init(&started, NULL);
		xiw_host_born(&all.life);
	}
	while (all.starting)
		pthread_cond_wait(&started, &xiw_host_lock);
	if (!all.group) {
		/* Without the lock: a fork() takes it, and the one of the list of engines before that. */
		all.starting = true;
		pthread_mutex_unlock(&xiw_host_lock);
		err = start(&made);
		pthread_mutex_lock(&xiw_host_lock);
		all.group = made;
		all.starting = false;
		pthread_cond_broadcast(&started);
	}
	*group = all.group;
	pthread_mutex_unlock(&xiw_host_lock);
	xiw_cancel_restore(cancel);
	return err;
}

struct xiw_group *xiw_host_group(void)
{
	return xiw_host_dead(&all.life) ? NULL : all.group;
}

struct xiw_engine *xiw_host_engine(unsigned int i)
{
	if (i >= __atomic_load_n(&nplaces, __ATOMIC_ACQUIRE) || xiw_host_dead(&all.life) ||
	    all.pid != getpid())
		return NULL;
	return places[i].engine;
}

struct ask {
	struct xiw_call call;
	void (*run)(void *ctx);
	void *ctx;
	sem_t done;
};

static void answer(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct ask *a = (void *)((char *)call - offsetof(struct ask, call));

	(void)e;
	(void)status;
	a->run(a->ctx);
	sem_post(&a->done);
}

static struct place *place_of(const struct xiw_engine *e)
{
	const unsigned int n = __atomic_load_n(&nplaces, __ATOMIC_ACQUIRE);

	for (unsigned int i = 0; i < n && !xiw_host_dead(&all.life); i++)
		if (places[i].engine == e)
			return &places[i];
	return NULL;
}

/* A thread that finds the engine free runs the call by itself, in a turn, which costs no change of threads. */
void xiw_host_ask(struct xiw_engine *e, void (*run)(void *ctx), void *ctx)
{
	struct ask a = { .call.run = answer, .run = run, .ctx = ctx };
	const int cancel = xiw_cancel_off();
	struct place *p = place_of(e);

	sem_init(&a.done, 0, 0);
	if (p && xiw_share_enter(e)) {
		xiw_engine_call(e, &a.call);
		take_turn(p);
		xiw_share_leave(e);
	} else if (xiw_engine_call(e, &a.call)) {
		sem_post(&a.done);
	}
	while (sem_wait(&a.done))
		;
	sem_destroy(&a.done);
	xiw_cancel_restore(cancel);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A thread that posts calls the engine and waits for nothing, so a process may leave before the engine has run. Here it
 * does. A handler of a signal may be what leaves, in a thread that has any lock, that of malloc() too. So this thread
 * takes none: it calls the engines and sleeps. An engine that waits for such a lock is given up after a second.
 */
#include "host/leave.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "conn/send.h"
#include "host/engines.h"
#include "host/link.h"

#define LONG_MS 1000
#define NAP_NS 20000

/* Of one engine. */
struct leaving {
	struct xiw_call call;
	struct xiw_host_later later;
	uint64_t until_ms;
	bool asked; /* some thread has, and the engine has not done it yet */
};

static struct leaving all[XIW_GROUP_ENGINES_MAX];

/* ---- in the engine's thread ------------------------------------------------------------------------------------ */

static bool has_rest(const struct xiw_engine *e)
{
	bool rest = false;

	pthread_mutex_lock(&xiw_host_lock);
	for (const struct xiw_host_request *l = xiw_host_links; l && !rest; l = l->all.next)
		rest = !xiw_host_dead(&l->life) && l->engine == e && l->conn &&
		       xiw_send_rests(l->conn);
	pthread_mutex_unlock(&xiw_host_lock);
	return rest;
}

static void look(struct xiw_engine *e, struct xiw_host_later *later)
{
	struct leaving *l = (void *)((char *)later - offsetof(struct leaving, later));

	if (xiw_now_ms() < l->until_ms && has_rest(e))
		xiw_host_do_later(later, 1);
	else
		__atomic_store_n(&l->asked, false, __ATOMIC_RELEASE);
}

static void next_turn(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct leaving *l = (void *)((char *)call - offsetof(struct leaving, call));

	(void)status;
	look(e, &l->later);
}

/* The calls of queue pairs were in front of this one. What they have passed on leaves at the end of this turn. */
static void this_turn(struct xiw_engine *e, struct xiw_call *call, int status)
{
	struct leaving *l = (void *)((char *)call - offsetof(struct leaving, call));

	(void)status;
	call->run = next_turn;
	if (xiw_engine_call(e, call))
		__atomic_store_n(&l->asked, false, __ATOMIC_RELEASE);
}

/* ---- the thread that leaves ------------------------------------------------------------------------------------- */

/* By the system call, which changes no errno and is no place to be cancelled at. False: the time is up. */
static bool nap(uint64_t until_ms)
{
	const struct timespec t = { .tv_nsec = NAP_NS };
	const int saved = errno;

	syscall(__NR_nanosleep, &t, NULL);
	errno = saved;
	return xiw_now_ms() < until_ms;
}

/* Another thread may have asked before this one posted its last. */
static bool ask(struct leaving *l, struct xiw_engine *e, uint64_t until_ms)
{
	while (__atomic_exchange_n(&l->asked, true, __ATOMIC_ACQ_REL))
		if (!nap(until_ms))
			return false;
	l->until_ms = until_ms;
	l->later.run = look;
	l->call.run = this_turn;
	if (xiw_engine_call(e, &l->call))
		__atomic_store_n(&l->asked, false, __ATOMIC_RELEASE);
	return true;
}

void xiw_host_hand_over(void)
{
	const uint64_t until_ms = xiw_now_ms() + LONG_MS;
	struct xiw_engine *e;

	/* The turn that the handler of a signal has interrupted does not go on. */
	if (xiw_host_inside() || !__atomic_load_n(&xiw_host_links, __ATOMIC_RELAXED))
		return;
	for (unsigned int i = 0; (e = xiw_host_engine(i)); i++)
		if (!ask(&all[i], e, until_ms))
			return;
	for (unsigned int i = 0; xiw_host_engine(i); i++)
		while (__atomic_load_n(&all[i].asked, __ATOMIC_ACQUIRE))
			if (!nap(until_ms))
				return;
}

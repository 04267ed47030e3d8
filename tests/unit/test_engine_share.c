// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * While the engine's thread naps, whoever finds the lock taken leaves what was asked for to the thread that has it.
 * Here something is asked for at the last moment, just before the lock is given back. The model in
 * tests/model/share.pml has all moments.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>

#include <xiwarp/xiwarp.h>

#include "core/engine.h"
#include "engine/share.h"

static pthread_mutex_t *asks_at; /* the lock before whose release something is asked for */
static struct xiw_engine *engine;

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	static int (*unlock)(pthread_mutex_t *);

	if (!unlock)
		*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (asks_at && lock == asks_at) {
		asks_at = NULL;
		xiw_engine_wake(engine);
	}
	return unlock(lock);
}

/* Its thread naps, which is this one, and the only thread that waited for events is elsewhere. */
static void make(void)
{
	const struct xiw_engine_opts o = { .size = sizeof(o), .path = XIW_USE_KERNEL };

	cr_assert_eq(xiw_engine_create(&o, &engine), 0);
	cr_assert_eq(xiw_share_begin(engine), 0);
	engine->ready.share.driven = true;
	engine->nconns = 1; /* as far as xiw_share_enter() is concerned */
	xiw_share_give(engine, 0, false);
}

static void end(void)
{
	xiw_share_take(engine);
	engine->nconns = 0;
	xiw_engine_destroy(engine);
}

static bool rung(void)
{
	struct pollfd p = { .fd = engine->inbox.fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

Test(engine_share, asked_while_another_looks)
{
	make();
	cr_expect(!xiw_share_unattended(engine));
	asks_at = &engine->ready.share.lock;
	cr_expect(xiw_share_unattended(engine));
	end();
}

Test(engine_share, asked_at_the_end_of_a_turn)
{
	make();
	cr_assert(xiw_share_enter(engine));
	xiw_share_leave(engine);
	cr_expect(!rung());
	cr_assert(xiw_share_enter(engine));
	asks_at = &engine->ready.share.lock;
	xiw_share_leave(engine);
	cr_expect(rung());
	end();
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * engine/share.h - turns that another thread takes. The ring belongs to the thread that runs the engine. All else of
 * the engine belongs to whoever holds its lock, and that thread gives the lock away while it waits in the kernel. So a
 * thread that looks for completions can take the frames that bring them itself: no other thread has to wake up first.
 * While others take turns often, the engine's thread is not woken for each frame, but looks every millisecond.
 */
#ifndef XIW_ENGINE_SHARE_H
#define XIW_ENGINE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct xiw_engine;

/* Called by the thread that runs the engine, once, before it does. It holds the lock from now on. As xiw_ring_run(). */
int xiw_share_begin(struct xiw_engine *e);

/*
 * Takes the lock in the place of the engine's thread. False: another thread has it, or there are no connections. True:
 * the caller has a turn, takes the completions that there are, and leaves.
 */
bool xiw_share_enter(struct xiw_engine *e);
void xiw_share_turn(struct xiw_engine *e);
void xiw_share_leave(struct xiw_engine *e);

/* A thread that has taken turns is about to sleep until the engine's thread wakes it. */
void xiw_share_stop(struct xiw_engine *e);

/* For engine/run.c: whether other threads take turns often. */
bool xiw_share_busy(struct xiw_engine *e);

/* Around a wait in the kernel until `until_ms`. If `asleep`, everything that comes ends it. */
void xiw_share_give(struct xiw_engine *e, uint64_t until_ms, bool asleep);
void xiw_share_take(struct xiw_engine *e);

#endif

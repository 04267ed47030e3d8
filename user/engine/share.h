/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * engine/share.h - turns that another thread takes. The ring belongs to the thread that runs the engine. All else of
 * the engine belongs to whoever holds its lock, and that thread gives the lock away while it waits in the kernel. So a
 * thread that looks for completions can take the frames that bring them itself: no other thread has to wake up first.
 * While others take turns often, the engine's thread is not woken for each frame, but naps: it looks every millisecond.
 *
 * So can a thread that waits for an event. It sleeps by the queues' descriptors, and while the engine's thread naps, it
 * is also the one that hears what is asked of the engine. Nobody depends on its coming back: the engine's thread takes
 * the frames again a millisecond later. If its last wait was short, it looks for a moment before it sleeps, which takes
 * no longer than to sleep and wake up. With several such threads no one is better than another to wake up, and the
 * engine's thread does it all.
 */
#ifndef XIW_ENGINE_SHARE_H
#define XIW_ENGINE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define XIW_SHARE_QUEUES 16 /* a thread does not sleep by more than these */

struct xiw_engine;

/* What a thread that waits for events is to sleep by, besides its own descriptor: until one of these is readable. */
struct xiw_share_sleep {
	int fd[XIW_SHARE_QUEUES + 1];
	unsigned int n;
	bool driver, passive; /* with `driver`, the last descriptor is the bell */
	bool rung;	      /* to be set if the bell is readable */
};

/* Called by the thread that runs the engine, once, before it does. It holds the lock from now on. As xiw_ring_run(). */
int xiw_share_begin(struct xiw_engine *e);

/*
 * Takes the lock in the place of the engine's thread. False: another thread has it, or there are no connections. True:
 * the caller has a turn, takes the completions that there are, and leaves.
 */
bool xiw_share_enter(struct xiw_engine *e);
void xiw_share_turn(struct xiw_engine *e);
void xiw_share_leave(struct xiw_engine *e);

/*
 * True if something is asked of the engine and no thread will look for a millisecond, because one that waits for events
 * did so until a moment ago. The caller may take a turn.
 */
bool xiw_share_unattended(struct xiw_engine *e);

/*
 * A thread waits for an event. It takes the lock, has a turn, looks for its event, and if there is none falls asleep,
 * which gives the lock away; when it is awake it takes the lock again, and so on. With the event, or when it gives up,
 * the wait is over, which gives the lock away, too. False from xiw_share_wait(): the engine does not run yet. False
 * from xiw_share_fall_asleep(): it still has the lock, and has another turn first.
 */
bool xiw_share_wait(struct xiw_engine *e, struct xiw_share_sleep *sleep);
bool xiw_share_fall_asleep(struct xiw_engine *e, struct xiw_share_sleep *sleep);
void xiw_share_wake_up(struct xiw_engine *e, struct xiw_share_sleep *sleep);
void xiw_share_wait_over(struct xiw_engine *e);

/* The thread ends while it is asleep. */
void xiw_share_wait_cut(struct xiw_engine *e, struct xiw_share_sleep *sleep);

/* A thread that has taken turns is about to sleep until the engine's thread wakes it. */
void xiw_share_stop(struct xiw_engine *e);

/* For engine/run.c: whether other threads take turns often. If so, a nap; false: something was asked of the engine. */
bool xiw_share_busy(struct xiw_engine *e);
bool xiw_share_nap(struct xiw_engine *e);

/*
 * Lets a thread that shares the core go on, unless one has kept it for long before. If it takes turns, it finds the
 * lock free, and this thread has nothing to do afterwards; otherwise the two would hand each message to each other.
 */
void xiw_share_yield(struct xiw_engine *e);

/* Around a wait in the kernel until `until_ms`. If `asleep`, everything that comes ends it; else it is a nap. */
void xiw_share_give(struct xiw_engine *e, uint64_t until_ms, bool asleep);
bool xiw_share_may_wait(const struct xiw_engine *e, bool asleep);
void xiw_share_take(struct xiw_engine *e);

#endif

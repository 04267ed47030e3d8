/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/engines.h - the engines of the process, and the threads that run them. */
#ifndef XIW_HOST_ENGINES_H
#define XIW_HOST_ENGINES_H

#include <xiwarp/xiwarp.h>

/* What to do with a completion, in the thread of its engine. It is set before the first connection can be there. */
extern void (*xiw_host_take)(struct xiw_engine *engine, const struct xiw_completion *completion);

/* Takes all completions of an engine, in its thread. Returns how many there were. */
unsigned int xiw_host_take_all(struct xiw_engine *engine);

/* The group, whose engines run; it is made if it is not there. */
int xiw_host_engines(struct xiw_group **group);

/* The group if it is there; else NULL. With xiw_host_lock. */
struct xiw_group *xiw_host_group(void);

/*
 * Engine number i, which runs; NULL: there are no more, or the process that has them is another one. No lock is taken,
 * and a child that shares the memory of its parent (vfork()) counts as one.
 */
struct xiw_engine *xiw_host_engine(unsigned int i);

/* Takes a turn of an engine, in a thread that waits for its completions, unless the engine's thread is in one. */
void xiw_host_look(void);

/* Takes one, too, if work was posted that otherwise waits until somebody looks. */
void xiw_host_posted(struct xiw_engine *engine);

/*
 * A thread waits for an event: xiw_host_await() returns 0 when ready(ctx) has returned true, or -EINTR if a signal has
 * come and xiw_host_restarts() says no. The thread takes turns of the engine between looks(ctx) and ready(ctx), and
 * what is there by then need not be announced. When ready() has returned false it sleeps until `fd` is readable, or
 * until something comes for a turn. Only then it can be cancelled, and cut(ctx) is called. -ENOSYS: it cannot take
 * turns, and has to wait otherwise.
 */
struct xiw_host_await {
	void (*looks)(void *ctx);
	bool (*ready)(void *ctx);
	void (*cut)(void *ctx);
	void *ctx;
	int fd;
};

int xiw_host_await(const struct xiw_host_await *a);

/* The thread is about to sleep until completions come. */
void xiw_host_sleeps(void);

/* The number of the engine of this process that the thread serves, or takes a turn of. */
unsigned int xiw_host_here(void);

/* Is this a thread of an engine, or in a turn of one? Then it must not wait for an engine. */
bool xiw_host_inside(void);

/*
 * Has run(ctx) called in the engine's thread or in a turn of this one, and waits until it has been. Calls that were
 * handed over before come first. Not where xiw_host_inside() is true.
 */
void xiw_host_ask(struct xiw_engine *engine, void (*run)(void *ctx), void *ctx);

/* What the engine's thread is to do in so many milliseconds. Only for threads of engines. */
struct xiw_host_later {
	struct xiw_host_later *next;
	uint64_t at; /* milliseconds of CLOCK_MONOTONIC */
	void (*run)(struct xiw_engine *engine, struct xiw_host_later *later);
};

void xiw_host_do_later(struct xiw_host_later *later, unsigned int ms);

#endif

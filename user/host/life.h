/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host/life.h - whether an object belongs to this process, or to the one that has forked it; and what a fork() must
 * find in order.
 */
#ifndef XIW_HOST_LIFE_H
#define XIW_HOST_LIFE_H

#include <pthread.h>
#include <stdbool.h>

struct xiw_host_life {
	unsigned int process;
};

/* The number of forks between the first process and this one, and 1. */
extern unsigned int xiw_host_process;

void xiw_host_born(struct xiw_host_life *life);

static inline bool xiw_host_dead(const struct xiw_host_life *life)
{
	return life->process != xiw_host_process;
}

/*
 * xiw_host_lock: engines, listeners, and which connection is whose. It is taken before the lock of a CQ or EQ, and held
 * for moments. xiw_host_regions: the table of regions. Both are free in a child.
 */
extern pthread_mutex_t xiw_host_lock;
extern pthread_rwlock_t xiw_host_regions;

/* A connection has ended in some thread: whoever waits for that looks again. With xiw_host_lock. */
extern pthread_cond_t xiw_host_link_ended;

#endif

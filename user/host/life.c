// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/life.h"

#include "host/files.h"

unsigned int xiw_host_process = 1; /* an object of zeros belongs to none */
pthread_mutex_t xiw_host_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t xiw_host_regions = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t xiw_host_link_ended = PTHREAD_COND_INITIALIZER;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before(void)
{
	pthread_mutex_lock(&xiw_host_lock);
	pthread_rwlock_wrlock(&xiw_host_regions);
}

static void in_parent(void)
{
	pthread_rwlock_unlock(&xiw_host_regions);
	pthread_mutex_unlock(&xiw_host_lock);
}

/*
 * The lock that was taken for writing cannot be given back by the child, as its thread has another number. Threads that
 * waited for the condition are not there, and whoever signals it would wait for them.
 */
static void in_child(void)
{
	pthread_rwlock_init(&xiw_host_regions, NULL);
	pthread_cond_init(&xiw_host_link_ended, NULL);
	xiw_host_process++;
	xiw_host_files_restore();
	pthread_mutex_unlock(&xiw_host_lock);
}

static void begin(void)
{
	pthread_atfork(before, in_parent, in_child);
}

void xiw_host_born(struct xiw_host_life *life)
{
	pthread_once(&once, begin);
	life->process = xiw_host_process;
}

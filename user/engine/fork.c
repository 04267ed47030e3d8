// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fork() without exec: the child has copies of all descriptors. AF_XDP queues would stay taken, and connections open,
 * for as long as it lives, whatever becomes of the engine. So the child of a process with an engine at work closes
 * what is the engine's, and has none. The memory that the engine shares with the kernel is not given to it at all
 * (MADV_DONTFORK): mappings hold on to sockets and rings as descriptors do.
 */
#include "engine/fork.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct xiw_engine *all;

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void shut_ports(struct xiw_netif *p)
{
	for (; p; p = p->next) {
		for (uint32_t i = 0; i < p->nqueues && p->queues; i++)
			shut(&p->queues[i].xsk.fd);
		xiw_table_shut(&p->table);
	}
}

static void shut_listeners(struct xiw_listener *l)
{
	for (; l; l = l->next)
		shut(&l->fd);
}

/* In the child, which has but one thread: nothing is freed and nobody is told, as it all is the parent's. */
static void leave_behind(struct xiw_engine *e)
{
	e->forked = true;
	shut_ports(e->netifs);
	shut_ports(e->retired);
	for (struct xiw_conn *c = e->conns; c; c = c->next)
		shut(&c->fd);
	shut_listeners(e->listeners);
	shut_listeners(e->closed_listeners);
	shut(&e->watch.fd);
	xiw_injector_close(&e->injector);
	shut(&e->io.ring.ring_fd);
}

static void before(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* One that nobody has run yet, and that has no interface, may go on in the child. */
static void in_child(void)
{
	for (struct xiw_engine *e = all; e; e = e->next_engine)
		if (e->io.enabled || e->netifs || e->retired)
			leave_behind(e);
	pthread_mutex_unlock(&lock);
}

static void begin(void)
{
	pthread_atfork(before, in_parent, in_child);
}

void xiw_fork_add(struct xiw_engine *e)
{
	pthread_once(&once, begin);
	pthread_mutex_lock(&lock);
	e->next_engine = all;
	all = e;
	pthread_mutex_unlock(&lock);
}

void xiw_fork_remove(struct xiw_engine *e)
{
	struct xiw_engine **at = &all;

	pthread_mutex_lock(&lock);
	while (*at && *at != e)
		at = &(*at)->next_engine;
	if (*at)
		*at = e->next_engine;
	pthread_mutex_unlock(&lock);
}

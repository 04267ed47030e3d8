// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fork() without exec gives the child copies of all descriptors. AF_XDP sockets would keep their queues, and
 * connections would stay open, for as long as the child lives. So the child closes the descriptors of engines that are
 * in use, and cannot use these engines. Memory that an engine shares with the kernel is not inherited at all
 * (MADV_DONTFORK), because mappings keep sockets and rings alive as descriptors do. So the child cannot see which
 * sockets io_uring has accepted and the engine has not taken yet. Nor does it look into inboxes, which other threads
 * may have been writing.
 */
#include "engine/fork.h"

#include <pthread.h>
#include <unistd.h>

#include "core/ring.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct xiw_engine *all;

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void shut_netifs(struct xiw_netif *p)
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

/* Runs in the child. It frees nothing and tells nobody, as the engine is the parent's. */
static void leave_behind(struct xiw_engine *e)
{
	e->forked = true;
	shut_netifs(e->netifs);
	shut_netifs(e->retired);
	for (struct xiw_conn *c = e->conns; c; c = c->next)
		shut(&c->fd);
	shut_listeners(e->listeners);
	shut_listeners(e->closed_listeners);
	if (e->group)
		e->group_ops->forked(e);
	shut(&e->watch.fd);
	e->inbox.bell = -1;
	shut(&e->inbox.fd);
	shut(&e->ready.fd);
	shut(&e->ready.share.bell);
	xiw_injector_close(&e->injector);
	xiw_ring_shut(e);
}

static void before(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* The child may use an engine that nobody has run yet and that has no interface. */
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

void xiw_fork_remove(struct xiw_engine *e, void (*close_all)(struct xiw_engine *e))
{
	struct xiw_engine **at = &all;

	pthread_mutex_lock(&lock);
	while (*at && *at != e)
		at = &(*at)->next_engine;
	if (*at)
		*at = e->next_engine;
	close_all(e);
	pthread_mutex_unlock(&lock);
}

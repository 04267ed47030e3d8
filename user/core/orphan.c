// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections, listeners and regions that have outlived their engine: still the application's, to ask and to free.
 * Nothing looks for them here but leak checkers, in an application that ends with its engine and does not free each.
 */
#include "core/orphan.h"

#include <pthread.h>

static struct xiw_orphan *orphans;
/* Engines belong to a thread each; this list belongs to none. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void xiw_orphan_add(struct xiw_orphan *o)
{
	pthread_mutex_lock(&lock);
	o->at = &orphans;
	o->next = orphans;
	if (o->next)
		o->next->at = &o->next;
	orphans = o;
	pthread_mutex_unlock(&lock);
}

void xiw_orphan_remove(struct xiw_orphan *o)
{
	pthread_mutex_lock(&lock);
	*o->at = o->next;
	if (o->next)
		o->next->at = o->at;
	pthread_mutex_unlock(&lock);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections, listeners and regions that have outlived their engine. The application may still query and free them.
 * The list exists for leak checkers only: an application may exit without freeing these objects, and a pointer to each
 * of them shows that they are not lost.
 */
#include "core/orphan.h"

#include <pthread.h>

static struct xiw_orphan *orphans;
/* Each engine belongs to a thread, but all of them share this list. */
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

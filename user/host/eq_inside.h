/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/eq_inside.h - the inside of event queues: eq.c has the list, eq_wait.c the threads that wait. */
#ifndef XIW_HOST_EQ_INSIDE_H
#define XIW_HOST_EQ_INSIDE_H

#include <pthread.h>

#include "host/eq.h"
#include "host/life.h"

struct xiw_host_eq {
	struct xiw_host_life life;
	pthread_mutex_t lock;
	struct xiw_host_item *first, **end;
	int fd;
	int kept;   /* what fd was when the queue was closed while threads waited; or -1 */
	bool lit;   /* it is readable, or a thread that waits has just read it */
	bool freed; /* ... while threads wait; the last one frees the memory */
	unsigned int waiting; /* threads that wait without a limit */
	unsigned int looking; /* those that look for events now, and need not be told of one */
	unsigned int users;
	void (*taken)(const struct xiw_host_event *event); /* or NULL */
};

/* With the lock: what the public function does; 0: there is none. */
int xiw_host_eq_take_locked(struct xiw_host_eq *eq, struct xiw_host_event *event);

/* With the lock: makes the descriptor tell what is so. */
void xiw_host_eq_light(struct xiw_host_eq *eq);

/* With the lock: the descriptor is not readable any more, whether a thread that waits has read it or not. */
void xiw_host_eq_put_out(struct xiw_host_eq *eq);

#endif

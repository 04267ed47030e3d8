// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "core/gate.h"

int xiw_gate_init(struct xiw_gate *g)
{
	int err = pthread_mutex_init(&g->lock, NULL);

	if (err)
		return -err;
	err = pthread_cond_init(&g->passed, NULL);
	if (err)
		pthread_mutex_destroy(&g->lock);
	g->used = !err;
	return -err;
}

void xiw_gate_destroy(struct xiw_gate *g)
{
	if (!g->used)
		return;
	g->used = false;
	pthread_cond_destroy(&g->passed);
	pthread_mutex_destroy(&g->lock);
}

/*
 * A mutex alone would not do: a thread that unlocks it and locks it again at once mostly gets it before those that
 * wait for it.
 */
void xiw_gate_wait(struct xiw_gate *g)
{
	pthread_mutex_lock(&g->lock);
	while (__atomic_load_n(&g->waiting, __ATOMIC_RELAXED))
		pthread_cond_wait(&g->passed, &g->lock);
}

void xiw_gate_open(struct xiw_gate *g)
{
	pthread_mutex_unlock(&g->lock);
}

void xiw_gate_hold(struct xiw_gate *g)
{
	__atomic_add_fetch(&g->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&g->lock);
}

void xiw_gate_let_go(struct xiw_gate *g)
{
	if (!__atomic_sub_fetch(&g->waiting, 1, __ATOMIC_RELAXED))
		pthread_cond_signal(&g->passed);
	pthread_mutex_unlock(&g->lock);
}

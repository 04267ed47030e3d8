/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The gate of an engine that belongs to a group: other threads change the engine's regions only while the engine does
 * not use them. The engine's own thread is inside for the length of a turn, and outside while it sleeps. Other threads
 * that wait come first, so that an engine whose turns follow each other without a pause does not keep them out. An
 * engine without a group has no gate, and pays one comparison for each turn.
 */
#ifndef XIW_CORE_GATE_H
#define XIW_CORE_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct xiw_gate {
	bool used;
	uint32_t depth;	  /* how often the engine's own thread has entered */
	uint32_t waiting; /* other threads that want to hold the gate */
	pthread_mutex_t lock;
	pthread_cond_t passed; /* the last of these has let go */
};

/* Makes the gate of an engine. Returns 0 or an error. */
int xiw_gate_init(struct xiw_gate *g);
void xiw_gate_destroy(struct xiw_gate *g);

/* For other threads: holds the gate, so that the engine is outside until the thread lets go. */
void xiw_gate_hold(struct xiw_gate *g);
void xiw_gate_let_go(struct xiw_gate *g);

void xiw_gate_wait(struct xiw_gate *g);
void xiw_gate_open(struct xiw_gate *g);

/* For the engine's own thread, which may enter several times. */
static inline void xiw_gate_enter(struct xiw_gate *g)
{
	if (g->used && !g->depth++)
		xiw_gate_wait(g);
}

static inline void xiw_gate_leave(struct xiw_gate *g)
{
	if (g->used && !--g->depth)
		xiw_gate_open(g);
}

#endif

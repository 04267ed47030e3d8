/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread beside an engine's, for work that would keep the engine from its connections. Jobs are done in short steps
 * and take turns, so that no peer's file keeps another's waiting, and one that is dropped is gone after one step. There
 * is one such thread for each engine, however many connections it has.
 */
#ifndef XIW_TOOL_WORKER_H
#define XIW_TOOL_WORKER_H

#include <pthread.h>
#include <stdbool.h>

#include <xiwarp/engine.h>

struct xiw_job {
	/* One step, in the worker's thread. True: there is more to do now. */
	bool (*step)(struct xiw_job *job);
	void *owner;
	struct xiw_job *next;
	bool queued, again, dropped;
};

struct xiw_worker {
	struct xiw_engine *engine; /* is woken after each step, to see what has been done */
	pthread_t thread;
	pthread_mutex_t
		lock; /* for what follows, and for the jobs' members but `step` and `owner` */
	pthread_cond_t work, stepped;
	struct xiw_job *first, **last, *running;
	bool stop;
};

/* On failure prints a line and returns an exit code. */
int xiw_worker_begin(struct xiw_worker *w, struct xiw_engine *engine);
/* No job may be left. */
void xiw_worker_stop(struct xiw_worker *w);
/* There is something to do for this job, which may be under way already. */
void xiw_worker_add(struct xiw_worker *w, struct xiw_job *job);
/* Takes a job back, whether it was added or not; it may wait for a step. */
void xiw_worker_drop(struct xiw_worker *w, struct xiw_job *job);

#endif

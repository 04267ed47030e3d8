// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "worker.h"

#include <string.h>

#include "exit.h"
#include "signals.h"

#define STACK (256ul << 10)

static void enqueue(struct xiw_worker *w, struct xiw_job *job)
{
	job->queued = true;
	job->next = NULL;
	*w->last = job;
	w->last = &job->next;
}

static struct xiw_job *dequeue(struct xiw_worker *w)
{
	struct xiw_job *job = w->first;

	w->first = job->next;
	if (!w->first)
		w->last = &w->first;
	job->queued = false;
	return job;
}

static void run_step(struct xiw_worker *w)
{
	struct xiw_job *job = dequeue(w);
	bool more;

	w->running = job;
	job->again = false;
	pthread_mutex_unlock(&w->lock);
	more = job->step(job);
	xiw_engine_wake(w->engine);
	pthread_mutex_lock(&w->lock);
	w->running = NULL;
	if ((more || job->again) && !job->dropped)
		enqueue(w, job);
	pthread_cond_broadcast(&w->stepped);
}

/* Signals are for the engine's thread. */
static void *run(void *arg)
{
	struct xiw_worker *w = arg;

	xiw_hold_signals();
	pthread_mutex_lock(&w->lock);
	while (!w->stop)
		if (w->first)
			run_step(w);
		else
			pthread_cond_wait(&w->work, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int start(struct xiw_worker *w)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	/* A limit on the address space counts all of a stack, of which this thread needs little. */
	pthread_attr_setstacksize(&attr, STACK);
	err = pthread_create(&w->thread, &attr, run, w);
	pthread_attr_destroy(&attr);
	return err;
}

int xiw_worker_begin(struct xiw_worker *w, struct xiw_engine *engine)
{
	int err;

	*w = (struct xiw_worker){ .engine = engine,
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .work = PTHREAD_COND_INITIALIZER,
				  .stepped = PTHREAD_COND_INITIALIZER };
	w->last = &w->first;
	err = start(w);
	return err ? xiw_fail(XIW_EXIT_FAILURE, "cannot start a thread: %s", strerror(err)) : 0;
}

void xiw_worker_stop(struct xiw_worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

void xiw_worker_add(struct xiw_worker *w, struct xiw_job *job)
{
	pthread_mutex_lock(&w->lock);
	if (w->running == job)
		job->again = true; /* it may have missed what there is to do */
	else if (!job->queued)
		enqueue(w, job);
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
}

void xiw_worker_drop(struct xiw_worker *w, struct xiw_job *job)
{
	struct xiw_job **link = &w->first;

	pthread_mutex_lock(&w->lock);
	job->dropped = true;
	while (w->running == job)
		pthread_cond_wait(&w->stepped, &w->lock);
	job->dropped = false;
	while (*link && *link != job)
		link = &(*link)->next;
	if (*link) {
		*link = job->next;
		if (w->last == &job->next)
			w->last = link;
		job->queued = false;
	}
	pthread_mutex_unlock(&w->lock);
}

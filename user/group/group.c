// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Groups: their engines are made together, and leave one by one or all at once. */
#include "group/group.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opts.h"
#include "conn/unstarted.h"
#include "core/inbox.h"
#include "core/ring.h"
#include "engine/create.h"
#include "group/listen.h"
#include "group/region.h"
#include "netif/interface.h"
#include "netif/query.h"

/* The size of the options in the first release. */
#define GROUP_OPTS_FIRST 32

XIW_OPTS_WHOLE(struct xiw_group_opts, queues);

/* ---- how many -------------------------------------------------------------------------------------- */

static uint32_t cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}

/* The most receive queues of an interface with the programs, or those of the only one if it has them. */
static uint32_t most_queues(const char *only)
{
	struct if_nameindex *all = if_nameindex();
	char own[IF_NAMESIZE];
	uint32_t most = 1;

	if (only)
		only = xiw_if_name(only, own);

	for (struct if_nameindex *i = all; i && i->if_index; i++) {
		if (only && strcmp(only, i->if_name))
			continue;
		if (xiw_query_xdp_named((int)i->if_index, "xiw_ingress") &&
		    xiw_if_queues(i->if_name) > most)
			most = xiw_if_queues(i->if_name);
	}
	if (all)
		if_freenameindex(all);
	return most;
}

static uint32_t how_many(const struct xiw_group_opts *o, const struct xiw_engine_opts *eo)
{
	uint32_t queues, n;

	if (o->engines)
		return o->engines;
	queues = eo->queues ? (uint32_t)__builtin_popcountll(eo->queues)
			    : most_queues(eo->interface);
	if (eo->max_queues && queues > eo->max_queues)
		queues = eo->max_queues;
	n = cpus();
	n = n < queues ? n : queues;
	return n > XIW_GROUP_ENGINES_MAX ? XIW_GROUP_ENGINES_MAX : n ? n : 1;
}

/*
 * By default the queues that the engine's options name, or all, are dealt out to one engine after the other. An engine
 * without any queue, or two with the same, are a mistake: to an engine, no queue means all.
 */
static int share_queues(struct xiw_group *g, const uint64_t *queues, uint64_t all)
{
	uint64_t shared = 0;
	uint32_t next = 0;

	for (uint32_t q = 0; q < XIW_MAX_QUEUES && !queues; q++)
		if ((all ? all : ~0ull) >> q & 1)
			g->queues[next++ % g->n] |= 1ull << q;
	for (uint32_t i = 0; i < g->n; i++) {
		if (queues)
			g->queues[i] = queues[i];
		if (!g->queues[i] || g->queues[i] & shared)
			return -EINVAL;
		shared |= g->queues[i];
	}
	return 0;
}

/* ---- engines leave ---------------------------------------------------------------------------------- */

struct heritage {
	struct xiw_note note;
	uint64_t queues;
	uint32_t max_queues;
};

/* In the thread of the heir, which takes the queues when it looks for them (xiw_queues_look()). */
static void inherit(struct xiw_engine *e, struct xiw_note *note)
{
	struct heritage *h = (void *)((char *)note - offsetof(struct heritage, note));

	e->opts.queues |= h->queues;
	e->opts.max_queues += h->max_queues;
	free(h);
}

/* Leaves the queues of engine i to another one. What comes on them meanwhile takes the kernel path. */
static void bequeath(struct xiw_group *g, uint32_t i, const struct xiw_engine *e)
{
	struct xiw_engine *heir = xiw_group_any(g, i);
	struct heritage *h = heir && !g->ending ? malloc(sizeof(*h)) : NULL;

	if (!h)
		return;
	*h = (struct heritage){ .note.run = inherit,
				.queues = g->queues[i],
				.max_queues = e->opts.max_queues };
	for (uint32_t k = 0; k < g->n; k++)
		if (g->engines[k] == heir)
			g->queues[k] |= g->queues[i];
	xiw_inbox_put(heir, &h->note);
}

/* The engine is being destroyed. Its connections are still there, and no thread is in a turn of it. */
static struct xiw_group *leave(struct xiw_engine *e)
{
	struct xiw_group *g = e->group;
	uint32_t i = 0;

	pthread_mutex_lock(&g->lock);
	while (g->engines[i] != e)
		i++;
	xiw_group_regions_leave(g, i);
	__atomic_store_n(&g->engines[i], NULL, __ATOMIC_RELEASE);
	bequeath(g, i, e);
	xiw_group_listeners_leave(g, e);
	xiw_group_dials_leave(g, e);
	e->group = NULL;
	g->leaving++;
	pthread_mutex_unlock(&g->lock);
	xiw_gate_destroy(&e->gate);
	return g;
}

static void left(struct xiw_group *g)
{
	pthread_mutex_lock(&g->lock);
	g->leaving--;
	pthread_mutex_unlock(&g->lock);
}

static void forked(struct xiw_engine *e)
{
	e->group->forked = true;
	xiw_group_listeners_forked(e->group);
}

static const struct xiw_group_ops group_ops = {
	.leave = leave,
	.left = left,
	.accepted = xiw_group_accepted,
	.forked = forked,
};

/* Begins to end the group, unless another thread runs an engine or is about to have destroyed one. */
static bool begin_to_end(struct xiw_group *g)
{
	bool used;

	pthread_mutex_lock(&g->lock);
	used = g->leaving;
	for (uint32_t i = 0; i < g->n && !used; i++)
		used = g->engines[i] && xiw_ring_runner(g->engines[i]) == XIW_RUNNER_OTHER;
	g->ending = !used;
	pthread_mutex_unlock(&g->lock);
	return !used;
}

int xiw_group_destroy(struct xiw_group *g)
{
	if (!g)
		return 0;
	/* In a child the lock may be held for ever. */
	if (g->forked || !begin_to_end(g))
		return -EEXIST;
	for (uint32_t i = 0; i < g->n; i++)
		xiw_engine_destroy(g->engines[i]);
	xiw_group_listeners_detach(g);
	xiw_group_regions_detach(g);
	pthread_mutex_destroy(&g->lock);
	free(g);
	return 0;
}

/* ---- creation --------------------------------------------------------------------------------------- */

/* The engines share the descriptors of the process, so the limit that protects these is divided among them. */
static int make_engine(struct xiw_group *g, uint32_t i, const struct xiw_engine_opts *given)
{
	struct xiw_engine_opts o = *given;
	struct xiw_engine *e;
	int err;

	if (!o.max_unstarted)
		o.max_unstarted = xiw_unstarted_default();
	o.max_unstarted = xiw_unstarted_part(o.max_unstarted, g->n);
	o.max_queues = o.max_queues / g->n + (i < o.max_queues % g->n);
	if (g->n > 1)
		o.queues =
			g->queues[i]; /* a single engine may take every queue, also those to come */
	err = xiw_engine_create(&o, &e);
	if (err)
		return err;
	err = xiw_gate_init(&e->gate);
	if (err) {
		xiw_engine_destroy(e);
		return err;
	}
	e->group = g;
	e->group_ops = &group_ops;
	g->engines[i] = e;
	return 0;
}

int xiw_group_create(const struct xiw_group_opts *opts, struct xiw_group **group)
{
	struct xiw_engine_opts eo;
	struct xiw_group_opts o;
	struct xiw_group *g;
	int err = xiw_opts_take(&o, sizeof(o), GROUP_OPTS_FIRST, opts);

	if (!err)
		err = xiw_engine_opts_take(&eo, o.engine);
	if (err)
		return err;
	if (o.reserved || o.engines > XIW_GROUP_ENGINES_MAX || (o.queues && !o.engines))
		return -EINVAL;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	err = -pthread_mutex_init(&g->lock, NULL);
	if (err) {
		free(g);
		return err;
	}
	g->n = how_many(&o, &eo);
	/* An engine without its share would have no limit. */
	err = eo.max_queues && eo.max_queues < g->n ? -EINVAL : 0;
	if (!err)
		err = share_queues(g, o.queues, eo.queues);
	for (uint32_t i = 0; i < g->n && !err; i++)
		err = make_engine(g, i, &eo);
	if (err) {
		xiw_group_destroy(g);
		return err;
	}
	*group = g;
	return 0;
}

unsigned int xiw_group_engines(const struct xiw_group *g)
{
	return g->n;
}

/* Without the lock, so that a signal handler may ask whom it is to wake (xiw_engine_wake()). */
struct xiw_engine *xiw_group_engine(const struct xiw_group *g, unsigned int i)
{
	return i < g->n ? __atomic_load_n(&g->engines[i], __ATOMIC_ACQUIRE) : NULL;
}

int xiw_group_prepare(struct xiw_group *g, const struct sockaddr *addr, char *why, size_t why_len)
{
	char line[256], first[256] = "", none[256] = "";
	uint32_t waited_ms = 0;
	int err = -ESHUTDOWN;

	for (uint32_t i = 0; i < g->n; i++) {
		struct xiw_engine *e = xiw_group_engine(g, i);
		int one;

		if (!e)
			continue;
		/* What one has waited for, the others need not wait for again. */
		e->unready.waited_ms = waited_ms;
		one = xiw_engine_prepare(e, addr, line, sizeof(line));
		waited_ms = e->unready.waited_ms;
		/* Other engines serve what this one does not. */
		if (one == -ENXIO)
			snprintf(none, sizeof(none), "%s", line);
		else if (!first[0])
			snprintf(first, sizeof(first), "%s", line);
		if (err && (!one || err == -ESHUTDOWN || err == -ENXIO))
			err = one;
	}
	if (why && why_len)
		snprintf(why, why_len, "%s", err == -ENXIO ? none : first);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Regions of a group: each engine has one of its own for the same memory, under the same STag. So engines share nothing
 * when they look for an STag. Regions are changed while the engine is outside its gate.
 */
#include "group/region.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "core/gate.h"
#include "core/orphan.h"
#include "core/region.h"

#define TRIES 16 /* STags that one engine chooses and another one has already */

static void drop(struct xiw_engine *e, struct xiw_region **region)
{
	if (!*region)
		return;
	xiw_gate_hold(&e->gate);
	xiw_region_drop(*region);
	xiw_gate_let_go(&e->gate);
	*region = NULL;
}

static void drop_all(struct xiw_group *g, struct xiw_group_region *r)
{
	for (uint32_t i = 0; i < g->n; i++)
		drop(g->engines[i], &r->each[i]);
}

/* Registers with each engine; the first one chooses the STag if the options have none. */
static int add_all(struct xiw_group *g, struct xiw_group_region *r, void *addr, size_t len,
		   struct xiw_region_opts opts)
{
	int err = -ESHUTDOWN;

	for (uint32_t i = 0; i < g->n; i++) {
		struct xiw_engine *e = g->engines[i];

		if (!e || (opts.conn && opts.conn->engine != e))
			continue;
		xiw_gate_hold(&e->gate);
		err = xiw_region_add(e, addr, len, &opts, &r->each[i]);
		xiw_gate_let_go(&e->gate);
		if (err) {
			drop_all(g, r);
			return err;
		}
		r->stag = xiw_region_stag(r->each[i]);
		opts.stag = &r->stag;
	}
	return err == -ESHUTDOWN && opts.conn ? -EINVAL : err;
}

int xiw_group_region_add(struct xiw_group *g, void *addr, size_t len,
			 const struct xiw_region_opts *opts, struct xiw_group_region **region)
{
	struct xiw_region_opts ro;
	struct xiw_group_region *r;
	int err = xiw_region_opts_take(&ro, opts);

	if (err)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	pthread_mutex_lock(&g->lock);
	for (int i = 0; i < TRIES; i++) {
		err = add_all(g, r, addr, len, ro);
		if (err != -EEXIST || ro.stag)
			break;
	}
	if (!err) {
		r->group = g;
		r->at = &g->regions;
		r->next = g->regions;
		if (r->next)
			r->next->at = &r->next;
		g->regions = r;
	}
	pthread_mutex_unlock(&g->lock);
	if (err)
		free(r);
	else
		*region = r;
	return err;
}

int xiw_group_region_register(struct xiw_group *g, void *addr, size_t len,
			      const struct xiw_region_opts *opts, struct xiw_group_region **region)
{
	struct xiw_region_opts ro;
	int err = xiw_region_opts_take(&ro, opts);

	if (!err)
		err = xiw_region_look(addr, len, ro.access);
	return err ? err : xiw_group_region_add(g, addr, len, opts, region);
}

uint32_t xiw_group_region_stag(const struct xiw_group_region *region)
{
	return region->stag;
}

int xiw_group_region_set_access(struct xiw_group_region *r, unsigned int access)
{
	struct xiw_group *g = r->group;
	int err = -ENOENT, one, cancel;

	if (!g)
		return -ENOENT;
	cancel = xiw_cancel_off(); /* the region's mappings are read */
	pthread_mutex_lock(&g->lock);
	for (uint32_t i = 0; i < g->n && (!err || err == -ENOENT); i++) {
		if (!r->each[i])
			continue;
		xiw_gate_hold(&g->engines[i]->gate);
		one = xiw_region_change(r->each[i], access);
		xiw_gate_let_go(&g->engines[i]->gate);
		if (one != -ENOENT)
			err = one;
	}
	pthread_mutex_unlock(&g->lock);
	xiw_cancel_restore(cancel);
	return err;
}

static void leave(struct xiw_group_region *r)
{
	*r->at = r->next;
	if (r->next)
		r->next->at = r->at;
}

void xiw_group_region_free(struct xiw_group_region *r)
{
	struct xiw_group *g = r ? r->group : NULL;

	if (!r)
		return;
	if (g) {
		pthread_mutex_lock(&g->lock);
		drop_all(g, r);
		leave(r);
		pthread_mutex_unlock(&g->lock);
	} else {
		xiw_orphan_remove(&r->orphan);
	}
	free(r);
}

void xiw_group_regions_leave(struct xiw_group *g, uint32_t i)
{
	for (struct xiw_group_region *r = g->regions; r; r = r->next)
		drop(g->engines[i], &r->each[i]);
}

void xiw_group_regions_detach(struct xiw_group *g)
{
	struct xiw_group_region *r;

	while ((r = g->regions)) {
		leave(r);
		r->group = NULL;
		xiw_orphan_add(&r->orphan);
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Regions: memory of the application that peers may access by STag. These are their public objects. */
#include "core/region.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/opts.h"
#include "core/mapped.h"
#include "core/orphan.h"
#include "core/srq.h"
#include "ddp/revoke.h"

/* The size of the options in the first release. */
#define REGION_OPTS_FIRST 40

XIW_OPTS_WHOLE(struct xiw_region_opts, access);

/* Who has one of these changes the memory. */
#define CHANGED (XIW_DDP_REMOTE_WRITE | XIW_DDP_REMOTE_ATOMIC | XIW_DDP_SINK)

/*
 * The kernel gives a new number for each STag. A generator in this process would have a state that could leak, and that
 * fork() would copy. getrandom() would be a place where a thread is cancelled, with the locks that it has.
 */
int xiw_random(void *ctx, uint32_t *number)
{
	ssize_t n;

	(void)ctx;
	do
		n = syscall(SYS_getrandom, number, sizeof(*number), 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == sizeof(*number) ? 0 : -EIO;
}

int xiw_region_rights(unsigned int access, uint32_t *rights)
{
	if (!access || access & ~(XIW_ACCESS_NONE | XIW_ACCESS_WRITE | XIW_ACCESS_READ |
				  XIW_ACCESS_ATOMIC | XIW_ACCESS_SINK))
		return -EINVAL;
	*rights = (access & XIW_ACCESS_WRITE ? XIW_DDP_REMOTE_WRITE : 0) |
		  (access & XIW_ACCESS_READ ? XIW_DDP_REMOTE_READ : 0) |
		  (access & XIW_ACCESS_ATOMIC ? XIW_DDP_REMOTE_ATOMIC : 0) |
		  (access & XIW_ACCESS_SINK ? XIW_DDP_SINK : 0);
	return 0;
}

int xiw_region_opts_take(struct xiw_region_opts *own, const struct xiw_region_opts *opts)
{
	return xiw_opts_take(own, sizeof(*own), REGION_OPTS_FIRST, opts);
}

int xiw_region_add(struct xiw_engine *engine, void *addr, size_t len,
		   const struct xiw_region_opts *opts, struct xiw_region **region)
{
	struct xiw_ddp_region_opts o = {
		.ptr = addr,
		.len = len,
		.stream = XIW_DDP_ANY_STREAM,
		.access = XIW_DDP_REMOTE_WRITE,
	};
	struct xiw_region_opts ro;
	struct xiw_region *r;
	int err = xiw_region_opts_take(&ro, opts);

	if (err)
		return err;
	o.base = ro.base_to;
	o.pd = ro.pd;
	if (ro.access && xiw_region_rights(ro.access, &o.access))
		return -EINVAL;
	/* An engine numbers its own connections, so in another engine the number means another one. */
	if (ro.conn && ro.conn->engine != engine)
		return -EINVAL;
	if (ro.conn)
		o.stream = ro.conn->id;
	if (ro.stag) {
		o.fixed = true;
		o.stag = *ro.stag;
	}
	r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->engine = engine;
	r->memory = addr;
	r->len = len;
	r->writable = o.access & CHANGED;
	err = xiw_ddp_region_register(&engine->regions, &o, &r->stag);
	if (err) {
		free(r);
		return err;
	}
	r->serial = xiw_ddp_region_lookup(&engine->regions, r->stag)->serial;
	r->at = &engine->own.regions;
	r->next = engine->own.regions;
	if (r->next)
		r->next->at = &r->next;
	engine->own.regions = r;
	*region = r;
	return 0;
}

int xiw_region_look(const void *addr, size_t len, unsigned int access)
{
	uint32_t rights = CHANGED;

	/* What is no memory at all, or no right, has errors of its own. */
	if (!addr || !len || (access && xiw_region_rights(access, &rights)))
		return 0;
	return xiw_mapped_glance(addr, len, rights & CHANGED);
}

int xiw_region_register(struct xiw_engine *engine, void *addr, size_t len,
			const struct xiw_region_opts *opts, struct xiw_region **region)
{
	struct xiw_region_opts ro;
	int err = xiw_region_opts_take(&ro, opts);

	if (!err)
		err = xiw_region_look(addr, len, ro.access);
	if (err)
		return err;
	xiw_regions_enter(engine);
	err = xiw_region_add(engine, addr, len, opts, region);
	xiw_regions_leave(engine);
	return err;
}

/* A peer may have invalidated the STag (RFC 5040 section 5.3), and another region may have got the same one. */
const struct xiw_ddp_region *xiw_region_now(const struct xiw_region *r)
{
	const struct xiw_ddp_region *now =
		r->engine ? xiw_ddp_region_lookup(&r->engine->regions, r->stag) : NULL;

	return now && now->serial == r->serial ? now : NULL;
}

uint32_t xiw_region_stag(const struct xiw_region *region)
{
	return region->stag;
}

int xiw_region_change(struct xiw_region *region, unsigned int access)
{
	const struct xiw_ddp_region *now = xiw_region_now(region);
	uint32_t rights;
	int err = 0;

	if (xiw_region_rights(access, &rights))
		return -EINVAL;
	if (!now)
		return -ENOENT;
	/* Rights may change with each operation, so it is looked at once. */
	if (rights & CHANGED && !region->writable)
		err = xiw_mapped_glance(now->ptr, now->len, true);
	if (err)
		return err;
	region->writable |= rights & CHANGED;
	return xiw_ddp_region_set_access(&region->engine->regions, region->stag, rights);
}

int xiw_region_set_access(struct xiw_region *region, unsigned int access)
{
	struct xiw_engine *e = region->engine;
	int err;

	xiw_regions_enter(e);
	err = xiw_region_change(region, access);
	xiw_regions_leave(e);
	return err;
}

bool xiw_region_has(const struct xiw_engine *e, const void *addr, size_t len)
{
	const struct xiw_ddp_region *seen = NULL;

	return xiw_ddp_registered(&e->regions, addr, len, &seen);
}

static void leave(struct xiw_region *r)
{
	*r->at = r->next;
	if (r->next)
		r->next->at = r->at;
}

/* Nothing is placed before the engine's thread has settled this: it uses the regions next (xiw_regions_enter()). */
static void memory_goes(struct xiw_engine *e, const struct xiw_region *r)
{
	const uintptr_t from = (uintptr_t)r->memory, to = from + r->len;

	if (!e->own.gone_to || from < e->own.gone_from)
		e->own.gone_from = from;
	if (to > e->own.gone_to)
		e->own.gone_to = to;
}

void xiw_regions_settle(struct xiw_engine *e)
{
	struct xiw_ddp_gone gone = { &e->regions, e->own.gone_from,
				     e->own.gone_to - e->own.gone_from, NULL };

	e->own.gone_from = e->own.gone_to = 0;
	for (struct xiw_conn *c = e->conns; c; c = c->next)
		if (c->ddp)
			xiw_ddp_rx_revoke(c->ddp, &gone);
	for (struct xiw_srq *q = e->srqs; q; q = q->next)
		xiw_ddp_srq_revoke(&q->ddp, &gone);
	xiw_ddp_sinks_revoke(&e->regions, &gone);
}

void xiw_region_drop(struct xiw_region *region)
{
	if (xiw_region_now(region))
		xiw_ddp_region_invalidate(&region->engine->regions, region->stag);
	if (region->engine) {
		leave(region);
		memory_goes(region->engine, region);
	} else {
		xiw_orphan_remove(&region->orphan);
	}
	free(region);
}

void xiw_region_free(struct xiw_region *region)
{
	struct xiw_engine *e = region ? region->engine : NULL;

	if (!region)
		return;
	xiw_regions_enter(e);
	xiw_region_drop(region);
	xiw_regions_leave(e);
}

void xiw_regions_detach(struct xiw_engine *e)
{
	struct xiw_region *r;

	while ((r = e->own.regions)) {
		leave(r);
		r->engine = NULL;
		xiw_orphan_add(&r->orphan);
	}
}

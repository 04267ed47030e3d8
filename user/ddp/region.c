/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ddp/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_SLOT UINT32_MAX
#define FIRST_SLOTS 16u
#define ACCESS_ALL                                                                                 \
	(XIW_DDP_REMOTE_WRITE | XIW_DDP_REMOTE_READ | XIW_DDP_REMOTE_ATOMIC | XIW_DDP_SINK)

void xiw_ddp_table_init(struct xiw_ddp_table *t, xiw_ddp_random random, void *random_ctx)
{
	*t = (struct xiw_ddp_table){
		.generation = 1,
		.free_head = NO_SLOT,
		.free_tail = NO_SLOT,
		.random = random,
		.random_ctx = random_ctx,
	};
}

void xiw_ddp_table_free(struct xiw_ddp_table *t)
{
	free(t->slots);
	free(t->cells);
	xiw_ddp_table_init(t, t->random, t->random_ctx);
}

static uint32_t cell_home(const struct xiw_ddp_table *t, uint32_t stag)
{
	return stag * 0x9e3779b1u >> t->shift;
}

/* The cell that holds the STag, or the empty cell where it would go. Half of the cells are empty. */
static uint32_t cell_find(const struct xiw_ddp_table *t, uint32_t stag)
{
	uint32_t mask = 2 * t->nslots - 1;
	uint32_t i = cell_home(t, stag);

	while (t->cells[i].slot && t->cells[i].stag != stag)
		i = (i + 1) & mask;
	return i;
}

/* Closes the gap, so that no lookup stops there before it has found its cell. */
static void cell_remove(struct xiw_ddp_table *t, uint32_t gap)
{
	uint32_t mask = 2 * t->nslots - 1;
	uint32_t i = gap;

	for (;;) {
		i = (i + 1) & mask;
		if (!t->cells[i].slot)
			break;
		if (((i - cell_home(t, t->cells[i].stag)) & mask) >= ((i - gap) & mask)) {
			t->cells[gap] = t->cells[i];
			gap = i;
		}
	}
	t->cells[gap] = (struct xiw_ddp_cell){ 0 };
}

/*
 * The slot that was freed first is used first, so that an STag comes back as late as possible (RFC 5042 section 6.1.1).
 */
static void slot_put(struct xiw_ddp_table *t, uint32_t slot)
{
	t->slots[slot].used = false;
	t->slots[slot].next_free = NO_SLOT;
	if (t->free_head == NO_SLOT)
		t->free_head = slot;
	else
		t->slots[t->free_tail].next_free = slot;
	t->free_tail = slot;
}

static int grow(struct xiw_ddp_table *t)
{
	uint32_t n = t->nslots ? 2 * t->nslots : FIRST_SLOTS;
	uint32_t old = t->nslots;
	struct xiw_ddp_slot *slots;
	struct xiw_ddp_cell *cells;

	if (n > XIW_DDP_MAX_REGIONS)
		return -ENOSPC;
	slots = reallocarray(t->slots, n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	t->slots = slots;
	cells = calloc(2 * (size_t)n, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	free(t->cells);
	t->cells = cells;
	t->nslots = n;
	t->shift = __builtin_clz(2 * n) + 1;

	memset(slots + old, 0, (n - old) * sizeof(*slots));
	for (uint32_t i = old; i < n; i++)
		slot_put(t, i);
	for (uint32_t i = 0; i < old; i++) {
		uint32_t stag = slots[i].region.stag;

		if (slots[i].used)
			t->cells[cell_find(t, stag)] = (struct xiw_ddp_cell){ stag, i + 1 };
	}
	return 0;
}

/*
 * All 32 bits are new for each registration, and reveal neither the slot nor what it was used for. At most one number
 * in 256 is taken, so a good source need not be asked often. 0 is left to callers who ask for it.
 */
static int choose_stag(struct xiw_ddp_table *t, uint32_t *stag)
{
	int err = t->random ? 0 : -EINVAL;

	for (int tries = 0; !err && tries < 256; tries++) {
		err = t->random(t->random_ctx, stag);
		if (!err && *stag && !xiw_ddp_region_lookup(t, *stag))
			return 0;
	}
	return err ? err : -ENOSPC;
}

static bool opts_valid(const struct xiw_ddp_region_opts *o)
{
	uint64_t sum;

	return o->ptr && o->len && o->len <= PTRDIFF_MAX && !(o->access & ~ACCESS_ALL) &&
	       !__builtin_add_overflow(o->base, o->len, &sum) &&
	       (o->npieces ? o->access == XIW_DDP_SINK
			   : !__builtin_add_overflow((uintptr_t)o->ptr, o->len, &sum));
}

/* Where the peer may write anything, what it was asked for may go as well. */
static uint32_t with_sink(uint32_t access)
{
	return access & XIW_DDP_REMOTE_WRITE ? access | XIW_DDP_SINK : access;
}

int xiw_ddp_region_register(struct xiw_ddp_table *t, const struct xiw_ddp_region_opts *o,
			    uint32_t *stag)
{
	uint32_t slot, chosen = o->stag;
	struct xiw_ddp_slot *s;
	int err;

	if (!opts_valid(o))
		return -EINVAL;
	if (o->fixed && xiw_ddp_region_lookup(t, o->stag))
		return -EEXIST;
	if (t->free_head == NO_SLOT) {
		err = grow(t);
		if (err)
			return err;
	}
	slot = t->free_head;
	s = &t->slots[slot];
	if (!o->fixed) {
		err = choose_stag(t, &chosen);
		if (err)
			return err;
	}
	t->free_head = s->next_free;
	s->used = true;
	s->region = (struct xiw_ddp_region){
		.stag = chosen,
		.pd = o->pd,
		.stream = o->stream,
		.access = with_sink(o->access),
		.base = o->base,
		.len = o->len,
		.ptr = o->ptr,
		.npieces = o->npieces,
		.serial = ++t->serial,
		.borrowed = o->borrowed,
	};
	t->cells[cell_find(t, chosen)] = (struct xiw_ddp_cell){ chosen, slot + 1 };
	*stag = chosen;
	return 0;
}

int xiw_ddp_region_invalidate(struct xiw_ddp_table *t, uint32_t stag)
{
	uint32_t cell, slot;

	if (!xiw_ddp_region_lookup(t, stag))
		return -ENOENT;
	cell = cell_find(t, stag);
	slot = t->cells[cell].slot - 1;
	cell_remove(t, cell);
	slot_put(t, slot);
	t->generation++;
	return 0;
}

int xiw_ddp_region_set_access(struct xiw_ddp_table *t, uint32_t stag, uint32_t access)
{
	if (access & ~ACCESS_ALL)
		return -EINVAL;
	if (!xiw_ddp_region_lookup(t, stag))
		return -ENOENT;
	t->slots[t->cells[cell_find(t, stag)].slot - 1].region.access = with_sink(access);
	t->generation++;
	return 0;
}

const struct xiw_ddp_region *xiw_ddp_region_lookup(const struct xiw_ddp_table *t, uint32_t stag)
{
	uint32_t slot;

	if (!t->nslots)
		return NULL;
	slot = t->cells[cell_find(t, stag)].slot;
	return slot ? &t->slots[slot - 1].region : NULL;
}

enum xiw_ddp_error xiw_ddp_region_check(const struct xiw_ddp_table *t, uint32_t stag, uint32_t pd,
					uint32_t stream, uint32_t access, uint64_t to, uint64_t len,
					const struct xiw_ddp_region **region)
{
	const struct xiw_ddp_region *r = xiw_ddp_region_lookup(t, stag);
	uint64_t end;

	if (!r)
		return XIW_DDP_TAGGED_STAG;
	if (r->pd != pd || (r->stream != XIW_DDP_ANY_STREAM && r->stream != stream))
		return XIW_DDP_TAGGED_NOT_STREAM;
	/* Check 2 of section 7.1. Section 7.2 has no number of its own for a missing right. */
	if ((r->access & access) != access)
		return XIW_DDP_TAGGED_STAG;
	if (__builtin_add_overflow(to, len, &end))
		return XIW_DDP_TAGGED_TO_WRAP;
	if (to < r->base || end > r->base + r->len)
		return XIW_DDP_TAGGED_BOUNDS;
	*region = r;
	return XIW_DDP_OK;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Blocks of memory for what connections have under way. An idle one has none; one that is busy takes and gives them all
 * the time, so some are kept instead of being freed.
 */
#include "core/blocks.h"

#include "core/budget.h"
#include "core/conn.h"

#define BLOCKS 128u /* unused blocks that are kept */

struct xiw_free_block {
	struct xiw_free_block *next;
};

static void *take(void *ctx, bool promised)
{
	struct xiw_conn *c = ctx;
	struct xiw_engine *e = c->engine;
	struct xiw_free_block *b = e->pools.blocks;

	if (b) {
		e->pools.blocks = b->next;
		e->pools.nblocks--;
	} else {
		if (promised)
			xiw_budget_force(&e->budget, XIW_BLOCK);
		else if (!xiw_budget_take(&e->budget, XIW_BLOCK))
			return NULL;
		b = malloc(XIW_BLOCK);
		if (!b) {
			xiw_budget_give(&e->budget, XIW_BLOCK);
			return NULL;
		}
	}
	c->memory += XIW_BLOCK;
	return b;
}

/* The block that was used last is used next, because the caches still have it. */
static void give(void *ctx, void *block)
{
	struct xiw_conn *c = ctx;
	struct xiw_engine *e = c->engine;
	struct xiw_free_block *b = block;

	if (!e) {
		free(block);
		return;
	}
	c->memory -= XIW_BLOCK;
	if (e->pools.nblocks == BLOCKS) {
		xiw_budget_free(&e->budget, block, XIW_BLOCK);
		return;
	}
	b->next = e->pools.blocks;
	e->pools.blocks = b;
	e->pools.nblocks++;
}

struct xiw_block_source xiw_blocks_of(struct xiw_conn *c)
{
	return (struct xiw_block_source){ take, give, c };
}

void xiw_blocks_free(struct xiw_engine *e)
{
	struct xiw_free_block *b;

	while ((b = e->pools.blocks)) {
		e->pools.blocks = b->next;
		xiw_budget_free(&e->budget, b, XIW_BLOCK);
	}
	e->pools.nblocks = 0;
}

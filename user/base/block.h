/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries that are counted from 0 on for ever, of which a run is in use at any time: [head, tail). Their memory comes
 * in blocks, and only the blocks that hold a part of the run are there.
 */
#ifndef XIW_BASE_BLOCK_H
#define XIW_BASE_BLOCK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define XIW_BLOCK 1152u /* octets of a block, all of which have one size */

/* Where blocks come from. */
struct xiw_block_source {
	/* Returns a block, or NULL. promised: it is for what a peer was told it may send, so no budget refuses it. */
	void *(*take)(void *ctx, bool promised);
	void (*give)(void *ctx, void *block);
	void *ctx;
};

struct xiw_blocks {
	void **at; /* a ring; NULL: the block is not there */
	uint32_t room;
};

/* The most blocks that `depth` entries in a row can be in, if a block has so many entries. */
static inline uint32_t xiw_blocks_room(uint32_t depth, uint32_t entries)
{
	return (depth + entries - 2) / entries + 1;
}

/* Makes sure that block `n` is there. Returns 0 or -ENOMEM. */
static inline int xiw_block_need(struct xiw_blocks *b, uint64_t n,
				 const struct xiw_block_source *source, bool promised)
{
	void **at = &b->at[n % b->room];

	if (!*at)
		*at = source->take(source->ctx, promised);
	return *at ? 0 : -ENOMEM;
}

/* Gives block `n` back, if it is there. */
static inline void xiw_block_drop(struct xiw_blocks *b, uint64_t n,
				  const struct xiw_block_source *source)
{
	void **at = &b->at[n % b->room];

	if (*at)
		source->give(source->ctx, *at);
	*at = NULL;
}

/* The entry before `head` is not in use any more: gives back the block that has no part of the run now. */
static inline void xiw_block_pass(struct xiw_blocks *b, uint64_t head, uint64_t tail,
				  uint32_t entries, const struct xiw_block_source *source)
{
	if (head % entries == 0)
		xiw_block_drop(b, head / entries - 1, source);
	if (head == tail)
		xiw_block_drop(b, head / entries, source);
}

#endif

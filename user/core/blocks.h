/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The blocks (base/block.h) that an engine's connections take while they use them. */
#ifndef XIW_CORE_BLOCKS_H
#define XIW_CORE_BLOCKS_H

#include "base/block.h"
#include "core/engine.h"

/* A source of blocks, which are charged to the connection while it has them. It stays valid without the engine. */
struct xiw_block_source xiw_blocks_of(struct xiw_conn *c);

/* Frees those that no connection has. */
void xiw_blocks_free(struct xiw_engine *e);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engines of this process, so that the child of a fork() can let go of them. */
#ifndef XIW_ENGINE_FORK_H
#define XIW_ENGINE_FORK_H

#include "core/engine.h"

/* Puts an engine on the list of this process. */
void xiw_fork_add(struct xiw_engine *e);
/*
 * Takes it off, if it is there, and calls close_all(), which closes its descriptors. No child is made meanwhile, so
 * none has them.
 */
void xiw_fork_remove(struct xiw_engine *e, void (*close_all)(struct xiw_engine *e));

#endif

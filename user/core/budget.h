/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One budget of memory for an engine: whatever grows with connections, and with what their peers do, is taken
 * from it. Nothing here is called for a packet.
 */
#ifndef XIW_ENGINE_BUDGET_H
#define XIW_ENGINE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XIW_MEMORY_DEFAULT (512ull << 20)
#define XIW_MEMORY_MIN (4ull << 20)

struct xiw_budget {
	uint64_t limit; /* 0: none, as in tests of single parts */
	uint64_t used, most;
	uint64_t refused; /* times that something was not to be had */
};

/* False: that much is not left. */
bool xiw_budget_take(struct xiw_budget *b, size_t n);
/* For what cannot be refused without losing something that was promised: the next one is refused instead. */
void xiw_budget_force(struct xiw_budget *b, size_t n);
void xiw_budget_give(struct xiw_budget *b, size_t n);

/* The same with the memory, which is zero. NULL: over the budget, or none. */
void *xiw_budget_alloc(struct xiw_budget *b, size_t n);
/* `n` as it was taken. NULL is fine. */
void xiw_budget_free(struct xiw_budget *b, void *p, size_t n);
/* As realloc(): on failure `p` stays as it is. */
void *xiw_budget_resize(struct xiw_budget *b, void *p, size_t from, size_t to);

#endif

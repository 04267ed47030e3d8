/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory budget of an engine. All memory that grows with connections, or with what peers do, is taken from it.
 * Nothing here is called per packet.
 */
#ifndef XIW_CORE_BUDGET_H
#define XIW_CORE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XIW_MEMORY_DEFAULT (512ull << 20)
#define XIW_MEMORY_MIN (4ull << 20)

struct xiw_budget {
	uint64_t limit; /* 0: no limit, as in unit tests */
	uint64_t used, most;
	uint64_t refused; /* how often something was refused */
};

/* Takes `n` octets. False: that much is not left, and nothing was taken. */
bool xiw_budget_take(struct xiw_budget *b, size_t n);
/*
 * Takes `n` octets even beyond the limit. It is for memory that cannot be refused without breaking a promise, such as
 * that of an event; others are refused instead.
 */
void xiw_budget_force(struct xiw_budget *b, size_t n);
/* Gives `n` octets back. */
void xiw_budget_give(struct xiw_budget *b, size_t n);

/* Takes `n` octets and allocates them, zeroed. NULL: the budget or the system does not have them. */
void *xiw_budget_alloc(struct xiw_budget *b, size_t n);
/* Frees `p` and gives back its `n` octets. `p` may be NULL. */
void xiw_budget_free(struct xiw_budget *b, void *p, size_t n);
/* Changes the size as realloc() does. NULL: it failed, and `p` is as it was. */
void *xiw_budget_resize(struct xiw_budget *b, void *p, size_t from, size_t to);

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The memory budget of an engine: it counts what is in use and refuses what would exceed the limit. */
#include "core/budget.h"

#include <stdlib.h>

void xiw_budget_force(struct xiw_budget *b, size_t n)
{
	b->used += n;
	if (b->used > b->most)
		b->most = b->used;
}

bool xiw_budget_take(struct xiw_budget *b, size_t n)
{
	/* xiw_budget_force() may have exceeded the limit. */
	if (b->limit && (b->used > b->limit || n > b->limit - b->used)) {
		b->refused++;
		return false;
	}
	xiw_budget_force(b, n);
	return true;
}

void xiw_budget_give(struct xiw_budget *b, size_t n)
{
	b->used -= n;
}

void *xiw_budget_alloc(struct xiw_budget *b, size_t n)
{
	void *p;

	if (!xiw_budget_take(b, n))
		return NULL;
	p = calloc(1, n);
	if (!p)
		xiw_budget_give(b, n);
	return p;
}

void xiw_budget_free(struct xiw_budget *b, void *p, size_t n)
{
	if (!p)
		return;
	free(p);
	xiw_budget_give(b, n);
}

void *xiw_budget_resize(struct xiw_budget *b, void *p, size_t from, size_t to)
{
	void *q;

	if (to > from && !xiw_budget_take(b, to - from))
		return NULL;
	q = realloc(p, to);
	if (!q) {
		if (to > from)
			xiw_budget_give(b, to - from);
		return NULL;
	}
	if (to < from)
		xiw_budget_give(b, from - to);
	return q;
}

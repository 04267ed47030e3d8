/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_ORPHAN_H
#define XIW_CORE_ORPHAN_H

#include <stdbool.h>

/* An object that has outlived its engine, in orphan.c's list. */
struct xiw_orphan {
	struct xiw_orphan *next, **at;
};

void xiw_orphan_add(struct xiw_orphan *o);
void xiw_orphan_remove(struct xiw_orphan *o);

#endif

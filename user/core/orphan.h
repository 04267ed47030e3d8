/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of objects that have outlived their engine. */
#ifndef XIW_CORE_ORPHAN_H
#define XIW_CORE_ORPHAN_H

#include <stdbool.h>

/* A member of each object that can outlive its engine. */
struct xiw_orphan {
	struct xiw_orphan *next, **at;
};

/* Puts the object on the list, or takes it off. */
void xiw_orphan_add(struct xiw_orphan *o);
void xiw_orphan_remove(struct xiw_orphan *o);

#endif

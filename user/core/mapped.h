/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* core/mapped.h - whether memory that is to be registered is there, with the rights that it is registered for. */
#ifndef XIW_CORE_MAPPED_H
#define XIW_CORE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>

/* Above that, pages come when they are touched. */
#define XIW_POPULATE_MOST (64u << 20)

/*
 * Looks at every page, and has all of them come, as for an RNIC, which pins them; of more than XIW_POPULATE_MOST octets
 * only the mappings are looked at. `write`: they are to be written. A mapping of a device passes by its rights.
 *
 * -EFAULT: a part is not mapped, has not the right, or is beyond the end of its file; -ENOMEM: there is not so much
 * memory.
 */
int xiw_mapped_check(const void *addr, size_t len, bool write);

/*
 * The same in constant time, whatever maps the process has: all of it has to be mapped, and of rights the first and the
 * last page are asked. Only these two pages come.
 */
int xiw_mapped_glance(const void *addr, size_t len, bool write);

#endif

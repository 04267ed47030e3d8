/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_LOAD_DEAD_H
#define XIW_LOAD_DEAD_H

/*
 * Removes all pins whose interface is gone, of whatever network namespace: a container that ends takes its interfaces
 * along, a driver that is unbound its own, and neither unloads. Their maps are memory of the kernel's.
 * The caller has the lock of `base`, which is what `pin_dir` stands for.
 */
void xiw_dead_remove(const char *base, const char *pin_dir);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_NETIF_CONNTRACK_H
#define XIW_NETIF_CONNTRACK_H

#include <stdint.h>

/*
 * Returns how soon, in milliseconds, conntrack of this network namespace may forget an established TCP connection whose
 * segments it does not see. Returns 0 if there is no conntrack, or one that does not say.
 */
uint64_t xiw_conntrack_forgets_ms(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_REGISTER_H
#define XIW_CONN_REGISTER_H

#include "core/engine.h"

/*
 * Finds the interface on which the connection would go direct. Returns 0 or -errno; no_direct then says why
 * there is none.
 */
int xiw_conn_netif(struct xiw_conn *c, struct xiw_netif **netif);

/*
 * Registers the connection with XDP. Called when the startup frames have been read, and before an octet behind
 * them is. On failure no_direct says why, and the connection uses the kernel path alone; if the table is full
 * (-ENOSPC), or its peer has its share of it (-EDQUOT), only until there is a slot for it.
 */
int xiw_conn_register(struct xiw_conn *c);

/* Ends the registration: the stream falls back, and the slot is freed or left to be collected. */
void xiw_conn_unregister(struct xiw_conn *c);

/* Tells XDP what it has to know of the stream besides its numbers: markers and CRC. */
void xiw_slot_describe(struct xiw_conn *c);

/*
 * Frees abandoned slots whose sockets are gone, and gives them to connections that wait for one. The turn calls
 * it; it does nothing until it is due.
 */
void xiw_slots_collect(struct xiw_engine *e);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CONN_FRAMES_H
#define XIW_CONN_FRAMES_H

#include "core/engine.h"

/* Makes room for the startup frames. Returns 0 or -ENOMEM. */
int xiw_startup_prepare(struct xiw_conn *c);

/* Frees that room if startup is over: both sides have the other's frame, and nothing else precedes the stream. */
void xiw_startup_forget(struct xiw_conn *c);

/* Frees all that startup has allocated, with the connection. */
void xiw_startup_release(struct xiw_conn *c);

/* Keeps the Private Data of the peer's frame, which is complete. Returns 0 or -ENOMEM. */
int xiw_startup_keep(struct xiw_conn *c);

/* Sends what is next of startup's octets, unless a send is under way or nothing is left. */
void xiw_startup_send(struct xiw_conn *c);

/*
 * Gives it to the socket at once, so that it leaves whatever becomes of the process. Returns how many octets the socket
 * has taken, for xiw_startup_sent(); 0 if a send is under way or it takes none now.
 */
uint32_t xiw_startup_give(struct xiw_conn *c);

/* Sends one FPDU behind our startup frame, before all that the application sends. */
void xiw_startup_fpdu(struct xiw_conn *c, const struct xiw_ddp_hdr *h, const uint8_t *payload,
		      uint32_t len);

#endif

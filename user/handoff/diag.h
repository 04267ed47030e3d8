/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's TCP socket that has the addresses of a flow, found by sock_diag(7). */
#ifndef XIW_HANDOFF_DIAG_H
#define XIW_HANDOFF_DIAG_H

#include <xiwarp/abi.h>

/* Its state, TCP_TIME_WAIT included; 0: there is no such socket; or negative errno. */
int xiw_flow_socket_state(const struct xiw_flow *flow);
/*
 * 1: a process has that socket open, or the peer has not acknowledged all of it, FIN included; 0: neither; or negative
 * errno. What the kernel still keeps of others (FIN-WAIT-2, TIME-WAIT) has nothing to send.
 */
int xiw_flow_socket_live(const struct xiw_flow *flow);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's TCP socket that has the addresses of a flow, found by sock_diag(7). */
#ifndef XIW_HANDOFF_DIAG_H
#define XIW_HANDOFF_DIAG_H

#include <xiwarp/abi.h>

/* Its state, TCP_TIME_WAIT included; 0: there is no such socket; or negative errno. */
int xiw_flow_socket_state(const struct xiw_flow *flow);
/*
 * 1: a process has that socket open; 0: none has; or negative errno. A socket that a process has closed is open in
 * none, even while the kernel still keeps it (FIN-WAIT, TIME-WAIT).
 */
int xiw_flow_socket_held(const struct xiw_flow *flow);

#endif

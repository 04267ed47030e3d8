/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host/settings.h - what the environment says about the engines of this process.
 *
 * XIWARP_PATH: `direct`, `kernel` or `auto` (enum xiw_use_path). XIWARP_QUEUES: the most receive queues of an
 * interface that the process takes; unset or 0: all that are free. XIWARP_ENGINES: how many engines; unset or 0: as
 * xiw_group_create() does; never more than XIWARP_QUEUES. XIWARP_PIN_DIR: where the pins are. XIWARP_IF: the only
 * interface whose queues are taken before a connection needs others. XIWARP_SEND_FIRST, if it is not empty: who
 * accepts a connection sends without having received anything, after half a second, if the peer does not negotiate
 * who speaks first; see xiw_conn_opts.send_first. What has no meaning is refused: one line on stderr says so, and
 * -EINVAL is returned. If other processes have all queues of an interface, one line on stderr says so, and likewise
 * if `direct` was asked for and is not to be had.
 */
#ifndef XIW_HOST_SETTINGS_H
#define XIW_HOST_SETTINGS_H

#include <stdbool.h>

#include <xiwarp/xiwarp.h>

/*
 * Sets what XIWARP_PATH, XIWARP_PIN_DIR, XIWARP_IF, XIWARP_QUEUES and XIWARP_ENGINES say; an empty one says nothing.
 * Strings are the environment's memory. -EINVAL: a value has no meaning, also that of XIWARP_RING (core/ring.c), and a
 * line on stderr has said so, once.
 */
int xiw_host_settings(struct xiw_engine_opts *engine, struct xiw_group_opts *group);

/* Says XIWARP_SEND_FIRST that listeners' connections depart from RFC 5044 section 7.1.2 rule 4? */
bool xiw_host_send_first(void);

#endif

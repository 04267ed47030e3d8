/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host/settings.h - what the environment says about the engines of this process. */
#ifndef XIW_HOST_SETTINGS_H
#define XIW_HOST_SETTINGS_H

#include <stdbool.h>

#include <xiwarp/xiwarp.h>

/*
 * Sets what XIWARP_PATH, XIWARP_PIN_DIR, XIWARP_QUEUES and XIWARP_ENGINES say; an empty one says nothing. The pin
 * directory is the environment's memory. -EINVAL: a value has no meaning, and a line on stderr has said so, once.
 */
int xiw_host_settings(struct xiw_engine_opts *engine, struct xiw_group_opts *group);

/* Says XIWARP_SEND_FIRST that listeners' connections depart from RFC 5044 section 7.1.2 rule 4? */
bool xiw_host_send_first(void);

#endif

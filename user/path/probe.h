/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Do the segments that the engine injects over lo reach the socket? A firewall may drop them, from the start or later,
 * and lo may be down. xiw_socket counts those that arrive.
 */
#ifndef XIW_PATH_PROBE_H
#define XIW_PATH_PROBE_H

#include "core/engine.h"

enum xiw_probe {
	XIW_PROBE_ARRIVES,
	XIW_PROBE_UNDER_WAY,
	XIW_PROBE_LOST, /* as often as is tried */
};

/* Says before a stretch whether injected segments arrive. The first stretch, and one after a loss, wait for a probe. */
enum xiw_probe xiw_probe_stretch(struct xiw_conn *c);

/* Says whether the probe has arrived since the engine last looked. */
bool xiw_probe_late(struct xiw_conn *c);

/*
 * Called at each look of path/output.c. Says whether segments that had been injected before the last look have not
 * reached the socket. The stream is to fall back then.
 */
bool xiw_probe_lost(struct xiw_conn *c);

/* Says whether as many are missing now. They may be on their way. */
bool xiw_probe_missing(const struct xiw_conn *c);

#endif

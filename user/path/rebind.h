/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An engine leaves the queues of an interface and binds them anew: the MTU has outgrown its frames, or hardware has cut
 * a packet in two (bpf/cut.h). Streams go on by the kernel path meanwhile, and come back.
 */
#ifndef XIW_PATH_REBIND_H
#define XIW_PATH_REBIND_H

#include "core/engine.h"

/* Begins it, if the interface asks for it. True: it is under way. */
bool xiw_rebind_look(struct xiw_engine *e, struct xiw_netif *p);

/* At the end of a turn, while e->watch.rebinds: goes on with it as far as it can. */
void xiw_rebind_go_on(struct xiw_engine *e);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which engine serves a receive queue: the claims in the map xiw_queues. A queue belongs to the engine whose number it
 * carries, as long as that engine lives, and XDP redirects a flow's frames only to queues of the flow's engine.
 *
 *   xiw_queue_claim()    before the AF_XDP socket is made: XDP redirects nothing to the queue yet
 *   xiw_queue_begin()    when the socket takes frames
 *   xiw_queue_end()      before the socket is closed: XDP redirects nothing to the queue any more
 *   xiw_queue_release()  when it is closed, or could not be made
 */
#ifndef XIW_HANDOFF_QUEUES_H
#define XIW_HANDOFF_QUEUES_H

#include "handoff/table.h"

/* -EBUSY: a living engine has the queue, or was faster. */
int xiw_queue_claim(struct xiw_table *t, uint32_t queue);
/* Puts the socket where XDP looks for it, and then names the engine. Negative errno of bpf(2). */
int xiw_queue_begin(struct xiw_table *t, uint32_t queue, int xsk_fd);
void xiw_queue_end(struct xiw_table *t, uint32_t queue);
void xiw_queue_release(struct xiw_table *t, uint32_t queue);

/*
 * For unload: from here on XDP begins no stretch, and gives back those that there are, whatever engines arm, open or
 * close meanwhile. They keep their queues. Returns what xiw_queues_let_go() gets: a lock on the directory of the pins,
 * which ends with the process, and engines let their queues go when they find it gone. Or negative errno: then the hold
 * counts only for engines whose directory was removed, and outlives a process that is killed.
 */
int xiw_queues_hold(struct xiw_queue queues[XIW_MAX_QUEUES], const char *dir);
void xiw_queues_let_go(struct xiw_queue queues[XIW_MAX_QUEUES], int lock);

/* For engines, now and then: lets a queue go that a process held which is not there any more. */
void xiw_queue_look(struct xiw_table *t, uint32_t queue);

/* The living engine that has the queue; 0: none. */
uint32_t xiw_queue_engine(const struct xiw_table *t, uint32_t queue);

#endif

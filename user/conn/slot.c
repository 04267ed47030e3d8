// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections that found the flow table full: they take the kernel's path until a slot is free. First come, first
 * served; asked about when abandoned slots are, which is when one can have become free.
 */
#include <errno.h>

#include "core/internal.h"

#define RETRIES 16 /* in one look */

void xiw_slot_wait(struct xiw_conn *c)
{
	struct xiw_engine *e = c->engine;

	if (c->slotless_at)
		return;
	c->next_slotless = NULL;
	c->slotless_at = e->slotless_end;
	*e->slotless_end = c;
	e->slotless_end = &c->next_slotless;
	xiw_collect_soon(e);
}

void xiw_slot_forget(struct xiw_conn *c)
{
	if (!c->slotless_at)
		return;
	*c->slotless_at = c->next_slotless;
	if (c->next_slotless)
		c->next_slotless->slotless_at = c->slotless_at;
	else
		c->engine->slotless_end = c->slotless_at;
	c->slotless_at = NULL;
}

/* What XDP is to know of the stream besides its numbers. */
void xiw_slot_describe(struct xiw_conn *c)
{
	if (!c->flow)
		return;
	c->flow->marker_origin = c->marker_origin;
	c->flow->flags |= (c->opts.markers ? XIW_FLOW_MARKERS : 0) | (c->crc ? XIW_FLOW_CRC : 0);
}

/* False: the table is still full. */
static bool retry(struct xiw_conn *c)
{
	int err;

	xiw_slot_forget(c);
	if (c->state != XIW_OPEN || c->closing || c->eof || c->rx_dead)
		return true;
	err = xiw_conn_register(c);
	if (err)
		return err != -ENOSPC;
	xiw_slot_describe(c);
	c->want_arm = true;
	xiw_dirty(c);
	return true;
}

/* Those that try in vain stand at the end again: one of another interface may have more luck. */
void xiw_slots_retry(struct xiw_engine *e)
{
	for (int i = 0; e->slotless && i < RETRIES; i++)
		if (!retry(e->slotless))
			break;
}

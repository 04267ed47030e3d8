// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Arms a connection: KERNEL to ARMED, after which XDP may begin a stretch. */
#include "path/arm.h"

#include "core/agenda.h"
#include "path/apart.h"
#include "path/hold.h"
#include "path/progress.h"

/*
 * Says whether the connection is not barred. XDP checks the same again at the segment that would begin a
 * stretch.
 */
static bool may_arm(struct xiw_conn *c)
{
	if (__atomic_load_n(&c->flow->elsewhere_segs, __ATOMIC_RELAXED))
		xiw_conn_bar(c, XIW_REASON_ELSEWHERE);
	if (__atomic_load_n(&c->flow->bypass_segs, __ATOMIC_RELAXED))
		xiw_conn_bar(c, XIW_REASON_BYPASS);
	xiw_progress_say(c);
	return !xiw_conn_barred(c);
}

/*
 * The connection is not armed while octets from the socket wait for room or for a buffer. Frames of a
 * stretch would wait behind them without an acknowledgement, whereas the socket acknowledges and closes its
 * window.
 */
void xiw_try_arm(struct xiw_conn *c, uint32_t run)
{
	if (!c->flow || c->netif->rebinds || c->rx_dead || c->end.eof ||
	    c->stretch.state != XIW_STRETCH_OFF || c->state != XIW_OPEN || xiw_octets_wait(c) ||
	    c->recv.starved_at || !may_arm(c))
		return;
	if (xiw_owner_path(xiw_flow_owner(c->flow)) != XIW_PATH_KERNEL ||
	    !xiw_progress_may_arm(c) || !xiw_apart_may_arm(c))
		return;
	if (xiw_flow_arm(c->flow, xiw_progress_run(c, run))) {
		c->counts.armed++;
		xiw_dirty(c);
	}
}

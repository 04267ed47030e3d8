// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a connection reports of itself. */
#include <string.h>

#include "base/opts.h"
#include "core/engine.h"

_Static_assert(XIW_TCP_DROP_MAX <= XIW_DROPS_MAX, "every reason has its counter");
_Static_assert(sizeof(((struct xiw_flow *)0)->why) <= sizeof(((struct xiw_conn_info *)0)->why),
	       "and room in the report");

static void flow_info(struct xiw_conn_info *i, const struct xiw_flow *f, uint32_t index)
{
	i->path = xiw_owner_path(xiw_flow_owner(f));
	i->flow = index;
	i->segments_direct = f->direct_segs;
	i->segments_kernel = f->kernel_segs;
	memcpy(i->why, f->why, sizeof(f->why));
}

void xiw_conn_info(const struct xiw_conn *c, struct xiw_conn_info *info, size_t size)
{
	struct xiw_conn_info i = {
		.local = c->local,
		.remote = c->remote,
		.markers_in = c->opts.markers,
		.markers_out = c->mpa_tx.markers,
		.crc = c->crc,
		.zero_copy = c->zero_copy,
		.rejected = c->rejected,
		.revision = c->startup_len > XIW_MPA_REV_OFF ? c->startup[XIW_MPA_REV_OFF] : 0,
		.enhanced = c->peer.has_enhanced,
		.peer_to_peer = c->terms.peer_to_peer,
		.rtr = c->terms.rtr,
		.ird = c->terms.ird,
		.ord = c->terms.ord,
		.peer_ird = c->peer.enhanced.ird,
		.peer_ord = c->peer.enhanced.ord,
		.emss = c->emss,
		.octets_direct = c->placed_direct,
		.octets_kernel = c->placed_kernel,
		.stream_direct = c->stream_direct,
		.stream_kernel = c->stream_kernel,
		.fpdus = c->fpdus,
		.fpdus_early = c->fpdus_early,
		.messages = c->messages,
		.octets_sent = c->octets_sent,
		.crc_errors = c->crc_errors,
		.went_direct = c->went_direct,
		.went_kernel = c->went_kernel,
		.acks_sent = c->acks_sent,
		.injected = c->injections,
		.mpa_error = c->mpa_error,
		.ddp_error = c->ddp_error,
		.error_header_len = c->error_header_len,
		.error_segment_len = c->error_segment_len,
		.error = c->error,
		.armed = c->armed,
		.segments_dropped = c->segs_dropped,
		.challenges_withheld = c->challenges_withheld + c->tcp.challenges_withheld,
	};

	memcpy(i.no_direct, c->no_direct, sizeof(i.no_direct));
	memcpy(i.error_header, c->error_header, sizeof(i.error_header));
	for (unsigned int d = 0; d < XIW_TCP_DROP_MAX; d++)
		i.drops[d] = c->drops[d] + c->tcp.drops[d];
	if (c->flow)
		flow_info(&i, c->flow, c->flow_index);
	else
		flow_info(&i, &c->last, c->flow_index);
	xiw_opts_give(info, size, &i, sizeof(i));
}

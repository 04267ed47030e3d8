// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reports what is known of a connection: xiw_conn_info(). */
#include <string.h>

#include "base/opts.h"
#include "core/engine.h"
#include "path/route.h"

_Static_assert(XIW_TCP_DROP_MAX <= XIW_DROPS_MAX, "every reason has its counter");
_Static_assert(sizeof(((struct xiw_flow *)0)->reasons) <=
		       sizeof(((struct xiw_conn_info *)0)->reasons),
	       "every reason has room in the report");

static void flow_info(struct xiw_conn_info *i, const struct xiw_conn *c)
{
	struct xiw_flow_report r = c->reg.last;

	if (c->flow)
		xiw_flow_report(c->flow, &r);
	i->path = r.path;
	i->flow = c->reg.index;
	i->segments_direct = r.direct_segs;
	i->segments_kernel = r.kernel_segs;
	memcpy(i->reasons, r.reasons, sizeof(r.reasons));
}

void xiw_conn_info(const struct xiw_conn *c, struct xiw_conn_info *info, size_t size)
{
	struct xiw_conn_info i = {
		.local = c->addr.local,
		.remote = c->addr.remote,
		.markers_in = c->opts.markers,
		.markers_out = c->send.mpa.markers,
		.crc = c->crc,
		.zero_copy = c->reg.zero_copy,
		.rejected = c->startup.rejected,
		.revision = c->startup.peer_rev,
		.enhanced = c->startup.peer.has_enhanced,
		.peer_to_peer = c->startup.terms.peer_to_peer,
		.rtr = c->startup.terms.rtr,
		.ird = c->startup.terms.ird,
		.ord = c->startup.terms.ord,
		.peer_ird = c->startup.peer.enhanced.ird,
		.peer_ord = c->startup.peer.enhanced.ord,
		.emss = c->send.emss,
		.octets_direct = c->counts.placed_direct,
		.octets_kernel = c->counts.placed_kernel,
		.stream_direct = c->counts.stream_direct,
		.stream_kernel = c->counts.stream_kernel,
		.fpdus = c->counts.fpdus,
		.fpdus_early = c->counts.fpdus_early,
		.early_refused = c->counts.early_refused,
		.messages = c->counts.messages,
		.octets_sent = c->counts.octets_sent,
		.crc_errors = c->counts.crc_errors,
		.went_direct = c->counts.went_direct,
		.went_kernel = c->counts.went_kernel,
		.acks_sent = c->counts.acks_sent,
		.injected = c->counts.injected,
		.mpa_error = c->end.mpa_error,
		.ddp_error = c->end.ddp_error,
		.error_header_len = c->end.header_len,
		.error_segment_len = c->end.segment_len,
		.error = c->end.error,
		.armed = c->counts.armed,
		.segments_dropped = c->counts.segs_dropped,
		.challenges_withheld = c->counts.challenges_withheld + c->tcp.challenges.withheld,
		.holds = c->counts.holds,
		.holds_expired = c->counts.holds_expired,
		.surplus = c->counts.surplus,
		.connected = c->startup.connected,
	};

	memcpy(i.no_direct, c->no_direct, sizeof(i.no_direct));
	if (c->flow && !c->no_direct[0])
		xiw_route_why(c, i.no_direct, sizeof(i.no_direct));
	memcpy(i.error_header, c->end.header, sizeof(i.error_header));
	for (unsigned int d = 0; d < XIW_TCP_DROP_MAX; d++)
		i.drops[d] = c->counts.drops[d] + c->tcp.drops[d];
	flow_info(&i, c);
	xiw_opts_give(info, size, &i, sizeof(i));
}

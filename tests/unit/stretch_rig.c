// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/stretch_rig.h"

#include <string.h>

#include "handoff/owner.h"

void stretch_begin(struct stretch *t)
{
	struct xiw_conn *c = &t->c;

	memset(t, 0, sizeof(*t));
	t->e.now_ms = 100000;
	t->e.wheel.next_ms = t->e.wheel.collect_ms = XIW_NEVER;
	t->e.injector.fd4 = t->e.injector.fd6 = -1;
	c->engine = &t->e;
	c->netif = &t->netif;
	c->flow = &t->flow;
	c->fd = -1;
	c->reg.ip_version = 4;
	c->timer.deadline_ms = c->timer.ack_ms = c->timer.hold_ms = XIW_NEVER;
	c->timer.ulp_ms = c->progress.due_ms = c->progress.output.look_ms = XIW_NEVER;
	c->stretch.state = XIW_STRETCH_RUNS;
	c->stretch.epoch = 7;
	c->stretch.committed = c->recv.nxt = c->tcp.rcv_nxt = AT;
	t->flow.kernel_nxt = xiw_kernel_nxt_pack(AT, c->stretch.epoch);
	t->flow.owner = xiw_owner_pack(AT, c->stretch.epoch, XIW_PATH_DIRECT);
	t->flow.kernel_edge = t->flow.direct_edge = AT + 10 * LEN;
}

struct xiw_segment stretch_segment(struct stretch *t, uint32_t seq, uint32_t len)
{
	uint8_t *ip = t->frame + XIW_ETH_LEN, *tcp = ip + XIW_IP4_MIN;

	memset(t->frame, 0, sizeof(t->frame));
	ip[0] = 0x45;
	tcp[XIW_TCP_OFF_DOFF] = XIW_TCP_MIN / 4 << 4;
	xiw_put_be32(tcp + XIW_TCP_OFF_SEQ, seq);
	t->meta = (struct xiw_meta){ .l3_off = XIW_ETH_LEN,
				     .l4_off = XIW_ETH_LEN + XIW_IP4_MIN,
				     .payload_off = XIW_ETH_LEN + XIW_IP4_MIN + XIW_TCP_MIN,
				     .payload_len = (uint16_t)len };
	t->packet.frags = 1;
	t->packet.frag[0].base = t->frame;
	t->packet.frag[0].len = t->packet.len = t->meta.payload_off + len;
	return (struct xiw_segment){ &t->packet, &t->meta };
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <string.h>

#include "crc32c/crc32c.h"
#include "handoff/owner.h"
#include "mpa/tx.h"
#include "tcp/csum.h"
#include "tcp/segment.h"
#include "tests/unit/direct_rig.h"

struct world w;
struct xiw_ddp_rx *ddp;
struct shape shape;
uint8_t frame[sizeof(struct xiw_meta) + FRAME], pieces[3][FRAME];
uint32_t frame_len, l3, l4, payload_off, fpdu_len;
struct xiw_packet packet_now;
uint32_t sent, segments;

void rig_rings(void)
{
	struct xiw_xsk *x = &w.q.xsk;

	w.e.cq.head = w.e.cq.tail;
	memset(w.ring_ends, 0, sizeof(w.ring_ends));
	x->ntx_free = 0;
	x->free = w.free_frames;
	x->area = w.area;
	x->tx_free = w.tx_free;
	for (uint32_t i = 0; i < ENTRIES; i++)
		w.tx_free[x->ntx_free++] = i * FRAME;
	w.q.out = x;
	x->tx = (struct xsk_ring_prod){ .mask = ENTRIES - 1,
					.size = ENTRIES,
					.cached_cons = ENTRIES,
					.producer = &w.ring_ends[0],
					.consumer = &w.ring_ends[1],
					.ring = w.tx,
					.flags = &w.ring_flags };
	x->comp = (struct xsk_ring_cons){ .mask = ENTRIES - 1,
					  .size = ENTRIES,
					  .producer = &w.ring_ends[2],
					  .consumer = &w.ring_ends[3],
					  .ring = w.comp,
					  .flags = &w.ring_flags };
}

static void open_tcp(void)
{
	const struct xiw_tcp_rx_conf conf = {
		.rcv_nxt = SEQ,
		.right_edge = SEQ + 4 * OCTETS,
		.last_ack_sent = SEQ,
		.window = 4 * OCTETS,
		.buffer = 4 * OCTETS,
		.snd_una = SND,
		.snd_nxt = SND,
		.peer_wnd = 500,
		.mss = 1448,
		.rcv_wscale = 2,
		.snd_wscale = 2,
		.ts_ok = shape.ts,
		.sack_ok = true,
		.ecn_ok = true,
		.ts_recent = TSVAL,
		.now_ms = NOW_MS,
		.max_keep = KEPT,
	};

	xiw_tcp_rx_init(&w.c.tcp, &conf);
}

static void open_conn(void)
{
	w.c = (struct xiw_conn){
		.flow = &w.flow,
		.netif = &w.netif,
		.engine = &w.e,
		.ddp = ddp,
		.fd = -1,
		.state = XIW_OPEN,
		.crc = true,
		.send.allowed = true,
		.stretch = { .state = XIW_STRETCH_RUNS, .epoch = EPOCH, .committed = SEQ },
		.reg = { .index = FLOW, .window = 4 * OCTETS, .ip_version = shape.ip6 ? 6 : 4 },
		.recv.nxt = SEQ,
		.progress = { .due_ms = XIW_NEVER,
			      .inject_works = true,
			      .output.look_ms = XIW_NEVER },
		.timer = { .deadline_ms = XIW_NEVER,
			   .alive_ms = XIW_NEVER,
			   .ack_ms = XIW_NEVER,
			   .hold_ms = XIW_NEVER,
			   .ulp_ms = XIW_NEVER },
	};
	w.c.reg.remote_ip[0] = w.c.reg.local_ip[0] = shape.ip6 ? 0xfd : 10;
	w.c.reg.remote_ip[3] = 1;
	w.c.reg.local_ip[3] = 2;
	w.c.reg.sock = (struct xiw_sock_state){
		.rcv_mss = 1448, .rcv_wscale = 2, .timestamps = shape.ts, .sack = true, .ecn = true
	};
	open_tcp();
}

void rig_open(void)
{
	struct xiw_ddp_region_opts region = { .ptr = w.memory,
					      .len = OCTETS,
					      .access = XIW_DDP_REMOTE_WRITE,
					      .fixed = true,
					      .stag = STAG };
	struct xiw_ddp_rx_opts opts = { .table = &w.e.regions, .stream = 1, .depth = 1 };
	const struct xiw_crc32c_ops *crc = xiw_crc32c_table;
	uint32_t stag;

	while (!shape.any_cpu && !crc->supported())
		crc++;
	xiw_crc32c_use(shape.any_cpu ? &xiw_crc32c_table[xiw_crc32c_table_len - 1] : crc);
	memset(&w, 0, sizeof(w));
	xiw_ddp_table_init(&w.e.regions, NULL, NULL);
	cr_assert_eq(xiw_ddp_region_register(&w.e.regions, &region, &stag), 0);
	cr_assert_eq(xiw_ddp_rx_create(&ddp, &opts), 0);
	w.e.opts.frames = 64;
	w.e.cq = (struct xiw_cq){ .entries = w.entries,
				  .mask = ENTRIES - 1,
				  .engine = &w.e,
				  .app_ring_fd = -1,
				  .fd = -1 };
	w.e.now_ms = NOW_MS;
	w.e.injector = xiw_injector_none;
	w.e.wheel.next_ms = w.e.wheel.collect_ms = w.e.watch.look_ms = XIW_NEVER;
	for (uint32_t i = 0; i < KEPT; i++) {
		w.kept[i].next_free = w.e.pools.kept_free;
		w.e.pools.kept_free = &w.kept[i];
	}
	w.netif.table.nflows = NFLOWS;
	w.netif.by_flow = w.by_flow;
	w.by_flow[FLOW] = &w.c;
	w.q.netif = &w.netif;
	rig_rings();
	open_conn();
	w.flow.owner = xiw_owner_pack(SEQ, EPOCH, XIW_PATH_DIRECT);
	w.flow.kernel_nxt = xiw_kernel_nxt_pack(SEQ, EPOCH);
	w.flow.kernel_high = w.flow.acked = SEQ;
	w.flow.kernel_edge = w.flow.direct_edge = SEQ + 4 * OCTETS;
	w.flow.snd_nxt = SND;
	memset(w.flow.out_mac, 2, sizeof(w.flow.out_mac));
	w.e.batch = 1;
	sent = segments = 0;
	memset(w.memory, 0xee, sizeof(w.memory));
}

void rig_close(void)
{
	xiw_ddp_rx_free(ddp);
	xiw_ddp_table_free(&w.e.regions);
}

/* ---- packets ------------------------------------------------------------------------------------------- */

static uint32_t link_header(uint8_t *at)
{
	const uint32_t len = XIW_ETH_LEN + (shape.tag ? XIW_VLAN_LEN : 0);

	memset(at, 0x22, XIW_ETH_OFF_TYPE);
	memset(at + XIW_ETH_OFF_TYPE, 0, XIW_VLAN_LEN);
	xiw_put_be16(at + XIW_ETH_OFF_TYPE, 0x8100);
	xiw_put_be16(at + len - 2, shape.ip6 ? 0x86dd : 0x0800);
	return len;
}

void rig_repair(bool crc)
{
	uint8_t *at = frame + sizeof(struct xiw_meta), *fpdu = at + payload_off, *ip = at + l3;
	const uint32_t covered = fpdu_len - XIW_MPA_CRC_SIZE;
	uint16_t sum = 0;

	if (crc)
		xiw_mpa_put_crc(fpdu + covered, xiw_crc32c(0, fpdu, covered));
	xiw_tcp_csum_fill(ip, at + l4, frame_len - l4, NULL, 0);
	if (shape.ip6)
		return;
	memcpy(ip + XIW_IP4_OFF_CSUM, &sum, 2);
	sum = (uint16_t)~xiw_csum_fold(xiw_csum_partial_generic(ip, XIW_IP4_MIN));
	memcpy(ip + XIW_IP4_OFF_CSUM, &sum, 2);
}

void rig_build(void)
{
	struct xiw_meta *meta = (struct xiw_meta *)(void *)frame;
	uint8_t *at = frame + sizeof(*meta), header[XIW_DDP_HDR_MAX], payload[PAYLOAD];
	const struct xiw_ip_header ip = { .version = w.c.reg.ip_version,
					  .hops = 64,
					  .src = w.c.reg.remote_ip,
					  .dst = w.c.reg.local_ip };
	const uint32_t taken = w.line.taken * w.line.segment_len;
	const struct xiw_tcp_seg seg = { .seq = w.c.tcp.rcv_nxt + taken,
					 .ack = SND,
					 .wnd = 500,
					 .flags = XIW_TCP_ACK,
					 .has_ts = shape.ts,
					 .tsval = TSVAL + segments,
					 .tsecr = 70 + segments };
	const struct xiw_ddp_hdr h = { .tagged = true,
				       .dv = XIW_DDP_VERSION,
				       .stag = STAG,
				       .to = sent,
				       .last = sent + PAYLOAD == OCTETS,
				       .rsvdulp = { 0x40 } };
	struct xiw_mpa_tx tx = { .crc = true };

	memset(payload, 0x31 + segments, sizeof(payload));
	l3 = link_header(at);
	l4 = l3 + xiw_ip_build(at + l3, &ip, 0);
	payload_off = l4 + xiw_tcp_build(at + l4, 44, 55, &seg);
	fpdu_len = xiw_mpa_build(&tx, at + payload_off, header, xiw_ddp_hdr_encode(&h, header),
				 payload, PAYLOAD);
	frame_len = payload_off + fpdu_len;
	xiw_ip_build(at + l3, &ip, frame_len - l4);
	if (!shape.ip6)
		xiw_put_be16(at + l3 + XIW_IP4_OFF_ID, (uint16_t)(0xfffe + segments));
	*meta = (struct xiw_meta){ .flow = FLOW,
				   .epoch = EPOCH,
				   .l3_off = (uint16_t)l3,
				   .l4_off = (uint16_t)l4,
				   .payload_off = (uint16_t)payload_off,
				   .payload_len = (uint16_t)fpdu_len,
				   .version = XIW_ABI_VERSION };
	rig_repair(true);
}

void rig_lay(void)
{
	const uint32_t first = shape.frags == 1 ? frame_len : payload_off + 60;
	uint8_t *at = frame + sizeof(struct xiw_meta);

	packet_now = (struct xiw_packet){ .frags = (uint8_t)shape.frags, .len = frame_len };
	packet_now.frag[0] = (struct xiw_vec){ at, first };
	for (uint32_t i = 1, off = first; i < shape.frags; i++) {
		uint32_t len = i + 1 < shape.frags ? 45 : frame_len - off;

		memcpy(pieces[i], at + off, len);
		packet_now.frag[i] = (struct xiw_vec){ pieces[i], len };
		packet_now.addr[i] = i;
		off += len;
	}
}

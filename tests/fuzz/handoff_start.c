// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The beginning and the end of a run. */
#include "tests/fuzz/handoff_engine.h"

#include "ddp/hdr.h"
#include "mpa/tx.h"

/* Does the Tagged message end with the next FPDU? Most are one each, unless long ones are asked for. */
static bool ends(bool long_ones, uint8_t roll)
{
	return !long_ones || nfpdus + 1 == fpdus_max || stream_end + 4000 >= stream_max ||
	       !(roll & 0x70);
}

/* Most FPDUs fill a segment; some are small, some larger than a segment. */
static void make_stream(struct fuzz_in *in)
{
	struct xiw_mpa_tx tx = { .markers = with_markers, .crc = true };
	uint32_t kind = fuzz_u8(in), to = 0, seed = fuzz_u8(in), msn = 1;
	uint32_t first = 0; /* FPDU of the message */

	nfpdus = stream_end = 0;
	while (nfpdus < fpdus_max && stream_end < stream_max - 1500) {
		uint8_t header[XIW_DDP_HDR_MAX], payload[1024], roll = fuzz_pattern(seed++);
		struct xiw_ddp_hdr h = { .tagged = true, .dv = 1, .stag = 7 };
		struct fpdu *f = &fpdus[nfpdus];
		uint32_t len = xiw_mpa_ulpdu_fit(MSS, with_markers, tx.phase), hlen;

		f->send = with_sends && first == nfpdus && !(roll & 0x1c);
		h.last = f->last = f->send || ends(kind & 0x80, roll);
		if (f->send)
			h = (struct xiw_ddp_hdr){ .last = true, .dv = 1, .msn = msn++ };
		hlen = f->send ? XIW_DDP_UNTAGGED_LEN : XIW_DDP_TAGGED_LEN;
		len -= hlen;
		if (roll < (kind & 0x7f))
			len = roll & 3 ? roll : roll & 4 ? 0 : 500 + roll;
		f->start = stream_end;
		f->payload = len;
		f->to = to;
		if (!f->send)
			h.to = to;
		h.rsvdulp[0] = (uint8_t)first;
		for (uint32_t i = 0; i < len; i++)
			payload[i] = fuzz_pattern(to + i);
		xiw_ddp_hdr_encode(&h, header);
		f->len = xiw_mpa_build(&tx, stream + stream_end, header, hlen, payload, len);
		stream_end += f->len;
		to += len;
		nfpdus++;
		if (f->last)
			first = nfpdus;
	}
}

void world_begin(struct fuzz_in *in)
{
	static const uint32_t bases[] = { 1000, 0xfffff000, 0x7ffff000, 0, 0xffffffff };
	uint8_t how = fuzz_u8(in), app;

	xdp_reset();
	isn = bases[fuzz_below(in, 5)];
	app = how & 8 ? fuzz_u8(in) : 0;
	timestamps = how & 1;
	with_markers = how & 2;
	with_sends = how & 4;
	fin_sent = false;
	broken = 0;
	peer_una = peer_nxt = held_upto = 0;
	edge = KERNEL_WINDOW;
	held = calloc(stream_max + 1, sizeof(*held));
	stream = calloc(1, stream_max + ROOM);
	fpdus = calloc(fpdus_max, sizeof(*fpdus));
	sock = (struct sock){ .has = calloc(stream_max + 1, sizeof(*sock.has)),
			      .data = malloc(stream_max),
			      .pos = malloc(stream_max * sizeof(*sock.pos)) };
	CHECK(held && stream && fpdus && sock.has && sock.data && sock.pos);
	sock.edge = KERNEL_WINDOW;
	sock.ts_recent = world_ms();
	the_flow->key = (struct xiw_flow_key){ .remote_port = 3, .local_port = 4 };
	the_flow->key.remote_addr[2] = the_flow->key.local_addr[2] = __builtin_bswap32(0xffff);
	the_flow->key.remote_addr[3] = 1;
	the_flow->key.local_addr[3] = 2;
	xdp_index[FLOW] = the_flow->key;
	make_stream(in);
	engine_open(app);
	post_buffers(how >> 4);
}

void world_end(void)
{
	for (int i = 0; i < XDP_CPUS; i++)
		empty(&cpus[i].backlog);
	empty(&wire);
	empty(&ring);
	empty(&injected);
	engine_close();
	free(held);
	free(stream);
	free(fpdus);
	free(sock.has);
	free(sock.data);
	free(sock.pos);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares xiw_ingress, with its parser and classifier, with the reference that tests/bpf uses for the loaded program:
 * any packet, any state of the flow. Verdict, outgoing octets, metadata and all maps must be the same.
 */
#include <linux/bpf.h>

#include "tests/bpf/ref.h"
#include "tests/fuzz/mpa_model.h"
#include "tests/fuzz/xdp.h"

#define SEQ 0xffffff00u
#define ENGINE 7u /* has the flow */

static struct model_fpdu model;

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static uint32_t near(struct fuzz_in *in, uint32_t to)
{
	switch (fuzz_u8(in) % 4) {
	case 0:
		return to;
	case 1:
		return to + (uint32_t)(int32_t)(int8_t)fuzz_u8(in);
	case 2:
		return to + (uint32_t)(int32_t)(int16_t)fuzz_u16(in);
	default:
		return fuzz_u32(in);
	}
}

static void make_flow(struct fuzz_in *in, struct xiw_flow *f, struct xiw_flow_key *key, bool v6)
{
	uint8_t how = fuzz_u8(in);
	uint32_t path = how & 3, epoch = how & 4 ? 0xffffff : fuzz_u8(in);

	*key = (struct xiw_flow_key){ .remote_port = 3, .local_port = 4 };
	key->remote_addr[3] = 1;
	key->local_addr[3] = 2;
	if (!v6)
		key->remote_addr[2] = key->local_addr[2] = __builtin_bswap32(0xffff);
	f->owner =
		xiw_owner_pack(path == XIW_PATH_DIRECT ? near(in, SEQ) : fuzz_u16(in), epoch, path);
	f->kernel_nxt = xiw_kernel_nxt_pack(near(in, SEQ), epoch + (how & 8 ? 1 : 0));
	f->flags = fuzz_u8(in) & 0xf;
	f->marker_origin = SEQ - fuzz_u16(in) * (how & 16 ? 4 : 1);
	f->run_needed = fuzz_u8(in) & 3;
	f->direct_edge = near(in, SEQ + 4096);
	f->kernel_edge = near(in, SEQ + 4096);
	f->socket_edge = f->kernel_edge - (how & 64 ? 4096 : 0);
	f->kernel_high = near(in, SEQ);
	f->ts_recent = near(in, 0);
	f->run_end = near(in, SEQ);
	f->run_len = fuzz_u8(in) & 3;
	f->kernel_segs = how & 32 ? 1 : 0;
	f->key = *key;
}

/* A driver without headroom, and a stream that does not move: not at the end of the input, where all is 0. */
static void make_try(struct fuzz_in *in, struct xiw_flow *f)
{
	uint8_t how = fuzz_u8(in);

	xdp_no_headroom = how & 2;
	f->seen = how >> 2;
	f->try_seen = f->seen - !(how & 1);
	f->try_nxt = near(in, xiw_owner_value(f->owner));
}

/* Ethernet, up to three tags, IP with options or extension headers; returns the offset of TCP. */
static uint32_t make_ip(struct fuzz_in *in, uint8_t *p, const struct xiw_flow_key *key, bool v6,
			uint32_t *ip)
{
	uint32_t at = 12, tags = fuzz_below(in, 4) % 4, n;
	uint8_t next = 6, *slot;

	for (; tags; tags--, at += 4)
		put16(p + at, tags & 1 ? 0x8100 : 0x88a8);
	put16(p + at, v6 ? 0x86dd : 0x0800);
	at += 2;
	*ip = at;
	if (!v6) {
		n = fuzz_u8(in) % 16;
		p[at] = 0x40 | (n < 11 ? 5 : n);
		p[at + 6] = fuzz_below(in, 8) ? 0x40 : fuzz_u8(in);
		p[at + 9] = 6;
		memcpy(p + at + 12, &key->remote_addr[3], 4);
		memcpy(p + at + 16, &key->local_addr[3], 4);
		return at + (p[at] & 15) * 4;
	}
	p[at] = 0x60;
	memcpy(p + at + 8, key->remote_addr, 16);
	memcpy(p + at + 24, key->local_addr, 16);
	slot = p + at + 6;
	at += 40;
	for (n = fuzz_below(in, 16) < 12 ? 0 : fuzz_below(in, 8); n; n--) {
		static const uint8_t kinds[] = { 0, 43, 60, 44 };

		next = kinds[fuzz_below(in, 4)];
		*slot = next;
		slot = p + at;
		if (next == 44) {
			put16(p + at + 2, fuzz_u8(in) & 1);
			at += 8;
		} else {
			p[at + 1] = fuzz_below(in, 8) ? 0 : fuzz_u8(in);
			at += 8 + 8 * p[at + 1];
		}
	}
	*slot = 6;
	return at;
}

static uint32_t make_packet(struct fuzz_in *in, uint8_t *p, const struct xiw_flow *f,
			    const struct xiw_flow_key *key, bool v6)
{
	uint32_t ip, tcp = make_ip(in, p, key, v6, &ip), hlen = 20, seq = near(in, SEQ), len, i;
	uint8_t how = fuzz_u8(in), *th = p + tcp;

	put16(th, 0x0300); /* ports in network order are 3 and 4 in the key's memory */
	put16(th + 2, 0x0400);
	put32(th + 4, seq);
	th[13] = how & 1 ? fuzz_u8(in) : 0x10;
	put16(th + 16, fuzz_u16(in));
	if (how & 2) { /* the usual timestamp */
		put32(th + 20, 0x0101080a);
		put32(th + 24, near(in, f->ts_recent));
		hlen = 32;
	} else if (how & 4) {
		hlen = 20 + fuzz_below(in, 11) * 4;
		for (i = 20; i < hlen; i++)
			th[i] = fuzz_u8(in);
	}
	th[12] = (uint8_t)(hlen / 4 << 4);
	/* FPDUs with lengths from the input, as far as they fit. */
	len = 0;
	for (i = how & 8 ? 0 : fuzz_below(in, 8); i && len < 3000; i--) {
		uint32_t at = tcp + hlen + len, phase = seq + len - f->marker_origin;
		bool markers = f->flags & XIW_FLOW_MARKERS;

		put16(p + at + (model_marker_due(markers, phase) ? 4 : 0),
		      fuzz_u16(in) & (i & 1 ? 0x3f : 0x3ff));
		model_parse(&model, p + at, 4000, markers, phase, true);
		len += model.wire_len;
	}
	/* Random octets after them, or instead of them. */
	i = how & 16 ? fuzz_u8(in) : 0;
	for (; i; i--)
		p[tcp + hlen + len++] = fuzz_u8(in);
	len += tcp + hlen;
	if (v6)
		put16(p + ip + 4, len - ip - 40);
	else
		put16(p + ip + 2, len - ip);
	/* Damage something. */
	for (i = how & 32 ? 1 + fuzz_below(in, 4) : 0; i; i--) {
		uint32_t at = fuzz_u8(in) & 1 ? fuzz_u16(in) % len : fuzz_u8(in) % 128;

		p[at] = fuzz_u8(in);
	}
	if (how & 64) /* cut short, or padded */
		len += (uint32_t)(int32_t)(int8_t)fuzz_u8(in);
	return len;
}

static void make_queue(struct fuzz_in *in, uint32_t engine)
{
	xdp_queue.last_ns = xdp_now - fuzz_u8(in) * 5000000ull;
	xdp_queue.emptied_ns = xdp_now - fuzz_u8(in) * 5000000ull;
	xdp_queue.wait_ns = xdp_now - fuzz_u8(in) * 5000000ull;
	xdp_queue.beat_ns = xdp_now - fuzz_u8(in) * 5000000ull;
	xdp_queue.engine = engine;
	xdp_queue.takes = XDP_PACKET_MAX;
}

/*
 * What the queue remembers of stretches changes no verdict: this flow's stretch, one that is over, one of a flow with
 * other addresses, or anything.
 */
static void make_memory(struct fuzz_in *in, const struct xiw_flow *f)
{
	uint8_t how = fuzz_u8(in), *key = (uint8_t *)&xdp_flows[2].key;

	xdp_flows[2] = *f;
	key[fuzz_u8(in) % sizeof(f->key)] ^= 1 + fuzz_u8(in) % 255;
	for (uint32_t i = 0; i < XIW_QUEUE_FLOWS; i++) {
		xdp_queue.direct[i] = (how & 1 ? 2ull : 1ull) << 32 | (uint32_t)f->owner;
		if (how & 2)
			xdp_queue.direct[i] ^= (uint64_t)fuzz_u8(in) << fuzz_u8(in) % 64;
	}
}

/* The reference remembers nothing. What XDP adds is the stretch that it has just found. */
static bool same_queue(const struct xiw_queue *want, const struct xiw_flow *before)
{
	struct xiw_queue w = *want;

	w.tick = xdp_queue.tick;
	w.tick_ns = xdp_queue.tick_ns;
	for (uint32_t i = 0; i < XIW_QUEUE_FLOWS; i++)
		if (xdp_queue.direct[i] == (1ull << 32 | (uint32_t)before->owner))
			w.direct[i] = xdp_queue.direct[i];
	return !memcmp(&w, &xdp_queue, sizeof(w));
}

/* Runs the program on the packet. `c` is what the reference has found, with the flow and the queue as it left them. */
static void compare(const struct xdp_packet *packet, const struct ref_case *c,
		    const struct xiw_flow *flow, const struct xiw_queue *queue)
{
	static uint8_t octets[XDP_PACKET_MAX];
	struct xiw_flow before = xdp_flows[1], other = xdp_flows[2];
	struct xdp_packet p = *packet;
	int action;

	memcpy(octets, packet->octets, p.len);
	p.octets = octets;
	memset(xdp_stats, 0, sizeof(xdp_stats));
	action = xdp_ingress(&p, 0);

	CHECK(action == c->action, "%d, not %d (exit %d)", action, c->action, c->exit);
	REACHES(action == XDP_REDIRECT, "a segment that goes direct");
	REACHES(action == XDP_REDIRECT && flow->flags & XIW_FLOW_MARKERS,
		"a segment with Markers that goes direct");
	REACHES(xiw_owner_path(before.owner) == XIW_PATH_DIRECT &&
			xiw_owner_path(flow->owner) == XIW_PATH_KERNEL,
		"a stretch that XDP takes back");
	CHECK(xdp_stats[0][c->stat] == 1, "exit %d", c->exit);
	CHECK(!memcmp(octets, c->pkt, p.len), "exit %d", c->exit);
	/* Nobody sees it in front of a dropped packet. */
	CHECK(!c->has_meta || p.has_meta, "exit %d", c->exit);
	CHECK(!p.has_meta || c->has_meta || action == XDP_DROP, "exit %d", c->exit);
	CHECK(!c->has_meta || !memcmp(&p.meta, &c->meta, sizeof(p.meta)), "exit %d", c->exit);
	CHECK(!memcmp(flow, &xdp_flows[1], sizeof(*flow)), "exit %d", c->exit);
	CHECK(!memcmp(&other, &xdp_flows[2], sizeof(other)), "exit %d", c->exit);
	CHECK(same_queue(queue, &before), "exit %d", c->exit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t ours[XDP_PACKET_MAX], theirs[XDP_PACKET_MAX];
	struct fuzz_in in = { data, size };
	struct xiw_queue blank, queue, *ref_queue = &queue;
	struct ref_flow flow = { .index = 1 };
	struct xiw_flow before, state, *f = &xdp_flows[1];
	uint8_t how = fuzz_u8(&in);
	struct xdp_packet p = { .octets = ours, .queue = how & 1 ? fuzz_below(&in, 3) % 2 : 0 };
	struct ref_case c = { .pkt = theirs,
			      .flows = &flow,
			      .nflows = 1,
			      .limit = XIW_WATCHDOG_NS,
			      .stuck = XIW_STUCK_NS,
			      .pulls = true };

	xdp_reset();
	make_flow(&in, f, &flow.key, how & 2);
	xdp_index[1] = flow.key;
	make_queue(&in, how & 64 ? ENGINE + 1 : ENGINE);
	f->try_ns = xdp_now - fuzz_u8(&in) * 5000000ull;
	xdp_xsk = !(how & 4);
	f->served_by = ENGINE;
	memset(f->out_mac, 2, sizeof(f->out_mac));
	memset(ours, 0, sizeof(ours));
	p.len = make_packet(&in, ours, f, &flow.key, how & 2);
	if (p.len > 12000)
		return 0;
	p.linear = how & 8 ? fuzz_u16(&in) % (p.len + 1) : p.len;
	make_try(&in, f);
	memcpy(theirs, ours, p.len);
	queue = xdp_queue;
	blank = xdp_queue;
	before = state = *f;
	flow.state = &state;
	if (p.queue)
		ref_queue = NULL;
	c.len = p.len;
	c.linear = p.linear;
	c.queue = ref_queue;
	c.queue_index = p.queue;
	c.now = xdp_now;
	c.xsk = xdp_xsk && !p.queue;
	c.headroom = !xdp_no_headroom;

	ref_ingress(&c);
	compare(&p, &c, &state, &queue);

	/* The same without and with something to remember. */
	*f = before;
	xdp_queue = blank;
	make_memory(&in, f);
	memcpy(queue.direct, xdp_queue.direct, sizeof(queue.direct));
	compare(&p, &c, &state, &queue);
	return 0;
}

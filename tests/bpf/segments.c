// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "segments.h"

struct ref_flow ref_flows[NFLOWS];
struct xiw_flow ref_state[NFLOWS];
const uint32_t runs[NRUNS] = { 0, 1, 8, 100 };

/* ---- the state before ------------------------------------------------------------------------ */

static uint32_t near(uint32_t base)
{
	static const uint32_t reach[] = { 1, 8, 3000, 100000, 1u << 30 };
	uint32_t r = reach[rnd(5)];

	return chance(40) ? base : base - r + rnd(2 * r + 1);
}

void gen_flow(struct xiw_flow *f, uint64_t now)
{
	static const uint32_t paths[] = { XIW_PATH_KERNEL, XIW_PATH_ARMED, XIW_PATH_DIRECT };
	uint32_t base = chance(30) ? 0u - rnd(4000) : harness_random();
	uint32_t path = chance(2) ? XIW_PATH_NONE : paths[rnd(3)];
	uint32_t value = path == XIW_PATH_DIRECT ? base : chance(30) ? 0 : harness_random();
	uint32_t epoch = chance(5) ? 0xffffff : harness_random() & 0xffffff;
	uint32_t k = chance(20) ? base : chance(20) ? base - value : harness_random();

	f->owner = xiw_owner_pack(value, epoch, path);
	/* K of this stretch, of the next one, of any one, or none yet. */
	f->kernel_nxt = chance(path == XIW_PATH_DIRECT ? 93 : 2) ? xiw_kernel_nxt_pack(k, epoch)
			: chance(path == XIW_PATH_ARMED ? 15 : 50)
				? xiw_kernel_nxt_pack(k, epoch + 1)
			: chance(90) ? xiw_kernel_nxt_pack(k, harness_random())
				     : 0;
	f->flags = rnd(32) | (chance(5) ? XIW_FLOW_ANOTHER : 0);
	f->ece = rnd(3);
	f->acked = chance(80) ? base - rnd(1 << 16) : harness_random();
	f->marker_origin = chance(90) ? base - 4 * rnd(1 << 20) : harness_random();
	f->gap = chance(40) ? base - rnd(1 << 17) : harness_random();
	f->kernel_edge = chance(80) ? base + rnd(1 << 20) : near(base);
	f->direct_edge = chance(70) ? near(base) : harness_random();
	f->socket_edge = chance(50)   ? k + rnd(1 << 20)
			 : chance(50) ? k
				      : near(base - (path == XIW_PATH_DIRECT ? base - k : value));
	f->kernel_high = chance(path == XIW_PATH_ARMED ? 70 : 0) ? base
			 : chance(60)				 ? base - rnd(3) * 1000
			 : chance(80)				 ? near(base)
								 : base - (1u << 28) - rnd(1 << 28);
	f->beyond = chance(20) ? base - value + 1 : harness_random();
	f->run_needed = runs[rnd(4)];
	f->run_end = chance(60) ? f->kernel_high : chance(50) ? near(base) : harness_random();
	f->run_len = chance(40) ? 6 + rnd(3) : chance(80) ? rnd(3) : 0u - rnd(3);
	f->egress_segs = rnd(3);
	f->egress_floor = chance(80) ? 0 : rnd(4);
	f->elsewhere_segs = chance(95) ? 0 : rnd(3);
	f->bypass_segs = chance(95) ? 0 : rnd(3);
	/* The address that gen_l2() uses, the same with one octet changed, or none. */
	memset(f->mac, chance(50) ? 2 : 0, sizeof(f->mac));
	if (chance(5))
		f->mac[rnd(6)] = 3;
	if (chance(10)) /* nothing has been passed yet */
		f->kernel_segs = f->control_segs = 0;
	memset(f->out_mac, chance(95) ? 7 : 0, sizeof(f->out_mac));
	f->seen = rnd(1000);
	f->try_seen = f->seen - chance(30);
	f->try_nxt = chance(80) ? value : near(base);
	f->try_ns = now - (chance(60) ? rnd(STUCK / 2) : STUCK + 50000000 + rnd(1000000000));
	f->ts_recent = chance(70) ? 0 : harness_random() >> rnd(20);
	f->snd_nxt = chance(10) ? rnd(4000) : harness_random();
	f->snd_wscale = rnd(15);
	f->rcv_wscale = chance(50) ? 0 : rnd(15);
	f->barred = 0;
	f->served_by = chance(95) ? ENGINE : rnd(3);
	f->reserved7[0] = base; /* for gen_seq() only */
}

uint64_t gen_memory_of(int which)
{
	return (uint64_t)ref_flows[which].index << 32 | (uint32_t)ref_state[which].owner;
}

/* Stretches that go on, of which some are another flow's; some that are over; and some of slots that do not exist. */
static void gen_memory(struct xiw_queue *q)
{
	int i;

	for (i = 0; i < XIW_QUEUE_FLOWS; i++) {
		q->direct[i] = chance(85) ? gen_memory_of(rnd(NFLOWS)) : 0;
		if (chance(10))
			q->direct[i] ^= (harness_random() & 0xffffff) << 8;
		if (chance(10))
			q->direct[i] ^= (uint64_t)rnd(1 << 20) << 32;
	}
}

void gen_queue(struct xiw_queue *q, uint64_t now)
{
	uint64_t recent = now - rnd(LIMIT / 4), old = now - 2 * LIMIT - rnd(1000000000);

	memset(q, 0, sizeof(*q));
	q->engine = chance(90) ? ENGINE : chance(50) ? ENGINE | XIW_QUEUE_OPENING : rnd(3);
	q->beat_ns = chance(70) ? recent : chance(50) ? old : now + rnd(4000000);
	q->wait_ns = chance(60) ? recent : old;
	q->emptied_ns = chance(60) ? now : old;
	q->takes = chance(70) ? MAX_PKT : rnd(chance(70) ? 1000 : MAX_PKT);
	q->last_ns = chance(50) ? recent : chance(50) ? old + 1 : q->emptied_ns;
	gen_memory(q);
}

/* ---- payload ------------------------------------------------------------------------------------- */

struct stream {
	uint8_t *at;
	uint32_t len, max, seq, origin, start;
	bool markers, full;
};

static void put_octet(struct stream *s, uint8_t v, bool inside)
{
	if (s->markers && (s->seq + s->len - s->origin) % 512 == 0) {
		if (s->len + 4 > s->max) {
			s->full = true;
			return;
		}
		put16(s->at + s->len, chance(90) ? 0 : harness_random());
		put16(s->at + s->len + 2,
		      (inside ? s->len - s->start : 0) | (chance(90) ? 0 : rnd(4)));
		s->len += 4;
	}
	if (s->len >= s->max) {
		s->full = true;
		return;
	}
	if (!inside)
		s->start = s->len;
	s->at[s->len++] = v;
}

/* FPDUs (RFC 5044 section 4.1) until one does not fit. That one is removed, or cut. */
static uint32_t gen_payload(uint8_t *at, uint32_t max, uint32_t seq, const struct xiw_flow *f)
{
	struct stream s = { .at = at,
			    .max = max,
			    .seq = seq,
			    .origin = f->marker_origin,
			    .markers = f->flags & XIW_FLOW_MARKERS };
	uint32_t top = chance(25)   ? 1
		       : chance(30) ? 60
		       : chance(50) ? 600
				    : max,
		 whole, i, ulpdu, n;
	uint32_t limit = chance(70) ? 600 : 1 + rnd(20);
	bool markers = s.markers, cut = chance(6);

	if (markers && (seq - s.origin) % 4)
		s.markers = chance(50);
	for (n = 0; n < limit; n++) {
		whole = s.len;
		/* Often exactly what fits, so that full segments are common. */
		ulpdu = top == max && chance(60) && max > s.len + 8 + 4 * ((max >> 9) + 1)
				? max - s.len - 8 - 4 * ((max >> 9) + 1)
			: top > 1 ? rnd(top + 1)
				  : chance(95);
		put_octet(&s, ulpdu >> 8, false);
		put_octet(&s, ulpdu, true);
		for (i = (ulpdu + 2 + 3) / 4 * 4 - 2 + 4; i && !s.full; i--)
			put_octet(&s, i, true);
		if (s.full)
			return cut ? s.len : whole;
	}
	return s.len;
}

static void damage_payload(struct gen *g, uint32_t off, uint32_t *len)
{
	uint32_t seq_len = *len, k;

	if (!seq_len)
		return;
	switch (rnd(5)) {
	case 0:
		*len -= rnd(seq_len < 9 ? seq_len : 9);
		break;
	case 1:
		g->pkt[off + rnd(seq_len)] ^= 1 << rnd(8);
		break;
	case 2:
		g->pkt[off + rnd(seq_len < 2 ? seq_len : 2)] = harness_random();
		break;
	case 3:
		for (k = rnd(seq_len); k < seq_len; k++)
			g->pkt[off + k] = harness_random();
		break;
	default:
		for (k = rnd(12); k && off + *len < MAX_PKT - 100; k--)
			g->pkt[off + (*len)++] = chance(50) ? 0 : harness_random();
	}
}

/* ---- headers ------------------------------------------------------------------------------------- */

static uint32_t gen_l2(uint8_t *p, int which)
{
	uint32_t off = 12, tags = chance(80) ? 0 : chance(95) ? 1 + rnd(2) : 3;

	memset(p, 2, 12);
	for (; tags; tags--, off += 4) {
		put16(p + off, chance(50) ? 0x8100 : 0x88a8);
		put16(p + off + 2, rnd(8) << 13 | (chance(80) ? 0 : rnd(4096)));
	}
	put16(p + off, which ? 0x86dd : 0x0800);
	return off + 2;
}

/* Returns the length of the header. Its length fields are filled in later. */
static uint32_t gen_ip4(uint8_t *ip, const struct xiw_flow_key *key)
{
	uint32_t hdr = 20 + (chance(85) ? 0 : 4 * rnd(11));

	memset(ip, 1, hdr);
	ip[0] = 0x40 | hdr / 4;
	ip[1] = rnd(256);
	put16(ip + 6, chance(74) ? 0x4000 : chance(60) ? 0x2000 : rnd(0x4000));
	ip[8] = 64;
	ip[9] = chance(99) ? 6 : 17;
	memcpy(ip + 12, &key->remote_addr[3], 4);
	memcpy(ip + 16, &key->local_addr[3], 4);
	if (chance(1)) {
		ip[9] = 51;
		memset(ip + hdr, 0, 24);
		ip[hdr] = 6;
		ip[hdr + 1] = 4;
		hdr += 24;
	}
	return hdr;
}

static uint32_t gen_ip6(uint8_t *ip, const struct xiw_flow_key *key)
{
	static const uint8_t kinds[] = { 0, 43, 60, 60, 60, 60, 44, 51 };
	uint32_t hdr = 40, n = chance(80) ? 0 : chance(94) ? rnd(8) : rnd(80);
	uint8_t *next = ip + 6;

	memset(ip, 0, 40);
	ip[0] = 0x60;
	ip[1] = rnd(256);
	memcpy(ip + 8, key->remote_addr, 16);
	memcpy(ip + 24, key->local_addr, 16);
	for (; n; n--) {
		uint8_t *ext = ip + hdr;
		uint32_t len = 8;

		*next = kinds[chance(95) ? rnd(6) : rnd(8)];
		memset(ext, 0, 8);
		if (*next == 44) {
			put16(ext + 2, chance(70) ? 1 : chance(50) ? 0 : rnd(0x10000));
		} else {
			ext[1] = chance(80) ? rnd(3) : rnd(40);
			len = 8 + 8 * ext[1];
			memset(ext + 2, 0, len - 2);
		}
		if (*next == 43 && chance(20))
			ext[3] = 1; /* a segment is left, */
		if (*next == 43 && len >= 24 && chance(80))
			memcpy(ext + 8, key->local_addr, 16); /* which is ours */
		next = ext;
		hdr += len;
	}
	*next = chance(99) ? 6 : 17;
	return hdr;
}

/* Most of the peer's clock, which has gone on. */
static uint32_t gen_tsval(const struct xiw_flow *f)
{
	return chance(60) ? f->ts_recent + rnd(1 << 27) : harness_random() >> rnd(20);
}

static uint32_t gen_options(uint8_t *o, const struct xiw_flow *f)
{
	uint32_t n, i;

	switch (rnd(10)) {
	case 0:
		return 0;
	case 1:
	case 2:
	case 7:
	case 8:
	case 9: /* the usual timestamp, without which many flows never go direct */
		put32(o, 0x0101080a);
		put32(o + 4, gen_tsval(f));
		put32(o + 8, harness_random());
		return 12;
	case 6: /* with its padding on either side */
		memset(o, chance(90), 12);
		n = rnd(3);
		o[n] = 8;
		o[n + 1] = chance(90) ? 10 : rnd(12);
		put32(o + n + 2, gen_tsval(f));
		return 12;
	case 3: /* with SACK, in either order */
		n = 1 + rnd(3);
		o[0] = o[1] = 1;
		o[2] = 5;
		o[3] = 2 + 8 * n;
		for (i = 0; i < 8 * n; i++)
			o[4 + i] = harness_random();
		i = 4 + 8 * n;
		o[i] = o[i + 1] = 1;
		o[i + 2] = 8;
		o[i + 3] = 10;
		put32(o + i + 4, harness_random());
		put32(o + i + 8, harness_random());
		return i + 12;
	case 4: /* a timestamp anywhere, or two, or cut */
		n = 4 * (3 + rnd(8));
		memset(o, chance(90), n);
		for (i = rnd(n); i + 2 < n; i += 10 + rnd(6)) {
			o[i] = 8;
			o[i + 1] = chance(90) ? 10 : rnd(12);
			if (i + 6 <= n)
				put32(o + i + 2, harness_random());
		}
		return n;
	default:
		n = 4 * rnd(11);
		for (i = 0; i < n; i++)
			o[i] = chance(50) ? rnd(10) : harness_random();
		return n;
	}
}

static uint32_t gen_seq(const struct xiw_flow *f, uint32_t len)
{
	uint32_t base = f->reserved7[0];

	return chance(65) ? base : chance(30) ? base - len : near(base);
}

static uint32_t gen_flags(void)
{
	static const uint8_t some[] = { 0x18, 0x11, 0x12, 0x14, 0x30, 0x04, 0x00, 0x19 };

	return chance(80) ? 0x10 : chance(80) ? some[rnd(8)] : rnd(256);
}

/* Damages header fields of a packet that was built right. */
static void damage_headers(struct gen *g)
{
	uint8_t *ip = g->pkt + g->l3, *th = g->pkt + g->l4, *total = ip + (g->v6 ? 4 : 2);

	g->sound = false;
	switch (rnd(8)) {
	case 0:
		th[12] = harness_random();
		break;
	case 1:
		ip[0] = (ip[0] & 0xf0) | (chance(50) ? 4 : rnd(16));
		break;
	case 2:
		put16(total, get16(total) - 20 + rnd(60));
		break;
	case 3:
		put16(total, chance(30) ? 0 : harness_random());
		break;
	case 4:
		g->len = 14 + rnd(g->len - 13);
		break;
	case 5:
		g->len = 14 + rnd(g->l4 + 20 < g->len ? g->l4 + 20 - 13 : 1);
		break;
	case 6:
		g->pkt[12 + rnd(g->l4 - 12)] ^= 1 << rnd(8);
		break;
	default:
		g->pkt[g->l4 + rnd(20)] = harness_random();
	}
}

/* A first fragment that ends in front of the TCP header, or in it. What is behind its end looks like headers. */
static void cut_headers(struct gen *g)
{
	uint8_t *ip = g->pkt + g->l3, *frag = ip + 40;

	g->sound = false;
	memset(frag, 0, 8);
	ip[6] = 44;
	frag[0] = chance(80) ? 60 : 6;
	put16(frag + 2, chance(80));
	frag[8] = chance(80) ? 60 : 6;
	frag[9] = 0;
	put16(ip + 4, 8 + rnd(25));
}

void gen_packet(struct gen *g, uint32_t mtu)
{
	const struct xiw_flow *f;
	const struct xiw_flow_key *key;
	uint32_t seq, len = 0, room, off, sum;
	uint8_t *th;

	g->sound = true;
	g->which = rnd(NFLOWS);
	/* Sometimes an IPv6 packet has the IPv4 flow's addresses, mapped: it does not belong to that flow. */
	g->v6 = g->which || chance(3);
	f = &ref_state[g->which];
	key = &ref_flows[g->which].key;
	g->l3 = gen_l2(g->pkt, g->v6);
	g->l4 = g->l3 + (g->v6 ? gen_ip6 : gen_ip4)(g->pkt + g->l3, key);
	th = g->pkt + g->l4;
	g->hdr = 20 + gen_options(th + 20, f);
	off = g->l4 + g->hdr;
	room = off + 100 < mtu ? mtu - off : 100;
	if (chance(30))
		room = 1 + rnd(room);
	seq = gen_seq(f, room);
	if (chance(85))
		len = gen_payload(g->pkt + off, room, seq, f);
	if (chance(15))
		damage_payload(g, off, &len);

	memcpy(th, &key->remote_port, 2);
	memcpy(th + 2, &key->local_port, 2);
	if (chance(1))
		th[rnd(4)] ^= 1;
	put32(th + 4, seq);
	put32(th + 8, chance(60) ? f->snd_nxt - rnd(1 << 17) : harness_random());
	th[12] = g->hdr / 4 << 4;
	th[13] = gen_flags();
	put32(th + 14, harness_random());
	put32(th + 16, harness_random() & 0xffff);
	put16(th + 16, 0);
	g->ip_end = g->len = off + len;
	sum = harness_tcp_sum(key, th, g->ip_end - g->l4);
	put16(th + 16, sum);
	put16(g->pkt + g->l3 + (g->v6 ? 4 : 2), g->ip_end - g->l3 - (g->v6 ? 40 : 0));
	if (g->len < 60 || chance(5))
		for (sum = g->len < 60 ? 60 - g->len : rnd(30); sum; sum--)
			g->pkt[g->len++] = harness_random();
	if (chance(10))
		damage_headers(g);
	else if (g->v6 && chance(2))
		cut_headers(g);
}

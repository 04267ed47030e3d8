// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Segments in frames: reading them, damaging them, recutting their payload. */
#include <string.h>

#include "relay_core.h"
#include "tcp/csum.h"

#define L3 14u
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define PSH 0x08
#define URG 0x20
#define CWR 0x80
#define FLAGS 13 /* offset in the TCP header */

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) << 16 | get16(p + 2);
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

/* The end of the IP packet and the place of the TCP header in it; 0: no such thing here. */
static uint32_t parse_ip(const struct relay_pkt *p, struct relay_seg *s)
{
	const uint8_t *ip = p->data + L3;
	uint32_t type, end;

	if (p->len < L3 + 40)
		return 0;
	type = get16(p->data + 12);
	if (type == 0x0800) {
		uint32_t ihl = (ip[0] & 15u) * 4;

		if (ip[0] >> 4 != 4 || ihl < 20 || ip[9] != 6 || get16(ip + 6) & 0x3fff)
			return 0;
		s->l4 = (uint16_t)(L3 + ihl);
		end = L3 + get16(ip + 2);
	} else if (type == 0x86dd) {
		if (ip[0] >> 4 != 6 || ip[6] != 6)
			return 0;
		s->v6 = true;
		s->l4 = L3 + 40;
		end = L3 + 40 + get16(ip + 4);
	} else {
		return 0;
	}
	return end <= p->len && s->l4 + 20u <= end ? end : 0;
}

bool relay_parse(const struct relay_pkt *p, struct relay_seg *s)
{
	const uint8_t *tcp;
	uint32_t end, hlen;

	memset(s, 0, sizeof(*s));
	end = parse_ip(p, s);
	if (!end)
		return false;
	tcp = p->data + s->l4;
	hlen = (tcp[12] >> 4) * 4u;
	if (hlen < 20 || s->l4 + hlen > end)
		return false;
	s->pay = (uint16_t)(s->l4 + hlen);
	s->len = end - s->pay;
	s->seq = get32(tcp + 4);
	s->ack = get32(tcp + 8);
	s->flags = tcp[FLAGS];
	s->window = (uint16_t)get16(tcp + 14);
	return true;
}

enum relay_class relay_classify(const struct relay_pkt *p, struct relay_seg *s, bool *tcp)
{
	*tcp = relay_parse(p, s);
	if (!*tcp) {
		s->len = 0;
		return RELAY_OTHER;
	}
	if (s->flags & (SYN | RST))
		return RELAY_OTHER;
	return s->len || s->flags & FIN ? RELAY_DATA : RELAY_ACK;
}

/* Is b, with payload, what follows a in its stream? */
bool relay_continues(const struct relay_pkt *a, const struct relay_pkt *b)
{
	struct relay_seg s, t;
	uint32_t addr, n;

	if (!relay_parse(a, &s) || !relay_parse(b, &t) || s.v6 != t.v6 || !t.len ||
	    (s.flags | t.flags) & URG || s.flags & FIN || s.seq + s.len != t.seq)
		return false;
	addr = L3 + (s.v6 ? 8 : 12);
	n = s.v6 ? 32 : 8;
	return !memcmp(a->data + addr, b->data + addr, n) &&
	       !memcmp(a->data + s.l4, b->data + t.l4, 4);
}

static void fill_ip4(uint8_t *ip)
{
	struct xiw_csum sum = {};
	uint16_t v;

	put16(ip + 10, 0);
	xiw_csum_add(&sum, ip, (ip[0] & 15u) * 4);
	v = xiw_csum_final(&sum);
	memcpy(ip + 10, &v, 2);
}

/* Lengths are as s says. */
void relay_fill_sums(uint8_t *frame, const struct relay_seg *s)
{
	uint8_t *ip = frame + L3, *tcp = frame + s->l4;
	size_t len = s->pay - s->l4 + s->len;

	if (!s->v6)
		fill_ip4(ip);
	xiw_tcp_csum_fill(ip, tcp, len, NULL, 0);
}

bool relay_mark_ce(struct relay_pkt *p, const struct relay_seg *s)
{
	uint8_t *ip = p->data + L3, *at = s->v6 ? ip + 1 : ip + 1;
	unsigned int shift = s->v6 ? 4 : 0;

	if (!(*at >> shift & 3)) /* not ECT */
		return false;
	*at |= (uint8_t)(3u << shift);
	if (!s->v6)
		fill_ip4(ip);
	return true;
}

static uint16_t payload_sum(const struct relay_pkt *p, const struct relay_seg *s)
{
	struct xiw_csum sum = {};

	xiw_csum_add(&sum, p->data + s->pay, s->len);
	return xiw_csum_final(&sum);
}

/*
 * Up to three octets in a row. TCP's checksum does not see one in some 650,000 of these, which would be a wrong
 * octet for whoever relies on it: then the first one changes once more.
 */
static void corrupt_payload(struct relay_pkt *p, const struct relay_seg *s, uint64_t *draw)
{
	uint16_t before = payload_sum(p, s);
	uint32_t at = relay_rnd(draw, s->len), first = at;

	for (uint32_t n = 1 + relay_rnd(draw, 3); n && at < s->len; n--, at++)
		p->data[s->pay + at] ^= (uint8_t)(1 + relay_rnd(draw, 255));
	if (payload_sum(p, s) == before)
		p->data[s->pay + first] ^= 0x10;
	if (p->fate & 1 << RELAY_CORRUPT_FIXED)
		relay_fill_sums(p->data, s);
}

/* Octets of the payload, or one bit of a header. */
void relay_corrupt(struct relay_pkt *p)
{
	uint64_t draw = p->draw ^ 0xc0bb;
	struct relay_seg s;
	uint32_t at;

	if (!relay_parse(p, &s))
		return;
	if (s.len && p->fate & (1 << RELAY_CORRUPT | 1 << RELAY_CORRUPT_FIXED))
		corrupt_payload(p, &s, &draw);
	/* The timestamp behind two NOPs, as usual: its clock is then ahead by a second, or by weeks. */
	if (p->fate & 1 << RELAY_CORRUPT_TSVAL && s.pay - s.l4 >= 32 &&
	    get32(p->data + s.l4 + 20) == 0x0101080a) {
		at = s.l4 + 24;
		put32(p->data + at, get32(p->data + at) ^ 1u << (10 + relay_rnd(&draw, 22)));
	}
	/* No checksum covers IPv6's traffic class, flow label and hop limit; damage there has no effect. */
	if (p->fate & 1 << RELAY_CORRUPT_HEADER) {
		at = relay_rnd(&draw, (s.pay - L3) * 8);
		p->data[L3 + at / 8] ^= (uint8_t)(1u << at % 8);
	}
}

struct cut {
	struct relay_pkt **src;
	struct relay_seg seg[RELAY_MERGE_MAX];
	uint32_t start[RELAY_MERGE_MAX + 1]; /* of each source's payload in the whole */
	unsigned int n;
	uint32_t total, most; /* payload of all; and what a segment takes */
};

static unsigned int source_of(const struct cut *c, uint32_t off)
{
	unsigned int i = 0;

	while (i + 1 < c->n && off >= c->start[i + 1])
		i++;
	return i;
}

/*
 * One segment of [from, to). Acknowledgement, window and options are those that came with its last octet, the
 * newest; CWR goes with the first octet of the segment that had it, PSH and FIN with the last.
 */
static struct relay_pkt *piece(struct relay *r, const struct cut *c, uint32_t from, uint32_t to)
{
	unsigned int first = source_of(c, from), last = source_of(c, to - 1);
	const struct relay_pkt *model = c->src[last];
	struct relay_seg s = c->seg[last];
	struct relay_pkt *p = relay_get(r);
	uint8_t flags = s.flags & (uint8_t) ~(FIN | PSH | CWR), *tcp;
	uint32_t have = 0;

	memcpy(p->data, model->data, s.pay);
	for (unsigned int i = first; i <= last; i++) {
		uint32_t a = from > c->start[i] ? from - c->start[i] : 0;
		uint32_t b = to < c->start[i + 1] ? to - c->start[i] : c->seg[i].len;

		memcpy(p->data + s.pay + have, c->src[i]->data + c->seg[i].pay + a, b - a);
		have += b - a;
		if (!a)
			flags |= c->seg[i].flags & CWR;
		if (b == c->seg[i].len)
			flags |= c->seg[i].flags & (FIN | PSH);
		/* If any of them met congestion, the whole did. */
		p->data[L3 + 1] |= c->src[i]->data[L3 + 1] & (s.v6 ? 0x30 : 0x03);
	}
	s.len = to - from;
	tcp = p->data + s.l4;
	put32(tcp + 4, c->seg[0].seq + from);
	tcp[FLAGS] = flags;
	if (s.v6)
		put16(p->data + L3 + 4, s.pay - s.l4 + s.len);
	else
		put16(p->data + L3 + 2, s.pay - L3 + s.len);
	relay_fill_sums(p->data, &s);
	p->len = s.pay + s.len;
	p->cls = RELAY_DATA;
	p->draw = model->draw ^ from;
	return p;
}

unsigned int relay_recut(struct relay *r, struct relay_pkt **src, unsigned int n,
			 unsigned int pieces, struct relay_list *out)
{
	const uint32_t fates = ~(1u << RELAY_SPLIT | 1u << RELAY_MERGE);
	struct cut c = { .src = src, .n = n, .most = r->conf.mtu };
	uint64_t draw = src[0]->draw ^ 0x0c07;
	uint32_t off = 0, hdr = 0;

	for (unsigned int i = 0; i < n; i++) {
		relay_parse(src[i], &c.seg[i]);
		c.start[i] = c.total;
		c.total += c.seg[i].len;
		if (c.seg[i].pay - L3 > hdr)
			hdr = c.seg[i].pay - L3;
	}
	c.start[n] = c.total;
	c.most -= hdr;
	if (pieces > c.total)
		pieces = c.total;
	/* As few as there must be, and one more if they would all be full. */
	if (!pieces)
		pieces = (c.total + c.most / 8) / c.most + 1;
	while (pieces * c.most < c.total)
		pieces++;
	for (unsigned int i = 0; i < pieces; i++) {
		uint32_t rest = c.total - off, behind = pieces - i - 1;
		uint32_t least = rest > behind * c.most ? rest - behind * c.most : 1;
		uint32_t most = rest - behind < c.most ? rest - behind : c.most;
		uint32_t len = behind ? least + relay_rnd(&draw, most - least + 1) : rest;
		struct relay_pkt *p = piece(r, &c, off, off + len);

		/* Each source's fate goes to one piece, and what is too many to the last. */
		p->fate = i < n ? src[i]->fate & fates : 0;
		for (unsigned int j = pieces; i + 1 == pieces && j < n; j++)
			p->fate |= src[j]->fate & fates;
		relay_list_add(out, p);
		off += len;
	}
	for (unsigned int i = 0; i < n; i++)
		relay_put(r, src[i]);
	return pieces;
}

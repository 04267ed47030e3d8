// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A packet as XDP redirected it: checks of its metadata, headers and checksum, access to its payload, and the
 * pool of kept segments.
 */
#include "path/packet.h"

#include "tcp/csum.h"

/* XDP is trusted, but its metadata hold an index and offsets, so they are checked. */
const struct xiw_meta *xiw_packet_meta(const struct xiw_packet *p, uint32_t nflows)
{
	const struct xiw_meta *meta = (const void *)(p->frag[0].base - sizeof(*meta));

	if (meta->version != XIW_ABI_VERSION || meta->flow >= nflows ||
	    meta->l3_off < XIW_ETH_LEN ||
	    meta->l3_off > XIW_ETH_LEN + XIW_VLANS_MAX * XIW_VLAN_LEN ||
	    meta->l4_off < meta->l3_off + XIW_IP4_MIN ||
	    meta->payload_off < meta->l4_off + XIW_TCP_MIN || meta->payload_off > p->frag[0].len ||
	    (uint32_t)meta->payload_off + meta->payload_len > p->len)
		return NULL;
	return meta;
}

unsigned int xiw_payload(const struct xiw_packet *p, const struct xiw_meta *meta, uint32_t off,
			 uint32_t len, struct xiw_vec v[XIW_XSK_FRAGS_MAX])
{
	size_t skip = (size_t)meta->payload_off + off;
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->frags && len; i++) {
		size_t run = p->frag[i].len;

		if (skip >= run) {
			skip -= run;
			continue;
		}
		run -= skip;
		if (run > len)
			run = len;
		v[n++] = (struct xiw_vec){ p->frag[i].base + skip, run };
		len -= (uint32_t)run;
		skip = 0;
	}
	return n;
}

uint32_t xiw_segment_seq(const struct xiw_packet *p, const struct xiw_meta *meta)
{
	return xiw_get_be32(p->frag[0].base + meta->l4_off + XIW_TCP_OFF_SEQ);
}

/*
 * Says whether the sender left the checksum to hardware, which a virtual wire does not have. The field then
 * holds the sum of the pseudo header, and the segment has never left this host's memory. One segment of 65,535
 * that were damaged on a wire looks like that, too, as one of 65,536 looks right; a CRC finds either.
 */
static bool checksum_unfinished(uint64_t pseudo, const uint8_t *tcp)
{
	uint16_t field, sum = xiw_csum_fold(pseudo);

	memcpy(&field, tcp + XIW_TCP_OFF_CSUM, sizeof(field));
	return field == sum;
}

/* The TCP header and the payload. */
static uint32_t segment_len(const struct xiw_meta *meta)
{
	return (uint32_t)meta->payload_off - meta->l4_off + meta->payload_len;
}

uint64_t xiw_packet_pseudo(const struct xiw_packet *p, const struct xiw_meta *meta)
{
	struct xiw_csum sum = {};

	xiw_csum_pseudo(&sum, p->frag[0].base + meta->l3_off, segment_len(meta));
	return sum.sum;
}

bool xiw_packet_unsummed(const struct xiw_conn *c, const struct xiw_packet *p,
			 const struct xiw_meta *meta, uint64_t pseudo)
{
	return c->engine->opts.flags & XIW_ENGINE_TRUST_CHECKSUM ||
	       (c->netif->virtual_wire &&
		checksum_unfinished(pseudo, p->frag[0].base + meta->l4_off));
}

bool xiw_packet_unfinished(const struct xiw_segment *s)
{
	return checksum_unfinished(xiw_packet_pseudo(s->packet, s->meta),
				   s->packet->frag[0].base + s->meta->l4_off);
}

static bool checksum_good(const struct xiw_conn *c, const struct xiw_packet *p,
			  const struct xiw_meta *meta)
{
	struct xiw_csum sum = { .sum = xiw_packet_pseudo(p, meta) };
	uint32_t len = segment_len(meta), run;

	if (xiw_packet_unsummed(c, p, meta, sum.sum))
		return true;
	run = (uint32_t)p->frag[0].len - meta->l4_off;
	run = run < len ? run : len;
	xiw_csum_add(&sum, p->frag[0].base + meta->l4_off, run);
	for (unsigned int i = 1; (len -= run) && i < p->frags; i++) {
		run = p->frag[i].len < len ? (uint32_t)p->frag[i].len : len;
		xiw_csum_add(&sum, p->frag[i].base, run);
	}
	return xiw_csum_good(&sum);
}

/*
 * The kernel's IP would check the same: the destination is no link-layer group address (RFC 1122 section
 * 4.2.3.10), the frame is of no VLAN, which would be another link, and IPv4's checksum is right (section
 * 3.2.1.2).
 */
bool xiw_packet_link_good(const struct xiw_packet *p, const struct xiw_meta *meta)
{
	const uint8_t *frame = p->frag[0].base, *ip = frame + meta->l3_off;

	if (frame[XIW_ETH_OFF_DST] & 1)
		return false;
	for (uint32_t tag = XIW_ETH_LEN; tag < meta->l3_off; tag += XIW_VLAN_LEN)
		if (xiw_get_be16(frame + tag) & XIW_VLAN_ID)
			return false;
	return ip[0] >> 4 != 4 || xiw_ip4_csum_good(ip);
}

enum xiw_reason xiw_packet_read(struct xiw_conn *c, const struct xiw_packet *p,
				const struct xiw_meta *meta, struct xiw_tcp_seg *seg)
{
	const uint8_t *ip = p->frag[0].base + meta->l3_off;
	int hlen = xiw_tcp_parse(p->frag[0].base + meta->l4_off, p->frag[0].len - meta->l4_off,
				 (size_t)meta->payload_off - meta->l4_off + meta->payload_len, seg);

	if (hlen != meta->payload_off - meta->l4_off)
		return XIW_REASON_REFUSED;
	if (!checksum_good(c, p, meta))
		return XIW_REASON_CHECKSUM;
	seg->ecn = c->reg.ip_version == 4 ? xiw_ip4_ecn(ip) : xiw_ip6_ecn(ip);
	return XIW_REASON_NONE;
}

/* ---- packets that are kept ------------------------------------------------------------------------ */

/*
 * At most half of the frames are kept. The other half stays in use for receiving, so that the segment that
 * fills a gap finds a frame. A connection gets no more once it and all connections of its peer keep as many as are
 * left. A peer gets less than half of what may be kept, however many connections it has, and the first of these two
 * thirds of that. Some are always left for the next peer, and for the peer's next connection.
 */
struct xiw_kept *xiw_keep(struct xiw_conn *c, const struct xiw_segment *s)
{
	struct xiw_engine *e = c->engine;
	uint32_t left = e->opts.frames / 2 - e->pools.kept_frames;
	uint32_t *of_peer = &e->pools.kept_of[c->keeps.peer];
	struct xiw_kept *k = e->pools.kept_free;

	if (!k || s->packet->frags > left || c->keeps.frames + *of_peer >= left) {
		e->pools.kept_short = true;
		return NULL;
	}
	e->pools.kept_free = k->next_free;
	k->conn = c;
	k->frames = s->packet->frags;
	e->pools.kept_frames += k->frames;
	*of_peer += k->frames;
	c->keeps.frames += k->frames;
	k->packet = *s->packet;
	k->meta = *s->meta;
	k->rxq = c->stretch.rxq;
	return k;
}

void xiw_kept_uncount(struct xiw_kept *k)
{
	k->conn->engine->pools.kept_frames -= k->frames;
	k->conn->engine->pools.kept_of[k->conn->keeps.peer] -= k->frames;
	k->conn->keeps.frames -= k->frames;
	k->frames = 0;
}

void xiw_kept_free(struct xiw_engine *e, struct xiw_kept *k)
{
	xiw_kept_uncount(k);
	xiw_xsk_release(&k->rxq->xsk, k->packet.addr, k->packet.frags);
	k->next_free = e->pools.kept_free;
	e->pools.kept_free = k;
}

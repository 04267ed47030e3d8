// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the general path (direct.c) checks of a packet is checked here as well, or follows from what was checked of the
 * packet before it:
 *
 * - Within a batch only packets change a connection, and each one that does not come along here ends the line. So
 *   batch, epoch, and the states of stretch, stream and message are what xiw_straight_after() found, but for those
 *   segments, and the connection need not know of them before the line ends.
 * - The metadata and the lengths of the frames are the same, so they fit together.
 * - The link header is the same. So is the IP header, but for IPv4's identification and checksum, see ip_sum().
 *   With the addresses and the length, TCP's pseudo header is the same.
 * - The TCP header is the same, but for the sequence number and the timestamp, which in_turn() checks, the checksum,
 *   which is verified, TSecr, which matters only with an acknowledgement that is new, and PSH, which means nothing to a
 *   receiver that keeps nothing back.
 * - ULPDU_Length and the DDP header are the same, but for the TO, which in_turn() checks.
 *
 * All is compared before anything is changed, but the payload is placed in the same pass in which TCP's checksum and
 * the CRC are verified. If either is wrong, nothing has changed but octets of a message that is not complete, and not
 * the message's last ones, where only this segment goes: it comes again, or the stream ends.
 */
#include "path/straight.h"

#include <string.h>

#include "crc32c/crc32c.h"
#include "path/fpdu.h"
#include "path/patience.h"
#include "path/take.h"
#include "tcp/csum.h"

#define OFF_TSVAL (XIW_TCP_MIN + 4) /* behind NOP, NOP, kind and length */

/*
 * The two fields of an IPv4 header that differ from packet to packet. The header's checksum is right if the sum of all
 * its 16-bit words is a multiple of 0xffff (RFC 1071). If all other words are the same, this is so for both headers or
 * for none if the sums of these two are congruent modulo 0xffff, and only then. In an IPv6 header these octets are the
 * same anyway.
 */
static inline uint16_t ip_sum(const uint8_t *ip)
{
	uint16_t id, csum;
	uint32_t sum;

	memcpy(&id, ip + XIW_IP4_OFF_ID, sizeof(id));
	memcpy(&csum, ip + XIW_IP4_OFF_CSUM, sizeof(csum));
	sum = (uint32_t)id + csum;
	return (uint16_t)(sum + (sum >> 16));
}

/* Marks the octets that may differ. */
static void differ(struct xiw_straight *line, uint32_t off, uint32_t len)
{
	memset((uint8_t *)line->same + sizeof(struct xiw_meta) + off, 0, len);
}

static void mark(struct xiw_straight *line, const struct xiw_meta *meta, const uint8_t *ip, bool ts)
{
	const uint32_t head = sizeof(*meta) + meta->payload_off + XIW_FPDU_EXPECTED_HEAD;

	memset(line->same, 0xff, head);
	memset((uint8_t *)line->same + head, 0, sizeof(line->same) - head);
	if (ip[0] >> 4 == 4) {
		differ(line, meta->l3_off + XIW_IP4_OFF_ID, 2);
		differ(line, meta->l3_off + XIW_IP4_OFF_CSUM, 2);
	}
	differ(line, meta->l4_off + XIW_TCP_OFF_SEQ, 4);
	differ(line, meta->l4_off + XIW_TCP_OFF_CSUM, 2);
	if (ts)
		differ(line, meta->l4_off + OFF_TSVAL, 8);
	differ(line, meta->payload_off + XIW_MPA_LEN_SIZE + XIW_DDP_OFF_TO, 8);
	((uint8_t *)line->same)[sizeof(*meta) + meta->l4_off + XIW_TCP_OFF_FLAGS] =
		(uint8_t)~XIW_TCP_PSH;
}

/* Would the next segment and its FPDU be expected, if it had the same headers, and came in its turn? */
static bool goes_on(struct xiw_conn *c, const struct xiw_segment *s, const struct xiw_tcp_seg *seg)
{
	uint8_t fpdu[XIW_FPDU_EXPECTED_HEAD];
	struct xiw_tcp_seg next = *seg;

	next.seq = c->tcp.rcv_nxt;
	memcpy(fpdu, s->packet->frag[0].base + s->meta->payload_off, sizeof(fpdu));
	xiw_put_be64(fpdu + XIW_MPA_LEN_SIZE + XIW_DDP_OFF_TO, c->ddp->next.to);
	return c->stretch.state == XIW_STRETCH_RUNS && !c->rx_dead &&
	       !xiw_patient(c) && !xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, false) &&
	       xiw_tcp_rx_expects(&c->tcp, &next) && xiw_tcp_rx_ts_stays(&c->tcp) &&
	       xiw_fpdu_expected(c, fpdu, seg->len);
}

/* Notes what the next segment is, and how many may come: the window's end and the region's end the line. */
static void aim(struct xiw_straight *line, struct xiw_conn *c, const struct xiw_meta *meta,
		const uint8_t *fpdu)
{
	const uint32_t window = (c->tcp.right_edge - c->tcp.rcv_nxt) / meta->payload_len;
	uint64_t region;

	line->conn = c;
	line->taken = 0;
	line->l4_off = meta->l4_off;
	line->payload_off = meta->payload_off;
	line->segment_len = meta->payload_len;
	line->ulpdu_len = xiw_get_be16(fpdu);
	line->payload = line->ulpdu_len - XIW_DDP_TAGGED_LEN;
	line->seq = c->tcp.rcv_nxt;
	line->ts = c->tcp.flags & XIW_TCP_RX_TS;
	line->ts_recent = c->tcp.ts_recent;
	line->whole_sums = !(c->engine->opts.flags & XIW_ENGINE_TRUST_CHECKSUM) &&
			   !c->netif->virtual_wire;
	line->to = c->ddp->next.to;
	line->dst = c->ddp->next.dst;
	region = xiw_ddp_rx_expected_more(c->ddp, line->payload);
	line->left = region < window ? (uint32_t)region : window;
}

void xiw_straight_after(struct xiw_straight *line, struct xiw_conn *c, const struct xiw_segment *s,
			const struct xiw_tcp_seg *seg)
{
	const struct xiw_packet *p = s->packet;
	const struct xiw_meta *meta = s->meta;
	const uint8_t *options = p->frag[0].base + meta->l4_off + XIW_TCP_MIN;
	const uint32_t hlen = (uint32_t)meta->payload_off - meta->l4_off;
	const bool ts = hlen == XIW_TCP_MIN + XIW_TCPOPT_TS_ALIGNED &&
			xiw_get_be32(options) == XIW_TCPOPT_TS_ALIGNED_HEAD;

	/* Most often a message has ended. */
	if (!c->ddp->next.dst || !c->ddp->next.tagged)
		return;
	/* Options that are laid out in another way are rare. */
	if ((!ts && hlen != XIW_TCP_MIN) ||
	    sizeof(*meta) + meta->payload_off + XIW_FPDU_EXPECTED_HEAD > XIW_STRAIGHT_HEAD ||
	    sizeof(*meta) + p->frag[0].len < XIW_STRAIGHT_HEAD || !goes_on(c, s, seg))
		return;
	line->len = p->len;
	line->first_len = (uint32_t)p->frag[0].len;
	line->frags = p->frags;
	line->ip_sum = ip_sum(p->frag[0].base + meta->l3_off);
	line->pseudo = xiw_packet_pseudo(p, meta);
	memcpy(line->head, meta, sizeof(line->head));
	mark(line, meta, p->frag[0].base + meta->l3_off, ts);
	aim(line, c, meta, p->frag[0].base + meta->payload_off);
}

static inline bool alike(const struct xiw_straight *line, const struct xiw_packet *p,
			 const struct xiw_meta *meta)
{
	typedef xiw_octets16 __attribute__((aligned(1))) anywhere;
	const anywhere *head = (const void *)meta;
	xiw_octets16 all = {};

	if (p->len != line->len || p->frag[0].len != line->first_len || p->frags != line->frags)
		return false;
#pragma GCC unroll 8
	for (unsigned int i = 0; i < XIW_STRAIGHT_HEAD / sizeof(all); i++)
		all |= (head[i] ^ line->head[i]) & line->same[i];
	return !(all[0] | all[1]) && ip_sum(p->frag[0].base + meta->l3_off) == line->ip_sum;
}

/* Does the segment come in its turn, and may its FPDU be placed now? */
static inline bool in_turn(const struct xiw_straight *line, const uint8_t *tcp, const uint8_t *fpdu)
{
	const uint8_t *header = fpdu + XIW_MPA_LEN_SIZE;
	/* If there is no timestamp, these are other octets. */
	const uint32_t tsval = xiw_get_be32(tcp + OFF_TSVAL);
	struct xiw_conn *c = line->conn;

	return xiw_get_be32(tcp + XIW_TCP_OFF_SEQ) == line->seq &&
	       !(line->ts && xiw_seq_before(tsval, line->ts_recent)) &&
	       xiw_get_be64(header + XIW_DDP_OFF_TO) == line->to && xiw_ddp_rx_same_view(c->ddp) &&
	       (!c->ulp || xiw_fpdu_ulp_agrees(c, header, line->payload, line->dst));
}

/* In several frames, the first of which has all headers. */
static bool place_pieces(const struct xiw_straight *line, const struct xiw_packet *p,
			 struct xiw_csum *sum)
{
	uint32_t run = line->first_len - line->payload_off, left = line->segment_len;
	struct xiw_vec v[XIW_XSK_FRAGS_MAX] = { { p->frag[0].base + line->payload_off, run } };
	unsigned int n = 1;

	if (v->len > left)
		v->len = left;
	for (; left > run && n < p->frags; n++) {
		left -= run;
		run = p->frag[n].len < left ? (uint32_t)p->frag[n].len : left;
		v[n] = (struct xiw_vec){ p->frag[n].base, run };
	}
	return xiw_mpa_place_verify_pieces(v, n, line->ulpdu_len, XIW_DDP_TAGGED_LEN, line->dst,
					   sum);
}

/* Places the payload, and verifies TCP's checksum and the CRC. */
static inline bool place(const struct xiw_straight *line, const struct xiw_packet *p,
			 const struct xiw_meta *meta, const uint8_t *tcp, const uint8_t *fpdu)
{
	const bool summed = line->whole_sums ||
			    !xiw_packet_unsummed(line->conn, p, meta, line->pseudo);
	/* One call sums up what lies in one frame, unless one pass computes both. */
	const bool at_once = p->frags == 1 && !xiw_crc32c_sums_too();
	const size_t head = XIW_MPA_LEN_SIZE + XIW_DDP_TAGGED_LEN;
	struct xiw_csum sum = { .sum = line->pseudo }, *rest = summed && !at_once ? &sum : NULL;
	bool good;

	if (summed)
		xiw_csum_add(&sum, tcp,
			     (size_t)(fpdu - tcp) + (at_once ? line->segment_len : head));
	good = p->frags == 1 ? xiw_mpa_place_verify_flat(fpdu, line->segment_len, line->ulpdu_len,
							 XIW_DDP_TAGGED_LEN, line->dst, rest)
			     : place_pieces(line, p, rest);
	return good && (!summed || xiw_csum_good(&sum));
}

bool xiw_straight_take(struct xiw_straight *line, const struct xiw_packet *p)
{
	const struct xiw_meta *meta = (const void *)(p->frag[0].base - sizeof(*meta));
	const uint8_t *tcp = p->frag[0].base + line->l4_off;
	const uint8_t *fpdu = p->frag[0].base + line->payload_off;

	if (!line->left || !alike(line, p, meta) || !in_turn(line, tcp, fpdu) ||
	    !place(line, p, meta, tcp, fpdu))
		return false;
	line->seq += line->segment_len;
	line->to += line->payload;
	line->dst += line->payload;
	line->left--;
	line->taken++;
	/* A ULP looks at the message so far. */
	if (line->conn->ulp)
		xiw_straight_settle(line);
	return true;
}

void xiw_straight_settle(struct xiw_straight *line)
{
	const uint32_t n = line->taken, len = line->segment_len;
	struct xiw_conn *c = line->conn;

	line->taken = 0;
	xiw_fpdu_expected_accepted(c, n, len, line->payload, XIW_FPDU_DIRECT);
	xiw_tcp_rx_take_in_turn(&c->tcp, len, n);
	xiw_count_taken(c, n * len);
}

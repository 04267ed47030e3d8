// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the general path (direct.c) checks of a packet is checked here as well, or follows from what was checked of the
 * packet before it:
 *
 * - Within a batch only packets change a connection, and each one that does not come along here ends the line. So
 *   batch, epoch, and the states of stretch, stream and message are what xiw_straight_after() found.
 * - The metadata and the lengths of the frames are the same, so they fit together.
 * - The link header is the same. So is the IP header, but for IPv4's identification and checksum, see ip_sum().
 *   With the addresses and the length, TCP's pseudo header is the same.
 * - The TCP header is the same, but for the sequence number and the timestamp, which xiw_tcp_rx_in_turn() checks, the
 *   checksum, which is verified, TSecr, which matters only with an acknowledgement that is new, and PSH, which means
 *   nothing to a receiver that keeps nothing back.
 * - ULPDU_Length and the DDP header are the same, but for the TO, which xiw_ddp_rx_expected_again() checks.
 *
 * All is compared before anything is changed, and TCP's checksum is verified before the payload is placed.
 */
#include "path/straight.h"

#include <string.h>

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
static uint16_t ip_sum(const struct xiw_packet *p, const struct xiw_meta *meta)
{
	const uint8_t *ip = p->frag[0].base + meta->l3_off;
	uint16_t id, sum;

	memcpy(&id, ip + XIW_IP4_OFF_ID, sizeof(id));
	memcpy(&sum, ip + XIW_IP4_OFF_CSUM, sizeof(sum));
	return xiw_csum_fold((uint32_t)id + sum);
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
	return c->stretch.state == XIW_STRETCH_RUNS && !c->stretch.relink && !c->rx_dead &&
	       !xiw_patient(c) && !xiw_tcp_rx_ack_due(&c->tcp, c->engine->now_ms, false) &&
	       xiw_tcp_rx_expects(&c->tcp, &next) && xiw_fpdu_expected(c, fpdu, seg->len);
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
	line->conn = c;
	line->len = p->len;
	line->first_len = (uint32_t)p->frag[0].len;
	line->frags = p->frags;
	line->ip_sum = ip_sum(p, meta);
	line->pseudo = xiw_packet_pseudo(p, meta);
	memcpy(line->head, meta, sizeof(line->head));
	mark(line, meta, p->frag[0].base + meta->l3_off, ts);
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
	return !(all[0] | all[1]) && ip_sum(p, meta) == line->ip_sum;
}

bool xiw_straight_take(const struct xiw_straight *line, const struct xiw_packet *p)
{
	const struct xiw_meta *meta = (const void *)(p->frag[0].base - sizeof(*meta));
	struct xiw_vec v[XIW_XSK_FRAGS_MAX];
	struct xiw_conn *c = line->conn;
	uint32_t seq, tsval, len;
	const uint8_t *tcp;
	unsigned int n = 1;
	uint8_t *dst;

	if (!c || !alike(line, p, meta))
		return false;
	tcp = p->frag[0].base + meta->l4_off;
	seq = xiw_get_be32(tcp + XIW_TCP_OFF_SEQ);
	tsval = xiw_get_be32(tcp + OFF_TSVAL); /* if there is none, nothing looks at it */
	len = meta->payload_len;
	v[0] = (struct xiw_vec){ p->frag[0].base + meta->payload_off, len };
	if (p->frags > 1)
		n = xiw_payload(p, meta, 0, len, v);
	if (!xiw_tcp_rx_in_turn(&c->tcp, seq, tsval, len))
		return false;
	dst = xiw_fpdu_expected_again(c, v->base);
	if (!dst || !xiw_packet_checksum_good(c, p, meta, line->pseudo) ||
	    !xiw_fpdu_expected_place(c, v, n, len, dst, XIW_FPDU_DIRECT))
		return false;
	xiw_tcp_rx_take_in_turn(&c->tcp, tsval, len);
	xiw_count_taken(c, len);
	return true;
}

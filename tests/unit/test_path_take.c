// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What was placed early is delivered in its turn without being placed again, but only as the FPDUs that it was then
 * (RFC 5044 section 6). A peer can fill the gap in front of a segment so that the same octets make other FPDUs.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "mpa/tx.h"
#include "path/direct.c"
#include "tcp/segment.h"
#include "tests/unit/direct_rig.h"

#define PHASE 12     /* of the octet at SEQ: no Marker comes before offset 500 */
#define GAP 100	     /* octets that are missing at first */
#define BEHIND 500   /* octets of the FPDU behind the gap, with one Marker */
#define INNER 84     /* octets of an FPDU within its payload, whose CRC is wrong */
#define INNER_AT 300 /* where that begins, from SEQ */
#define TRIES 8	     /* so many bad CRCs at one place end the stream */

static uint8_t room[3][sizeof(struct xiw_meta) + 1024], buffer[64], filler[BEHIND];

/* Takes a segment in a packet that stays in `at`. Returns whether it is kept. */
static bool take_segment(uint8_t *at, uint32_t seq, const uint8_t *payload, uint32_t len)
{
	struct xiw_meta *meta = (struct xiw_meta *)(void *)at;
	uint8_t *eth = at + sizeof(*meta), *ip = eth + XIW_ETH_LEN, *tcp = ip + XIW_IP4_MIN;
	const struct xiw_ip_header header = {
		.version = 4, .hops = 64, .src = w.c.reg.remote_ip, .dst = w.c.reg.local_ip
	};
	const struct xiw_tcp_seg seg = { .seq = seq, .ack = SND, .wnd = 500, .flags = XIW_TCP_ACK };
	const uint32_t l4_len = xiw_tcp_build(tcp, 44, 55, &seg) + len;
	struct xiw_packet p = { .frags = 1, .len = XIW_ETH_LEN + XIW_IP4_MIN + l4_len };
	bool kept;

	xiw_put_be16(eth + XIW_ETH_OFF_TYPE, 0x0800);
	xiw_ip_build(ip, &header, l4_len);
	memcpy(tcp + l4_len - len, payload, len);
	xiw_tcp_csum_fill(ip, tcp, l4_len, NULL, 0);
	*meta = (struct xiw_meta){ .flow = FLOW,
				   .epoch = EPOCH,
				   .l3_off = XIW_ETH_LEN,
				   .l4_off = XIW_ETH_LEN + XIW_IP4_MIN,
				   .payload_off = (uint16_t)(p.len - len),
				   .payload_len = (uint16_t)len,
				   .version = XIW_ABI_VERSION };
	p.frag[0] = (struct xiw_vec){ eth, p.len };
	kept = packet(&w.q, &p, &w.line);
	xiw_straight_end(&w.line);
	return kept;
}

/* An FPDU of `len` octets for the offset from SEQ, of which 4 are taken by each Marker. */
static void fpdu_of(uint8_t *out, const struct xiw_ddp_hdr *h, uint32_t at, uint32_t len,
		    uint32_t markers)
{
	struct xiw_mpa_tx tx = { .markers = true, .crc = true, .phase = PHASE + at };
	uint8_t raw[XIW_DDP_HDR_MAX];
	const uint32_t hdr_len = xiw_ddp_hdr_encode(h, raw);

	cr_assert_eq(xiw_mpa_build(&tx, out, raw, hdr_len, filler, len - 6 - hdr_len - 4 * markers),
		     len);
}

/* Of a Write, at the region's begin. */
static void write_fpdu(uint8_t *out, uint32_t at, uint32_t len, uint32_t markers)
{
	const struct xiw_ddp_hdr h = {
		.tagged = true, .dv = XIW_DDP_VERSION, .stag = STAG, .rsvdulp = { 0x40 }
	};

	fpdu_of(out, &h, at, len, markers);
}

/* An FPDU lies behind a gap, and within its payload octets that would be a Send if they began an FPDU. */
static void come_behind_gap(void)
{
	const struct xiw_ddp_hdr h = { .dv = XIW_DDP_VERSION, .last = true, .msn = 1 };
	uint8_t *inner = filler + INNER_AT - GAP - 2 - XIW_DDP_TAGGED_LEN, segment_octets[BEHIND];

	shape = (struct shape){ .frags = 1 };
	rig_open();
	w.c.mpa.rx = (struct xiw_mpa_rx){ .markers = true, .crc = true, .marker_phase = PHASE };
	w.c.reg.marker_origin = SEQ - PHASE;
	memset(buffer, 's', sizeof(buffer));
	cr_assert_eq(xiw_ddp_rx_post(ddp, 0, buffer, sizeof(buffer), 0), 0);
	memset(filler, 'f', sizeof(filler));
	memset(inner, 0, INNER);
	xiw_put_be16(inner, INNER - 6);
	xiw_ddp_hdr_encode(&h, inner + 2);
	write_fpdu(segment_octets, GAP, BEHIND, 1);
	cr_assert(take_segment(room[0], SEQ + GAP, segment_octets, BEHIND), "kept");
	cr_assert_eq(w.c.counts.fpdus_early, 1);
	cr_assert_eq(w.memory[0], 'f');
	cr_assert_eq(w.c.counts.fpdus, 0);
}

Test(path_take, placed_early)
{
	uint8_t octets[GAP];

	come_behind_gap();
	memset(w.memory, 'm', sizeof(w.memory));
	memset(filler, 'g', sizeof(filler));
	write_fpdu(octets, 0, GAP, 0);
	take_segment(room[1], SEQ, octets, GAP);
	cr_assert_eq(w.c.counts.fpdus, 2);
	cr_assert_eq(w.c.tcp.rcv_nxt, SEQ + GAP + BEHIND);
	cr_assert_eq(w.memory[GAP - 20 - 1], 'g', "the first is placed");
	cr_assert_eq(w.memory[GAP], 'm', "the second is not placed again");
	rig_close();
}

/* Another segment for a place that is kept places nothing, nor does one that overlaps it: STags cannot be tried so. */
Test(path_take, placed_early_once)
{
	uint8_t again[BEHIND];

	come_behind_gap();
	memset(w.memory, 'm', sizeof(w.memory));
	memset(filler, 'g', sizeof(filler));
	write_fpdu(again, GAP, BEHIND, 1);
	cr_assert(!take_segment(room[1], SEQ + GAP, again, BEHIND), "not kept");
	write_fpdu(again, GAP + 8, BEHIND, 1);
	take_segment(room[1], SEQ + GAP + 8, again, BEHIND);
	cr_assert_eq(w.c.counts.fpdus_early, 1);
	for (size_t i = 0; i < sizeof(w.memory); i++)
		cr_assert_eq(w.memory[i], 'm', "%zu", i);
	rig_close();
}

static int says; /* the ULP */

static int judge(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		 const struct xiw_ddp_place *p, bool in_turn)
{
	(void)c, (void)h, (void)len, (void)p;
	return in_turn ? 0 : says;
}

/*
 * Behind come_behind_gap(), the next Marker is 512 octets further on: an FPDU there, as `h` says and the ULP thinks of
 * it. Then a good one, so far behind, for another Marker. Returns how many of the two were placed early.
 */
static unsigned int two_more(struct xiw_ddp_hdr h, int ulp)
{
	static const struct xiw_ulp judges = { .check = judge };
	const uint32_t at = GAP + BEHIND + 20;
	uint8_t octets[BEHIND];
	uint64_t before;

	come_behind_gap();
	before = w.c.counts.fpdus_early;
	w.c.ulp = &judges;
	says = ulp;
	memset(w.memory, 'm', sizeof(w.memory));
	h.dv = XIW_DDP_VERSION;
	fpdu_of(octets, &h, at, BEHIND, 1);
	cr_assert(take_segment(room[1], SEQ + at, octets, BEHIND), "kept, whatever it is");
	says = 0;
	write_fpdu(octets, at + 512, BEHIND, 1);
	cr_assert(take_segment(room[2], SEQ + at + 512, octets, BEHIND), "kept");
	return (unsigned int)(w.c.counts.fpdus_early - before);
}

/* A wrong STag, bounds or rights: that nothing is placed early any more is seen by the good one. */
Test(path_take, refused_early)
{
	const struct {
		struct xiw_ddp_hdr h;
		int ulp;
	} wrong[] = {
		{ { .tagged = true, .stag = STAG + 1 }, 0 },
		{ { .tagged = true, .stag = STAG, .to = sizeof(w.memory) - 1 }, 0 },
		{ { .tagged = true, .stag = STAG, .to = UINT64_MAX - 1 }, 0 },
		{ { .tagged = true, .stag = STAG }, 1 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_expect_eq(two_more(wrong[i].h, wrong[i].ulp), 0, "%zu", i);
		cr_expect_eq(w.c.counts.early_refused, 1, "%zu", i);
		cr_expect(!w.c.rx_dead, "its turn has not come");
		for (size_t k = 0; k < sizeof(w.memory); k++)
			cr_assert_eq(w.memory[k], 'm', "%zu: %zu", i, k);
		rig_close();
	}
}

/* What its turn may find right: a Send whose buffer is not posted yet, an answer whose Read is not the oldest. */
Test(path_take, later_is_not_refused)
{
	const struct {
		struct xiw_ddp_hdr h;
		int ulp;
		unsigned int early;
	} later[] = {
		{ { .msn = 2 }, 0, 1 },
		{ { .msn = 1, .mo = 1 }, 0, 1 },
		{ { .tagged = true, .stag = STAG, .last = true }, 0, 1 },
		{ { .tagged = true, .stag = STAG }, -EAGAIN, 1 },
		{ { .tagged = true, .stag = STAG }, 0, 2 },
	};

	for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++) {
		cr_expect_eq(two_more(later[i].h, later[i].ulp), later[i].early, "%zu", i);
		cr_expect_eq(w.c.counts.early_refused, 0, "%zu", i);
		rig_close();
	}
}

/* The FPDU that fills the gap ends within the segment behind it, in front of what would be a Send. */
Test(path_take, placed_early_as_another)
{
	uint8_t octets[INNER_AT];

	come_behind_gap();
	write_fpdu(octets, 0, INNER_AT, 0);
	take_segment(room[1], SEQ, octets, INNER_AT);
	cr_assert_eq(w.c.counts.fpdus, 1, "the first alone");
	cr_assert_eq(w.c.counts.crc_errors, 1);
	cr_assert_eq(w.c.tcp.rcv_nxt, SEQ + INNER_AT);
	cr_assert_eq(buffer[0], 's');
	rig_close();
}

/* The FPDU for the next octet in order comes with a wrong CRC, one time less than ends the stream. */
static void almost_end(uint8_t *octets)
{
	const uint32_t at = w.c.tcp.rcv_nxt;
	const uint64_t before = w.c.counts.crc_errors;

	write_fpdu(octets, at - SEQ, GAP, 0);
	octets[GAP - 1] ^= 1;
	for (unsigned int i = 1; i < TRIES; i++) {
		take_segment(room[0], at, octets, GAP);
		cr_assert_eq(w.c.counts.crc_errors, before + i);
		cr_assert(!w.c.rx_dead, "after %u", i);
	}
	cr_assert_eq(w.c.tcp.rcv_nxt, at);
}

/* RFC 5044 section 8: damage is TCP's to repair, but not for ever. Another place has tries of its own. */
Test(path_take, bad_crcs_at_one_place)
{
	uint8_t octets[GAP];

	shape = (struct shape){ .frags = 1 };
	rig_open();
	w.c.mpa.rx = (struct xiw_mpa_rx){ .crc = true };
	almost_end(octets);
	octets[GAP - 1] ^= 1;
	take_segment(room[0], SEQ, octets, GAP);
	cr_assert_eq(w.c.counts.fpdus, 1);
	cr_assert_eq(w.c.tcp.rcv_nxt, SEQ + GAP);
	almost_end(octets);
	take_segment(room[0], SEQ + GAP, octets, GAP);
	cr_expect(w.c.rx_dead && w.c.end.failing);
	cr_expect_eq(w.c.end.mpa_error, XIW_MPA_ERR_CRC);
	cr_expect_eq(w.c.counts.crc_errors, 2 * TRIES - 1);
	cr_expect_eq(w.c.counts.fpdus, 1);
	rig_close();
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules of RFC 5044 section 4 that only a whole stream of FPDUs shows, and what a receiver must accept. */
#include <criterion/criterion.h>

#include "mpa/stream.h"
#include "mpa/tx.h"
#include "tests/unit/mpa_ref.h"

#define SEED 0x4143u
#define FPDUS 400

static uint8_t wire[FPDUS * 2400], ulpdu[FPDUS][2000];
static uint32_t len[FPDUS], total;

/* Short FPDUs, so that many lie between two Markers, and long ones with several Markers. */
static void build(bool markers, bool crc)
{
	struct xiw_mpa_tx tx = { 0, markers, crc };
	uint64_t rng = SEED;

	total = 0;
	for (int i = 0; i < FPDUS; i++) {
		uint32_t hdr;

		len[i] = ref_random(&rng) % (i % 3 ? 60 : 2000);
		hdr = ref_random(&rng) % (len[i] + 1);
		ref_fill(&rng, ulpdu[i], len[i]);
		total += xiw_mpa_build(&tx, wire + total, ulpdu[i], hdr, ulpdu[i] + hdr,
				       len[i] - hdr);
	}
}

/* Sections 4.2 and 4.3, octet by octet: Markers are at all multiples of 512, and nowhere else. */
struct reader {
	uint32_t at;	    /* in wire */
	uint32_t length_at; /* of the current FPDU */
	bool inside;
	uint32_t seen, zero, several;
	uint32_t in_fpdu; /* Markers of this FPDU */
};

static void read_marker(struct reader *r)
{
	uint32_t ptr = wire[r->at + 2] << 8 | wire[r->at + 3];

	cr_assert_eq(wire[r->at] | wire[r->at + 1], 0, "reserved, octet %u", r->at);
	cr_assert_eq(ptr % 4, 0, "octet %u", r->at);
	if (r->inside)
		cr_assert_eq(r->at - ptr, r->length_at, "octet %u points elsewhere", r->at);
	else
		cr_assert_eq(ptr, 0, "octet %u lies between FPDUs", r->at);
	r->seen++;
	r->zero += !r->inside;
	r->several += r->inside && r->in_fpdu++;
	r->at += 4;
}

static uint8_t read_octet(struct reader *r, bool markers)
{
	if (markers && r->at % 512 == 0)
		read_marker(r);
	cr_assert_lt(r->at, total);
	return wire[r->at++];
}

static void read_fpdu(struct reader *r, bool markers, int i)
{
	uint32_t size, n = 0;

	/* A Marker that is due here precedes ULPDU_Length, and belongs to this FPDU. */
	if (markers && r->at % 512 == 0)
		read_marker(r);
	r->length_at = r->at;
	r->inside = true;
	r->in_fpdu = 0;
	size = read_octet(r, markers) << 8;
	size |= read_octet(r, markers);
	cr_assert_eq(size, len[i], "FPDU %d", i);
	while (n < size)
		cr_assert_eq(read_octet(r, markers), ulpdu[i][n++], "FPDU %d", i);
	/* Section 4.1: the PAD is zero. */
	for (n += 2; n % 4; n++)
		cr_assert_eq(read_octet(r, markers), 0, "FPDU %d", i);
	for (int k = 0; k < 4; k++)
		read_octet(r, markers);
	r->inside = false;
}

static void read_stream(bool markers, bool crc)
{
	struct reader r = { 0 };

	build(markers, crc);
	for (int i = 0; i < FPDUS; i++)
		read_fpdu(&r, markers, i);
	cr_assert_eq(r.at, total);
	cr_assert_eq(r.seen, markers ? (total + 511) / 512 : 0);
	if (markers) {
		/* The run met both kinds, and the stream began with 0x00000000. */
		cr_assert_gt(r.zero, 1);
		cr_assert_gt(r.several, 10);
		cr_assert_eq(wire[0] | wire[1] | wire[2] | wire[3], 0);
	}
}

Test(rfc5044, markers_of_a_stream)
{
	read_stream(true, true);
	read_stream(true, false);
}

/* No Markers if the peer's frame has M 0 (section 7.1.1). It begins with ULPDU_Length (section 7.1.2 rule 7). */
Test(rfc5044, stream_without_markers)
{
	read_stream(false, true);
	read_stream(false, false);
}

struct taken {
	uint32_t n;
	bool verify;
};

static int take(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	struct taken *t = ctx;
	uint8_t out[2000];

	if (t->verify && !xiw_mpa_verify(f, v, n))
		return -XIW_MPA_ERR_CRC;
	cr_assert_eq(f->ulpdu_len, len[t->n]);
	cr_assert(xiw_mpa_place(f, v, n, 0, out));
	cr_assert_eq(memcmp(out, ulpdu[t->n], len[t->n]), 0, "FPDU %u", t->n);
	t->n++;
	return 0;
}

static int feed(bool markers, bool crc, uint32_t *n)
{
	struct xiw_mpa_rx rx = { 0, markers, crc };
	struct taken t = { 0, crc };
	struct xiw_mpa_stream s;
	uint64_t rng = SEED;
	int ret = 0;

	xiw_mpa_stream_init(&s, &rx);
	for (uint32_t pos = 0, piece; pos < total && !ret; pos += piece) {
		piece = 1 + ref_random(&rng) % 3000;
		if (piece > total - pos)
			piece = total - pos;
		ret = xiw_mpa_stream_feed(&s, wire + pos, piece, take, &t);
	}
	xiw_mpa_stream_free(&s);
	*n = t.n;
	return ret;
}

/*
 * Sets each FPDU's PAD to @pad, and its CRC field to the result of @value on the right CRC. Returns the offset of the
 * last PAD. No Marker precedes a PAD or lies within one.
 */
static uint32_t rewrite(bool markers, int pad, uint32_t (*value)(uint32_t crc, uint32_t i))
{
	struct xiw_mpa_rx rx = { 0, markers, true };
	struct xiw_vec v = { wire, total };
	uint32_t at = 0, last = 0, crc;
	struct xiw_fpdu f;

	for (uint32_t i = 0; i < FPDUS; i++) {
		uint32_t n = -(2 + len[i]) & 3, end;

		cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, at, &f), XIW_MPA_OK);
		end = at + f.wire_len - 4;
		/* Is there a Marker between PAD and CRC? */
		last = markers && (end - 4) % 512 == 0 ? end - 4 - n : end - n;
		memset(wire + last, pad, n);
		crc = value(crc32c(wire + at, f.wire_len - 4), i);
		for (int k = 0; k < 4; k++)
			wire[end + k] = (uint8_t)(crc >> 8 * k);
		at += f.wire_len;
		xiw_mpa_rx_advance(&rx, f.wire_len);
	}
	cr_assert_eq(at, total);
	return last;
}

static uint32_t the_right_one(uint32_t crc, uint32_t i)
{
	(void)i;
	return crc;
}

static uint32_t another(uint32_t crc, uint32_t i)
{
	return crc ^ (1u << i % 32);
}

static uint32_t the_last_is_another(uint32_t crc, uint32_t i)
{
	return i == FPDUS - 1 ? ~crc : crc;
}

/* Section 4.1: the receiver ignores the PAD, except in the CRC. */
Test(rfc5044, pad_is_ignored)
{
	uint32_t n, last;

	for (int markers = 0; markers < 2; markers++) {
		build(markers, true);
		cr_assert_neq(len[FPDUS - 1] % 4, 2, "the last FPDU has a PAD");
		last = rewrite(markers, 0xff, the_right_one);
		cr_assert_eq(feed(markers, true, &n), 0);
		cr_assert_eq(n, FPDUS);

		wire[last] = 0;
		cr_assert_eq(feed(markers, true, &n), -XIW_MPA_ERR_CRC);
		cr_assert_eq(n, FPDUS - 1);
		cr_assert_eq(feed(markers, false, &n), 0);
		cr_assert_eq(n, FPDUS);
	}
}

/* Sections 4.1 and 7.1.1: without CRCs the field may contain any value and is not checked. */
Test(rfc5044, crc_field_is_not_checked_without_crcs)
{
	uint32_t n;

	for (int markers = 0; markers < 2; markers++) {
		build(markers, true);
		rewrite(markers, 0, another);
		cr_assert_eq(feed(markers, false, &n), 0);
		cr_assert_eq(n, FPDUS);
		cr_assert_eq(feed(markers, true, &n), -XIW_MPA_ERR_CRC);
		cr_assert_eq(n, 0);
	}
}

/* Section 4.4: the receiver verifies each FPDU, also the last one of a long stream. */
Test(rfc5044, every_fpdu_is_verified)
{
	uint32_t n;

	for (int markers = 0; markers < 2; markers++) {
		build(markers, true);
		rewrite(markers, 0, the_last_is_another);
		cr_assert_eq(feed(markers, true, &n), -XIW_MPA_ERR_CRC);
		cr_assert_eq(n, FPDUS - 1);
	}
}

/* Section 3: a ULPDU of any length, 64768 included, is one FPDU, and is delivered as one ULPDU. */
Test(rfc5044, one_ulpdu_is_one_fpdu)
{
	static uint8_t out[66000], in[64768];
	static const uint32_t lens[] = { 0, 1, 2, 3, 127, 128, 65, 32767, 32768, 64767, 64768 };
	uint64_t rng = SEED;

	ref_fill(&rng, in, sizeof(in));
	for (unsigned int i = 0; i < 2 * sizeof(lens) / sizeof(*lens); i++) {
		struct xiw_mpa_tx tx = { 4 * (ref_random(&rng) % 128), i % 2, true };
		struct xiw_mpa_rx rx = { tx.phase, i % 2, true };
		uint32_t want = lens[i / 2];
		struct xiw_vec v = { out, xiw_mpa_build(&tx, out, in, want / 2, in + want / 2,
							want - want / 2) };
		struct xiw_fpdu f;

		cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_OK);
		cr_assert_eq(f.wire_len, v.len);
		cr_assert_eq(f.ulpdu_len, want);
		cr_assert_eq(f.wire_len % 4, 0, "section 4.1: a multiple of four");
		cr_assert(xiw_mpa_verify(&f, &v, 1));
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>

#include "mpa/fpdu.h"
#include "tests/unit/mpa_ref.h"

#define SEED 0x5044u

static uint8_t wire[140000], ulpdu[65536], out[65536 + 16], again[65536];

static void fill_figure(int figure, struct xiw_mpa_rx *rx)
{
	*rx = (struct xiw_mpa_rx){ .markers = true, .crc = true };
	if (figure == 5) {
		memcpy(wire, ref_figure5, sizeof(ref_figure5));
	} else {
		memcpy(wire, ref_figure6, sizeof(ref_figure6));
		rx->marker_phase = REF_FIGURE6_PHASE;
	}
	ref_figure_ulpdu(ulpdu, figure == 5 ? 1 : 2);
}

static void accept_figure(const struct xiw_mpa_rx *rx, const struct xiw_vec *v, unsigned int n)
{
	struct xiw_fpdu f;

	cr_assert_eq(xiw_mpa_parse(rx, v, n, 0, &f), XIW_MPA_OK);
	cr_assert_eq(f.wire_len, sizeof(ref_figure5));
	cr_assert_eq(f.ulpdu_len, 42);
	cr_assert_eq(f.start, 0);
	cr_assert_eq(f.phase, rx->marker_phase);
	cr_assert(xiw_mpa_verify(&f, v, n));
	memset(out, 0xee, 43);
	cr_assert(xiw_mpa_place_verify(&f, v, n, 0, out));
	cr_assert_arr_eq(out, ulpdu, 42);
	cr_assert_eq(out[42], 0xee);
	memset(out, 0xee, 25);
	cr_assert(xiw_mpa_place(&f, v, n, 18, out));
	cr_assert_arr_eq(out, ulpdu + 18, 24);
	cr_assert_eq(out[24], 0xee);
}

static void figure_in_every_split(int figure)
{
	const uint32_t size = sizeof(ref_figure5);
	struct xiw_mpa_rx rx;
	struct xiw_fpdu f;

	fill_figure(figure, &rx);
	for (uint32_t a = 0; a <= size; a++) {
		struct xiw_vec one = { wire, a };
		uint32_t length_at = figure == 5 ? 4 : 0;

		if (a < size) {
			cr_assert_eq(xiw_mpa_parse(&rx, &one, 1, 0, &f), XIW_MPA_MORE);
			cr_assert_eq(f.wire_len, a < length_at + 2 ? 0 : size);
		}
		for (uint32_t b = a; b <= size; b++) {
			struct xiw_vec v[] = {
				{ wire, a },
				{ wire + a, b - a },
				{ wire + b, size - b },
			};

			accept_figure(&rx, v, 3);
		}
	}
}

Test(mpa_fpdu, figure_5_in_every_split)
{
	figure_in_every_split(5);
}

Test(mpa_fpdu, figure_6_in_every_split)
{
	figure_in_every_split(6);
}

/* One FPDU after @off other octets, followed by some octets of the next FPDU. */
static void check_one(uint64_t *rng, bool markers, uint32_t phase, uint32_t len)
{
	uint32_t off = ref_random(rng) % 100, behind = ref_random(rng) % 9;
	struct ref_stream s = { wire + off, 0, phase, markers };
	struct xiw_mpa_rx rx = { phase, markers, true };
	uint32_t size, at = ref_random(rng) % (len + 1), part = ref_random(rng) % (len - at + 1);
	unsigned int n = 1 + ref_random(rng) % 4;
	struct xiw_vec v[4];
	struct xiw_fpdu f;

	ref_fill(rng, ulpdu, len);
	size = ref_fpdu(&s, ulpdu, len, true);
	memset(wire + off + size, 0xff, behind);
	ref_cut(rng, wire, off + size + behind, v, n);

	cr_assert_eq(xiw_mpa_parse(&rx, v, n, off, &f), XIW_MPA_OK, "seed %#x phase %u len %u",
		     SEED, phase, len);
	cr_assert_eq(f.start, off);
	cr_assert_eq(f.wire_len, size, "seed %#x phase %u len %u", SEED, phase, len);
	cr_assert_eq(f.ulpdu_len, len);
	cr_assert(xiw_mpa_verify(&f, v, n));

	memset(out, 0xee, len + 1);
	cr_assert(xiw_mpa_peek(&f, v, n, out, at, part));
	cr_assert_eq(memcmp(out, ulpdu + at, part), 0, "seed %#x phase %u len %u", SEED, phase,
		     len);
	cr_assert_eq(out[part], 0xee);

	memset(out, 0xee, len + 1);
	cr_assert(xiw_mpa_place_verify(&f, v, n, at, out), "seed %#x phase %u len %u", SEED, phase,
		  len);
	cr_assert_eq(memcmp(out, ulpdu + at, len - at), 0);
	cr_assert_eq(out[len - at], 0xee);
	cr_assert(xiw_mpa_place(&f, v, n, at, again));
	cr_assert_eq(memcmp(again, out, len - at), 0);
}

Test(mpa_fpdu, random_at_every_phase)
{
	uint64_t rng = SEED;

	for (uint32_t phase = 0; phase < 512; phase += 4) {
		for (uint32_t len = 0; len < 1100; len += 1 + ref_random(&rng) % 13) {
			check_one(&rng, true, phase, len);
			check_one(&rng, false, phase, len);
		}
		check_one(&rng, true, phase, 64768 - ref_random(&rng) % 4);
	}
	check_one(&rng, false, 0, 64768);
}

static void check_pieces(const struct xiw_vec *v, uint32_t len, uint32_t head, struct xiw_csum *sum)
{
	memset(out, 0xee, len + 1);
	cr_assert(xiw_mpa_place_verify_pieces(v, 3, len, head, out, sum));
	cr_assert(!memcmp(out, ulpdu + head, len - head));
	cr_assert_eq(out[len - head], 0xee);
}

/* The octets in one piece: both sums, with each length of PAD. */
Test(mpa_fpdu, flat_with_sum)
{
	const uint32_t head = 14;
	uint64_t rng = SEED;

	for (uint32_t len = head; len < 1500; len++) {
		struct ref_stream s = { wire, 0, 0, false };
		struct xiw_csum sum = {};
		uint32_t size;

		ref_fill(&rng, ulpdu, len);
		size = ref_fpdu(&s, ulpdu, len, true);
		cr_assert(xiw_mpa_place_verify_flat(wire, size, len, head, out, &sum));
		cr_assert(!memcmp(out, ulpdu + head, len - head));
		cr_assert_eq(xiw_csum_fold(sum.sum),
			     xiw_csum_fold(xiw_csum_partial(wire + XIW_MPA_LEN_SIZE + head,
							    size - XIW_MPA_LEN_SIZE - head)));
		wire[ref_random(&rng) % size] ^= 4;
		cr_assert(!xiw_mpa_place_verify_flat(wire, size, len, head, out, &sum));
	}
}

/* With 14 octets in the first piece that are not placed, and with each length of PAD. */
Test(mpa_fpdu, pieces_in_every_split)
{
	const uint32_t head = 14, skip = XIW_MPA_LEN_SIZE + head;
	uint64_t rng = SEED;

	for (uint32_t len = head; len < head + 24; len++) {
		struct ref_stream s = { wire, 0, 0, false };
		uint32_t size;

		ref_fill(&rng, ulpdu, len);
		size = ref_fpdu(&s, ulpdu, len, true);
		for (uint32_t a = XIW_MPA_LEN_SIZE + head; a <= size; a++) {
			for (uint32_t b = a; b <= size; b++) {
				const struct xiw_vec v[] = { { wire, a },
							     { wire + a, b - a },
							     { wire + b, size - b } };
				uint8_t *bad = wire + ref_random(&rng) % size;
				struct xiw_csum sum = {};

				check_pieces(v, len, head, a % 2 ? &sum : NULL);
				cr_assert(a % 2 == 0 || xiw_csum_fold(sum.sum) ==
								xiw_csum_fold(xiw_csum_partial(
									wire + skip, size - skip)));
				*bad ^= 0x10;
				cr_assert(!xiw_mpa_place_verify_pieces(v, 3, len, head, out, NULL));
				*bad ^= 0x10;
			}
		}
	}
}

/* Section 4.4: the CRC covers a Marker between PAD and CRC, but not a Marker after the CRC. */
Test(mpa_fpdu, marker_around_crc)
{
	struct xiw_mpa_rx rx = { 512 - 28, true, true };
	struct ref_stream s = { wire, 0, 512 - 28, true };
	struct xiw_vec v = { wire, sizeof(wire) };
	struct xiw_fpdu f;

	ref_fpdu(&s, ulpdu, 26, true);
	cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_OK);
	cr_assert_eq(f.wire_len, 28 + 4 + 4);
	cr_assert(xiw_mpa_verify(&f, &v, 1));
	wire[28] ^= 1;
	cr_assert_not(xiw_mpa_verify(&f, &v, 1));

	s.len = 0;
	ref_fpdu(&s, ulpdu, 22, true);
	ref_fpdu(&s, ulpdu, 1, true);
	cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_OK);
	cr_assert_eq(f.wire_len, 28);
	cr_assert(xiw_mpa_verify(&f, &v, 1));
	xiw_mpa_rx_advance(&rx, f.wire_len);
	cr_assert_eq(rx.marker_phase, 0);
	cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 28, &f), XIW_MPA_OK);
	cr_assert_eq(f.wire_len, 4 + 4 + 4);
	cr_assert(xiw_mpa_verify(&f, &v, 1));
	wire[28] ^= 1;
	cr_assert_not(xiw_mpa_verify(&f, &v, 1));
}

static void damage_markers(uint32_t phase, uint32_t len, uint64_t *rng)
{
	struct ref_stream s = { wire, 0, phase, true };
	struct xiw_mpa_rx rx = { phase, true, true };
	uint32_t size = ref_fpdu(&s, ulpdu, len, true), seen = 0;
	struct xiw_vec v[3];
	struct xiw_fpdu f;

	ref_cut(rng, wire, size, v, 3);
	for (uint32_t at = -phase & 511; at < size; at += 512, seen++) {
		for (int bit = 0; bit < 32; bit++) {
			uint8_t *p = wire + at + bit / 8, was = *p;
			/* Section 4.2: the reserved half and the two low bits of FPDUPTR are ignored. */
			bool counts = bit >= 16 && (bit < 24 || bit % 8 > 1);

			*p ^= (uint8_t)(1 << bit % 8);
			cr_assert_eq(xiw_mpa_parse(&rx, v, 3, 0, &f),
				     counts ? XIW_MPA_BAD_MARKER : XIW_MPA_OK,
				     "seed %#x phase %u len %u marker at %u bit %d", SEED, phase,
				     len, at, bit);
			cr_assert_eq(f.wire_len, size);
			cr_assert_not(xiw_mpa_verify(&f, v, 3));
			*p = was;
		}
	}
	cr_assert_eq(seen, (size - 1 + phase) / 512 + (phase == 0));
	cr_assert_eq(xiw_mpa_parse(&rx, v, 3, 0, &f), XIW_MPA_OK);
}

Test(mpa_fpdu, every_marker_damaged)
{
	uint64_t rng = SEED;

	ref_fill(&rng, ulpdu, 3000);
	for (uint32_t phase = 0; phase < 512; phase += 4)
		damage_markers(phase, 900 + ref_random(&rng) % 900, &rng);
	damage_markers(0, 1, &rng);
	damage_markers(508, 64768, &rng);
}

static void damage_octets(bool markers, uint32_t phase, uint32_t len, uint64_t *rng)
{
	struct ref_stream s = { wire, 0, phase, markers };
	struct xiw_mpa_rx rx = { phase, markers, true };
	uint32_t size = ref_fpdu(&s, ulpdu, len, true);
	struct xiw_vec whole = { wire, size }, v[4];
	struct xiw_fpdu f, g;

	ref_cut(rng, wire, size, v, 4);
	cr_assert_eq(xiw_mpa_parse(&rx, &whole, 1, 0, &f), XIW_MPA_OK);
	cr_assert_eq(xiw_mpa_parse(&rx, v, 4, 0, &g), XIW_MPA_OK);
	for (uint32_t at = 0; at < size; at++) {
		uint32_t from = ref_random(rng) % (len + 1);
		uint8_t was = wire[at];

		wire[at] ^= (uint8_t)(1 + ref_random(rng) % 255);
		cr_assert_not(xiw_mpa_verify(&f, &whole, 1), "phase %u octet %u", phase, at);
		cr_assert_not(xiw_mpa_verify(&g, v, 4), "phase %u octet %u", phase, at);
		cr_assert_not(xiw_mpa_place_verify(&f, &whole, 1, from, out));
		cr_assert_not(xiw_mpa_place_verify(&g, v, 4, from, out));
		wire[at] = was;
	}
	cr_assert(xiw_mpa_verify(&f, &whole, 1));
	cr_assert(xiw_mpa_place_verify(&g, v, 4, 0, out));
}

Test(mpa_fpdu, every_octet_damaged)
{
	uint64_t rng = SEED;

	ref_fill(&rng, ulpdu, 2000);
	for (uint32_t phase = 0; phase < 512; phase += 36) {
		damage_octets(true, phase, ref_random(&rng) % 1500, &rng);
		damage_octets(false, phase, ref_random(&rng) % 1500, &rng);
	}
}

Test(mpa_fpdu, length_limits)
{
	for (int markers = 0; markers < 2; markers++) {
		struct xiw_mpa_rx rx = { 4, markers, true };
		struct xiw_vec v = { wire, sizeof(wire) };
		struct xiw_fpdu f;

		memset(wire, 0, 8);
		cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_OK);
		cr_assert_eq(f.ulpdu_len, 0);
		cr_assert_eq(f.wire_len, 8);

		wire[0] = 64769 >> 8;
		wire[1] = 64769 & 255;
		cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_BAD_LENGTH);
		v.len = 2;
		cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_BAD_LENGTH);
		wire[1]--;
		cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_MORE);
		cr_assert_eq(f.wire_len, markers ? 64776 + 4 * 127 : 64776);
	}
	cr_assert_eq(XIW_MPA_FPDU_MAX, 64776 + 4 * 128);
}

Test(mpa_fpdu, nothing_there)
{
	struct xiw_mpa_rx rx = { 0, false, true };
	struct xiw_vec v = { NULL, 0 };
	struct xiw_fpdu f = { .wire_len = 1 };

	cr_assert_eq(xiw_mpa_parse(&rx, NULL, 0, 0, &f), XIW_MPA_MORE);
	cr_assert_eq(f.wire_len, 0);
	cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_MORE);
	cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, UINT32_MAX, &f), XIW_MPA_MORE);
	cr_assert_eq(f.wire_len, 0);
}

Test(mpa_fpdu, ranges_outside_the_ulpdu_are_refused)
{
	struct xiw_mpa_rx rx = { 0, false, true };
	struct ref_stream s = { wire, 0, 0, false };
	uint32_t size = ref_fpdu(&s, ulpdu, 30, true);
	struct xiw_vec v = { wire, size };
	struct xiw_fpdu f;

	cr_assert_eq(xiw_mpa_parse(&rx, &v, 1, 0, &f), XIW_MPA_OK);
	out[0] = 0xee;
	cr_assert_not(xiw_mpa_peek(&f, &v, 1, out, 0, 31));
	cr_assert_not(xiw_mpa_peek(&f, &v, 1, out, 30, 1));
	cr_assert_not(xiw_mpa_peek(&f, &v, 1, out, 2, UINT32_MAX));
	cr_assert_not(xiw_mpa_peek(&f, &v, 1, out, UINT32_MAX, 2));
	cr_assert_not(xiw_mpa_place(&f, &v, 1, 31, out));
	cr_assert_not(xiw_mpa_place_verify(&f, &v, 1, 31, out));
	cr_assert_eq(out[0], 0xee);
	cr_assert(xiw_mpa_peek(&f, &v, 1, NULL, 30, 0));
	cr_assert(xiw_mpa_place(&f, &v, 1, 30, NULL));
	cr_assert(xiw_mpa_place_verify(&f, &v, 1, 30, NULL));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>

#include "mpa/tx.h"
#include "tests/mpa_sizes.h"
#include "tests/unit/mpa_ref.h"

#define SEED 0x5041u

static uint8_t ulpdu[65536], out[70000], expected[70000];

Test(mpa_tx, figure_5)
{
	struct xiw_mpa_tx tx = { 0, true, true };

	ref_figure_ulpdu(ulpdu, 1);
	cr_assert_eq(mpa_fpdu_size(&tx, 42), sizeof(ref_figure5));
	cr_assert_eq(xiw_mpa_build(&tx, out, ulpdu, 18, ulpdu + 18, 24), sizeof(ref_figure5));
	cr_assert_arr_eq(out, ref_figure5, sizeof(ref_figure5));
	cr_assert_eq(tx.phase, sizeof(ref_figure5));
}

/* After a first FPDU of 492 octets, as in the figure. */
Test(mpa_tx, figure_6)
{
	struct xiw_mpa_tx tx = { 0, true, true };

	memset(ulpdu, 0, 482);
	cr_assert_eq(xiw_mpa_build(&tx, out, ulpdu, 482, NULL, 0), 492);
	cr_assert_eq(tx.phase, REF_FIGURE6_PHASE);
	ref_figure_ulpdu(ulpdu, 2);
	cr_assert_eq(xiw_mpa_build(&tx, out, NULL, 0, ulpdu, 42), sizeof(ref_figure6));
	cr_assert_arr_eq(out, ref_figure6, sizeof(ref_figure6));
	cr_assert_eq(tx.phase, (REF_FIGURE6_PHASE + sizeof(ref_figure6)) % 512);
}

static void build_one(uint64_t *rng, bool markers, bool crc, uint32_t phase, uint32_t len)
{
	struct ref_stream s = { expected, 0, phase, markers };
	struct xiw_mpa_tx tx = { phase, markers, crc };
	uint32_t hdr = ref_random(rng) % (len + 1), size;

	ref_fill(rng, ulpdu, len);
	size = ref_fpdu(&s, ulpdu, len, crc);
	out[size] = 0xee;
	cr_assert_eq(mpa_fpdu_size(&tx, len), size, "seed %#x phase %u len %u", SEED, phase, len);
	cr_assert_eq(xiw_mpa_build(&tx, out, ulpdu, hdr, ulpdu + hdr, len - hdr), size);
	cr_assert_eq(memcmp(out, expected, size), 0, "seed %#x markers %d crc %d phase %u len %u",
		     SEED, markers, crc, phase, len);
	cr_assert_eq(out[size], 0xee);
	cr_assert_eq(tx.phase, (phase + size) % 512);
}

Test(mpa_tx, every_phase)
{
	uint64_t rng = SEED;

	for (uint32_t phase = 0; phase < 512; phase += 4) {
		for (uint32_t len = 0; len < 1100; len += 1 + ref_random(&rng) % 13) {
			build_one(&rng, true, true, phase, len);
			build_one(&rng, false, true, phase, len);
			build_one(&rng, true, false, phase, len);
		}
		build_one(&rng, true, true, phase, 64768 - ref_random(&rng) % 4);
	}
	build_one(&rng, false, true, 0, 64768);
}

/* A payload in pieces, some of them empty, is built as one in one piece, from any octet of it on. */
Test(mpa_tx, payload_in_pieces)
{
	uint64_t rng = SEED;

	for (int run = 0; run < 2000; run++) {
		uint32_t len = 1 + ref_random(&rng) % 3000, off = ref_random(&rng) % len,
			 left = len;
		uint32_t take = ref_random(&rng) % (len - off + 1),
			 phase = ref_random(&rng) % 128 * 4;
		struct xiw_mpa_tx one = { phase, run & 1, run & 2 }, many = one;
		struct xiw_vec v[16], *p = v;
		struct xiw_vec_cur at;
		uint32_t size;

		ref_fill(&rng, ulpdu, len);
		for (; p < v + 15; left -= p++->len)
			*p = (struct xiw_vec){ ulpdu + len - left,
					       ref_random(&rng) % 4 ? ref_random(&rng) % (left + 1)
								    : 0 };
		*p = (struct xiw_vec){ ulpdu + len - left, left };
		at = xiw_vec_at(v, 16, off);
		size = xiw_mpa_build(&one, expected, "header", 6, ulpdu + off, take);
		cr_assert_eq(xiw_mpa_build_vec(&many, out, "header", 6, &at, take), size);
		cr_assert_arr_eq(out, expected, size, "seed %#x run %d", SEED, run);
		cr_assert_eq(many.phase, one.phase);
	}
}

Test(mpa_tx, ulpdu_too_long)
{
	struct xiw_mpa_tx tx = { 8, false, true };

	out[0] = 0xee;
	cr_assert_eq(mpa_fpdu_size(&tx, 64769), 0);
	cr_assert_eq(xiw_mpa_build(&tx, out, ulpdu, 1, ulpdu, 64768), 0);
	cr_assert_eq(xiw_mpa_build(&tx, out, ulpdu, UINT32_MAX, ulpdu, 2), 0);
	cr_assert_eq(xiw_mpa_build(&tx, out, ulpdu, 2, ulpdu, UINT32_MAX), 0);
	cr_assert_eq(out[0], 0xee);
	cr_assert_eq(tx.phase, 8);
}

/* Figures computed by hand with the formulas of RFC 5044 section 4.5. */
Test(mpa_tx, mulpdu_formulas)
{
	cr_assert_eq(mpa_mulpdu_any(1460, false), 1454);
	cr_assert_eq(mpa_mulpdu_any(1448, false), 1442);
	cr_assert_eq(mpa_mulpdu_any(1463, false), 1454);
	cr_assert_eq(mpa_mulpdu_any(1460, true), 1460 - (6 + 4 * 3));
	cr_assert_eq(mpa_mulpdu_any(1536, true), 1536 - (6 + 4 * 3));
	cr_assert_eq(mpa_mulpdu_any(1537, true), 1537 - (6 + 4 * 4 + 1));
	cr_assert_eq(mpa_mulpdu_any(8948, true), 8948 - (6 + 4 * 18));
	cr_assert_eq(mpa_mulpdu_any(127, false), 128);
	cr_assert_eq(mpa_mulpdu_any(0, true), 128);
	cr_assert_eq(mpa_mulpdu_any(65535, false), 64768);
}

/* Compared with the size function, which every_phase compares with the reference. */
static void largest_that_fits(uint32_t room, bool markers, uint32_t phase)
{
	struct xiw_mpa_tx tx = { phase, markers, true };
	uint32_t fit = xiw_mpa_ulpdu_fit(room, markers, phase);
	uint32_t any = mpa_mulpdu_any(room, markers);

	if (fit)
		cr_assert_leq(mpa_fpdu_size(&tx, fit), room, "room %u phase %u", room, phase);
	if (fit < 64768)
		cr_assert_gt(mpa_fpdu_size(&tx, fit + 1), room, "room %u phase %u", room, phase);
	cr_assert_eq(xiw_mpa_mulpdu(room, markers, phase), fit < 128 ? 128 : fit);
	if (any > 128)
		cr_assert_leq(any, fit, "room %u phase %u", room, phase);
}

Test(mpa_tx, mulpdu_is_the_largest_that_fits)
{
	for (uint32_t emss = 0; emss <= 9000; emss++) {
		largest_that_fits(emss, false, 0);
		/* Every phase where the number of Markers changes, and some others. */
		for (uint32_t phase = emss % 7 * 4; phase < 512; phase += emss % 512 < 8 ? 4 : 28)
			largest_that_fits(emss, true, phase);
	}
	for (uint32_t emss = 65200; emss <= 65535; emss++)
		for (uint32_t phase = 0; phase < 512; phase += 4)
			largest_that_fits(emss, true, phase);
}

/* If the EMSS has room for 128 octets, both variants fit into one segment at every phase. */
Test(mpa_tx, mulpdu_keeps_to_the_segment)
{
	for (uint32_t emss = 140; emss <= 9000; emss++) {
		for (uint32_t phase = 0; phase < 512; phase += 4) {
			struct xiw_mpa_tx tx = { phase, true, true };
			uint32_t len = xiw_mpa_mulpdu(emss, true, phase);

			if (mpa_fpdu_size(&tx, len) > emss ||
			    mpa_fpdu_size(&tx, mpa_mulpdu_any(emss, true)) > emss)
				cr_assert_fail("emss %u phase %u", emss, phase);
		}
	}
}

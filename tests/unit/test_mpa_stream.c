// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "mpa/stream.h"
#include "tests/unit/mpa_ref.h"

#define SEED 0x7323u
#define FPDUS 12

/* A stream and the expected result. */
struct expected {
	struct ref_stream s;
	struct xiw_mpa_rx rx;
	uint8_t ulpdu[FPDUS][2000];
	uint32_t len[FPDUS];
	uint32_t end[FPDUS]; /* raw offset of the end of each FPDU */
	uint32_t seen;
	uint32_t pause_at; /* the callback returns @pause_with for the FPDU of this number */
	int pause_with;
	uint32_t refuse_at; /* the callback asks to be given the FPDU of this number later, `refusals` times */
	uint32_t refusals;
};

static uint8_t wire[70000];
static struct expected e;

static void make(bool markers, uint32_t phase, uint32_t fpdus, uint32_t max_len)
{
	uint64_t rng = SEED;

	e = (struct expected){
		.s = { wire, 0, phase, markers },
		.rx = { phase, markers, true },
		.pause_at = UINT32_MAX,
		.refuse_at = UINT32_MAX,
	};
	for (uint32_t i = 0; i < fpdus; i++) {
		e.len[i] = ref_random(&rng) % max_len;
		ref_fill(&rng, e.ulpdu[i], e.len[i]);
		ref_fpdu(&e.s, e.ulpdu[i], e.len[i], true);
		e.end[i] = e.s.len;
	}
}

static int take(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	struct expected *x = ctx;
	uint8_t out[2000];

	cr_assert_lt(x->seen, FPDUS);
	cr_assert_eq(f->ulpdu_len, x->len[x->seen]);
	if (x->seen == x->refuse_at && x->refusals) {
		x->refusals--;
		return XIW_MPA_LATER;
	}
	if (!xiw_mpa_place_verify(f, v, n, 0, out))
		return -XIW_MPA_ERR_CRC;
	cr_assert_eq(memcmp(out, x->ulpdu[x->seen], x->len[x->seen]), 0);
	return x->seen++ == x->pause_at ? x->pause_with : 0;
}

/* A heap copy of exactly the piece, so that AddressSanitizer sees a read past its end. */
static int feed(struct xiw_mpa_stream *s, uint32_t from, uint32_t to)
{
	uint8_t *piece = malloc(to - from + !(to - from));
	int ret;

	memcpy(piece, wire + from, to - from);
	ret = xiw_mpa_stream_feed(s, piece, to - from, take, &e);
	free(piece);
	return ret;
}

static uint32_t pending_at(uint32_t pos)
{
	uint32_t start = 0;

	for (uint32_t i = 0; i < FPDUS && e.end[i] && e.end[i] <= pos; i++)
		start = e.end[i];
	return pos - start;
}

static void feed_all(struct xiw_mpa_stream *s, uint32_t from, uint32_t to)
{
	cr_assert_eq(feed(s, from, to), 0);
	cr_assert_eq(s->used, to - from);
	cr_assert_eq(xiw_mpa_stream_pending(s), pending_at(to));
	cr_assert_eq(s->rx.marker_phase, (e.rx.marker_phase + to - pending_at(to)) % 512);
}

static void split_everywhere(bool markers, uint32_t phase)
{
	struct xiw_mpa_stream s;

	make(markers, phase, FPDUS, 300);
	for (uint32_t cut = 0; cut <= e.s.len; cut++) {
		e.seen = 0;
		xiw_mpa_stream_init(&s, &e.rx);
		feed_all(&s, 0, cut);
		feed_all(&s, cut, e.s.len);
		cr_assert_eq(e.seen, FPDUS);
		cr_assert_eq(xiw_mpa_stream_pending(&s), 0);
		xiw_mpa_stream_free(&s);
	}
}

Test(mpa_stream, split_at_every_octet)
{
	split_everywhere(false, 0);
	split_everywhere(true, 0);
	split_everywhere(true, 100);
}

Test(mpa_stream, random_pieces)
{
	uint64_t rng = SEED;

	for (int i = 0; i < 400; i++) {
		uint32_t most = 1 + ref_random(&rng) % (i % 2 ? 40 : 4000);
		struct xiw_mpa_stream s;
		uint32_t pos = 0;

		make(i % 4 < 2, 4 * (ref_random(&rng) % 128), FPDUS, 2000);
		xiw_mpa_stream_init(&s, &e.rx);
		while (pos < e.s.len) {
			uint32_t len = 1 + ref_random(&rng) % most;

			if (len > e.s.len - pos)
				len = e.s.len - pos;
			feed_all(&s, pos, pos + len);
			pos += len;
		}
		cr_assert_eq(e.seen, FPDUS, "seed %#x round %d", SEED, i);
		xiw_mpa_stream_free(&s);
	}
}

Test(mpa_stream, octet_by_octet)
{
	struct xiw_mpa_stream s;

	make(true, 0, FPDUS, 1500);
	xiw_mpa_stream_init(&s, &e.rx);
	for (uint32_t pos = 0; pos < e.s.len; pos++)
		feed_all(&s, pos, pos + 1);
	cr_assert_eq(e.seen, FPDUS);
	xiw_mpa_stream_free(&s);
}

/* A pause leaves the stream after the FPDU; the caller feeds the unused octets again. */
Test(mpa_stream, pause_and_go_on)
{
	make(true, 0, FPDUS, 300);
	for (uint32_t at = 0; at < FPDUS; at++) {
		for (uint32_t cut = 0; cut < e.s.len; cut += 7) {
			struct xiw_mpa_stream s;
			uint32_t from = cut < e.end[at] ? cut : 0;

			e.seen = 0;
			e.pause_at = at;
			e.pause_with = 7;
			xiw_mpa_stream_init(&s, &e.rx);
			feed_all(&s, 0, from);
			cr_assert_eq(feed(&s, from, e.s.len), 7);
			cr_assert_eq(from + s.used, e.end[at]);
			cr_assert_eq(e.seen, at + 1);
			cr_assert_eq(xiw_mpa_stream_pending(&s), 0);
			feed_all(&s, e.end[at], e.s.len);
			cr_assert_eq(e.seen, FPDUS);
			xiw_mpa_stream_free(&s);
		}
	}
}

/* An FPDU that the callback does not take yet is presented again, also with more octets than before. */
Test(mpa_stream, later)
{
	make(true, 0, FPDUS, 300);
	for (uint32_t at = 0; at < FPDUS; at++) {
		const uint32_t start = at ? e.end[at - 1] : 0;

		for (uint32_t cut = 0; cut < e.s.len; cut += 7) {
			struct xiw_mpa_stream s;
			uint32_t from = cut < e.end[at] ? cut : 0, kept;

			e.seen = 0;
			e.refuse_at = at;
			e.refusals = 2;
			xiw_mpa_stream_init(&s, &e.rx);
			feed_all(&s, 0, from);
			kept = from > start ? from : start;
			cr_assert_eq(feed(&s, from, e.end[at]), XIW_MPA_LATER);
			cr_assert_eq(from + s.used, kept);
			cr_assert_eq(e.seen, at);
			cr_assert_eq(feed(&s, kept, e.s.len), XIW_MPA_LATER);
			cr_assert_eq(s.used, 0);
			feed_all(&s, kept, e.s.len);
			cr_assert_eq(e.seen, FPDUS);
			xiw_mpa_stream_free(&s);
		}
	}
}

/* Section 8: nothing is delivered after an error. */
static void ends_with(struct xiw_mpa_stream *s, uint32_t cut, int error, uint32_t seen)
{
	int ret;

	e.seen = 0;
	xiw_mpa_stream_init(s, &e.rx);
	ret = feed(s, 0, cut);
	if (!ret)
		ret = feed(s, cut, e.s.len);
	cr_assert_eq(ret, error, "%d, not %d", ret, error);
	cr_assert_eq(e.seen, seen);
	cr_assert_eq(feed(s, 0, e.s.len), error);
	cr_assert_eq(s->used, 0);
	cr_assert_eq(e.seen, seen);
	xiw_mpa_stream_free(s);
}

Test(mpa_stream, wrong_crc_ends_it)
{
	struct xiw_mpa_stream s;

	make(true, 0, FPDUS, 300);
	wire[e.end[4] + 12] ^= 0x10;
	for (uint32_t cut = 0; cut < e.s.len; cut++)
		ends_with(&s, cut, -XIW_MPA_ERR_CRC, 5);
}

Test(mpa_stream, error_of_the_callback_ends_it)
{
	struct xiw_mpa_stream s;

	make(false, 0, FPDUS, 300);
	e.pause_at = 3;
	e.pause_with = -EPROTO;
	for (uint32_t cut = 0; cut < e.s.len; cut++)
		ends_with(&s, cut, -EPROTO, 4);
}

/* Section 8: a wrong Marker under a valid CRC is code 3, otherwise code 2. */
Test(mpa_stream, wrong_marker_is_code_3_only_under_a_valid_crc)
{
	struct xiw_mpa_stream s;
	uint32_t marker = 0, i = 0, crc;

	make(true, 4, FPDUS, 300);
	marker = 512 - 4;
	while (e.end[i] <= marker)
		i++;
	wire[marker + 3] ^= 0x40;
	ends_with(&s, marker - 1, -XIW_MPA_ERR_CRC, i);

	crc = crc32c(wire + e.end[i - 1], e.end[i] - 4 - e.end[i - 1]);
	for (int k = 0; k < 4; k++)
		wire[e.end[i] - 4 + k] = (uint8_t)(crc >> 8 * k);
	for (uint32_t cut = 0; cut < e.s.len; cut++)
		ends_with(&s, cut, -XIW_MPA_ERR_MARKER, i);

	/* Without CRCs a wrong Marker can only be code 3. */
	wire[e.end[i] - 1] ^= 1;
	ends_with(&s, marker, -XIW_MPA_ERR_CRC, i);
	e.rx.crc = false;
	ends_with(&s, marker, -XIW_MPA_ERR_MARKER, i);
}

Test(mpa_stream, length_that_no_sender_may_use)
{
	struct xiw_mpa_stream s;

	make(false, 0, 2, 300);
	wire[e.end[0]] = 0xff;
	for (uint32_t cut = 0; cut < e.s.len; cut++)
		ends_with(&s, cut, -XIW_MPA_ERR_MARKER, 1);
}

static int count(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	++*(uint32_t *)ctx;
	return xiw_mpa_verify(f, v, n) ? 0 : -XIW_MPA_ERR_CRC;
}

/* The staging buffer grows up to the largest FPDU and does not shrink. */
Test(mpa_stream, staging_is_lazy_and_bounded)
{
	static uint8_t ulpdu[64768];
	struct ref_stream ref = { wire, 0, 0, true };
	struct xiw_mpa_rx rx = { 0, true, true };
	uint32_t size = ref_fpdu(&ref, ulpdu, sizeof(ulpdu), true), seen = 0;
	struct xiw_mpa_stream s;

	cr_assert_eq(size, XIW_MPA_FPDU_MAX);
	xiw_mpa_stream_init(&s, &rx);
	cr_assert_eq(xiw_mpa_stream_feed(&s, wire, size, count, &seen), 0);
	cr_assert_eq(seen, 1);
	cr_assert_eq(s.room, 0);

	/* 65288 octets end at phase 264, so this FPDU has another layout. */
	ref = (struct ref_stream){ wire, 0, size, true };
	size = ref_fpdu(&ref, ulpdu, sizeof(ulpdu), true);
	for (uint32_t pos = 0; pos < size; pos += 1000) {
		uint32_t len = size - pos < 1000 ? size - pos : 1000;

		cr_assert_eq(xiw_mpa_stream_feed(&s, wire + pos, len, count, &seen), 0);
		cr_assert_leq(s.room, s.staged * 2 > 2048 || !s.staged ? XIW_MPA_FPDU_MAX : 2048);
		cr_assert(!s.staged || s.room < 2048 + 2 * s.staged);
	}
	cr_assert_eq(seen, 2);
	cr_assert_eq(xiw_mpa_stream_pending(&s), 0);
	xiw_mpa_stream_free(&s);
}

Test(mpa_stream, piece_too_large)
{
	struct xiw_mpa_rx rx = { 0, true, true };
	struct xiw_mpa_stream s;
	uint32_t seen = 0;

	xiw_mpa_stream_init(&s, &rx);
	cr_assert_eq(xiw_mpa_stream_feed(&s, wire, 1u << 31, count, &seen), -EMSGSIZE);
	cr_assert_eq(s.used, 0);
	cr_assert_eq(xiw_mpa_stream_feed(&s, wire, 0, count, &seen), 0);
	cr_assert_eq(seen, 0);
	xiw_mpa_stream_free(&s);
}

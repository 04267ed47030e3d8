// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares the framing of a stream that comes in arbitrary pieces, with pauses, with the same stream read at once: the
 * same FPDUs in the same order, the same end, and never more memory than for one FPDU.
 */
#include <errno.h>

#include "mpa/stream.h"
#include "crc32c/crc32c.h"
#include "tests/fuzz/mpa_model.h"

#define STREAM_MAX 140000u
#define FPDUS_MAX 600

struct expected {
	uint32_t start, end; /* raw offsets */
	uint32_t ulpdu_len;
	uint32_t sum; /* of the ULPDU */
	bool crc_right;
};

static uint8_t raw[STREAM_MAX];
static struct expected expected[FPDUS_MAX];
static struct model_fpdu model;

struct run {
	struct fuzz_in *in;
	struct xiw_mpa_stream s;
	uint32_t len, fed; /* octets of raw */
	uint32_t n;	   /* FPDUs expected */
	uint32_t seen;	   /* FPDUs presented */
	uint32_t end;	   /* end of the last of them */
	int error;	   /* how the stream ends after the last one */
	int paused;	   /* last return value of the callback */
	bool failed;
};

/* FPDUs with lengths from the input, or the input as it is; then some octets are damaged. */
static void make_stream(struct run *r)
{
	uint32_t phase = r->s.rx.marker_phase, count = fuzz_below(r->in, 24), hits;

	for (uint32_t i = 0; i < count; i++) {
		uint16_t len = fuzz_u16(r->in);
		uint32_t at = r->len, room = STREAM_MAX - at;

		if (len & 0x8000)
			len &= 0x3fff;
		else if (len & 0x4000)
			len = (uint16_t)(64768 - (len & 0x1f));
		else
			len &= 0x1ff;
		if (room < len + 700u)
			break;
		for (uint32_t k = 0; k < len + 700u; k++)
			raw[at + k] = fuzz_pattern(at + k);
		/* If a marker is due, the length follows it. */
		if (r->s.rx.markers && (phase + at) % 512 == 0)
			at += 4;
		raw[at] = (uint8_t)(len >> 8);
		raw[at + 1] = (uint8_t)len;
		model_parse(&model, raw + r->len, room, r->s.rx.markers, phase + r->len, true);
		CHECK(model.status == MODEL_WHOLE);
		r->len += model.wire_len;
	}
	hits = fuzz_below(r->in, 4);
	while (hits-- && r->len) {
		uint32_t at = fuzz_u32(r->in) % r->len;

		raw[at] ^= fuzz_u8(r->in);
	}
	if (fuzz_u8(r->in) & 1) { /* random octets follow */
		while (r->in->left > 64 && r->len < STREAM_MAX)
			raw[r->len++] = fuzz_u8(r->in);
	}
}

static void expect(struct run *r)
{
	uint32_t at = 0, phase = r->s.rx.marker_phase;

	while (r->n < FPDUS_MAX) {
		struct expected *e = &expected[r->n];

		model_parse(&model, raw + at, r->len - at, r->s.rx.markers, phase + at, false);
		if (model.status == MODEL_MORE)
			return;
		if (model.status == MODEL_BAD_LENGTH) {
			r->error = -XIW_MPA_ERR_MARKER;
			return;
		}
		if (!model.markers_right) {
			r->error = r->s.rx.crc && !model.crc_right ? -XIW_MPA_ERR_CRC
								   : -XIW_MPA_ERR_MARKER;
			return;
		}
		*e = (struct expected){ at, at + model.wire_len, model.ulpdu_len,
					xiw_crc32c(0, model.ulpdu, model.ulpdu_len),
					model.crc_right };
		at = e->end;
		r->n++;
	}
	r->len = at; /* no more than fit into the table */
}

static int take(void *ctx, const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n)
{
	static uint8_t ulpdu[65536];
	const struct expected *e;
	struct run *r = ctx;
	const uint32_t begin = r->end;
	bool right;

	CHECK(r->seen < r->n, "more FPDUs than there are");
	CHECK(!r->paused && !r->failed, "continues after it was told to stop");
	e = &expected[r->seen++];
	CHECK(f->ulpdu_len == e->ulpdu_len && f->wire_len == e->end - e->start);
	right = xiw_mpa_place_verify(f, v, n, 0, ulpdu);
	CHECK(right == e->crc_right);
	CHECK(xiw_crc32c(0, ulpdu, f->ulpdu_len) == e->sum);
	r->end = e->end;
	REACHES(right && r->s.rx.markers, "a right FPDU with Markers");
	REACHES(!right && r->s.rx.crc, "an FPDU whose CRC is wrong");
	if (r->s.rx.crc && !right) {
		r->failed = true;
		r->error = -XIW_MPA_ERR_CRC;
		r->n = r->seen;
		return -XIW_MPA_ERR_CRC;
	}
	switch (fuzz_u8(r->in)) {
	case 1:
		r->paused = XIW_MPA_LATER + 1 + fuzz_u8(r->in);
		return r->paused;
	case 3: /* it is presented again */
		REACHES(true, "an FPDU that is presented again");
		r->seen--;
		r->end = begin;
		r->paused = XIW_MPA_LATER;
		return XIW_MPA_LATER;
	case 2:
		r->failed = true;
		r->error = -1000;
		r->n = r->seen;
		return -1000;
	default:
		return 0;
	}
}

/* Feeds one piece in a heap block of its own, which is freed afterwards. */
static void feed(struct run *r, uint32_t len)
{
	uint8_t *piece = fuzz_dup(raw + r->fed, len);
	int ret;

	r->paused = 0;
	ret = xiw_mpa_stream_feed(&r->s, piece, len, take, r);
	memset(piece, 0xdd, len);
	free(piece);
	if (ret < 0) {
		CHECK(ret == r->error && r->seen == r->n, "%d, not %d", ret, r->error);
		r->failed = true;
		return;
	}
	CHECK(!r->failed && ret == r->paused);
	if (ret == XIW_MPA_LATER)
		CHECK(r->fed + r->s.used == (r->end > r->fed ? r->end : r->fed),
		      "paused, but not at the beginning of the FPDU, or of the piece");
	else if (ret)
		CHECK(r->fed + r->s.used == r->end, "paused, but not at the end of the FPDU");
	else
		CHECK(r->s.used == len);
	r->fed += r->s.used;
	CHECK(xiw_mpa_stream_pending(&r->s) == r->fed - r->end);
	CHECK(r->s.room <= XIW_MPA_FPDU_MAX);
	/* All whole FPDUs were presented. */
	CHECK(ret || r->seen == r->n || r->fed < expected[r->seen].end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct run r = { .in = &in };
	uint8_t how = fuzz_u8(&in);
	struct xiw_mpa_rx rx = { .marker_phase = fuzz_below(&in, 128) * 4,
				 .markers = how & 1,
				 .crc = how & 2 };

	xiw_mpa_stream_init(&r.s, &rx);
	make_stream(&r);
	expect(&r);
	while (!r.failed && r.fed < r.len) {
		uint32_t left = r.len - r.fed, len = fuzz_u8(&in);

		if (len == 255)
			len = fuzz_u16(&in);
		else if (!len)
			len = in.left ? 0 : left;
		feed(&r, len < left ? len : left);
	}
	if (!r.failed) {
		CHECK(r.seen == r.n && !r.error);
		REACHES(r.n > 2, "some FPDUs and no error");
	} else {
		/* Nothing follows an error (section 8). */
		CHECK(xiw_mpa_stream_feed(&r.s, raw, 100, take, &r) == r.error);
	}
	xiw_mpa_stream_free(&r.s);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One FPDU in pieces, anywhere in the stream: the library must read it as the model does. */
#include "mpa/fpdu.h"
#include "tests/fuzz/mpa_model.h"

#define PIECES 5

static struct model_fpdu model;

static void compare_ulpdu(struct fuzz_in *in, const struct xiw_fpdu *f, const struct xiw_vec *v,
			  unsigned int n)
{
	uint32_t from = fuzz_below(in, 65536) % (f->ulpdu_len + 2u);
	uint32_t len = fuzz_below(in, 65536) % (f->ulpdu_len + 2u);
	bool inside = from <= f->ulpdu_len && len <= f->ulpdu_len - from;
	uint32_t rest = from <= f->ulpdu_len ? f->ulpdu_len - from : 0;
	uint8_t *out = malloc(inside && len ? len : 1), *all = malloc(rest ? rest : 1);
	const uint8_t *flat = xiw_mpa_ulpdu_flat(f, len);

	CHECK(out && all);
	out[0] = all[0] = 0x77;
	CHECK(xiw_mpa_peek(f, v, n, out, from, len) == inside);
	if (inside && len)
		CHECK(!memcmp(out, model.ulpdu + from, len));
	else
		CHECK(out[0] == 0x77, "refused, yet written");
	if (flat)
		CHECK(len <= f->ulpdu_len && !memcmp(flat, model.ulpdu, len));

	CHECK(xiw_mpa_verify(f, v, n) == model.crc_right);
	CHECK(xiw_mpa_place(f, v, n, from, all) == (from <= f->ulpdu_len));
	CHECK(!rest || !memcmp(all, model.ulpdu + from, rest));
	memset(all, 0, rest ? rest : 1);
	CHECK(xiw_mpa_place_verify(f, v, n, from, all) ==
	      (from <= f->ulpdu_len && model.crc_right));
	CHECK(!rest || !memcmp(all, model.ulpdu + from, rest));
	free(out);
	free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t how = fuzz_u8(&in);
	uint32_t off = fuzz_below(&in, 64), cuts[PIECES - 1], len, at = 0;
	struct xiw_mpa_rx rx = { .marker_phase = fuzz_below(&in, 128) * 4, .markers = how & 1 };
	struct xiw_vec v[PIECES];
	enum xiw_mpa_status st;
	struct xiw_fpdu f = {};
	struct fuzz_in range;
	uint8_t *raw, hit;

	for (int i = 0; i < PIECES - 1; i++)
		cuts[i] = fuzz_u16(&in);
	range = in;
	fuzz_u32(&in);
	hit = fuzz_u8(&in);
	len = off + (uint32_t)in.left;
	if (how & 2) /* a long one from a short input */
		len += 4096;
	raw = calloc(1, len ? len : 1);
	CHECK(raw);
	for (uint32_t i = off; i < len; i++)
		raw[i] = i - off < in.left ? in.p[i - off] : fuzz_pattern(i);
	model_parse(&model, raw + off, len - off, rx.markers, rx.marker_phase, how & 4);
	if (how & 8 && model.status == MODEL_WHOLE) {
		/* One wrong octet anywhere. */
		raw[off + (hit * 257u) % model.wire_len] ^= 1 << (hit & 7);
		model_parse(&model, raw + off, len - off, rx.markers, rx.marker_phase, false);
	}
	for (int i = 0; i < PIECES; i++) {
		uint32_t run = i < PIECES - 1 ? cuts[i] % (len - at + 1) : len - at;

		v[i] = (struct xiw_vec){ fuzz_dup(raw + at, run), run };
		at += run;
	}

	st = xiw_mpa_parse(&rx, v, PIECES, off, &f);
	switch (model.status) {
	case MODEL_BAD_LENGTH:
		CHECK(st == XIW_MPA_BAD_LENGTH);
		break;
	case MODEL_MORE:
		CHECK(st == XIW_MPA_MORE && f.wire_len == model.wire_len, "%u, not %u", f.wire_len,
		      model.wire_len);
		break;
	case MODEL_WHOLE:
		CHECK(st == (model.markers_right ? XIW_MPA_OK : XIW_MPA_BAD_MARKER));
		CHECK(f.start == off && f.wire_len == model.wire_len);
		CHECK(f.ulpdu_len == model.ulpdu_len);
		compare_ulpdu(&range, &f, v, PIECES);
		break;
	}
	for (int i = 0; i < PIECES; i++)
		free((void *)v[i].base);
	free(raw);
	return 0;
}

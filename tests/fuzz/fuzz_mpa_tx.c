// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* FPDUs built one after the other, which the model reads back; and the largest that fit. */
#include "mpa/tx.h"
#include "tests/fuzz/mpa_model.h"
#include "tests/mpa_sizes.h"

static struct model_fpdu model;

/* RFC 5044 section 4.5: a MULPDU fills the EMSS and does not exceed it, within the limits of section 3. */
static void check_fit(const struct xiw_mpa_tx *tx, uint32_t room)
{
	uint32_t fit = xiw_mpa_ulpdu_fit(room, tx->markers, tx->phase);
	uint32_t mulpdu = xiw_mpa_mulpdu(room, tx->markers, tx->phase);
	uint32_t any = mpa_mulpdu_any(room, tx->markers);

	CHECK(fit <= 64768 && mulpdu >= 128 && mulpdu <= 64768 && any >= 128 && any <= 64768);
	if (fit)
		CHECK(mpa_fpdu_size(tx, fit) <= room);
	if (fit < 64768)
		CHECK(mpa_fpdu_size(tx, fit + 1) > room, "%u fits in %u", fit + 1, room);
	CHECK(mulpdu == (fit < 128 ? 128 : fit));
	CHECK(any <= mulpdu, "%u at any phase, but %u at this one", any, mulpdu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t how = fuzz_u8(&in);
	struct xiw_mpa_tx tx = { .phase = fuzz_below(&in, 128) * 4,
				 .markers = how & 1,
				 .crc = how & 2 };

	for (int i = 0; i < 8 && in.left; i++) {
		uint16_t want = fuzz_u16(&in);
		uint32_t hdr_len = fuzz_below(&in, 40), len = want, phase = tx.phase, before;
		uint8_t *hdr, *payload, *out;
		struct xiw_vec pieces[2];
		struct xiw_vec_cur at;

		if (len < 0x8000)
			len &= 0x7ff;
		else if (len < 0xc000)
			len = 64768 - hdr_len + len % 4 - 2;
		check_fit(&tx, fuzz_u16(&in));
		before = mpa_fpdu_size(&tx, hdr_len + len);
		CHECK(!before == (hdr_len + len > 64768));
		hdr = fuzz_take(&in, hdr_len);
		payload = malloc(len ? len : 1);
		out = malloc(before ? before : 1);
		CHECK(payload && out);
		for (uint32_t k = 0; k < len; k++)
			payload[k] = fuzz_pattern(k);
		pieces[0] = (struct xiw_vec){ payload, len ? want % len : 0 };
		pieces[1] = (struct xiw_vec){ payload + pieces[0].len, len - pieces[0].len };
		at = xiw_vec_at(pieces, 2, 0);
		CHECK(xiw_mpa_build_vec(&tx, out, hdr, hdr_len, &at, len) == before);
		CHECK(tx.phase == (phase + before) % 512 && tx.phase % 4 == 0);
		if (before) {
			model_parse(&model, out, before, tx.markers, phase, false);
			CHECK(model.status == MODEL_WHOLE && model.wire_len == before);
			CHECK(model.markers_right && model.ulpdu_len == hdr_len + len);
			CHECK(!tx.crc || model.crc_right);
			CHECK(!memcmp(model.ulpdu, hdr, hdr_len));
			CHECK(!memcmp(model.ulpdu + hdr_len, payload, len));
		}
		free(out);
		free(payload);
		free(hdr);
	}
	return 0;
}

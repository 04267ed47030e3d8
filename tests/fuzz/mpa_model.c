// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/fuzz/mpa_model.h"

#include "crc32c/crc32c.h"

bool model_marker_due(bool markers, uint32_t pos)
{
	return markers && pos % 512 == 0;
}

void model_parse(struct model_fpdu *f, uint8_t *raw, uint32_t len, bool markers, uint32_t phase,
		 bool repair)
{
	uint32_t at = 0, data = 0, total = 6, length_at = 0, crc;

	f->status = MODEL_MORE;
	f->wire_len = 0;
	f->markers_right = true;
	while (data < total) {
		if (model_marker_due(markers, phase + at)) {
			uint32_t back = data ? at - length_at : 0;

			if (at + 4 <= len && repair) {
				raw[at + 2] = (uint8_t)(back >> 8);
				raw[at + 3] = (uint8_t)((back & 0xff) | (raw[at + 3] & 3));
			}
			if (at + 4 <= len)
				f->markers_right &= (raw[at + 2] << 8 | (raw[at + 3] & 0xfc)) ==
						    (int)back;
			at += 4;
		}
		if (!data)
			length_at = at;
		if (data == 1) {
			if (at >= len)
				return;
			f->ulpdu_len = (uint32_t)raw[at - 1] << 8 | raw[at];
			if (f->ulpdu_len > 64768) {
				f->status = MODEL_BAD_LENGTH;
				return;
			}
			total = 2 + f->ulpdu_len;
			while (total % 4)
				total++;
			total += 4;
		}
		if (at < len && data >= 2 && data - 2 < f->ulpdu_len)
			f->ulpdu[data - 2] = raw[at];
		data++;
		at++;
	}
	f->wire_len = at;
	if (at > len)
		return;
	f->status = MODEL_WHOLE;
	crc = xiw_crc32c(0, raw, at - 4);
	for (int i = 0; i < 4 && repair; i++)
		raw[at - 4 + i] = (uint8_t)(crc >> 8 * i);
	f->crc_right = raw[at - 4] == (uint8_t)crc && raw[at - 3] == (uint8_t)(crc >> 8) &&
		       raw[at - 2] == (uint8_t)(crc >> 16) && raw[at - 1] == (uint8_t)(crc >> 24);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "mpa/tx.h"

#include <stddef.h>
#include <string.h>

#include "crc32c/crc32c.h"

struct writer {
	uint8_t *out;
	const uint8_t *length_at; /* ULPDU_Length; NULL in front of it */
	uint32_t run;		  /* octets up to the next Marker */
	uint32_t crc;
	bool want_crc;
};

static void put_octets(struct writer *w, const void *src, uint32_t len)
{
	if (w->want_crc)
		w->crc = xiw_crc32c_copy(w->crc, w->out, src, len);
	else
		memcpy(w->out, src, len);
	w->out += len;
	w->run -= len;
}

/* FPDUPTR has room for it: an FPDU with the largest ULPDU is shorter than 2^16 octets. */
static void put_marker(struct writer *w)
{
	ptrdiff_t back = w->length_at ? w->out - w->length_at : 0;
	uint8_t marker[XIW_MPA_MARKER_SIZE] = { 0 };

	xiw_put_be16(marker + XIW_MPA_FPDUPTR_OFF, (uint16_t)back);
	w->run = XIW_MPA_MARKER_INTERVAL;
	put_octets(w, marker, sizeof(marker));
}

static void put(struct writer *w, const void *src, uint32_t len)
{
	const uint8_t *p = src;

	while (len) {
		uint32_t run;

		if (!w->run)
			put_marker(w);
		run = len < w->run ? len : w->run;
		put_octets(w, p, run);
		p += run;
		len -= run;
	}
}

/* Puts the next octets of a payload, from as many pieces as it takes. */
static void put_pieces(struct writer *w, struct xiw_vec_cur *at, uint32_t len)
{
	const uint8_t *p;
	size_t run;

	while (len && (run = xiw_vec_run(at, len, &p))) {
		put(w, p, (uint32_t)run);
		len -= (uint32_t)run;
	}
}

static uint32_t lead_of(bool markers, uint32_t phase)
{
	return markers ? xiw_mpa_lead(phase) : XIW_MPA_NO_MARKER;
}

uint32_t xiw_mpa_build(struct xiw_mpa_tx *tx, uint8_t *out, const void *hdr, uint32_t hdr_len,
		       const void *payload, uint32_t payload_len)
{
	const struct xiw_vec whole = { payload, payload_len };
	struct xiw_vec_cur at = xiw_vec_at(&whole, 1, 0);

	return xiw_mpa_build_vec(tx, out, hdr, hdr_len, &at, payload_len);
}

uint32_t xiw_mpa_build_vec(struct xiw_mpa_tx *tx, uint8_t *out, const void *hdr, uint32_t hdr_len,
			   struct xiw_vec_cur *payload, uint32_t payload_len)
{
	struct writer w = {
		.out = out,
		.run = lead_of(tx->markers, tx->phase),
		.want_crc = tx->crc,
	};
	uint8_t length[XIW_MPA_LEN_SIZE];
	static const uint8_t zeros[4];
	uint32_t size;

	if (hdr_len > XIW_MPA_ULPDU_MAX || payload_len > XIW_MPA_ULPDU_MAX - hdr_len)
		return 0;

	/* 4.3: a Marker here lies between two FPDUs. It belongs to this one, and its FPDUPTR is 0. */
	if (!w.run)
		put_marker(&w);
	w.length_at = w.out;
	xiw_put_be16(length, (uint16_t)(hdr_len + payload_len));
	put(&w, length, sizeof(length));
	put(&w, hdr, hdr_len);
	put_pieces(&w, payload, payload_len);
	put(&w, zeros, xiw_mpa_pad(hdr_len + payload_len));
	/* 4.4: a Marker between PAD and CRC is covered by this CRC. */
	if (!w.run)
		put_marker(&w);

	/* 4.1: without CRCs the field still exists, and may have any value; w.crc is then 0. */
	xiw_mpa_put_crc(w.out, w.crc);
	size = (uint32_t)(w.out + XIW_MPA_CRC_SIZE - out);
	tx->phase = (tx->phase + size) % XIW_MPA_MARKER_INTERVAL;
	return size;
}

static uint32_t limit_mulpdu(uint32_t mulpdu)
{
	if (mulpdu < XIW_MPA_MULPDU_MIN)
		return XIW_MPA_MULPDU_MIN;
	return mulpdu < XIW_MPA_ULPDU_MAX ? mulpdu : XIW_MPA_ULPDU_MAX;
}

uint32_t xiw_mpa_ulpdu_fit(uint32_t room, bool markers, uint32_t phase)
{
	uint32_t lead = lead_of(markers, phase);
	uint32_t data = room & ~3u;
	uint32_t fit;

	/* A Marker in the last 4 octets would belong to the next FPDU, so these octets stay unused. */
	if (data > lead)
		data -= XIW_MPA_MARKER_SIZE * (1 + (data - lead - 1) / XIW_MPA_MARKER_INTERVAL);
	fit = data > XIW_MPA_OVERHEAD ? data - XIW_MPA_OVERHEAD : 0;
	return fit < XIW_MPA_ULPDU_MAX ? fit : XIW_MPA_ULPDU_MAX;
}

uint32_t xiw_mpa_mulpdu(uint32_t emss, bool markers, uint32_t phase)
{
	return limit_mulpdu(xiw_mpa_ulpdu_fit(emss, markers, phase));
}

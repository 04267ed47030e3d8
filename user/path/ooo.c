// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Early placement (RFC 5044 section 6): a segment behind a gap may hold whole FPDUs, but only a marker inside
 * the segment proves where the first one starts. Without markers the segment is only kept.
 */
#include "path/ooo.h"

#include <errno.h>

#include "path/fpdu.h"
#include "path/packet.h"

/*
 * Returns the offset, in `len` octets at wire number `seq`, of the first FPDU whose start a marker proves;
 * `len` if there is none. A marker right in front of an FPDU is part of it, because the CRC covers it (section
 * 4.4).
 */
static uint32_t proven_start(const struct xiw_conn *c, uint32_t seq, const struct xiw_vec *v,
			     unsigned int n, uint32_t len)
{
	uint32_t at = (c->reg.marker_origin - seq) % XIW_MPA_MARKER_INTERVAL, back;
	uint8_t marker[XIW_MPA_MARKER_SIZE];

	for (; at + XIW_MPA_MARKER_SIZE <= len; at += XIW_MPA_MARKER_INTERVAL) {
		if (!xiw_vec_copy_out(v, n, at, marker, sizeof(marker)))
			break;
		back = xiw_get_be16(marker + XIW_MPA_FPDUPTR_OFF) & XIW_MPA_FPDUPTR_MASK;
		/* An FPDU that starts just behind a marker has that marker in front of it. */
		if ((back + XIW_MPA_MARKER_SIZE) % XIW_MPA_MARKER_INTERVAL == 0)
			back += XIW_MPA_MARKER_SIZE;
		if (back <= at)
			return at - back;
	}
	return len;
}

bool xiw_early_place(struct xiw_conn *c, struct xiw_kept *k)
{
	uint32_t seq = xiw_segment_seq(&k->packet, &k->meta), len = k->meta.payload_len, at;
	struct xiw_mpa_rx rx = { .markers = true, .crc = c->crc };
	struct xiw_vec v[XIW_XSK_FRAGS_MAX];
	unsigned int n;
	struct xiw_fpdu f;
	int placed;

	k->placed_from = k->placed_to = seq;
	k->generation = c->engine->regions.generation;
	/*
	 * Of several segments for one place only the one that is kept is judged in its turn, where a wrong STag ends
	 * the stream. No other one places anything: a peer could try STags by it. Nor does any behind one that was
	 * refused, whose turn the peer may never let come.
	 */
	if (!c->mpa.rx.markers || c->counts.early_refused ||
	    xiw_tcp_rx_keeps_any(&c->tcp, seq, len))
		return true;
	n = xiw_payload(&k->packet, &k->meta, 0, len, v);
	at = proven_start(c, seq, v, n, len);
	k->placed_from = k->placed_to = seq + at;
	rx.marker_phase = (seq + at - c->reg.marker_origin) % XIW_MPA_MARKER_INTERVAL;
	while (at < len && xiw_mpa_parse(&rx, v, n, at, &f) == XIW_MPA_OK) {
		placed = xiw_fpdu_early(c, &f, v, n);
		if (placed == -EBADMSG)
			return false;
		if (placed == -EACCES)
			c->counts.early_refused++;
		if (placed <= 0)
			break;
		at += f.wire_len;
		xiw_mpa_rx_advance(&rx, f.wire_len);
		k->placed_to = seq + at;
	}
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MPA send: builds FPDUs and says how large a ULPDU may be (RFC 5044 sections 4 and 5.1). */
#ifndef XIW_MPA_TX_H
#define XIW_MPA_TX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "mpa/wire.h"

struct xiw_mpa_tx {
	uint32_t phase; /* stream position of the next octet to send, mod 512, counted
				 * from the octet behind our startup frame; a multiple of 4 */
	bool markers;	/* the peer's frame had M set */
	bool crc;	/* either frame had C set */
};

/*
 * Writes into @out one FPDU whose ULPDU is @hdr followed by @payload, with PAD, CRC and Markers. Returns its length, or
 * 0, with nothing written, for a ULPDU above 64768.
 */
uint32_t xiw_mpa_build(struct xiw_mpa_tx *tx, uint8_t *out, const void *hdr, uint32_t hdr_len,
		       const void *payload, uint32_t payload_len);

/* The same with a payload in pieces, which have at least so many octets from there on; moves behind them. */
uint32_t xiw_mpa_build_vec(struct xiw_mpa_tx *tx, uint8_t *out, const void *hdr, uint32_t hdr_len,
			   struct xiw_vec_cur *payload, uint32_t payload_len);

/* The largest ULPDU whose FPDU at this phase is no longer than @room; 0: there is none. */
uint32_t xiw_mpa_ulpdu_fit(uint32_t room, bool markers, uint32_t phase);

/*
 * The MULPDU for an empty segment that starts at this phase: as many octets as fill it, limited to 128..64768 (section
 * 3). 4.5 allows a sender to adjust MULPDU so; the formulas there assume the worst phase. If the EMSS is so small that
 * 128 octets do not fit, the FPDU takes more than one segment.
 */
uint32_t xiw_mpa_mulpdu(uint32_t emss, bool markers, uint32_t phase);

#endif

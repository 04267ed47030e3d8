/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a sender's FPDUs are compared with: their raw length, and MULPDU by the formulas of RFC 5044. */
#ifndef XIW_TESTS_MPA_SIZES_H
#define XIW_TESTS_MPA_SIZES_H

#include "mpa/tx.h"
#include "mpa/wire.h"

/* With Markers, of the next FPDU if its ULPDU has this length. 0: above 64768. */
static inline uint32_t mpa_fpdu_size(const struct xiw_mpa_tx *tx, uint32_t ulpdu_len)
{
	if (ulpdu_len > XIW_MPA_ULPDU_MAX)
		return 0;
	return xiw_mpa_wire_len(tx->markers ? xiw_mpa_lead(tx->phase) : XIW_MPA_NO_MARKER,
				ulpdu_len);
}

/*
 * MULPDU by the formulas of section 4.5, which hold at any stream position, limited to 128..64768 (section 3). At an
 * EMSS so small that 128 does not fit, the FPDU takes more than one segment.
 */
static inline uint32_t mpa_mulpdu_any(uint32_t emss, bool markers)
{
	uint32_t overhead = XIW_MPA_OVERHEAD + emss % 4, mulpdu;

	if (markers)
		overhead += XIW_MPA_MARKER_SIZE *
			    (emss / XIW_MPA_MARKER_INTERVAL + !!(emss % XIW_MPA_MARKER_INTERVAL));
	mulpdu = emss > overhead ? emss - overhead : 0;
	if (mulpdu < XIW_MPA_MULPDU_MIN)
		return XIW_MPA_MULPDU_MIN;
	return mulpdu < XIW_MPA_ULPDU_MAX ? mulpdu : XIW_MPA_ULPDU_MAX;
}

#endif

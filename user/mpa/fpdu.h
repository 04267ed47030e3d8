/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA receive: finds FPDUs in a part of the stream that is in order, checks Markers and CRC, and copies ULPDU octets
 * out of the FPDUs (RFC 5044 sections 4 and 6).
 */
#ifndef XIW_MPA_FPDU_H
#define XIW_MPA_FPDU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/csum.h"
#include "base/vec.h"
#include "mpa/wire.h"

struct xiw_mpa_rx {
	uint32_t marker_phase; /* stream position of the next octet to parse, mod 512, counted
				 * from the octet behind the startup frame; a multiple of 4 */
	bool markers;
	bool crc; /* for the caller; parsing does not check the CRC */
};

struct xiw_fpdu {
	uint32_t start;	   /* raw offset of its first octet, a Marker if one is due there */
	uint32_t wire_len; /* raw length, with Markers, PAD and CRC */
	uint32_t phase;	   /* Marker phase of its first octet */
	uint32_t lead;	   /* raw offset of its first Marker, or XIW_MPA_NO_MARKER */
	uint16_t ulpdu_len;
	const uint8_t *flat; /* its first octet if all of it is in one piece, else NULL */
};

enum xiw_mpa_status {
	XIW_MPA_OK,
	XIW_MPA_MORE,
	XIW_MPA_BAD_MARKER, /* a Marker and ULPDU_Length disagree: error code 3 */
	XIW_MPA_BAD_LENGTH, /* ULPDU_Length has a value that no sender may use */
};

/*
 * Looks at the FPDU that starts at raw offset @off; rx->marker_phase is the phase there.
 *
 * OK: a whole FPDU lies there and each of its Markers agrees with its start.
 * MORE: not all of it is here yet. f->wire_len says how many octets from @off it takes, or is 0
 * if ULPDU_Length is not here; nothing else in @f is set.
 * BAD_MARKER: the FPDU is whole and described by @f, so that the caller can check the CRC
 * first: code 3 is for an FPDU whose CRC is valid (section 8).
 * BAD_LENGTH: the length is above 64768 (section 3). Framing is lost; @f is not set.
 */
enum xiw_mpa_status xiw_mpa_parse(const struct xiw_mpa_rx *rx, const struct xiw_vec *v,
				  unsigned int n, uint32_t off, struct xiw_fpdu *f);

static inline void xiw_mpa_rx_advance(struct xiw_mpa_rx *rx, uint32_t octets)
{
	rx->marker_phase = (rx->marker_phase + octets) % XIW_MPA_MARKER_INTERVAL;
}

/*
 * The functions below take an FPDU that xiw_mpa_parse() found in the same pieces. ULPDU offsets
 * leave Markers out. A range that is not within the ULPDU is refused: false, and nothing
 * written.
 */

/* Copies @len ULPDU octets from @ulpdu_off. */
bool xiw_mpa_peek(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n, void *dst,
		  uint32_t ulpdu_off, uint32_t len);

/* The address of the first @len octets of the ULPDU if they are sure to lie in one piece; else NULL. */
static inline const uint8_t *xiw_mpa_ulpdu_flat(const struct xiw_fpdu *f, uint32_t len)
{
	if (!f->flat || len > f->ulpdu_len || f->lead < XIW_MPA_LEN_SIZE + len)
		return NULL;
	return f->flat + XIW_MPA_LEN_SIZE;
}

/*
 * Copies the ULPDU from @ulpdu_off to its end, without checking the CRC. Whoever sees the last byte sees all bytes that
 * were placed before it: programs wait for a message by polling its last byte.
 */
bool xiw_mpa_place(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
		   uint32_t ulpdu_off, void *dst);
/* The same for @len bytes of it. */
bool xiw_mpa_place_part(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
			uint8_t *dst, uint32_t ulpdu_off, uint32_t len);

/* Is the CRC right? */
bool xiw_mpa_verify(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n);

/*
 * Copies and checks in one pass over the octets. If the CRC is wrong, false is returned although @dst has been written,
 * at the place that an unverified header named, so the caller must know that it may write there. RFC 5041 section 5.3
 * lets a segment be placed again when it arrives again. The bytes become visible in any order, so this is not for the
 * last FPDU of a message.
 */
bool xiw_mpa_place_verify(const struct xiw_fpdu *f, const struct xiw_vec *v, unsigned int n,
			  uint32_t ulpdu_off, void *dst);

/*
 * The same for an FPDU without Markers that lies in one piece of @wire_len octets, which are as many as an FPDU with
 * this ULPDU has; @ulpdu_off is within that. The octets behind @ulpdu_off are added to @sum, unless it is NULL.
 */
bool xiw_mpa_place_verify_flat(const uint8_t *fpdu, uint32_t wire_len, uint32_t ulpdu_len,
			       uint32_t ulpdu_off, void *dst, struct xiw_csum *sum);

/* The same for one in pieces, the first of which has the octets in front of @ulpdu_off. */
bool xiw_mpa_place_verify_pieces(const struct xiw_vec *v, unsigned int n, uint32_t ulpdu_len,
				 uint32_t ulpdu_off, uint8_t *dst, struct xiw_csum *sum);

#endif

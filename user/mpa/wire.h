/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MPA on the wire: RFC 5044 sections 4.1 (FPDU), 4.2 (Marker), 7.1.1 (Request/Reply
 * Frame), and RFC 6581 sections 6 and 9 (enhanced frames). Accessors take unaligned octets. The
 * error codes of section 8 are public: enum xiw_mpa_error.
 */
#ifndef XIW_MPA_WIRE_H
#define XIW_MPA_WIRE_H

#include <stdint.h>

#include <xiwarp/error.h>

#include "base/be.h"

/*
 * FPDU: ULPDU_Length (16 bits), ULPDU, PAD to a multiple of 4 octets, CRC. The CRC32c is sent as iSCSI sends its
 * digests: the final value, least significant octet first (RFC 5044 figure 5).
 */
#define XIW_MPA_LEN_SIZE 2u
#define XIW_MPA_CRC_SIZE 4u
#define XIW_MPA_PAD_MAX 3u
#define XIW_MPA_OVERHEAD (XIW_MPA_LEN_SIZE + XIW_MPA_CRC_SIZE)

/* Marker: 16 bits reserved, 16 bits FPDUPTR, at every 512th octet of the stream (4.3). */
#define XIW_MPA_MARKER_SIZE 4u
#define XIW_MPA_MARKER_INTERVAL 512u
#define XIW_MPA_MARKER_DATA (XIW_MPA_MARKER_INTERVAL - XIW_MPA_MARKER_SIZE)
#define XIW_MPA_FPDUPTR_OFF 2
#define XIW_MPA_FPDUPTR_MASK 0xfffcu /* 4.2: the low bits are zero for the receiver */

/* RFC 5044 section 3: the largest ULPDU, and the smallest MULPDU. */
#define XIW_MPA_ULPDU_MAX 64768u
#define XIW_MPA_MULPDU_MIN 128u

/* The largest FPDU: 64776 octets, and a Marker in front of each 508 of them. */
#define XIW_MPA_FPDU_MAX (64776u + 128u * XIW_MPA_MARKER_SIZE)

/* Request and Reply Frame. */
#define XIW_MPA_KEY_SIZE 16u
#define XIW_MPA_KEY_REQUEST "MPA ID Req Frame"
#define XIW_MPA_KEY_REPLY "MPA ID Rep Frame"
#define XIW_MPA_FLAGS_OFF 16
#define XIW_MPA_FLAG_M 0x80 /* Markers required in what the peer sends */
#define XIW_MPA_FLAG_C 0x40 /* CRCs wanted */
#define XIW_MPA_FLAG_R 0x20 /* Reply only: connection rejected */
#define XIW_MPA_FLAG_S 0x10 /* Rev 2: Private Data begins with the RFC 6581 data */
#define XIW_MPA_REV_OFF 17
#define XIW_MPA_PD_LENGTH_OFF 18
#define XIW_MPA_FRAME_HDR 20u
#define XIW_MPA_PD_MAX 512u
#define XIW_MPA_FRAME_MAX (XIW_MPA_FRAME_HDR + XIW_MPA_PD_MAX)

/* RFC 6581 section 9: A, B, 14 bits IRD, C, D, 14 bits ORD. */
#define XIW_MPA_ENHANCED_SIZE 4u
#define XIW_MPA_ENH_A 0x8000
#define XIW_MPA_ENH_B 0x4000
#define XIW_MPA_ENH_C 0x8000
#define XIW_MPA_ENH_D 0x4000
#define XIW_MPA_ENH_DEPTH_MASK 0x3fff

static inline uint32_t xiw_mpa_get_crc(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void xiw_mpa_put_crc(uint8_t *p, uint32_t crc)
{
	p[0] = (uint8_t)crc;
	p[1] = (uint8_t)(crc >> 8);
	p[2] = (uint8_t)(crc >> 16);
	p[3] = (uint8_t)(crc >> 24);
}

/* The number of octets of PAD behind a ULPDU of this length. */
static inline uint32_t xiw_mpa_pad(uint32_t ulpdu_len)
{
	return -(XIW_MPA_LEN_SIZE + ulpdu_len) & 3;
}

/* Length of an FPDU without Markers. */
static inline uint32_t xiw_mpa_data_len(uint32_t ulpdu_len)
{
	return ((XIW_MPA_LEN_SIZE + ulpdu_len + 3) & ~3u) + XIW_MPA_CRC_SIZE;
}

/*
 * Where Markers lie. *Raw* offsets count every octet from the FPDU's start in the stream, which
 * is a Marker if one is due there; *data* offsets count from ULPDU_Length and leave Markers
 * out. @lead is the raw offset of the first place for a Marker: 0 to 508. As Marker places and
 * FPDU lengths are multiples of 4, no field of 4 octets that starts at such a multiple is ever
 * cut by a Marker.
 */
#define XIW_MPA_NO_MARKER UINT32_MAX /* a lead that is never reached */

/* @phase: the stream position of the FPDU's start, counted from the first Marker, mod 512. */
static inline uint32_t xiw_mpa_lead(uint32_t phase)
{
	return -phase & (XIW_MPA_MARKER_INTERVAL - 1);
}

/* Markers in front of the octet at @data, one that directly precedes it included. */
static inline uint32_t xiw_mpa_markers(uint32_t lead, uint32_t data)
{
	return data < lead ? 0 : 1 + (data - lead) / XIW_MPA_MARKER_DATA;
}

static inline uint32_t xiw_mpa_raw(uint32_t lead, uint32_t data)
{
	return data + XIW_MPA_MARKER_SIZE * xiw_mpa_markers(lead, data);
}

/* Octets from @data up to the next Marker. */
static inline uint32_t xiw_mpa_run(uint32_t lead, uint32_t data)
{
	if (data < lead)
		return lead - data;
	return XIW_MPA_MARKER_DATA - (data - lead) % XIW_MPA_MARKER_DATA;
}

/* Raw length of an FPDU: a Marker that would follow its CRC is part of the next one. */
static inline uint32_t xiw_mpa_wire_len(uint32_t lead, uint32_t ulpdu_len)
{
	return xiw_mpa_raw(lead, xiw_mpa_data_len(ulpdu_len) - 1) + 1;
}

#endif

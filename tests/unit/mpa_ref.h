/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reference for the MPA tests: RFC 5044 octet by octet. It shares only the public types with the library.
 */
#ifndef XIW_TESTS_UNIT_MPA_REF_H
#define XIW_TESTS_UNIT_MPA_REF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "tests/net/lib/octets.h"

struct ref_stream {
	uint8_t *buf;
	uint32_t len;
	uint32_t phase; /* stream position of buf[0] */
	bool markers;
};

/* Appends an FPDU; returns its raw length. Without a CRC the field is 0. */
uint32_t ref_fpdu(struct ref_stream *s, const uint8_t *ulpdu, uint32_t len, bool crc);
uint32_t ref_random(uint64_t *state);
void ref_fill(uint64_t *state, uint8_t *p, uint32_t len);
/* Cuts @len octets into @n random pieces, some of them empty. */
void ref_cut(uint64_t *state, const uint8_t *p, uint32_t len, struct xiw_vec *v, unsigned int n);

/* RFC 5044 figure 5: the first FPDU of a stream, with Markers. */
extern const uint8_t ref_figure5[0x34];
/* Figure 6: at 0x1ec, with a Marker at 0x200. */
#define REF_FIGURE6_PHASE 0x1ec
extern const uint8_t ref_figure6[0x34];

/* The ULPDU of either figure: MSN 1 or 2. */
void ref_figure_ulpdu(uint8_t ulpdu[42], uint8_t msn);

#endif

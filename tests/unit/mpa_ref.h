/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reference for the MPA tests: RFC 5044 octet by octet. It shares only the public types with the library.
 */
#ifndef XIW_TESTS_MPA_REF_H
#define XIW_TESTS_MPA_REF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"

struct ref_stream {
	uint8_t *buf;
	uint32_t len;
	uint32_t phase; /* stream position of buf[0] */
	bool markers;
};

static inline uint32_t ref_crc32c(const uint8_t *p, uint32_t len)
{
	uint32_t crc = UINT32_MAX;

	while (len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static inline bool ref_marker_due(const struct ref_stream *s)
{
	return s->markers && (s->phase + s->len) % 512 == 0;
}

static inline void ref_raw(struct ref_stream *s, uint8_t octet)
{
	s->buf[s->len++] = octet;
}

static inline void ref_marker(struct ref_stream *s, uint32_t fpduptr)
{
	ref_raw(s, 0);
	ref_raw(s, 0);
	ref_raw(s, (uint8_t)(fpduptr >> 8));
	ref_raw(s, (uint8_t)fpduptr);
}

static inline void ref_data(struct ref_stream *s, uint32_t fpdu, uint8_t octet)
{
	if (ref_marker_due(s))
		ref_marker(s, s->len - fpdu);
	ref_raw(s, octet);
}

/* Appends an FPDU; returns its raw length. Without a CRC the field is 0. */
static inline uint32_t ref_fpdu(struct ref_stream *s, const uint8_t *ulpdu, uint32_t len, bool crc)
{
	uint32_t start = s->len, fpdu, value;

	if (ref_marker_due(s))
		ref_marker(s, 0);
	fpdu = s->len;
	ref_raw(s, (uint8_t)(len >> 8));
	ref_raw(s, (uint8_t)len);
	for (uint32_t i = 0; i < len; i++)
		ref_data(s, fpdu, ulpdu[i]);
	for (uint32_t i = len + 2; i % 4; i++)
		ref_data(s, fpdu, 0);
	if (ref_marker_due(s))
		ref_marker(s, s->len - fpdu);
	value = crc ? ref_crc32c(s->buf + start, s->len - start) : 0;
	for (int i = 0; i < 4; i++)
		ref_raw(s, (uint8_t)(value >> 8 * i));
	return s->len - start;
}

static inline uint32_t ref_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static inline void ref_fill(uint64_t *state, uint8_t *p, uint32_t len)
{
	while (len--)
		*p++ = (uint8_t)ref_random(state);
}

/* Cuts @len octets into @n random pieces, some of them empty. */
static inline void ref_cut(uint64_t *state, const uint8_t *p, uint32_t len, struct xiw_vec *v,
			   unsigned int n)
{
	for (; n > 1; n--, v++) {
		uint32_t cut = ref_random(state) % (len + 1);

		*v = (struct xiw_vec){ p, cut };
		p += cut;
		len -= cut;
	}
	*v = (struct xiw_vec){ p, len };
}

/* RFC 5044 figure 5: the first FPDU of a stream, with Markers. */
static const uint8_t ref_figure5[0x34] = {
	0x00, 0x00,	     0x00,	    0x00, 0x00, 0x2a, 0x41,
	0x43, [0x13] = 0x01, [0x30] = 0x52, 0x23, 0x99, 0x83,
};

/* Figure 6: at 0x1ec, with a Marker at 0x200. */
#define REF_FIGURE6_PHASE 0x1ec
static const uint8_t ref_figure6[0x34] = {
	0x00, 0x2a, 0x41, 0x43, [0x0f] = 0x02, [0x17] = 0x14, [0x30] = 0x84, 0x92, 0x58, 0x98,
};

/* The ULPDU of either figure: MSN 1 or 2. */
static inline void ref_figure_ulpdu(uint8_t ulpdu[42], uint8_t msn)
{
	memset(ulpdu, 0, 42);
	ulpdu[0] = 0x41;
	ulpdu[1] = 0x43;
	ulpdu[13] = msn;
}

#endif /* XIW_TESTS_MPA_REF_H */

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/mpa_ref.h"

#include "tests/net/lib/octets.h"

static bool ref_marker_due(const struct ref_stream *s)
{
	return s->markers && (s->phase + s->len) % 512 == 0;
}

static void ref_raw(struct ref_stream *s, uint8_t octet)
{
	s->buf[s->len++] = octet;
}

static void ref_marker(struct ref_stream *s, uint32_t fpduptr)
{
	ref_raw(s, 0);
	ref_raw(s, 0);
	ref_raw(s, (uint8_t)(fpduptr >> 8));
	ref_raw(s, (uint8_t)fpduptr);
}

static void ref_data(struct ref_stream *s, uint32_t fpdu, uint8_t octet)
{
	if (ref_marker_due(s))
		ref_marker(s, s->len - fpdu);
	ref_raw(s, octet);
}

uint32_t ref_fpdu(struct ref_stream *s, const uint8_t *ulpdu, uint32_t len, bool crc)
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
	value = crc ? crc32c(s->buf + start, s->len - start) : 0;
	for (int i = 0; i < 4; i++)
		ref_raw(s, (uint8_t)(value >> 8 * i));
	return s->len - start;
}

uint32_t ref_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

void ref_fill(uint64_t *state, uint8_t *p, uint32_t len)
{
	while (len--)
		*p++ = (uint8_t)ref_random(state);
}

void ref_cut(uint64_t *state, const uint8_t *p, uint32_t len, struct xiw_vec *v, unsigned int n)
{
	for (; n > 1; n--, v++) {
		uint32_t cut = ref_random(state) % (len + 1);

		*v = (struct xiw_vec){ p, cut };
		p += cut;
		len -= cut;
	}
	*v = (struct xiw_vec){ p, len };
}

const uint8_t ref_figure5[0x34] = {
	0x00, 0x00,	     0x00,	    0x00, 0x00, 0x2a, 0x41,
	0x43, [0x13] = 0x01, [0x30] = 0x52, 0x23, 0x99, 0x83,
};

const uint8_t ref_figure6[0x34] = {
	0x00, 0x2a, 0x41, 0x43, [0x0f] = 0x02, [0x17] = 0x14, [0x30] = 0x84, 0x92, 0x58, 0x98,
};

void ref_figure_ulpdu(uint8_t ulpdu[42], uint8_t msn)
{
	memset(ulpdu, 0, 42);
	ulpdu[0] = 0x41;
	ulpdu[1] = 0x43;
	ulpdu[13] = msn;
}

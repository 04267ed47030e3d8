// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/net/peer/sender.h"

#include "crc32c/crc32c.h"

bool markers;
unsigned int wrong;

uint8_t stream_octet(uint64_t at)
{
	return (uint8_t)((at * 2654435761u >> 13) ^ at);
}

/* ---- reading FPDUs --------------------------------------------------------------------------- */

uint32_t ulpdu_len(const struct reader *r)
{
	return get(r->data, 2);
}

/* The whole FPDU: CRC, and the DDP header (RFC 5041 section 4). */
static void check_fpdu(struct reader *r)
{
	uint32_t len = ulpdu_len(r), crc = xiw_crc32c(0, r->raw, r->raw_len - 4);
	const uint8_t *d = r->data + 2, *c = r->raw + r->raw_len - 4;

	if (crc != (c[0] | c[1] << 8 | c[2] << 16 | (uint32_t)c[3] << 24))
		broken("FPDU %llu: wrong CRC\n", (unsigned long long)r->fpdus);
	if (len < 14 || (d[0] & 0xbf) != 0x81 || get(d + 2, 4) != STAG || get(d + 6, 8) != r->to) {
		broken("FPDU %llu: not the tagged segment that is to come\n",
		       (unsigned long long)r->fpdus);
		return;
	}
	for (uint32_t i = 14; i < len; i++)
		if (d[i] != stream_octet(r->to + i - 14)) {
			broken("wrong content at %llu\n", (unsigned long long)r->to);
			break;
		}
	r->to += len - 14;
	r->messages += d[0] >> 6 & 1;
}

bool read_octet(struct reader *r, uint8_t octet)
{
	bool marker = markers && r->pos % 512 < 4;

	r->raw[r->raw_len++] = octet;
	r->pos++;
	if (marker) {
		if (r->pos % 512 == 4) {
			uint64_t back = r->data_len ? r->pos - 4 - r->length_at : 0;

			r->markers++;
			if (get(r->raw + r->raw_len - 4, 4) != back)
				broken("a wrong marker at %llu\n", (unsigned long long)r->pos - 4);
		}
		return false;
	}
	if (!r->data_len)
		r->length_at = r->pos - 1;
	r->data[r->data_len++] = octet;
	if (r->data_len < 6 || r->data_len < ((2 + ulpdu_len(r) + 3) & ~3u) + 4)
		return false;
	check_fpdu(r);
	r->fpdus++;
	return true;
}

void begin_fpdu(struct reader *r)
{
	r->raw_len = r->data_len = r->markers = 0;
}

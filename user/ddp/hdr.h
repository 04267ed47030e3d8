/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/hdr.h - a DDP header in host form, RFC 5041 section 4
 */
#ifndef XIW_DDP_HDR_H
#define XIW_DDP_HDR_H

#include <stdbool.h>
#include <stdint.h>

#include "ddp/wire.h"

struct xiw_ddp_hdr {
	bool tagged;
	bool last;
	uint8_t dv;
	uint8_t len;				       /* of the header on the wire, 14 or 18 */
	uint8_t rsvdulp[XIW_DDP_UNTAGGED_RSVDULP_LEN]; /* tagged: the first octet, others 0 */
	uint32_t stag;				       /* tagged, else 0 */
	uint64_t to;
	uint32_t qn; /* untagged, else 0 */
	uint32_t msn;
	uint32_t mo;
};

/*
 * Reads the header of a ULPDU of ulpdu_len octets, of which the first buf_len are at buf (18 are always enough). The
 * payload follows at h->len and has ulpdu_len - h->len octets. The version is stored and not checked: the error for a
 * wrong one depends on the T bit, and is up to xiw_ddp_rx_place(). Returns 0, or -EBADMSG if the header is cut short,
 * for which section 7.2 has no number.
 */
int xiw_ddp_hdr_decode(struct xiw_ddp_hdr *h, const uint8_t *buf, uint32_t buf_len,
		       uint32_t ulpdu_len);

/* Writes the header and returns its length; h->len is not read. Reserved bits are sent as 0. */
uint32_t xiw_ddp_hdr_encode(const struct xiw_ddp_hdr *h, uint8_t buf[XIW_DDP_HDR_MAX]);

#endif

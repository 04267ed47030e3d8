/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdmap/hdr.h"

#include <errno.h>
#include <string.h>

/* Figure 9 */
#define ETYPE_CATASTROPHIC 0
#define ETYPE_PROTECTION 1
#define ETYPE_OPERATION 2
#define ETYPE_MPA 0

/* siw_order() */
#define SIW_M 1
#define SIW_D 2
#define SIW_R 4

void xiw_rdmap_read_encode(const struct xiw_rdmap_read *r, uint8_t buf[XIW_RDMAP_READ_LEN])
{
	xiw_put_be32(buf + XIW_RDMAP_OFF_SINK_STAG, r->sink_stag);
	xiw_put_be64(buf + XIW_RDMAP_OFF_SINK_TO, r->sink_to);
	xiw_put_be32(buf + XIW_RDMAP_OFF_SIZE, r->size);
	xiw_put_be32(buf + XIW_RDMAP_OFF_SRC_STAG, r->src_stag);
	xiw_put_be64(buf + XIW_RDMAP_OFF_SRC_TO, r->src_to);
}

void xiw_rdmap_read_decode(struct xiw_rdmap_read *r, const uint8_t buf[XIW_RDMAP_READ_LEN])
{
	r->sink_stag = xiw_get_be32(buf + XIW_RDMAP_OFF_SINK_STAG);
	r->sink_to = xiw_get_be64(buf + XIW_RDMAP_OFF_SINK_TO);
	r->size = xiw_get_be32(buf + XIW_RDMAP_OFF_SIZE);
	r->src_stag = xiw_get_be32(buf + XIW_RDMAP_OFF_SRC_STAG);
	r->src_to = xiw_get_be64(buf + XIW_RDMAP_OFF_SRC_TO);
}

/* RFC 7306 Figure 4: what FetchAdd does not use is zero, and its compare mask is all ones. */
void xiw_rdmap_atomic_encode(const struct xiw_rdmap_atomic *a, uint8_t buf[XIW_RDMAP_ATOMIC_LEN])
{
	const bool compares = a->code == XIW_RDMAP_ATOMIC_CMP_SWAP;

	xiw_put_be32(buf + XIW_RDMAP_OFF_ATOMIC_CODE, a->code);
	xiw_put_be32(buf + XIW_RDMAP_OFF_ATOMIC_ID, a->id);
	xiw_put_be32(buf + XIW_RDMAP_OFF_ATOMIC_STAG, a->stag);
	xiw_put_be64(buf + XIW_RDMAP_OFF_ATOMIC_TO, a->to);
	xiw_put_be64(buf + XIW_RDMAP_OFF_ATOMIC_VALUE, a->operands.value);
	xiw_put_be64(buf + XIW_RDMAP_OFF_ATOMIC_MASK, a->operands.mask);
	xiw_put_be64(buf + XIW_RDMAP_OFF_ATOMIC_COMPARE, compares ? a->operands.compare : 0);
	xiw_put_be64(buf + XIW_RDMAP_OFF_ATOMIC_COMPARE_MASK,
		     compares ? a->operands.compare_mask : UINT64_MAX);
}

void xiw_rdmap_atomic_decode(struct xiw_rdmap_atomic *a, const uint8_t buf[XIW_RDMAP_ATOMIC_LEN])
{
	a->code = (uint8_t)(xiw_get_be32(buf + XIW_RDMAP_OFF_ATOMIC_CODE) &
			    XIW_RDMAP_ATOMIC_CODE_MASK);
	a->id = xiw_get_be32(buf + XIW_RDMAP_OFF_ATOMIC_ID);
	a->stag = xiw_get_be32(buf + XIW_RDMAP_OFF_ATOMIC_STAG);
	a->to = xiw_get_be64(buf + XIW_RDMAP_OFF_ATOMIC_TO);
	a->operands.value = xiw_get_be64(buf + XIW_RDMAP_OFF_ATOMIC_VALUE);
	a->operands.mask = xiw_get_be64(buf + XIW_RDMAP_OFF_ATOMIC_MASK);
	a->operands.compare = xiw_get_be64(buf + XIW_RDMAP_OFF_ATOMIC_COMPARE);
	a->operands.compare_mask = xiw_get_be64(buf + XIW_RDMAP_OFF_ATOMIC_COMPARE_MASK);
}

/* ---- Terminate ---------------------------------------------------------------------------- */

uint32_t xiw_rdmap_terminate_encode(struct xiw_rdma_terminate_info *t,
				    uint8_t buf[XIW_RDMAP_TERM_MAX])
{
	uint8_t *p = buf + XIW_RDMAP_TERM_CONTROL_LEN;

	buf[0] = (uint8_t)(t->layer << 4 | t->etype);
	buf[1] = t->code;
	buf[2] = (t->has_segment_len ? XIW_RDMAP_TERM_M : 0) |
		 (t->has_ddp_header ? XIW_RDMAP_TERM_D : 0) |
		 (t->has_read_request ? XIW_RDMAP_TERM_R : 0);
	buf[3] = 0;
	memcpy(t->control, buf, sizeof(t->control));
	/* The length MUST be present when the D bit is set. */
	if (t->has_segment_len || t->has_ddp_header) {
		xiw_put_be16(p, t->segment_len);
		p += XIW_RDMAP_TERM_SEGLEN_LEN;
	}
	if (t->has_ddp_header) {
		memcpy(p, t->ddp_header, t->ddp_header_len);
		p += t->ddp_header_len;
	}
	if (t->has_read_request) {
		memcpy(p, t->read_request, sizeof(t->read_request));
		p += sizeof(t->read_request);
	}
	return (uint32_t)(p - buf);
}

/* Is this an error of that layer, by Figure 9, RFC 5041 section 7.2, RFC 5044 section 8 and RFC 6581 section 8? */
static bool known(uint8_t layer, uint8_t etype, uint8_t code)
{
	switch (layer << 4 | etype) {
	case XIW_RDMA_LAYER_RDMAP << 4 | ETYPE_CATASTROPHIC:
	case XIW_RDMA_LAYER_DDP << 4 | ETYPE_CATASTROPHIC:
		return true;
	case XIW_RDMA_LAYER_RDMAP << 4 | ETYPE_PROTECTION:
		return code <= 4 || code == 9 || code == 0xff;
	case XIW_RDMA_LAYER_RDMAP << 4 | ETYPE_OPERATION:
		return (code >= 5 && code <= 9) || code == 0xff;
	case XIW_RDMA_LAYER_DDP << 4 | 1: /* tagged */
		return code <= 4;
	case XIW_RDMA_LAYER_DDP << 4 | 2: /* untagged */
		return code >= 1 && code <= 6;
	case XIW_RDMA_LAYER_LLP << 4 | ETYPE_MPA:
		return code >= 1 && code <= 7;
	}
	return false;
}

/* The length of a message with these headers; 0: unknown, because the DDP header is missing. */
static uint64_t announced(const uint8_t *buf, uint64_t len, bool m, bool d, bool r)
{
	uint64_t n = XIW_RDMAP_TERM_CONTROL_LEN + (m || d ? XIW_RDMAP_TERM_SEGLEN_LEN : 0u);

	if (d) {
		if (len <= n)
			return 0;
		n += buf[n] & XIW_DDP_CONTROL_TAGGED ? XIW_DDP_TAGGED_LEN : XIW_DDP_UNTAGGED_LEN;
	}
	return n + (r ? XIW_RDMAP_READ_LEN : 0u);
}

/* The same with the bits where siw has them. siw sets R for a Send as well, which has no Read Request. */
static bool siw_length(const uint8_t *buf, uint64_t len)
{
	const bool m = buf[2] & SIW_M, d = buf[2] & SIW_D, r = buf[2] & SIW_R;

	return len == announced(buf, len, m, d, r) || len == announced(buf, len, m, d, false);
}

/*
 * Linux's siw (drivers/infiniband/sw/siw/iwarp.h) declares the control field as bits of a little-endian word. So Layer
 * and EType have changed places in their octet, and M, D and R are the lowest bits of the third octet instead of the
 * highest. These bits are reserved, and a receiver ignores them (section 4.8). So does this one where its reading makes
 * sense, which means that the numbers are known and the message ends with what M, D and R announce. Only a message that
 * makes no sense by the RFC is read in siw's order, if that makes sense.
 */
static bool siw_order(const uint8_t *buf, uint64_t len)
{
	const uint8_t low = buf[0] & 0xf, high = buf[0] >> 4;

	if (buf[2] & (XIW_RDMAP_TERM_M | XIW_RDMAP_TERM_D | XIW_RDMAP_TERM_R))
		return false;
	if (known(high, low, buf[1]) && len == XIW_RDMAP_TERM_CONTROL_LEN)
		return false;
	return known(low, high, buf[1]) && siw_length(buf, len);
}

static void take_control(struct xiw_rdma_terminate_info *t, const uint8_t *buf, uint64_t len)
{
	const uint8_t low = buf[0] & 0xf, high = buf[0] >> 4;

	memcpy(t->control, buf, sizeof(t->control));
	t->present = true;
	t->reversed = siw_order(buf, len);
	t->layer = t->reversed ? low : high;
	t->etype = t->reversed ? high : low;
	t->code = buf[1];
	t->has_segment_len = buf[2] & (t->reversed ? SIW_M : XIW_RDMAP_TERM_M);
	t->has_ddp_header = buf[2] & (t->reversed ? SIW_D : XIW_RDMAP_TERM_D);
	t->has_read_request = buf[2] & (t->reversed ? SIW_R : XIW_RDMAP_TERM_R);
}

int xiw_rdmap_terminate_decode(struct xiw_rdma_terminate_info *t, const uint8_t *buf, uint64_t len)
{
	const uint8_t *p = buf + XIW_RDMAP_TERM_CONTROL_LEN, *end = buf + len;

	*t = (struct xiw_rdma_terminate_info){ .present = false };
	if (len < XIW_RDMAP_TERM_CONTROL_LEN)
		return -EBADMSG;
	take_control(t, buf, len);
	if (t->has_segment_len || t->has_ddp_header) {
		if (end - p < XIW_RDMAP_TERM_SEGLEN_LEN)
			goto cut;
		t->segment_len = xiw_get_be16(p);
		p += XIW_RDMAP_TERM_SEGLEN_LEN;
	}
	if (t->has_ddp_header) {
		if (end == p)
			goto cut_header;
		t->ddp_header_len = *p & XIW_DDP_CONTROL_TAGGED ? XIW_DDP_TAGGED_LEN
								: XIW_DDP_UNTAGGED_LEN;
		if (end - p < t->ddp_header_len)
			goto cut_header;
		memcpy(t->ddp_header, p, t->ddp_header_len);
		p += t->ddp_header_len;
	}
	if (t->has_read_request && end - p < XIW_RDMAP_READ_LEN)
		t->has_read_request = false;
	if (t->has_read_request)
		memcpy(t->read_request, p, sizeof(t->read_request));
	return 0;
cut:
	t->has_segment_len = false;
cut_header:
	t->has_ddp_header = t->has_read_request = false;
	t->ddp_header_len = 0;
	return 0;
}

void xiw_rdmap_terminate_mpa(struct xiw_rdma_terminate_info *t, enum xiw_mpa_error error)
{
	*t = (struct xiw_rdma_terminate_info){
		.present = true,
		.layer = XIW_RDMA_LAYER_LLP,
		.etype = ETYPE_MPA,
		.code = (uint8_t)error,
	};
}

void xiw_rdmap_terminate_ddp(struct xiw_rdma_terminate_info *t, enum xiw_ddp_error error)
{
	*t = (struct xiw_rdma_terminate_info){
		.present = true,
		.layer = XIW_RDMA_LAYER_DDP,
		.etype = (uint8_t)(error >> 8 & 0xf),
		.code = (uint8_t)error,
	};
}

void xiw_rdmap_terminate_own(struct xiw_rdma_terminate_info *t, enum xiw_rdmap_error error)
{
	*t = (struct xiw_rdma_terminate_info){
		.present = true,
		.layer = XIW_RDMA_LAYER_RDMAP,
		.etype = (uint8_t)(error >> 8 & 0xf),
		.code = (uint8_t)error,
	};
}

void xiw_rdmap_terminate_quote(struct xiw_rdma_terminate_info *t, const uint8_t *header,
			       uint32_t len, uint32_t segment_len)
{
	if (t->layer == XIW_RDMA_LAYER_LLP || t->etype == ETYPE_CATASTROPHIC ||
	    (len != XIW_DDP_TAGGED_LEN && len != XIW_DDP_UNTAGGED_LEN))
		return;
	t->has_segment_len = t->has_ddp_header = true;
	t->segment_len = (uint16_t)segment_len; /* MPA's ULPDU_Length has 16 bits */
	t->ddp_header_len = (uint8_t)len;
	memcpy(t->ddp_header, header, len);
}

void xiw_rdmap_terminate_quote_read(struct xiw_rdma_terminate_info *t,
				    const struct xiw_rdmap_read *r)
{
	if (t->layer != XIW_RDMA_LAYER_RDMAP || t->etype != ETYPE_PROTECTION || !t->has_ddp_header)
		return;
	t->has_read_request = true;
	xiw_rdmap_read_encode(r, t->read_request);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The classifier: does a segment's payload consist of whole FPDUs (RFC 5044 section 4)?
 *
 * It walks the payload in stream order and stops at the first error:
 *  - An FPDU is ULPDU_Length (2 octets), ULPDU, padding to a multiple of 4, and CRC (4 octets, which are present even
 *    if CRCs are off: section 4.1). ULPDU_Length counts neither padding, CRC nor markers.
 *  - If markers are in use, the 4 octets at every 512th octet from the marker origin are a marker. Inside an FPDU the
 *    marker's FPDUPTR is the distance back to the ULPDU_Length field, with earlier markers counted. Between two FPDUs
 *    FPDUPTR is 0 and the marker belongs to the second one (section 4.3). The two low bits of FPDUPTR are ignored
 *    (section 4.2).
 * FPDUs and markers begin at multiples of 4 from the marker origin. So a marker never splits a ULPDU_Length field, and
 * a segment that begins at another octet cannot begin with an FPDU.
 */
#ifndef XIW_BPF_CLASSIFY_H
#define XIW_BPF_CLASSIFY_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <xiwarp/abi.h>
#include "base.h"

#define XIW_MAX_WALK 512 /* FPDUs of one segment that are followed; one with more is not aligned */
#define XIW_MARKER_INTERVAL 512
#define XIW_MARKER_LEN 4
#define XIW_MARKER_PTR_MASK 0xfffc
#define XIW_FPDU_HDR_LEN 2
#define XIW_FPDU_CRC_LEN 4
/* A step ends at the end of an FPDU or at a marker. An IP packet has at most 128 markers. */
#define XIW_WALK_STEPS (XIW_MAX_WALK + 130)

#define XIW_NO_MARKERS 0x40000000

struct xiw_walk {
	__u32 pos;   /* next octet to look at, counted from the packet's first */
	__u32 end;   /* of the payload */
	__u32 start; /* ULPDU_Length field of the current FPDU */
	__u32 left;  /* octets of it that are still to come, without markers; 0: between FPDUs */
	__u32 to_marker; /* octets before the next marker; XIW_NO_MARKERS is beyond any packet */
	__u32 fpdus;
	__u32 aligned; /* set at the end */
};

struct xiw_walk_arg {
	struct xdp_md *ctx;
	struct xiw_walk *walk;
};

/* Read `len` (2 or 4) octets at `pos`: directly in the linear part of the packet, by a helper beyond it. */
static __always_inline bool xiw_walk_read(struct xdp_md *ctx, __u32 pos, void *to, __u32 len)
{
	void *data = (void *)(long)ctx->data;
	void *data_end = (void *)(long)ctx->data_end;

	xiw_opaque(pos); /* whose bound is for the verifier, too */
	/* The verifier accepts packet offsets up to 0xffff only. */
	if (pos < 0xff00 && data + pos + len <= data_end) {
		__builtin_memcpy(to, data + pos, len);
		return true;
	}
	return !bpf_xdp_load_bytes(ctx, pos, to, len);
}

/* The octets of an FPDU with this ULPDU_Length, without markers. */
static __always_inline __u32 xiw_fpdu_len(__be16 ulpdu)
{
	return ((XIW_FPDU_HDR_LEN + bpf_ntohs(ulpdu) + 3) & ~3u) + XIW_FPDU_CRC_LEN;
}

static long xiw_walk_step(__u32 i, void *p)
{
	struct xiw_walk_arg *arg = p;
	struct xiw_walk *w = arg->walk;
	__u32 pos = w->pos, left = w->left, to_marker = w->to_marker, n;

	(void)i;
	if (!left && w->fpdus == XIW_MAX_WALK)
		return 1;
	if (!to_marker) {
		__be16 marker[2];
		__u32 back = left ? pos - w->start : 0;

		if (w->end - pos < XIW_MARKER_LEN || !xiw_walk_read(arg->ctx, pos, marker, 4))
			return 1;
		if ((bpf_ntohs(marker[1]) & XIW_MARKER_PTR_MASK) != back)
			return 1;
		pos += XIW_MARKER_LEN;
		to_marker = XIW_MARKER_INTERVAL - XIW_MARKER_LEN;
	}
	if (!left) {
		__be16 len;

		if (w->end - pos < XIW_FPDU_HDR_LEN || !xiw_walk_read(arg->ctx, pos, &len, 2))
			return 1;
		w->start = pos;
		left = xiw_fpdu_len(len);
	}
	n = left < to_marker ? left : to_marker;
	if (n > w->end - pos)
		return 1;
	pos += n;
	left -= n;
	w->pos = pos;
	w->left = left;
	w->to_marker = to_marker - n;
	if (left)
		return 0;
	w->fpdus++;
	w->aligned = pos == w->end;
	return w->aligned;
}

/*
 * Walk until it is known whether the payload is aligned.
 *
 * This is a global function for the verifier's sake. It checks a global function once, not once per path to the call,
 * and it assumes nothing about the values in *w. If it knew them, it would follow the walk step by step, up to its
 * limit of a million instructions (seen on Linux 6.18).
 */
__noinline int xiw_walk_payload(struct xdp_md *ctx, struct xiw_walk *w)
{
	struct xiw_walk_arg arg = { .ctx = ctx, .walk = w };

	if (!w)
		return -1;
	bpf_loop(XIW_WALK_STEPS, xiw_walk_step, &arg, 0);
	return 0;
}

/* Is the payload one FPDU and nothing else, if there are no markers? The walk would say the same, and takes longer. */
static __always_inline bool xiw_one_fpdu(struct xdp_md *ctx, __u32 off, __u32 len)
{
	__be16 ulpdu;

	return len >= XIW_FPDU_HDR_LEN && xiw_walk_read(ctx, off, &ulpdu, XIW_FPDU_HDR_LEN) &&
	       len == xiw_fpdu_len(ulpdu);
}

/*
 * Are `len` octets of payload at offset `off`, which begin at wire sequence number `seq` of `flow`, whole FPDUs and
 * nothing else, with markers that are right?
 */
static __always_inline bool xiw_aligned(struct xdp_md *ctx, const struct xiw_flow *flow, __u32 seq,
					__u32 off, __u32 len)
{
	struct xiw_walk w;

	if (!(flow->flags & XIW_FLOW_MARKERS) && xiw_one_fpdu(ctx, off, len))
		return true;
	w = (struct xiw_walk){
		.pos = off,
		.end = off + len,
		.start = off,
		.to_marker = XIW_NO_MARKERS,
	};
	if (flow->flags & XIW_FLOW_MARKERS) {
		w.to_marker = (flow->marker_origin - seq) % XIW_MARKER_INTERVAL;
		if (w.to_marker & 3)
			return false;
	}
	xiw_walk_payload(ctx, &w);
	return w.aligned;
}

#endif /* XIW_BPF_CLASSIFY_H */

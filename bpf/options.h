/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP options (RFC 9293 section 3.1): where the timestamp and the SACK blocks are in a copy of the header.
 */
#ifndef XIW_BPF_OPTIONS_H
#define XIW_BPF_OPTIONS_H

#include <linux/bpf.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>
#include "base.h"

#define XIW_TCP_MAX_HDR 60
#define XIW_TCPOPT_EOL 0
#define XIW_TCPOPT_NOP 1
#define XIW_TCPOPT_SACK 5
#define XIW_TCPOPT_TIMESTAMP 8
#define XIW_TCPOLEN_TIMESTAMP 10

struct xiw_opts {
	__u8 hdr[XIW_TCP_MAX_HDR + 4] __attribute__((aligned(8))); /* copy of the TCP header */
	__u32 len;						   /* of the header */
	__u32 pos;						   /* of the next option */
	__u32 ts;   /* offset of the timestamp option, or 0 */
	__u32 sack; /* offset of the SACK option, or 0 */
	__u32 sack_len;
};

static long xiw_opts_step(__u32 i, void *arg)
{
	struct xiw_opts *o = arg;
	__u32 pos = o->pos, len;
	__u8 kind;

	(void)i;
	xiw_opaque(pos);
	if (pos >= XIW_TCP_MAX_HDR || pos >= o->len)
		return 1;
	kind = o->hdr[pos];
	if (kind == XIW_TCPOPT_EOL)
		return 1;
	if (kind == XIW_TCPOPT_NOP) {
		o->pos = pos + 1;
		return 0;
	}
	len = o->hdr[pos + 1];
	if (len < 2 || pos + len > o->len)
		return 1;
	if (kind == XIW_TCPOPT_TIMESTAMP && len == XIW_TCPOLEN_TIMESTAMP) {
		o->ts = pos;
	} else if (kind == XIW_TCPOPT_SACK) {
		o->sack = pos;
		o->sack_len = len;
	}
	o->pos = pos + len;
	return 0;
}

/*
 * Find the timestamp and SACK options. As in Linux, the last option of a kind counts, and the first malformed option
 * ends the list.
 */
static __always_inline void xiw_opts_walk(struct xiw_opts *o)
{
	o->pos = sizeof(struct tcphdr);
	bpf_loop(XIW_TCP_MAX_HDR - sizeof(struct tcphdr), xiw_opts_step, o, 0);
}

#endif /* XIW_BPF_OPTIONS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reference of what xiw_ingress must do with one packet, in plain C over the whole packet:
 * octet by octet where the program leaps, so that the two can be compared.
 */
#ifndef XIW_TESTS_BPF_REF_H
#define XIW_TESTS_BPF_REF_H

#include <stdbool.h>
#include <stdint.h>
#include <xiwarp/abi.h>

struct ref_flow {
	struct xiw_flow_key key;
	uint32_t index;
	struct xiw_flow *state; /* changed in place */
};

/* Where the reference left its rules. A generator must reach them all, or they are not tested. */
enum ref_exit {
	REF_OTHER,
	REF_FOREIGN, /* the frame is for another host */
	REF_TORN,    /* DIRECT, and K of another stretch */
	REF_MALFORMED,
	REF_FRAGMENT,
	REF_FRAGMENT_PASSED,
	REF_CONTROL,
	REF_CONTROL_AT_K,
	REF_CONTROL_BEYOND, /* DIRECT: out of all windows */
	REF_CONTROL_STOOD,  /* KERNEL, ARMED: another one has stood just beyond */
	REF_KERNEL,
	REF_KERNEL_BEYOND, /* out of all windows: the socket will not keep it */
	REF_ARMED_ELSEWHERE,
	REF_ARMED_FLAGS,
	REF_ARMED_BROKEN, /* not aligned */
	REF_ARMED_SHORT,  /* aligned, but too few in a row */
	REF_ARMED_NO_RING,
	REF_ARMED_ASTRAY, /* packets of the flow are not all seen here */
	REF_ARMED_CLAIMED,
	REF_WENT_DIRECT,
	REF_DIRECT,
	REF_WATCHDOG,
	REF_UNSEEN, /* what the stream waits for came again, and the engine has seen nothing */
	REF_NO_XSK,
	/* Where nothing fits in front of a packet. */
	REF_NO_HEADROOM,
	REF_ARMED_NO_HEADROOM,
	REF__COUNT,
};

struct ref_case {
	/* in */
	uint8_t *pkt; /* changed in place */
	uint32_t len;
	uint32_t linear; /* octets in the first buffer */
	struct ref_flow *flows;
	int nflows;
	bool xsk;		 /* an AF_XDP socket is on the queue */
	struct xiw_queue *queue; /* of the packet; NULL: no such queue. Changed in place */
	bool headroom;		 /* the driver leaves room in front of a packet */
	uint64_t now;
	uint64_t limit; /* of the watchdog */
	uint64_t stuck; /* of a stream that stands still */
	bool pulls; /* the kernel can bring headers into the first buffer, which changes `linear` */
	/* out */
	int action; /* enum xdp_action */
	uint32_t stat;
	enum ref_exit exit;
	bool has_meta;
	struct xiw_meta meta;
	struct ref_flow *flow; /* that the packet belongs to, or NULL */
	uint32_t l4_off;       /* of a known flow's segment */
	uint32_t ip_end;
};

void ref_ingress(struct ref_case *c);

/* RFC 5044 section 4: the verdict, and the whole FPDUs found in `len` octets at wire `seq`. */
enum xiw_verdict ref_classify(const uint8_t *payload, uint32_t len, uint32_t seq, bool markers,
			      uint32_t origin, uint32_t *fpdus);

#endif /* XIW_TESTS_BPF_REF_H */

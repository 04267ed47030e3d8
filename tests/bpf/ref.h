/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reference for what xiw_ingress must do with one packet, in plain C, to compare the program with. It reads the
 * payload octet by octet, where the program jumps from FPDU to FPDU.
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

/* The rule by which the reference decided. The generator must reach all of them, or they are not tested. */
enum ref_exit {
	REF_OTHER,
	REF_VLAN,	    /* the frame is of a VLAN */
	REF_FOREIGN,	    /* it is addressed to another host */
	REF_FOREIGN_PASSED, /* and its numbers are those of the kernel */
	REF_HIDDEN,	    /* more headers than are followed */
	REF_HIDDEN_PASSED,  /* and its numbers are those of the kernel */
	REF_HEADLESS,	    /* a first fragment without the TCP header */
	REF_TOO_MANY,	    /* headers, whosever the packet is */
	REF_TORN,	    /* DIRECT, but K belongs to another stretch */
	REF_MALFORMED,
	REF_FRAGMENT,
	REF_FRAGMENT_PASSED,
	REF_EXTENDED, /* IP options or extension headers, and it does not look like the peer's */
	REF_EXTENDED_PASSED,
	REF_CONTROL,
	REF_CONTROL_AT_K,
	REF_CONTROL_BEYOND, /* DIRECT: outside all windows */
	REF_CONTROL_STOOD,  /* KERNEL, ARMED: an earlier one was put just beyond */
	REF_CONTROL_EDGE, /* beyond the window that the socket has left, but not beyond the peer's */
	REF_KERNEL,
	REF_KERNEL_BEYOND, /* outside all windows: the socket will not keep it */
	REF_ARMED_ELSEWHERE,
	REF_ARMED_FLAGS,
	REF_ARMED_BROKEN, /* not aligned */
	REF_ARMED_SHORT,  /* aligned, but too few in a row */
	REF_ARMED_NO_RING,
	REF_ARMED_STEERED, /* the queue is another engine's */
	REF_ARMED_GAP,     /* the socket misses octets in front of it */
	REF_ARMED_ASTRAY,  /* not all packets of the flow pass here */
	REF_ARMED_LONG, /* longer than AF_XDP takes */
	REF_ARMED_CLAIMED,
	REF_WENT_DIRECT,
	REF_DIRECT,
	REF_WATCHDOG,
	REF_UNSEEN, /* a segment that the stream waits for came again, and the engine saw no frame */
	REF_NO_XSK,
	REF_LONG,
	REF_LONG_BEYOND, /* it does not look like the peer's */
	REF_STEERED,	 /* a segment of a stretch came on another engine's queue */
	REF_PAWS,	 /* older than the timestamps of the stretch before */
	/* The driver leaves no room in front of a packet. */
	REF_NO_HEADROOM,
	REF_ARMED_NO_HEADROOM,
	REF__COUNT,
};

/* What a segment's payload is. */
enum ref_verdict {
	REF_V_ALIGNED,	/* whole FPDUs and nothing else; all markers are right */
	REF_V_PARTIAL,	/* the last FPDU ends after the segment */
	REF_V_MARKER,	/* a marker does not point to its FPDU */
	REF_V_TOO_MANY, /* more FPDUs than are followed */
	REF_V_NONE,	/* nobody asked */
};

struct ref_case {
	/* in */
	uint8_t *pkt; /* changed in place */
	uint32_t len;
	uint32_t linear; /* octets in the first buffer */
	struct ref_flow *flows;
	int nflows;
	bool xsk;		 /* an AF_XDP socket is on the queue */
	struct xiw_queue *queue; /* of the packet, changed in place; NULL: no such queue */
	uint32_t queue_index;
	bool headroom; /* the driver leaves room in front of a packet */
	uint64_t now;
	uint64_t limit; /* of the watchdog */
	uint64_t stuck; /* limit for a stream that does not move */
	bool pulls; /* the kernel can bring headers into the first buffer, which changes `linear` */
	/* out */
	int action; /* enum xdp_action */
	uint32_t stat;
	enum ref_exit exit;
	enum ref_verdict verdict; /* as passed in, if it does not matter */
	bool has_meta;
	struct xiw_meta meta;
	struct ref_flow *flow; /* of the packet, or NULL */
	uint32_t l4_off;       /* of a known flow's segment */
	uint32_t ip_end;
};

void ref_ingress(struct ref_case *c);

/* RFC 5044 section 4: the verdict on `len` octets at wire number `seq`. */
enum ref_verdict ref_classify(const uint8_t *payload, uint32_t len, uint32_t seq, bool markers,
			      uint32_t origin);

#endif /* XIW_TESTS_BPF_REF_H */

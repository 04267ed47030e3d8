/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/abi.h - what the BPF programs and user space share: map values, packet metadata, the owner word.
 *
 * All numbers are in host byte order unless a comment says "network order". "Wire" numbers are TCP
 * sequence numbers as the peer uses them; "kernel" numbers are what our kernel's socket uses for the same
 * octets: kernel = wire - skew (modulo 2^32).
 *
 * Who may write a field is said at its line or at the field; everybody may read everything. A line has one side
 * that writes it often. Where another one writes as well it does so seldom, or to a line that it reads anyway.
 */
#ifndef XIWARP_ABI_H
#define XIWARP_ABI_H

#include <linux/types.h>

#define XIW_ABI_VERSION 2
#define XIW_MAX_FLOWS 4096
#define XIW_MAX_QUEUES 64

/* ---- the owner word ------------------------------------------------------------------------------ */

/*
 * One 64-bit word says who owns a flow's incoming stream. It is changed by compare-and-swap only:
 *
 *   bits 63..32 value | bits 31..8 epoch, changes at every transition | bits 7..0 path
 *
 *   KERNEL  value = skew                       library -> ARMED
 *   ARMED   value = skew                       XDP -> DIRECT, or -> KERNEL; library -> KERNEL
 *   DIRECT  value = rcv_nxt (wire), committed  library: commit (same epoch, new value) or -> KERNEL;
 *                                              XDP -> KERNEL: watchdog, or no progress
 *
 * ARMED is the library's leave to go direct. XDP chooses the place, S: the end of everything the kernel
 * socket was ever given. There it notes K = S - skew, the socket's rcv_nxt once it has received all that.
 * The engine reads the socket empty, up to S, before it takes the first frame of the stretch, and gives
 * the stream back if S turns out not to lie between two FPDUs.
 */
enum xiw_path {
	XIW_PATH_NONE = 0, /* slot unused, or not yet published: segments pass untouched */
	XIW_PATH_KERNEL = 1,
	XIW_PATH_ARMED = 2,
	XIW_PATH_DIRECT = 3,
};

#define XIW_EPOCH_MASK 0xffffffu

static inline __u64 xiw_owner_pack(__u32 value, __u32 epoch, __u32 path)
{
	return (__u64)value << 32 | (epoch & XIW_EPOCH_MASK) << 8 | path;
}

static inline __u32 xiw_owner_value(__u64 owner)
{
	return owner >> 32;
}

static inline __u32 xiw_owner_epoch(__u64 owner)
{
	return owner >> 8 & XIW_EPOCH_MASK;
}

static inline __u32 xiw_owner_path(__u64 owner)
{
	return owner & 0xff;
}

/*
 * K, with the epoch of the DIRECT stretch that it is for: claimed by compare-and-swap before the owner
 * word is swapped, so that one stretch has one K even if two CPUs would begin it.
 */
static inline __u64 xiw_kernel_nxt_pack(__u32 k, __u32 epoch)
{
	return (__u64)k << 32 | (epoch & XIW_EPOCH_MASK);
}

/* Do the two words belong together? If not, a transition is under way: read again, or drop. */
static inline int xiw_kernel_nxt_valid(__u64 kernel_nxt, __u64 owner)
{
	return xiw_owner_path(owner) != XIW_PATH_DIRECT ||
	       (__u32)kernel_nxt == xiw_owner_epoch(owner);
}

/* The skew that holds under `owner`. */
static inline __u32 xiw_owner_skew(__u64 owner, __u64 kernel_nxt)
{
	__u32 value = xiw_owner_value(owner);

	return xiw_owner_path(owner) == XIW_PATH_DIRECT ? value - (__u32)(kernel_nxt >> 32) : value;
}

/* ---- flows --------------------------------------------------------------------------------------- */

/* Key of map xiw_flow_index; seen from the wire towards us. IPv4 addresses are ::ffff:a.b.c.d. */
struct xiw_flow_key {
	__be32 remote_addr[4]; /* network order */
	__be32 local_addr[4];  /* network order */
	__be16 remote_port;    /* network order */
	__be16 local_port;     /* network order */
};

enum xiw_flow_flags {
	XIW_FLOW_MARKERS = 1 << 0,    /* the peer's FPDUs carry markers (RFC 5044 4.3) */
	XIW_FLOW_CRC = 1 << 1,	      /* the peer's FPDUs carry a CRC32c */
	XIW_FLOW_TIMESTAMPS = 1 << 2, /* negotiated on the SYN (RFC 7323) */
	XIW_FLOW_SACK = 1 << 3,	      /* negotiated on the SYN (RFC 2018) */
	XIW_FLOW_ECN = 1 << 4,	      /* negotiated on the SYN (RFC 3168) */
	/*
	 * Another connection has begun under these addresses, of which the library knows nothing: by xiw_egress, and
	 * cleared where the slot is taken for it. Its numbers are translated; the windows that its predecessor
	 * promised, and in what unit, are not its own.
	 */
	XIW_FLOW_ANOTHER = 1 << 8,
};

/*
 * Whether our ACKs carry ECE (RFC 3168 section 6.1.3). CE and CWR come by either path, and the kernel's socket
 * knows of its own only: once one was seen, what is here replaces what the socket says.
 */
enum xiw_ece {
	XIW_ECE_UNKNOWN = 0, /* no CE and no CWR since the flow was registered */
	XIW_ECE_OFF = 1,
	XIW_ECE_ON = 2,
};

/* Why a flow left the direct path, why an attempt to enter it was called off, or why none is made any more. */
enum xiw_reason {
	XIW_WHY_NONE = 0,
	XIW_WHY_MISALIGNED, /* a segment does not begin or end with an FPDU */
	XIW_WHY_TOO_LARGE,  /* an FPDU larger than a segment */
	XIW_WHY_FIN,	    /* the peer closed its half */
	XIW_WHY_URGENT,	    /* urgent data */
	XIW_WHY_CLOSE,	    /* the application closes or asked for the kernel path */
	XIW_WHY_ERROR,	    /* the stream is in error: a Terminate or reset follows */
	XIW_WHY_WATCHDOG,   /* frames waited and the engine did not run */
	XIW_WHY_NO_XSK,	    /* no AF_XDP socket on the queue the segment came in by */
	XIW_WHY_RACE,	    /* another CPU gave the kernel octets beyond S meanwhile */
	XIW_WHY_BOUNDARY,   /* S does not lie between two FPDUs: aligned by chance only */
	XIW_WHY_FRAGMENT,   /* a segment in IP fragments, which the kernel has to put together */
	/* No progress: segments came to the direct path, and the stream did not go on. */
	XIW_WHY_UNSEEN,	 /* frames that XDP redirected do not reach the engine */
	XIW_WHY_REFUSED, /* the engine's TCP receiver refuses what the peer sends again and again */
	XIW_WHY_CHECKSUM,  /* TCP checksums are wrong, again and again */
	XIW_WHY_CRC,	   /* the CRC32c of one FPDU is wrong, again and again */
	XIW_WHY_EGRESS,	   /* the socket's packets do not pass xiw_egress */
	XIW_WHY_UNHEARD,   /* the peer does not hear the engine's acknowledgements */
	XIW_WHY_INJECT,	   /* what the engine injects does not reach the socket */
	XIW_WHY_HEADROOM,  /* the driver leaves no room in front of a packet */
	XIW_WHY_ELSEWHERE, /* segments come by another interface */
	XIW_WHY__COUNT,
};
#define XIW_WHY_MAX 32 /* a power of two */

/*
 * One flow: an entry of the mmap-able array map xiw_flows. Eight cache lines.
 */
struct xiw_flow {
	/* Line 0: read for every segment; written by the library, the first two words and ece by XDP as well. */
	__u64 owner;	     /* the hand-off word, compare-and-swap only */
	__u64 kernel_nxt;    /* K and the epoch of its stretch, compare-and-swap only */
	__u32 flags;	     /* enum xiw_flow_flags */
	__u32 marker_origin; /* wire seq of the first octet behind the peer's startup frame */
	__u32 rcv_wscale;    /* shift of the windows that we send */
	__u32 window;	     /* octets offered beyond rcv_nxt while DIRECT */
	__u32 ts_recent;     /* engine's TS.Recent while DIRECT; echoed by xiw_egress */
	__u32 direct_edge; /* highest right edge (wire) advertised but by the kernel; raised by xiw_egress too */
	__u32 run_needed; /* aligned segments in a row, the last included, before going direct */
	__u32 ece;	  /* enum xiw_ece: by the path that owns the stream, when it changes */
	__u8 mac[6]; /* of the interface; library. Frames to another one are not the flow's. 0: any are */
	__u16 reserved0a;
	__u32 barred; /* enum xiw_reason: the library arms no more; XIW_WHY_NONE: it may. By XDP as well */
	__u32 reserved0[1];

	/* Line 1: written by xiw_ingress; kernel_high is raised by the library too. */
	__u32 kernel_high; /* highest wire seq ever given to the kernel socket (end of data or FIN) */
	__u32 beyond; /* kernel seq of the last segment without data that stood beyond what was injected */
	__u32 run_end;	     /* end of the last aligned segment passed while ARMED */
	__u32 run_len;	     /* aligned segments in a row up to there */
	__u32 went_direct;   /* ARMED -> DIRECT */
	__u32 dropped;	     /* segments dropped by XDP for this flow: moved epoch, fragment */
	__u64 kernel_segs;   /* data segments passed */
	__u64 kernel_octets; /* their payload */
	__u64 direct_segs;   /* segments given to AF_XDP */
	__u64 direct_octets; /* their payload */
	__u64 control_segs;  /* segments without data passed, in any path */

	/* Line 2: written by xiw_egress, but for two fields that seldom change. */
	__u32 snd_nxt; /* highest wire seq sent by the kernel socket */
	/*
	 * Highest right edge (wire) that the kernel socket advertised, or was opened to by the library, which raises it
	 * then; xiw_ingress brings it up in long stretches.
	 */
	__u32 kernel_edge;
	__u64 egress_segs;	/* segments seen */
	__u64 egress_rewritten; /* of these, with ack, window, SACK or ECE changed */
	__u32 acked;		/* last acknowledgement (wire) of the kernel socket */
	__u32 resent;		/* segments with data that it had sent before */
	__u64 egress_floor;	/* library: no stretch begins before egress_segs is there */
	__u64 elsewhere_segs;	/* xiw_socket: acceptable segments that came by another interface */
	__u32 out_class; /* traffic class, without ECN, and flow label of the socket's packets, as in IPv6's header */
	__u32 out_hops; /* and their hop limit, or time to live; 0: not seen yet */
	__u32 lo_segs; /* xiw_socket: segments that came by lo, which are the engine's injections */
	__u32 reserved2[1];

	/* Line 3: written by the engine, once a turn. */
	__u64 placed_direct; /* stream octets placed from the direct path */
	__u64 placed_kernel; /* stream octets placed from the kernel's socket */
	__u64 fpdus;	     /* FPDUs accepted */
	__u64 crc_errors;
	__u64 injected;	    /* segments given to the kernel socket */
	__u64 acks_sent;    /* by AF_XDP */
	__u64 armed;	    /* KERNEL -> ARMED */
	__u64 segs_dropped; /* by the engine: damaged, refused by its TCP receiver, or too late */

	/* Lines 4 and 5: counts of the ends of the direct path, by enum xiw_reason. */
	__u32 why[XIW_WHY_MAX]; /* XDP and engine both add, atomically: rare events */

	/* Line 6: identity. Written once by the library before the flow is published. */
	struct xiw_flow_key key;
	__u32 pid; /* of the process that has the slot, in its own PID namespace; for people */
	__u32 claim_seq; /* how often the slot has been claimed */
	__u32 ifindex;
	__u32 engine; /* that has the slot, by its number; claimed by compare-and-swap from 0 */
	__u32 reserved6[3];

	/*
	 * Line 7: is the stream going on? Written by xiw_ingress, for each place that the stream stands at; but for
	 * `looked`, which the engine changes only if it does not go on.
	 */
	__u64 try_ns;	  /* a segment from try_nxt, or before it, was redirected first */
	__u32 try_nxt;	  /* the owner word's rcv_nxt then */
	__u32 try_looked; /* `looked` then */
	__u32 looked;	  /* changes when the engine has looked at frames, and committed nothing */
	__u32 reserved7[11];
};

/* ---- queues -------------------------------------------------------------------------------------- */

/* One RX queue of the interface: an entry of the mmap-able array map xiw_queues. For the watchdog. */
struct xiw_queue {
	/* Line 0: written by the engine that serves the queue. CLOCK_MONOTONIC nanoseconds. */
	__u64 beat_ns;	  /* it last looked at the ring */
	__u64 drained_ns; /* all frames from before this moment have been taken */
	__u64 too_long;	  /* packets of more frames than the engine takes: dropped */
	__u64 tx_full;	  /* ACKs that found no room on the ring, and were sent later */
	__u64 reserved0[4];

	/* Line 1: written by xiw_ingress. */
	__u64 last_ns; /* last frame put on the ring */
	__u64 wait_ns; /* oldest frame that may still be waiting */
	__u64 reserved1[6];
};

#define XIW_WATCHDOG_NS 200000000ull
/*
 * A segment that the stream waits for was redirected, and after so long its repetition finds the stream where it
 * was: shorter than the shortest retransmission time-out of common TCPs.
 */
#define XIW_STUCK_NS 150000000ull

/* ---- packet metadata ----------------------------------------------------------------------------- */

/* What the classifier found in a segment's payload, walking it from its first octet. */
enum xiw_verdict {
	XIW_V_ALIGNED = 0,  /* whole FPDUs and nothing else; markers, if any, in place and right */
	XIW_V_PARTIAL = 1,  /* the last FPDU ends behind the segment */
	XIW_V_MARKER = 2,   /* a marker that does not point to its FPDU */
	XIW_V_TOO_MANY = 3, /* more FPDUs than the walk follows */
	XIW_V_CONTROL = 4,  /* FIN or URG: the payload was not looked at */
};

#define XIW_MAX_WALK 512 /* FPDUs the classifier follows in one segment */

/* In front of each frame that goes to AF_XDP: its first octets, directly before the packet. */
struct xiw_meta {
	__u32 flow;	   /* index into xiw_flows */
	__u32 epoch;	   /* of the owner word under which the segment was taken */
	__u16 l3_off;	   /* of the IP header, from the packet's first octet */
	__u16 l4_off;	   /* of the TCP header */
	__u16 payload_off; /* of the TCP payload */
	__u16 payload_len; /* octets, by the IP header's length */
	__u16 fpdus;	   /* whole FPDUs found */
	__u8 verdict;	   /* enum xiw_verdict */
	__u8 version;	   /* XIW_ABI_VERSION */
};

/* ---- statistics ---------------------------------------------------------------------------------- */

/* Index into the per-CPU array map xiw_stats: every packet is counted once, at the exit. */
enum xiw_stat {
	XIW_STAT_OTHER,	       /* not TCP of a known flow: passed untouched */
	XIW_STAT_PASS_DATA,    /* data of a flow, passed with its seq translated */
	XIW_STAT_PASS_CONTROL, /* no data, SYN or RST of a flow, passed */
	XIW_STAT_DIRECT,       /* to AF_XDP */
	XIW_STAT_DROP_EPOCH,   /* ownership moved while the segment was looked at */
	XIW_STAT_DROP_FRAGMENT,
	XIW_STAT_DROP_MALFORMED, /* of a flow, but headers disagree with the packet's length */
	XIW_STAT_DROP_FOREIGN,	 /* of a flow, but the frame is for another host */
	XIW_STAT_WATCHDOG, /* DIRECT -> KERNEL by the watchdog, or for want of progress; passed */
	XIW_STAT_EGRESS,   /* segments of a flow seen leaving */
	XIW_STAT_EGRESS_REWRITTEN,
	XIW_STAT__COUNT,
};

#ifdef __cplusplus
#define XIW_ABI_ASSERT(what, why) static_assert(what, why)
#else
#define XIW_ABI_ASSERT(what, why) _Static_assert(what, why)
#endif

XIW_ABI_ASSERT((int)XIW_WHY__COUNT <= XIW_WHY_MAX && !(XIW_WHY_MAX & (XIW_WHY_MAX - 1)),
	       "ABI: every reason has its counter");
XIW_ABI_ASSERT(sizeof(struct xiw_flow_key) == 36, "ABI");
XIW_ABI_ASSERT(sizeof(struct xiw_flow) == 512, "ABI");
XIW_ABI_ASSERT(sizeof(struct xiw_queue) == 128, "ABI");
XIW_ABI_ASSERT(sizeof(struct xiw_meta) == 20, "ABI");

#endif /* XIWARP_ABI_H */

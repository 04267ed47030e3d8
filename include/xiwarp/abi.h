/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/abi.h - what the BPF programs and user space share: map values, packet metadata, the owner word.
 *
 * All numbers are in host byte order unless a comment says "network order". "Wire" numbers are TCP sequence numbers as
 * the peer uses them. "Kernel" numbers are what our kernel's socket uses for the same octets: kernel = wire - skew
 * (modulo 2^32).
 *
 * The comment at each cache line, or at the field itself, names its writer; everybody may read everything. Only one
 * side writes a line often. If another side writes to it too, it does so seldom, or it reads that line anyway.
 *
 * Several engines may serve one interface, each a set of its receive queues. Per packet they share nothing that two of
 * them write: of a flow and of a queue, user space writes only through the engine that has it, xiw_ingress counts in
 * lines of the flow and of the queue, and xiw_stats is per CPU. Engines meet only where one claims a flow or a queue.
 */
#ifndef XIWARP_ABI_H
#define XIWARP_ABI_H

#include <linux/types.h>

#define XIW_ABI_VERSION 6
#define XIW_MAX_FLOWS 65536 /* the most flows that a table can have */
#define XIW_DEFAULT_FLOWS                                                                          \
	4096 /* those that it has if nobody asks for another number when it is loaded */
#define XIW_MAX_QUEUES 64

/* ---- the owner word ------------------------------------------------------------------------------ */

/*
 * One 64-bit word says who owns a flow's incoming stream. It changes by compare-and-swap. Only where nobody else
 * may change it, when the library claims, publishes or releases a slot, it is stored:
 *
 *   bits 63..32 value | bits 31..8 epoch, changes at every transition | bits 7..0 path
 *
 *   NONE                                       library -> KERNEL
 *   KERNEL  value = skew                       library -> ARMED
 *   ARMED   value = skew                       XDP -> DIRECT, or -> KERNEL; library -> KERNEL
 *   DIRECT  value = rcv_nxt (wire), committed  library: commit (same epoch, new value) or -> KERNEL;
 *                                              XDP -> KERNEL: see enum xiw_reason
 *   ARMED, DIRECT                              xiw_egress -> KERNEL, when the kernel sends a SYN
 *   any                                        library -> NONE, when the slot is out of the index
 *
 * ARMED allows XDP to go direct. XDP chooses the wire sequence number S where it does: the end of everything that the
 * kernel socket was ever given. It records K = S - skew, which is the socket's rcv_nxt once it has received all that.
 * The engine reads the socket up to S before it takes the first frame of the stretch (the time in DIRECT). If S turns
 * out not to lie between two FPDUs, the engine gives the stream back to the kernel.
 */
enum xiw_path {
	XIW_PATH_NONE = 0, /* the slot is unused or not yet published: segments pass untouched */
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
 * K with the epoch of its stretch. XDP claims it by compare-and-swap before it swaps the owner word, so a stretch has
 * one K even if two CPUs try to begin it.
 */
static inline __u64 xiw_kernel_nxt_pack(__u32 k, __u32 epoch)
{
	return (__u64)k << 32 | (epoch & XIW_EPOCH_MASK);
}

/* Do the two words belong together? If not, a transition is under way: read again, or drop the packet. */
static inline int xiw_kernel_nxt_valid(__u64 kernel_nxt, __u64 owner)
{
	return xiw_owner_path(owner) != XIW_PATH_DIRECT ||
	       (__u32)kernel_nxt == xiw_owner_epoch(owner);
}

/* The skew under this owner word. */
static inline __u32 xiw_owner_skew(__u64 owner, __u64 kernel_nxt)
{
	__u32 value = xiw_owner_value(owner);

	return xiw_owner_path(owner) == XIW_PATH_DIRECT ? value - (__u32)(kernel_nxt >> 32) : value;
}

/*
 * The map xiw_arrivals has the receive queues that SYNs and SYN-ACKs have come on, by the connection's struct
 * xiw_flow_key. xiw_ingress notes those that come on a queue of a group's engine. So the group can give a connection to
 * the engine of its queue, whichever engine has opened or accepted it. So many of the newest are kept; a flood of SYNs
 * makes a group lose them, and then connections stay where they are.
 */
#define XIW_ARRIVALS 16384

/* ---- flows --------------------------------------------------------------------------------------- */

/*
 * The map xiw_flows has the slots, and xiw_flow_index finds them by their keys. The map xiw_taken has a bit for each
 * slot that is taken, for processes that look for slots; BPF does not read it.
 *
 * Key of the map xiw_flow_index. The remote end is the peer. IPv4 addresses are ::ffff:a.b.c.d.
 */
struct xiw_flow_key {
	__be32 remote_addr[4]; /* network order */
	__be32 local_addr[4];  /* network order */
	__be16 remote_port;    /* network order */
	__be16 local_port;     /* network order */
};

enum xiw_flow_flags {
	XIW_FLOW_MARKERS = 1 << 0,    /* the peer's FPDUs carry markers (RFC 5044 section 4.3) */
	XIW_FLOW_CRC = 1 << 1,	      /* the peer's FPDUs carry a CRC32c */
	XIW_FLOW_TIMESTAMPS = 1 << 2, /* negotiated on the SYN (RFC 7323) */
	XIW_FLOW_SACK = 1 << 3,	      /* negotiated on the SYN (RFC 2018) */
	XIW_FLOW_ECN = 1 << 4,	      /* negotiated on the SYN (RFC 3168) */
	/*
	 * A new connection with these addresses has begun, and the library does not know it yet. xiw_egress sets this;
	 * the library clears it when it registers the new connection in the slot. The numbers of the new connection are
	 * translated, but the windows and the window scale of the old one do not apply to it.
	 */
	XIW_FLOW_ANOTHER = 1 << 8,
};

/*
 * Whether our ACKs carry ECE (RFC 3168 section 6.1.3). CE and CWR arrive on both paths, and the kernel's socket sees
 * those of its own path only. Once either was seen, this value replaces the socket's.
 */
enum xiw_ece {
	XIW_ECE_UNKNOWN = 0, /* no CE and no CWR since the flow was registered */
	XIW_ECE_OFF = 1,
	XIW_ECE_ON = 2,
};

/*
 * The flow's word for it has the epoch in which the mark came, too: when XDP takes a stream back, the engine still has
 * frames from before, and what they say must not replace what came later.
 */
static inline __u32 xiw_ece_pack(__u32 epoch, enum xiw_ece ece)
{
	return epoch << 8 | ece;
}

static inline __u32 xiw_ece_of(__u32 word)
{
	return word & 0xff;
}

/* Did the mark of this word come in a later epoch? */
static inline int xiw_ece_later(__u32 word, __u32 epoch)
{
	return xiw_ece_of(word) && (__s32)((word & ~0xffu) - (epoch << 8)) > 0;
}

/* Why a flow left the direct path, why an attempt to enter it was called off, or why no more attempts are made. */
enum xiw_reason {
	XIW_REASON_NONE = 0,
	XIW_REASON_MISALIGNED, /* a segment does not begin or end with an FPDU */
	XIW_REASON_TOO_LARGE,  /* an FPDU larger than a segment */
	XIW_REASON_FIN,	       /* the peer closed its half */
	XIW_REASON_URGENT,     /* urgent data */
	XIW_REASON_CLOSE,      /* the application closes, or asked for the kernel path */
	XIW_REASON_ERROR,      /* the stream is in error: a Terminate or reset follows */
	XIW_REASON_WATCHDOG,   /* frames waited, and the engine did not run */
	XIW_REASON_NO_XSK,     /* the queue on which the segment came has no AF_XDP socket */
	XIW_REASON_RACE,       /* another CPU gave the kernel octets beyond S meanwhile */
	XIW_REASON_BOUNDARY, /* S does not lie between two FPDUs: a segment was aligned by chance */
	XIW_REASON_FRAGMENT, /* IP fragments, options or extension headers, which the kernel's IP must see */
	/* Segments came on the direct path, but the stream made no progress. */
	XIW_REASON_UNSEEN, /* frames that XDP redirects do not reach the engine */
	XIW_REASON_REFUSED, /* the engine's TCP receiver refuses the peer's segments again and again */
	XIW_REASON_CHECKSUM,  /* TCP checksums are wrong again and again */
	XIW_REASON_CRC,	      /* the CRC32c of one FPDU is wrong again and again */
	XIW_REASON_EGRESS,    /* the socket's packets do not pass xiw_egress */
	XIW_REASON_UNHEARD,   /* the peer does not hear the engine's acknowledgements */
	XIW_REASON_INJECT,    /* the segments that the engine injects do not reach the socket */
	XIW_REASON_HEADROOM,  /* the driver leaves no room in front of a packet */
	XIW_REASON_ELSEWHERE, /* segments come by another interface */
	XIW_REASON_STEERED,   /* a segment came on a queue of another engine */
	XIW_REASON_NO_BUFFER, /* a Send found no posted buffer in time, and the stream is held (hold_ms) */
	XIW_REASON_LONG,    /* a packet is longer than AF_XDP takes: packets were joined below the interface */
	XIW_REASON_REBOUND, /* the engine binds its queues anew, as their frames do not fit the packets any more */
	XIW_REASON_TAGS, /* the interface's hardware takes VLAN tags out of frames */
	XIW_REASON_BYPASS, /* packets of the interface reach the socket without having passed XDP */
	XIW_REASON_GAP, /* frames were short, and those of this connection waited behind a gap that lasted */
	XIW_REASON_OUTPUT, /* what the socket sends is dropped before it reaches xiw_egress */
	XIW_REASON_BRIDGE, /* netfilter sees packets in the bridge below XDP */
	XIW_REASON_APART, /* conntrack does not see what goes over lo as part of the connection */
	XIW_REASON__COUNT,
};
#define XIW_REASON_MAX 32 /* a power of two */

/*
 * One flow: an entry of the map xiw_flows, an array that user space maps into memory. Eight cache lines.
 */
struct xiw_flow {
	/*
	 * Line 0: read for every segment. Written by the library; the first two words and ece also by XDP, flags and
	 * ts_recent by xiw_egress.
	 */
	__extension__ struct {
		__u64 owner;	     /* the owner word */
		__u64 kernel_nxt;    /* K and the epoch of its stretch */
		__u32 flags;	     /* enum xiw_flow_flags */
		__u32 marker_origin; /* wire seq of the first octet after the peer's startup frame */
		__u32 rcv_wscale;    /* shift of the windows that we send */
		__u32 window;	     /* octets offered beyond rcv_nxt in DIRECT */
		/*
		 * The engine's TS.Recent, or 0. xiw_egress echoes it; behind a stretch until the socket's TS.Recent is
		 * as new.
		 */
		__u32 ts_recent;
		__u32 direct_edge; /* highest right edge (wire) not of the kernel; xiw_egress raises it too */
		__u32 run_needed; /* aligned segments in a row that it takes to go direct */
		__u32 ece; /* of xiw_ece_pack(); the owner of the stream writes it when it changes */
		__u8 mac[6]; /* of the interface. Frames to another address are dropped. 0: accept any address */
		__u8 snd_wscale; /* shift of the windows that the peer sends */
		__u8 reserved0a;
		__u32 barred; /* enum xiw_reason why the library arms no more, or XIW_REASON_NONE. XDP writes it too */
		__u32 served_by; /* a copy of `engine`: frames go only to queues of this engine */
	};

	/* Line 1: written by xiw_ingress. The library and xiw_socket raise kernel_high too. */
	__extension__ struct {
		__u32 kernel_high; /* highest wire seq ever given to the kernel socket: the end of data or FIN */
		__u32 beyond; /* kernel seq of the last segment without data that was put beyond injected data */
		__u32 run_end;	   /* end of the last aligned segment passed while ARMED */
		__u32 run_len;	   /* aligned segments in a row up to there */
		__u32 went_direct; /* transitions ARMED -> DIRECT */
		__u32 dropped; /* the flow's segments that XDP dropped, for any XIW_STAT_DROP_ */
		__u64 kernel_segs;   /* data segments passed */
		__u64 kernel_octets; /* their payload */
		__u64 direct_segs;   /* data segments sent to AF_XDP */
		__u64 direct_octets; /* their payload */
		__u64 control_segs;  /* segments without data passed, on any path */
	};

	/* Line 2: written by xiw_egress, except where a field names another writer. */
	__extension__ struct {
		__u32 snd_nxt; /* highest wire seq sent by the kernel socket */
		/*
		 * Highest right edge (wire) that the kernel socket advertised. The library raises it when it opens the
		 * socket's window; xiw_ingress raises it in long stretches.
		 */
		__u32 kernel_edge;
		__u64 egress_segs;	/* segments seen */
		__u64 egress_rewritten; /* of these, how many had ack, window, SACK or ECE changed */
		__u32 acked;	    /* last acknowledgement (wire) that the kernel socket sent */
		__u32 resent;	    /* segments with data that the kernel socket sent again */
		__u64 egress_floor; /* library: no stretch begins before egress_segs reaches this */
		__u64 elsewhere_segs; /* xiw_socket: the peer's segments that came by another interface */
		__u32 out_class; /* traffic class without ECN and flow label of the socket's packets, as in IPv6 */
		__u8 out_hops; /* their hop limit or time to live; 0: no packet seen yet */
		__u8 reserved2;
		__u16 out_tag; /* their VLAN tag: priority, DEI and VLAN; 0: none */
		__u32 lo_segs;	/* xiw_socket: segments that came by lo: the engine's injections */
		/*
		 * Right edge (kernel seq) of the window that the kernel socket advertised last. A socket without
		 * memory takes its window back. The library raises it when it opens the socket's window.
		 */
		__u32 socket_edge;
	};

	/* Line 3: written by the engine, once per turn of its loop. */
	__extension__ struct {
		__u64 placed_direct; /* stream octets placed from the direct path */
		__u64 placed_kernel; /* stream octets placed from the kernel's socket */
		__u64 fpdus;	     /* FPDUs accepted */
		__u64 crc_errors;
		__u64 injected;	 /* segments given to the kernel socket */
		__u64 acks_sent; /* by the engine, over AF_XDP */
		__u64 armed;	 /* transitions KERNEL -> ARMED */
		__u64 segs_dropped; /* by the engine: damaged, refused by its TCP receiver, or too late */
	};

	/* Lines 4 and 5: how often the direct path ended, or was not entered, by enum xiw_reason. */
	__u32 reasons
		[XIW_REASON_MAX]; /* XDP and the engine both add, atomically; these events are rare */

	/* Line 6: the identity. The library writes it once, before it publishes the flow; xiw_egress writes out_mac. */
	__extension__ struct {
		struct xiw_flow_key key;
		__u32 pid; /* of the process that has the slot, in its own PID namespace; only to be shown */
		__u32 claim_seq; /* how often the slot has been claimed */
		__u32 ifindex;
		__u32 engine; /* number of the engine that has the slot; claimed by compare-and-swap from 0 */
		/*
		 * Destination and source of the frames that carry the socket's packets: where the kernel sends them.
		 * Aligned for words of 32 bits, which are written one by one. 0: no frame seen yet
		 */
		__u8 out_mac[12];
	};

	/*
	 * Line 7: does the stream move on? Written by xiw_ingress each time rcv_nxt has moved, and for a segment on a
	 * wrong queue, except `seen`, which the engine changes only if rcv_nxt has not moved. And timestamps, which are
	 * written while the kernel owns the stream.
	 */
	__extension__ struct {
		__u64 try_ns;	/* when a segment from try_nxt or before it was first redirected */
		__u32 try_nxt;	/* rcv_nxt of the owner word at that time */
		__u32 try_seen; /* `seen` at that time */
		__u32 seen;	/* changes when the engine looked at frames and committed nothing */
		__u32 other_segs; /* how often a segment was not direct for its queue is not one of the engine */
		__u32 other_queue; /* which queue that was last */
		__u32 early_refused; /* the engine: FPDUs behind a gap that pointed where the peer may not write */
		/*
		 * xiw_egress: the TSecr that the kernel socket sent last, which is its TS.Recent, so that checksum,
		 * window and PAWS have been verified. The upper half is the second of CLOCK_MONOTONIC, plus 1, in which
		 * it became that. 0: none yet.
		 */
		__u64 echoed;
		/*
		 * xiw_socket: the peer's segments with data that came by the interface and that xiw_ingress has not
		 * passed. None is counted before xiw_ingress has seen a segment of the flow.
		 */
		__u64 bypass_segs;
		__u32 began_ts; /* xiw_ingress: `echoed`, but for the time, when a stretch began */
		/*
		 * Where the last segment began that was put beyond kernel_high: in front of it the socket misses
		 * octets, until it acknowledges that number. The library writes it for segments that it injects, too.
		 */
		__u32 gap;
		__u32 reserved7[2];
	};
};

/* ---- queues -------------------------------------------------------------------------------------- */

#define XIW_QUEUE_FLOWS 4 /* stretches that a queue remembers; a power of two */

/* One RX queue of the interface: an entry of the map xiw_queues, which user space maps too. */
struct xiw_queue {
	/* Line 0: written by the engine that serves the queue. Times are nanoseconds of CLOCK_MONOTONIC. */
	__u64 beat_ns;	  /* when the engine last looked at the ring */
	__u64 emptied_ns; /* the engine has taken all frames from before this time */
	__u64 too_long;	  /* packets dropped because they have more frames than the engine takes */
	__u64 tx_full;	  /* ACKs that found no room on the TX ring and were sent later */
	/*
	 * Number of the engine that serves the queue, or 0. Claimed by compare-and-swap, from 0 or from the number of
	 * an engine that does not live. With XIW_QUEUE_OPENING or XIW_QUEUE_HELD, which no flow's number has, XDP
	 * redirects nothing there.
	 */
	__u32 engine;
	__u32 grouped; /* the engine belongs to a group, which wants to know of SYNs: see XIW_ARRIVALS */
	__u32 takes;   /* bytes of the longest packet that the engine's socket takes, without the metadata */
	__u32 reserved0[5];

	/* Line 1: written by xiw_ingress. */
	__u64 last_ns; /* when the last frame was put on the ring */
	__u64 wait_ns; /* when the oldest frame that may still be waiting was put there */
	/*
	 * Stretches whose segments have come on the queue: a slot of xiw_flows in the upper half, and in the lower half
	 * epoch and path of its owner word, or 0. They are hints for XDP, which compares each with the slot.
	 */
	__u64 direct[XIW_QUEUE_FLOWS];
	__u64 tick;    /* the tick of the kernel's clock in which xiw_ingress read it last */
	__u64 tick_ns; /* and the time then */

	/*
	 * Line 2: does hardware cut packets in two (bpf/cut.h)? The engine sets `room` when it binds its socket, and
	 * `longest` and `cut` to 0; then xiw_ingress writes, seldom.
	 */
	__u32 room;    /* bytes of a packet that fit into one frame in zero-copy mode; 0: copy mode */
	__u32 longest; /* bytes of the longest packet that the queue has brought, as far as it was looked at */
	__u32 cut; /* bytes at which a packet was cut; 0: none. The engine leaves the queue */
	__u32 rest; /* bytes of that packet that are to come, as packets of their own */
	__u64 cuts; /* packets that were found cut, since the programs were loaded */
	__u64 reserved2[5];
};

/* The queue is claimed, but the engine's AF_XDP socket is not in xiw_xsks yet, or not any more. */
#define XIW_QUEUE_OPENING 0x80000000u
/* The programs are about to be taken off. Also of queues that no engine has. No engine's number has this bit. */
#define XIW_QUEUE_HELD 0x40000000u

#define XIW_WATCHDOG_NS 200000000ull
/*
 * XDP ends DIRECT if a segment that the stream waits for comes again after this time and rcv_nxt has not moved.
 * Shorter than the shortest retransmission timeout of common TCPs.
 */
#define XIW_STUCK_NS 150000000ull

/* ---- obstacles ----------------------------------------------------------------------------------- */

/*
 * What has been found to speak against the direct path: the map xiw_obstacles, an array that processes on the
 * interface map into memory. BPF does not read it.
 *
 * Entry 0 is the interface's: `last_ns` is when a stretch was last seen to carry, and `holds` says whether one of the
 * next entries does. Those up to XIW_REASON_MAX count a reason each, which holds for all peers or for none. The others
 * are a peer's each, and hold for it.
 */
#define XIW_OBSTACLES 256

struct xiw_obstacle {
	__be32 peer[4]; /* network order, as in struct xiw_flow_key */
	__u32 reason;	/* enum xiw_reason; XIW_REASON_NONE: the entry is nobody's */
	__u32 check;	/* of `peer`: two processes may write an entry at once */
	__u32 count;	/* how often the reason was found */
	__u32 holds;	/* connections are kept off the direct path */
	__u32 kept_off; /* how many were since one tried again */
	__u16 failed;	/* attempts that have failed in a row */
	__u16 again; /* how often it has held again after another connection had shown it to be gone */
	__u64 last_ns;	/* when the reason was last found, by CLOCK_MONOTONIC */
	__u64 tried_ns; /* when a connection last tried again */
	/* Of any peer whose hash is the entry's number, in units of 2^26 ns; 0: never. */
	__u32 carried; /* when a stretch was last seen to carry */
	__u32 heard;   /* when it was last known to hear ACKs that are sent by AF_XDP */
};

/* ---- packet metadata ----------------------------------------------------------------------------- */

/* The first octets of each frame that goes to AF_XDP. The packet follows directly. */
struct xiw_meta {
	__u32 epoch;	   /* of the owner word under which the segment was taken */
	__u16 flow;	   /* index in xiw_flows */
	__u16 version;	   /* XIW_ABI_VERSION */
	__u16 l3_off;	   /* of the IP header, from the packet's first octet */
	__u16 l4_off;	   /* of the TCP header */
	__u16 payload_off; /* of the TCP payload */
	__u16 payload_len; /* octets, by the length in the IP header */
};

/* ---- statistics ---------------------------------------------------------------------------------- */

/* Index in the per-CPU array map xiw_stats. xiw_ingress counts each packet once, at the exit. */
enum xiw_stat {
	XIW_STAT_OTHER,	       /* not TCP of a known flow: passed untouched */
	XIW_STAT_PASS_DATA,    /* a flow's data, passed with translated seq */
	XIW_STAT_PASS_CONTROL, /* a flow's SYN, RST or segment without data, passed */
	XIW_STAT_DIRECT,       /* sent to AF_XDP */
	XIW_STAT_DROP_EPOCH,   /* ownership moved while the program ran */
	XIW_STAT_DROP_FRAGMENT,	 /* in DIRECT: not for AF_XDP, and its header does not show that it is the peer's */
	XIW_STAT_DROP_MALFORMED, /* the headers disagree with the packet's length */
	XIW_STAT_DROP_FOREIGN,	 /* the frame is addressed to another host */
	XIW_STAT_DROP_HIDDEN,	 /* a flow's, behind more headers than are followed, or a fragment without TCP's */
	XIW_STAT_DROP_CUT,	 /* a piece of a packet that hardware has cut in two */
	XIW_STAT_DROP_PAWS, /* older than the timestamps of a stretch that has ended (RFC 7323 section 5.3) */
	XIW_STAT_WATCHDOG, /* passed after DIRECT -> KERNEL by the watchdog or for lack of progress */
	XIW_STAT_EGRESS,   /* a flow's segment that leaves */
	XIW_STAT_EGRESS_REWRITTEN,
	XIW_STAT__COUNT,
};

#ifdef __cplusplus
#define XIW_ABI_ASSERT(what, why) static_assert(what, why)
#else
#define XIW_ABI_ASSERT(what, why) _Static_assert(what, why)
#endif

XIW_ABI_ASSERT((int)XIW_REASON__COUNT <= XIW_REASON_MAX && !(XIW_REASON_MAX & (XIW_REASON_MAX - 1)),
	       "ABI: every reason has its counter");
XIW_ABI_ASSERT(sizeof(struct xiw_flow_key) == 36, "ABI");
XIW_ABI_ASSERT(sizeof(struct xiw_flow) == 512, "ABI");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_flow, kernel_high) == 64, "ABI: line 1");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_flow, snd_nxt) == 2 * 64, "ABI: line 2");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_flow, placed_direct) == 3 * 64, "ABI: line 3");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_flow, reasons) == 4 * 64, "ABI: line 4");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_flow, key) == 6 * 64, "ABI: line 6");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_flow, try_ns) == 7 * 64, "ABI: line 7");
XIW_ABI_ASSERT(sizeof(struct xiw_queue) == 192, "ABI");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_queue, last_ns) == 64, "ABI: line 1");
XIW_ABI_ASSERT(__builtin_offsetof(struct xiw_queue, room) == 2 * 64, "ABI: line 2");
XIW_ABI_ASSERT(sizeof(struct xiw_obstacle) == 64, "ABI");
XIW_ABI_ASSERT((int)XIW_REASON_MAX < XIW_OBSTACLES, "ABI: a reason each, and peers");
XIW_ABI_ASSERT(sizeof(struct xiw_meta) == 16, "ABI");
XIW_ABI_ASSERT(XIW_MAX_FLOWS - 1 <= 0xffff, "ABI: xiw_meta.flow");

#endif /* XIWARP_ABI_H */

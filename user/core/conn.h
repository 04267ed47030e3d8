/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connection, as all layers above know it. */
#ifndef XIW_CORE_CONN_H
#define XIW_CORE_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/xiwarp.h>

#include "core/orphan.h"
#include "core/remembers.h"
#include "core/ulp.h"
#include "core/waits.h"
#include "ddp/recv.h"
#include "ddp/tx.h"
#include "handoff/owner.h"
#include "handoff/sock.h"
#include "mpa/enhanced.h"
#include "mpa/startup.h"
#include "mpa/stream.h"
#include "mpa/tx.h"
#include "tcp/recv.h"

#define XIW_NEVER UINT64_MAX
#define XIW_STARTUP_FPDU_MAX 64u  /* an FPDU with no payload, or with RDMAP's Terminate */
#define XIW_TX_STAGE (256u << 10) /* octets given to TCP in one send */

struct xiw_cq;
struct xiw_crowd;
struct xiw_crowd_peer;
struct xiw_engine;
struct xiw_kept;
struct xiw_netif;
struct xiw_rxq;
struct xiw_srq;

/* conn/sockopts.c: the options of a socket before the library changed them. */
struct xiw_sock_was {
	int nodelay, oobinline;
	int rcvbuf, locks; /* rcvbuf 0: not changed */
	int limits[5];	   /* keepalive and the user timeout */
	bool limited;	   /* the limits were changed */
	bool nonblock;
};

#define XIW_RUNS 64	   /* writes in one stage */
#define XIW_RUN_MAX 64000u /* octets; TCP's buffers are larger unless the window is small */

/* FPDUs on their way into the socket (conn/stage.c, fill.c, send.c). */
struct xiw_stage {
	uint8_t octets[XIW_TX_STAGE];
	struct xiw_stage *next; /* in engine->pools.stages */
	uint32_t end[XIW_RUNS]; /* where each write ends */
	uint32_t nends;
	bool full; /* the socket did not take everything at once */
};

/* A queued message. */
struct xiw_queued {
	struct xiw_ddp_tx_msg cut;
	const void *buf; /* the octets, or struct xiw_vec if npieces */
	uint64_t user_data;
	/* That of the regions when the ULP last allowed `buf` to be read; 0: the ULP need not be asked. */
	uint64_t generation;
	uint32_t len, npieces;
};

/* What a connection's deadline limits. It is one thing at a time; see xiw_conn_deadline(). */
enum xiw_limit {
	XIW_LIMIT_NONE,
	XIW_LIMIT_STARTUP, /* TCP connect and MPA startup, until the peer has our startup frame */
	XIW_LIMIT_CLOSE,   /* the part of a graceful close in which no octet moves */
	XIW_LIMIT_LAST,	   /* the last message after an error, even if octets move */
	XIW_LIMIT_POLL, /* not a limit: no receive is under way, so the socket is looked at regularly */
	XIW_LIMIT_FIRST, /* not a limit: a Responder that has heard nothing speaks first */
};

enum xiw_conn_state {
	XIW_CONNECTING, /* Initiator: TCP handshake */
	XIW_REQUESTED,	/* Initiator: Request sent, waiting for the Reply */
	XIW_LISTENING,	/* Responder: waiting for the Request */
	XIW_DECIDING,	/* the application has got the Request or Reply, and decides */
	XIW_OPEN,
	XIW_DEAD, /* after XIW_EV_CLOSED; nothing happens any more */
};

/* ---- parts of a connection; only the files that are named write a part, unless a member says more ---- */

/* path/direct.c, fallback.c, commit.c: the time from ARMED to DIRECT until the next DIRECT to KERNEL. */
enum xiw_stretch_state {
	XIW_STRETCH_OFF,
	XIW_STRETCH_WAITS, /* frames wait, as the socket has not been read up to the stretch's start */
	XIW_STRETCH_RUNS, /* the engine's TCP receiver takes segments */
	XIW_STRETCH_ENDS, /* segments are injected until the owner word is swapped at the turn's end */
};

struct xiw_stretch {
	struct xiw_rxq *rxq; /* the queue that the last frame came by */
	uint32_t epoch;
	uint32_t committed; /* rcv_nxt in the owner word */
	uint32_t batch;	    /* engine->batch when the last frame came */
	uint8_t state;	    /* enum xiw_stretch_state */
};

/* Counters for reports; each file counts what it does. */
struct xiw_counts {
	uint64_t placed_direct, placed_kernel; /* DDP payload */
	uint64_t stream_direct, stream_kernel; /* stream octets */
	uint64_t fpdus, fpdus_early, messages, crc_errors;
	uint64_t early_refused; /* path/ooo.c; unless 0, nothing is placed early any more */
	uint64_t went_direct, went_kernel, armed;
	uint64_t acks_sent, injected, octets_sent;
	uint64_t segs_dropped;		  /* refused on the direct path, for whatever reason */
	uint64_t drops[XIW_TCP_DROP_MAX]; /* in the stretches before this one */
	uint64_t challenges_withheld;	  /* likewise */
	uint64_t holds, holds_expired;	  /* path/hold.c */
	uint64_t surplus;		  /* conn/startup.c */
};

/* Octets in a provided buffer that wait for room in the completion queue. */
struct xiw_held {
	uint16_t bid;
	uint32_t off, len;
};

/* path/kernel.c: the kernel path. conn/register.c sets nxt and known, path/fallback.c nxt and skip. */
struct xiw_recv {
	uint32_t nxt; /* wire number of the next octet that the socket will give, once registered */
	uint32_t skip; /* octets from there on that were delivered but could not be committed */
	bool known;    /* nxt is valid */
	bool posted;   /* a receive is with io_uring */
	bool fed;      /* and it has got a buffer */
	bool hungry;   /* the budget refused memory that it needs to go on; conn/reclaim.c */
	uint16_t held_head, held_n;
	struct xiw_held *held; /* XIW_BUFS entries, allocated when first needed */
	struct xiw_conn *next_holder, **holder_at; /* in engine->agenda.holders: xiw_retry() */
	struct xiw_conn *next_starved, **starved_at;
	uint64_t fpdu_ms; /* when octets of the unfinished FPDU last came */
	uint64_t fpdus;	  /* counts.fpdus behind the last FPDU of the socket */
	uint32_t ulpdu_len; /* of that FPDU */
};

/* conn/register.c: how XDP and the engine know the connection. */
struct xiw_registration {
	struct xiw_sock_state sock;
	uint32_t marker_origin;
	uint32_t window;	     /* octets to advertise on the direct path */
	struct xiw_flow_report last; /* of the slot from when the connection left it */
	bool zero_copy;
	uint8_t ip_version;
	uint8_t remote_ip[16], local_ip[16];
	uint32_t index; /* of the slot in the flow table */
	struct xiw_conn *next_slotless, **slotless_at; /* in engine->agenda.slotless */
};

/* path/fallback.c, direct.c, inject.c: leaving the direct path, and coming back to it. */
struct xiw_handoff {
	enum xiw_reason reason; /* why the stretch ends */
	uint32_t since;		/* epoch of the owner word when the connection was registered */
	struct xiw_conn *next_falling_back;
	uint64_t control_seen;	     /* the flow's control_segs when the last frame was taken */
	uint32_t injected_tsval;     /* the newest timestamp that was injected */
	uint32_t crc_seq, crc_tries; /* a place with a bad CRC, and how often it was bad */
	bool want_arm; /* try to arm at the end of the batch; engine/turn.c clears it */
	struct xiw_conn *next_telling, **telling_at; /* in engine->agenda.telling */
};

/* path/route.c: what was last seen of the way that the connection's packets take. Counts are modulo 2^32. */
struct xiw_route {
	bool steered : 1, sent_known : 1; /* no_direct says that segments come on another queue; `sent` counts */
	bool hidden : 1;		  /* no_direct says that xiw_egress sees nothing of the socket */
	uint8_t homeless;	  /* looks at local addresses in a row that have not found the connection's */
	bool one_way;		  /* conntrack knew one direction of the connection when path/apart.c asked, */
	uint32_t one_way_left;	  /* and xiw_egress had counted so many segments */
	uint32_t other_segs;	  /* how many did, when last asked */
	uint32_t came, left;	  /* segments that XDP, and xiw_egress, have counted */
	uint32_t elsewhere; /* segments that came by another interface when XDP last counted one */
	uint32_t came_then; /* XDP's count when the socket first sent what xiw_egress did not see */
	uint32_t sent;	    /* segments that the socket had sent when xiw_egress last counted one */
	uint32_t received, bypassed; /* octets of the socket, and segments that XDP has not passed */
	uint64_t astray_ms, unseen_ms, bypass_ms; /* since when XDP, xiw_egress miss packets; 0: no */
};

/* path/output.c: does what the socket sends reach xiw_egress? Counts are modulo 2^32. */
struct xiw_output {
	bool wrote;    /* the socket has been given octets since the last look */
	bool asked;    /* `sent` and `expired` count */
	bool elicited; /* the peer has been asked for a segment, as nothing reached xiw_egress */
	bool refused;  /* a firewall has refused an injected segment */
	bool inform;   /* once the stretch is over, the socket is to hear what the peer has */
	uint8_t expired; /* times that TCP's retransmission timer had expired at the last look */
	uint32_t left; /* segments that xiw_egress had counted at the last look */
	uint32_t sent; /* segments that the socket had sent then */
	uint32_t came; /* segments with data that had come direct when the peer was asked first */
	uint32_t injected; /* segments that had been injected at the last look */
	uint64_t look_ms; /* when the next look is due, or XIW_NEVER */
};

/* Failed attempts while the stream stood at one place. */
struct xiw_tries {
	uint32_t at, n;
	uint64_t since_ms, last_ms;
};

/* path/progress.c: what speaks against the direct path. Times of 32 bits are modulo 2^32. */
struct xiw_progress {
	struct xiw_tries refused;	/* refusals of segments that the stream waits for */
	uint64_t due_ms;		/* when silence is judged, or XIW_NEVER */
	struct xiw_tries unheard;	/* arrivals of segments that were acknowledged before */
	uint32_t dup_seq, dup_end;	/* the first of these segments */
	struct xiw_tries ahead;		/* those that acknowledge what xiw_egress has not seen */
	/* When the stretch's first segment came while the socket had not been read up to it; 0: none has. */
	uint64_t waits_ms;
	uint32_t waiting_at; /* what the socket had been read up to when segments began to wait for it */
	/* The TSval of the last segment that has filled a hole in the socket meanwhile, if `filled`. */
	uint32_t filled_tsval;

	uint32_t ended; /* stretches that failed in a row for `ended_reason` */
	uint32_t ended_ms;

	/* When the flow was last `armed`: how many stretches XDP had taken back, and how many frames had come. */
	uint64_t seen;
	uint32_t taken_back;
	uint32_t unseen; /* stretches in a row without any frame, by weight */
	uint32_t given;	 /* stretches that XDP had taken back as UNSEEN */
	uint32_t lost;	 /* how many of these did miss a frame, since lost_ms, by weight */
	bool filled : 1, armed : 1;
	bool cut_off : 1;      /* the socket's packets need translation and do not get it */
	bool inject_works : 1; /* an injected segment has reached the socket */
	bool awaits : 1; /* a stretch waits since probe_ms for injected segments that are missing */
	uint8_t probes;
	enum xiw_reason refused_reason : 8; /* of the last refusal */
	enum xiw_reason ended_reason : 8;   /* why the last stretch ended in failure */
	uint32_t lost_ms;
	uint32_t probe_ms; /* when the last of them was injected */
	uint32_t arrived;  /* injected segments that had reached the socket when last looked at */
	uint32_t asked_ms; /* when the socket was last made to acknowledge, or 0 */
	uint32_t gone;	   /* injected segments that have not reached the socket, and count no more */

	uint32_t steered;     /* stretches that had ended on a queue that is not the engine's */
	uint32_t steered_run; /* aligned segments in a row that the next one therefore needs */
	uint32_t steered_ms;  /* when the last one of them was noticed */
	struct xiw_remembers memory;
	struct xiw_output output;
};

/* conn/send.c, fill.c, stage.c: what is sent. conn/startup.c and rtr.c set mpa and allowed. */
struct xiw_send {
	struct xiw_mpa_tx mpa;
	struct xiw_ddp_tx ddp;
	struct xiw_queued
		*queue; /* a ring of `room` places, which become more as they are needed */
	uint32_t depth, room, head, count;
	uint32_t staged;   /* messages in the stage that are not reported yet */
	uint32_t ooo_seen; /* the socket's count of packets out of order */
	struct xiw_stage *stage;
	uint32_t stage_len, stage_off;
	uint64_t stage_ms;    /* when the socket is last known to have taken octets of it */
	uint64_t acked;	      /* by the peer, in octets, when conn/reclaim.c last spared it */
	uint32_t peer_window; /* the largest window that the peer has advertised */
	uint32_t window_left; /* so many octets, at least, fit into it behind what TCP has */
	bool runs;	      /* the last stage had writes longer than a segment */
	bool fits;	      /* the stage has all that is queued, and the window has room for it */
	bool corked;
	bool short_end; /* the last segment of the stage is not full */
	bool busy, paused; /* a send is with io_uring; it only waits for the next turn */
	bool allowed;	/* RFC 5044 section 7.1.2 rule 4 */
	uint16_t emss;
	uint16_t sack_room; /* octets of a segment that SACK blocks may take; 0: not negotiated */
	uint16_t sacks;	    /* octets that they took when TCP was last asked */
	uint64_t asked_ms;  /* when that was */
	uint64_t ooo_ms;    /* when that count last grew */
	struct xiw_conn *next_stageless, **stageless_at;
};

/*
 * core/agenda.c, conn/conn.c: the end of a connection. conn/limits.c sets closing and limited, path/fpdu.c header,
 * core/cq.c *_told.
 */
struct xiw_end {
	bool closing, shut, eof, eof_told;
	bool limited;	  /* a close is under way, or waits for answers: its time is limited */
	bool failing;	  /* in error; the application is told at the end of the batch */
	bool stopped;	  /* rx_dead because the application wants no more of the peer */
	bool known;	  /* a function has returned the connection to the application */
	bool freed;	  /* the application has freed it */
	bool closed_told; /* XIW_EV_CLOSED is in the completion queue */
	bool asked;	  /* xiw_conn_ask_end() was called */
	bool at_once;	  /* it ends before octets that have arrived are delivered */
	int asked_error, error;
	enum xiw_mpa_error mpa_error;
	enum xiw_ddp_error ddp_error;
	uint8_t header[XIW_DDP_HDR_MAX]; /* of the segment that ended the stream */
	uint32_t header_len, segment_len;
	uint64_t
		first_told; /* cq.told at the first completion that names the connection; 0: there is none */
	struct xiw_conn *next_ending;
};

/* core/timer.c; conn/limits.c writes stalls and moved, path/commit.c alive_ms and ack_ms, path/hold.c hold_ms. */
struct xiw_timer {
	uint64_t deadline_ms; /* of `limit`, or XIW_NEVER; only xiw_conn_deadline() sets it */
	enum xiw_limit limit;
	uint8_t stalls, looks; /* of XIW_LIMIT_CLOSE: those in a row at which no octet had moved; all of them */
	uint64_t moved;	   /* octets that had moved then, in both directions */
	uint64_t alive_ms; /* when the socket is told that the peer is alive, or XIW_NEVER */
	uint64_t ack_ms;   /* when the delayed ACK is due, or XIW_NEVER */
	uint64_t hold_ms;  /* when the hold is looked at, or XIW_NEVER */
	uint64_t ulp_ms;   /* when the ULP's due() is called, or XIW_NEVER; the ULP sets it */
	uint64_t at_ms;	   /* the place on the wheel; `at` is NULL if it has none */
	struct xiw_conn *next, **at;
};

/* core/cq.c, cqs.c: where completions of one kind go. */
enum xiw_outlet_kind {
	XIW_OUTLET_EVENTS, /* of the connection itself */
	XIW_OUTLET_SENDS,
	XIW_OUTLET_RECVS,
	XIW_OUTLETS,
};

struct xiw_outlet {
	struct xiw_cq *cq;  /* NULL: the engine's own */
	uint64_t last_told; /* cq->told at the last completion of this connection */
};

/* The startup frames, with room for at most one FPDU behind ours. */
struct xiw_startup_frames {
	uint8_t private_out[XIW_PRIVATE_DATA_MAX];
	uint8_t in[XIW_MPA_FRAME_MAX]; /* what has come of the peer's startup frame */
	uint8_t out[XIW_MPA_FRAME_MAX + XIW_STARTUP_FPDU_MAX];
};

/* core/srq.c: the use of a shared receive queue. */
struct xiw_share {
	struct xiw_srq *srq;	     /* NULL: none */
	struct xiw_conn *next, **at; /* in srq->conns */
	uint64_t *told; /* where the completions of the last `max` messages are in their queue */
	uint64_t n;	/* messages so far, if there is a limit */
	uint32_t max;	/* 0: no limit */
	uint32_t kept_ms; /* when the unfinished message was first looked at, or 0 (conn/unfinished.c) */
};

/* The use of queues that the application has made. */
struct xiw_queue_uses {
	struct xiw_outlet outlets[XIW_OUTLETS];
	struct xiw_share share;
};

/* conn/startup.c, dial.c, connect.c, frames.c, rtr.c: MPA startup. */
struct xiw_startup {
	struct xiw_startup_frames *frames; /* until startup is over */
	uint32_t in_len, in_need;
	struct xiw_mpa_frame peer; /* its pd is the copy below */
	uint8_t *private_in;	   /* of the peer's Private Data, until the connection is freed */
	uint8_t peer_rev; /* the revision of the peer's frame, even of one that is not valid */
	struct xiw_mpa_terms terms;
	/* What is to be sent: the last streaming message, then our startup frame and at most one FPDU. */
	uint8_t *streaming;
	uint32_t streaming_len, out_len, out_off;
	bool receiving; /* a receive, or the poll while deciding, is with io_uring */
	bool upgraded;	/* the application has supplied the connected socket */
	bool connected; /* TCP has connected it to the peer */
	bool surplus;	/* octets came behind a startup frame where none may be */
	bool rejected;	/* MPA was rejected, and the TCP connection is left open */
	bool rtr_wait;	/* Responder: the RTR indication of RFC 6581 has not come yet */
	bool deaf;	/* nothing of what comes with that indication, and behind it, is taken */
	bool arrived;	/* Initiator of a group: open, and the application has not gone on yet */
	bool depths_set; /* the application has set the depths of this connection */
	uint8_t redials; /* how often the second attempt may be made from another port */
	struct xiw_dial *dial; /* while an engine of a group opens it (conn/arrive.c) */
	int refusing;	       /* errno to end with when the Terminate message is sent */
	int local_error;       /* Responder: errno of the error that answers the first FPDU */
	/*
	 * Set while rtr_wait, and behind it if deaf: gets the first FPDU after its CRC was verified. Returns 1 if it
	 * consumed the FPDU, 0 if DDP gets it, or a negative number after it has reported an error.
	 */
	int (*gate)(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t payload);
};

/* conn/unstarted.c: the connection's places in engine->unstarted while chain_at is set; crowd: conn/crowd.c. */
struct xiw_waiting_room {
	struct xiw_crowd_peer *crowd; /* until the socket is closed; NULL: not counted */
	struct xiw_listener *listener;
	uint64_t peer_key, accepted_ms;
	struct xiw_conn *next, *prev, *chain_next, **chain_at;
};

/* conn/accept.c, connect.c, startup.c */
struct xiw_addresses {
	struct sockaddr_storage local, remote;
	socklen_t remote_len;
};

struct xiw_conn {
	/* Line 0: all that a segment needs, except for the TCP receiver's state. */
	struct xiw_flow *flow; /* NULL: not registered with XDP */
	struct xiw_netif *netif;
	struct xiw_conn *next_dirty;
	struct xiw_stretch stretch;
	bool dirty; /* in agenda.dirty or agenda.finishing */
	bool crc;
	bool rx_dead; /* the incoming stream is in error or stopped: nothing is passed up any more */
	bool initiator;

	/* Line 1 on: the receiver's state, its own hot line first. */
	struct xiw_tcp_rx tcp;

	/* What an FPDU needs. */
	struct xiw_ddp_rx *ddp;
	struct xiw_mpa_stream mpa;
	const struct xiw_ulp *ulp; /* NULL: the application */
	void *ulp_ctx;
	struct xiw_engine *engine; /* NULL: it was destroyed; only reports and freeing are left */
	struct xiw_counts counts;

	/* What a batch or a turn needs. */
	enum xiw_conn_state state;
	int fd;
	uint32_t ops; /* requests that are with io_uring */
	uint32_t id;
	struct xiw_recv recv;
	struct xiw_hold hold;
	struct xiw_keeps keeps;
	struct xiw_timer timer;
	struct xiw_send send;
	struct xiw_handoff handoff;
	struct xiw_end end;
	struct xiw_queue_uses uses;

	/* What is seldom needed. */
	struct xiw_registration reg;
	struct xiw_route route;
	struct xiw_progress progress;
	struct xiw_startup startup;
	struct xiw_waiting_room unstarted;
	struct xiw_addresses addr;
	struct xiw_conn_opts opts;
	struct xiw_sock_was sock_was;
	struct xiw_orphan orphan;
	struct xiw_conn *next, *prev; /* in engine->conns */
	/* What it was charged until it is freed (xiw_conn_charge()), without buffers that come and go. */
	size_t memory;
	char no_direct[96]; /* why it does not use the direct path: a line for people */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct xiw_conn, tcp) == 64,
	       "a segment needs line 0 and the receiver's state");
_Static_assert(sizeof(struct xiw_conn) <= 2688, "with an RDMAP Stream it takes 4 KiB");

/* True while a stretch is under way and is not being left. */
static inline bool xiw_stretch_live(const struct xiw_conn *c)
{
	return c->stretch.state == XIW_STRETCH_WAITS || c->stretch.state == XIW_STRETCH_RUNS;
}

/* conn/listener.c, accept.c */
struct xiw_listener {
	struct xiw_engine *engine; /* NULL: it was destroyed */
	struct xiw_listener *next;
	int fd;
	struct xiw_sock_was sock_was;
	int told; /* the error that the application was told of, until an accept succeeds */
	uint64_t retry_ms; /* when to accept again after a failure, or XIW_NEVER */
	bool listens;	   /* the application's socket did when it was given */
	bool started, closing, armed;
	bool freed; /* the application has freed it; until then it stays, even without its engine */
	struct xiw_orphan orphan;
	uint64_t serial;     /* of the group's listener that it is part of (group/listen.c) */
	uint32_t unstarted;  /* connections in engine->unstarted */
	uint64_t crowded_ms; /* when one of these was last reset to make room */
	struct xiw_crowd *crowd; /* NULL: peers have no shares */
	uint64_t shared_ms;	 /* when the application was last told that a peer has its share */
	struct xiw_conn_opts opts;
} __attribute__((aligned(64)));

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connection: what all layers above know of it. */
#ifndef XIW_CORE_CONN_H
#define XIW_CORE_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/xiwarp.h>

#include "core/orphan.h"
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

struct xiw_engine;
struct xiw_kept;
struct xiw_netif;
struct xiw_rxq;

/* Options of a socket before the library changed them. */
struct xiw_sock_was {
	int nodelay, oobinline;
	int rcvbuf, locks; /* rcvbuf 0: not changed */
	int limits[5];	   /* of keepalive and the user time-out */
	bool limited;	   /* they were changed */
};

#define XIW_RUNS 64 /* writes in one stage */

/* FPDUs on their way into the socket. */
struct xiw_stage {
	uint8_t octets[XIW_TX_STAGE];
	struct xiw_stage *next; /* in engine->stages */
	uint32_t end[XIW_RUNS]; /* of each write */
	uint32_t nends;
	bool full; /* the socket did not take all at once */
};

/* A queued message. */
struct xiw_queued {
	struct xiw_ddp_tx_msg cut;
	const uint8_t *buf;
	uint64_t user_data;
	uint64_t
		generation; /* of the regions, when the ULP last said that buf may be read; 0: always */
	uint32_t len;
};

/* The header of a DDP segment, of `segment_len` octets with its payload. */
struct xiw_header {
	const uint8_t *octets;
	uint32_t len, segment_len;
};

/* A ULP inside the library, between a connection and the application. None is called after XIW_EV_CLOSED. */
struct xiw_ulp {
	/* TCP has all of a message, or it is not sent: as it was queued, with user_data. */
	void (*sent)(struct xiw_conn *c, uint64_t user_data, bool sent);
	/* A posted buffer that no message came for. */
	void (*returned)(struct xiw_conn *c, uint32_t qn, uint64_t user_data);
	/*
	 * CONNECTED, EOF, ERROR, CLOSED ...: what the application hears of them is the ULP's to say, by
	 * xiw_conn_tell().
	 */
	void (*event)(struct xiw_conn *c, enum xiw_event event, int status);
	/*
	 * May this segment, which DDP has a place for, be placed? 0, or a number of the ULP's, which refuse() is then
	 * called with if the segment's CRC is right and it is in its turn.
	 */
	int (*check)(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		     const struct xiw_ddp_place *p, bool in_turn);
	void (*refuse)(struct xiw_conn *c, int why, const struct xiw_header *h);
	/* A message that DDP has delivered, and its last segment. */
	void (*message)(struct xiw_conn *c, const struct xiw_ddp_msg *m,
			const struct xiw_header *last);
	/*
	 * The regions have changed: may a message queued with xiw_send_from_region() still be read, from `off`
	 * on? If not, it has failed the stream.
	 */
	bool (*readable)(struct xiw_conn *c, uint64_t user_data, uint32_t off);
	/* xiw_conn_set_depths() after it was attached. 0 or -ENOMEM. */
	int (*set_depths)(struct xiw_conn *c, uint16_t ird);
	void (*free)(struct xiw_conn *c);
};

/* What a connection's deadline limits: one thing at a time. See xiw_conn_deadline(). */
enum xiw_limit {
	XIW_LIMIT_NONE,
	XIW_LIMIT_STARTUP, /* TCP connect and MPA startup; the way of our frame to the peer */
	XIW_LIMIT_CLOSE,   /* a graceful close, while nothing moves */
	XIW_LIMIT_LAST,	   /* the last message, after an error: whatever moves */
	XIW_LIMIT_POLL,	   /* none: nobody waits at the socket, so it is looked at now and then */
};

enum xiw_conn_state {
	XIW_CONNECTING, /* Initiator: TCP handshake */
	XIW_REQUESTED,	/* Initiator: Request sent, waiting for the Reply */
	XIW_LISTENING,	/* Responder: waiting for the Request */
	XIW_DECIDING,	/* the application has the Request, or the Reply */
	XIW_OPEN,
	XIW_DEAD, /* XIW_EV_CLOSED is out; nothing happens any more */
};

/* ---- the rooms of a connection: each is one file's, which alone writes it where nothing else is said ---- */

/* path/direct.c, handback.c: the time from ARMED -> DIRECT to the next DIRECT -> KERNEL. */
enum xiw_stretch_state {
	XIW_STRETCH_OFF,
	XIW_STRETCH_WAITS, /* frames come, and wait: the socket has not been read up to its start yet */
	XIW_STRETCH_RUNS, /* the fast-path receiver takes segments */
	XIW_STRETCH_ENDS, /* what comes is injected, until the owner word is swapped at the turn's end */
};

struct xiw_stretch {
	struct xiw_rxq *rxq; /* that the last frame came by */
	uint32_t epoch;
	uint32_t committed; /* rcv_nxt in the owner word */
	uint32_t batch;	    /* of the engine, that the last frame was in */
	uint8_t state;	    /* enum xiw_stretch_state */
	bool relink;	    /* no acceptable segment of this batch has said yet where ACKs go */
};

/* What the reports count; each file counts what it does. */
struct xiw_counts {
	uint64_t placed_direct, placed_kernel; /* DDP payload */
	uint64_t stream_direct, stream_kernel; /* stream octets */
	uint64_t fpdus, fpdus_early, messages, crc_errors;
	uint64_t went_direct, went_kernel, armed;
	uint64_t acks_sent, injected, octets_sent;
	uint64_t segs_dropped;		  /* frames refused, for whatever reason */
	uint64_t drops[XIW_TCP_DROP_MAX]; /* of the stretches before this one */
	uint64_t challenges_withheld;	  /* as well */
};

/* Provided buffers that wait for room in the completion queue. */
struct xiw_held {
	uint16_t bid;
	uint32_t off, len;
};

/* path/kernel.c: the kernel path. */
struct xiw_recv {
	uint32_t nxt;  /* wire seq of the next octet the socket will give, from registration on */
	uint32_t skip; /* octets from there that the direct path processed but could not commit */
	bool known;    /* nxt is */
	bool posted;   /* a receive is with io_uring */
	bool hungry;   /* the budget did not have what it needs to go on */
	uint16_t held_head, held_n;
	struct xiw_held *held;			   /* XIW_BUFS of them, made when first needed */
	struct xiw_conn *next_holder, **holder_at; /* in engine->holders while held_n */
	struct xiw_conn *next_starved, **starved_at;
	uint64_t fpdu_ms; /* when the unfinished FPDU last got any further */
};

/* path/packet.c: packets that are kept. */
struct xiw_keeps {
	struct xiw_kept *waiting, **waiting_end; /* for the socket, as they came */
	uint32_t frames;			 /* of these, and of those out of order */
};

/* conn/register.c: how XDP and the engine know the connection. */
struct xiw_registration {
	struct xiw_sock_state sock;
	uint32_t marker_origin;
	uint32_t window;      /* octets to offer in the direct path */
	uint32_t index;	      /* of the slot in the flow table */
	struct xiw_flow last; /* the slot as it was when the connection left it: for the report */
	bool zero_copy;
	uint8_t ip_version;
	uint8_t remote_ip[16], local_ip[16];
	uint8_t l2_len, l2[22];			       /* where ACKs go: path/direct.c */
	struct xiw_conn *next_slotless, **slotless_at; /* in engine->slotless */
};

/* path/inject.c, handback.c, direct.c */
struct xiw_handoff {
	enum xiw_reason reason; /* the stretch that is being left ends for */
	struct xiw_conn *next_falling_back;
	uint64_t control_seen;	     /* control_segs when a frame was last looked at */
	uint32_t injected_tsval;     /* the newest that was injected */
	uint32_t crc_seq, crc_tries; /* a bad CRC, again and again at one place */
	bool want_arm;		     /* the path may be KERNEL: arm at the end of the turn */
};

/* path/route.c: what was last seen of the way that the packets go. */
struct xiw_route {
	bool too_many;	     /* no_direct says that the interface has too many queues */
	uint64_t came, left; /* segments that XDP, and xiw_egress, have counted */
	uint64_t elsewhere;  /* that came by another interface, when XDP last counted one */
	uint64_t came_then; /* XDP's count when the socket first sent what xiw_egress did not see */
	uint32_t sent;	    /* that the socket has sent, when xiw_egress last counted one */
	bool sent_known;
	uint64_t astray_ms, unseen_ms; /* since when it is so; 0: it is not */
};

/* Attempts that got nowhere while the stream stood at one place. */
struct xiw_tries {
	uint32_t at, n;
	uint64_t since_ms, last_ms;
};

/* path/progress.c: what speaks against the direct path. */
struct xiw_progress {
	struct xiw_tries refused;	/* segments that the stream waits for */
	enum xiw_reason refused_reason; /* the last one was, for this */
	uint64_t due_ms;		/* when silence tells, or XIW_NEVER */
	struct xiw_tries unheard;	/* segments that were acknowledged, */
	uint32_t dup_seq, dup_end;	/* and the first of them */
	/* The stretch's first segment came, and the socket was not read up to it; 0: none has. */
	uint64_t waits_ms;

	enum xiw_reason ended_reason; /* a stretch ended so, or none has */
	uint64_t ended_ms;
	uint32_t ended; /* so many in a row */

	/* When the flow was armed last: stretches that XDP had given up, and what the engine had seen of any. */
	bool armed;
	uint32_t taken_back;
	uint64_t seen;
	uint32_t unseen; /* stretches in a row of which no frame came, by weight */
	uint32_t given;	 /* that XDP had given up for want of frames that come */
	uint32_t lost;	 /* of these, such as did miss one, since lost_ms, by weight */
	uint64_t lost_ms;

	bool cut_off;	   /* what the socket sends is not translated, and needs to be */
	bool inject_works; /* an injected segment has come to the socket */
	uint8_t probes;
	uint64_t injected; /* when the socket was last seen to be given one: so many were sent, */
	uint32_t arrived;  /* and so many had come */
	uint32_t resent;   /* the flow's count of data that the socket sent again */
};

/* conn/send.c, fill.c, stage.c */
struct xiw_send {
	struct xiw_mpa_tx mpa;
	struct xiw_ddp_tx ddp;
	struct xiw_queued *queue;
	uint32_t depth, head, count;
	uint32_t staged; /* messages in the stage, not yet reported */
	struct xiw_stage *stage;
	uint32_t stage_len, stage_off;
	uint64_t stage_ms;    /* when it last got any further */
	uint32_t peer_window; /* the largest that the peer was seen to offer */
	bool runs;	      /* writes longer than a segment were in the last stage */
	bool corked;
	bool busy;    /* a send is with io_uring */
	bool allowed; /* RFC 5044 section 7.1.2 rule 4 */
	uint16_t emss;
	uint16_t sack_room; /* octets of a segment that SACK blocks can take; 0: not negotiated */
	uint32_t ooo_seen;  /* packets that the socket has had out of order */
	uint64_t ooo_ms;    /* when that was seen to grow */
	struct xiw_conn *next_stageless, **stageless_at;
};

/* conn/conn.c: its end. */
struct xiw_end {
	bool closing, shut, eof, eof_told;
	bool failing;	  /* in error: the application is to be told at the end of the batch */
	bool known;	  /* the application was given it by a function */
	bool freed;	  /* and has given it back */
	bool closed_told; /* XIW_EV_CLOSED is out */
	bool asked;	  /* for with xiw_conn_ask_end() */
	bool at_once;	  /* without the octets that have arrived */
	int asked_error, error;
	enum xiw_mpa_error mpa_error;
	enum xiw_ddp_error ddp_error;
	uint8_t header[XIW_DDP_HDR_MAX]; /* of the segment that ended the stream */
	uint32_t header_len, segment_len;
	/* Of engine->told: the first and the last completion that names it; 0: none yet. */
	uint64_t first_told, last_told;
	struct xiw_conn *next_ending;
};

/* core/timer.c */
struct xiw_timer {
	uint64_t deadline_ms; /* of `limit`, or XIW_NEVER: set by xiw_conn_deadline() alone */
	enum xiw_limit limit;
	uint8_t stalls;	   /* times in a row that XIW_LIMIT_CLOSE found no more octets */
	uint64_t moved;	   /* than these, both ways */
	uint64_t alive_ms; /* when the socket is told that the peer lives, or XIW_NEVER */
	uint64_t ack_ms;   /* of the delayed ACK, or XIW_NEVER */
	uint64_t at_ms;	   /* its place on the wheel; at: NULL if it has none */
	struct xiw_conn *next, **at;
};

/* conn/startup.c, frames.c, rtr.c */
struct xiw_startup {
	uint8_t private_out[XIW_PRIVATE_DATA_MAX];
	uint8_t in[XIW_MPA_FRAME_MAX]; /* the peer's frame as far as it is here */
	uint32_t in_len, in_need;
	struct xiw_mpa_frame peer; /* its pd points into `in` */
	struct xiw_mpa_terms terms;
	/* To be sent: the last streaming message, then our frame and at most one FPDU. */
	uint8_t *streaming;
	uint32_t streaming_len, out_len, out_off;
	uint8_t out[XIW_MPA_FRAME_MAX + XIW_STARTUP_FPDU_MAX];
	bool receiving;	 /* a receive, or the poll while deciding, is with io_uring */
	bool upgraded;	 /* the socket was the application's */
	bool surplus;	 /* octets behind a frame where none may be */
	bool rejected;	 /* out of MPA, the TCP connection left open */
	bool rtr_wait;	 /* Responder: RFC 6581's indication has not come yet */
	bool depths_set; /* by the application, for this connection */
	int refusing;	 /* errno to end with when the Terminate message is out */
	int local_error; /* Responder: errno of what the first FPDU is answered with */
	/* While rtr_wait: the first FPDU, its CRC verified. 1: consumed; 0: it is DDP's; negative: reported. */
	int (*gate)(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t payload);
};

/* conn/unstarted.c: its places in engine->unstarted while chain_at is set. */
struct xiw_waiting_room {
	struct xiw_listener *listener;
	uint64_t peer_key, accepted_ms;
	struct xiw_conn *next, *prev, *chain_next, **chain_at;
};

struct xiw_addresses {
	struct sockaddr_storage local, remote;
	socklen_t remote_len;
};

struct xiw_conn {
	/* Line 0: all that a segment needs but the receiver's state. */
	struct xiw_flow *flow; /* NULL: not registered with XDP */
	struct xiw_netif *netif;
	struct xiw_conn *next_dirty;
	struct xiw_stretch stretch;
	bool dirty; /* in engine->dirty or engine->settling */
	bool crc;
	bool rx_dead; /* in error: nothing is passed up any more */

	/* Line 1 on: the receiver's state, its own hot line first. */
	struct xiw_tcp_rx tcp;

	/* What an FPDU needs. */
	struct xiw_ddp_rx *ddp;
	struct xiw_mpa_stream mpa;
	const struct xiw_ulp *ulp; /* NULL: the application */
	void *ulp_ctx;
	struct xiw_engine
		*engine; /* NULL: it is gone, and only xiw_conn_free() is left to be called */
	struct xiw_counts counts;

	/* What a batch or a turn needs. */
	enum xiw_conn_state state;
	int fd;
	uint32_t ops; /* with io_uring */
	uint32_t id;
	struct xiw_recv recv;
	struct xiw_keeps keeps;
	struct xiw_timer timer;
	struct xiw_send send;
	struct xiw_handoff handoff;
	struct xiw_end end;

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
	/* That it has of the budget until it is freed; buffers that come and go are not in it. */
	size_t memory;
	bool initiator;
	char no_direct[96];
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct xiw_conn, tcp) == 64,
	       "a segment needs line 0 and the receiver's state");

/* A stretch is under way, and has not been given up. */
static inline bool xiw_stretch_live(const struct xiw_conn *c)
{
	return c->stretch.state == XIW_STRETCH_WAITS || c->stretch.state == XIW_STRETCH_RUNS;
}

struct xiw_listener {
	struct xiw_engine *engine; /* NULL: it is gone */
	struct xiw_listener *next;
	int fd;
	struct xiw_sock_was sock_was;
	int told;	   /* the error that the application knows of, until an accept succeeds */
	uint64_t retry_ms; /* nothing is to be had now: accept again then, or XIW_NEVER */
	bool closing, armed;
	bool freed; /* by the application; else it is kept until then, also without its engine */
	struct xiw_orphan orphan;
	uint32_t unstarted;  /* connections in engine->unstarted */
	uint64_t crowded_ms; /* when one was last reset for want of room there */
	struct xiw_conn_opts opts;
} __attribute__((aligned(64)));

#endif

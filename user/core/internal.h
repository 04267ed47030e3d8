/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine's insides, shared by the folders core, path, conn, engine and ulp. */
#ifndef XIW_CORE_INTERNAL_H
#define XIW_CORE_INTERNAL_H

#include <liburing.h>
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/xiwarp.h>

#include "ddp/recv.h"
#include "ddp/tx.h"
#include "core/budget.h"
#include "core/policy.h"
#include "handoff/owner.h"
#include "handoff/inject.h"
#include "handoff/sock.h"
#include "handoff/table.h"
#include "mpa/enhanced.h"
#include "mpa/startup.h"
#include "mpa/stream.h"
#include "mpa/tx.h"
#include "tcp/recv.h"
#include "netif/xsk.h"

#define XIW_BATCH 64
#define XIW_SQ_ENTRIES 512
#define XIW_BUFS 128u /* provided buffers for the fallback sockets */
#define XIW_BUF_SIZE (64u << 10)
#define XIW_BUF_GROUP 0
#define XIW_STARTUP_FPDU_MAX 64u  /* an FPDU with no payload, or with RDMAP's Terminate */
#define XIW_TX_STAGE (256u << 10) /* octets given to TCP in one send */
#define XIW_NEVER UINT64_MAX
#define XIW_WHEEL 512u /* milliseconds: most delayed ACKs are due within */

/*
 * Aligned segments in a row before a connection that left the direct path goes back to it. A hand-off
 * costs as much as some ten segments; and a segment can look aligned by chance, but hardly so many.
 */
#define XIW_RUN 8

/*
 * The most completions that one received packet can cause: an FPDU takes 20 octets at least. While
 * the queue has less room, no batch of packets is taken, and no FPDU from a socket.
 */
#define XIW_CQ_RESERVE 1024u

/* What an io_uring completion is about: in the low bits of its user_data, above an aligned pointer. */
enum xiw_op {
	XIW_OP_NONE, /* nobody waits for it */
	XIW_OP_ACCEPT,
	XIW_OP_CONNECT,
	XIW_OP_RECV,
	XIW_OP_SEND,
	XIW_OP_POLL_XSK,
	XIW_OP_KICK_XSK,
	XIW_OP_STARTUP,
	XIW_OP_WATCH,
	XIW_OP_DOORBELL, /* it failed */
};
#define XIW_OP_MASK 15ull

/* One RX queue of an interface with its AF_XDP socket. */
struct xiw_rxq {
	struct xiw_xsk xsk;
	struct xiw_port *port;
	struct xiw_queue *shared; /* beat and drained, for the watchdog */
	uint32_t batch; /* packets at once: some 100 KB, for then the peer waits for an ACK */
	bool mapped;	/* XDP finds the socket */
	bool polled;	/* a poll is with io_uring */
	bool kicking;	/* a TX kick is with io_uring */
} __attribute__((aligned(64)));

/* An interface with the programs loaded. */
struct xiw_port {
	struct xiw_port *next;
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint8_t mac[6];
	uint32_t mtu;
	uint32_t xdp_id, tc_id; /* of the programs that its connections need */
	bool outgrown;		/* the MTU has become larger than its frames */
	bool frames_come;	/* AF_XDP has delivered one at least */
	bool has_carried;	/* a stretch has committed something */
	bool virtual_wire;	/* veth: a sender may leave its TCP checksums unfinished */
	struct xiw_table table;
	struct xiw_rxq *queues;
	uint32_t nqueues;
	uint32_t
		channels; /* that the interface has: of more than XIW_MAX_QUEUES only so many are served */
	struct xiw_conn **by_flow; /* XIW_MAX_FLOWS */
};

/* A kept out-of-order segment: its frames, and what the TCP receiver links it by. */
struct xiw_kept {
	struct xiw_tcp_keep node;
	struct xiw_packet packet;
	struct xiw_rxq *rxq;
	struct xiw_meta meta;
	uint32_t placed_from,
		placed_to;   /* wire seq: FPDUs that are in place already; equal: none */
	uint64_t generation; /* of the regions then: if another now, the place may be another's */
	struct xiw_conn *conn;
	uint8_t frames; /* that count as kept */
	struct xiw_kept *next_free;
};

/* A segment in its frames. */
struct xiw_segment {
	const struct xiw_packet *packet;
	const struct xiw_meta *meta;
};

/* An object that has outlived its engine, in orphan.c's list. */
struct xiw_orphan {
	struct xiw_orphan *next, **at;
};

/* Options of a socket before the library changed them. */
struct xiw_sock_was {
	int nodelay, oobinline;
	int rcvbuf, locks; /* rcvbuf 0: not changed */
	int limits[5];	   /* of keepalive and the user time-out */
	bool limited;	   /* they were changed */
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

/* A ULP inside the library, between a connection and the application. */
struct xiw_ulp {
	/* Has every completion first. False: the application is to have it as it is. */
	bool (*completion)(struct xiw_conn *c, const struct xiw_completion *done);
	/*
	 * May this segment, which DDP has a place for, be placed? 0, or a number of the ULP's, which refuse() is then
	 * called with if the segment's CRC is right and it is in its turn; c->error_header has its header by then.
	 */
	int (*check)(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t len,
		     const struct xiw_ddp_place *p, bool in_turn);
	void (*refuse)(struct xiw_conn *c, int why);
	/* A message that DDP has delivered; c->error_header has the header of its last segment. */
	void (*message)(struct xiw_conn *c, const struct xiw_ddp_msg *m);
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
	XIW_LIMIT_LOOK,	   /* none: nobody waits at the socket, so it is looked at now and then */
};

enum xiw_conn_state {
	XIW_CONNECTING, /* Initiator: TCP handshake */
	XIW_REQUESTED,	/* Initiator: Request sent, waiting for the Reply */
	XIW_LISTENING,	/* Responder: waiting for the Request */
	XIW_DECIDING,	/* the application has the Request, or the Reply */
	XIW_OPEN,
	XIW_DEAD, /* XIW_EV_CLOSED is out; nothing happens any more */
};

/* What was last seen of the way that a connection's packets go: paths.c. */
struct xiw_paths {
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

/* progress.c: what speaks against the direct path. */
struct xiw_stuck {
	struct xiw_tries refused;  /* segments that the stream waits for */
	enum xiw_reason why;	   /* the last one was */
	uint64_t due_ms;	   /* when silence tells, or XIW_NEVER */
	struct xiw_tries unheard;  /* segments that were acknowledged, */
	uint32_t dup_seq, dup_end; /* and the first of them */
	uint64_t
		waits_ms; /* the stretch's first segment came, and the socket was not read up to it; 0: none has */

	enum xiw_reason ended_why; /* a stretch ended so, or none has */
	uint64_t ended_ms;
	uint32_t ended; /* so many in a row */

	/* When the flow was armed last: stretches that XDP had given up, and what the engine had seen of any. */
	bool armed;
	uint32_t taken_back;
	uint64_t seen;
	uint32_t unseen; /* stretches in a row of which no frame came */
	uint32_t given;	 /* that XDP had given up for want of frames that come */
	uint32_t lost;	 /* of these, such as did miss one, since lost_ms */
	uint64_t lost_ms;

	bool cut_off;	   /* what the socket sends is not translated, and needs to be */
	bool inject_works; /* an injected segment has come to the socket */
	uint8_t probes;
	uint64_t injected; /* when the socket was last seen to be given one: so many were sent, */
	uint32_t arrived;  /* and so many had come */
	uint32_t resent;   /* the flow's count of data that the socket sent again */
};

/* Accepted connections before their stream begins, oldest first; and by peer, newest first. */
#define XIW_UNSTARTED_CHAINS 256u
struct xiw_unstarted {
	struct xiw_conn *first, *last;
	struct xiw_conn *chains[XIW_UNSTARTED_CHAINS];
	uint64_t secret, resets;
	uint32_t n;
};

struct xiw_conn {
	/* Direct path. */
	struct xiw_flow *flow; /* NULL: not registered with XDP */
	struct xiw_port *port;
	struct xiw_rxq *rxq; /* that the last frame came by */
	uint32_t epoch;	     /* of the stretch under way */
	uint32_t committed;  /* rcv_nxt in the owner word */
	uint32_t batch;	     /* of the engine, that the last frame was in */
	bool direct;	     /* the stretch `epoch` is under way */
	bool leaving;  /* it ends here: what comes is injected, until xiw_leave() swaps the owner */
	bool draining; /* its frames wait: the socket has not been read up to its start yet */
	bool dirty;    /* in engine->dirty or engine->settling */
	bool want_arm; /* the path may be KERNEL: arm at the end of the turn */
	bool crc;
	bool rx_dead; /* in error: nothing is passed up any more */
	bool relink;  /* no acceptable segment of this batch has said yet where ACKs go */
	struct xiw_conn *next_dirty;
	struct xiw_tcp_rx tcp;		       /* its hot line is this one's next */
	uint64_t placed_direct, placed_kernel; /* DDP payload */
	uint64_t stream_direct, stream_kernel; /* stream octets */
	uint64_t fpdus, fpdus_early, messages, crc_errors;
	struct xiw_ddp_rx *ddp;
	struct xiw_mpa_stream mpa;

	/* Kernel path. */
	uint32_t
		stream_nxt; /* wire seq of the next octet the socket will give, from registration on */
	bool placed;	    /* that is known */
	uint32_t skip; /* octets from there that the direct path processed but could not commit */
	struct xiw_kept *early,
		**early_end;  /* frames of a stretch that is draining, as they came */
	uint32_t kept_frames; /* early, or out of order */
	bool recv_armed;
	uint16_t held_head,
		held_n; /* provided buffers that wait for room in the completion queue */
	struct xiw_held {
		uint16_t bid;
		uint32_t off, len;
	} * held;				   /* XIW_BUFS of them, made when first needed */
	struct xiw_conn *next_holder, **holder_at; /* in engine->holders while held_n */
	struct xiw_conn *next_starved, **starved_at;
	struct xiw_conn *next_stageless, **stageless_at;
	struct xiw_conn *next_slotless, **slotless_at; /* in engine->slotless */

	/* Hand-off. */
	struct xiw_sock_state sock;
	uint32_t marker_origin;
	uint32_t window;       /* octets to offer in the direct path */
	uint64_t control_seen; /* control_segs when a frame was last looked at */
	uint32_t flow_index;
	struct xiw_paths paths;
	enum xiw_reason why; /* the stretch that is being left ends */
	struct xiw_conn *next_leaving;
	uint64_t went_direct, went_kernel, acks_sent, injections, armed;
	uint64_t segs_dropped;		  /* frames refused, for whatever reason */
	uint32_t injected_tsval;	  /* the newest that was injected */
	uint32_t crc_seq, crc_tries;	  /* a bad CRC, again and again at one place */
	uint64_t drops[XIW_TCP_DROP_MAX]; /* of the stretches before this one */
	uint64_t challenges_withheld;	  /* as well */
	struct xiw_flow last; /* the slot as it was when the connection left it: for the report */
	struct xiw_stuck stuck;
	uint8_t l2[22];
	uint8_t l2_len;
	uint8_t ip_version;
	uint8_t remote_ip[16], local_ip[16];

	/* Sending. */
	struct xiw_mpa_tx mpa_tx;
	struct xiw_ddp_tx ddp_tx;
	struct xiw_queued *sendq;
	uint32_t send_depth, send_head, send_count,
		send_sent; /* sent: in the stage, not yet reported */
	uint8_t *stage;
	uint32_t stage_len, stage_off;
	uint32_t peer_window; /* the largest that the peer was seen to offer */
	bool tx_runs;	      /* writes longer than a segment were in the last stage */
	bool tx_corked;
	uint16_t emss;
	uint16_t sack_room; /* octets of a segment that SACK blocks can take; 0: not negotiated */
	uint32_t ooo_seen;  /* packets that the socket has had out of order */
	uint64_t ooo_ms;    /* when that was seen to grow */
	bool sending;	    /* a send is with io_uring */
	bool may_send;	    /* RFC 5044 section 7.1.2 rule 4 */
	uint64_t octets_sent;

	/* Life. */
	struct xiw_engine
		*engine; /* NULL: it is gone, and only xiw_conn_free() is left to be called */
	struct xiw_orphan orphan;
	size_t memory; /* that it has of the budget until it is freed; buffers that come and go are not in it */
	uint64_t fpdu_ms,
		stage_ms; /* when the unfinished FPDU, what is to be sent, last got any further */
	bool hungry;	  /* the budget did not have what it needs to go on */
	struct xiw_conn *next, *prev;
	int fd;
	struct xiw_sock_was sock_was;
	enum xiw_conn_state state;
	bool initiator, closing, shut, eof, eof_told, failing;
	bool known;	  /* the application was given it by a function */
	bool freed;	  /* and has given it back */
	bool closed_told; /* XIW_EV_CLOSED is out */
	/* Of engine->told: the first and the last completion that names it; 0: none yet. */
	uint64_t first_told, last_told;
	int error;
	enum xiw_mpa_error mpa_error;
	enum xiw_ddp_error ddp_error;
	uint8_t error_header[XIW_DDP_HDR_MAX];
	uint32_t error_header_len, error_segment_len;
	uint32_t ops;	      /* with io_uring */
	uint64_t deadline_ms; /* of `limit`, or XIW_NEVER: set by xiw_conn_deadline() alone */
	enum xiw_limit limit;
	uint64_t moved; /* octets both ways when XIW_LIMIT_CLOSE last looked */
	uint8_t stalls; /* times in a row that it found no more */
	bool ending;	/* asked for with xiw_conn_ask_end() */
	bool at_once;	/* without the octets that have arrived */
	int end_error;
	struct xiw_conn *next_ending;
	uint64_t vouch_ms; /* when the socket is told that the peer lives, or XIW_NEVER */
	uint64_t ack_ms;   /* of the delayed ACK, or XIW_NEVER */
	uint64_t timer_ms; /* its place on the wheel; timer_at: NULL if it has none */
	struct xiw_conn *timer_next, **timer_at;
	struct xiw_conn_opts opts;
	const struct xiw_ulp *ulp; /* NULL: the application */
	void *ulp_ctx;
	/* Startup. */
	struct xiw_listener *listener; /* in engine->unstarted while chain_at is set */
	uint64_t peer_key, accepted_ms;
	struct xiw_conn *unstarted_next, *unstarted_prev, *chain_next, **chain_at;
	uint8_t private_out[XIW_PRIVATE_DATA_MAX];
	uint8_t startup[XIW_MPA_FRAME_MAX]; /* the peer's frame as far as it is here */
	uint32_t startup_len, startup_need;
	struct xiw_mpa_frame peer; /* its pd points into startup */
	struct xiw_mpa_terms terms;
	/* To be sent: the last streaming message, then our frame and at most one FPDU. */
	uint8_t *streaming;
	uint32_t streaming_len, reply_len, startup_off;
	uint8_t reply[XIW_MPA_FRAME_MAX + XIW_STARTUP_FPDU_MAX];
	bool startup_recv;    /* a receive, or the poll while deciding, is with io_uring */
	bool startup_sending; /* the send under way is of the above */
	bool upgraded;	      /* the socket was the application's */
	bool surplus;	      /* octets behind a frame where none may be */
	bool rejected;	      /* out of MPA, the TCP connection left open */
	bool rtr_wait;	      /* Responder: RFC 6581's indication has not come yet */
	int refusing;	      /* errno to end with when the Terminate message is out */
	int local_error;      /* Responder: errno of what the first FPDU is answered with */
	bool depths_set;      /* by the application, for this connection */

	struct sockaddr_storage local, remote;
	socklen_t remote_len;
	bool zero_copy;
	char no_direct[96];
	uint32_t id;
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct xiw_conn, tcp) == 64,
	       "a segment's state: one line, and the receiver's");

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

struct xiw_region {
	struct xiw_engine *engine;     /* NULL: it is gone */
	struct xiw_region *next, **at; /* in engine->own_regions */
	struct xiw_orphan orphan;
	uint64_t serial;
	uint32_t stag;
};

/* A completion in the queue, and the connection or listener that it is of; NULL: it is freed, nobody gets this. */
struct xiw_entry {
	struct xiw_completion done;
	const void *owner;
};

struct xiw_engine {
	struct xiw_engine *next_engine; /* of the process */
	bool forked; /* in a child: the parent's, and nothing can be done with it */
	struct io_uring ring;
	bool ring_ready, ring_enabled;
	bool ring_orphan; /* the thread that ran it has ended */
	pthread_mutex_t runner;
	/* Requests that wait for room in the submission queue, from line_head on. */
	struct io_uring_sqe *line, nowhere;
	uint32_t line_head, line_n, line_room;
	struct xiw_engine_opts opts;
	char pin_dir[433]; /* as long as xiw_load() takes it */
	enum xiw_crc_policy crc_policy;

	/* Completion queue: this thread writes tail, xiw_engine_next() head. */
	struct xiw_entry *cq;
	uint32_t cq_mask;
	uint32_t cq_tail __attribute__((aligned(64)));
	uint32_t cq_head __attribute__((aligned(64)));
	/*
	 * Events that found the queue full: bounded by what the application has queued and posted, and by the messages
	 * in one batch of packets and those kept behind a gap that it fills.
	 */
	struct xiw_entry *overflow __attribute__((aligned(64)));
	size_t overflow_n, overflow_room, overflow_head; /* a ring */
	uint64_t told;	 /* completions, since the engine was made */
	bool destroying; /* xiw_engine_destroy() is under way */
	bool lost_event;
	int doorbell_error; /* that the application has not heard of */
	uint64_t doorbells_lost;
	struct xiw_budget budget;
	bool short_of_memory; /* somebody is hungry: xiw_reclaim() */
	uint64_t reclaim_ms;  /* not sooner, unless a connection cannot read on */
	uint32_t nconns;

	struct xiw_port *ports;
	struct xiw_port *retired; /* out of use, until io_uring has let go of them */
	struct {
		char ifname[IF_NAMESIZE];
		int err;
		uint64_t until_ms; /* for so long nobody tries again */
		char why[96];
	} refused;	       /* the interface whose AF_XDP sockets could not be had last */
	int watch_fd;	       /* news of interfaces and filters; -1: none */
	bool look_now;	       /* some news is of what is looked at at once */
	bool news_read;	       /* since the octets were read that io_uring has just brought */
	bool watching;	       /* a poll on it is with io_uring */
	uint64_t addresses_ms; /* when local addresses are looked at; 0: not at all */
	uint64_t watch_ms;     /* when ports are looked at without news, or XIW_NEVER */
	/* By xiw_engine_prepare(): the interface that could not be opened, and why. */
	bool prepared;
	char unready[IF_NAMESIZE], unready_why[96];
	struct xiw_conn *conns;
	struct xiw_conn *dirty;
	struct xiw_conn *settling; /* were dirty: acknowledged, and about to send */
	struct xiw_conn *leaving;  /* never from one turn to the next */
	struct xiw_conn *ending;   /* asked to end; the turn sees to it */
	struct xiw_unstarted unstarted;
	struct xiw_listener *listeners;
	struct xiw_listener
		*closed_listeners;	/* that it has ended, and the application has not freed */
	struct xiw_region *own_regions; /* the application's; their memory is in `regions` */
	uint32_t accepts;		/* with io_uring */
	struct xiw_ddp_table regions;
	struct xiw_injector injector;
	struct xiw_kept *kept, *kept_free;
	uint32_t kept_total, kept_frames; /* packets that can be kept; frames that are */

	struct io_uring_buf_ring *bufs;
	uint8_t *buf_area;
	uint32_t bufs_out; /* not with the kernel */

	struct stage *stages; /* of send.c, for whoever has something to send */
	uint32_t nstages;
	struct xiw_conn *holders; /* with octets for which the completion queue had no room */
	struct xiw_conn *starved, **starved_end; /* stopped receiving for want of a buffer */
	struct xiw_conn *stageless,
		**stageless_end; /* would send, but there is no memory for a stage */
	struct xiw_conn *slotless, **slotless_end; /* would go direct, but the flow table is full */

	uint64_t now_ms, now_ns;
	int64_t clock_lead;    /* of this process's clock before that of the BPF programs, in ns */
	uint64_t next_scan_ms; /* the wheel and abandoned slots are looked at when this has come */
	uint64_t wheel_ms;     /* everything up to here was looked at */
	struct xiw_conn *wheel[XIW_WHEEL];
	uint32_t timers;     /* on it */
	uint64_t collect_ms; /* when abandoned slots are looked for, or XIW_NEVER */
	uint32_t next_id;
	uint32_t batch; /* counts them */
	struct xiw_packet packets[XIW_BATCH];
};

/* cq.c */
void xiw_complete(struct xiw_engine *e, const struct xiw_completion *c);
void xiw_complete_app(struct xiw_engine *e, const struct xiw_completion *c);
void xiw_complete_listener(struct xiw_listener *l, const struct xiw_completion *c);
void xiw_cq_forget(struct xiw_engine *e, const void *owner);
void xiw_cq_forget_conn(const struct xiw_conn *c);
/* Has the application taken a completion that names it? */
bool xiw_cq_heard(const struct xiw_conn *c);
void xiw_cq_drain(struct xiw_engine *e);
void xiw_doorbell_failed(struct xiw_engine *e, int error);
void xiw_overflow_free(struct xiw_engine *e);

/* ring.c */
enum xiw_ring_owner {
	XIW_RING_NOBODYS, /* nobody has run it, or the thread that did has ended */
	XIW_RING_MINE,
	XIW_RING_ANOTHERS,
};
int xiw_ring_create(struct xiw_engine *e);
void xiw_ring_free(struct xiw_engine *e);
enum xiw_ring_owner xiw_ring_owner(struct xiw_engine *e);
int xiw_ring_run(struct xiw_engine *e); /* -EEXIST: another thread's */
struct io_uring_sqe *xiw_sqe(struct xiw_engine *e, void *object, enum xiw_op op);
int xiw_ring_submit(struct xiw_engine *e);
int xiw_ring_submit_and_get(struct xiw_engine *e);
int xiw_ring_submit_and_wait(struct xiw_engine *e, struct __kernel_timespec *ts);
bool xiw_ring_is_one(int fd);
void xiw_buf_return(struct xiw_engine *e, uint16_t bid);

/* engine.c */
static inline uint32_t xiw_cq_room(const struct xiw_engine *e)
{
	return e->cq_mask + 1 - (e->cq_tail - __atomic_load_n(&e->cq_head, __ATOMIC_ACQUIRE));
}
void xiw_conn_event(struct xiw_conn *c, enum xiw_event event, int status);
void xiw_wake_at(struct xiw_engine *e, uint64_t ms);
void xiw_look_at_clock(struct xiw_engine *e);
/* How far a time namespace has moved this process's CLOCK_MONOTONIC; BPF programs know the host's alone. */
int64_t xiw_clock_lead(void);

/* Every time that BPF programs are to compare with theirs is this one. */
static inline uint64_t xiw_bpf_clock(const struct xiw_engine *e)
{
	return e->now_ns - (uint64_t)e->clock_lead;
}
void xiw_dirty(struct xiw_conn *c);
static inline void xiw_segment_dropped(struct xiw_conn *c)
{
	c->segs_dropped++;
	xiw_dirty(c);
}

/* sockopts.c */
void xiw_sock_prepare(int fd, const struct xiw_engine *e, enum xiw_use_path path,
		      struct xiw_sock_was *was);
void xiw_sock_limit(int fd, const struct xiw_conn_opts *opts, struct xiw_sock_was *was);
void xiw_sock_restore(int fd, const struct xiw_sock_was *was);

/* orphan.c */
void xiw_orphan_join(struct xiw_orphan *o);
void xiw_orphan_leave(struct xiw_orphan *o);

bool xiw_poll_queue(struct xiw_engine *e, struct xiw_rxq *q);

/*
 * timer.c: `c` is looked at when its deadline_ms or ack_ms has come. xiw_conn_deadline() is the one way to set a
 * deadline, or to take it away (XIW_LIMIT_NONE): xiw_conn_limit() is called when it has come.
 */
void xiw_conn_deadline(struct xiw_conn *c, enum xiw_limit limit, unsigned int ms);
void xiw_conn_deadline_at(struct xiw_conn *c, enum xiw_limit limit, uint64_t at_ms);
void xiw_timer(struct xiw_conn *c);
void xiw_timer_stop(struct xiw_conn *c);
void xiw_timers_run(struct xiw_engine *e);
void xiw_collect_soon(struct xiw_engine *e);

/* port.c */
void xiw_port_free(struct xiw_port *p);
struct ifaddrs;
const struct ifaddrs *xiw_address_of(const struct ifaddrs *all,
				     const struct sockaddr_storage *local);
int xiw_port_find(const struct sockaddr_storage *local, char name[IF_NAMESIZE]);
int xiw_port_by_name(struct xiw_engine *e, const char *name, struct xiw_port **port, char *why,
		     size_t why_len);
void xiw_port_refresh(struct xiw_port *p);
void xiw_ports_free(struct xiw_engine *e);
void xiw_port_poll(struct xiw_engine *e, struct xiw_rxq *q);
void xiw_port_kick(struct xiw_engine *e, struct xiw_rxq *q);
void xiw_acks_out(struct xiw_engine *e);

/* register.c */
int xiw_conn_port(struct xiw_conn *c, struct xiw_port **port);
int xiw_conn_register(struct xiw_conn *c);
void xiw_conn_unregister(struct xiw_conn *c);

/* fork.c */
void xiw_fork_watch(struct xiw_engine *e);
void xiw_fork_forget(struct xiw_engine *e);

/* paths.c */
void xiw_paths_begin(struct xiw_conn *c);
bool xiw_conn_may_arm(struct xiw_conn *c);
bool xiw_paths_look(struct xiw_conn *c);

/*
 * unstarted.c. admit: a connection of this peer may be taken: 0; -EUSERS: for another one's place, which was reset;
 * -EBUSY: not even so, as all wait for the application.
 */
unsigned int xiw_unstarted_default(void);
int xiw_unstarted_admit(struct xiw_listener *l, const struct sockaddr_storage *peer);
bool xiw_unstarted_make_way(struct xiw_engine *e);
void xiw_unstarted_join(struct xiw_conn *c, struct xiw_listener *l);
void xiw_unstarted_leave(struct xiw_conn *c);
void xiw_unstarted_orphan(struct xiw_listener *l);

/* reclaim.c */
void xiw_reclaim(struct xiw_engine *e);

/* slot.c */
void xiw_slot_wait(struct xiw_conn *c);
void xiw_slot_forget(struct xiw_conn *c);
void xiw_slot_describe(struct xiw_conn *c);
void xiw_slots_retry(struct xiw_engine *e);

/* watch.c */
void xiw_watch_begin(struct xiw_engine *e);
void xiw_watch_event(struct xiw_engine *e);
void xiw_watch_read(struct xiw_engine *e);
void xiw_watch_scan(struct xiw_engine *e);
void xiw_watch_soon(struct xiw_engine *e);
void xiw_watch_sweep(struct xiw_engine *e);
bool xiw_port_usable(struct xiw_port *p, char *why, size_t why_len);

/* direct.c */
unsigned int xiw_direct_poll(struct xiw_engine *e, struct xiw_rxq *q);
void xiw_direct_settle(struct xiw_conn *c);
void xiw_direct_news(struct xiw_conn *c);
void xiw_direct_drained(struct xiw_conn *c);

/* settle.c: once a turn, for each dirty connection */
void xiw_account(const struct xiw_conn *c);
/* progress.c */
/* Frames of the flow get here, whatever becomes of them: XDP is told where the stream does not go on by them. */
static inline void xiw_looked(struct xiw_conn *c)
{
	__atomic_store_n(&c->flow->looked, c->flow->looked + 1, __ATOMIC_RELAXED);
}

/* Where the stream stands, in wire numbers: what comes there is waited for. */
static inline uint32_t xiw_stream_at(const struct xiw_conn *c)
{
	return c->draining ? c->stream_nxt : c->tcp.rcv_nxt;
}
/*
 * The stream waits for the octets of a segment that was refused for `why`. True: once too often, and the connection
 * has fallen back, with `in_hand` (or NULL) given to the socket.
 */
bool xiw_no_progress(struct xiw_conn *c, enum xiw_reason why, const struct xiw_segment *in_hand);
void xiw_not_heard(struct xiw_conn *c, const struct xiw_segment *s, uint32_t seq, uint32_t end);
bool xiw_waits_too_long(struct xiw_conn *c, const struct xiw_segment *s);
void xiw_progress_due(struct xiw_conn *c);
void xiw_progress_say(struct xiw_conn *c);
void xiw_progress_begin(struct xiw_conn *c);
void xiw_progress_end(struct xiw_conn *c);
void xiw_progress_resent(struct xiw_conn *c, uint32_t resent);
bool xiw_progress_may_arm(struct xiw_conn *c);
void xiw_conn_bar(struct xiw_conn *c, enum xiw_reason why);
bool xiw_conn_barred(const struct xiw_conn *c);

/* early.c: false if a CRC is wrong, so that the segment is not to be kept */
bool xiw_early_place(struct xiw_conn *c, struct xiw_kept *k);

/* handback.c */
void xiw_fall_back(struct xiw_conn *c, enum xiw_reason why, const struct xiw_segment *in_hand);
void xiw_inject_late(struct xiw_conn *c, const struct xiw_segment *s);
void xiw_leave(struct xiw_conn *c);
void xiw_ownership_lost(struct xiw_conn *c);
void xiw_stale_segment(struct xiw_conn *c, const struct xiw_packet *p, const struct xiw_meta *meta);
void xiw_inject_old(struct xiw_conn *c, const struct xiw_segment *s);
void xiw_inject_news(struct xiw_conn *c);
void xiw_inject_probe(struct xiw_conn *c);
void xiw_try_arm(struct xiw_conn *c, uint32_t run);
unsigned int xiw_payload(const struct xiw_packet *p, const struct xiw_meta *meta, uint32_t off,
			 uint32_t len, struct xiw_vec v[XIW_XSK_FRAGS_MAX]);
uint32_t xiw_segment_seq(const struct xiw_packet *p, const struct xiw_meta *meta);
void xiw_kept_free(struct xiw_engine *e, struct xiw_kept *k);

/* fpdu.c: 0; -EBADMSG for a wrong CRC; -EPROTO when the stream has failed (already reported). */
enum xiw_fpdu_how {
	XIW_FPDU_KERNEL = 0,	  /* from the socket */
	XIW_FPDU_DIRECT = 1 << 0, /* from a frame */
	XIW_FPDU_BOUNDED =
		1 << 1, /* it ends where its segment does: its length has a second witness */
	XIW_FPDU_PLACED = 1 << 2, /* verified and placed when it came, out of order */
};
int xiw_fpdu_accept(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		    unsigned int n, unsigned int how);
/* A message to the application. */
void xiw_deliver(struct xiw_conn *c, const struct xiw_ddp_msg *m);
int xiw_fpdu_early(struct xiw_conn *c, const struct xiw_fpdu *f, const struct xiw_vec *v,
		   unsigned int n);

/* stream.c */
void xiw_recv_arm(struct xiw_conn *c);
void xiw_recv_done(struct xiw_conn *c, int res, uint32_t flags);
void xiw_stream_resume(struct xiw_conn *c);
void xiw_stream_forget(struct xiw_conn *c);
void *xiw_stream_resize(void *ctx, void *p, size_t from, size_t to);

/* send.c */
void xiw_send_pump(struct xiw_conn *c);
void xiw_send_done(struct xiw_conn *c, int res);
void xiw_send_flush(struct xiw_conn *c);
void xiw_stages_free(struct xiw_engine *e);
void xiw_stage_free(struct xiw_conn *c);
void xiw_stage_forget(struct xiw_conn *c);
void xiw_stage_retry(struct xiw_engine *e);
void xiw_send_cancel(struct xiw_conn *c);
/* xiw_conn_send(), for a ULP. */
int xiw_send(struct xiw_conn *c, const struct xiw_message *m);
int xiw_send_from_region(struct xiw_conn *c, const struct xiw_message *m);

/* connect.c */
void xiw_accept_done(struct xiw_listener *l, int res, uint32_t flags);
void xiw_not_accepted(struct xiw_listener *l, int err);
void xiw_accept_again(struct xiw_engine *e);
void xiw_listeners_end(struct xiw_engine *e);
void xiw_listeners_detach(struct xiw_engine *e);
void xiw_connect_done(struct xiw_conn *c, int res);
bool xiw_connect_again(struct xiw_conn *c);

/* startup.c */
void xiw_startup_begin(struct xiw_conn *c, const struct xiw_upgrade *upgrade);
void xiw_startup_done(struct xiw_conn *c, int res);
void xiw_startup_send(struct xiw_conn *c);
void xiw_startup_sent(struct xiw_conn *c, int res);
void xiw_startup_timeout(struct xiw_conn *c);

/* rtr.c */
void xiw_rtr_send(struct xiw_conn *c);
int xiw_rtr_take(struct xiw_conn *c, const struct xiw_ddp_hdr *h, uint32_t payload);
void xiw_terminate(struct xiw_conn *c, enum xiw_mpa_error code, int error);

/* opts.c: from the application's, of whatever size, to complete ones; -EINVAL */
int xiw_conn_opts_take(struct xiw_conn_opts *own, const struct xiw_conn_opts *theirs,
		       bool initiator);
/* region.c */
void xiw_regions_detach(struct xiw_engine *e);
int xiw_random(void *ctx, uint32_t *number);

/* conn.c */
int xiw_conn_new(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
		 struct xiw_conn **conn);
/* xiw_conn_post_recv(), for a ULP. */
int xiw_post_recv(struct xiw_conn *c, uint32_t qn, void *buf, uint32_t len, uint64_t user_data);
bool xiw_conn_charge(struct xiw_conn *c, size_t n);
int xiw_conn_equip(struct xiw_conn *c);
int xiw_conn_new_equipped(struct xiw_engine *e, bool initiator, const struct xiw_conn_opts *opts,
			  struct xiw_conn **conn);
void xiw_conn_stream_error(struct xiw_conn *c, enum xiw_mpa_error mpa, enum xiw_ddp_error ddp);
void xiw_conn_failed(struct xiw_conn *c);
/*
 * Ends it now. Never from inside a delivery, where a caller up the stack goes on with the connection, and not
 * while octets that have arrived wait to be delivered: xiw_conn_ask_end(), below, is for these.
 */
void xiw_conn_end(struct xiw_conn *c, int error);
void xiw_conn_maybe_end(struct xiw_conn *c);
void xiw_conn_op_done(struct xiw_conn *c);
void xiw_conns_end(struct xiw_engine *e);
void xiw_conns_detach(struct xiw_engine *e);

/*
 * end.c: ends and closes that are asked for, from anywhere; the turn carries them out when it has delivered what
 * had arrived. `at_once`: not even that, as the connection cannot go on.
 */
void xiw_conn_ask_end(struct xiw_conn *c, int error, bool at_once);
void xiw_conn_ask_close(struct xiw_conn *c);
void xiw_conn_broken(struct xiw_conn *c, int error);
void xiw_ends(struct xiw_engine *e);
void xiw_ends_forget(struct xiw_conn *c);
void xiw_conn_limit(struct xiw_conn *c);
void xiw_conn_limit_close(struct xiw_conn *c);
void xiw_conn_limit_last(struct xiw_conn *c);
void xiw_conn_look(struct xiw_conn *c);
void xiw_conn_watch_peer(struct xiw_conn *c);
void xiw_conn_vouch(struct xiw_conn *c);

#endif

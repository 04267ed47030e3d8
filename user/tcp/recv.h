/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receiving half of an established TCP connection, for the fast path.
 *
 * A state machine without I/O, clock or allocation. Segments and time are arguments; the caller
 * holds the payload. The machine says what is acceptable (RFC 9293 section 3.10.7.4, RFC 7323,
 * RFC 5961), what is in order, what to keep, and when and what to acknowledge (RFC 5681 section
 * 4.2, RFC 2018, RFC 2883, RFC 3168). Sequence numbers are wire numbers in host byte order.
 *
 * One batch, as the caller runs it:
 *
 *	xiw_tcp_rx_set_snd(rx, ...);			once, after the frames were fetched
 *	for each segment, xiw_tcp_rx_segment():
 *		TAKE	consume whole FPDUs, xiw_tcp_rx_advance(), then while
 *			xiw_tcp_rx_next() gives a node: xiw_tcp_rx_turn(), and again
 *		KEEP	xiw_tcp_keep_set(), xiw_tcp_rx_keep()
 *		CONTROL	fall back
 *		DROP	free the frame
 *		commit, then ACK if xiw_tcp_rx_ack_due(rx, now, false)
 *	commit; ACK if xiw_tcp_rx_ack_due(rx, now, true); inject if rx->feedback_due;
 *	timer at xiw_tcp_rx_deadline()
 *
 * rcv_nxt moves by xiw_tcp_rx_advance() alone, so that it stays at an FPDU boundary.
 */
#ifndef XIW_TCP_RECV_H
#define XIW_TCP_RECV_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/seq.h"
#include "tcp/wire.h"

#define XIW_TCP_NEVER UINT64_MAX
#define XIW_TCP_DELACK_MS 40 /* RFC 5681 section 4.2 allows up to 500 */
#define XIW_TCP_PROMPT 64       /* see xiw_tcp_rx.prompt */
#define XIW_TCP_PROMPT_FIRST 16 /* in a new stretch: senders begin with one segment, and wait */
/* RFC 5961 section 7. One in half a second, as Linux: a peer is not to know the paths by it. */
#define XIW_TCP_CHALLENGES 1
#define XIW_TCP_CHALLENGE_MS 500
#define XIW_TCP_DUPACKS 3 /* duplicate ACKs not merged within a batch */

enum xiw_tcp_action {
	XIW_TCP_TAKE,
	XIW_TCP_KEEP,
	XIW_TCP_DROP,
	XIW_TCP_CONTROL,
};

/* Why a segment was dropped; indexes xiw_tcp_rx.drops. */
enum xiw_tcp_drop {
	XIW_TCP_DROP_LENGTH, /* longer than any IP packet */
	XIW_TCP_DROP_RST,    /* belongs to the kernel socket */
	XIW_TCP_DROP_SYN,
	XIW_TCP_DROP_NO_TS, /* timestamps negotiated but absent: RFC 7323 section 3.2 */
	XIW_TCP_DROP_PAWS,
	XIW_TCP_DROP_WINDOW,  /* no octet inside the window */
	XIW_TCP_DROP_DUP,     /* every octet already had or kept */
	XIW_TCP_DROP_NO_ACK,  /* ACK bit missing */
	XIW_TCP_DROP_ACK_NEW, /* acknowledges what was never sent */
	XIW_TCP_DROP_ACK_OLD, /* below SND.UNA - MAX.SND.WND: RFC 5961 section 5.2 */
	XIW_TCP_DROP_EMPTY,   /* acceptable, but carries neither data nor control */
	XIW_TCP_DROP_FULL,    /* out of order, and no node is left to keep it, or it covers too many */
	XIW_TCP_DROP_MAX,
};

const char *xiw_tcp_drop_name(enum xiw_tcp_drop reason);

/* Which part of a segment to use. */
struct xiw_tcp_take {
	uint32_t seq;  /* of the first octet to use */
	uint32_t off;  /* payload octets to skip in front of it */
	uint32_t len;  /* payload octets to use */
	uint8_t flags; /* TCP flags; FIN only if it lies inside the window */
};

/* xiw_tcp_keep.state */
enum {
	XIW_TCP_KEEP_DUP = 1 << 0, /* given back with nothing new in it */
};

/*
 * A kept out-of-order segment. The caller owns the node (usually inside its frame descriptor);
 * the machine links it in sequence order. Neighbours that touch or overlap form a run, which is
 * one SACK block; the run fields are valid in a run's first node only.
 */
struct xiw_tcp_keep {
	struct xiw_tcp_keep *next, *prev;
	struct xiw_tcp_keep *run_next, *run_prev; /* first nodes of the neighbouring runs */
	struct xiw_tcp_keep *run_tree[2];	  /* subtrees of those in front and behind */
	struct xiw_tcp_keep *run_last;
	uint32_t run_end;
	uint32_t seq;
	uint32_t len;  /* payload octets, cut at the right edge */
	uint8_t flags; /* TCP flags */
	uint8_t state;
};

/* xiw_tcp_rx.flags */
enum {
	XIW_TCP_RX_TS = 1 << 0, /* negotiated on the SYN */
	XIW_TCP_RX_SACK = 1 << 1,
	XIW_TCP_RX_ECN = 1 << 2,
	XIW_TCP_RX_ECE = 1 << 3,	  /* CE seen, CWR not yet: RFC 3168 section 6.1.3 */
	XIW_TCP_RX_ECN_SEEN = 1 << 4,	  /* CE or CWR: ECE is known for certain */
	XIW_TCP_RX_WND_FEEDBACK = 1 << 5, /* the next window is news, whatever it is */
};

/* xiw_tcp_rx.ack_flags */
enum {
	XIW_TCP_ACK_NOW = 1 << 0,  /* a later ACK could not say it as well */
	XIW_TCP_ACK_SOON = 1 << 1, /* at the end of the batch */
};

/* xiw_tcp_rx.feedback_due: what the kernel socket, which sends our data, must learn */
enum {
	XIW_TCP_FEEDBACK_ACK = 1 << 0,
	XIW_TCP_FEEDBACK_WND = 1 << 1,
	XIW_TCP_FEEDBACK_SACK = 1 << 2,
	XIW_TCP_FEEDBACK_ECE = 1 << 3,
};

struct xiw_tcp_feedback {
	uint32_t ack;
	uint32_t tsval, tsecr;
	uint16_t wnd; /* the field, unscaled */
	bool has_ts;
	uint8_t nsack;
	struct xiw_tcp_sack sack[XIW_TCP_MAX_SACK];
};

struct xiw_tcp_rx_conf {
	uint16_t sport, dport; /* of the ACKs built here */
	uint32_t rcv_nxt;
	uint32_t right_edge; /* last one advertised; raised to rcv_nxt if below */
	uint32_t last_ack_sent;
	uint32_t window; /* octets to offer, see xiw_tcp_rx_set_window */
	uint32_t buffer; /* most octets ever to be offered (RFC 9293 section 3.8.6.2.2) */
	uint32_t snd_una, snd_nxt;
	uint16_t peer_wnd;  /* the field last received, unscaled */
	uint16_t mss;	    /* what we announced, less options: a full-sized segment */
	uint8_t rcv_wscale; /* shift of the windows that we send */
	uint8_t snd_wscale; /* shift of the windows that we receive */
	bool ts_ok, sack_ok, ecn_ok;
	bool ece; /* CE was seen before, CWR not yet */
	uint32_t ts_recent;
	uint64_t ts_recent_ms; /* since when it has been that; 0: now_ms */
	uint32_t ts_slack;     /* how much older than ts_recent a TSval may be, see ts_oldest */
	uint64_t now_ms;
	uint32_t max_keep;   /* most segments kept out of order */
	uint32_t delack_ms;  /* 0: XIW_TCP_DELACK_MS; at most 500 */
	uint32_t challenges; /* per XIW_TCP_CHALLENGE_MS; 0: XIW_TCP_CHALLENGES */
};

struct xiw_tcp_rx {
	/* First cache line: all that a segment in order touches. */
	uint32_t rcv_nxt;
	uint32_t right_edge; /* RCV.NXT + RCV.WND as advertised; never moves left */
	uint32_t snd_nxt;
	uint32_t snd_una;
	uint32_t max_snd_wnd; /* RFC 5961 section 5.2 */
	uint32_t ts_recent;
	uint32_t last_ack_sent;
	uint32_t snd_wl1, snd_wl2;
	uint16_t snd_wnd; /* the field, unscaled */
	uint8_t flags;
	uint8_t ack_flags;
	uint32_t pending; /* octets taken since the last ACK */
	uint16_t pending_segs;
	uint8_t feedback_due; /* XIW_TCP_FEEDBACK_*: see feedback */
	uint8_t dup_acks;     /* out-of-order segments since rcv_nxt moved */
	struct xiw_tcp_keep *keep_head;
	uint64_t now_ms; /* of the last segment */

	/* Second cache line: acknowledging and keeping. */
	uint64_t ack_since_ms; /* arrival of the first octet of pending */
	uint64_t ts_recent_ms;
	struct xiw_tcp_keep *run_root; /* of the tree of runs: first node of one of them */
	uint32_t kept, max_keep;
	uint32_t window, buffer;
	struct xiw_tcp_sack dsack; /* empty when start == end */
	/*
	 * PAWS refuses what is older: TS.Recent of the time when the oldest segments came that are still to be judged,
	 * until one of them is newer than ts_recent. TCP judges a segment when it arrives (RFC 7323 section 5.3), but
	 * here it may wait for another one that is sent, and has advanced TS.Recent, later.
	 */
	uint32_t ts_oldest;
	uint32_t delack_ms;
	uint16_t mss;
	uint8_t rcv_wscale;
	bool runs_stale; /* the first run must be found again before it is used */

	/* Rarely touched. */
	uint32_t recent[XIW_TCP_MAX_SACK]; /* a number inside each run, newest first */
	uint8_t nrecent;
	uint8_t last_drop; /* enum xiw_tcp_drop: why a segment was dropped last */
	/*
	 * So many more segments that come alone are acknowledged at once. A sender that repairs a loss without SACK
	 * (RFC 6582) sends each segment when the one before it is acknowledged, and each delay would be its round trip.
	 */
	uint8_t prompt;
	uint16_t sport, dport;
	struct {
		uint32_t max, left;
		uint64_t since_ms, withheld;
	} challenges;
	struct xiw_tcp_feedback feedback;
	uint64_t drops[XIW_TCP_DROP_MAX];
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct xiw_tcp_rx, ack_since_ms) == 64, "hot fields fill one line");

/*
 * RFC 7323 section 5.5: how long TS.Recent is valid on an idle connection. Its 24 days are for a clock of 1 ms. A
 * peer's may count microseconds, as Linux's can since 6.7, and half of these numbers take 2147 s.
 */
#define XIW_TCP_PAWS_IDLE_MS 2147000ull

void xiw_tcp_rx_init(struct xiw_tcp_rx *rx, const struct xiw_tcp_rx_conf *conf);

/* *take is filled for every answer but DROP. */
enum xiw_tcp_action xiw_tcp_rx_segment(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg,
				       uint64_t now_ms, struct xiw_tcp_take *take);

/*
 * Header prediction, for a caller that compares headers as octets. If xiw_tcp_rx_expects() a segment, then it expects
 * every other one as well that differs from that in seq, tsval, tsecr and PSH alone, and is in turn, as long as nothing
 * else has happened to the receiver. For such a segment xiw_tcp_rx_segment() would return TAKE, with all of its octets.
 *
 * A segment is in turn if it begins at rcv_nxt, ends within the window, and its TSval is not before ts_recent. That
 * stays as it is when the segment is taken if it lies beyond the last ACK (RFC 7323 section 4.3 (2)), which is asked of
 * xiw_tcp_rx_ts_stays(). Then segments that follow each other can be taken at once: xiw_tcp_rx_take_in_turn() has the
 * effect that xiw_tcp_rx_segment() and xiw_tcp_rx_advance() have for `n` of them, each of `len` octets.
 */
bool xiw_tcp_rx_expects(const struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg);
static inline bool xiw_tcp_rx_ts_stays(const struct xiw_tcp_rx *rx)
{
	return !(rx->flags & XIW_TCP_RX_TS) || xiw_seq_after(rx->rcv_nxt, rx->last_ack_sent);
}
void xiw_tcp_rx_take_in_turn(struct xiw_tcp_rx *rx, uint32_t len, uint32_t n);

/*
 * May the kernel socket be given a segment that is not processed here? Says whether its timestamp and its
 * acknowledgement are acceptable. The socket cannot judge: it has not seen the timestamps of the stretch, and Linux
 * does not look at an acknowledgement that is too old on a segment in order.
 */
bool xiw_tcp_rx_passes(struct xiw_tcp_rx *rx, const struct xiw_tcp_seg *seg, uint64_t now_ms);

/* Consumes `octets` of the range that TAKE gave. Called once per segment, not per FPDU. */
void xiw_tcp_rx_advance(struct xiw_tcp_rx *rx, uint32_t octets);

/* Fills a node from what xiw_tcp_rx_segment() returned with KEEP. */
static inline void xiw_tcp_keep_set(struct xiw_tcp_keep *node, const struct xiw_tcp_take *take)
{
	node->seq = take->seq;
	node->len = take->len;
	node->flags = take->flags;
	node->state = 0;
}

/*
 * Links a node after KEEP. Returns KEEP, or DROP if all of it is kept already or it covers too many others that are
 * kept, and then the node is the caller's again.
 * Called with NULL when no node is left: the segment is counted as dropped, and the peer gets its duplicate ACK.
 */
enum xiw_tcp_action xiw_tcp_rx_keep(struct xiw_tcp_rx *rx, struct xiw_tcp_keep *node);

/* Is any byte of [seq, seq + len) kept? */
bool xiw_tcp_rx_keeps_any(struct xiw_tcp_rx *rx, uint32_t seq, uint32_t len);

/*
 * Unlinks and returns the first kept segment if it starts at or before rcv_nxt; else returns NULL. A node with
 * XIW_TCP_KEEP_DUP in its state holds nothing new.
 */
struct xiw_tcp_keep *xiw_tcp_rx_next(struct xiw_tcp_rx *rx);

/*
 * What to do with a node from xiw_tcp_rx_next(): TAKE, CONTROL, or DROP if it holds nothing new. take->off counts from
 * the segment's first payload octet. Timestamps are not checked again (RFC 7323 section 5.3).
 */
enum xiw_tcp_action xiw_tcp_rx_turn(struct xiw_tcp_rx *rx, const struct xiw_tcp_keep *node,
				    struct xiw_tcp_take *take);

/* Unlinks all kept segments and returns them in sequence order, linked by next. */
struct xiw_tcp_keep *xiw_tcp_rx_flush(struct xiw_tcp_rx *rx);

/* To be called before ACKs are sent: has the delay passed, and only one segment has come? */
static inline void xiw_tcp_rx_delayed(struct xiw_tcp_rx *rx, uint64_t now_ms)
{
	if (rx->pending_segs == 1 && !rx->ack_flags &&
	    now_ms - rx->ack_since_ms >= rx->delack_ms)
		rx->prompt = XIW_TCP_PROMPT;
}

/*
 * What the kernel socket has sent: the highest SND.NXT in wire numbers. It must be read after the segments of the batch
 * were fetched, or an acknowledgement of the newest data would look false.
 */
void xiw_tcp_rx_set_snd(struct xiw_tcp_rx *rx, uint32_t snd_nxt);

/*
 * The kernel socket was given segments without data, which are not seen here, so it may know of a newer window than the
 * one that data segments last carried.
 */
static inline void xiw_tcp_rx_acked_elsewhere(struct xiw_tcp_rx *rx)
{
	rx->flags |= XIW_TCP_RX_WND_FEEDBACK;
}

/*
 * The kernel socket has sent a segment that acknowledges octets up to `ack`. To be called at the beginning of a batch,
 * so that what is pending and not covered are whole segments of later ones.
 */
void xiw_tcp_rx_acked(struct xiw_tcp_rx *rx, uint32_t ack);

/*
 * A segment with this TSval has advanced rcv_nxt elsewhere, after segments that are taken here only now. ACKs echo it
 * (RFC 7323 section 4.3): an older TSval would tell the peer that its round trip took as long as those waited.
 */
static inline void xiw_tcp_rx_advanced_elsewhere(struct xiw_tcp_rx *rx, uint32_t tsval)
{
	if (!(rx->flags & XIW_TCP_RX_TS) || !xiw_seq_after(tsval, rx->ts_recent))
		return;
	rx->ts_recent = tsval;
	rx->ts_recent_ms = rx->now_ms;
}

/*
 * The number of octets that can be accepted from rcv_nxt on. Takes effect with the next ACK, and never takes back what
 * was advertised.
 */
void xiw_tcp_rx_set_window(struct xiw_tcp_rx *rx, uint32_t octets);

/* The kernel's segments have advertised up to `right`. Parts that no window field can express do not count. */
static inline void xiw_tcp_rx_promised(struct xiw_tcp_rx *rx, uint32_t right)
{
	uint32_t most = rx->rcv_nxt + (0xffffu << rx->rcv_wscale);

	rx->right_edge = xiw_seq_max(rx->right_edge, xiw_seq_min(right, most));
}

/* The window field that says right_edge, rounded so that the edge does not move left. */
static inline uint16_t xiw_tcp_rx_window_field(const struct xiw_tcp_rx *rx)
{
	uint32_t wnd = rx->right_edge - rx->rcv_nxt;

	return (uint16_t)((wnd + (1u << rx->rcv_wscale) - 1) >> rx->rcv_wscale);
}

/*
 * True when an ACK is to be sent now. Within a batch (end_of_batch false) only for what a later
 * ACK could not say as well: the first duplicate ACKs, or a D-SACK. Everything else waits for
 * the end of the batch, so that one ACK answers it (RFC 9293 section 3.10.7.4, MUST-58, MUST-59).
 */
bool xiw_tcp_rx_ack_due(const struct xiw_tcp_rx *rx, uint64_t now_ms, bool end_of_batch);

/* When xiw_tcp_rx_ack_due(end_of_batch) becomes true by itself: ms, 0 for at once, or NEVER. */
uint64_t xiw_tcp_rx_deadline(const struct xiw_tcp_rx *rx);

/*
 * Builds an ACK in wire order: TCP header and options, with a checksum of 0 (see csum.h). What it acknowledges must be
 * committed. Marks the ACK as sent. Returns its length, or -ENOSPC if cap is too small (XIW_TCP_MAX always suffices).
 */
int xiw_tcp_rx_build_ack(struct xiw_tcp_rx *rx, uint32_t tsval, uint8_t *out, size_t cap);

/* The caller has told the kernel socket of rx->feedback. */
static inline void xiw_tcp_rx_feedback_given(struct xiw_tcp_rx *rx)
{
	rx->feedback_due = 0;
	rx->feedback.nsack = 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdmap/stream.h - one RDMAP Stream: which message goes to DDP next, what one that DDP delivers means,
 * when operations are complete, and what is an error. RFC 5040 sections 5 to 7.
 *
 * Nothing here does I/O. After creation, memory is taken in blocks: for operations that are posted, and for the peer's
 * Reads and atomic operations. The caller passes messages between this and DDP:
 *
 *	xiw_rdmap_next()      -> DDP                the next message to queue
 *	DDP -> xiw_rdmap_sent()                     it was sent, or came back
 *	DDP -> xiw_rdmap_received()                 a message was delivered
 *	xiw_rdmap_completed() -> application        operations, in order
 */
#ifndef XIW_RDMAP_STREAM_H
#define XIW_RDMAP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/block.h"
#include "base/vec.h"
#include "ddp/region.h"
#include "rdmap/hdr.h"

#define XIW_RDMAP_MAX_DEPTH (1u << 16)
/* Ids of messages: operations count from 0, responses from here. */
#define XIW_RDMAP_ID_RESPONSE (1ull << 63)

/* What an operation keeps until it is complete, if its memory is more than one piece, or was copied. */
union xiw_rdmap_room {
	struct xiw_vec pieces[XIW_RDMA_PIECES_MAX];
	struct xiw_ddp_piece sink[XIW_RDMA_PIECES_MAX];
	uint8_t octets[XIW_RDMA_INLINE_MAX];
};

/* What is sent for an atomic operation, and where its answer goes. */
struct xiw_rdmap_exchange {
	uint8_t request[XIW_RDMAP_ATOMIC_LEN];
	uint8_t answer[XIW_RDMAP_ORIGINAL_LEN];
};

/* A posted operation, or a Read that tells the peer that we are ready (RFC 6581 section 9.2). */
struct xiw_rdmap_op {
	struct xiw_rdma_work op; /* without iov; len is that of all pieces */
	const uint8_t *buf;	 /* Send, Write: the octets, unless they are in pieces */
	uint32_t npieces;	 /* of the operation's room; 0: none */
	union {
		uint64_t sink_serial; /* Read: of the sink's registration at the time of posting */
		uint64_t original; /* an atomic operation that is complete: what was there before */
		uint64_t
			serial; /* a change of rights: of the region's registration; op has STag and rights */
	};
	uint8_t request[XIW_RDMAP_READ_LEN]; /* of a Read; or Immediate Data */
	bool internal;			     /* the application is not told */
	bool sent;			     /* DDP is done with it */
	bool given; /* TCP had all of it, as the peer has refused a later one: it does not fail any more */
	bool answered; /* the response is here, or will not come. Without a response: true from the start */
	bool failed;
	uint8_t cause;	  /* enum xiw_cause, if failed; 0: none of its own */
	uint32_t qn, msn; /* of its message, if untagged, once DDP has it */
	bool own_sink;	  /* Read: sink_stag was made for it, of the application's plain memory */
};

/* A Read Request or an Atomic Request of the peer's that is being answered. */
struct xiw_rdmap_answer {
	union {
		struct xiw_rdmap_read read;
		uint8_t original[XIW_RDMAP_ORIGINAL_LEN]; /* an Atomic Response */
	};
	bool atomic;
	/* Of the source's registration when the Read was requested: another one may have the STag by now. */
	uint64_t serial;
	uint8_t header[XIW_DDP_UNTAGGED_LEN]; /* DDP's header, for a Terminate */
	bool sent;
};

/* How many a block has. */
#define XIW_RDMAP_OPS (XIW_BLOCK / (uint32_t)sizeof(struct xiw_rdmap_op))
#define XIW_RDMAP_ANSWERS (XIW_BLOCK / (uint32_t)sizeof(struct xiw_rdmap_answer))

enum xiw_rdmap_state {
	XIW_RDMAP_OPEN,
	XIW_RDMAP_FAILED,     /* in error: `sent` is to be sent to the peer */
	XIW_RDMAP_TERMINATED, /* the peer has sent `received` */
};

struct xiw_rdmap_stream {
	enum xiw_rdmap_state state;
	uint32_t rights; /* of the peer, beside those of regions: enum xiw_ddp_access */
	struct xiw_ddp_table *table;
	uint32_t pd, stream; /* with which DDP checks STags */
	struct xiw_block_source source;

	/* Operations: [head, next) are with DDP or wait for an answer, [next, tail) wait for DDP. */
	struct xiw_blocks ops;
	union xiw_rdmap_room
		*rooms; /* one for each of `depth` operations; NULL until one is needed */
	uint32_t depth;
	bool no_answers; /* the peer has closed */
	bool op_turn;	 /* operations and answers take turns */
	uint64_t head, next, tail;
	uint64_t read_at; /* the oldest Read or atomic operation without an answer, if reads_out */
	uint32_t reads_out, ord;
	/* Each at the place of its operation; NULL: without RFC 7306. */
	struct xiw_rdmap_exchange *exchanges;

	/*
	 * The peer's Reads and atomic operations: [answer_head, answer_next) are with DDP, up to answer_tail they wait.
	 */
	struct xiw_blocks answers;
	uint32_t answer_depth, ird;
	uint64_t answer_head, answer_next, answer_tail;
	uint64_t
		answer_given; /* TCP may have the answers before this one, even if not all are known to be sent */

	/* Bytes of the RDMA Write that was the peer's last operation, or 0; of that in front of Immediate Data. */
	uint64_t written, immediate_to;

	struct xiw_rdma_info info; /* counters, and both Terminates */
};

static inline struct xiw_rdmap_op *xiw_rdmap_op_at(struct xiw_rdmap_stream *s, uint64_t seq)
{
	struct xiw_rdmap_op *block = s->ops.at[seq / XIW_RDMAP_OPS % s->ops.room];

	return &block[seq % XIW_RDMAP_OPS];
}

static inline struct xiw_rdmap_exchange *xiw_rdmap_exchange_at(struct xiw_rdmap_stream *s,
							       uint64_t seq)
{
	return &s->exchanges[seq % s->depth];
}

static inline struct xiw_rdmap_answer *xiw_rdmap_answer_at(struct xiw_rdmap_stream *s, uint64_t seq)
{
	struct xiw_rdmap_answer *block = s->answers.at[seq / XIW_RDMAP_ANSWERS % s->answers.room];

	return &block[seq % XIW_RDMAP_ANSWERS];
}

/* Is it a change of rights, without a message? */
static inline bool xiw_rdmap_is_change(enum xiw_rdma_kind kind)
{
	return kind == XIW_RDMA_REGISTER || kind == XIW_RDMA_LOCAL_INVALIDATE;
}

/* Does it get an answer? */
static inline bool xiw_rdmap_is_asking(enum xiw_rdma_kind kind)
{
	return kind == XIW_RDMA_READ || kind == XIW_RDMA_FETCH_ADD || kind == XIW_RDMA_CMP_SWAP;
}

struct xiw_rdmap_opts {
	struct xiw_ddp_table *table;
	uint32_t pd, stream;
	uint32_t depth;	  /* operations */
	bool extended;	  /* with RFC 7306 */
	uint16_t ird_max; /* the most that xiw_rdmap_limits() may set without xiw_rdmap_reserve() */
	struct xiw_block_source source; /* of memory; zeros: the system */
};

/* Returns 0, -EINVAL or -ENOMEM. xiw_rdmap_free() accepts zeros. */
int xiw_rdmap_init(struct xiw_rdmap_stream *s, const struct xiw_rdmap_opts *o);
/* The number of octets that it has allocated, without blocks and rooms. */
size_t xiw_rdmap_memory(const struct xiw_rdmap_stream *s);
void xiw_rdmap_free(struct xiw_rdmap_stream *s);

/*
 * Called before xiw_rdmap_limits(), which may then set as many as this: the number of octets that this allocates, and
 * does so. Returns 0 or -ENOMEM.
 */
size_t xiw_rdmap_reserve_size(const struct xiw_rdmap_stream *s, uint16_t ird);
int xiw_rdmap_reserve(struct xiw_rdmap_stream *s, uint16_t ird);

/* Sets what was negotiated (section 6.1), before the first message. Until then no Read is passed on or accepted. */
void xiw_rdmap_limits(struct xiw_rdmap_stream *s, uint16_t ird, uint16_t ord);

/* The errors of xiw_rdma_post() except -ENOTCONN. */
int xiw_rdmap_post(struct xiw_rdmap_stream *s, const struct xiw_rdma_op *op);
/* The same for an operation on pieces, whose size was checked. */
int xiw_rdmap_post_work(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *work);
/*
 * Posts a change of a region's rights: the region with this STag and serial gets these of enum xiw_ddp_access. `work`
 * has its kind, flags and user_data.
 */
int xiw_rdmap_post_change(struct xiw_rdmap_stream *s, const struct xiw_rdma_work *work,
			  const struct xiw_ddp_region *region, uint32_t rights);
/* Makes places for one more operation, or two. promised: as in struct xiw_block_source. Returns 0 or -ENOMEM. */
int xiw_rdmap_make_places(struct xiw_rdmap_stream *s, bool two, bool promised);

/*
 * Makes room for pieces and copied octets, xiw_rdmap_rooms_size() octets. Called before the first operation that needs
 * it, which is refused otherwise. 0 or -ENOMEM.
 */
int xiw_rdmap_make_rooms(struct xiw_rdmap_stream *s);
size_t xiw_rdmap_rooms_size(const struct xiw_rdmap_stream *s);
static inline bool xiw_rdmap_needs_room(unsigned int flags, unsigned int npieces)
{
	return flags & XIW_RDMA_INLINE || npieces > 1;
}
/*
 * RFC 6581 section 9.2: posts a zero-length Read as the first message, whatever the limit. Returns 0, -EAGAIN or
 * -ENOMEM.
 */
int xiw_rdmap_post_ready(struct xiw_rdmap_stream *s);

/* A message for DDP. */
struct xiw_rdmap_out {
	uint64_t id;
	const uint8_t *buf;
	const struct xiw_vec *pieces; /* instead of buf, if npieces */
	uint32_t npieces;
	uint32_t len;
	bool tagged, from_region; /* from_region: ask xiw_rdmap_readable() again while it is sent */
	uint32_t stag, qn;
	uint64_t to;
	uint8_t rsvdulp[XIW_DDP_UNTAGGED_RSVDULP_LEN];
	/* Not NULL: XIW_RDMAP_ORIGINAL_LEN octets for the answer, to be posted to XIW_RDMAP_QN_ATOMIC first. */
	uint8_t *answer;
};

/*
 * 1: there is one; 0: none now; -EPROTO: an answer may not be read, or a region to be registered is not there, and the
 * stream has just failed. Changes of rights whose turn has come are carried out.
 */
int xiw_rdmap_next(struct xiw_rdmap_stream *s, struct xiw_rdmap_out *out);

/* May the octets from `off` on of this answer still be read? If not, the stream has failed. */
bool xiw_rdmap_readable(struct xiw_rdmap_stream *s, uint64_t id, uint32_t off);

/* DDP has given the message of an operation this MSN. */
void xiw_rdmap_numbered(struct xiw_rdmap_stream *s, uint64_t id, uint32_t qn, uint32_t msn);

/* TCP may have all of this answer, and so of those before it, although DDP has not reported it as sent. */
void xiw_rdmap_given(struct xiw_rdmap_stream *s, uint64_t id);

/* DDP has sent a message, or given it back. */
void xiw_rdmap_sent(struct xiw_rdmap_stream *s, uint64_t id, bool success);

/* A segment that DDP has a place for. */
struct xiw_rdmap_seg {
	bool tagged;
	uint8_t control; /* the first octet of RsvdULP */
	uint32_t qn;
	uint32_t stag;
	uint64_t to;
	uint32_t len;
	uint64_t serial; /* tagged, if len: of the registration that has the STag */
	/* The segment is in its turn; otherwise it came early, and what is in front of it is not known. */
	bool in_turn;
	uint64_t before; /* if in_turn: octets of the same message in the segments before it */
};

/*
 * Asked before anything of a segment is placed: may the peer send a message like this on the stream? All segments of a
 * message have the same RsvdULP (RFC 5041 section 4), so a wrong message is refused at its first segment. Changes
 * nothing: an early segment is checked again in its turn, and its CRC is checked before xiw_rdmap_fail().
 */
enum xiw_rdmap_error xiw_rdmap_check_segment(struct xiw_rdmap_stream *s,
					     const struct xiw_rdmap_seg *g);

/* A message that DDP has delivered; header and lengths are those of its last segment. */
struct xiw_rdmap_in {
	bool tagged;
	bool contiguous; /* tagged: as in struct xiw_ddp_msg */
	uint32_t qn;
	uint32_t stag;
	uint64_t to, len;
	uint64_t serial; /* tagged, if contiguous */
	const uint8_t *rsvdulp;
	const uint8_t *buf; /* untagged */
	const uint8_t *header;
	uint32_t header_len, segment_len;
};

enum xiw_rdmap_result {
	XIW_RDMAP_HANDLED,
	XIW_RDMAP_DELIVER, /* a Send: *invalidated is set if an STag was. Or Immediate Data */
	XIW_RDMAP_ENDED,   /* a Terminate */
	XIW_RDMAP_ERROR,   /* the stream has failed */
};

enum xiw_rdmap_result xiw_rdmap_received(struct xiw_rdmap_stream *s, const struct xiw_rdmap_in *m,
					 uint32_t *invalidated);

/* Fails the stream, and makes the Terminate to be sent, for the first error only (section 7.1 rule 4). */
void xiw_rdmap_fail(struct xiw_rdmap_stream *s, enum xiw_rdmap_error error, const uint8_t *header,
		    uint32_t header_len, uint32_t segment_len, const struct xiw_rdmap_read *read);

/*
 * Fails the stream, with a Terminate for an error of a layer below, or for a local one (mpa and ddp 0). header_len 0:
 * no header.
 */
void xiw_rdmap_lower_failed(struct xiw_rdmap_stream *s, enum xiw_mpa_error mpa,
			    enum xiw_ddp_error ddp, const uint8_t *header, uint32_t header_len,
			    uint32_t segment_len);

/*
 * Marks the operation that the stream ended for, if it is not complete yet: the one that the peer's Terminate names, or
 * the Read whose answer we refused. Called before xiw_rdmap_abandon().
 */
void xiw_rdmap_blame(struct xiw_rdmap_stream *s);

/* What a Terminate means for the operation that it names. */
enum xiw_cause xiw_rdmap_cause(const struct xiw_rdma_terminate_info *t);

/* The peer will send nothing more: Reads without an answer fail. */
void xiw_rdmap_peer_gone(struct xiw_rdmap_stream *s);

/*
 * Nothing that the peer sends counts any more: Reads without an answer fail, and so does what a fence has wait for
 * them. Of the peer's Reads those are answered that are with DDP, and no others.
 */
void xiw_rdmap_stop(struct xiw_rdmap_stream *s);

/* The stream ends: every incomplete operation fails, as soon as DDP has reported it, and nothing is passed on. */
void xiw_rdmap_abandon(struct xiw_rdmap_stream *s);

/* No STag that was made for a Read is valid any more. */
void xiw_rdmap_drop_sinks(struct xiw_rdmap_stream *s);

/* Takes the oldest operation if it is complete; op->failed tells how. */
bool xiw_rdmap_completed(struct xiw_rdmap_stream *s, struct xiw_rdmap_op *op);

/* No operations or answers are waiting to be passed to DDP, and no operation is incomplete. */
bool xiw_rdmap_idle(const struct xiw_rdmap_stream *s);

#endif

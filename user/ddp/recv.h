/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ddp/recv.h - the Data Sink of one DDP Stream: where a segment's payload goes (Placement), and
 * when a message is complete (Delivery), RFC 5041 sections 5 and 7.1
 *
 * Nothing here touches payload; the caller copies. After creation, only posting a buffer allocates.
 */
#ifndef XIW_DDP_RECV_H
#define XIW_DDP_RECV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/error.h>

#include "ddp/hdr.h"
#include "ddp/region.h"

#define XIW_DDP_DEFAULT_QUEUES 3
#define XIW_DDP_MAX_QUEUES 4096
#define XIW_DDP_MAX_DEPTH (1u << 20)

struct xiw_ddp_buf {
	uint8_t *base; /* the octets, or struct xiw_ddp_piece if npieces */
	uint32_t len;
	uint32_t npieces : 30;
	uint32_t registered : 1; /* its memory is that of regions (ddp/revoke.h) */
	uint32_t revoked : 1; /* it no longer is: the buffer is empty, and payload ends the stream */
	uint64_t user_data;
};

struct xiw_ddp_queue {
	struct xiw_ddp_buf
		*ring; /* of `room` places, which become more as they are needed (base/grow.h) */
	uint32_t next_msn; /* the message that is delivered next; its buffer is ring[head] */
	uint32_t head;
	uint32_t count, room;
	uint32_t extent; /* octets of that message delivered so far */
};

/* Where the delivered segment said that the next one continues. */
struct xiw_ddp_next {
	uint8_t *dst; /* NULL: nothing is expected */
	bool tagged;
	uint32_t stag;
	uint64_t to;
	uint32_t qn;
	uint32_t msn;
	uint32_t mo;
};

/* The region last written; valid while the generation is the table's. */
struct xiw_ddp_view {
	uint64_t generation;
	uint64_t serial; /* of the registration */
	uint32_t stag;
	uint64_t base;
	uint64_t len;
	uint8_t *ptr; /* the octets, or struct xiw_ddp_piece if npieces */
	uint32_t npieces, access;
};

/* The Tagged message that is being delivered. */
struct xiw_ddp_tagged {
	bool open;
	bool contiguous; /* each segment began where the one before it ended, in the same region */
	uint32_t stag;
	uint64_t
		serial; /* of that region's registration, since the STag may name another one by now */
	uint64_t start;
	uint64_t end;
	uint64_t len;
};

struct xiw_ddp_srq;

struct xiw_ddp_rx {
	struct xiw_ddp_next next;
	struct xiw_ddp_view view;
	struct xiw_ddp_tagged tagged;
	const struct xiw_ddp_table *table;
	enum xiw_ddp_error error; /* the first error, which stays */
	uint32_t pd;
	uint32_t stream;
	uint32_t nqueues;
	uint32_t depth;
	uint8_t sink_mask, sink; /* xiw_ddp_rx_sinks() */
	struct xiw_ddp_queue *queues;
	/* Where queue 0 gets its buffer from, for one message at a time; NULL: buffers are posted to it. */
	struct xiw_ddp_srq *srq;
	struct xiw_ddp_piece *taken; /* the pieces of that buffer */
	bool (*may_take)(void *ctx); /* may it have another one? NULL: yes */
	void *may_take_ctx;
};

struct xiw_ddp_rx_opts {
	const struct xiw_ddp_table *table; /* must outlive the stream */
	uint32_t pd;
	uint32_t stream;  /* not XIW_DDP_ANY_STREAM; not used again while a region is bound to it */
	uint32_t nqueues; /* QN 0..nqueues-1; 0: XIW_DDP_DEFAULT_QUEUES */
	uint32_t depth;	  /* buffers that can be posted to each queue */
	uint32_t first_msn; /* of each queue; 0: 1 */
};

struct xiw_ddp_place {
	uint8_t *dst;	/* NULL for a segment without payload */
	bool predicted; /* see xiw_ddp_rx_place() */
	bool aside; /* set by the caller: dst is not in the buffer, none of whose octets are written */
	bool untaken; /* dst is in a buffer that other Streams share, until xiw_ddp_rx_deliver() */
	uint64_t serial; /* tagged, with payload: of the region's registration */
	/*
	 * If npieces: the payload is longer than what is left of the first of these pieces, in which dst is the octet
	 * piece_off. It goes on at the start of the next one. Otherwise all of it goes to dst.
	 */
	const struct xiw_ddp_piece *pieces;
	uint32_t npieces;
	size_t piece_off;
};

/* Valid only if `complete`. */
struct xiw_ddp_msg {
	bool complete;
	bool tagged;
	uint8_t rsvdulp[XIW_DDP_UNTAGGED_RSVDULP_LEN]; /* of the last segment */
	uint64_t len;

	/* Tagged. The STag of a message without payload was not checked (section 5.2). */
	uint32_t stag;
	/*
	 * The message has payload, all of it in one region, and each segment began where the one before it ended.
	 * Otherwise the octets are where the segments placed them, some perhaps several times, and [to, to + len) does
	 * not hold them.
	 */
	bool contiguous;
	uint64_t to;	 /* of the first octet that came, if there is payload */
	uint64_t to_end; /* to + len, if contiguous */
	uint64_t serial; /* of the region's registration, if contiguous */

	/* Untagged: the posted buffer, which is the caller's again. */
	uint32_t qn;
	uint32_t msn;
	struct xiw_ddp_buf buf;
	/* Set by the caller: the payload, which is not in the buffer. len is 0 then. */
	const uint8_t *aside;
};

/* Returns 0, -EINVAL or -ENOMEM. */
int xiw_ddp_rx_create(struct xiw_ddp_rx **rx, const struct xiw_ddp_rx_opts *opts);
/* The number of octets that it allocates. */
size_t xiw_ddp_rx_size(const struct xiw_ddp_rx_opts *opts);
/* Forgets the buffers that are still posted; to get them back, flush first. */
void xiw_ddp_rx_free(struct xiw_ddp_rx *rx);

/*
 * Adds a queue behind the others, before the first segment comes; first_msn as in the options. Returns 0 or -ENOMEM.
 */
int xiw_ddp_rx_add_queue(struct xiw_ddp_rx *rx, uint32_t first_msn);
/*
 * The number of octets that the next `n` posts to queue qn allocate, until the stream is freed; and does so at once.
 * Returns 0 or -ENOMEM.
 */
size_t xiw_ddp_rx_growth(const struct xiw_ddp_rx *rx, uint32_t qn, uint32_t n);
int xiw_ddp_rx_reserve(struct xiw_ddp_rx *rx, uint32_t qn, uint32_t n);

/*
 * Posts the next buffer of queue qn. buf may be NULL if len is 0. Returns 0, -EINVAL, -EAGAIN
 * (depth buffers are posted), -ENOMEM or -ESHUTDOWN (the stream has failed or is being flushed).
 */
int xiw_ddp_rx_post(struct xiw_ddp_rx *rx, uint32_t qn, void *buf, uint32_t len,
		    uint64_t user_data);

/* A buffer in pieces. */
struct xiw_ddp_buf xiw_ddp_buf_of(const struct xiw_ddp_piece *pieces, uint32_t npieces,
				  uint64_t user_data);
/* The same for any buffer, of at most 2^32 - 1 octets. An array of pieces must stay until the buffer is given back. */
int xiw_ddp_rx_post_buf(struct xiw_ddp_rx *rx, uint32_t qn, const struct xiw_ddp_buf *b);

/* Copies the first octets of a buffer, which has as many. */
void xiw_ddp_buf_read(const struct xiw_ddp_buf *b, void *to, uint32_t len);

/*
 * Lets queue 0 take its buffers from `srq`, which must outlive that; NULL: no more of them. may_take as in the struct.
 * Returns 0, -EINVAL (buffers are posted) or -ENOMEM.
 */
int xiw_ddp_rx_share(struct xiw_ddp_rx *rx, struct xiw_ddp_srq *srq, bool (*may_take)(void *ctx),
		     void *ctx);

/* The next message to queue qn, which has no payload, was not for the ULP: its MSN is used up, and no buffer is. */
void xiw_ddp_rx_pass(struct xiw_ddp_rx *rx, uint32_t qn);

/* True if the untagged segment is of the next message to its queue, and no buffer is posted for that. */
bool xiw_ddp_rx_lacks_buffer(const struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h);

/* Ends the stream and returns a posted buffer, in order within a queue; false: none is left. */
bool xiw_ddp_rx_flush(struct xiw_ddp_rx *rx, uint32_t *qn, struct xiw_ddp_buf *buf);

/*
 * From now on a Tagged segment whose RsvdULP, masked, is `sink` needs XIW_DDP_SINK where it goes, as it carries what
 * the ULP has asked for. All others need XIW_DDP_REMOTE_WRITE, as all do at first.
 */
void xiw_ddp_rx_sinks(struct xiw_ddp_rx *rx, uint8_t mask, uint8_t sink);

/*
 * Placement: checks the header (section 7.1) and says where the payload goes. May be called for
 * segments in any order and again and again; changes nothing but a cache.
 *
 * p->predicted: the payload goes exactly where the segment delivered before this one,
 * of the same unfinished message, said that the next would go. Then, and only then, the caller may
 * copy and compute the CRC in one pass: should the CRC be wrong, octets were written only from
 * where octets of this message belong anyway. The segment that TCP sends again overwrites them, or the
 * stream is at its end, and the message is never delivered.
 * A header damaged on the wire is hardly ever predicted. If it is not, the CRC comes first and the
 * copy second, for the header may point to another message, even one that the ULP already owns.
 *
 * It vouches for where the payload begins. How far it reaches is payload_len, within the buffer:
 * the framing must have other evidence of that (the FPDU ends exactly where its TCP segment does, or
 * it is as long as the one before it).
 *
 * As the header may not be verified yet, an error does not fail the stream. If the segment is in
 * its turn and its CRC is right, the caller calls xiw_ddp_rx_refuse(). One that is early may be
 * refused for a reason that passes (no buffer posted yet, say): it is kept, and placed in its turn.
 * So is an early one if p->untaken, because another Stream may take the buffer meanwhile.
 */
enum xiw_ddp_error xiw_ddp_rx_place(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
				    uint32_t payload_len, struct xiw_ddp_place *p);

/*
 * Placement and Delivery in a straight line, for what nearly all segments of a long Tagged message are: not its last,
 * and predicted. The header's 14 octets are compared with what is expected; nothing else is decoded. Returns where the
 * payload goes, under the conditions of p->predicted, or NULL: then the functions above and below decide. Once the CRC
 * was verified, xiw_ddp_rx_expected_placed() delivers the segment.
 */
uint8_t *xiw_ddp_rx_expected(const struct xiw_ddp_rx *rx, const uint8_t *hdr, uint32_t payload_len);
/*
 * If xiw_ddp_rx_expected() accepts a segment, it accepts those that follow each other from there on, with as much
 * payload each, which is not 0, and the same header, but for the TO: so many, as long as xiw_ddp_rx_same_view(). They
 * can be delivered at once.
 */
static inline uint64_t xiw_ddp_rx_expected_more(const struct xiw_ddp_rx *rx, uint32_t payload_len)
{
	return (rx->view.len - (rx->next.to - rx->view.base)) / payload_len;
}
static inline bool xiw_ddp_rx_same_view(const struct xiw_ddp_rx *rx)
{
	return rx->view.generation == rx->table->generation;
}
void xiw_ddp_rx_expected_placed(struct xiw_ddp_rx *rx, uint32_t payload_len);

/*
 * Delivery: called once for each segment, in the order sent, after its CRC was verified, its Placement was allowed and
 * the payload is in place. An error fails the stream.
 *
 * That messages are whole follows from the order: TCP loses nothing, so the segments since the last L bit are the
 * message. Gaps left by the sender are no error here (section 5.2, last paragraph); m->contiguous tells the ULP of
 * them.
 */
enum xiw_ddp_error xiw_ddp_rx_deliver(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
				      uint32_t payload_len, struct xiw_ddp_msg *m);

/*
 * A segment in its turn was refused by Placement, and its CRC was verified: fails the stream with that error. A shared
 * buffer that is too short for a message which has begun is that message's, and is returned by xiw_ddp_rx_flush().
 */
void xiw_ddp_rx_refuse(struct xiw_ddp_rx *rx, const struct xiw_ddp_hdr *h,
		       enum xiw_ddp_error error);

/* From now on Placement and Delivery return this error. Section 7.1: what follows is dropped silently. */
void xiw_ddp_rx_fail(struct xiw_ddp_rx *rx, enum xiw_ddp_error error);

#endif

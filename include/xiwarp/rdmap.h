/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/rdmap.h - RDMAP (RFC 5040) on a connection: Send, RDMA Write, RDMA Read and Terminate.
 *
 * xiw_rdma_attach() makes an RDMAP Stream of a connection until it is freed. The connection keeps its
 * events and its functions for startup, closing and reports. Messages are sent with xiw_rdma_post()
 * instead of xiw_conn_send(), and buffers for incoming Sends are posted with xiw_rdma_post_recv().
 * Completions come from the engine's queue as for every connection, or from queues of the application's
 * own (xiwarp/cq.h):
 *
 *   XIW_EV_RECEIVED    a Send of the peer is in its posted buffer: length, and the helpers below
 *   XIW_EV_SENT        TCP has a Send, RDMA Write or Immediate Data: its buffer may be used again
 *   XIW_EV_READ        an RDMA Read is complete: its octets are in the sink
 *   XIW_EV_ATOMIC      an atomic operation is complete: value is what it found
 *   XIW_EV_CHANGED     the rights of a region have changed (XIW_RDMA_REGISTER, XIW_RDMA_LOCAL_INVALIDATE)
 *   XIW_EV_FLUSHED     an operation or a posted buffer ended without success
 *   XIW_EV_ERROR       the stream is in error, and a Terminate was sent (xiw_rdma_info());
 *                      XIW_EV_CLOSED follows without the application's help
 *   XIW_EV_TERMINATED  the peer sent a Terminate (xiw_rdma_info()); XIW_EV_CLOSED follows as well
 *
 * Operations complete in the order in which they were posted (section 5.5 rule 15), and arrivals in
 * the order in which they were sent. What the peer answers to a Send comes after XIW_EV_SENT of that
 * Send.
 *
 * RDMA Writes and Read Requests of the peer are served without the application (sections 5.1, 5.2.1),
 * into and from the regions (xiwarp/region.h) whose rights allow it. An incoming Read is answered
 * straight from the region, at the pace of the connection. The stream ends with a Terminate if the
 * region is freed meanwhile, even if another region has its STag by then; and if the answer to a Read
 * of ours is not what was asked for: another place, region or length, or octets that are not
 * contiguous.
 *
 * The extensions of RFC 7306, Immediate Data and atomic operations, are there if xiw_rdma_opts.extended
 * asks for them. That is for the ULPs to agree on (section 1.1), as nothing in the startup of a connection
 * tells: without it, the stream ends with the Terminate of RFC 5040 when an extended peer uses them. So
 * does an Initiator's stream that finds, by a FetchAdd of 0 for example, that its peer has none.
 *
 * Immediate Data are 8 octets that the peer gets in the next buffer that it has posted for Sends, in order
 * with Sends, and after the RDMA Writes before it have been placed: a Write that tells its peer. Atomic
 * operations work on an aligned 64-bit word of a region with XIW_ACCESS_ATOMIC, in the host's byte order.
 * They count as RDMA Reads where Reads are limited, are carried out when their Request arrives, and are
 * atomic against everything that reaches the word by the processor's atomic instructions: other
 * connections and engines, and the application. A word that is not aligned ends the stream.
 *
 * Thread rules as in xiwarp.h. Lengths are octets; all integers are in host byte order.
 */
#ifndef XIWARP_RDMAP_H
#define XIWARP_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <xiwarp/conn.h>
#include <xiwarp/cq.h>
#include <xiwarp/engine.h>
#include <xiwarp/export.h>

XIW_BEGIN_DECLS

struct xiw_rdma;
struct xiw_srq;

struct xiw_rdma_opts {
	size_t size;		 /* sizeof(struct xiw_rdma_opts) */
	unsigned int send_depth; /* operations posted and not complete; 0: 64 */
	/*
	 * How many RDMA Reads may be outstanding, inbound and outbound, at most 16382; 0: 16. The
	 * connection's options and xiw_conn_set_depths() override them for the negotiation of RFC
	 * 6581. What that agrees on is used, unless it leaves the depths to the ULP.
	 */
	uint16_t ird, ord;
	/*
	 * Where the completions of operations, and of posted buffers, go (xiwarp/cq.h); NULL: the engine's
	 * queue. The queues cannot be freed before the connection is.
	 */
	struct xiw_cq *send_cq, *recv_cq;
	/*
	 * With Immediate Data and atomic operations (RFC 7306). A fourth queue for untagged messages is
	 * added to the connection. At most recv_depth (struct xiw_conn_opts) RDMA Reads and atomic
	 * operations are then outstanding.
	 */
	bool extended;
	/*
	 * Immediate Data leaves the posted buffer as it was (RFC 7306 section 6.3), and the completion's length is that
	 * of the RDMA Write in front of it, or 0. Otherwise it is placed in the buffer, and the length is 8.
	 */
	bool immediate_apart;
	uint8_t reserved[2]; /* 0 */
	/*
	 * With srq: how many of its buffers may hold Sends of this stream of which the application has not
	 * taken the completion, the one that is being filled included. A Send beyond that finds no buffer.
	 * At most 65536; 0: no limit.
	 */
	uint32_t srq_max;
	/*
	 * Where the buffers for Sends come from (xiwarp/srq.h), instead of xiw_rdma_post_recv(); NULL: no
	 * queue is shared. It cannot be freed before the connection is.
	 */
	struct xiw_srq *srq;
};

/*
 * Makes an RDMAP Stream of a connection: an Initiator's right after xiw_connect(), a Responder's
 * between XIW_EV_REQUEST and xiw_conn_accept(). It belongs to the connection, and xiw_conn_free() frees
 * it.
 *
 * A Responder may not send before it has received an FPDU (RFC 5044 section 7.1.2 rule 4), and an
 * application whose server speaks first would wait for ever. So an Initiator from xiw_connect(), or of a
 * group, offers the peer-to-peer startup of RFC 6581, with any ready-to-receive message, unless the
 * connection's options have `rtr` or revision 1, or Private Data that leave no room for the 4 octets of
 * RFC 6581. With a Responder that does not know this startup it goes on as client and server. If nothing
 * in the options asks for Rev 2, it also has fall_back. Where no such message was agreed on, an RDMA Write
 * of no octets leaves at once. If nothing comes from the peer for 250 ms, and again after another second,
 * one more such Write leaves, because Linux's siw as a Responder may overlook FPDUs that come right after
 * its Reply until the next segment comes. With XIW_RTR_NONE nothing of this is done.
 *
 * -EINVAL: opts, or the connection does not have 3 queues, or its send_depth is below 2, or buffers are
 * posted to its queues 1 or 2; -EALREADY: it is an RDMAP Stream; -ENOMEM; -ENOTCONN: too late, it is
 * established or has ended.
 */
XIW_API int xiw_rdma_attach(struct xiw_conn *conn, const struct xiw_rdma_opts *opts,
			    struct xiw_rdma **rdma);

enum xiw_rdma_kind {
	XIW_RDMA_SEND,
	XIW_RDMA_WRITE,
	XIW_RDMA_READ,
	/* RFC 7306 */
	XIW_RDMA_IMMEDIATE,
	/* An RDMA Write with Immediate Data behind it: one operation in two of send_depth's places. */
	XIW_RDMA_WRITE_IMMEDIATE,
	XIW_RDMA_FETCH_ADD,
	XIW_RDMA_CMP_SWAP,
	/*
	 * Without a message: rights of a region of ours change, in order with the operations around it. What
	 * is posted behind it leaves after the change, and what is posted before has been passed on, not
	 * answered: for that see XIW_RDMA_FENCE. Only with xiw_rdma_post_many().
	 */
	XIW_RDMA_REGISTER,	   /* gives the region the rights `access` */
	XIW_RDMA_LOCAL_INVALIDATE, /* takes all rights; no error if a peer has invalidated the STag */
};

enum xiw_rdma_flags {
	XIW_RDMA_SOLICITED = 1 << 0,  /* Send, Immediate Data: with Solicited Event */
	XIW_RDMA_INVALIDATE = 1 << 1, /* Send: and invalidate an STag of the peer */
	/* Wait until what was posted before and has an answer is complete (section 5.5, note to rule 12). */
	XIW_RDMA_FENCE = 1 << 2,
	/*
	 * Send, Write: the octets, at most XIW_RDMA_INLINE_MAX, are copied when the operation is posted.
	 * Their memory may be used again as soon as the call has returned.
	 */
	XIW_RDMA_INLINE = 1 << 3,
	/* There is no completion if the operation succeeds. If it does not, there is one all the same. */
	XIW_RDMA_UNSIGNALED = 1 << 4,
	/* Read into pieces: their memory is that of regions, and the answer has no place once these are freed. */
	XIW_RDMA_REGISTERED = 1 << 5,
};

#define XIW_RDMA_PIECES_MAX 32	/* of an operation, and of a posted receive */
#define XIW_RDMA_INLINE_MAX 256 /* octets */

/*
 * The operands of an atomic operation (RFC 7306 section 5.1).
 *
 * XIW_RDMA_FETCH_ADD adds value. Each bit of mask is the highest of a field, out of which nothing is
 * carried: 0 makes one field of the 64 bits, 1 << 31 two of 32.
 *
 * XIW_RDMA_CMP_SWAP: if the word and compare agree in the bits of compare_mask, the bits of mask become
 * those of value. compare_mask 0 swaps always.
 */
struct xiw_rdma_atomic {
	uint64_t value, mask;
	uint64_t compare, compare_mask; /* XIW_RDMA_CMP_SWAP */
};

/* An operation on one piece of memory, which stays the caller's; it must not change until the completion. */
struct xiw_rdma_op {
	enum xiw_rdma_kind kind;
	unsigned int flags; /* enum xiw_rdma_flags */
	union {
		/*
		 * Send, Write: what is sent. Read: where it goes, instead of a region. The library makes an STag
		 * of it, with which the peer can do nothing but answer this Read, and which is gone when the Read
		 * completes. If the peer invalidates it instead (section 5.3), no answer is accepted any more.
		 * sink_stag and sink_to are then 0.
		 */
		const void *buf;
		const struct xiw_rdma_atomic *atomic; /* not used after xiw_rdma_post() */
	};
	uint64_t len;  /* Send, Write, Read: at most 2^32 - 1; others: 0 */
	uint32_t stag; /* Write: the peer's sink; Read: the peer's source; atomic: of the word */
	uint64_t to;   /* likewise */
	/* Read, without buf: where it goes, one of our regions with XIW_ACCESS_SINK or XIW_ACCESS_WRITE */
	uint32_t sink_stag;
	union {
		uint64_t sink_to;   /* likewise */
		uint64_t immediate; /* Immediate Data: 8 octets, the highest first on the wire */
	};
	uint32_t invalidate; /* Send with XIW_RDMA_INVALIDATE */
	uint64_t user_data;  /* of the completion */
};

/*
 * Posts an operation. Operations are passed on in the order in which they are posted (section 5.5 rule
 * 13); a Read or atomic operation beyond the outbound limit waits, and everything behind it.
 *
 * -EAGAIN: send_depth operations are posted; -ENOTCONN: XIW_EV_CONNECTED has not come; -EPIPE: the
 * stream is closing or has ended; -EINVAL: kind, flags, no buf, a len that is to be 0, or TO + len wraps;
 * -EMSGSIZE: len, or more than XIW_RDMA_INLINE_MAX octets inline; -ENOMEM as for xiw_rdma_post_many();
 * -EACCES: the sink is not a region where the answer may go; -ENOSPC, -ENOMEM: there is no STag for a
 * Read's memory; -EOPNOTSUPP: a Read or atomic operation, and the peer accepts none, or one of RFC
 * 7306, and the stream is not extended.
 */
XIW_API int xiw_rdma_post(struct xiw_rdma *rdma, const struct xiw_rdma_op *op);

/*
 * An operation, as struct xiw_rdma_op, on up to XIW_RDMA_PIECES_MAX pieces of memory. Their octets are
 * one message, in the order of the pieces; pieces may be empty. The array of the pieces is the caller's
 * again when the operation is posted, and the memory that they name is when it completes.
 */
struct xiw_rdma_work {
	size_t size; /* sizeof(struct xiw_rdma_work), the same in all elements of an array */
	uint64_t user_data;
	enum xiw_rdma_kind kind;
	unsigned int flags; /* enum xiw_rdma_flags */
	union {
		/* Send, Write: what is sent. Read: where it goes, as buf of struct xiw_rdma_op */
		const struct iovec *iov;
		const struct xiw_rdma_atomic *atomic; /* as in struct xiw_rdma_op */
		/*
		 * XIW_RDMA_REGISTER, XIW_RDMA_LOCAL_INVALIDATE: of the connection's engine, and one that its peer
		 * can use. A Register of a region that has been freed, or whose STag a peer has invalidated, by the
		 * time that its turn comes ends the stream, as a peer would use what is not there.
		 */
		struct xiw_region *region;
	};
	unsigned int iov_count;
	uint32_t stag; /* Write: the peer's sink; Read: the peer's source; atomic: of the word */
	uint64_t to;   /* likewise */
	uint64_t len;  /* Read without pieces: octets. Otherwise 0: the pieces have the length */
	union {
		uint64_t sink_to;
		uint64_t immediate; /* as in struct xiw_rdma_op */
	};
	uint32_t sink_stag; /* Read without pieces: as in struct xiw_rdma_op, as sink_to */
	union {
		uint32_t invalidate; /* Send with XIW_RDMA_INVALIDATE */
		unsigned int access; /* XIW_RDMA_REGISTER: enum xiw_access */
	};
};

/*
 * Posts `count` operations as xiw_rdma_post() does, in the order of the array, and stops at the first
 * that cannot be posted. Returns 0 or the error of that one; *posted, if not NULL, is how many were
 * posted before it. They leave together, as far as a segment has room for several.
 *
 * Errors are those of xiw_rdma_post(), and -EINVAL: the size of an element, more pieces than
 * XIW_RDMA_PIECES_MAX, or a region of another engine; -EACCES: a region that the connection's peer cannot
 * use; -ENOENT: a peer has invalidated its STag; -ENOMEM: the engine's budget has no memory for the
 * operation, or for pieces and inline octets, which a stream takes for its whole send_depth when it first
 * needs it.
 */
XIW_API int xiw_rdma_post_many(struct xiw_rdma *rdma, const struct xiw_rdma_work *work,
			       unsigned int count, unsigned int *posted);

/*
 * Posts a buffer for the next incoming Send or Immediate Data, one for each. Post from before
 * XIW_EV_CONNECTED on: a Send that finds no buffer ends the stream, or waits for one
 * (xiw_conn_opts.hold_ms). Immediate Data takes a buffer of any length, so buf may be NULL and len 0 for
 * it. Errors are those of xiw_conn_post_recv() for queue 0.
 */
XIW_API int xiw_rdma_post_recv(struct xiw_rdma *rdma, void *buf, uint32_t len, uint64_t user_data);

/*
 * A buffer for an incoming Send, in up to XIW_RDMA_PIECES_MAX pieces. They are filled in order; pieces
 * may be empty. The array of the pieces is the caller's again when the buffer is posted.
 */
struct xiw_rdma_recv {
	size_t size; /* sizeof(struct xiw_rdma_recv), the same in all elements of an array */
	uint64_t user_data;
	const struct iovec *iov;
	unsigned int iov_count;
	uint32_t flags; /* enum xiw_rdma_recv_flags */
};

enum xiw_rdma_recv_flags {
	/*
	 * The memory of the pieces is that of regions where answers to Reads may go (XIW_ACCESS_SINK or _WRITE).
	 * Once such a region is freed, and no other one has that memory, the buffer takes no payload: a Send with
	 * payload ends the stream, and the buffer's completion has XIW_CAUSE_LOCAL_PROTECTION. Without the flag,
	 * memory need not be registered, and is used until the completion.
	 */
	XIW_RDMA_RECV_REGISTERED = 1 << 0,
};

/*
 * Posts `count` buffers in the order of the array, and stops at the first that cannot be posted.
 * Returns 0 or the error of that one; *posted, if not NULL, is how many were posted before it.
 *
 * Errors are those of xiw_rdma_post_recv(), and -EINVAL: the size of an element, too many pieces, or
 * 2^32 octets or more; -ENOMEM: the engine's budget has no memory for pieces, which a stream takes for
 * its whole recv_depth when it first needs it.
 */
XIW_API int xiw_rdma_post_recv_many(struct xiw_rdma *rdma, const struct xiw_rdma_recv *recv,
				    unsigned int count, unsigned int *posted);

/* What the completion of an operation of this kind says of it (struct xiw_completion, op). */
XIW_API enum xiw_operation xiw_rdma_operation(enum xiw_rdma_kind kind);

/* XIW_EV_RECEIVED: was it a Send or Immediate Data with Solicited Event? */
static inline bool xiw_rdma_solicited(const struct xiw_completion *c)
{
	uint8_t opcode = c->rsvdulp[0] & 0xf;

	return opcode == 5 || opcode == 6 || opcode == 9;
}

/*
 * XIW_EV_RECEIVED: was it Immediate Data? If so, *value is what the peer posted as `immediate`. Without
 * immediate_apart its 8 octets are in the posted buffer as well, the highest first, if that has room for all
 * of them; a shorter buffer is as it was.
 */
static inline bool xiw_rdma_immediate(const struct xiw_completion *c, uint64_t *value)
{
	uint8_t opcode = c->rsvdulp[0] & 0xf;

	if (opcode != 8 && opcode != 9)
		return false;
	*value = c->value;
	return true;
}

/*
 * XIW_EV_RECEIVED: did it invalidate an STag of ours? If so, c->stag is that STag, and its region is
 * still to be freed. Only an STag that is bound to the connection (xiw_region_opts.conn) can be
 * invalidated (section 8.1.1 rule 7).
 */
static inline bool xiw_rdma_invalidated(const struct xiw_completion *c)
{
	uint8_t opcode = c->rsvdulp[0] & 0xf;

	return opcode == 4 || opcode == 6;
}

/*
 * Graceful end (section 6.2): completes what is posted, Reads included, and answers the peer's Reads
 * that have come; then calls xiw_conn_close(), which alone would flush the Reads that wait for their
 * turn. Reads that the peer cannot answer any more, because it has closed, are flushed. Returns 0.
 */
XIW_API int xiw_rdma_close(struct xiw_rdma *rdma);

enum xiw_rdma_stop_flags {
	/* Operations that TCP does not take at once are flushed, too, and their memory is not read any more. */
	XIW_RDMA_STOP_SENDS = 1 << 0,
};

/*
 * Takes nothing more from the peer. Once this has returned, nothing that the peer has sent or sends is placed or
 * delivered, and none of its Reads is answered; TCP acknowledges it, and it is dropped. Posted buffers, and Reads and
 * atomic operations without an answer, are flushed: their completions are in the queue. So the application may use all
 * memory that it has registered or posted for the peer for something else.
 *
 * Operations that were posted to be sent still leave, as far as none of them waits for an answer; TCP has been given
 * what it takes at once. Then the connection is closed as by xiw_conn_close(), within the same limits. If an answer to
 * a Read of the peer, or with XIW_RDMA_STOP_SENDS a message, is only half sent, a Terminate says so to the peer, and
 * what is posted behind it is flushed. Once nothing is to be read from the application's memory any more, the limit is
 * terminate_timeout_ms, whatever moves.
 *
 * May be called again with the flag. Before XIW_EV_CONNECTED this is xiw_conn_abort(), unless a Responder has accepted
 * and waits for a peer-to-peer Initiator to be ready: -EAGAIN then says that nothing is taken of what comes. The
 * application posts what it has when XIW_EV_CONNECTED comes, and calls this again. With the flag that is aborted, too.
 * By the engine's thread, between two calls of xiw_engine_run() or in a call (xiw_engine_call()). Returns 0; -EINVAL:
 * flags.
 */
XIW_API int xiw_rdma_stop(struct xiw_rdma *rdma, unsigned int flags);

/*
 * What the peer may do on this stream, of what its regions allow: XIW_ACCESS_WRITE, XIW_ACCESS_READ and
 * XIW_ACCESS_ATOMIC (xiwarp/region.h), at first all; 0: nothing. An operation for which the right is missing
 * ends the stream with the Terminate for an access violation (section 4.8). Answers to Reads of ours need none.
 * From the call on, what arrives is judged so. -EINVAL: access has other bits.
 */
XIW_API int xiw_rdma_set_access(struct xiw_rdma *rdma, unsigned int access);

/* Abortive end (section 6.2.1): a Terminate with Local Catastrophic Error, then the end as for any error. */
XIW_API void xiw_rdma_terminate(struct xiw_rdma *rdma);

/* The errors of RDMAP itself (section 4.8): Error Type << 8 | Error Code. */
enum xiw_rdmap_error {
	XIW_RDMAP_OK = 0,
	XIW_RDMAP_LOCAL_CATASTROPHIC = 0x10000, /* type 0; bit 16 is outside both fields */

	/* Remote Protection Error */
	XIW_RDMAP_STAG = 0x100,	      /* invalid STag */
	XIW_RDMAP_BOUNDS = 0x101,     /* base or bounds violation */
	XIW_RDMAP_ACCESS = 0x102,     /* access rights violation */
	XIW_RDMAP_NOT_STREAM = 0x103, /* STag not associated with RDMAP Stream */
	XIW_RDMAP_TO_WRAP = 0x104,
	XIW_RDMAP_CANNOT_INVALIDATE = 0x109, /* STag cannot be invalidated */
	XIW_RDMAP_PROTECTION = 0x1ff,	     /* unspecified */

	/* Remote Operation Error */
	XIW_RDMAP_VERSION = 0x205, /* invalid RDMAP version */
	XIW_RDMAP_OPCODE = 0x206,  /* unexpected opcode */
	XIW_RDMAP_STREAM = 0x207,  /* catastrophic error, localized to RDMAP Stream */
	XIW_RDMAP_GLOBAL = 0x208,  /* catastrophic error, global */
	XIW_RDMAP_CANNOT_INVALIDATE_OP = 0x209,
	XIW_RDMAP_OPERATION = 0x2ff, /* unspecified */
};

enum xiw_rdma_layer {
	XIW_RDMA_LAYER_RDMAP = 0, /* enum xiw_rdmap_error */
	XIW_RDMA_LAYER_DDP = 1,	  /* enum xiw_ddp_error */
	XIW_RDMA_LAYER_LLP = 2,	  /* MPA: type 0, enum xiw_mpa_error */
};

/* A Terminate Header (section 4.8). */
struct xiw_rdma_terminate_info {
	bool present;
	/* Received with its bits in the order of Linux's siw, not in that of the RFC. */
	bool reversed;
	uint8_t layer, etype, code;
	bool has_segment_len, has_ddp_header, has_read_request; /* M, D, R */
	uint16_t segment_len;	  /* of the DDP Segment that caused it */
	uint8_t ddp_header_len;	  /* 14 or 18 */
	uint8_t ddp_header[18];	  /* as on the wire */
	uint8_t read_request[28]; /* as on the wire */
	uint8_t control[4];	  /* the first octets, as on the wire */
};

/* What a stream is and did. Counters never go back. */
struct xiw_rdma_info {
	uint16_t ird, ord;	      /* limits in use; 0 before XIW_EV_CONNECTED */
	uint64_t sends_in, sends_out; /* of all four kinds */
	uint64_t writes_in, writes_out;
	uint64_t reads_in, reads_out; /* answered; in: as soon as TCP has the answer */
	uint64_t write_octets_in, write_octets_out;
	uint64_t read_octets_in, read_octets_out; /* in: of Read Responses to us */
	uint64_t invalidated;			  /* STags of ours that the peer invalidated */
	struct xiw_rdma_terminate_info sent, received;
	uint64_t immediates_in, immediates_out;
	uint64_t atomics_in, atomics_out; /* in: carried out for the peer; out: answered */
	/* Limits: pieces of an operation or a posted buffer, octets inline, and how much may be posted. */
	uint32_t pieces_max, inline_max, send_depth, recv_depth;
	/* Posted and not complete: operations; of these, those that wait for an answer; buffers for Sends. */
	uint32_t posted, unanswered, recvs_posted;
	uint32_t reserved;
};

/* `size` is sizeof(struct xiw_rdma_info). Allowed until xiw_conn_free(). */
XIW_API void xiw_rdma_info(const struct xiw_rdma *rdma, struct xiw_rdma_info *info, size_t size);

/* A few words for a Terminate's layer, type and code, never NULL; static storage. */
XIW_API const char *xiw_rdma_terminate_name(const struct xiw_rdma_terminate_info *t);
XIW_API const char *xiw_rdmap_error_name(enum xiw_rdmap_error error);

XIW_END_DECLS

#endif

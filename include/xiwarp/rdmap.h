/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/rdmap.h - RDMAP (RFC 5040) on a connection: Send, RDMA Write, RDMA Read and Terminate.
 *
 * A connection becomes an RDMAP Stream by xiw_rdma_attach(), and is one until it is freed. It keeps
 * its events and its functions for startup, closing and reports; messages are sent with
 * xiw_rdma_post() instead of xiw_conn_send(), and buffers for incoming Sends posted with
 * xiw_rdma_post_recv(). Completions come from the engine's queue as they do for every connection:
 *
 *   XIW_EV_RECEIVED    a Send of the peer's is in its posted buffer: length, and the helpers below
 *   XIW_EV_SENT        a Send or RDMA Write was given to TCP; its buffer is yours again
 *   XIW_EV_READ        an RDMA Read is complete: its octets are in the sink
 *   XIW_EV_FLUSHED     an operation or a posted buffer comes back without success
 *   XIW_EV_ERROR       the stream is in error: the peer was sent a Terminate (xiw_rdma_info()), and
 *                      XIW_EV_CLOSED follows, without the application's help
 *   XIW_EV_TERMINATED  the peer sent a Terminate (xiw_rdma_info()); XIW_EV_CLOSED follows as well
 *
 * Operations complete in the order in which they were posted (section 5.5, rule 15). Arrivals are
 * in the order in which they were sent; but the two are not ordered to each other, so that the
 * answer to a Send may come before the XIW_EV_SENT that gives its buffer back. RDMA Writes and Read
 * Requests of the peer's are served without the application (sections 5.1, 5.2.1): from and into
 * the regions (xiwarp/region.h) whose rights allow it. An incoming Read is answered straight from
 * the region, at the pace of the connection; if the region goes while it is read, the stream ends
 * with a Terminate, whatever region has its STag by then. So it does if the answer to a Read of
 * ours is not what was asked for: another place, region or length, or octets that do not follow
 * each other.
 *
 * Thread rules as in xiwarp.h. Lengths are octets; all integers in host byte order.
 */
#ifndef XIWARP_RDMAP_H
#define XIWARP_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/conn.h>
#include <xiwarp/engine.h>
#include <xiwarp/export.h>

XIW_BEGIN_DECLS

struct xiw_rdma;

struct xiw_rdma_opts {
	size_t size;		 /* sizeof(struct xiw_rdma_opts) */
	unsigned int send_depth; /* operations posted and not complete; 0: 64 */
	/*
	 * RDMA Reads at once, inbound and outbound, at most 16382; 0: 16. Where RFC 6581 negotiates
	 * these, it is with these, if the connection's options leave both at 0 and
	 * xiw_conn_set_depths() was not called, or else with those; and what was agreed is used,
	 * unless that leaves it to the ULP.
	 */
	uint16_t ird, ord;
};

/*
 * Makes an RDMAP Stream of a connection: an Initiator's right after xiw_connect(), a Responder's in
 * answer to XIW_EV_REQUEST, before xiw_conn_accept(). Belongs to the connection, and goes with it
 * in xiw_conn_free().
 * -EINVAL: opts, or the connection has other than 3 queues or a send_depth below 2; -EALREADY: it
 * is one; -ENOMEM;
 * -ENOTCONN: too late, it is established or has ended.
 */
XIW_API int xiw_rdma_attach(struct xiw_conn *conn, const struct xiw_rdma_opts *opts,
			    struct xiw_rdma **rdma);

enum xiw_rdma_kind {
	XIW_RDMA_SEND,
	XIW_RDMA_WRITE,
	XIW_RDMA_READ,
};

enum xiw_rdma_flags {
	XIW_RDMA_SOLICITED = 1 << 0,  /* Send: with Solicited Event */
	XIW_RDMA_INVALIDATE = 1 << 1, /* Send: and invalidate an STag of the peer's */
	/* Wait until every RDMA Read posted before is complete (section 5.5, note to rule 12). */
	XIW_RDMA_FENCE = 1 << 2,
};

/* An operation. Memory stays the caller's, and unchanged until the completion. */
struct xiw_rdma_op {
	enum xiw_rdma_kind kind;
	unsigned int flags;  /* enum xiw_rdma_flags */
	const void *buf;     /* Send, Write */
	uint64_t len;	     /* at most 2^32 - 1 */
	uint32_t stag;	     /* Write: the peer's sink; Read: the peer's source */
	uint64_t to;	     /* likewise */
	uint32_t sink_stag;  /* Read: where it goes, a region of ours that the peer may write to */
	uint64_t sink_to;    /* likewise */
	uint32_t invalidate; /* Send with XIW_RDMA_INVALIDATE */
	uint64_t user_data;  /* of the completion */
};

/*
 * Posts an operation. It is passed on in the order posted (rule 13); a Read beyond the outbound
 * limit waits, and all behind it. -EAGAIN: send_depth are posted; -ENOTCONN: XIW_EV_CONNECTED has
 * not come;
 * -EPIPE: the stream is closing, or has ended; -EINVAL: kind, flags, no buf, or TO + len wraps;
 * -EMSGSIZE: len;
 * -EACCES: the sink is not a region that this connection's peer may write to; -EOPNOTSUPP: Read,
 * and the peer takes none.
 */
XIW_API int xiw_rdma_post(struct xiw_rdma *rdma, const struct xiw_rdma_op *op);

/*
 * Posts a buffer for the next incoming Send: one for each, and from before XIW_EV_CONNECTED on, since
 * a Send that finds none ends the stream. As xiw_conn_post_recv() for queue 0.
 */
XIW_API int xiw_rdma_post_recv(struct xiw_rdma *rdma, void *buf, uint32_t len, uint64_t user_data);

/* Of XIW_EV_RECEIVED: was it a Send with Solicited Event? */
static inline bool xiw_rdma_solicited(const struct xiw_completion *c)
{
	uint8_t opcode = c->rsvdulp[0] & 0xf;

	return opcode == 5 || opcode == 6;
}

/*
 * Of XIW_EV_RECEIVED: did it invalidate an STag of ours? Then that is c->stag. Its region is still
 * to be freed. Only an STag that is bound to the connection (xiw_region_opts.conn) can be
 * invalidated (section 8.1.1 rule 7).
 */
static inline bool xiw_rdma_invalidated(const struct xiw_completion *c)
{
	uint8_t opcode = c->rsvdulp[0] & 0xf;

	return opcode == 4 || opcode == 6;
}

/*
 * Graceful end (section 6.2): what is posted is completed first, Reads included, as are those of
 * the peer's that came; then xiw_conn_close(), which alone would flush the Reads that wait for
 * their turn. Reads that the peer can no longer answer, as it has closed, are flushed. Returns 0.
 */
XIW_API int xiw_rdma_close(struct xiw_rdma *rdma);

/* Abortive end (section 6.2.1): a Terminate with Local Catastrophic Error, then as for any other error. */
XIW_API void xiw_rdma_terminate(struct xiw_rdma *rdma);

/* Section 4.8: what errors of RDMAP itself are called: Error Type << 8 | Error Code. */
enum xiw_rdmap_error {
	XIW_RDMAP_OK = 0,
	XIW_RDMAP_LOCAL_CATASTROPHIC = 0x10000, /* type 0; bit 16 is outside of both fields */

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
	/* Received with its bits in the order in which Linux's siw writes them, not the RFC's. */
	bool reversed;
	uint8_t layer, etype, code;
	bool has_segment_len, has_ddp_header, has_read_request; /* M, D, R */
	uint16_t segment_len;					/* of the DDP Segment in question */
	uint8_t ddp_header_len;					/* 14 or 18 */
	uint8_t ddp_header[18];					/* as on the wire */
	uint8_t read_request[28];				/* as on the wire */
	uint8_t control[4]; /* the first octets, as they came or went */
};

/* What a stream is and did. Counters never go back. */
struct xiw_rdma_info {
	uint16_t ird, ord;	      /* limits in use; 0 before XIW_EV_CONNECTED */
	uint64_t sends_in, sends_out; /* of all four kinds */
	uint64_t writes_in, writes_out;
	uint64_t reads_in, reads_out; /* inbound Read Requests taken, outbound ones answered */
	uint64_t write_octets_in, write_octets_out;
	uint64_t read_octets_in, read_octets_out; /* in: of Read Responses to us */
	uint64_t invalidated;			  /* STags of ours, by the peer */
	struct xiw_rdma_terminate_info sent, received;
};

/* `size` is sizeof(struct xiw_rdma_info). Good until xiw_conn_free(). */
XIW_API void xiw_rdma_info(const struct xiw_rdma *rdma, struct xiw_rdma_info *info, size_t size);

/* A few words for a Terminate's layer, type and code, never NULL; static storage. */
XIW_API const char *xiw_rdma_terminate_name(const struct xiw_rdma_terminate_info *t);
XIW_API const char *xiw_rdmap_error_name(enum xiw_rdmap_error error);

XIW_END_DECLS

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/conn.h - connections: MPA startup (RFC 5044 section 7.1), DDP messages both ways (RFC 5041),
 * teardown, and the report of which octets took which path.
 */
#ifndef XIWARP_CONN_H
#define XIWARP_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <xiwarp/abi.h>
#include <xiwarp/engine.h>
#include <xiwarp/error.h>
#include <xiwarp/export.h>

XIW_BEGIN_DECLS

#define XIW_PRIVATE_DATA_MAX 512 /* RFC 5044 section 7.1.1 */
#define XIW_QUEUES_DEFAULT 3
#define XIW_QUEUES_MAX 4096
#define XIW_QUEUE_DEPTH_MAX (1u << 20)	/* posted buffers of a queue, queued messages */
#define XIW_QUEUE_DEPTHS_MAX (1u << 22) /* queues * recv_depth */
#define XIW_DEPTH_ULP 0x3fff /* RFC 6581 section 9.1: as IRD or ORD, the ULPs see to it */

/* How a peer-to-peer Initiator says that it is ready to receive (RFC 6581 section 9.2). */
enum xiw_rtr {
	XIW_RTR_SEND = 1 << 0,	/* zero-length Send */
	XIW_RTR_WRITE = 1 << 1, /* zero-length RDMA Write */
	XIW_RTR_READ = 1 << 2,	/* zero-length RDMA Read: the ULP's to send, and to answer */
};

struct xiw_conn_opts {
	size_t size;	    /* sizeof(struct xiw_conn_opts): see xiwarp/xiwarp.h */
	uint64_t user_data; /* for the connection's own events */
	bool markers;	    /* ask the peer to send us markers */
	/*
	 * Do without CRC32c if the peer asks for none either. This counts where the administrator
	 * has allowed it, by a line `crc optional` in /etc/xiwarp.conf; else he has decided (RFC
	 * 5044 section 4.4): CRCs are always used, or with `crc off` never with a peer that can do
	 * without them. The file is read when an engine is created. xiw_conn_info().crc tells what
	 * was agreed.
	 */
	bool no_crc;
	bool no_pack;		/* one FPDU in each TCP segment, for receivers that take more ill */
	enum xiw_use_path path; /* AUTO: as the engine's */
	unsigned int queues;	/* untagged queues, QN 0..queues-1; 0: XIW_QUEUES_DEFAULT */
	/*
	 * MSN of each queue's first message, both ways; 0: 1, as RFC 5041 section 4.3 has it. For
	 * what is to be shown of a wrap, or a ULP that goes on with another connection's numbers:
	 * the peer must do the same.
	 */
	uint32_t first_msn;
	uint32_t pd; /* Protection Domain of the STags it may use (RFC 5041 section 8.2) */
	unsigned int recv_depth; /* posted buffers per queue; 0: 64 */
	unsigned int send_depth; /* queued messages; 0: 64 */
	/*
	 * For TCP connect and MPA startup together. It stops while the application has not
	 * answered, and begins anew with the answer. 0: 10000
	 */
	unsigned int startup_timeout_ms;
	const void *private_data; /* Initiator: goes with the MPA Request; copied */
	size_t private_data_len;  /* at most XIW_PRIVATE_DATA_MAX; 4 less with RFC 6581's data */

	/*
	 * MPA's revision. Initiator: 1 or 2; 0: 2 if enhanced, rtr, ird or ord is set, else 1.
	 * Responder: the highest to take, 0: 2; the Reply has that of the Request, and RFC 6581's
	 * data if the Request has.
	 */
	uint8_t revision;
	/* Initiator: negotiate IRD and ORD although both are 0. */
	bool enhanced;
	/*
	 * enum xiw_rtr. Initiator: peer-to-peer, with one of these; 0: client and server. Responder: those
	 * it takes, 0: SEND and WRITE. The library sends SEND and WRITE itself and consumes them, without a
	 * completion or a posted buffer; READ is left to the ULP, as its first message.
	 */
	uint8_t rtr;
	/*
	 * Initiator: XIW_EV_REPLY comes before XIW_EV_CONNECTED, for the application to judge the Private
	 * Data: xiw_conn_accept(), or xiw_conn_reject() to leave MPA (RFC 5044 section 7.1.2 rule 3).
	 */
	bool review_reply;
	/*
	 * Initiator: a Responder that closes upon a Rev 2 Request, as one without RFC 6581 does, is
	 * tried once more with Rev 1, client and server, depths left to the ULPs (section 10). Not
	 * for xiw_conn_from_fd().
	 */
	bool fall_back;
	/*
	 * RDMA Reads at once, inbound and outbound: 14 bits, or XIW_DEPTH_ULP. Both 0: those of
	 * xiw_rdma_attach(), if that comes in time (for an Initiator right after xiw_connect()),
	 * else none.
	 */
	uint16_t ird, ord;
	uint16_t reserved[3]; /* 0 */

	/*
	 * The next four: how long a peer is waited for that does nothing, or is gone. 0: the
	 * default given there; XIW_NO_LIMIT: for ever. Then XIW_EV_CLOSED comes, with -ETIMEDOUT,
	 * behind the messages that had arrived.
	 */
	/* Graceful close: while no octet moves, either way; the end comes within 5/4 of it. 0: 30000 */
	unsigned int close_timeout_ms;
	/*
	 * Nothing under way: after so long without a sign of life the peer is asked for one (RFC
	 * 9293 section 3.8.4), four times within as long again: then the end comes, but not before
	 * user_timeout_ms. Counted in whole seconds, rounded up, at most 32767. 0: 60000
	 */
	unsigned int keepalive_ms;
	/*
	 * Octets of ours that the peer does not acknowledge, or does not read (RFC 9293 section
	 * 3.8.3). 0: 120000
	 */
	unsigned int user_timeout_ms;
	/*
	 * After an error: for the last message (RDMAP's Terminate) to arrive, and for the peer's
	 * FIN. 0: 4000
	 */
	unsigned int terminate_timeout_ms;
	/*
	 * Listener: how many TCP connections it has at most that have not sent a whole MPA Request
	 * yet, or that the application has not answered; 0: as the engine's. And how many of these
	 * from one address (IPv6: one /64); 0: half as many. A connection that comes when a limit
	 * is reached takes the place of the oldest that has not sent its Request, which is reset
	 * (XIW_EV_CLOSED with -EUSERS; XIW_EV_NOT_ACCEPTED, once); without such a one it is reset
	 * itself.
	 */
	unsigned int max_unstarted, max_unstarted_peer;
};

#define XIW_NO_LIMIT UINT32_MAX

/*
 * Starts to listen (Responder). opts are copied and serve every connection accepted. Events of new
 * connections carry opts->user_data until xiw_conn_set_user_data(): XIW_EV_REQUEST comes first, or
 * XIW_EV_CLOSED alone if the connection ended without a Request; it is to be freed as well.
 * -EINVAL: opts; -ENOMEM; negative errno of socket, bind, listen. -EADDRINUSE comes also for a
 * moment after a process that listened there was killed, since the kernel takes an io_uring down
 * later than its process.
 */
XIW_API int xiw_listen(struct xiw_engine *engine, const struct sockaddr *addr, socklen_t len,
		       const struct xiw_conn_opts *opts, struct xiw_listener **listener);
/* The bound address, as getsockname(2). */
XIW_API int xiw_listener_addr(const struct xiw_listener *l, struct sockaddr_storage *addr,
			      socklen_t *len);
/* Connections that it has accepted go on. Before or after xiw_engine_destroy(). NULL is fine. */
XIW_API void xiw_listener_free(struct xiw_listener *listener);

/*
 * Starts to connect (Initiator); the result comes as XIW_EV_CONNECTED, or as XIW_EV_REFUSED and, behind it,
 * XIW_EV_CLOSED.
 * -EINVAL: opts; -ENOMEM; negative errno of socket(2).
 */
XIW_API int xiw_connect(struct xiw_engine *engine, const struct sockaddr *addr, socklen_t len,
			const struct xiw_conn_opts *opts, struct xiw_conn **conn);

/* What an application that upgrades a connection has already done with it; zeros or NULL: nothing. */
struct xiw_upgrade {
	size_t size; /* sizeof(struct xiw_upgrade) */
	/*
	 * Octets that it has read behind the last streaming message: the peer's startup frame
	 * begins there.
	 */
	const void *prefix;
	size_t prefix_len;
	/*
	 * The "last streaming message" (RFC 5044 section 7.1.5), any length: sent when the connection is
	 * prepared for MPA, and before the Request, so that however fast the peer goes on it is not missed.
	 */
	const void *last;
	size_t last_len;
};

/*
 * Starts MPA on a connected TCP socket that may have carried streaming data (delayed startup, RFC
 * 5044 section 7.1.3). Which side is the Initiator has nothing to do with who connected; if both
 * sides are Responders, both time out. Events are those of xiw_connect() or of xiw_listen(). prefix
 * and last are copied. From success on the socket is the connection's; on failure it stays the
 * caller's. On the direct path a filter of the caller's on it (SO_ATTACH_FILTER) is replaced.
 * -EINVAL: opts, or not a TCP socket; -ENOTCONN: not connected; -ENOMEM; -EBADF, -ENOTSOCK.
 */
XIW_API int xiw_conn_from_fd(struct xiw_engine *engine, int fd, bool initiator,
			     const struct xiw_conn_opts *opts, const struct xiw_upgrade *upgrade,
			     struct xiw_conn **conn);

/*
 * Answer XIW_EV_REQUEST, or XIW_EV_REPLY (then without Private Data). -EINVAL: Private Data too
 * long, at most 508 octets if the Request has RFC 6581's data; -ENOTCONN: not waiting for an
 * answer. XIW_EV_CONNECTED follows; at a peer-to-peer Responder when the Initiator is ready (RFC
 * 6581 section 9.2). If it was to be the direct path or none (XIW_USE_DIRECT) and there is none,
 * XIW_EV_CLOSED with -ENOTSUP follows instead. A peer that negotiates by RFC 6581 is told so first,
 * by a Terminate message (section 9.3), for which a Responder waits until the peer has sent an FPDU
 * (RFC 5044 section 7.1.2 rule 4), but not longer than startup_timeout_ms.
 */
XIW_API int xiw_conn_accept(struct xiw_conn *conn, const void *private_data, size_t len);
XIW_API int xiw_conn_reject(struct xiw_conn *conn, const void *private_data, size_t len);

/*
 * In answer to XIW_EV_REQUEST, before accepting or rejecting: other depths than those of the
 * listener's opts. What is accepted has ORD reduced to the peer's IRD; what is rejected tells the
 * peer the ORD that is required (RFC 6581 section 9.1). Before or after xiw_rdma_attach(), whose
 * stream keeps what this promises.
 * -EINVAL, -ENOTCONN as above; -ENOMEM.
 */
XIW_API int xiw_conn_set_depths(struct xiw_conn *conn, uint16_t ird, uint16_t ord);

/*
 * A rejected connection is out of MPA, and its TCP connection stays open (RFC 5044 section 7.1.2
 * rules 2 and 3) until xiw_conn_free(). This takes the socket from it, both ways as it was behind
 * the startup frames, and with the options that it had: TCP_NODELAY, SO_OOBINLINE and the receive
 * buffer, which the kernel tunes again unless SO_RCVBUF had been set. A listener's have what a new
 * socket has. What cannot be taken back is what the peer knows, the window scale and the window,
 * and a filter (SO_ATTACH_FILTER) that was replaced. Called after XIW_EV_CLOSED with -ECONNREFUSED;
 * -ENOTCONN otherwise.
 */
XIW_API int xiw_conn_take_fd(struct xiw_conn *conn);

XIW_API void xiw_conn_set_user_data(struct xiw_conn *conn, uint64_t user_data);

/*
 * The peer's private data: valid from XIW_EV_REQUEST, _REPLY, _CONNECTED or _REFUSED until the
 * connection is freed. `len` may be NULL.
 */
XIW_API const void *xiw_conn_private_data(const struct xiw_conn *conn, size_t *len);

/* A message to send. `buf` stays the caller's and must not change until XIW_EV_SENT (or FLUSHED). */
struct xiw_message {
	const void *buf;
	uint64_t len;	    /* at most 2^32 - 1 (RFC 5041 section 5.2) */
	uint64_t to;	    /* tagged */
	uint32_t stag;	    /* tagged: the peer's STag */
	uint32_t qn;	    /* untagged */
	uint8_t rsvdulp[5]; /* the ULP's octets of the DDP header: 1 tagged, 5 untagged */
	bool tagged;
	uint64_t user_data;
};

/*
 * Queues a message; messages leave in order. XIW_EV_SENT says that its buffer may be used again,
 * and nothing of the peer: its answer may well come first, by the direct path most of all. A
 * program that answers messages takes as many buffers for answers as for messages, then: post the
 * buffer of a message again when its answer's XIW_EV_SENT has come, and neither runs out.
 * Completions of messages sent are in order among themselves, and arrivals are.
 * -EAGAIN: send_depth messages are queued;
 * -ENOTCONN: not established (a Responder: no FPDU came yet, RFC 5044 section 7.1.2 rule 4, is
 * queued, not refused); -EMSGSIZE: too long; -EINVAL: no such queue, no buf, TO + length wraps, or
 * the connection is an RDMAP Stream (xiwarp/rdmap.h), whose messages are not the application's to
 * make; -EPIPE: closing.
 */
XIW_API int xiw_conn_send(struct xiw_conn *conn, const struct xiw_message *message);

/*
 * Posts a buffer for the next untagged message of queue qn. Allowed from XIW_EV_REQUEST or
 * xiw_connect() on, so that no message finds its queue empty. -EAGAIN: recv_depth are posted;
 * -EINVAL: qn, no buf, or the connection is an RDMAP Stream (xiw_rdma_post_recv()); -ESHUTDOWN: the
 * incoming stream is in error, or has ended: XIW_EV_EOF or XIW_EV_CLOSED is out.
 */
XIW_API int xiw_conn_post_recv(struct xiw_conn *conn, uint32_t qn, void *buf, uint32_t len,
			       uint64_t user_data);

/*
 * Graceful close: what is queued is sent, then our half is closed; XIW_EV_CLOSED comes when the
 * peer has closed his, or with -ETIMEDOUT when nothing has moved for close_timeout_ms. Messages of
 * the peer are delivered until then. After XIW_EV_ERROR the peer's end is waited for
 * terminate_timeout_ms. Before XIW_EV_CONNECTED as xiw_conn_abort(). Returns 0.
 */
XIW_API int xiw_conn_close(struct xiw_conn *conn);
/* Resets the TCP connection; XIW_EV_CLOSED follows, and nothing more that arrived. */
XIW_API void xiw_conn_abort(struct xiw_conn *conn);
/*
 * Frees the object; aborts first if XIW_EV_CLOSED has not come yet. At any time, also between
 * XIW_EV_REFUSED and XIW_EV_CLOSED, before the application has taken what is queued, and after
 * xiw_engine_destroy(): once this has returned xiw_engine_next() gives no completion that names the
 * connection, of messages and posted buffers neither, which are the application's again. Where
 * another thread takes the completions, it may have taken some before: such an application frees
 * connections where that thread is known to have none of them in hand, in answer to XIW_EV_CLOSED,
 * say.
 */
XIW_API void xiw_conn_free(struct xiw_conn *conn);

#define XIW_DROPS_MAX 32 /* xiw_drop_name() has names for the first few */

/* What a connection is and did. Counters never go back. */
struct xiw_conn_info {
	enum xiw_path path; /* now; XIW_PATH_NONE: never registered with XDP */
	char no_direct[96]; /* why the direct path cannot be had; empty if it can */
	uint32_t flow;	    /* index in xiw_flows, if path is not NONE */
	struct sockaddr_storage local, remote;
	bool markers_in, markers_out, crc;
	bool zero_copy;	  /* the driver writes into our frames, as its AF_XDP socket says */
	bool rejected;	  /* by the Responder's application, or the Initiator's */
	uint8_t revision; /* in the peer's startup frame; 0: none came that far */
	/* RFC 6581; peer_ird and peer_ord as the peer's frame has them, ird and ord as then agreed. */
	bool enhanced, peer_to_peer;
	uint8_t rtr; /* enum xiw_rtr. Initiator: the one chosen; Responder: those offered */
	uint16_t ird, ord, peer_ird, peer_ord;
	uint16_t emss; /* of the sender, as last seen (RFC 5044 section 4.5) */
	uint64_t octets_direct, octets_kernel;	   /* DDP payload placed, by the path it came */
	uint64_t stream_direct, stream_kernel;	   /* all stream octets behind startup, by path */
	uint64_t segments_direct, segments_kernel; /* data segments XDP sent each way */
	uint64_t fpdus, fpdus_early;	   /* accepted; of these, placed before their turn */
	uint64_t messages;		   /* delivered */
	uint64_t octets_sent;		   /* DDP payload given to TCP */
	uint64_t crc_errors;		   /* segments or FPDUs refused */
	uint64_t went_direct, went_kernel; /* hand-offs */
	/* Ends of the direct path, and attempts to enter it that were called off, by enum xiw_reason. */
	uint32_t why[32];
	uint64_t drops[XIW_DROPS_MAX]; /* segments refused by the fast-path TCP receiver */
	uint64_t acks_sent, injected;
	enum xiw_mpa_error mpa_error; /* 0: none */
	enum xiw_ddp_error ddp_error; /* XIW_DDP_OK: none */
	uint8_t error_header[18];     /* the DDP header that was refused */
	uint32_t error_header_len;
	uint32_t error_segment_len; /* of the DDP segment it was in front of, header included */
	/*
	 * errno of the socket's end, 0 if orderly. EUNATCH: the connection needed the programs on
	 * the interface, as its sequence numbers differ from the wire's, and somebody took one off,
	 * or its packets went around them for good, or its local address is gone; no_direct says
	 * which.
	 */
	int error;
	uint64_t armed; /* times that the direct path was open for it */
	/* Frames refused on the direct path: those of `drops`, and the damaged, misdirected and late. */
	uint64_t segments_dropped;
	uint64_t challenges_withheld; /* challenge ACKs over the limit of RFC 5961 section 7 */
};

/* `size` is sizeof(struct xiw_conn_info). */
XIW_API void xiw_conn_info(const struct xiw_conn *conn, struct xiw_conn_info *info, size_t size);

/* Names for the tables above, static storage; NULL past the end. */
XIW_API const char *xiw_reason_name(unsigned int why);
XIW_API const char *xiw_drop_name(unsigned int drop);

XIW_END_DECLS

#endif

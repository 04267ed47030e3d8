/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/conn.h - connections: MPA startup (RFC 5044 section 7.1), DDP messages in both directions
 * (RFC 5041), teardown, and reports of which octets took which path.
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
#define XIW_QUEUE_DEPTH_MAX (1u << 20)	/* of recv_depth and of send_depth */
#define XIW_QUEUE_DEPTHS_MAX (1u << 22) /* queues * recv_depth */
#define XIW_DEPTH_ULP 0x3fff		/* as IRD or ORD: left to the ULPs (RFC 6581 section 9.1) */

/* The message by which a peer-to-peer Initiator says that it is ready (RFC 6581 section 9.2). */
enum xiw_rtr {
	XIW_RTR_SEND = 1 << 0,	/* zero-length Send */
	XIW_RTR_WRITE = 1 << 1, /* zero-length RDMA Write */
	XIW_RTR_READ = 1 << 2,	/* zero-length RDMA Read: the ULP sends it, and answers it */
	XIW_RTR_NONE = 1 << 3,	/* Initiator, alone: none of them, not even for RDMAP */
};

struct xiw_conn_opts {
	size_t size;	    /* sizeof(struct xiw_conn_opts): see xiwarp/xiwarp.h */
	uint64_t user_data; /* of the connection's own events */
	bool markers;	    /* ask the peer to send markers */
	/*
	 * Do without CRC32c if the peer asks for none either. This counts only if the administrator
	 * allows it, by a line `crc optional` in /etc/xiwarp.conf. Otherwise the administrator has
	 * decided (RFC 5044 section 4.4): CRCs are always used, or with `crc off` not with a peer
	 * that can do without them. The file is read when an engine is created.
	 * xiw_conn_info().crc says what was agreed.
	 */
	bool no_crc;
	bool no_pack; /* one FPDU in each TCP segment, for receivers that cannot take more */
	enum xiw_use_path path; /* AUTO: that of the engine */
	unsigned int queues;	/* untagged queues, QN 0..queues-1; 0: XIW_QUEUES_DEFAULT */
	/*
	 * How long a message to queue 0 (with RDMAP: a Send) may wait for a buffer to be posted. The
	 * stream stops in front of it meanwhile, and the window closes; the time begins anew with each
	 * such message. When it is over, or with 0, the message is an error: "invalid MSN - no buffer
	 * available" (RFC 5041 section 7.1). A direct connection takes the kernel path for it if no
	 * buffer is posted within 20 ms. A connection that ends or is lost does not wait. -EINVAL:
	 * XIW_NO_LIMIT
	 */
	unsigned int hold_ms;
	uint32_t pd; /* Protection Domain of the STags it may use (RFC 5041 section 8.2) */
	unsigned int recv_depth; /* posted buffers per queue; 0: 64 */
	unsigned int send_depth; /* queued messages; 0: 64 */
	/*
	 * Limit of TCP connect and MPA startup together. The clock stops while the application has
	 * not answered, and begins anew with the answer. 0: 10000
	 */
	unsigned int startup_timeout_ms;
	const void *private_data; /* Initiator: goes with the MPA Request; copied */
	size_t private_data_len;  /* at most XIW_PRIVATE_DATA_MAX; 4 less with RFC 6581's data */

	/*
	 * The MPA revision. Initiator: 1 or 2; 0: 2 if enhanced, rtr, ird or ord is set, or for
	 * RDMAP (see xiw_rdma_attach()), else 1.
	 * Responder: the highest to accept, 0: 2; the Reply has the revision of the Request, and
	 * the data of RFC 6581 if the Request has them.
	 */
	uint8_t revision;
	/* Initiator: negotiate IRD and ORD even if both are 0. */
	bool enhanced;
	/*
	 * enum xiw_rtr. Initiator: peer-to-peer startup with one of these; 0: client and server,
	 * but see xiw_rdma_attach() for RDMAP; XIW_RTR_NONE: client and server in any case.
	 * Responder: those that it accepts; 0: SEND and WRITE. The library sends and consumes SEND
	 * and WRITE itself, without a completion or a posted buffer; READ is left to the ULP, as its
	 * first message.
	 */
	uint8_t rtr;
	/*
	 * Initiator: XIW_EV_REPLY comes before XIW_EV_CONNECTED, so that the application can judge
	 * the Private Data. It answers with xiw_conn_accept(), or with xiw_conn_reject() to leave
	 * MPA (RFC 5044 section 7.1.2 rule 3).
	 */
	bool review_reply;
	/*
	 * Initiator: if the Responder closes upon a Rev 2 Request, as one without RFC 6581 does,
	 * connect once more with Rev 1, client and server, depths left to the ULPs (RFC 6581 section
	 * 10). Not for xiw_conn_from_fd().
	 */
	bool fall_back;
	/*
	 * How many RDMA Reads may be outstanding, inbound and outbound: 14 bits, or XIW_DEPTH_ULP.
	 * Both 0: those of xiw_rdma_attach() if that is called in time (by an Initiator right after
	 * xiw_connect()), else none.
	 */
	uint16_t ird, ord;
	/*
	 * Responder: send at once with a client-and-server peer, as Linux's siw does. This departs
	 * from RFC 5044 section 7.1.2 rule 4, which has a Responder wait for the first FPDU: an
	 * Initiator that is not prepared may take octets behind the Reply for an error, and siw as
	 * an Initiator does. With a peer-to-peer Initiator (RFC 6581) the Responder waits until
	 * that is ready.
	 */
	bool send_first;
	uint8_t reserved1; /* 0 */
	/*
	 * send_first: wait so many milliseconds for the first FPDU, and only then send without it.
	 * An Initiator that takes nothing behind the Reply has read that by then. 0: do not wait.
	 */
	uint16_t send_first_ms;
	uint16_t reserved; /* 0 */

	/*
	 * The next four limit how long a connection waits for a peer that does nothing or is gone, in
	 * milliseconds. 0: the default that is given; XIW_NO_LIMIT: for ever. Then XIW_EV_CLOSED
	 * comes with -ETIMEDOUT, after the messages that had arrived.
	 */
	/*
	 * Graceful close: no octet moves in either direction. It ends within 5/4 of this; and within
	 * 15/4 of it whatever moves, but for the time that the application takes. 0: 30000
	 */
	unsigned int close_timeout_ms;
	/*
	 * Idle connection: after this time without a sign of life the engine probes the peer (RFC
	 * 9293 section 3.8.4), four times within the same time again. Without an answer the
	 * connection ends, but not before user_timeout_ms. Counted in whole seconds, rounded up, at
	 * most 32767. 0: 60000
	 */
	unsigned int keepalive_ms;
	/*
	 * The peer does not acknowledge, or does not read, octets that were sent (RFC 9293 section
	 * 3.8.3). 0: 120000
	 */
	unsigned int user_timeout_ms;
	/*
	 * After an error: until the last message (RDMAP's Terminate) is acknowledged and the peer's
	 * FIN has come. 0: 4000
	 */
	unsigned int terminate_timeout_ms;
	/*
	 * Listener: the most TCP connections that have not sent a whole MPA Request yet, or that the
	 * application has not answered; 0: as for the engine, or `backlog` if that is more. And the
	 * most of these from one address (IPv6: from one /64); 0: half as many, or `backlog` if that
	 * is more. When a limit is reached, a new connection takes the place of the oldest one that
	 * has not sent its Request, and that one is reset (XIW_EV_CLOSED with -EUSERS;
	 * XIW_EV_NOT_ACCEPTED, once). If there is none, the new one is reset.
	 */
	unsigned int max_unstarted, max_unstarted_peer;

	/*
	 * Called with each socket that the library opens, before it is bound and listens, or connects, so
	 * that the application can set its options: TOS or traffic class, TTL or hop limit, priority, mark,
	 * flow label, congestion control ... Accepted connections inherit what TCP lets them inherit. For a
	 * connection it may bind(2) the socket, too. It is called by the thread of xiw_listen(),
	 * xiw_group_listen(), xiw_connect() or xiw_engine_run(), and calls no function of an engine or of
	 * a group. If it does not return 0, but negative errno, nothing is opened. What the library needs
	 * (TCP_NODELAY, SO_OOBINLINE, a large receive buffer) it sets afterwards. NULL: nothing is to be
	 * set.
	 */
	int (*prepare)(int fd, void *ctx);
	void *prepare_ctx;
	int backlog;	    /* Listener: as for listen(2); 0: 1024 */
	/*
	 * The same as hold_ms, once the peer has closed its half: then nobody waits for the answer, and the
	 * connection ends with -ECONNRESET. 0: hold_ms counts
	 */
	unsigned int hold_closed_ms;
	/*
	 * Listener: how many connections that it has accepted, started or not, the application has room for, as in
	 * descriptors. One address (IPv6: one /64) that has one gets no more than half of what the others leave of
	 * this; further ones are reset (XIW_EV_NOT_ACCEPTED with -EDQUOT). It limits nothing else. 0: peers have no
	 * shares.
	 */
	unsigned int capacity;
	unsigned int reserved2; /* 0 */
};

#define XIW_NO_LIMIT UINT32_MAX

/*
 * Starts to listen (Responder). opts are copied and apply to every connection that is accepted. The
 * events of new connections carry opts->user_data until xiw_conn_set_user_data(). XIW_EV_REQUEST
 * comes first; or XIW_EV_CLOSED alone, if the connection ended without a Request, and then it must
 * be freed, too.
 *
 * -EINVAL: opts; -ENOMEM; negative errno of socket(2), bind(2), listen(2). -EADDRINUSE also comes
 * for a moment after a process that listened there was killed, because the kernel ends an io_uring
 * later than its process.
 */
XIW_API int xiw_listen(struct xiw_engine *engine, const struct sockaddr *addr, socklen_t len,
		       const struct xiw_conn_opts *opts, struct xiw_listener **listener);
/* The bound address, as getsockname(2). */
XIW_API int xiw_listener_addr(const struct xiw_listener *l, struct sockaddr_storage *addr,
			      socklen_t *len);
/*
 * The steps of xiw_listen(): binds the address, so that xiw_listener_addr() tells the port, and starts to
 * listen. Nobody can connect before. xiw_listener_free() after either of them.
 *
 * xiw_listener_bind(): as xiw_listen(). xiw_listener_start(): backlog 0: that of the options. Negative
 * errno of listen(2); -EALREADY: started; -ESHUTDOWN: the engine was destroyed.
 */
XIW_API int xiw_listener_bind(struct xiw_engine *engine, const struct sockaddr *addr, socklen_t len,
			      const struct xiw_conn_opts *opts, struct xiw_listener **listener);
XIW_API int xiw_listener_start(struct xiw_listener *listener, int backlog);

/*
 * Makes a listener of the application's socket, which is bound and may listen already, as one from a
 * service manager. xiw_listener_start() follows; with backlog 0, the socket's own stays if it listens. On
 * success the socket belongs to the listener, and O_NONBLOCK is cleared; on failure it stays the caller's.
 *
 * -EINVAL: opts, or not a TCP socket, or a connected one; -ENOMEM; -EBADF, -ENOTSOCK.
 */
XIW_API int xiw_listener_from_fd(struct xiw_engine *engine, int fd,
				 const struct xiw_conn_opts *opts, struct xiw_listener **listener);

/*
 * Frees the listener; the connections that it accepted go on. Allowed before and after
 * xiw_engine_destroy(). NULL is fine.
 */
XIW_API void xiw_listener_free(struct xiw_listener *listener);

/*
 * Starts to connect (Initiator). The result comes as XIW_EV_CONNECTED, or as XIW_EV_REFUSED and then
 * XIW_EV_CLOSED. xiw_conn_info() tells the local address at once.
 * -EINVAL: opts; -ENOMEM; negative errno of socket(2), or of opts->prepare.
 */
XIW_API int xiw_connect(struct xiw_engine *engine, const struct sockaddr *addr, socklen_t len,
			const struct xiw_conn_opts *opts, struct xiw_conn **conn);

/* What an application has already done with a connection that it upgrades; zeros or NULL: nothing. */
struct xiw_upgrade {
	size_t size; /* sizeof(struct xiw_upgrade) */
	/*
	 * Octets that the application has read beyond the last streaming message: the peer's startup
	 * frame begins there.
	 */
	const void *prefix;
	size_t prefix_len;
	/*
	 * The "last streaming message" (RFC 5044 section 7.1.5), of any length. It is sent when the
	 * connection is prepared for MPA, and before the Request, so that nothing of a fast peer is
	 * missed.
	 */
	const void *last;
	size_t last_len;
};

/*
 * Starts MPA on a connected TCP socket that may have carried streaming data (delayed startup, RFC
 * 5044 section 7.1.3). Either side may be the Initiator, whichever connected; if both are Responders,
 * both time out. Events are those of xiw_connect() or of xiw_listen(). prefix and last are copied.
 * On success the socket belongs to the connection; on failure it stays the caller's. The direct path
 * replaces a filter on the socket (SO_ATTACH_FILTER).
 *
 * -EINVAL: opts, or not a TCP socket; -ENOTCONN: not connected; -ENOMEM; -EBADF, -ENOTSOCK.
 */
XIW_API int xiw_conn_from_fd(struct xiw_engine *engine, int fd, bool initiator,
			     const struct xiw_conn_opts *opts, const struct xiw_upgrade *upgrade,
			     struct xiw_conn **conn);

/*
 * Answer XIW_EV_REQUEST, or XIW_EV_REPLY (then without Private Data). xiw_conn_accept() also goes on after
 * XIW_EV_ARRIVED (xiwarp/group.h). XIW_EV_CONNECTED follows; a
 * peer-to-peer Responder gets it when the Initiator is ready (RFC 6581 section 9.2).
 *
 * If the connection must go direct (XIW_USE_DIRECT) and cannot, XIW_EV_CLOSED with -ENOTSUP follows
 * instead. A peer that negotiates by RFC 6581 is told so first, by a Terminate message (section
 * 9.3). For that a Responder waits until the peer has sent an FPDU (RFC 5044 section 7.1.2 rule 4),
 * but not longer than startup_timeout_ms.
 *
 * -EINVAL: the Private Data are too long, which is more than 508 octets if the Request has the data
 * of RFC 6581; -ENOTCONN: the connection does not wait for an answer.
 */
XIW_API int xiw_conn_accept(struct xiw_conn *conn, const void *private_data, size_t len);
XIW_API int xiw_conn_reject(struct xiw_conn *conn, const void *private_data, size_t len);

/*
 * Replaces the depths of the listener's opts, between XIW_EV_REQUEST and its answer. Accepting
 * reduces ORD to the peer's IRD; rejecting tells the peer the ORD that is required (RFC 6581 section
 * 9.1). May be called before or after xiw_rdma_attach(), whose stream uses these depths.
 *
 * -EINVAL, -ENOTCONN as above; -ENOMEM.
 */
XIW_API int xiw_conn_set_depths(struct xiw_conn *conn, uint16_t ird, uint16_t ord);

/*
 * Replaces recv_depth, send_depth and pd of the listener's opts, between XIW_EV_REQUEST and its answer, and before
 * anything is posted or xiw_rdma_attach() is called. So a queue pair that is made for a connection gives it its own.
 *
 * -EINVAL: a depth of 0, or more than the limits above; -ENOTCONN: too late, or not a Responder's.
 */
XIW_API int xiw_conn_set_queues(struct xiw_conn *conn, unsigned int recv_depth,
				unsigned int send_depth, uint32_t pd);

/*
 * Takes the TCP socket from a rejected connection. Such a connection has left MPA, and its TCP
 * connection stays open (RFC 5044 section 7.1.2 rules 2 and 3) until xiw_conn_free(). The socket's
 * streams stand behind the startup frames in both directions, and its options are as they were:
 * TCP_NODELAY, SO_OOBINLINE, and the receive buffer, which the kernel tunes again unless SO_RCVBUF
 * had been set. A listener's socket has the options of a new one. What cannot be restored is what
 * the peer knows (the window scale and the window) and a filter that was replaced
 * (SO_ATTACH_FILTER).
 *
 * Call it after XIW_EV_CLOSED with -ECONNREFUSED; -ENOTCONN otherwise.
 */
XIW_API int xiw_conn_take_fd(struct xiw_conn *conn);

XIW_API void xiw_conn_set_user_data(struct xiw_conn *conn, uint64_t user_data);
/* The connection that a completion of an operation or of a buffer names: whose is it? */
XIW_API uint64_t xiw_conn_user_data(const struct xiw_conn *conn);

/*
 * Sets an option of the connection's socket, at any time: IP_TOS and IP_TTL (level IPPROTO_IP), IPV6_TCLASS
 * and IPV6_UNICAST_HOPS (IPPROTO_IPV6), SO_PRIORITY (SOL_SOCKET). Class, hop limit and flow label of the
 * ACKs that the engine sends on the direct path are those of the socket's packets. Their priority is not:
 * they go to the driver through AF_XDP, past queueing disciplines, and in a VLAN they have the priority of
 * the peer's frames.
 *
 * -EINVAL: another option, or a value that the kernel refuses; -ENOTCONN: there is no socket yet, or no
 * more; negative errno of setsockopt(2).
 */
XIW_API int xiw_conn_setsockopt(struct xiw_conn *conn, int level, int option, int value);

/*
 * The peer's Private Data, valid from XIW_EV_REQUEST, _REPLY, _CONNECTED or _REFUSED until the
 * connection is freed. `len` may be NULL.
 */
XIW_API const void *xiw_conn_private_data(const struct xiw_conn *conn, size_t *len);

/* A message to send. `buf` stays the caller's; it must not change until XIW_EV_SENT (or _FLUSHED). */
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
 * Queues a message. Messages leave in order, and their completions come in that order.
 *
 * XIW_EV_SENT says that the message's buffer may be used again. It says nothing about the peer, except
 * that what the peer answers to the message comes after it.
 *
 * -EAGAIN: send_depth messages are queued; -ENOTCONN: not established (a Responder that has not
 * received an FPDU yet, RFC 5044 section 7.1.2 rule 4, queues the message); -EMSGSIZE: too long;
 * -EINVAL: no such queue, no buf, TO + length wraps, or the connection is an RDMAP Stream
 * (xiwarp/rdmap.h), which makes its messages itself; -EPIPE: closing; -ENOMEM: the engine's budget has
 * no memory for a longer queue, which grows up to send_depth as it is needed, and so do those of buffers.
 */
XIW_API int xiw_conn_send(struct xiw_conn *conn, const struct xiw_message *message);

/*
 * Posts a buffer for the next untagged message of queue qn. Allowed from XIW_EV_REQUEST or
 * xiw_connect() on, so that no message finds its queue empty.
 *
 * -EAGAIN: recv_depth buffers are posted; -EINVAL: qn, no buf, or the connection is an RDMAP Stream
 * (xiw_rdma_post_recv()); -ESHUTDOWN: the incoming stream is in error or has ended, and XIW_EV_EOF
 * or XIW_EV_CLOSED has come; -ENOMEM as above.
 */
XIW_API int xiw_conn_post_recv(struct xiw_conn *conn, uint32_t qn, void *buf, uint32_t len,
			       uint64_t user_data);

/*
 * Closes gracefully: sends what is queued, then a FIN. XIW_EV_CLOSED comes when the peer has closed
 * too, or with -ETIMEDOUT when nothing has moved for close_timeout_ms, or when it has taken three times
 * as long. Until then the peer's messages are delivered. After XIW_EV_ERROR the wait for the peer's
 * FIN takes terminate_timeout_ms at most. Before XIW_EV_CONNECTED this is xiw_conn_abort(). Returns 0.
 */
XIW_API int xiw_conn_close(struct xiw_conn *conn);
/* Resets the TCP connection. XIW_EV_CLOSED follows, and nothing more is delivered. */
XIW_API void xiw_conn_abort(struct xiw_conn *conn);
/*
 * Frees the connection; aborts it first if XIW_EV_CLOSED has not come yet. Allowed at any time:
 * between XIW_EV_REFUSED and XIW_EV_CLOSED, before the application has taken the queued completions,
 * and after xiw_engine_destroy(). Once this has returned, xiw_engine_next() gives no completion that
 * names the connection, and its messages and posted buffers are the application's again.
 *
 * If another thread takes the completions, it may have taken one of this connection just before. An
 * application that does so frees a connection when it knows that the other thread has none in hand,
 * for example in answer to XIW_EV_CLOSED.
 */
XIW_API void xiw_conn_free(struct xiw_conn *conn);

#define XIW_DROPS_MAX 32 /* xiw_drop_name() has names for the first few */

/* What a connection is and did. Counters never go back. */
struct xiw_conn_info {
	enum xiw_path path; /* now; XIW_PATH_NONE: never registered with XDP */
	char no_direct[96]; /* why it cannot go direct; empty if it can */
	uint32_t flow;	    /* index in xiw_flows, unless path is NONE */
	struct sockaddr_storage local, remote;
	bool markers_in, markers_out, crc; /* agreed */
	bool zero_copy;			   /* the driver writes straight into AF_XDP frames */
	bool rejected;			   /* by the application of either side */
	uint8_t revision;		   /* in the peer's startup frame; 0: it has not come */
	/* RFC 6581: peer_ird and peer_ord as in the peer's frame, ird and ord as agreed. */
	bool enhanced, peer_to_peer;
	uint8_t rtr; /* enum xiw_rtr. Initiator: the one chosen; Responder: those offered */
	uint16_t ird, ord, peer_ird, peer_ord;
	uint16_t emss; /* of the sender, as last seen (RFC 5044 section 4.5) */
	__extension__ struct {
		uint64_t octets_direct, octets_kernel; /* DDP payload placed, by path */
		uint64_t stream_direct,
			stream_kernel; /* octets of the stream after startup, by path */
		/* Data segments as XDP counted them, by path. */
		uint64_t segments_direct, segments_kernel;
		uint64_t fpdus, fpdus_early; /* accepted; of these, placed out of order */
		uint64_t messages;	     /* delivered */
		uint64_t octets_sent;	     /* DDP payload given to TCP */
		uint64_t crc_errors;	     /* segments or FPDUs refused */
		/* How often the stream changed its path. */
		uint64_t went_direct, went_kernel;
	};
	/* By enum xiw_reason: departures from the direct path, and attempts that were called off. */
	uint32_t reasons[32];
	uint64_t drops[XIW_DROPS_MAX]; /* segments that the fast-path TCP receiver refused */
	uint64_t acks_sent, injected;  /* segments sent by AF_XDP, and given to the socket */
	enum xiw_mpa_error mpa_error;  /* 0: none */
	enum xiw_ddp_error ddp_error;  /* XIW_DDP_OK: none */
	uint8_t error_header[18];      /* the DDP header that was refused */
	uint32_t error_header_len;
	uint32_t error_segment_len; /* of the DDP segment with that header, header included */
	/*
	 * errno of the socket's end; 0: orderly. EUNATCH: the connection needed the programs on the
	 * interface, because its sequence numbers differ from those on the wire, and could not go on:
	 * somebody took a program off, its packets went around them for good, or its local address
	 * was gone for a minute. no_direct says which.
	 */
	int error;
	uint64_t armed; /* how often the direct path was open for it */
	/* Frames refused on the direct path: those in `drops`, and damaged, misdirected and late ones. */
	uint64_t segments_dropped;
	uint64_t challenges_withheld; /* challenge ACKs over the limit of RFC 5961 section 7 */
	/* How often a message waited for a buffer (hold_ms), and how often in vain. */
	uint64_t holds, holds_expired;
	/*
	 * Initiator: octets that had come behind the peer's Reply when that was read. A Responder that
	 * keeps RFC 5044 section 7.1.2 rule 4 sends none; they are taken as FPDUs.
	 */
	uint64_t surplus;
	bool connected; /* TCP is, or was before the end. False: the peer could not be reached */
	/*
	 * FPDUs behind a gap whose STag, bounds or rights were wrong. At the first of them the connection ceases to
	 * place anything before its turn (RFC 5044 section 6), where all of it is judged.
	 */
	uint64_t early_refused;
};

/* `size` is sizeof(struct xiw_conn_info). */
XIW_API void xiw_conn_info(const struct xiw_conn *conn, struct xiw_conn_info *info, size_t size);

/* Names for the tables above, static storage; NULL past the end. */
XIW_API const char *xiw_reason_name(unsigned int reason);
XIW_API const char *xiw_drop_name(unsigned int drop);

XIW_END_DECLS

#endif

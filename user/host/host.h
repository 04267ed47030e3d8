/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host/host.h - what an interface like libibverbs or libfabric needs above the engines: objects that any thread of the
 * program uses at any time, and threads that run the engines for it. Nothing here is exported.
 *
 * Threads. All functions may be called by any number of threads at a time, except that an object must not be used while
 * or after it is freed. The group of engines and a thread for each of them are made when the first object needs them.
 * The threads block all signals. A thread of the program that polls a CQ in vain takes a turn of an engine, and the
 * engine's own thread sleeps meanwhile.
 *
 * Ownership. Everything that a function is given is copied, except the memory of messages: that of a posted operation
 * or buffer is xiwarp's until its completion is polled, or until xiw_host_qp_free() has returned; that of a region
 * until xiw_host_mr_free() has. A function that frees something waits for the engines, so that they do not touch that
 * memory any more when it returns. Objects are freed in the order QP, SRQ, CQ, EQ: one that another one still names
 * answers -EBUSY, and nothing is done.
 * Ends. After a function that ends a connection nothing is placed or answered. exit() ends all of them. See end.c.
 *
 * `context` pointers are the caller's own. They come back in events and completions, and are never followed.
 *
 * Errors. Functions return 0 or negative errno. -ECANCELED: the object belongs to a process that has forked; see below.
 * Each function that makes an object may also return -ENOMEM, -EMFILE, or what xiw_group_create() returns.
 *
 * fork(). The parent goes on. In the child, the objects that it has from its parent are dead: their functions
 * return -ECANCELED or nothing, and freeing them is allowed and touches nothing of the parent. New objects get engines
 * of the child's own; one that would name a dead one is refused with -ECANCELED.
 *
 * Environment: see host/settings.h. Descriptors: see host/files.h.
 *
 * All integers are in host byte order, and lengths are octets.
 */
#ifndef XIW_HOST_HOST_H
#define XIW_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <xiwarp/xiwarp.h>

struct xiw_host_eq;
struct xiw_host_cq;
struct xiw_host_mr;
struct xiw_host_srq;
struct xiw_host_qp;
struct xiw_host_listener;
struct xiw_host_request;

#define XIW_HOST_DEPTH_MAX 16384u /* of each queue of a QP, and of an SRQ */
#define XIW_HOST_SGE_MAX XIW_RDMA_PIECES_MAX
#define XIW_HOST_INLINE_MAX XIW_RDMA_INLINE_MAX
#define XIW_HOST_READS_MAX 128u	  /* IRD and ORD */
#define XIW_HOST_PRIVATE_MAX 500u /* Private Data: what RFC 6581 and `extended` leave */

/* ---- events ----------------------------------------------------------------------------------------------- */

enum xiw_host_event_kind {
	/* Of a listener: somebody wants to connect. Answer with xiw_host_accept() or xiw_host_reject(). */
	XIW_HOST_REQUEST,
	/*
	 * Of a QP that connects or accepts, in this order: ESTABLISHED and then DISCONNECTED; or REFUSED (the peer's
	 * application said no; its Private Data may say why); or FAILED (status). When one of the last three comes, all
	 * work has completed: its completions are in the CQs. But if no MPA Reply has come or gone, and nobody has
	 * asked for the end, buffers stay, and the QP is idle again. If the peer has ended the connection, DISCONNECTED
	 * waits for up to 20 ms until the completions of what has succeeded were polled, unless the program has asked
	 * for the end, too.
	 */
	XIW_HOST_ESTABLISHED,
	XIW_HOST_REFUSED,
	XIW_HOST_FAILED,
	XIW_HOST_DISCONNECTED, /* status: 0 if both sides have closed in order */
	/* Two seconds after DISCONNECTED, if that was asked for (forgets) and the QP is still there. */
	XIW_HOST_FORGOTTEN,
	/* Of a CQ that was armed: it has a new completion. */
	XIW_HOST_COMPLETION,
	/* Of an SRQ: it has fewer buffers than its limit. */
	XIW_HOST_SRQ_LOW,
	/*
	 * Of a QP: its connection is in error, and ends. ACCESS, INVALID: the peer has touched what it may not, or
	 * has sent what is not allowed, and was told so (Terminate). FATAL: any other error, or the peer's
	 * Terminate. What a reset or the silence of the peer ends is not in error in this sense.
	 */
	XIW_HOST_QP_ACCESS,
	XIW_HOST_QP_INVALID,
	XIW_HOST_QP_FATAL,
	/* Of a QP with an SRQ, when it has ended: it takes no more buffers, and its completions are in the CQs. */
	XIW_HOST_QP_LAST,
	/* Of the front itself: xiw_host_eq_post(). */
	XIW_HOST_OTHER,
};

struct xiw_host_event {
	enum xiw_host_event_kind kind;
	int status; /* 0 or negative errno */
	void *context; /* of the listener, of the connection, of the CQ, of the SRQ; of a QP: eq_context */
	/* REQUEST: the receiver's, to be answered. OTHER: the front's own, whatever it is. */
	union {
		struct xiw_host_request *request;
		uint64_t other;
	};
	/* REQUEST: as the peer offers them, seen from here. ESTABLISHED: as agreed. */
	uint16_t ird, ord;
	bool extended; /* REQUEST, ESTABLISHED: both sides have the extensions of RFC 7306 */
	/* REQUEST, ESTABLISHED, REFUSED: the peer's Private Data. */
	uint16_t private_len;
	uint8_t private_data[XIW_PRIVATE_DATA_MAX];
};

/* A queue of events, which come out in the order in which they came. */
int xiw_host_eq_create(struct xiw_host_eq **eq);
int xiw_host_eq_free(struct xiw_host_eq *eq);

/*
 * Drops the events that nobody has taken, and closes the descriptor: a thread that is in xiw_host_eq_wait() without a
 * limit, or comes there before the queue is freed, never returns. -EBUSY: something can still make events for it.
 */
int xiw_host_eq_close(struct xiw_host_eq *eq);

/*
 * A descriptor that is readable while there is an event. It is only to be polled, though O_NONBLOCK may be set:
 * xiw_host_eq_wait() looks at that.
 */
int xiw_host_eq_fd(const struct xiw_host_eq *eq);

/* Takes the oldest event. Returns 1, or 0 if there is none. See also xiw_host_eq_take_if(). */
int xiw_host_eq_take(struct xiw_host_eq *eq, struct xiw_host_event *event);

/*
 * Waits for an event up to timeout_ms milliseconds (-1: no limit) and takes it. Returns 1. -EAGAIN: there is none, and
 * the descriptor has O_NONBLOCK; -ETIMEDOUT; -EINTR: a signal came, and there is a limit or the handler has no
 * SA_RESTART.
 */
int xiw_host_eq_wait(struct xiw_host_eq *eq, struct xiw_host_event *event, int timeout_ms);

/*
 * The same without a limit, for queues whose events come with messages: the thread takes turns of the engine, and no
 * other thread has to wake up before it. The queue may be freed meanwhile; the call then never returns, unless a signal
 * comes. -EINTR: as xiw_host_restarts() says.
 */
int xiw_host_eq_await(struct xiw_host_eq *eq, struct xiw_host_event *event);

/*
 * After EINTR from poll(), which no flag of a handler restarts: is the wait to go on, as read() would? Nothing says
 * which handlers have run. So it is if all that the program has for signals that this thread does not block have
 * SA_RESTART; a program that also has others gets its EINTR. A handler that has run may be gone by then (SA_RESETHAND,
 * or by what it did), so those count too that the thread saw when it looked last: before its first poll(), by
 * xiw_host_look_at_handlers(), and after each EINTR. Neither changes errno.
 */
void xiw_host_look_at_handlers(void);
bool xiw_host_restarts(void);

/* Whether O_NONBLOCK is set on a descriptor. */
bool xiw_host_nonblocking(int fd);

/* Adds an event of the front's own, whose kind may be any. -ENOMEM. */
int xiw_host_eq_post(struct xiw_host_eq *eq, const struct xiw_host_event *event);

/* Removes all events with this context. Requests among them are rejected without Private Data. */
void xiw_host_eq_purge(struct xiw_host_eq *eq, const void *context);

/*
 * Events with this context, other than those of CQs, SRQs and QPs, go from one queue to another. Whoever calls this
 * keeps new ones from coming meanwhile.
 */
void xiw_host_eq_hand_over(struct xiw_host_eq *from, struct xiw_host_eq *to, const void *context);

/*
 * Calls `taken` for each event that is taken from now on, with the queue's lock, so it uses no queue. Events can be
 * counted so: when those of a context have been purged, or their CQ, SRQ or QP is free, each of them that somebody has
 * taken is counted.
 */
void xiw_host_eq_on_take(struct xiw_host_eq *eq, void (*taken)(const struct xiw_host_event *event));

/* ---- completion queues ------------------------------------------------------------------------------------- */

enum xiw_host_wc_flags {
	XIW_HOST_WC_SOLICITED = 1 << 0,
	XIW_HOST_WC_IMMEDIATE = 1 << 1,	  /* `immediate` came */
	XIW_HOST_WC_INVALIDATED = 1 << 2, /* the Send has invalidated `invalidated` */
};

struct xiw_host_wc {
	uint64_t wr_id;
	void *context;	 /* of the QP: xiw_host_qp_opts.context */
	/* RECV, READ: bytes that came; with Immediate Data, of the Write in front of it. Others: of the operation */
	uint32_t length;
	uint8_t op;	 /* enum xiw_operation */
	uint8_t cause;	 /* enum xiw_cause; XIW_CAUSE_NONE: success */
	uint8_t flags;	 /* enum xiw_host_wc_flags */
	uint8_t kind;	 /* enum xiw_rdma_kind of an operation of ours; 0 for RECV */
	uint32_t invalidated;
	uint64_t immediate;
};

/*
 * Makes a completion queue. Any number of QPs may name it, on whichever engines they are. It cannot overflow: each QP
 * and SRQ that names it brings room for all that can be posted, and the place of an operation in its QP is free only
 * when its completion has been polled. eq may be NULL; then it cannot be armed.
 */
int xiw_host_cq_create(struct xiw_host_eq *eq, void *context, struct xiw_host_cq **cq);
int xiw_host_cq_free(struct xiw_host_cq *cq);

/* Of a CQ that no QP and no SRQ names: its events are removed, and none comes any more. */
void xiw_host_cq_mute(struct xiw_host_cq *cq);

/*
 * Takes up to n completions. Returns how many; 0 if there is none. If the queue is armed and one is left for which it
 * is, that is an event, and the queue is armed no longer.
 */
int xiw_host_cq_poll(struct xiw_host_cq *cq, struct xiw_host_wc *wc, int n);

/*
 * Makes the next completion an event (COMPLETION), once; with solicited_only, the next one that is a solicited RECV or
 * a failure, if the queue is not armed for all. Completions that are there already do not count: arm it, poll until it
 * is empty, then wait. -ENOENT: it has no EQ.
 */
int xiw_host_cq_arm(struct xiw_host_cq *cq, bool solicited_only);

/* The number of completions that are there. */
uint32_t xiw_host_cq_count(const struct xiw_host_cq *cq);

/* ---- protection domains and memory regions ------------------------------------------------------------------- */

/* A number that no other protection domain of the process has. */
uint32_t xiw_host_pd(void);

enum xiw_host_access {
	XIW_HOST_LOCAL_WRITE =
		1 << 0, /* received messages and the answers to Reads may be placed here */
	XIW_HOST_REMOTE_WRITE = 1 << 1,
	XIW_HOST_REMOTE_READ = 1 << 2,
	XIW_HOST_REMOTE_ATOMIC = 1 << 3,
	XIW_HOST_ON_DEMAND = 1 << 4, /* the memory may be mapped later, and is not looked at */
};

/*
 * Registers [addr, addr + len) with all engines under one STag, which is lkey and rkey. The tagged offset of the first
 * octet is base_to, often the address, for the peer and for our own work alike. Without remote rights no peer can use
 * the STag, except that with LOCAL_WRITE the answers to Reads may name it. -EINVAL: len 0, access, or what
 * xiw_region_register() says; -EFAULT: xiw_mapped_check() (core/mapped.h), which has the pages come.
 */
int xiw_host_mr_register(uint32_t pd, void *addr, size_t len, uint64_t base_to, unsigned int access,
			 struct xiw_host_mr **mr);
uint32_t xiw_host_mr_stag(const struct xiw_host_mr *mr);

/* Work that is posted and names the region should have completed: its memory is not watched. */
int xiw_host_mr_free(struct xiw_host_mr *mr);

/* ---- work ------------------------------------------------------------------------------------------------- */

struct xiw_host_sge {
	/* The tagged offset, which counts from base_to of its region; where lkeys do not count: a pointer. */
	void *addr;
	uint32_t len;
	uint32_t lkey; /* of a region of the QP's domain; see xiw_host_qp_opts.unchecked */
};

enum xiw_host_wr_flags {
	XIW_HOST_SIGNALED =
		1 << 0, /* there is a completion if it succeeds; failures always have one */
	XIW_HOST_SOLICITED = 1 << 1,
	XIW_HOST_FENCE = 1 << 2,
	XIW_HOST_INLINE = 1 << 3, /* Send, Write: the octets are copied, and lkeys do not count */
	XIW_HOST_INVALIDATE = 1 << 4, /* Send: and invalidate the peer's STag `invalidate` */
};

/* A send work request. The array of sges is the caller's again when the function returns. */
struct xiw_host_wr {
	uint64_t wr_id;
	enum xiw_rdma_kind kind; /* SEND to CMP_SWAP, not REGISTER and LOCAL_INVALIDATE */
	unsigned int flags;	 /* enum xiw_host_wr_flags */
	/* Send, Write: what is sent. Read: where it goes. Atomic: where the 8 octets found go (host order). */
	const struct xiw_host_sge *sge;
	unsigned int sge_count;
	uint32_t stag; /* Write, Read, atomic: the peer's */
	uint64_t to;
	uint32_t invalidate;
	uint64_t immediate;	       /* IMMEDIATE, WRITE_IMMEDIATE */
	struct xiw_rdma_atomic atomic; /* FETCH_ADD, CMP_SWAP */
};

struct xiw_host_recv {
	uint64_t wr_id;
	const struct xiw_host_sge *sge;
	unsigned int sge_count;
	bool signaled; /* see xiw_host_qp_opts.recv_selective */
};

/* ---- shared receive queues -------------------------------------------------------------------------------- */

struct xiw_host_srq_opts {
	uint32_t pd;
	unsigned int depth, sge; /* buffers that can be posted, and pieces of each; at least 1 */
	bool unchecked;		 /* as in xiw_host_qp_opts */
	struct xiw_host_eq *eq;	 /* gets SRQ_LOW; may be NULL */
	void *context;
};

/*
 * Its buffers are for the QPs that name it, on whichever engines they are. A buffer's place is free again when its
 * completion has been polled. -EINVAL: opts.
 */
int xiw_host_srq_create(const struct xiw_host_srq_opts *opts, struct xiw_host_srq **srq);

/* Buffers that are still there are the caller's again, without a completion. */
int xiw_host_srq_free(struct xiw_host_srq *srq);

/* Posts `count` buffers, as xiw_host_post_recv() does, with its errors. */
int xiw_host_srq_post(struct xiw_host_srq *srq, const struct xiw_host_recv *recv,
		      unsigned int count, unsigned int *posted);

/* Asks for SRQ_LOW, once, when fewer than `limit` (0: no event) buffers are there. -EINVAL: limit; -ENOENT: no EQ. */
int xiw_host_srq_set_limit(struct xiw_host_srq *srq, unsigned int limit);
unsigned int xiw_host_srq_limit(const struct xiw_host_srq *srq);

/* ---- queue pairs ------------------------------------------------------------------------------------------ */

struct xiw_host_qp_opts {
	uint32_t pd;
	struct xiw_host_cq *send_cq, *recv_cq; /* may be the same */
	struct xiw_host_srq *srq;	       /* NULL: it has buffers of its own */
	unsigned int send_depth, recv_depth;   /* at least 1, recv_depth without srq */
	unsigned int send_sge, recv_sge;       /* at least 1; at most XIW_HOST_SGE_MAX */
	unsigned int inline_max;	       /* octets; at most XIW_HOST_INLINE_MAX */
	bool signal_all;		       /* as if each operation had XIW_HOST_SIGNALED */
	/*
	 * A message that comes has a completion only if it brings Immediate Data, fails, or takes a buffer that is
	 * `signaled`. The place of any other buffer is free when it has been filled.
	 */
	bool recv_selective;
	bool unchecked; /* lkeys do not count: any memory of the process may be named (FI_MR_LOCAL is not asked for) */
	void *context;		/* of completions */
	struct xiw_host_eq *eq; /* gets the events of the QP itself; may be NULL */
	void *eq_context;
};

enum xiw_host_state {
	XIW_HOST_IDLE,	     /* neither connected nor accepted: receives may be posted */
	XIW_HOST_CONNECTING, /* operations may be posted; they wait for ESTABLISHED */
	XIW_HOST_OPEN,
	XIW_HOST_ENDED, /* what is posted completes with XIW_CAUSE_FLUSHED */
};

/* -EINVAL: opts. A QP serves for one connection. */
int xiw_host_qp_create(const struct xiw_host_qp_opts *opts, struct xiw_host_qp **qp);

/*
 * Ends the connection as xiw_host_qp_finish() does, and frees the QP. Completions of it that were not polled are gone,
 * and so are events of the QP itself. Those of its connection stay, the last of which is DISCONNECTED or FAILED, and no
 * new ones come (xiw_host_eq_purge()).
 */
int xiw_host_qp_free(struct xiw_host_qp *qp);

/*
 * Ends the connection, and what is posted completes, also if there was no connection, and cannot be any more then. All
 * completions can be polled when it returns; what is posted later completes at once. An operation is successful if TCP
 * has taken it, or the library has a copy, which still leaves; all others are flushed. DISCONNECTED follows.
 */
int xiw_host_qp_finish(struct xiw_host_qp *qp);

enum xiw_host_state xiw_host_qp_state(const struct xiw_host_qp *qp);

/*
 * What the peer may do by this QP, of what regions allow: enum xiw_host_access, of which the remote ones count; at
 * first all. When it has returned, what arrives is judged so; see xiw_rdma_set_access(). -EINVAL: other bits.
 */
int xiw_host_qp_set_access(struct xiw_host_qp *qp, unsigned int access);
unsigned int xiw_host_qp_access(const struct xiw_host_qp *qp);

struct xiw_host_qp_info {
	struct sockaddr_storage local, remote; /* family 0: not known yet */
	void *context;			       /* of the connection; NULL: none */
	uint16_t ird, ord;		       /* as agreed */
	bool extended;
	uint32_t sends_posted, recvs_posted;   /* of which the completion was not polled */
	uint64_t octets_direct, octets_kernel; /* of the peer's, by path; 0 until the end */
};

void xiw_host_qp_info(const struct xiw_host_qp *qp, struct xiw_host_qp_info *info);

/*
 * Posts `count` operations in the order of the array, and stops at the first that cannot be posted. Returns 0 or the
 * error of that one; *posted is how many were posted before it, and may be NULL. The engine's thread is woken at most
 * once, and not if it is awake.
 *
 * They complete in the order in which they were posted. Of an unsignaled one nothing is told unless it fails.
 *
 * -ENOMEM: send_depth operations are posted whose completions were not polled; -EINVAL: kind, flags, too many sges or
 * inline octets, an lkey that is not of this domain or does not cover its sge or has no LOCAL_WRITE where that is
 * needed; -EMSGSIZE: 2^32 octets or more; -ENOTCONN: IDLE; -EOPNOTSUPP: of RFC 7306, and the connection is OPEN and not
 * extended.
 */
int xiw_host_post_send(struct xiw_host_qp *qp, const struct xiw_host_wr *wr, unsigned int count,
		       unsigned int *posted);

/*
 * Posts `count` buffers for Sends, in any state. Errors and *posted as above; -EINVAL also if the QP has an SRQ.
 */
int xiw_host_post_recv(struct xiw_host_qp *qp, const struct xiw_host_recv *recv, unsigned int count,
		       unsigned int *posted);

/* ---- connections ------------------------------------------------------------------------------------------ */

struct xiw_host_conn_opts {
	struct xiw_host_eq *eq; /* gets the connection's events */
	void *context;		/* of these events */
	/* Reads that may be outstanding, of the peer and to the peer. More than XIW_HOST_READS_MAX is that. */
	uint16_t ird, ord;
	/*
	 * Offer the extensions of RFC 7306, and have them if the peer offers them, too. 8 octets behind the Private
	 * Data say so. A peer without this library takes them for Private Data.
	 */
	bool extended;
	bool forgets; /* FORGOTTEN is to come */
	uint8_t traffic_class; /* of what we send (RFC 2474), without the bits of ECN; 0: the default */
	const void *private_data;
	size_t private_len;	 /* at most XIW_HOST_PRIVATE_MAX */
	unsigned int timeout_ms; /* connect: TCP and MPA startup each; 0: 10000 */
};

/*
 * Connects an idle QP. ESTABLISHED, REFUSED or FAILED follows. `local` is the address to connect from, with or without
 * a port, or NULL. The connection uses MPA revision 2 with RFC 6581's negotiation and an RTR Write, revision 1 with
 * peers that have no other, CRC32c, and no markers; Sends for which no buffer is posted wait (hold_ms). If the peer's
 * TCP refuses, it is asked again for 200 ms, as its program may be about to listen.
 *
 * -EINVAL: opts; -EISCONN: the QP is not idle.
 */
int xiw_host_connect(struct xiw_host_qp *qp, const struct sockaddr *remote, socklen_t remote_len,
		     const struct sockaddr *local, socklen_t local_len,
		     const struct xiw_host_conn_opts *opts);

/* Whether a listener on IPv6's wildcard address serves IPv4, too. */
enum xiw_host_v6only {
	XIW_HOST_V6ONLY_DEFAULT, /* as net.ipv6.bindv6only says */
	XIW_HOST_V6ONLY_OFF,
	XIW_HOST_V6ONLY_ON,
};

/* Binds an address, so that xiw_host_listener_addr() tells the port. Nobody can connect before xiw_host_listen(). */
int xiw_host_bind(const struct sockaddr *addr, socklen_t len, enum xiw_host_v6only v6only,
		  struct xiw_host_eq *eq, void *context, struct xiw_host_listener **listener);
int xiw_host_listener_addr(const struct xiw_host_listener *listener, struct sockaddr_storage *addr,
			   socklen_t *len);
/* As many connections at once as `backlog` says are let in; 0 or less: 1024. Negative errno of listen(2). */
int xiw_host_listen(struct xiw_host_listener *listener, int backlog);

/* Once it has returned no REQUEST comes any more; those in the EQ stay (xiw_host_eq_purge()). */
int xiw_host_listener_free(struct xiw_host_listener *listener);

/* The addresses of a request, until it is answered. */
void xiw_host_request_addr(const struct xiw_host_request *request, struct sockaddr_storage *local,
			   struct sockaddr_storage *remote);

/*
 * Answers a request, which is gone then, whatever is returned, except that after -EINVAL or -EISCONN it can be answered
 * once more. ESTABLISHED or FAILED follows. With ird or ord above what the peer offers the lower one counts.
 */
int xiw_host_accept(struct xiw_host_request *request, struct xiw_host_qp *qp,
		    const struct xiw_host_conn_opts *opts);

/* TCP has the Reply then. private_len: at most XIW_HOST_PRIVATE_MAX. -EINVAL: it can be answered again. */
int xiw_host_reject(struct xiw_host_request *request, const void *private_data, size_t private_len);

/*
 * Ends the connection. It returns at once; buffers, and Reads and atomic operations without an answer, are flushed by
 * then. What is posted to be sent still leaves; TCP has what it takes at once, and the rest completes later. Then TCP
 * closes, and DISCONNECTED follows, within 40 s. A connection that is not established is given up, and FAILED follows
 * with -ECANCELED. Nothing happens if it has ended, or if the peer ends it. -ENOTCONN: the QP is idle.
 */
int xiw_host_disconnect(struct xiw_host_qp *qp);

/* From now on the events of the connection, or of the listener, go to another EQ; those that are there go with them. */
int xiw_host_qp_move(struct xiw_host_qp *qp, struct xiw_host_eq *eq);
int xiw_host_listener_move(struct xiw_host_listener *listener, struct xiw_host_eq *eq);

/* From now on the connection has no events; those in the EQ stay (xiw_host_eq_purge()). */
void xiw_host_qp_mute(struct xiw_host_qp *qp);

/* Ends all connections as xiw_host_disconnect() does, and waits until they have ended, but not longer than a second. */
void xiw_host_settle(void);

/* ---- report ----------------------------------------------------------------------------------------------- */

/* Of the connections of this process that have ended, and were established. */
struct xiw_host_totals {
	uint64_t connections;
	uint64_t octets_direct, octets_kernel; /* of the peers' messages, by path */
	char no_direct[96]; /* why the last one that could not go direct could not; empty: none */
};

void xiw_host_totals(struct xiw_host_totals *totals);

/*
 * If XIWARP_REPORT is set: waits as xiw_host_settle() does, and writes a line about the totals to stderr, unless there
 * was no connection.
 */
void xiw_host_report(void);

#endif

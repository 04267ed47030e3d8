/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * host/qp.h - queue pairs, below connections. Threads of the program put work into rings; the thread of the engine
 * that has the connection passes it on from there (xiw_host_qp_pass()), so that work may be posted before there is an
 * engine. A ring has as many places as may be posted, and a place is in use until the completion has been polled.
 */
#ifndef XIW_HOST_QP_H
#define XIW_HOST_QP_H

#include "host/cq.h"
#include "host/eq.h"
#include "host/life.h"
#include "host/mr.h"
#include "host/srq.h"

/* What is to be remembered of an operation. */
struct xiw_host_sent {
	uint64_t wr_id;
	struct xiw_rdma_atomic atomic;
	uint64_t era;
	uint32_t length;
	uint8_t kind, cause; /* cause: it could not be passed on */
	bool signaled;
};

/* What is to be remembered of a buffer. */
struct xiw_host_buffer {
	uint64_t era;
	bool signaled;
};

struct xiw_host_sends {
	pthread_mutex_t lock; /* of those that post */
	struct xiw_host_sge_rules rules;
	unsigned int depth, inline_max;
	uint32_t mask;
	struct xiw_rdma_work *work;
	struct xiw_host_sent *sent;
	struct iovec *iov;
	uint8_t *bytes; /* of inline operations */
	struct xiw_host_seen seen;
	uint32_t head; /* operations that were posted */
	uint32_t used; /* places in use */
	/* The engine's: operations that were passed on, and those that are complete; one of these has failed. */
	uint32_t passed, tail;
	bool failed;
};

struct xiw_host_recvs {
	pthread_mutex_t lock;
	struct xiw_host_sge_rules rules;
	unsigned int depth;
	uint32_t mask;
	struct xiw_rdma_recv *recv;
	struct xiw_host_buffer *buffers;
	struct iovec *iov;
	struct xiw_host_seen seen;
	uint32_t head, used;
	/* The engine's: buffers that were passed on, and those that are complete. */
	uint32_t passed, tail;
};

struct xiw_host_qp {
	struct xiw_host_life life;
	struct xiw_host_cq *send_cq, *recv_cq;
	struct xiw_host_srq *srq;
	uint32_t pd;
	bool signal_all, recv_selective;
	uint32_t access; /* of the peer: enum xiw_host_access */
	void *context;
	struct xiw_host_sends sends;
	struct xiw_host_recvs recvs;
	enum xiw_host_state state;
	bool extended; /* valid once it is OPEN */
	/* Set with xiw_host_lock; NULL: no engine has it, and what is posted waits. */
	struct xiw_engine *engine;
	struct xiw_call call;		  /* passes work on */
	bool called;			  /* the call is under way */
	bool rewound; /* with xiw_host_lock: engines that do not have it may still have the call */
	struct xiw_host_request *link;	  /* with xiw_host_lock: its connection (host/link.h) */
	struct xiw_host_eq *eq;		  /* with xiw_host_lock; NULL: nobody is told */
	struct xiw_host_bell fault, last; /* without a kind: it was not rung */
	/* The engine's own. */
	struct xiw_rdma *rdma;
	bool open, ended;
	bool stopped; /* nothing more is passed on, and what is posted completes */
};

/* The engine that has the QP is to look at its rings, if there is one. */
void xiw_host_qp_call(struct xiw_host_qp *qp);

/* In the thread of its engine: passes on what is posted, or flushes it if the connection has ended. */
void xiw_host_qp_pass(struct xiw_host_qp *qp);

/* In the thread of its engine: the stream takes over what the QP allows to the peer. */
void xiw_host_qp_apply_access(struct xiw_host_qp *qp);

/* A completion of an operation or buffer of the QP. */
void xiw_host_qp_complete(struct xiw_host_qp *qp, const struct xiw_completion *c);

/*
 * The connection takes nothing more: buffers complete, those that are posted later, too, and operations that are posted
 * later when those before them have.
 */
void xiw_host_qp_stop(struct xiw_host_qp *qp);

/* The connection has ended, and the library has no work of it any more: everything completes. */
void xiw_host_qp_end(struct xiw_host_qp *qp);

/*
 * There was no connection after all: operations complete, and the QP is idle as before, with the buffers that are
 * posted. With xiw_host_lock.
 */
void xiw_host_qp_rewind(struct xiw_host_qp *qp);

/* The events of the QP itself: its stream is in error, or the peer says so; it has ended; there are none any more. */
void xiw_host_qp_failed(struct xiw_host_qp *qp, bool by_peer);
void xiw_host_qp_tell_last(struct xiw_host_qp *qp);
void xiw_host_qp_hush(struct xiw_host_qp *qp);

/* Frees what no engine uses any more. */
void xiw_host_qp_release(struct xiw_host_qp *qp);

#endif

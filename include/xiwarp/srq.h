/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/srq.h - shared receive queues: buffers for the Sends of any RDMAP Stream that names the queue
 * (xiw_rdma_opts.srq). A stream takes the oldest buffer when the first octets of a Send arrive in their
 * turn, and then fills that one buffer only.
 *
 * A buffer completes in the receive queue of the stream that took it, as one of the stream's own would:
 * XIW_EV_RECEIVED, or XIW_EV_FLUSHED if the stream ends in the middle of the message, also because it is
 * longer than the buffer (XIW_CAUSE_LOCAL_LENGTH). Buffers that no stream has taken stay in the queue. A
 * Send that finds the queue empty is treated as one that finds no buffer of the stream's own.
 *
 * A peer can use up the buffers of all others (RFC 5042 section 6.4.3.1). So post again in time, with the
 * help of the limit and of XIW_EV_SRQ_LOW; watch who takes them (xiw_rdma_info.sends_in); and if peers
 * are not trusted, let each stream have only so many at a time (xiw_rdma_opts.srq_max).
 *
 * A peer that begins a Send keeps a buffer until the Send ends. When another stream has waited for one for
 * half of its hold_ms, a stream whose Send takes longer than 2 s, and 2 s for each 64,000 octets of it, is
 * ended with the Terminate of DDP for a Local Catastrophic Error (RFC 5041 section 8.2). Its buffer
 * completes as XIW_EV_FLUSHED.
 *
 * Thread rules as in xiwarp.h.
 */
#ifndef XIWARP_SRQ_H
#define XIWARP_SRQ_H

#include <stddef.h>
#include <stdint.h>

#include <xiwarp/engine.h>
#include <xiwarp/export.h>
#include <xiwarp/rdmap.h>

XIW_BEGIN_DECLS

struct xiw_srq;

#define XIW_SRQ_DEPTH_MAX (1u << 20)

struct xiw_srq_opts {
	size_t size;	    /* sizeof(struct xiw_srq_opts) */
	uint64_t user_data; /* of XIW_EV_SRQ_LOW */
	unsigned int depth; /* buffers that can be posted; 0: 1024; at most XIW_SRQ_DEPTH_MAX */
	uint32_t flags;	    /* enum xiw_srq_flags */
};

enum xiw_srq_flags {
	/*
	 * XIW_EV_SRQ_LOW also comes, with a status of -ENOBUFS, when a Send finds the queue empty, and when it finds
	 * buffers of which its stream may not take more (xiw_rdma_opts.srq_max): once for each of these two, and again
	 * only after a buffer was posted.
	 */
	XIW_SRQ_TELL_MISSED = 1 << 0,
};

/* Makes a queue. opts may be NULL for the defaults. -EINVAL: opts; -ENOMEM. */
XIW_API int xiw_srq_create(struct xiw_engine *engine, const struct xiw_srq_opts *opts,
			   struct xiw_srq **srq);

/*
 * Posts a buffer. -EINVAL: no buf, but len; -EAGAIN: depth buffers are posted; -ESHUTDOWN: the engine has
 * been destroyed.
 */
XIW_API int xiw_srq_post(struct xiw_srq *srq, void *buf, uint32_t len, uint64_t user_data);

/*
 * Posts `count` buffers, each in up to XIW_RDMA_PIECES_MAX pieces, as xiw_rdma_post_recv_many() does.
 * -ENOMEM: the engine's budget has no memory for pieces, which a queue takes for its whole depth when it
 * first needs it. All other errors are those of xiw_srq_post() and xiw_rdma_post_recv_many().
 */
XIW_API int xiw_srq_post_many(struct xiw_srq *srq, const struct xiw_rdma_recv *recv,
			      unsigned int count, unsigned int *posted);

/*
 * Takes back the newest buffer that no stream has taken, for example to post it to the queue of another engine. It is
 * the application's again, without a completion. Returns 1, or 0 if there is none. A limit stays as it is.
 */
XIW_API int xiw_srq_withdraw(struct xiw_srq *srq, uint64_t *user_data);

/*
 * Asks for XIW_EV_SRQ_LOW, once, when fewer than `limit` buffers are posted: at once if that is so
 * already. The event ends the limit, and this function sets it again: call it once enough buffers are
 * posted, or the next event comes at once. 0: no event. -EINVAL: more than depth; -ESHUTDOWN: the engine
 * has been destroyed.
 */
XIW_API int xiw_srq_set_limit(struct xiw_srq *srq, unsigned int limit);

struct xiw_srq_info {
	uint32_t depth;
	uint32_t posted;  /* buffers that no stream has taken */
	uint32_t limit;	  /* 0: none is set, or its event came */
	uint32_t streams; /* that name it */
	uint64_t taken;	  /* buffers that streams have taken so far */
	uint64_t ended;	  /* streams that were ended as they kept a buffer for too long */
};

/* `size` is sizeof(struct xiw_srq_info). */
XIW_API void xiw_srq_info(const struct xiw_srq *srq, struct xiw_srq_info *info, size_t size);

/*
 * Frees a queue. Its buffers are the application's again, without a completion. NULL is fine, and so is a
 * queue whose engine has been destroyed. Returns 0. -EBUSY: a connection that is not freed uses it;
 * nothing was done.
 */
XIW_API int xiw_srq_free(struct xiw_srq *srq);

XIW_END_DECLS

#endif

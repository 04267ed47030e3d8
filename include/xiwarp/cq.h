/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * xiwarp/cq.h - completion queues of the application's own, besides the one of the engine.
 *
 * A queue is made from an engine. An RDMAP Stream names one for its operations and one for its received
 * messages (xiw_rdma_opts.send_cq and recv_cq), which may be the same; several streams may share one.
 * Such a queue gets what became of operations and posted buffers: XIW_EV_SENT, XIW_EV_READ,
 * XIW_EV_RECEIVED, XIW_EV_FLUSHED. Events of connections (XIW_EV_REQUEST to XIW_EV_CLOSED) always come
 * from xiw_engine_next(). Queues are not ordered to each other; but when XIW_EV_CLOSED is in the
 * engine's queue, everything that came before it is in the others. Take it before xiw_conn_free(), which
 * removes it.
 *
 * No completion is dropped. A queue with too few entries keeps the others in memory, at the expense of
 * the engine's budget, until there is room and the engine runs; streams that do not use it are not
 * affected (RFC 5042 section 6.4.6). So have as many entries as there are operations and buffers that may
 * be posted at a time on the streams and shared receive queues that use the queue (section 6.4.3.2).
 *
 * Thread rules: xiw_cq_next() and xiw_cq_arm() may run on another thread than the engine, one thread at
 * a time for each queue. The other functions follow the rules of xiwarp.h.
 */
#ifndef XIWARP_CQ_H
#define XIWARP_CQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xiwarp/engine.h>
#include <xiwarp/export.h>

XIW_BEGIN_DECLS

struct xiw_cq;

#define XIW_CQ_ENTRIES_MAX (1u << 22)

struct xiw_cq_opts {
	size_t size;	      /* sizeof(struct xiw_cq_opts) */
	unsigned int entries; /* at least; 0: 256; at most XIW_CQ_ENTRIES_MAX */
	unsigned int flags;   /* enum xiw_cq_flags */
	/* With XIW_CQ_APP_RING: as xiw_engine_opts.app_ring_fd, for this queue. Otherwise 0 or -1. */
	int app_ring_fd;
	uint32_t reserved; /* 0 */
};

enum xiw_cq_flags {
	XIW_CQ_APP_RING = 1 << 0, /* app_ring_fd is valid, even if it is 0 */
	XIW_CQ_NOTIFY = 1 << 1,	  /* it has a descriptor, and can be armed */
};

/*
 * Makes a queue. opts may be NULL for the defaults.
 *
 * -EINVAL: opts; -EBADF: app_ring_fd is not an io_uring; -EOPNOTSUPP: XIW_CQ_APP_RING, and the engine has no
 * io_uring; -ENOMEM; -EMFILE, -ENFILE: no descriptor.
 */
XIW_API int xiw_cq_create(struct xiw_engine *engine, const struct xiw_cq_opts *opts,
			  struct xiw_cq **cq);

/* Takes the oldest completion, but none of a freed connection. Returns 1, or 0 if there is none. */
XIW_API int xiw_cq_next(struct xiw_cq *cq, struct xiw_completion *completion);

/*
 * The descriptor of a queue with XIW_CQ_NOTIFY, an eventfd(2) that does not block: poll it, and read its
 * 8 octets when it is readable. It belongs to the queue. -ENOENT: the queue has none.
 */
XIW_API int xiw_cq_fd(const struct xiw_cq *cq);

/*
 * Makes the descriptor readable once, with the next completion; with solicited_only, with the next one
 * that is a Send with Solicited Event or a failure, if the queue is not armed for all. Completions that
 * are in the queue already do not count: arm it, then take all that there are, then wait. -ENOENT: the
 * queue has no descriptor.
 */
XIW_API int xiw_cq_arm(struct xiw_cq *cq, bool solicited_only);

struct xiw_cq_info {
	uint32_t entries; /* completions that it holds without more memory */
	uint32_t streams; /* places in streams that name it: a stream counts twice if both do */
	uint64_t
		queued; /* completions that are not taken yet, those of freed connections included */
	uint64_t beyond; /* of these, those that found the queue full */
	uint64_t total;	 /* completions since the queue was made */
};

/* `size` is sizeof(struct xiw_cq_info). */
XIW_API void xiw_cq_info(const struct xiw_cq *cq, struct xiw_cq_info *info, size_t size);

/*
 * Frees a queue and the completions in it. NULL is fine. After xiw_engine_destroy() the queue is empty,
 * and can still be freed. Returns 0. -EBUSY: a connection that is not freed uses it; nothing was done.
 */
XIW_API int xiw_cq_free(struct xiw_cq *cq);

XIW_END_DECLS

#endif

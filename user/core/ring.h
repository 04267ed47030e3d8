/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef XIW_CORE_RING_H
#define XIW_CORE_RING_H

#include "core/engine.h"

/* What an io_uring completion is about: in the low bits of its user_data, above an aligned pointer. */
enum xiw_op {
	XIW_OP_NONE, /* nobody waits for it */
	XIW_OP_ACCEPT,
	XIW_OP_CONNECT,
	XIW_OP_STARTUP_RECV, /* of the peer's frame; or the poll while the application decides */
	XIW_OP_STARTUP_SEND,
	XIW_OP_RECV,
	XIW_OP_SEND,
	XIW_OP_SEND_PAUSE, /* a turn in which the application may queue more */
	XIW_OP_POLL_XSK,
	XIW_OP_KICK_XSK,
	XIW_OP_WATCH,
	XIW_OP_DOORBELL, /* it failed */
};
#define XIW_OP_MASK 15ull

enum xiw_ring_runner {
	XIW_RUNNER_NONE, /* nobody has run it, or the thread that did has ended */
	XIW_RUNNER_SELF,
	XIW_RUNNER_OTHER,
};

enum xiw_ring_runner xiw_ring_runner(struct xiw_engine *e);
int xiw_ring_run(struct xiw_engine *e); /* -EEXIST: another thread's */
int xiw_ring_submit(struct xiw_engine *e);
int xiw_ring_submit_and_get(struct xiw_engine *e);
int xiw_ring_submit_and_wait(struct xiw_engine *e, struct __kernel_timespec *ts);
/* -EEXIST: another thread's */
struct io_uring_sqe *xiw_sqe(struct xiw_engine *e, void *object, enum xiw_op op);
void xiw_buf_return(struct xiw_engine *e, uint16_t bid);
int xiw_ring_create(struct xiw_engine *e);
void xiw_ring_free(struct xiw_engine *e);
bool xiw_ring_is_one(int fd);

#endif

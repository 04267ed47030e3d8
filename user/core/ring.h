/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine's ring of requests and completions. */
#ifndef XIW_CORE_RING_H
#define XIW_CORE_RING_H

#include "core/engine.h"

/* What a completion of the ring is about. It is in the low bits of user_data; the others are an aligned pointer. */
enum xiw_op {
	XIW_OP_NONE, /* nothing is done when it completes */
	XIW_OP_ACCEPT,
	XIW_OP_CONNECT,
	XIW_OP_STARTUP_RECV, /* receives the peer's startup frame, or polls while the application decides */
	XIW_OP_STARTUP_SEND,
	XIW_OP_RECV,
	XIW_OP_SEND,
	XIW_OP_SEND_PAUSE, /* lets one turn pass, in which the application may queue more to send */
	XIW_OP_POLL_XSK,
	XIW_OP_KICK_XSK,
	XIW_OP_WATCH,
	XIW_OP_WAKE,
	XIW_OP_TIMER,	 /* a time has come, for those who wait for xiw_engine_fd() */
	XIW_OP_DOORBELL, /* completes only if it failed */
};
#define XIW_OP_MASK 15ull

enum xiw_ring_runner {
	XIW_RUNNER_NONE, /* no thread has run the engine, or the one that did has ended */
	XIW_RUNNER_SELF,
	XIW_RUNNER_OTHER,
};

/* Returns which thread runs the engine. */
enum xiw_ring_runner xiw_ring_runner(struct xiw_engine *e);

/* Makes this thread the one that runs the engine. Returns 0 or an error; -EEXIST: another thread runs it. */
int xiw_ring_run(struct xiw_engine *e);

/*
 * Submits requests: all; all, and takes what the kernel has completed; all, and waits for a completion until `ts` has
 * passed (NULL: for ever). Returns what liburing does.
 */
int xiw_ring_submit(struct xiw_engine *e);
int xiw_ring_submit_and_get(struct xiw_engine *e);
int xiw_ring_submit_and_wait(struct xiw_engine *e, struct __kernel_timespec *ts);

/* Waits for a completion, and submits nothing: other threads may make requests meanwhile. Returns 0 or an error. */
int xiw_ring_wait(struct xiw_engine *e, struct __kernel_timespec *ts);

/*
 * Has the eventfd `fd` written when the ring has something. Returns the descriptor by which to wait for that, or an
 * error.
 */
int xiw_ring_announce(struct xiw_engine *e, int fd);

/*
 * Called behind a wait by xiw_ring_wait(), when no other thread makes requests any more: takes what has ended it.
 * Returns 0 or an error.
 */
int xiw_ring_waited(struct xiw_engine *e);

/*
 * Called before a descriptor that requests were made for is closed, or is no longer the engine's. At most requests that
 * are being cancelled are under way, except at the end of the engine.
 */
void xiw_ring_forget(const struct xiw_engine *e, int fd);

/* True if the ring has work for the engine's thread, or may have some. */
static inline bool xiw_ring_has_work(const struct xiw_engine *e)
{
	return *e->io.ring.sq.kflags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

/* The same, but false while the ring was asked a moment ago and would have to be asked once more. */
static inline bool xiw_ring_calls(const struct xiw_engine *e)
{
	return xiw_ring_has_work(e) && e->now_ns - e->io.asked_ns >= e->io.ask_ns;
}

/* True if the ring is known to have completions, or work from which one may come. */
static inline bool xiw_ring_has_more(const struct xiw_engine *e)
{
	return io_uring_cq_ready(&e->io.ring) || (!e->io.soft && xiw_ring_has_work(e));
}

/* Returns a request for the caller to fill in by io_uring_prep_*(), never NULL. */
struct io_uring_sqe *xiw_sqe(struct xiw_engine *e, void *object, enum xiw_op op);

/* The kernel has filled a provided buffer, which is ours until it is returned. */
void xiw_buf_taken(struct xiw_engine *e);
void xiw_buf_return(struct xiw_engine *e, uint16_t bid);

/* Gives the kernel as many provided buffers as it should have, if there are so many. Returns how many it has. */
uint32_t xiw_bufs_offer(struct xiw_engine *e);

/* A receive has got none of them while others did: for a moment the kernel should have all. */
void xiw_bufs_offer_all(struct xiw_engine *e);

/*
 * Creates the ring, for nobody yet, with its buffers: io_uring, or where that is refused one of epoll, unless
 * XIWARP_RING in the environment is the name of one of the two. Returns 0 or an error; xiw_ring_free() is needed in
 * both cases.
 */
int xiw_ring_create(struct xiw_engine *e);
void xiw_ring_free(struct xiw_engine *e);

/* Closes the ring's descriptors in the child of a fork(), which is not to use it. */
void xiw_ring_shut(struct xiw_engine *e);

/* Writes why the ring is not io_uring, in a few words; empty: it is. */
void xiw_ring_why(const struct xiw_engine *e, char *why, size_t len);
const char *xiw_ring_name(const struct xiw_engine *e);

/* Can completions be announced in the application's ring? 0, -EOPNOTSUPP, or -EBADF: `fd` is no io_uring. */
int xiw_ring_can_announce_in(const struct xiw_engine *e, int fd);

/* True if the descriptor is that of an io_uring. */
bool xiw_ring_is_one(int fd);

#endif

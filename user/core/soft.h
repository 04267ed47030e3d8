/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring in plain memory, where the kernel gives no io_uring. core/soft.c stands in for the kernel: it carries out
 * requests by system calls that do not block. What would block waits (core/soft_file.c) until epoll reports the file.
 */
#ifndef XIW_CORE_SOFT_H
#define XIW_CORE_SOFT_H

#include "core/engine.h"

/* The most completions that one event makes of one request. */
#define XIW_SOFT_BURST 16u

/* A request that waits. Indices of others count from 1; 0: there is none. */
struct xiw_soft_op {
	uint64_t user_data, addr;
	uint32_t len, done; /* octets to transfer, and of them those that are */
	uint32_t flags;	    /* of the system call */
	uint32_t events;    /* of epoll, for which it waits */
	int fd;
	uint32_t next;	/* of the same file, or free */
	uint32_t chain; /* the next one with the same hash of user_data */
	uint8_t opcode;
	bool multishot;
};

/* A descriptor as epoll knows it. */
struct xiw_soft_file {
	uint32_t ops;	 /* requests that wait */
	uint32_t events; /* that epoll reports; 0: none, or none any more */
	bool added;	 /* it is in epoll's set */
	bool known;	 /* not forgotten: it counts in its page */
};

/* Descriptors are small numbers, but an application may have many of its own. */
#define XIW_SOFT_PAGE ((4096u - sizeof(uint32_t)) / sizeof(struct xiw_soft_file))
struct xiw_soft_page {
	uint32_t known;
	struct xiw_soft_file files[XIW_SOFT_PAGE];
};

/* Requests that wait; those without an opcode are free. */
struct xiw_soft_ops {
	uint32_t room, used, free;
	uint32_t *chains; /* by hash, as many as there is room */
	struct xiw_soft_op *op;
};

struct xiw_soft {
	struct io_uring *ring;
	struct xiw_budget *budget;
	struct xiw_soft_memory *memory; /* of the ring */
	struct io_uring_buf_ring *bufs;
	uint16_t buf_head; /* the first provided buffer that is not used */
	pthread_t runner;
	bool running, posted;
	int epoll;
	/* For xiw_engine_fd(): the eventfd, the epoll of it and of the other one, and the timer; -1: none. */
	int event, outer, timer;
	bool timing;
	uint64_t timer_data;
	struct xiw_soft_page **pages;
	uint32_t room; /* for so many pages */
	uint32_t npages;
	struct xiw_soft_ops waiting;
};

/* How many more completions the queue can take. */
static inline uint32_t xiw_soft_room(const struct xiw_soft *s)
{
	const struct io_uring_cq *cq = &s->ring->cq;

	return cq->ring_entries - (*cq->ktail - __atomic_load_n(cq->khead, __ATOMIC_ACQUIRE));
}

/* ---- core/soft_call.c: requests, carried out as far as that can be done now ------------------------------ */

/* Puts a completion in the queue, which has room. */
void xiw_soft_post(struct xiw_soft *s, uint64_t user_data, int res, uint32_t flags);

/* True: it has ended, with a completion. False: it waits for op->events. `events` are those that epoll has reported. */
bool xiw_soft_send(struct xiw_soft *s, struct xiw_soft_op *op);
bool xiw_soft_accept(struct xiw_soft *s, struct xiw_soft_op *op);
bool xiw_soft_act(struct xiw_soft *s, struct xiw_soft_op *op, uint32_t events);
/* Ends a request with the result `res`, but with what it has transferred if that is something. */
void xiw_soft_end(struct xiw_soft *s, const struct xiw_soft_op *op, int res);

/* ---- core/soft_file.c: requests that wait --------------------------------------------------------------- */

/* False: there is no memory for one more request of this descriptor. */
bool xiw_soft_reserve(struct xiw_soft *s, int fd);
/* Lets a request wait, for which there is memory. */
void xiw_soft_wait_for(struct xiw_soft *s, const struct xiw_soft_op *op);
/* Ends a request that waits. False: there is none with this user_data. */
bool xiw_soft_cancel(struct xiw_soft *s, uint64_t user_data);
/* epoll has reported `events` of a descriptor. */
void xiw_soft_event(struct xiw_soft *s, int fd, uint32_t events);
/* Lets go of a descriptor that is about to be closed, and ends its requests. */
void xiw_soft_forget(struct xiw_soft *s, int fd);
/* Gives back memory that was needed for more requests. No list of them is in use by the caller. */
void xiw_soft_trim(struct xiw_soft *s);
void xiw_soft_free_files(struct xiw_soft *s);

#endif
